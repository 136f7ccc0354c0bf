#include "engine/tensor/tile_state.h"

#include "engine/base/cpu.h"
#include "engine/tensor/tile_registers.h"

#include <pthread.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 }; /* Linux's numbers for arch_prctl */

/* LDTILECFG reads this (Intel SDM, volume 1, 18.3). */
struct tile_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};
_Static_assert(sizeof(struct tile_config) == 64, "as the processor reads it");

static pthread_once_t asked = PTHREAD_ONCE_INIT;
static bool is_permitted;
static _Thread_local unsigned in_use; /* rows of tile 0; 0: none is configured */

static void ask(void)
{
    is_permitted = cpu_has_tiles() && cpu_level() >= CPU_AVX512 &&
                   syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
}

bool tile_state_permitted(void)
{
    pthread_once(&asked, ask);
    return is_permitted;
}

void tile_state_use(unsigned rows)
{
    struct tile_config config = {.palette = 1};
    if (in_use == rows)
        return;
    in_use = rows;
    for (unsigned t = 0; t < 8; t++) {
        config.rows[t] = (uint8_t)(t == 0 || t == 1 || t == 4 ? rows : TILE_ROWS_MAX);
        config.row_bytes[t] = TILE_ROW_BYTES;
    }
    CONFIGURE(config);
}

void tile_state_release(void)
{
    if (in_use == 0)
        return;
    in_use = 0;
    RELEASE();
}
