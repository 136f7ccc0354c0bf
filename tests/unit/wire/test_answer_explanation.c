/* Explanations as JSON, compared as a whole. */
#include "engine/model/attention_stats.h"
#include "tests/support/results.h"
#include "tests/support/suite.h"
#include "wire/answer.h"

#include <jansson.h>
#include <stdlib.h>

static const char *const labels[] = {"a", "b"};
static const struct engine_info info = {.labels = labels, .label_count = 2};

/* The members from "explanation" on. */
static void expect_explanation(const struct explanation *explanation, const char *expected)
{
    const struct engine_result result = result_of((float[]){0.75f, 0}, 2);
    struct json_t *json = answer_prediction(
        &(struct answer){
            .model_name = "m", .info = &info, .result = result, .explanation = explanation},
        1);
    ck_assert_ptr_nonnull(json);
    json_t *part = json_object(), *stats = json_object_get(json, "attention_stats");
    json_object_set(part, "explanation", json_object_get(json, "explanation"));
    if (stats != NULL)
        json_object_set(part, "attention_stats", stats);
    char *text = json_dumps(part, JSON_COMPACT | JSON_REAL_PRECISION(ANSWER_DIGITS));
    ck_assert_str_eq(text, expected);
    free(text);
    json_decref(part);
    json_decref(json);
}

START_TEST(answer_explains_a_text_by_words_and_spans)
{
    static const struct excerpt words[] = {{.start = 0, .end = 4, .relevance = 0.25f},
                                           {.start = 5, .end = 9, .relevance = 0.75f}};
    struct explanation explanation = {.method = EXPLAIN_GRADIENT,
                                      .words = words,
                                      .word_count = 2,
                                      .spans = {{.start = 5, .end = 9, .relevance = 0.75f}},
                                      .span_count = 1};
    expect_explanation(&explanation, "{\"explanation\":{\"method\":\"gradient\",\"words\":["
                                     "{\"start\":0,\"end\":4,\"relevance\":0.25},"
                                     "{\"start\":5,\"end\":9,\"relevance\":0.75}],"
                                     "\"spans\":[{\"start\":5,\"end\":9,\"relevance\":0.75}]}}");
    explanation.has_phrases = true;
    explanation.phrases[0] = (struct excerpt){.start = 2, .end = 9, .relevance = 1.5f};
    explanation.phrase_count = explanation.word_count = 1;
    expect_explanation(&explanation, "{\"explanation\":{\"method\":\"gradient\",\"words\":["
                                     "{\"start\":0,\"end\":4,\"relevance\":0.25}],"
                                     "\"spans\":[{\"start\":5,\"end\":9,\"relevance\":0.75}],"
                                     "\"phrases\":[{\"start\":2,\"end\":9,\"evidence\":1.5}]}}");
    explanation.has_phrases = false;
    explanation.layer = 1;
    explanation.word_count = explanation.span_count = 0;
    expect_explanation(&explanation, "{\"explanation\":{\"method\":\"gradient\",\"layer\":1,"
                                     "\"words\":[],\"spans\":[]}}");
}
END_TEST

START_TEST(answer_explains_an_image_by_a_grid_and_boxes)
{
    static const float patches[] = {0.5f, 0.25f, 0.125f, 0.125f, 0, 0};
    struct explanation explanation = {
        .method = EXPLAIN_ROLLOUT,
        .view = {.rows = 2, .columns = 3, .all = {.left = -1, .top = 2, .width = 30, .height = 20}},
        .patches = patches,
        .boxes = {{.left = 10, .top = 20, .right = 17, .bottom = 25, .relevance = 0.5f},
                  {.left = 1, .top = 2, .right = 4, .bottom = 8, .relevance = 0.25f}},
        .box_count = 2,
        .overlay = "aGk="};
    expect_explanation(
        &explanation,
        "{\"explanation\":{\"method\":\"rollout\",\"grid\":[2,3],\"region\":[-1.0,2.0,30.0,20.0],"
        "\"relevance\":[0.5,0.25,0.125,0.125,0.0,0.0],\"top_patches\":["
        "{\"left\":10,\"top\":20,\"width\":7,\"height\":5,\"relevance\":0.5},"
        "{\"left\":1,\"top\":2,\"width\":3,\"height\":6,\"relevance\":0.25}],"
        "\"overlay\":\"aGk=\"}}");
}
END_TEST

START_TEST(answer_gives_the_statistics_of_every_head)
{
    static const struct attention_stats stats[] = {
        {1, 2, 3, 4, 5}, {6, 7, 8, 9, 10}, {11, 12, 13, 14, 15}, {16, 17, 18, 19, 20}};
    struct explanation explanation = {.method = EXPLAIN_ROLLOUT,
                                      .words = (const struct excerpt[]){{0}},
                                      .stats = stats,
                                      .layers = 2,
                                      .heads = 2};
    expect_explanation(&explanation,
                       "{\"explanation\":{\"method\":\"rollout\",\"words\":[],\"spans\":[]},"
                       "\"attention_stats\":{\"entropy\":[[1.0,6.0],[11.0,16.0]],"
                       "\"distance\":[[2.0,7.0],[12.0,17.0]],"
                       "\"diagonal\":[[3.0,8.0],[13.0,18.0]],"
                       "\"neighbour\":[[4.0,9.0],[14.0,19.0]],"
                       "\"sparsity\":[[5.0,10.0],[15.0,20.0]]}}");
}
END_TEST

SUITE("answer_explanation", answer_explains_a_text_by_words_and_spans,
      answer_explains_an_image_by_a_grid_and_boxes, answer_gives_the_statistics_of_every_head)
