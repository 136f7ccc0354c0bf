/* bf16 pairs by tile registers. */
#include "engine/tensor/tile_registers.h"

#define GEMM gemm_amx_bf16
#define NAME "amx-bf16"
#define PRECISION PRECISION_BF16
#define DOT DOT_BF16
#include "engine/tensor/gemm/gemm_tiles_body.h"
