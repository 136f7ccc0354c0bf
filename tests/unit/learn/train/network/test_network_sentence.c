/* network_sentence.c alone: the gradient of each pooling against differences of sentence_pool,
 * which is exact, since all of them are linear between kinks. */
#include "learn/train/network/network_state.h"

#include "tests/support/numbers.h"
#include "tests/support/suite.h"

#include <math.h>
#include <string.h>

enum { WIDTH = 5, STRIDE = 8, TOKENS = 9, ROWS = 3, MODES = SENTENCE_MODES };

static struct sentence_modules modules = {
    .hidden = WIDTH,
    .pooling = {.modes = {SENTENCE_CLS, SENTENCE_MAX, SENTENCE_MEAN, SENTENCE_MEAN_SQRT_LENGTH,
                          SENTENCE_WEIGHTED_MEAN, SENTENCE_LAST_TOKEN},
                .count = MODES},
    .width = MODES * WIDTH};
static struct spec spec = {.hidden = WIDTH, .sentence = &modules};
static unsigned offsets[ROWS + 1] = {0, 4, 5, TOKENS};
static float x[TOKENS * STRIDE], g[TOKENS * STRIDE], vectors[ROWS * MODES * WIDTH];

static struct network network_of_buffers(void)
{
    return (struct network){.spec = &spec,
                            .rows = ROWS,
                            .offset = offsets,
                            .g = {g, STRIDE, WIDTH},
                            .head = {.normed = {x, STRIDE, WIDTH},
                                     .logits = {{vectors, MODES * WIDTH, MODES * WIDTH}}}};
}

static double value(struct network *network, const float *d)
{
    double sum = 0;
    network_sentence_pool(network);
    for (size_t i = 0; i < ROWS * MODES * WIDTH; i++)
        sum += (double)d[i] * (double)vectors[i];
    return sum;
}

START_TEST(gradients_are_the_slopes_of_the_pooling)
{
    float d[ROWS * MODES * WIDTH];
    struct network network = network_of_buffers();
    numbers_fill(x, TOKENS * STRIDE, 1, 4);
    numbers_fill(d, ROWS * MODES * WIDTH, 1, 5);
    value(&network, d);
    memset(g, 0x7F, sizeof g); /* what was there does not matter */
    network_sentence_spread(&network, d);
    for (size_t t = 0; t < TOKENS; t++)
        for (size_t c = 0; c < WIDTH; c++) {
            float *at = &x[t * STRIDE + c];
            const float kept = *at;
            *at = kept + 1e-3f;
            double above = value(&network, d), width = (double)*at;
            *at = kept - 1e-3f;
            width -= (double)*at;
            const double slope = (above - value(&network, d)) / width;
            *at = kept;
            ck_assert_double_eq_tol((double)g[t * STRIDE + c], slope, 1e-3);
        }
}
END_TEST

START_TEST(the_first_of_equal_largest_tokens_has_the_gradient)
{
    float d[ROWS * MODES * WIDTH] = {0};
    struct network network = network_of_buffers();
    for (size_t i = 0; i < TOKENS * STRIDE; i++)
        x[i] = 2;
    for (size_t c = 0; c < WIDTH; c++)
        d[WIDTH + c] = 3; /* the maximum of the first text */
    network_sentence_pool(&network);
    network_sentence_spread(&network, d);
    for (size_t t = 0; t < TOKENS; t++)
        for (size_t c = 0; c < WIDTH; c++)
            ck_assert(g[t * STRIDE + c] == (t == 0 ? 3 : 0));
}
END_TEST

SUITE("network_sentence", gradients_are_the_slopes_of_the_pooling,
      the_first_of_equal_largest_tokens_has_the_gradient)
