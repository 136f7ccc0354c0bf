#include "tests/tiles/tile_registers.h"

#include "engine/tensor/gemm/gemm_amx_bf16.c"
