/* drift_reference.h: files that are read and refused, and the bin of a label or a score. */
#include "engine/base/doc.h"
#include "engine/decide/drift_reference.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>

enum { LABELS = 6 };

static const char *const labels[LABELS] = {"none", "rare", "twin", "twin", "Center", "rarer"};
static struct arena arena;
static const struct drift_reference *reference;
static struct err err;

static enum err_code read_text(const char *text)
{
    struct json_t *object;
    arena_deinit(&arena);
    arena_init(&arena);
    err = (struct err){0};
    ck_assert_int_eq(doc_parse(&object, text, strlen(text), &doc_limits_file, &err), ERR_OK);
    drift_reference_read(&reference, object, labels, LABELS, &arena, &err);
    doc_free(object);
    return err.code;
}

#define SHARES "{\"none\": 0.7, \"rare\": 0.01, \"twin\": 0.18, \"Center\": 0.1, \"rarer\": 0.01}"
#define SCORE "{\"edges\": [0.5, 0.9], \"shares\": [0.2, 0.3, 0.5]}"
#define OOD "{\"edges\": [-1.5], \"shares\": [0, 1]}"
#define WHOLE(count, shares, score, ood)                                                           \
    "{\"count\": " count ", \"labels\": " shares ", \"score\": " score ", \"ood\": " ood "}"

START_TEST(reference_has_a_bin_for_each_label_that_is_frequent)
{
    ck_assert_msg(!read_text(WHOLE("1000", SHARES, SCORE, OOD)), "%s", err.text);
    const struct psi_reference *bins = &reference->psi[DRIFT_LABEL];
    ck_assert_uint_eq(reference->count, 1000);
    ck_assert_uint_eq(bins->bin_count, 4);
    ck_assert_uint_eq(bins->input_count, 1000);
    ck_assert_uint_eq(drift_reference_label_bin(reference, 0), 0);
    ck_assert_uint_eq(drift_reference_label_bin(reference, 2), 1); /* labels of one text */
    ck_assert_uint_eq(drift_reference_label_bin(reference, 3), 1);
    ck_assert_uint_eq(drift_reference_label_bin(reference, 4), 2);
    ck_assert_uint_eq(drift_reference_label_bin(reference, 1), 3); /* the rest, together */
    ck_assert_uint_eq(drift_reference_label_bin(reference, 5), 3);
    ck_assert_float_eq_tol(bins->shares[1], 0.18f, 1e-6f);
    ck_assert_float_eq_tol(bins->shares[3], 0.02f, 1e-6f);
}
END_TEST

/* A bin of twenty is a share of 0.22 among 90 inputs. */
START_TEST(reference_of_few_inputs_has_fewer_bins_of_labels)
{
    ck_assert_msg(!read_text(WHOLE("90", SHARES, SCORE, OOD)), "%s", err.text);
    ck_assert_uint_eq(reference->psi[DRIFT_LABEL].bin_count, 3);
    ck_assert_uint_eq(drift_reference_label_bin(reference, 3),
                      drift_reference_label_bin(reference, 4));
}
END_TEST

START_TEST(reference_puts_a_score_behind_the_edges_that_it_reaches)
{
    ck_assert_msg(!read_text(WHOLE("1000", SHARES, SCORE, OOD)), "%s", err.text);
    ck_assert_uint_eq(reference->psi[DRIFT_SCORE].bin_count, 3);
    ck_assert_uint_eq(drift_reference_bin(reference, DRIFT_SCORE, 0.25f), 0);
    ck_assert_uint_eq(drift_reference_bin(reference, DRIFT_SCORE, 0.5f), 1);
    ck_assert_uint_eq(drift_reference_bin(reference, DRIFT_SCORE, 0.75f), 1);
    ck_assert_uint_eq(drift_reference_bin(reference, DRIFT_SCORE, 1), 2);
    ck_assert_uint_eq(drift_reference_bin(reference, DRIFT_OOD, -3e38f), 0);
    ck_assert_uint_eq(drift_reference_bin(reference, DRIFT_OOD, 3e38f), 1);
    ck_assert_str_eq(drift_kind_name(DRIFT_LABEL), "label");
    ck_assert_str_eq(drift_kind_name(DRIFT_SCORE), "score");
    ck_assert_str_eq(drift_kind_name(DRIFT_OOD), "ood");
}
END_TEST

static enum err_code read_numbers(const char *text)
{
    struct json_t *object;
    arena_deinit(&arena);
    arena_init(&arena);
    err = (struct err){0};
    ck_assert_int_eq(doc_parse(&object, text, strlen(text), &doc_limits_file, &err), ERR_OK);
    drift_reference_read(&reference, object, NULL, 0, &arena, &err);
    doc_free(object);
    return err.code;
}

START_TEST(reference_of_a_regression_has_bins_of_numbers_alone)
{
    ck_assert_msg(!read_numbers("{\"count\": 40, \"value\": {\"edges\": [-5, 1e6], "
                                "\"shares\": [0.2, 0.3, 0.5]}}"),
                  "%s", err.text);
    for (enum drift_kind kind = 0; kind < DRIFT_KINDS; kind++)
        ck_assert(drift_reference_has(reference, kind) == (kind == DRIFT_VALUE));
    ck_assert_uint_eq(drift_reference_bin(reference, DRIFT_VALUE, -5.5f), 0);
    ck_assert_uint_eq(drift_reference_bin(reference, DRIFT_VALUE, 0), 1);
    ck_assert_uint_eq(drift_reference_bin(reference, DRIFT_VALUE, 2e6f), 2);
    ck_assert_str_eq(drift_kind_name(DRIFT_VALUE), "value");
    const uint64_t digest = reference->digest;
    ck_assert(!read_numbers("{\"count\": 40, \"value\": {\"edges\": [-5, 2e6], "
                            "\"shares\": [0.2, 0.3, 0.5]}}"));
    ck_assert(reference->digest != digest);
    ck_assert_int_eq(read_numbers(WHOLE("9", SHARES, SCORE, OOD)), ERR_UNSUPPORTED);
    ck_assert_str_eq(err.text, "$.reference.labels is not supported (supported: count, value)");
    ck_assert_int_eq(read_numbers("{\"count\": 9}"), ERR_UNSUPPORTED);
    ck_assert_str_eq(err.text, "$.reference.value: expected an object, found none");
    arena_deinit(&arena);
}
END_TEST

START_TEST(references_differ_in_their_digest_if_in_anything)
{
    static const char *const others[] = {
        WHOLE("1001", SHARES, SCORE, OOD),
        WHOLE("1000",
              "{\"none\": 0.6, \"rare\": 0.01, \"twin\": 0.18, \"Center\": 0.2, \"rarer\": 0.01}",
              SCORE, OOD),
        WHOLE("1000", SHARES, "{\"edges\": [0.5, 0.8], \"shares\": [0.2, 0.3, 0.5]}", OOD),
        WHOLE("1000", SHARES, "{\"edges\": [0.5, 0.9], \"shares\": [0.3, 0.2, 0.5]}", OOD),
        WHOLE("1000", SHARES, SCORE, "{\"edges\": [-1.5], \"shares\": [1, 0]}"),
    };
    ck_assert_msg(!read_text(WHOLE("1000", SHARES, SCORE, OOD)), "%s", err.text);
    uint64_t digest = reference->digest;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        ck_assert_msg(!read_text(others[i]), "%s", err.text);
        ck_assert_msg(reference->digest != digest, "other %zu", i);
    }
    ck_assert_msg(!read_text(WHOLE("1000", SHARES, SCORE, OOD)), "%s", err.text);
    ck_assert_uint_eq(reference->digest, digest);
}
END_TEST

static const struct {
    const char *text, *why;
} refused[] = {
    {"[]", "$.reference: expected an object, found an array"},
    {"{\"counts\": 1}",
     "$.reference.counts is not supported (supported: count, labels, score, ood)"},
    {WHOLE("null", SHARES, SCORE, OOD), "$.reference.count is missing"},
    {WHOLE("0", SHARES, SCORE, OOD), "$.reference.count: must be from 1 to 1000000000"},
    {WHOLE("1.5", SHARES, SCORE, OOD), "$.reference.count: expected an integer, found a fraction"},
    {"{\"count\": 9}", "$.reference.labels: expected an object, found nothing"},
    {WHOLE("9", "{\"none\": 1}", SCORE, OOD), "$.reference.labels lacks the label 'Center'"},
    {WHOLE("9", "{\"None\": 1}", SCORE, OOD),
     "$.reference.labels has a member that is no label of the model: 'None'"},
    {WHOLE("9", "{\"none\": 1.5}", SCORE, OOD),
     "$.reference.labels: the share of 'none' must be a number from 0 to 1"},
    {WHOLE("9", "{\"none\": 0.7, \"rare\": 0, \"twin\": 0.1, \"Center\": 0.1, \"rarer\": 0}", SCORE,
           OOD),
     "$.reference.labels must add up to 1, to within 0.001; they are 0.9"},
    {WHOLE("9", SHARES, "null", OOD), "$.reference.score: expected an object, found none"},
    {WHOLE("9", SHARES, "[]", OOD), "$.reference.score: expected an object, found an array"},
    {WHOLE("9", SHARES, "{\"deciles\": []}", OOD),
     "$.reference.score.deciles is not supported (supported: edges, shares)"},
    {WHOLE("9", SHARES, "{\"edges\": [], \"shares\": [1]}", OOD),
     "$.reference.score.edges must be an array of 1 to 63 numbers"},
    {WHOLE("9", SHARES, SCORE, "{\"edges\": [1, 1], \"shares\": [1, 0, 0]}"),
     "$.reference.ood.edges[1] must be above the one before"},
    {WHOLE("9", SHARES, SCORE, "{\"edges\": [1e31], \"shares\": [1, 0]}"),
     "$.reference.ood.edges[0] must be from -1e+30 to 1e+30"},
    {WHOLE("9", SHARES, SCORE, "{\"edges\": [true], \"shares\": [1, 0]}"),
     "$.reference.ood.edges[0]: expected a number, found a boolean"},
    {WHOLE("9", SHARES, SCORE, "{\"edges\": [1], \"shares\": [1]}"),
     "$.reference.ood.shares must be 2 numbers, one more than edges"},
    {WHOLE("9", SHARES, SCORE, "{\"edges\": [1], \"shares\": [0.5, 0.51]}"),
     "$.reference.ood.shares must add up to 1, to within 0.001; they are 1.01"},
    {WHOLE("9", SHARES, SCORE, "{\"edges\": [1], \"shares\": [2, -1]}"),
     "$.reference.ood.shares[0] must be from 0 to 1"},
};

START_TEST(drift_reference_refuses_each_fault_by_name)
{
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        ck_assert_msg(read_text(refused[i].text) != ERR_OK, "%s was read", refused[i].text);
        ck_assert_str_eq(err.text, refused[i].why);
    }
}
END_TEST

START_TEST(reference_has_at_most_64_bins)
{
    char text[4096], edges[512] = "", shares[512] = "0";
    for (unsigned bins = 64; bins <= 65; bins++) {
        edges[0] = '\0';
        snprintf(shares, sizeof shares, "1");
        for (unsigned i = 1; i < bins; i++) {
            snprintf(edges + strlen(edges), sizeof edges - strlen(edges), "%s%u", i > 1 ? "," : "",
                     i);
            snprintf(shares + strlen(shares), sizeof shares - strlen(shares), ",0");
        }
        snprintf(text, sizeof text,
                 "{\"count\": 9, \"labels\": " SHARES ", \"score\": " SCORE
                 ", \"ood\": {\"edges\": [%s], \"shares\": [%s]}}",
                 edges, shares);
        ck_assert_int_eq(read_text(text) == ERR_OK, bins == 64);
    }
}
END_TEST

SUITE("drift_reference", reference_has_a_bin_for_each_label_that_is_frequent,
      reference_of_few_inputs_has_fewer_bins_of_labels,
      reference_puts_a_score_behind_the_edges_that_it_reaches,
      reference_of_a_regression_has_bins_of_numbers_alone,
      references_differ_in_their_digest_if_in_anything, drift_reference_refuses_each_fault_by_name,
      reference_has_at_most_64_bins)
