/* Bytes by tile registers: activations of 0 to 255 and signed weights, like VNNI, so both give the
 * same sums. */
#include "engine/tensor/tile_registers.h"

#define GEMM gemm_amx_int8
#define NAME "amx-int8"
#define PRECISION PRECISION_INT8
#define DOT DOT_BYTES
#include "engine/tensor/gemm/gemm_tiles_body.h"
