/* The kernels for any CPU of the architecture. */
#define KERNELS kernels_generic
#define NAME "generic"
#define QUERIES 2
#define KEY_VECTORS 1
#include "engine/tensor/simd_body.h"
