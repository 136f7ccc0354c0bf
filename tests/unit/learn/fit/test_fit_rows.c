/* fit_rows.c: people's labels go before the examples of the model, and a bank holds a fair number
 * of each label. */
#include "learn/eval/fit/example_bank.h"
#include "learn/fit/fit.h"
#include "tests/support/suite.h"

#include <string.h>

enum { ITEMS = 4, CARRIED = 3, WIDTH = 2, OLD = 2, LABELS = 3 };

static float item_features[ITEMS * WIDTH] = {1, 2, 3, 4, 5, 6, 7, 8};
static float item_logits[ITEMS * OLD] = {.1f, .2f, .3f, .4f, .5f, .6f, .7f, .8f};
static uint64_t item_digests[ITEMS] = {40, 10, 30, 20};
static const char *problems[ITEMS] = {NULL, "cannot be read", NULL, NULL};
static unsigned item_classes[ITEMS] = {2, 0, 1, 2};
static const struct evaluation evaluation = {.count = ITEMS,
                                             .label_count = OLD,
                                             .logits = item_logits,
                                             .feature_size = WIDTH,
                                             .features = item_features,
                                             .digests = item_digests,
                                             .problems = problems,
                                             .failed = 1};

static const struct fit_data data = {.evaluation = &evaluation, .classes = item_classes};

static float bank_features[CARRIED * WIDTH] = {11, 12, 13, 14, 15, 16};
static float bank_logits[CARRIED * OLD] = {1, 2, 3, 4, 5, 6};
static unsigned bank_classes[CARRIED] = {0, 1, 0};
static uint64_t bank_digests[CARRIED] = {10, 20, 50};
static const struct head_bank bank = {.count = CARRIED,
                                      .width = WIDTH,
                                      .labels = OLD,
                                      .features = bank_features,
                                      .logits = bank_logits,
                                      .classes = bank_classes,
                                      .digests = bank_digests};

START_TEST(an_example_gives_way_to_the_same_input_of_the_data)
{
    struct fit_rows rows;
    struct err err = {0};
    ck_assert_int_eq(fit_rows_open(&rows, &data, &bank, LABELS, &err), ERR_OK);
    /* Item 1 cannot be read, so that the example of its digest stays; item 3 replaces the second. */
    static const uint64_t digests[] = {40, 30, 20, 10, 50};
    static const unsigned classes[] = {2, 1, 2, 0, 0};
    ck_assert_uint_eq(rows.count, 5);
    ck_assert_uint_eq(rows.of_data, 3);
    ck_assert_mem_eq(rows.digests, digests, sizeof digests);
    ck_assert_mem_eq(rows.classes, classes, sizeof classes);
    ck_assert_uint_eq(rows.items[2], 3);
    ck_assert_float_eq(rows.features[2 * WIDTH], 7);
    ck_assert_float_eq(rows.features[4 * WIDTH + 1], 16);
    ck_assert_float_eq(rows.before[2 * OLD + 1], .8f);
    ck_assert_float_eq(rows.before[4 * OLD], 5);
    fit_rows_close(&rows);
}
END_TEST

START_TEST(without_a_bank_the_data_are_all_there_is)
{
    const struct head_bank none = {0};
    struct fit_rows rows;
    struct err err = {0};
    ck_assert_int_eq(fit_rows_open(&rows, &data, &none, LABELS, &err), ERR_OK);
    ck_assert_uint_eq(rows.count, 3);
    ck_assert_uint_eq(rows.of_data, 3);
    fit_rows_close(&rows);
}
END_TEST

START_TEST(a_bank_holds_the_smallest_digests_of_each_label_once)
{
    enum { MANY = 1000, FEW = 7 };
    static float features[(MANY + FEW) * WIDTH], after[(MANY + FEW) * OLD];
    static unsigned classes[MANY + FEW];
    static uint64_t digests[MANY + FEW];
    struct fit_rows rows = {.count = MANY + FEW,
                            .width = WIDTH,
                            .labels = OLD,
                            .features = features,
                            .classes = classes,
                            .digests = digests,
                            .after = after};
    struct head_bank made;
    struct arena arena;
    struct err err = {0};
    arena_init(&arena);
    for (unsigned i = 0; i < MANY + FEW; i++) {
        classes[i] = i < MANY ? 1 : 0;
        digests[i] = i < MANY ? MANY - i / 2 : 5; /* each of the many twice, the few all the same */
        features[i * WIDTH] = (float)i;
        after[i * OLD + 1] = (float)i;
    }
    ck_assert_int_eq(fit_rows_bank(&rows, &made, &arena, &err), ERR_OK);
    ck_assert_uint_eq(made.count, 1 + EXAMPLE_BANK_ROWS);
    ck_assert_uint_eq(made.classes[0], 0);
    for (size_t i = 1; i < made.count; i++) {
        ck_assert_uint_eq(made.classes[i], 1);
        ck_assert_uint_eq(made.digests[i], MANY / 2 + i);
        ck_assert_float_eq(made.features[i * WIDTH], made.logits[i * OLD + 1]);
    }
    arena_deinit(&arena);
}
END_TEST

SUITE("fit_rows", an_example_gives_way_to_the_same_input_of_the_data,
      without_a_bank_the_data_are_all_there_is,
      a_bank_holds_the_smallest_digests_of_each_label_once)
