#include "tests/tiles/tile_registers.h"

#include "engine/tensor/attention_amx.c"
