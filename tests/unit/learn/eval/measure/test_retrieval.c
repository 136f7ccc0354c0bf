/* retrieval.h on a golden directory of sentence-transformers: what is relevant to what, and figures
 * against the model's own vectors, taken one by one. */
#include "learn/eval/measure/retrieval.h"

#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char model_dir[] = "tests/data/embedding/st-bert-0";

static struct tempdir dir;
static struct dataset dataset;
static struct engine_model *model;
static struct retrieval retrieval;
static struct err err;

static enum err_code open_list(const char *lines)
{
    char path[128];
    const struct dataset_options options = {
        .kind = ENGINE_TEXT, .labels_optional = true, .label_other = "value"};
    err = (struct err){0};
    tempdir_open(&dir);
    snprintf(path, sizeof path, "%s/list.jsonl", dir.path);
    tempdir_write(&dir, "list.jsonl", lines, strlen(lines));
    ck_assert_msg(!dataset_open(&dataset, path, &options, &err), "%s", err.text);
    ck_assert_msg(!engine_open(&model, model_dir, &(struct engine_options){0}, &err), "%s",
                  err.text);
    return retrieval_take(&retrieval, model, &dataset, "the list", &err);
}

static void run(const char *lines)
{
    ck_assert_msg(!open_list(lines), "%s", err.text);
    ck_assert_msg(!retrieval_run(&retrieval, &(struct evaluation_options){.threads = 1}, &err),
                  "%s", err.text);
}

static void close_list(void)
{
    retrieval_close(&retrieval);
    engine_close(model);
    dataset_close(&dataset);
    tempdir_close(&dir);
}

START_TEST(texts_of_a_label_search_among_all_others)
{
    run("{\"text\":\"scan chain fail\",\"label\":\"a\"}\n"
        "{\"text\":\"scan chain fail again\",\"label\":\"a\"}\n"
        "{\"text\":\"leakage\",\"label\":\"b\"}\n"
        "{\"text\":\"leakage high\",\"label\":\"b\"}\n"
        "{\"text\":\"other\",\"label\":\"c\"}\n");
    ck_assert(retrieval.kind == RETRIEVAL_LABELS);
    ck_assert(retrieval.query_count == 5 && retrieval.document_count == 5);
    ck_assert(retrieval.vectors.queries == 4 && retrieval.vectors.without == 1);
    ck_assert_double_eq(retrieval.words[LEXICAL_BM25].ndcg, 1);
    ck_assert_double_eq(retrieval.words[LEXICAL_TFIDF].mrr, 1);
    close_list();
}
END_TEST

START_TEST(pairs_search_for_all_that_they_are_paired_with)
{
    run("{\"text\":\"one\",\"text_pair\":\"first\"}\n"
        "{\"text\":\"one\",\"text_pair\":\"second\"}\n"
        "{\"text\":\"two\",\"text_pair\":\"second\"}\n"
        "{\"text\":\"first\",\"text_pair\":\"third\"}\n");
    ck_assert(retrieval.kind == RETRIEVAL_PAIRS);
    ck_assert(retrieval.query_count == 3 && retrieval.document_count == 3);
    ck_assert(retrieval.vectors.queries == 3);
    /* "first" finds itself by words, which is not relevant to it */
    ck_assert_double_lt(retrieval.words[LEXICAL_BM25].ndcg, 1);
    /* all three are among the first five */
    ck_assert_double_eq(retrieval.vectors.recall[1], 1);
    close_list();
}
END_TEST

/* Numbers that are the cosines themselves, or their order turned. */
START_TEST(numbers_are_compared_by_rank)
{
    static const char *const texts[] = {"scan chain fail", "leakage", "a b c", "supply current",
                                        "open short"};
    char lines[1024] = "";
    double cosines[4];
    run("{\"text\":\"scan chain fail\",\"text_pair\":\"leakage\",\"value\":1}\n"
        "{\"text\":\"scan chain fail\",\"text_pair\":\"a b c\",\"value\":2}\n"
        "{\"text\":\"scan chain fail\",\"text_pair\":\"supply current\",\"value\":3}\n"
        "{\"text\":\"scan chain fail\",\"text_pair\":\"open short\",\"value\":4}\n");
    ck_assert(retrieval.kind == RETRIEVAL_NUMBERS);
    for (size_t p = 0; p < 4; p++) {
        const size_t width = retrieval.evaluation.vector_size;
        const float *a = retrieval.evaluation.vectors + 2 * p * width, *b = a + width;
        cosines[p] = 0;
        for (size_t i = 0; i < width; i++)
            cosines[p] += (double)a[i] * (double)b[i];
    }
    close_list();
    for (int sign = 1; sign >= -1; sign -= 2) {
        lines[0] = '\0';
        for (size_t p = 0; p < 4; p++)
            snprintf(lines + strlen(lines), sizeof lines - strlen(lines),
                     "{\"text\":\"%s\",\"text_pair\":\"%s\",\"value\":%.12f}\n", texts[0],
                     texts[p + 1], sign * cosines[p]);
        run(lines);
        ck_assert_double_eq_tol(retrieval.spearman, sign, 1e-12);
        close_list();
    }
}
END_TEST

static void expect_refused(const char *lines, const char *text)
{
    ck_assert_int_eq(open_list(lines), ERR_UNUSABLE);
    ck_assert_msg(strstr(err.text, text) != NULL, "%s", err.text);
    close_list();
}

START_TEST(data_that_say_nothing_of_belonging_are_refused)
{
    expect_refused("{\"text\":\"a\",\"label\":\"x\"}\n{\"text\":\"b\"}\n",
                   "the list: line 2: it has neither a label nor a text_pair");
    expect_refused("{\"text\":\"a\",\"text_pair\":\"b\"}\n{\"text\":\"b\"}\n",
                   "the list: line 2: it has no text_pair, as others have");
    expect_refused("{\"text\":\"a\",\"text_pair\":\"b\",\"value\":1}\n"
                   "{\"text\":\"b\",\"text_pair\":\"c\"}\n",
                   "the list: line 2: it has no number (value or label), as other pairs have");
    expect_refused("{\"text\":\"a\",\"text_pair\":\"b\",\"label\":\"same\"}\n",
                   "the list: line 1: ");
}
END_TEST

START_TEST(a_text_that_fails_is_found_by_none)
{
    run("{\"text\":\"scan\",\"label\":\"a\"}\n{\"text\":\"\",\"label\":\"a\"}\n"
        "{\"text\":\"chain\",\"label\":\"b\"}\n{\"text\":\"scan x\",\"label\":\"b\"}\n");
    ck_assert_uint_eq(retrieval.evaluation.failed, 1);
    ck_assert_double_lt(retrieval.vectors.mrr, 1);
    close_list();
}
END_TEST

SUITE("retrieval", texts_of_a_label_search_among_all_others,
      pairs_search_for_all_that_they_are_paired_with, numbers_are_compared_by_rank,
      data_that_say_nothing_of_belonging_are_refused, a_text_that_fails_is_found_by_none)
