#include "engine/decide/class_codes.h"
#include "engine/decide/class_prior.h"
#include "tests/support/results.h"
#include "tests/support/suite.h"
#include "wire/answer.h"

#include <jansson.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const char *const labels[] = {"Center", "Donut", "Scratch", "None \"quoted\" \xC3\xA9"};
static const struct engine_info info = {.kind = ENGINE_IMAGE,
                                        .family = "vit",
                                        .version = "1",
                                        .dtype = "f32",
                                        .linear_backend = "openblas",
                                        .kernels = "avx2",
                                        .scores = "softmax",
                                        .labels = labels,
                                        .label_count = 4,
                                        .image_height = 224,
                                        .weight_files = (const char *const[]){"/secret/path"},
                                        .weight_file_count = 1};

/* The prediction as text; to be freed. NULL if there is none. */
static char *predict(const float scores[4], unsigned top_k)
{
    float copy[4];
    memcpy(copy, scores, sizeof copy);
    const struct engine_result result = result_of(copy, 4);
    struct json_t *json = answer_prediction(
        &(struct answer){
            .model_name = "wafer-vit", .model_version = "1", .info = &info, .result = result},
        top_k);
    char *text =
        json != NULL ? json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(ANSWER_DIGITS)) : NULL;
    json_decref(json);
    return text;
}

static void expect_prediction(const float *scores, unsigned top_k, const char *tail)
{
    char expected[1024] = "{\"model\":{\"name\":\"wafer-vit\",\"version\":\"1\",\"digest\":null},";
    char *text = predict(scores, top_k);
    ck_assert_ptr_nonnull(text);
    size_t head = strlen(expected);
    ck_assert_msg(strncmp(text, expected, head) == 0, "%s", text);
    ck_assert_str_eq(text + head, tail);
    free(text);
}

START_TEST(answer_has_the_members_of_the_contract_in_its_order)
{
    expect_prediction((const float[]){0.25f, 0.5f, 0.125f, 0.125f}, 1,
                      "\"label\":\"Donut\",\"score\":0.5,\"decision\":\"auto\",\"predictions\":"
                      "[{\"label\":\"Donut\",\"score\":0.5}]}");
}
END_TEST

START_TEST(answer_tells_the_codes_of_the_fab)
{
    static const struct class_code codes[4] = {
        {.number = 3}, {.number = -17}, {.text = "S1"}, {.number = 0}};
    struct engine_info coded = info;
    coded.class_codes = codes;
    const struct engine_result result = result_of((float[]){0.25f, 0.125f, 0.5f, 0.125f}, 4);
    struct json_t *json = answer_prediction(
        &(struct answer){.model_name = "wafer-vit", .info = &coded, .result = result}, 2);
    ck_assert_str_eq(json_string_value(json_object_get(json, "class_code")), "S1");
    const json_t *rows = json_object_get(json, "predictions");
    ck_assert_int_eq(json_integer_value(json_object_get(json_array_get(rows, 1), "class_code")), 3);
    json_decref(json);
}
END_TEST

START_TEST(answer_sorts_by_falling_score_then_by_index)
{
    expect_prediction((const float[]){0.125f, 0.25f, 0.5f, 0.125f}, 0,
                      "\"label\":\"Scratch\",\"score\":0.5,\"decision\":\"auto\",\"predictions\":["
                      "{\"label\":\"Scratch\",\"score\":0.5},{\"label\":\"Donut\",\"score\":0.25},"
                      "{\"label\":\"Center\",\"score\":0.125},"
                      "{\"label\":\"None \\\"quoted\\\" \xC3\xA9\",\"score\":0.125}]}");
    expect_prediction(
        (const float[]){0.25f, 0.25f, 0.25f, 0.25f}, 2,
        "\"label\":\"Center\",\"score\":0.25,\"decision\":\"auto\",\"predictions\":["
        "{\"label\":\"Center\",\"score\":0.25},{\"label\":\"Donut\",\"score\":0.25}]}");
}
END_TEST

START_TEST(answer_tells_how_many_tokens_went_through_all_layers_where_not_all_do)
{
    struct engine_info pruned = info;
    const struct engine_result result = result_of((float[]){0.25f, 0.125f, 0.5f, 0.125f}, 4);
    struct answer answer = {.model_name = "m", .info = &info, .result = result};
    answer.result.tokens = 197;
    answer.result.kept_tokens = 96;
    struct json_t *json = answer_prediction(&answer, 1);
    ck_assert_ptr_null(json_object_get(json, "tokens"));
    json_decref(json);
    pruned.full_layers = 2;
    answer.info = &pruned;
    json = answer_prediction(&answer, 1);
    const json_t *tokens = json_object_get(json, "tokens");
    ck_assert_int_eq(json_integer_value(json_object_get(tokens, "of")), 197);
    ck_assert_int_eq(json_integer_value(json_object_get(tokens, "kept")), 96);
    json_decref(json);
}
END_TEST

START_TEST(answer_clamps_top_k_to_the_labels)
{
    const float scores[] = {0.1f, 0.2f, 0.3f, 0.4f};
    char *all = predict(scores, 0), *many = predict(scores, UINT32_MAX), *four = predict(scores, 4);
    ck_assert_str_eq(all, many);
    ck_assert_str_eq(all, four);
    free(all);
    free(many);
    free(four);
}
END_TEST

START_TEST(answer_gives_a_regression_its_raw_value)
{
    const char *const single[] = {"thickness"};
    const struct engine_info regression = {
        .kind = ENGINE_TEXT, .scores = "none", .labels = single, .label_count = 1};
    struct engine_result result = result_of((float[]){-1234.5f}, 1);
    result.task = ENGINE_REGRESS;
    struct json_t *json = answer_prediction(
        &(struct answer){.model_name = "m", .info = &regression, .result = result}, 1);
    ck_assert_double_eq(json_real_value(json_object_get(json, "value")), -1234.5);
    static const char *const none[] = {"label", "score", "predictions"};
    for (unsigned i = 0; i < 3; i++)
        ck_assert_ptr_null(json_object_get(json, none[i]));
    json_decref(json);
}
END_TEST

/* The members from "decision" on, but for the predictions. */
static void expect_judged(const struct engine_info *model, struct judgement judgement,
                          const char *expected)
{
    struct engine_result result = result_of((float[]){0.125f, 0.5f, 0.25f, 0.125f}, 4);
    result.judgement = judgement;
    struct json_t *json =
        answer_prediction(&(struct answer){.model_name = "m", .info = model, .result = result}, 1);
    ck_assert_ptr_nonnull(json);
    json_object_del(json, "predictions");
    char *text = json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(ANSWER_DIGITS));
    ck_assert_str_eq(strstr(text, "\"decision\""), expected);
    free(text);
    json_decref(json);
}

static void expect_judgement(struct judgement judgement, const char *expected)
{
    expect_judged(&info, judgement, expected);
}

START_TEST(answer_gives_the_reason_of_what_is_not_automatic)
{
    expect_judgement((struct judgement){.has_ood = true, .ood_score = -2.5f},
                     "\"decision\":\"auto\",\"ood_score\":-2.5}");
    expect_judgement((struct judgement){.decision = DECISION_REVIEW, .uncalibrated = true},
                     "\"decision\":\"review\",\"reason\":\"the model is not calibrated: it has no "
                     "thresholds\"}");
    expect_judgement((struct judgement){.decision = DECISION_REVIEW, .truncated = true},
                     "\"decision\":\"review\",\"reason\":\"the text is longer than the model "
                     "reads: its end was not read\"}");
    expect_judgement((struct judgement){.decision = DECISION_REVIEW, .coloured = true},
                     "\"decision\":\"review\",\"reason\":\"this picture has colours, and the model "
                     "learnt grey pictures: draw it in grey\"}");
    expect_judgement(
        (struct judgement){
            .decision = DECISION_REVIEW, .label = 2, .score = 0.25f, .threshold = 0.75f},
        "\"decision\":\"review\",\"reason\":\"label 'Scratch' has score 0.25, below "
        "its threshold 0.75\"}");
    expect_judgement((struct judgement){.decision = DECISION_REVIEW, .label = 1, .never = true},
                     "\"decision\":\"review\",\"reason\":\"label 'Donut' always goes to a "
                     "person: attnd.json has no threshold for it\"}");
    struct engine_info aimed = info;
    aimed.target_precision = 0.95;
    expect_judged(&aimed,
                  (struct judgement){.decision = DECISION_REVIEW, .label = 1, .never = true},
                  "\"decision\":\"review\",\"reason\":\"label 'Donut' always goes to a person: "
                  "at no score do the validation data show it to be right 95 % of the time\"}");
    expect_judgement((struct judgement){.decision = DECISION_UNKNOWN,
                                        .threshold = 7,
                                        .has_ood = true,
                                        .ood_score = 8,
                                        .has_rank = true,
                                        .ood_rank = 1},
                     "\"decision\":\"unknown\",\"reason\":\"the input is unlike what the model "
                     "knows: ood_score 8 is above its threshold 7\",\"ood_score\":8.0,"
                     "\"ood_rank\":1.0}");
}
END_TEST

START_TEST(answer_tells_how_a_model_decides)
{
    const float threshold = 2.5f;
    struct engine_info decided = info;
    struct json_t *json = answer_model(&info);
    ck_assert(json_is_null(json_object_get(json, "target_precision")));
    ck_assert(json_is_null(json_object_get(json, "ood_method")));
    ck_assert(json_is_null(json_object_get(json, "ood_threshold")));
    ck_assert(json_is_null(json_object_get(json, "ood_thresholds")));
    json_decref(json);
    decided.target_precision = 0.95;
    decided.ood_method = "mahalanobis";
    decided.ood_threshold = &threshold;
    json = answer_model(&decided);
    ck_assert_double_eq(json_real_value(json_object_get(json, "target_precision")), 0.95);
    ck_assert_str_eq(json_string_value(json_object_get(json, "ood_method")), "mahalanobis");
    ck_assert_double_eq(json_real_value(json_object_get(json, "ood_threshold")), 2.5);
    json_decref(json);
}
END_TEST

START_TEST(answer_says_truncated_only_if_it_is)
{
    const struct engine_result result = result_of((float[4]){0}, 4);
    struct answer answer = {.model_name = "m", .info = &info, .result = result};
    struct json_t *json = answer_prediction(&answer, 1);
    ck_assert_ptr_null(json_object_get(json, "truncated"));
    json_decref(json);
    answer.result.truncated = true;
    json = answer_prediction(&answer, 1);
    ck_assert(json_is_true(json_object_get(json, "truncated")));
    json_decref(json);
}
END_TEST

/* Random bit patterns: every finite float, not only pleasant ones. */
START_TEST(answer_prints_scores_that_parse_back_to_the_same_float)
{
    uint32_t state = 5;
    for (int round = 0; round < 20000; round++) {
        float scores[4];
        for (int i = 0; i < 4; i++) {
            state = state * 1664525u + 1013904223u;
            uint32_t bits = round % 2 == 0 ? state : state % 0x3F800001u; /* ... and 0 to 1 */
            memcpy(&scores[i], &bits, sizeof bits);
            if (!isfinite(scores[i]))
                scores[i] = 0.0f;
        }
        char *text = predict(scores, 1);
        float best = scores[0];
        for (int i = 1; i < 4; i++)
            best = scores[i] > best ? scores[i] : best;
        ck_assert_msg(strtof(strstr(text, "\"score\":") + 8, NULL) == best, "%a: %s", (double)best,
                      text);
        free(text);
    }
}
END_TEST

START_TEST(answer_gives_a_vector_and_decides_nothing)
{
    const struct engine_info embedding = {.task = ENGINE_EMBED, .vector_size = 3};
    float vector[] = {0.5f, -1, 0.1f};
    const struct answer answer = {
        .model_name = "m", .info = &embedding, .result = {.task = ENGINE_EMBED, .vector = vector}};
    struct json_t *json = answer_prediction(&answer, 1);
    char *text = json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(ANSWER_DIGITS));
    ck_assert_str_eq(text, "{\"model\":{\"name\":\"m\",\"version\":null,\"digest\":null},"
                           "\"embedding\":[0.5,-1.0,0.100000001],\"dimensions\":3}");
    free(text);
    json_decref(json);
}
END_TEST

/* "Pin \xC3\xA4\xE6\x99\xB6 \"4\"" has ten characters. */
START_TEST(answer_gives_spans_with_their_part_of_the_text)
{
    static const char text[] = "Pin \xC3\xA4\xE6\x99\xB6 \"4\"";
    const struct engine_info tags = {
        .task = ENGINE_TAG, .labels = labels, .label_count = 4, .row_size = 4};
    struct span spans[] = {{.name = "PIN", .label = 1, .score = 0.5f, .start = 4, .end = 6},
                           {.name = "VALUE", .label = 2, .score = 0.25f, .start = 7, .end = 10},
                           {.name = "X", .label = 3, .score = 1, .start = 3, .end = 3}};
    struct answer answer = {.model_name = "m",
                            .info = &tags,
                            .result = {.task = ENGINE_TAG, .spans = spans, .span_count = 3},
                            .text = text,
                            .text_len = sizeof text - 1};
    struct json_t *json = answer_prediction(&answer, 1);
    char *written = json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(ANSWER_DIGITS));
    ck_assert_str_eq(written,
                     "{\"model\":{\"name\":\"m\",\"version\":null,\"digest\":null},\"spans\":["
                     "{\"label\":\"PIN\",\"score\":0.5,\"start\":4,\"end\":6,\"text\":\"\xC3\xA4"
                     "\xE6\x99\xB6\"},{\"label\":\"VALUE\",\"score\":0.25,\"start\":7,\"end\":10,"
                     "\"text\":\"\\\"4\\\"\"},{\"label\":\"X\",\"score\":1.0,\"start\":3,\"end\":3,"
                     "\"text\":\"\"}],\"decision\":\"auto\"}");
    free(written);
    json_decref(json);
    answer.result.span_count = 0;
    answer.result.judgement = (struct judgement){
        .decision = DECISION_REVIEW, .label = 2, .score = 0.125f, .threshold = 0.75f};
    json = answer_prediction(&answer, 1);
    ck_assert_uint_eq(json_array_size(json_object_get(json, "spans")), 0);
    ck_assert_str_eq(json_string_value(json_object_get(json, "reason")),
                     "label 'Scratch' has score 0.125, below its threshold 0.75");
    json_decref(json);
}
END_TEST

START_TEST(answer_describes_a_model_of_tags)
{
    struct json_t *json = answer_model(&(struct engine_info){.task = ENGINE_TAG,
                                                             .family = "bert",
                                                             .dtype = "f32",
                                                             .scores = "softmax",
                                                             .labels = labels,
                                                             .label_count = 4,
                                                             .row_size = 4});
    ck_assert_str_eq(json_string_value(json_object_get(json, "task")), "tag");
    ck_assert(json_is_null(json_object_get(json, "explain_default")));
    ck_assert(json_is_null(json_object_get(json, "window_pooling")));
    json_decref(json);
}
END_TEST

START_TEST(answer_describes_a_model_of_vectors)
{
    static const char *const prompts[] = {"query", "document"};
    struct json_t *json = answer_model(&(struct engine_info){.task = ENGINE_EMBED,
                                                             .family = "bert",
                                                             .dtype = "f32",
                                                             .scores = "none",
                                                             .vector_size = 3,
                                                             .similarity = "cosine",
                                                             .prompts = prompts,
                                                             .prompt_count = 2});
    ck_assert_str_eq(json_string_value(json_object_get(json, "task")), "embed");
    ck_assert_int_eq(json_integer_value(json_object_get(json, "dimensions")), 3);
    ck_assert_str_eq(json_string_value(json_object_get(json, "similarity")), "cosine");
    ck_assert_uint_eq(json_array_size(json_object_get(json, "prompts")), 2);
    ck_assert(json_is_null(json_object_get(json, "explain_default")));
    json_decref(json);
}
END_TEST

START_TEST(answer_describes_a_model_that_writes)
{
    static const char *const codes[] = {"de", "en"};
    static const struct generation_config config = {.new_max = 40,
                                                    .new_min = 1,
                                                    .beams = 4,
                                                    .sequences = 2,
                                                    .no_repeat = 3,
                                                    .length_penalty = 0.5,
                                                    .early_stopping = STOPPING_NEVER};
    const struct engine_writes writes = {.family = "marian-decoder",
                                         .layers = 6,
                                         .heads = 8,
                                         .hidden_size = 512,
                                         .intermediate_size = 2048,
                                         .vocab_size = 65001,
                                         .new_tokens_max = 512,
                                         .config = &config,
                                         .cache_token_bytes = 24576,
                                         .target_languages = codes,
                                         .target_language_count = 2};
    struct json_t *json = answer_model(&(struct engine_info){.task = ENGINE_GENERATE,
                                                             .family = "marian",
                                                             .dtype = "f32",
                                                             .scores = "none",
                                                             .writes = &writes});
    char *text = json_dumps(json_object_get(json, "writes"),
                            JSON_COMPACT | JSON_REAL_PRECISION(ANSWER_DIGITS));
    ck_assert_str_eq(
        text,
        "{\"family\":\"marian-decoder\",\"layers\":6,\"heads\":8,\"hidden_size\":512,"
        "\"intermediate_size\":2048,\"vocab_size\":65001,\"new_tokens_max\":512,"
        "\"cache_token_bytes\":24576,\"max_new_tokens\":40,\"min_new_tokens\":1,"
        "\"num_beams\":4,\"num_beams_max\":8,\"num_return_sequences\":2,\"no_repeat_ngram_size\":3,"
        "\"length_penalty\":0.5,\"early_stopping\":\"never\","
        "\"source_languages\":[],\"target_languages\":[\"de\",\"en\"]}");
    ck_assert_str_eq(json_string_value(json_object_get(json, "task")), "generate");
    free(text);
    json_decref(json);
}
END_TEST

START_TEST(answer_describes_a_model_without_its_paths)
{
    struct json_t *json = answer_model(&info);
    ck_assert_str_eq(json_string_value(json_object_get(json, "kind")), "image");
    ck_assert_uint_eq(json_array_size(json_object_get(json, "labels")), 4);
    ck_assert_int_eq(json_integer_value(json_object_get(json, "image_height")), 224);
    ck_assert_ptr_null(json_object_get(json, "vocab_size"));
    char *text = json_dumps(json, 0);
    ck_assert_ptr_null(strstr(text, "secret"));
    free(text);
    json_decref(json);
}
END_TEST

/* The whole object, for an image's model and a text's, each with all that can be missing. */
static void expect_model(const struct engine_info *of, const char *expected)
{
    struct json_t *json = answer_model(of);
    char *text = json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(ANSWER_DIGITS));
    ck_assert_str_eq(text, expected);
    free(text);
    json_decref(json);
}

START_TEST(answer_describes_a_model_member_by_member)
{
    static const char *const two[] = {"a", "b"}, *const unbound[] = {"pooler.weight"};
    static const float threshold = 1.5f;
    static const double shares[] = {0.75, 0.25};
    const struct class_prior prior = {.kind = CLASS_PRIOR_COUNTS, .expected = shares};
    expect_model(&(struct engine_info){.kind = ENGINE_IMAGE,
                                       .family = "vit",
                                       .version = "7",
                                       .dtype = "int8",
                                       .dtype_asked = "auto",
                                       .dtype_reason = "int8: 2.9 x f32",
                                       .linear_backend = "native",
                                       .kernels = "avx2",
                                       .scores = "sigmoid",
                                       .labels = two,
                                       .label_count = 2,
                                       .layers = 12,
                                       .heads = 6,
                                       .hidden_size = 384,
                                       .intermediate_size = 1536,
                                       .tokens_max = 197,
                                       .image_height = 224,
                                       .image_width = 192,
                                       .patch_size = {16, 16},
                                       .views = 4,
                                       .parameters = 21000,
                                       .weight_bytes = 84000,
                                       .unbound = unbound,
                                       .unbound_count = 1,
                                       .is_calibrated = true,
                                       .target_precision = 0.95,
                                       .ood_method = "energy",
                                       .ood_threshold = &threshold,
                                       .ood_label_thresholds = (const float[]){NAN, 2.5f},
                                       .class_prior = &prior,
                                       .explain_default = EXPLAIN_GRADIENT},
                 "{\"kind\":\"image\",\"reads\":[\"image\"],\"family\":\"vit\","
                 "\"version\":\"7\",\"dtype\":\"int8\","
                 "\"dtype_asked\":\"auto\",\"dtype_reason\":\"int8: 2.9 x f32\","
                 "\"linear_backend\":\"native\",\"kernels\":\"avx2\",\"scores\":\"sigmoid\","
                 "\"target_precision\":0.95,\"calibrated\":true,\"uncalibrated\":null,"
                 "\"ood_method\":\"energy\",\"ood_threshold\":1.5,"
                 "\"ood_thresholds\":{\"b\":2.5},"
                 "\"class_prior\":{\"a\":0.75,\"b\":0.25},"
                 "\"explain_default\":\"gradient\",\"labels\":[\"a\",\"b\"],"
                 "\"task\":\"classify\",\"zero_shot\":false,\"layers\":12,"
                 "\"heads\":6,\"hidden_size\":384,\"intermediate_size\":1536,\"tokens_max\":197,"
                 "\"token_pruning\":null,"
                 "\"image_height\":224,\"image_width\":192,\"patch_size\":16,\"views\":4,"
                 "\"parameters\":21000,\"weight_bytes\":84000,"
                 "\"unbound_tensors\":[\"pooler.weight\"]}");
    expect_model(
        &(struct engine_info){.kind = ENGINE_TEXT,
                              .family = "bert",
                              .dtype = "f32",
                              .dtype_asked = "f32",
                              .scores = "none",
                              .labels = two,
                              .label_count = 1,
                              .vocab_size = 30522,
                              .reads_windows = true,
                              .window_stride = 64,
                              .window_pooling = "max",
                              .ngram_rows = 65536},
        "{\"kind\":\"text\",\"reads\":[\"text\"],\"family\":\"bert\",\"version\":null,"
        "\"dtype\":\"f32\","
        "\"dtype_asked\":\"f32\",\"dtype_reason\":null,"
        "\"linear_backend\":null,\"kernels\":null,\"scores\":\"none\",\"target_precision\":null,"
        "\"calibrated\":false,\"uncalibrated\":\"auto\","
        "\"ood_method\":null,\"ood_threshold\":null,\"ood_thresholds\":null,"
        "\"class_prior\":\"natural\","
        "\"explain_default\":\"rollout\","
        "\"labels\":[\"a\"],\"task\":\"classify\",\"zero_shot\":false,\"layers\":0,\"heads\":0,"
        "\"hidden_size\":0,"
        "\"intermediate_size\":0,\"tokens_max\":0,\"token_pruning\":null,\"vocab_size\":30522,"
        "\"reads_pairs\":false,"
        "\"long_text\":\"windows\",\"window_stride\":64,\"window_pooling\":\"max\","
        "\"ngram_rows\":65536,"
        "\"parameters\":0,\"weight_bytes\":0,\"unbound_tensors\":[]}");
}
END_TEST

START_TEST(answer_takes_further_members_and_prints_one_line)
{
    char *text;
    size_t len;
    FILE *file = open_memstream(&text, &len), *full = fopen("/dev/full", "w");
    struct json_t *answer = json_object();
    ck_assert(answer_add_text(answer, "file", "a.png"));
    ck_assert(answer_add_text(answer, "wafer", NULL));
    ck_assert(answer_add_reals(answer, "logits", (const float[]){0.5f, -2}, 2));
    ck_assert(answer_add_reals(answer, "none", NULL, 0));
    ck_assert(answer_add_integers(answer, "ids", (const int32_t[]){101, -7, 102}, 3));
    ck_assert(answer_print(answer, file));
    fclose(file);
    ck_assert_str_eq(text, "{\"file\":\"a.png\",\"wafer\":null,\"logits\":[0.5,-2.0],\"none\":[],"
                           "\"ids\":[101,-7,102]}\n");
    ck_assert_ptr_nonnull(full);
    setvbuf(full, NULL, _IONBF, 0);
    ck_assert(!answer_print(answer, full));
    fclose(full);
    free(text);
    json_decref(answer);
}
END_TEST

/* The parts of an answer whose bytes come from files. */
static bool has_answer(struct answer answer, unsigned top_k)
{
    const struct engine_result result = result_of((float[]){0.25f, 0.75f}, 2);
    answer.result = result;
    struct json_t *json = answer_prediction(&answer, top_k);
    json_decref(json);
    return json != NULL;
}

START_TEST(answer_is_null_if_a_name_is_not_utf8)
{
    static const char bad[] = "\xFF";
    const char *const first[] = {bad, "b"}, *const second[] = {"a", bad},
                      *const fine[] = {"a", "b"};
    static const struct class_code codes[] = {{.text = "\xFF"}, {.number = 7}};
    struct engine_info model = {.labels = fine, .label_count = 2, .scores = "softmax"};
    struct answer answer = {.model_name = "m", .info = &model};
    ck_assert(has_answer(answer, 0));
    answer.model_name = bad;
    ck_assert(!has_answer(answer, 0));
    answer.model_name = "m";
    answer.model_version = bad;
    ck_assert(!has_answer(answer, 0));
    answer.model_version = NULL;
    answer.model_digest = bad;
    ck_assert(!has_answer(answer, 0));
    answer.model_digest = NULL;
    model.labels = first; /* not the best one */
    ck_assert(!has_answer(answer, 0));
    ck_assert(has_answer(answer, 1));
    model.labels = second;
    ck_assert(!has_answer(answer, 0));
    ck_assert(!has_answer(answer, 1));
    model.labels = fine;
    model.class_codes = codes;
    ck_assert(!has_answer(answer, 0));
    ck_assert(has_answer(answer, 1));
}
END_TEST

START_TEST(answer_describes_no_model_with_names_that_are_not_utf8)
{
    const char *const bad[] = {"a", "\xFF"}, *const fine[] = {"a", "b"};
    struct engine_info model = {.family = "bert",
                                .dtype = "f32",
                                .scores = "softmax",
                                .labels = bad,
                                .label_count = 2,
                                .unbound = bad,
                                .unbound_count = 1};
    ck_assert_ptr_null(answer_model(&model));
    model.labels = fine;
    struct json_t *json = answer_model(&model);
    ck_assert_ptr_nonnull(json);
    json_decref(json);
    model.unbound_count = 2;
    ck_assert_ptr_null(answer_model(&model));
    json = json_object();
    ck_assert(!answer_add_text(json, "file", "\xFF"));
    json_decref(json);
}
END_TEST

SUITE("answer", answer_is_null_if_a_name_is_not_utf8,
      answer_describes_no_model_with_names_that_are_not_utf8,
      answer_describes_a_model_member_by_member, answer_takes_further_members_and_prints_one_line,
      answer_has_the_members_of_the_contract_in_its_order, answer_tells_the_codes_of_the_fab,
      answer_sorts_by_falling_score_then_by_index,
      answer_tells_how_many_tokens_went_through_all_layers_where_not_all_do,
      answer_clamps_top_k_to_the_labels, answer_gives_a_regression_its_raw_value,
      answer_gives_the_reason_of_what_is_not_automatic, answer_tells_how_a_model_decides,
      answer_says_truncated_only_if_it_is, answer_prints_scores_that_parse_back_to_the_same_float,
      answer_describes_a_model_without_its_paths, answer_gives_a_vector_and_decides_nothing,
      answer_gives_spans_with_their_part_of_the_text, answer_describes_a_model_of_tags,
      answer_describes_a_model_that_writes, answer_describes_a_model_of_vectors)
