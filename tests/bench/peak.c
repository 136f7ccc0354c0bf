/* peak.c - see peak.h. Twelve accumulators cover the latency of every multiply-add there is (4 to 5
 * cycles at two a cycle), and with two operands they fit the sixteen registers of AVX2. They start
 * from values that the compiler cannot see: equal accumulators would be merged into one. Operands
 * are made opaque in every round, or the first half of maddubs + madd would leave the loop. Nothing
 * in the loop touches memory: a "memory" clobber would spill the accumulators and halve the rate.
 */
#include "tests/bench/peak.h"

#include "engine/tensor/tile_registers.h"
#include "engine/tensor/tile_state.h"

#include <immintrin.h>

#define TARGET(isa) __attribute__((target(isa), noinline))
#define TWELVE(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define OPAQUE(x) __asm__ volatile("" : "+v"(x))

#define DECLARE(i)                                                                                 \
    VECTOR c##i = start;                                                                           \
    OPAQUE(c##i);
#define STEP_OF(i) c##i = STEP(c##i);
#define KEEP(i) __asm__ volatile("" ::"v"(c##i));

/* One loop. VECTOR and STEP are defined around each use. */
#define LOOP(rounds)                                                                               \
    OPAQUE(start);                                                                                 \
    TWELVE(DECLARE)                                                                                \
    for (; rounds > 0; rounds--) {                                                                 \
        OPAQUE(a);                                                                                 \
        TWELVE(STEP_OF)                                                                            \
    }                                                                                              \
    TWELVE(KEEP)

/* ---- fp32 ---- */

#define VECTOR __m512
#define STEP(c) _mm512_fmadd_ps(a, b, c)
TARGET("avx512f") static void f32_avx512(size_t rounds)
{
    __m512 a = _mm512_set1_ps(0.5f), b = _mm512_set1_ps(1e-3f), start = _mm512_setzero_ps();
    LOOP(rounds)
}
#undef VECTOR
#undef STEP

#define VECTOR __m256
#define STEP(c) _mm256_fmadd_ps(a, b, c)
TARGET("avx2,fma") static void f32_avx2(size_t rounds)
{
    __m256 a = _mm256_set1_ps(0.5f), b = _mm256_set1_ps(1e-3f), start = _mm256_setzero_ps();
    LOOP(rounds)
}
#undef VECTOR
#undef STEP

#define VECTOR __m128
#define STEP(c) _mm_add_ps(_mm_mul_ps(a, b), c)
static void f32_sse(size_t rounds)
{
    __m128 a = _mm_set1_ps(0.5f), b = _mm_set1_ps(1e-3f), start = _mm_setzero_ps();
    LOOP(rounds)
}
#undef VECTOR
#undef STEP

/* ---- bf16 pairs into fp32 ---- */

#define VECTOR __m512
#define STEP(c) _mm512_dpbf16_ps(c, (__m512bh)a, (__m512bh)b)
TARGET("avx512f,avx512bf16") static void bf16_avx512(size_t rounds)
{
    enum { HALF = 0x3f00, THOUSANDTH = 0x3a83 };
    __m512i a = _mm512_set1_epi16(HALF), b = _mm512_set1_epi16(THOUSANDTH);
    __m512 start = _mm512_setzero_ps();
    LOOP(rounds)
}
#undef VECTOR
#undef STEP

/* ---- u8 x s8 quadruples into s32 ---- */

#define VECTOR __m512i
#define STEP(c) _mm512_dpbusd_epi32(c, a, b)
TARGET("avx512f,avx512vnni") static void int8_avx512(size_t rounds)
{
    __m512i a = _mm512_set1_epi8(3), b = _mm512_set1_epi8(-2), start = _mm512_setzero_si512();
    LOOP(rounds)
}
#undef VECTOR
#undef STEP

#define VECTOR __m256i
#define STEP(c) _mm256_dpbusd_avx_epi32(c, a, b)
TARGET("avx2,avxvnni") static void int8_avxvnni(size_t rounds)
{
    __m256i a = _mm256_set1_epi8(3), b = _mm256_set1_epi8(-2), start = _mm256_setzero_si256();
    LOOP(rounds)
}
#undef VECTOR
#undef STEP

/* `a` alone would be the same product twelve times over. */
#define VECTOR __m256i
#define STEP(c)                                                                                    \
    _mm256_add_epi32(_mm256_madd_epi16(_mm256_maddubs_epi16(a, b), ones), c);                      \
    OPAQUE(a)
TARGET("avx2") static void int8_avx2(size_t rounds)
{
    __m256i a = _mm256_set1_epi8(3), b = _mm256_set1_epi8(-2), ones = _mm256_set1_epi16(1);
    __m256i start = _mm256_setzero_si256();
    LOOP(rounds)
}
#undef VECTOR
#undef STEP

/* ---- tile registers: 16 x 16 sums, 64 bytes of each factor's row ---- */

#define TILES(rounds, dot)                                                                         \
    tile_state_use(TILE_ROWS_MAX);                                                                 \
    for (; rounds > 0; rounds--) {                                                                 \
        dot(0, 4, 6);                                                                              \
        dot(1, 4, 7);                                                                              \
        dot(2, 5, 6);                                                                              \
        dot(3, 5, 7);                                                                              \
    }                                                                                              \
    tile_state_release()

static void bf16_tiles(size_t rounds)
{
    TILES(rounds, DOT_BF16);
}

static void int8_tiles(size_t rounds)
{
    TILES(rounds, DOT_BYTES);
}

/* ---- which of them ---- */

static bool has_avx512(void)
{
    return __builtin_cpu_supports("avx512f");
}

static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static bool has_sse(void)
{
    return true;
}

static bool has_avx512_bf16(void)
{
    return has_avx512() && __builtin_cpu_supports("avx512bf16");
}

static bool has_avx512_vnni(void)
{
    return has_avx512() && __builtin_cpu_supports("avx512vnni");
}

static bool has_avxvnni(void)
{
    return has_avx2() && __builtin_cpu_supports("avxvnni");
}

/* Widest first within a type. Operations of a round: 12 vectors x lanes x products a lane x 2. */
static const struct peak_loop loops[] = {
    {PEAK_F32, "vfmadd zmm", 12 * 16 * 2, has_avx512, f32_avx512},
    {PEAK_F32, "vfmadd ymm", 12 * 8 * 2, has_avx2, f32_avx2},
    {PEAK_F32, "mulps, addps", 12 * 4 * 2, has_sse, f32_sse},
    {PEAK_BF16, "vdpbf16ps zmm", 12 * 16 * 2 * 2, has_avx512_bf16, bf16_avx512},
    {PEAK_INT8, "vpdpbusd zmm", 12 * 16 * 4 * 2, has_avx512_vnni, int8_avx512},
    {PEAK_INT8, "vpdpbusd ymm", 12 * 8 * 4 * 2, has_avxvnni, int8_avxvnni},
    {PEAK_INT8, "vpmaddubsw ymm", 12 * 8 * 4 * 2, has_avx2, int8_avx2},
    {PEAK_TILES_BF16, "tdpbf16ps", 4 * 16 * 16 * 32 * 2, tile_state_permitted, bf16_tiles},
    {PEAK_TILES_INT8, "tdpbusd", 4 * 16 * 16 * 64 * 2, tile_state_permitted, int8_tiles},
};

const struct peak_loop *peak_best(enum peak_type type)
{
    for (size_t i = 0; i < sizeof loops / sizeof loops[0]; i++)
        if (loops[i].type == type && loops[i].runnable())
            return &loops[i];
    return NULL;
}

const char *peak_type_name(enum peak_type type)
{
    static const char *const names[] = {"f32", "bf16", "int8", "bf16", "int8"};
    return names[type];
}
