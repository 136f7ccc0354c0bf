/* tile_registers.h - the tile registers' instructions (AMX), as statements. A tile is a number from
 * 0 to 7, written literally. The caller has configured them (tile_state.h). Intel SDM, volume 2.
 * Tests replace this file by a model in plain C.
 */
#ifndef ATTND_ENGINE_TENSOR_TILE_REGISTERS_H
#define ATTND_ENGINE_TENSOR_TILE_REGISTERS_H

#include <stddef.h>

/* struct tile_config, 64 bytes */
#define CONFIGURE(config) __asm__ volatile("ldtilecfg %0" : : "m"(config))
#define RELEASE() __asm__ volatile("tilerelease")
#define ZERO(t) __asm__ volatile("tilezero %%tmm" #t : :)
#define MOVE(instruction, p, stride)                                                               \
    __asm__ volatile(instruction : : "r"(p), "r"((size_t)(stride)) : "memory")
#define LOAD(t, p, stride) MOVE("tileloadd (%0,%1,1), %%tmm" #t, p, stride)
/* For data that is not used again soon: it does not evict other data from the first cache. */
#define LOAD_ONCE(t, p, stride) MOVE("tileloaddt1 (%0,%1,1), %%tmm" #t, p, stride)
#define STORE(t, p, stride) MOVE("tilestored %%tmm" #t ", (%0,%1,1)", p, stride)
/* c += a . b */
#define DOT_BYTES(c, a, b) __asm__ volatile("tdpbusd %%tmm" #b ", %%tmm" #a ", %%tmm" #c : :)
#define DOT_BF16(c, a, b) __asm__ volatile("tdpbf16ps %%tmm" #b ", %%tmm" #a ", %%tmm" #c : :)

#endif
