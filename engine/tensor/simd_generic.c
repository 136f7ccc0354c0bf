/* The kernels for any CPU of the architecture. */
#define KERNELS kernels_generic
#define NAME "generic"
#define VECTOR_BYTES 16
#define TILE_ROWS 4
#define TILE_VECTORS 2
#include "engine/tensor/simd_body.h"
