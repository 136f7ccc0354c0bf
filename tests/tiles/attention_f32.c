#include "tests/tiles/tile_registers.h"

#define VECTOR_BYTES 16
#include "engine/tensor/attention_amx_f32.c"
