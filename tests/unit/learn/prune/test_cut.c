/* cut.h: a cut model answers as the whole one does whose cut columns are zero. */
#include "learn/prune/choice.h"

#include "tests/support/suite.h"
#include "tests/support/tiny_network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct arena arena;
static struct err err;

/* Chooses two heads of layer 0 and one of layer 1, and every third column of each MLP, with another
 * first column in each. */
static void choose(struct choice *choice, unsigned heads, unsigned columns)
{
    *choice = (struct choice){.heads = TINY_HEADS, .columns = TINY_COLUMNS};
    choice->head_goes = arena_alloc_array(&arena, TINY_LAYERS * TINY_HEADS, 1);
    choice->column_goes = arena_alloc_array(&arena, TINY_LAYERS * TINY_COLUMNS, 1);
    static const unsigned gone[] = {0, 2, TINY_HEADS + 1};
    for (unsigned i = 0; i < heads; i++)
        choice->head_goes[gone[i]] = true;
    choice->heads_gone = heads;
    for (unsigned c = 0; c < TINY_LAYERS * TINY_COLUMNS && columns > 0; c++)
        choice->column_goes[c] = (c + c / TINY_COLUMNS) % 3 == 0;
    choice->columns_gone = columns;
}

static void zero(float *weight, size_t in, size_t first, size_t count)
{
    for (size_t r = 0; r < TINY_HIDDEN; r++)
        memset(weight + r * in + first, 0, count * sizeof *weight);
}

/* The oracle: the parts to cut, as columns of zeros. */
static void mask(struct parameters *whole, const struct choice *choice)
{
    const size_t width = TINY_HIDDEN / TINY_HEADS;
    for (unsigned b = 0; b < TINY_LAYERS; b++) {
        const struct parameters_layer *layer = &whole->map.layers[b];
        for (unsigned h = 0; h < spec_heads(&whole->spec, b); h++)
            if (choice->head_goes[b * TINY_HEADS + h])
                zero(whole->values + layer->out_weight, spec_attended(&whole->spec, b), h * width,
                     width);
        for (unsigned c = 0; c < TINY_COLUMNS; c++)
            if (choice->column_goes[b * TINY_COLUMNS + c])
                zero(whole->values + layer->mlp_out_weight, TINY_COLUMNS, c, 1);
    }
}

static void ck_same_answers(const struct tiny_network *tiny, const struct parameters *small)
{
    enum { NUMBERS = TINY_INPUTS * TINY_LABELS };
    float whole[NUMBERS], cut[NUMBERS];
    tiny_network_logits(tiny, &tiny->parameters, whole);
    tiny_network_logits(tiny, small, cut);
    for (int i = 0; i < NUMBERS; i++)
        ck_assert_msg(fabsf(whole[i] - cut[i]) < 1e-5f, "%s: logit %d: %g, with zeros %g",
                      tiny->spec.family->name, i, (double)cut[i], (double)whole[i]);
}

static void check(const char *model_type, const struct pruned_heads *pruned, unsigned heads,
                  unsigned columns)
{
    struct tiny_network tiny;
    struct parameters small;
    struct choice choice;
    float before[TINY_INPUTS * TINY_LABELS], after[TINY_INPUTS * TINY_LABELS];
    arena_init(&arena);
    tiny_network_open(&tiny, model_type, pruned);
    choose(&choice, heads, columns);
    tiny_network_logits(&tiny, &tiny.parameters, before);
    ck_assert_int_eq(choice_cut(&small, &tiny.parameters, &choice, &arena, &err), ERR_OK);
    ck_assert_uint_eq(small.spec.intermediate, TINY_COLUMNS - columns);
    mask(&tiny.parameters, &choice);
    tiny_network_logits(&tiny, &tiny.parameters, after);
    ck_assert_msg(memcmp(before, after, sizeof before) != 0, "what goes changes nothing");
    ck_same_answers(&tiny, &small);
    parameters_close(&small);
    tiny_network_close(&tiny);
    arena_deinit(&arena);
}

START_TEST(a_cut_model_answers_as_the_whole_one_with_zeros)
{
    static const char *const families[] = {"bert",    "distilbert", "roberta",
                                           "electra", "vit",        "deit"};
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        check(families[i], NULL, 3, 0);
        check(families[i], NULL, 0, 8);
        check(families[i], NULL, 3, 8);
    }
}
END_TEST

START_TEST(cut_removes_a_column_of_a_gated_mlp_from_gate_and_value)
{
    check("modernbert", NULL, 0, 8);
}
END_TEST

/* Layer 0 has lost head 1 and layer 1 head 0 before: the third head of layer 0 is number 3 of the
 * model as it was made. */
START_TEST(a_model_is_cut_again_and_names_all_heads_that_are_gone)
{
    static const bool was_gone[TINY_LAYERS * TINY_HEADS] = {[1] = true, [TINY_HEADS] = true};
    static const unsigned left[] = {3, 3};
    static const char wanted[] = "xx.xx.x.";
    struct tiny_network tiny;
    struct parameters small;
    struct choice choice;
    const struct pruned_heads pruned = {.is_gone = was_gone, .left = left};
    check("bert", &pruned, 3, 8);
    arena_init(&arena);
    tiny_network_open(&tiny, "bert", &pruned);
    choose(&choice, 3, 0);
    ck_assert_int_eq(choice_cut(&small, &tiny.parameters, &choice, &arena, &err), ERR_OK);
    for (unsigned i = 0; i < TINY_LAYERS * TINY_HEADS; i++)
        ck_assert_msg(small.spec.pruned.is_gone[i] == (wanted[i] == 'x'), "head %u", i);
    ck_assert_uint_eq(spec_heads(&small.spec, 0), 1);
    ck_assert_uint_eq(spec_heads(&small.spec, 1), 2);
    parameters_close(&small);
    tiny_network_close(&tiny);
    arena_deinit(&arena);
}
END_TEST

SUITE("cut", a_cut_model_answers_as_the_whole_one_with_zeros,
      cut_removes_a_column_of_a_gated_mlp_from_gate_and_value,
      a_model_is_cut_again_and_names_all_heads_that_are_gone)
