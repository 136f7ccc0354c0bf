/* importance.h against central differences: the slope of the loss by a mask on a head or a column,
 * which is that of scaling its columns of the output projection. */
#include "learn/prune/importance.h"

#include "tests/support/suite.h"
#include "tests/support/tiny_network.h"

#include <math.h>
#include <string.h>

/* The loss of an input: a product with its logits, another one for each input. */
static const float weights[TINY_INPUTS][TINY_LABELS] = {
    {1, -0.5f, 0.25f}, {-0.75f, 1, 0.5f}, {0.5f, 0.5f, -1}, {-1, -0.25f, 0.75f}};

static double loss_of(const struct tiny_network *tiny, unsigned input)
{
    float logits[TINY_INPUTS][TINY_LABELS];
    double loss = 0;
    tiny_network_logits(tiny, &tiny->parameters, &logits[0][0]);
    for (unsigned k = 0; k < TINY_LABELS; k++)
        loss += (double)weights[input][k] * logits[input][k];
    return loss;
}

/* Columns [first, first + count) of a [D, in] weight times `factor`, from the numbers in `kept`. */
static void scale(float *weight, const float *kept, size_t in, size_t first, size_t count,
                  float factor)
{
    for (size_t r = 0; r < TINY_HIDDEN; r++)
        for (size_t c = first; c < first + count; c++)
            weight[r * in + c] = kept[r * in + c] * factor;
}

/* The mean over the inputs of |dL/dm| at m = 1, by two steps extrapolated (Richardson). */
static double slope_of(struct tiny_network *tiny, size_t offset, size_t in, size_t first,
                       size_t count)
{
    static const float steps[] = {0.08f, 0.04f};
    float kept[TINY_HIDDEN * TINY_HIDDEN], *weight = tiny->parameters.values + offset;
    double sum = 0;
    memcpy(kept, weight, TINY_HIDDEN * in * sizeof *kept);
    for (unsigned i = 0; i < TINY_INPUTS; i++) {
        double slopes[2];
        for (int s = 0; s < 2; s++) {
            scale(weight, kept, in, first, count, 1 + steps[s]);
            double above = loss_of(tiny, i);
            scale(weight, kept, in, first, count, 1 - steps[s]);
            slopes[s] = (above - loss_of(tiny, i)) / (2 * steps[s]);
        }
        sum += fabs((4 * slopes[1] - slopes[0]) / 3);
    }
    memcpy(weight, kept, TINY_HIDDEN * in * sizeof *kept);
    return sum / TINY_INPUTS;
}

static void measure(struct tiny_network *tiny, struct importance *out)
{
    const struct network_options options = {.threads = 1, .tokens_max = TINY_TOKENS};
    struct network *network;
    struct err err = {0};
    ck_assert_int_eq(network_open(&network, &tiny->parameters, &options, &err), ERR_OK);
    network_repack(network, tiny->parameters.values);
    for (unsigned i = 0; i < TINY_INPUTS; i++) {
        const struct engine_input *input = &tiny->inputs[i];
        float *gradient = network_gradient(network);
        memset(gradient, 0, tiny->parameters.numbers * sizeof *gradient);
        network_forward(network,
                        &(struct network_batch){.inputs = &input, .rows = 1, .training = true});
        network_backward(network, weights[i], 1);
        importance_add(out, &tiny->parameters, gradient);
    }
    network_close(network);
}

static void check(const char *model_type, const struct pruned_heads *pruned)
{
    const size_t width = TINY_HIDDEN / TINY_HEADS;
    struct tiny_network tiny;
    struct importance importance;
    struct err err = {0};
    tiny_network_open(&tiny, model_type, pruned);
    ck_assert_int_eq(importance_open(&importance, &tiny.spec, &err), ERR_OK);
    measure(&tiny, &importance);
    ck_assert_uint_eq(importance.inputs, TINY_INPUTS);
    for (unsigned b = 0; b < TINY_LAYERS; b++) {
        const struct parameters_layer *layer = &tiny.parameters.map.layers[b];
        for (unsigned h = 0; h < spec_heads(&tiny.spec, b); h++)
            ck_assert_double_eq_tol(
                importance.head[b * TINY_HEADS + h] / TINY_INPUTS,
                slope_of(&tiny, layer->out_weight, spec_attended(&tiny.spec, b), h * width, width),
                2e-4);
        for (unsigned c = 0; c < TINY_COLUMNS; c++)
            ck_assert_double_eq_tol(importance.column[b * TINY_COLUMNS + c] / TINY_INPUTS,
                                    slope_of(&tiny, layer->mlp_out_weight, TINY_COLUMNS, c, 1),
                                    2e-4);
    }
    importance_close(&importance);
    tiny_network_close(&tiny);
}

START_TEST(importance_is_the_slope_of_the_loss_by_a_mask)
{
    check("bert", NULL);
    check("vit", NULL);
}
END_TEST

START_TEST(importance_of_a_gated_mlp_is_of_what_its_second_product_reads)
{
    check("modernbert", NULL);
}
END_TEST

START_TEST(importance_of_a_pruned_model_is_of_the_heads_that_are_left)
{
    static const unsigned left[] = {3, 1};
    check("electra", &(struct pruned_heads){.left = left});
}
END_TEST

/* Two inputs of opposite slopes count as two, not as none. */
START_TEST(importance_does_not_cancel_between_inputs)
{
    struct tiny_network tiny;
    struct importance importance;
    struct err err = {0};
    tiny_network_open(&tiny, "bert", NULL);
    ck_assert_int_eq(importance_open(&importance, &tiny.spec, &err), ERR_OK);
    const size_t at = tiny.parameters.map.layers[1].out_weight, numbers = tiny.parameters.numbers;
    float gradient[32 * 1024] = {0};
    ck_assert_uint_le(numbers, sizeof gradient / sizeof *gradient);
    gradient[at] = 2;
    importance_add(&importance, &tiny.parameters, gradient);
    gradient[at] = -2;
    importance_add(&importance, &tiny.parameters, gradient);
    ck_assert_double_eq_tol(importance.head[TINY_HEADS],
                            4 * fabs((double)tiny.parameters.values[at]), 1e-12);
    ck_assert_double_eq(importance.head[TINY_HEADS + 1], 0);
    importance_close(&importance);
    tiny_network_close(&tiny);
}
END_TEST

SUITE("importance", importance_is_the_slope_of_the_loss_by_a_mask,
      importance_of_a_gated_mlp_is_of_what_its_second_product_reads,
      importance_of_a_pruned_model_is_of_the_heads_that_are_left,
      importance_does_not_cancel_between_inputs)
