/* vector_body.h - the vector of one instruction set and the elementary functions over it. A
 * simd_*.c file sets the target and VECTOR_BYTES and includes simd_body.h, which includes this.
 *
 * A vector is GNU C's, exactly one register: the compiler puts wider ones on the stack. The few
 * operations that GNU C cannot express (maximum, masked loads, quads of numbers from several rows)
 * are intrinsics, one section for each instruction set.
 *
 * exp, tanh and the two GELUs are polynomials, not libm. They were fitted with the Remez algorithm
 * in 30 digits. The stated errors are the polynomial's; fp32 adds about 1 ulp. They are far below
 * fp32's rounding of a layer's sums.
 *
 * A NaN is passed on: an overflow must reach the scores, where it is detected, and must not become
 * a constant on the way. So a clamp has its bound as first argument.
 */
#include "engine/tensor/kernels.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined __x86_64__ || defined __i386__
#include <immintrin.h>
#endif

/* The vector helpers are always inlined: no vector is passed in a call, so -Wpsabi does not
 * apply. */
#define INLINE static inline __attribute__((always_inline))

enum { LANES = VECTOR_BYTES / 4, QUADS = LANES / 4 };

typedef float vec __attribute__((vector_size(VECTOR_BYTES)));
typedef float vec_unaligned __attribute__((vector_size(VECTOR_BYTES), aligned(4), may_alias));
typedef int32_t vec_int __attribute__((vector_size(VECTOR_BYTES)));
typedef float quad __attribute__((vector_size(16)));
typedef float quad_unaligned __attribute__((vector_size(16), aligned(4), may_alias));

INLINE vec load(const float *p)
{
    return *(const vec_unaligned *)p;
}

INLINE void store(float *p, vec v)
{
    *(vec_unaligned *)p = v;
}

INLINE quad load_quad(const float *p)
{
    return *(const quad_unaligned *)p;
}

INLINE void store_quad(float *p, quad v)
{
    *(quad_unaligned *)p = v;
}

/* Minus, because the compiler may drop x - 0 but not x + 0 (x may be -0). */
INLINE vec splat(float x)
{
    return x - (vec){0};
}

/* max(a, b) and min(a, b); b where either is not a number. int_max: of integers.
 * vec_sqrt: of each lane, correctly rounded.
 * vec_round: to the nearest integer; times_power: p 2^n for an integer n, -126 <= n <= 127.
 * narrow_bytes, narrow_halves: the low bits of each lane, to q.
 * load_part: the first n < LANES numbers, zero behind; store_part stores as many.
 * quads: vector k of row[], its quad g being the numbers p[0 .. 4) of row[4 g + k]. */
#if VECTOR_BYTES == 64

static const vec_int lane_numbers = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

INLINE vec vec_max(vec a, vec b)
{
    return _mm512_max_ps(a, b);
}

INLINE vec vec_min(vec a, vec b)
{
    return _mm512_min_ps(a, b);
}

INLINE vec_int int_max(vec_int a, vec_int b)
{
    return (vec_int)_mm512_max_epi32((__m512i)a, (__m512i)b);
}

INLINE vec vec_sqrt(vec x)
{
    return _mm512_sqrt_ps(x);
}

INLINE vec vec_round(vec x)
{
    return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

INLINE vec times_power(vec p, vec n)
{
    return _mm512_scalef_ps(p, n);
}

INLINE vec load_part(const float *p, size_t n)
{
    return _mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1), p);
}

INLINE void store_part(float *p, vec v, size_t n)
{
    _mm512_mask_storeu_ps(p, (__mmask16)((1u << n) - 1), v);
}

INLINE void narrow_bytes(uint8_t *q, vec_int v)
{
    _mm_storeu_si128((__m128i *)q, _mm512_cvtepi32_epi8((__m512i)v));
}

INLINE void narrow_halves(uint16_t *q, vec_int v)
{
    _mm256_storeu_si256((__m256i *)q, _mm512_cvtepi32_epi16((__m512i)v));
}

INLINE vec join_quads(const quad *q)
{
    __m512 v = _mm512_castps128_ps512(q[0]);
    v = _mm512_insertf32x4(v, q[1], 1);
    v = _mm512_insertf32x4(v, q[2], 2);
    return _mm512_insertf32x4(v, q[3], 3);
}

INLINE void split_quads(quad *q, vec v)
{
    q[0] = _mm512_castps512_ps128(v);
    q[1] = _mm512_extractf32x4_ps(v, 1);
    q[2] = _mm512_extractf32x4_ps(v, 2);
    q[3] = _mm512_extractf32x4_ps(v, 3);
}

#elif VECTOR_BYTES == 32

static const vec_int lane_numbers = {0, 1, 2, 3, 4, 5, 6, 7};

INLINE vec vec_max(vec a, vec b)
{
    return _mm256_max_ps(a, b);
}

INLINE vec vec_min(vec a, vec b)
{
    return _mm256_min_ps(a, b);
}

INLINE vec_int int_max(vec_int a, vec_int b)
{
    return (vec_int)_mm256_max_epi32((__m256i)a, (__m256i)b);
}

INLINE vec vec_sqrt(vec x)
{
    return _mm256_sqrt_ps(x);
}

INLINE vec vec_round(vec x)
{
    return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

INLINE vec times_power(vec p, vec n)
{
    return (vec)((vec_int)p + ((vec_int)_mm256_cvtps_epi32(n) << 23));
}

INLINE vec load_part(const float *p, size_t n)
{
    return _mm256_maskload_ps(p, (__m256i)(lane_numbers < (int32_t)n));
}

/* Not the masked store: some processors need a hundred cycles for it. */
INLINE void store_part(float *p, vec v, size_t n)
{
    memcpy(p, &v, n * sizeof *p);
}

/* Moves the wanted bytes of each 16-byte half to its front, then joins the fronts. */
INLINE __m128i narrow(vec_int v, __m256i wanted)
{
    __m256i fronts = _mm256_shuffle_epi8((__m256i)v, wanted);
    return _mm256_castsi256_si128(
        _mm256_permutevar8x32_epi32(fronts, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7)));
}

INLINE void narrow_bytes(uint8_t *q, vec_int v)
{
    const __m256i wanted = _mm256_broadcastsi128_si256(_mm_set1_epi32(0x0C080400));
    _mm_storel_epi64((__m128i *)q, narrow(v, wanted));
}

INLINE void narrow_halves(uint16_t *q, vec_int v)
{
    const __m256i wanted = _mm256_set1_epi64x(0x0D0C090805040100);
    __m256i fronts = _mm256_shuffle_epi8((__m256i)v, wanted);
    _mm_storeu_si128((__m128i *)q, _mm256_castsi256_si128(_mm256_permute4x64_epi64(fronts, 0x08)));
}

INLINE vec join_quads(const quad *q)
{
    return _mm256_insertf128_ps(_mm256_castps128_ps256(q[0]), q[1], 1);
}

INLINE void split_quads(quad *q, vec v)
{
    q[0] = _mm256_castps256_ps128(v);
    q[1] = _mm256_extractf128_ps(v, 1);
}

#else

static const vec_int lane_numbers = {0, 1, 2, 3};

INLINE vec vec_max(vec a, vec b)
{
    vec_int mask = a > b;
    return (vec)((mask & (vec_int)a) | (~mask & (vec_int)b));
}

INLINE vec vec_min(vec a, vec b)
{
    vec_int mask = a < b;
    return (vec)((mask & (vec_int)a) | (~mask & (vec_int)b));
}

INLINE vec_int int_max(vec_int a, vec_int b)
{
    vec_int mask = a > b;
    return (mask & a) | (~mask & b);
}

INLINE vec vec_sqrt(vec x)
{
    for (int i = 0; i < LANES; i++)
        x[i] = sqrtf(x[i]);
    return x;
}

/* Adding 1.5 x 2^23 rounds to an integer and leaves that in the low bits. */
INLINE vec vec_round(vec x)
{
    return (x + 12582912.0f) - 12582912.0f;
}

INLINE vec times_power(vec p, vec n)
{
    return p * (vec)(((vec_int)(n + 12582912.0f) + 127) << 23);
}

INLINE vec load_part(const float *p, size_t n)
{
    vec v = {0};
    memcpy(&v, p, n * sizeof *p);
    return v;
}

INLINE void store_part(float *p, vec v, size_t n)
{
    memcpy(p, &v, n * sizeof *p);
}

INLINE void narrow_bytes(uint8_t *q, vec_int v)
{
    for (int i = 0; i < LANES; i++)
        q[i] = (uint8_t)v[i];
}

INLINE void narrow_halves(uint16_t *q, vec_int v)
{
    for (int i = 0; i < LANES; i++)
        q[i] = (uint16_t)v[i];
}

INLINE vec join_quads(const quad *q)
{
    return q[0];
}

INLINE void split_quads(quad *q, vec v)
{
    q[0] = v;
}

#endif

/* Adds one half to the other: log2(LANES) steps. */
INLINE float vec_sum(vec v)
{
#pragma GCC unroll 4
    for (int half = LANES / 2; half > 0; half /= 2)
        v += __builtin_shuffle(v, lane_numbers + half);
    return v[0];
}

INLINE float vec_largest(vec v)
{
#pragma GCC unroll 4
    for (int half = LANES / 2; half > 0; half /= 2)
        v = vec_max(v, __builtin_shuffle(v, lane_numbers + half));
    return v[0];
}

/* The first n lanes of v, zero behind. */
INLINE vec keep(vec v, size_t n)
{
    return (vec)((vec_int)v & (lane_numbers < (int32_t)n));
}

INLINE vec vec_abs(vec v)
{
    return (vec)((vec_int)v & 0x7FFFFFFF);
}

/* max(best, |v|), best not negative. Without the sign, larger numbers have larger bits, and those
 * of a NaN are the largest: a NaN stays. */
INLINE vec larger_magnitude(vec best, vec v)
{
    return (vec)int_max((vec_int)best, (vec_int)vec_abs(v));
}

INLINE float largest_magnitude(vec v)
{
#pragma GCC unroll 4
    for (int half = LANES / 2; half > 0; half /= 2)
        v = larger_magnitude(v, __builtin_shuffle(v, lane_numbers + half));
    return v[0];
}

/* 2^(n + r), |r| <= 1/2, n an integer: the minimax polynomial of degree 5, relative error 7.5e-8.
 */
INLINE vec exp2_parts(vec n, vec r)
{
    vec p = splat(1.327646174e-3f);
    p = p * r + 9.675541228e-3f;
    p = p * r + 5.550713315e-2f;
    p = p * r + 2.402211973e-1f;
    p = p * r + 6.93146967e-1f;
    p = p * r + 1.000000072f;
    return times_power(p, n);
}

/* 2^x for -126.5 < x < 127.5. */
INLINE vec exp2_within(vec x)
{
    vec n = vec_round(x);
    return exp2_parts(n, x - n);
}

/* 2^x for x <= 0, at least 2^-100: beside the softmax's largest number nothing, yet its product
 * with a value is no denormal number, for which an Intel core takes some 100 cycles. */
INLINE vec vec_exp2_down(vec x)
{
    return exp2_within(vec_max(splat(-100.0f), x));
}

/* e^x to 3 ulp for -87 <= x <= 88, clamped outside: x = n ln 2 + r. ln 2 in two pieces, the first
 * exact in few bits, keeps the digits of a large x also where there is no fused multiply-add. */
INLINE vec vec_exp(vec x)
{
    x = vec_max(splat(-87.0f), vec_min(splat(88.0f), x));
    vec n = vec_round(x * 1.44269504f);
    vec r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    return exp2_parts(n, r * 1.44269504f);
}

/* tanh(x) = 1 - 2 / (e^(2x) + 1), absolute error below 2e-7. */
INLINE vec vec_tanh(vec x)
{
    return 1.0f - 2.0f / (vec_exp(x * 2.0f) + 1.0f);
}

/* Phi(-a), 0 <= a <= 10, with log2 Phi(-a) as a polynomial of degree 6 whose error is weighted with
 * max(a, 1/2) Phi(-a): a Phi(-a) is right to 1.2e-7. No division, and the tail keeps its relative
 * digits. Estrin's scheme, whose chain is half as long as Horner's, is 7 % faster here (and not in
 * exp2_parts). */
INLINE vec vec_normal_tail(vec a)
{
    vec square = a * a;
    vec low = a * -1.151136705f - 9.999993507e-1f;
    vec middle = a * -5.31510968e-2f - 4.589698342e-1f;
    vec high = square * 2.766416732e-5f + (a * -7.204950546e-4f + 7.916336154e-3f);
    return exp2_within((high * square + middle) * square + low);
}

/* x Phi(x) = max(x, 0) - a Phi(-a), a = |x|. From a = 10 on the second term is below 2^-70. */
INLINE vec vec_gelu(vec x)
{
    vec a = vec_min(splat(10.0f), vec_abs(x));
    return vec_max(x, splat(0.0f)) - a * vec_normal_tail(a);
}

/* The same for results that become bytes, and for those of bf16 models: a Phi(-a) as the minimax
 * polynomial of degree 9, absolute error below 6e-5. A step of a byte is 1/254 of a row's range, a
 * step of bf16 1/128 of the number. Models of bytes that write bf16 here want more digits. */
INLINE vec vec_gelu_coarse(vec x)
{
    vec a = vec_min(splat(4.1f), vec_abs(x));
    vec p = a * 3.963892186e-5f - 6.514697651e-4f;
    p = p * a + 3.693830985e-3f;
    p = p * a - 4.952972391e-3f;
    p = p * a - 3.018678914e-2f;
    p = p * a + 1.153813133e-1f;
    p = p * a - 3.702343427e-2f;
    p = p * a - 3.86230574e-1f;
    p = p * a + 4.985488388e-1f;
    return vec_max(x, splat(0.0f)) - a * p;
}

/* x / 2 (1 + tanh u) = x / (1 + e^(-2 u)), u = sqrt(2 / pi) (x + 0.044715 x^3) */
INLINE vec vec_gelu_tanh(vec x)
{
    vec u = x * (x * x * -0.0713548162f - 1.59576912f);
    return x / (1.0f + vec_exp(u));
}

INLINE vec vec_silu(vec x)
{
    return x / (1.0f + vec_exp(-x));
}

INLINE vec vec_quick_gelu(vec x)
{
    return x / (1.0f + vec_exp(x * -1.702f));
}

INLINE vec vec_activate(vec x, enum activation act)
{
    switch (act) {
    case ACTIVATION_GELU:
        return vec_gelu(x);
    case ACTIVATION_GELU_TANH:
        return vec_gelu_tanh(x);
    case ACTIVATION_RELU:
        return vec_max(splat(0.0f), x) + 0.0f; /* turns -0 into 0 */
    case ACTIVATION_TANH:
        return vec_tanh(x);
    case ACTIVATION_SILU:
        return vec_silu(x);
    case ACTIVATION_QUICK_GELU:
        return vec_quick_gelu(x);
    default:
        return x;
    }
}

/* ---- transposition, in 4 x 4 matrices, one in each 128-bit lane ---- */

/* In each 128-bit lane: a[0] b[0] a[1] b[1], and a[2] b[2] a[3] b[3]. */
INLINE vec interleave_low(vec a, vec b)
{
    const vec_int from = (lane_numbers & ~3) + ((lane_numbers & 2) >> 1);
    return __builtin_shuffle(a, b, from + (lane_numbers & 1) * LANES);
}

INLINE vec interleave_high(vec a, vec b)
{
    const vec_int from = (lane_numbers & ~3) + ((lane_numbers & 2) >> 1) + 2;
    return __builtin_shuffle(a, b, from + (lane_numbers & 1) * LANES);
}

/* In each 128-bit lane: a[0] a[1] b[0] b[1], and a[2] a[3] b[2] b[3]. */
INLINE vec low_pairs(vec a, vec b)
{
    const vec_int from = (lane_numbers & ~3) + (lane_numbers & 1);
    return __builtin_shuffle(a, b, from + ((lane_numbers & 2) >> 1) * LANES);
}

INLINE vec high_pairs(vec a, vec b)
{
    const vec_int from = (lane_numbers & ~3) + (lane_numbers & 1) + 2;
    return __builtin_shuffle(a, b, from + ((lane_numbers & 2) >> 1) * LANES);
}

/* Each 128-bit lane of v[0 .. 4) is a 4 x 4 matrix: transposes them all. */
INLINE void transpose_lanes(vec v[4])
{
    vec a = interleave_low(v[0], v[1]), b = interleave_high(v[0], v[1]);
    vec c = interleave_low(v[2], v[3]), d = interleave_high(v[2], v[3]);
    v[0] = low_pairs(a, c);
    v[1] = high_pairs(a, c);
    v[2] = low_pairs(b, d);
    v[3] = high_pairs(b, d);
}

/* Loads into v[k], lane by lane, the numbers c .. c + 4 of rows k, k + 4, ...; for
 * transpose_lanes. */
INLINE void load_quads_of(vec v[4], const float *const *rows, size_t c)
{
#pragma GCC unroll 4
    for (int k = 0; k < 4; k++) {
        quad quads[QUADS];
#pragma GCC unroll 4
        for (int g = 0; g < QUADS; g++)
            quads[g] = load_quad(rows[4 * g + k] + c);
        v[k] = join_quads(quads);
    }
}

/* out[i, j] = scale from[j, i] for i < rows, j < n. `from` has rows of `width` numbers, whole
 * vectors. Four rows of `from` at a time become a quad of each row of `out`. */
INLINE void store_transposed(float *out, size_t out_stride, const float *from, size_t width,
                             size_t rows, size_t n, float scale)
{
    for (size_t first = 0; first < rows; first += LANES) {
        size_t count = rows - first < LANES ? rows - first : LANES, j = 0;
        float *to = out + first * out_stride;
        for (; j + 4 <= n; j += 4) {
            vec v[4];
            for (size_t k = 0; k < 4; k++)
                v[k] = load(from + (j + k) * width + first) * scale;
            transpose_lanes(v);
            for (size_t i = 0; i < count; i++)
                memcpy(to + i * out_stride + j, (const float *)&v[i % 4] + i / 4 * 4,
                       4 * sizeof *to);
        }
        for (; j < n; j++)
            for (size_t i = 0; i < count; i++)
                to[i * out_stride + j] = from[j * width + first + i] * scale;
    }
}
