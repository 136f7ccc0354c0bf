/* The token that sees all, against the equation with a key and a value of every token, in double. */
#include "engine/tensor/global_token.h"

#include "tests/support/numbers.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>

enum { TOKENS = 150, HIDDEN_MAX = 160 };

struct problem {
    struct global_projections projections;
    struct global_token token;
    float *x, *out, *rows, *scratch;
};

static struct plain_linear linear_new(size_t hidden, uint32_t seed)
{
    return (struct plain_linear){numbers_new(hidden * hidden, 0.3f, seed),
                                 numbers_new(hidden, 1, seed + 1)};
}

static void problem_open(struct problem *p, const struct kernels *kernels, size_t heads,
                         size_t width)
{
    size_t hidden = heads * width, stride = simd_round_up(hidden) + SIMD_WIDTH;
    *p = (struct problem){.x = numbers_new(TOKENS * stride, 1, 1),
                          .out = numbers_new(hidden, 1, 2),
                          .rows = numbers_new(heads * TOKENS, 1, 3)};
    p->projections = (struct global_projections){linear_new(hidden, 4), linear_new(hidden, 6),
                                                 linear_new(hidden, 8)};
    p->scratch = numbers_new(global_token_scratch(heads, hidden, TOKENS), 1e30f, 10);
    p->token = (struct global_token){kernels, &p->projections, p->x, stride, TOKENS, heads, hidden};
}

static void problem_close(struct problem *p)
{
    const struct plain_linear *all[] = {&p->projections.query, &p->projections.key,
                                        &p->projections.value};
    for (int i = 0; i < 3; i++)
        free(all[i]->weight), free(all[i]->bias);
    free(p->x), free(p->out), free(p->rows), free(p->scratch);
}

/* Number `i` of what a linear layer makes of token j. */
static double project(const struct problem *p, const struct plain_linear *linear, size_t j,
                      size_t i)
{
    double sum = (double)linear->bias[i];
    for (size_t c = 0; c < p->token.hidden; c++)
        sum +=
            (double)linear->weight[i * p->token.hidden + c] * (double)p->x[j * p->token.stride + c];
    return sum;
}

/* The probabilities of a head, and its part of the output. */
static void by_hand(const struct problem *p, size_t head, double *row, double *out)
{
    size_t width = p->token.hidden / p->token.heads;
    double total = 0;
    for (size_t j = 0; j < TOKENS; j++) {
        double score = 0;
        for (size_t e = head * width; e < (head + 1) * width; e++)
            score +=
                project(p, &p->projections.query, 0, e) * project(p, &p->projections.key, j, e);
        total += row[j] = exp(score / sqrt((double)width));
    }
    for (size_t e = head * width; e < (head + 1) * width; e++) {
        out[e] = 0;
        for (size_t j = 0; j < TOKENS; j++)
            out[e] += row[j] / total * project(p, &p->projections.value, j, e);
    }
    for (size_t j = 0; j < TOKENS; j++)
        row[j] /= total;
}

static void check(const struct kernels *kernels, size_t heads, size_t width)
{
    double row[TOKENS], out[HIDDEN_MAX];
    struct problem p;
    if (!kernels_runnable(kernels))
        return;
    problem_open(&p, kernels, heads, width);
    global_token_attend(&p.token, p.out, p.scratch);
    for (size_t head = 0; head < heads; head += ATTENTION_QUERIES)
        global_token_rows(&p.token, head,
                          heads - head < ATTENTION_QUERIES ? heads - head : ATTENTION_QUERIES,
                          p.rows + head * TOKENS, p.scratch);
    for (size_t head = 0; head < heads; head++) {
        by_hand(&p, head, row, out);
        for (size_t j = 0; j < TOKENS; j++)
            ck_assert_double_eq_tol((double)p.rows[head * TOKENS + j], row[j], 1e-5);
    }
    for (size_t i = 0; i < p.token.hidden; i++)
        ck_assert_double_eq_tol((double)p.out[i], out[i], 2e-5);
    problem_close(&p);
}

START_TEST(the_first_tokens_row_is_that_of_keys_and_values_of_all_tokens)
{
    static const struct kernels *const variants[] = {&kernels_generic, &kernels_avx2,
                                                     &kernels_avx512, &kernels_reference};
    static const size_t shapes[][2] = {{1, 5}, {4, 12}, {12, 8}, {33, 3}, {40, 4}};
    for (int v = 0; v < 4; v++)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
            check(variants[v], shapes[s][0], shapes[s][1]);
}
END_TEST

START_TEST(a_nan_in_any_token_or_weight_shows)
{
    struct problem p;
    problem_open(&p, kernels_best(), 4, 8);
    float *at[] = {&p.x[77 * p.token.stride + 3], &p.projections.query.weight[40],
                   &p.projections.key.weight[3], &p.projections.value.bias[2]};
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        const float held = *at[i];
        unsigned shown = 0;
        *at[i] = NAN;
        global_token_attend(&p.token, p.out, p.scratch);
        for (size_t c = 0; c < p.token.hidden; c++)
            shown += isnan(p.out[c]);
        ck_assert_msg(shown > 0, "case %zu", i);
        *at[i] = held;
    }
    problem_close(&p);
}
END_TEST

SUITE("global_token", the_first_tokens_row_is_that_of_keys_and_values_of_all_tokens,
      a_nan_in_any_token_or_weight_shows)
