/* tag_pairs.h: weights in closed form, and each refusal. */
#include "engine/base/doc.h"
#include "engine/decide/spans.h"
#include "engine/decide/tag_pairs.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LABELS = 3 };

static const char *const labels[LABELS] = {"O", "B-X", "I-X"};
static struct tag_pairs pairs;
static struct arena arena;
static struct err err;

#define APART "\"apart\": {\"O\": [6, 2, 0], \"B-X\": [1, 0, 3], \"I-X\": [3, 0, 5]}"
#define TOUCHING "\"touching\": {\"O\": [0, 0, 0], \"B-X\": [0, 0, 0], \"I-X\": [0, 0, 1e15]}"

static enum err_code read_pairs(const char *text)
{
    struct json_t *object;
    arena_deinit(&arena);
    arena_init(&arena);
    err = (struct err){0};
    const unsigned *insides = tag_insides(labels, LABELS, &arena);
    ck_assert_int_eq(doc_parse(&object, text, strlen(text), &doc_limits_file, &err), ERR_OK);
    tag_pairs_read(&pairs, object, labels, insides, LABELS, &arena, &err);
    doc_free(object);
    return err.code;
}

static double weight(enum tag_gap gap, unsigned before, unsigned behind)
{
    return (double)pairs.weights[((size_t)gap * LABELS + behind) * LABELS + before];
}

START_TEST(weights_are_shares_behind_a_label_over_shares_of_all)
{
    ck_assert_int_eq(read_pairs("{\"transitions\": {" TOUCHING ", " APART "}}"), ERR_OK);
    const double all = 1e15; /* and 20, and the halves */
    ck_assert_double_eq(pairs.counts[5], 3);
    ck_assert_double_eq(pairs.counts[2 * LABELS * LABELS - 1], 1e15);
    ck_assert_double_eq_tol(weight(TAG_APART, 0, 1), 0.3 * log(2.5 / 9.5 / (2.5 / all)), 1e-4);
    ck_assert_double_eq_tol(weight(TAG_APART, 1, 2), 0.3 * log(3.5 / 5.5 / (all / all)), 1e-4);
    ck_assert_double_eq_tol(weight(TAG_TOUCHING, 0, 1), 0.3 * log(0.5 / 1.5 / (2.5 / all)), 1e-4);
    for (unsigned gap = 0; gap < TAG_GAPS; gap++)
        ck_assert(isinf(weight((enum tag_gap)gap, 0, 2)) && isfinite(weight(TAG_APART, 2, 2)));
    ck_assert_int_eq(read_pairs("{}"), ERR_OK);
    ck_assert(pairs.weights == NULL && pairs.counts == NULL);
}
END_TEST

START_TEST(transitions_that_are_wrong_are_refused_by_name)
{
    static const struct {
        const char *text, *error;
    } rows[] = {
        {"[]", "$.transitions must be an object with apart and touching, not an array"},
        {"{}", "$.transitions must be an object with apart and touching, not an object"},
        {"{" APART "}", "$.transitions.touching is missing"},
        {"{" TOUCHING "}", "$.transitions.apart is missing"},
        {"{" APART ", " TOUCHING ", \"near\": {}}",
         "$.transitions.near is not supported (supported: apart, touching)"},
        {"{\"apart\": [], " TOUCHING "}", "$.transitions.apart"},
        {"{\"apart\": {\"O\": [0, 0, 0], \"B-X\": [0, 0, 0]}, " TOUCHING "}", "'I-X'"},
        {"{\"apart\": {\"P\": [0, 0, 0]}, " TOUCHING "}",
         "$.transitions.apart has a member that is no label of the model: 'P'"},
        {"{\"apart\": {\"O\": [0, 0]}, " TOUCHING "}",
         "$.transitions.apart: 'O' must be an array of 3 counts, one for each label"},
        {"{\"apart\": {\"O\": 3}, " TOUCHING "}",
         "$.transitions.apart: 'O' must be an array of 3 counts, one for each label"},
        {"{\"apart\": {\"O\": [0, -1, 0]}, " TOUCHING "}",
         "$.transitions.apart: 'O': count 1 must be a number from 0 to 1e+15"},
        {"{\"apart\": {\"O\": [0, 0, 2e15]}, " TOUCHING "}",
         "$.transitions.apart: 'O': count 2 must be a number from 0 to 1e+15"},
        {"{\"apart\": {\"O\": [\"1\", 0, 0]}, " TOUCHING "}",
         "$.transitions.apart: 'O': count 0 must be a number from 0 to 1e+15"},
    };
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[512];
        snprintf(text, sizeof text, "{\"transitions\": %s}", rows[i].text);
        ck_assert_int_eq(read_pairs(text), ERR_UNSUPPORTED);
        ck_assert_msg(strstr(err.text, rows[i].error) != NULL, "%s", err.text);
        ck_assert_ptr_null(pairs.weights);
    }
}
END_TEST

START_TEST(transitions_of_many_labels_are_refused)
{
    static const char *many[TAG_PAIRS_LABELS_MAX + 1];
    struct json_t *object;
    const char *text = "{\"transitions\": {" APART "}}";
    err = (struct err){0};
    ck_assert_int_eq(doc_parse(&object, text, strlen(text), &doc_limits_file, &err), ERR_OK);
    ck_assert_int_eq(
        tag_pairs_read(&pairs, object, many, NULL, TAG_PAIRS_LABELS_MAX + 1, &arena, &err),
        ERR_UNSUPPORTED);
    ck_assert_str_eq(err.text, "$.transitions is for models of at most 256 labels, not of 257");
    doc_free(object);
    arena_deinit(&arena);
}
END_TEST

SUITE("tag_pairs", weights_are_shares_behind_a_label_over_shares_of_all,
      transitions_that_are_wrong_are_refused_by_name, transitions_of_many_labels_are_refused)
