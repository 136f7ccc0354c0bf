/* cpu.h - the processors that this process may use, and their caches and instructions. Threads: any
 * number; nothing is cached. */
#ifndef ATTND_ENGINE_BASE_CPU_H
#define ATTND_ENGINE_BASE_CPU_H

#include <stdbool.h>
#include <stddef.h>

/* Threads to use: the processors that the scheduler allows, or the cgroup quota rounded up if that
 * is less; at least 1. `root` is prepended to every path read: "" normally, a fixture in tests. */
unsigned cpu_quota_threads(const char *root);

/* The cgroup quota alone, in processors rounded up: the smallest of this process's group and its
 * ancestors, cgroup v1 and v2. 0: no quota. A quota that cannot be read or parsed is no quota. */
unsigned cpu_quota_limit(const char *root);

/* Widest vector instructions that processor and kernel support, weakest first: AVX2 with FMA,
 * AVX-512 F, BW, DQ and VL. */
enum cpu_level { CPU_SSE2, CPU_AVX2, CPU_AVX512, CPU_AVX512_VNNI };

enum cpu_level cpu_level(void);

/* True if the CPU multiplies bf16 pairs (AVX512_BF16); bytes and bf16 by tiles (AMX; also needs
 * tile_state_permitted); bytes in 256-bit registers (AVX_VNNI). */
bool cpu_has_bf16(void);
bool cpu_has_tiles(void);
bool cpu_has_avx_vnni(void);

#endif
