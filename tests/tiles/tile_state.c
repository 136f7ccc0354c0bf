/* Linux permits tiles here: those of the model. */
#include "tests/tiles/tile_registers.h"

#include "engine/base/cpu.h"

#include <unistd.h>

#define cpu_has_tiles() true
#define cpu_level() CPU_AVX512
#define syscall(...) 0
#include "engine/tensor/tile_state.c"
