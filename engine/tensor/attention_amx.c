#pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl,avx512bf16,fma,prefer-vector-width=512")
#include "engine/tensor/attention_bf16.h"
#include "engine/tensor/tile_registers.h"
#define ATTENTION attention_amx
#define ATTENTION_SCRATCH attention_amx_scratch
#define DOT DOT_BF16
#include "engine/tensor/attention_tiles_body.h"
