/* The engine against checkpoints that Hugging Face transformers (or a PyTorch reference checked
 * against it) answered. ATTND_GOLDEN names a directory with more of them; without it the committed
 * ones are used. */
#include "engine/base/doc.h"
#include "engine/base/file.h"
#include "engine/engine.h"
#include "engine/format/safetensors.h"
#include "tests/support/numbers.h"
#include "tests/support/run_logits.h"
#include "tests/support/sources.h"
#include "tests/support/suite.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 1024, LABELS = 16, TOKENS = 1100 };

static const char *golden_dir(void)
{
    const char *dir = getenv("ATTND_GOLDEN");
    return dir != NULL ? dir : "tests/data/golden";
}

static struct engine_model *open_model_as(const char *name, const char *backend, const char *dtype)
{
    char dir[PATH_BYTES];
    struct err err = {0};
    struct engine_model *model;
    snprintf(dir, sizeof dir, "%s/%s", golden_dir(), name);
    engine_open(&model, dir, &(struct engine_options){.linear_backend = backend, .dtype = dtype},
                &err);
    ck_assert_msg(err.code == ERR_OK, "%s: %s", name, err.text);
    return model;
}

static struct engine_model *open_model(const char *name, const char *backend)
{
    return open_model_as(name, backend, "f32");
}

static struct json_t *open_cases(const char *name)
{
    char path[PATH_BYTES];
    struct err err = {0};
    struct json_t *cases;
    snprintf(path, sizeof path, "%s/%s/cases.json", golden_dir(), name);
    ck_assert_msg(doc_parse_file(&cases, path, 64 << 20, &err) == ERR_OK, "%s", err.text);
    return cases;
}

static size_t numbers(const struct json_t *object, const char *key, double *out, size_t max)
{
    const struct json_t *array = doc_member(object, key);
    size_t count = doc_array_count(array);
    ck_assert_uint_le(count, max);
    for (size_t i = 0; i < count; i++)
        ck_assert(doc_as_number(doc_array_item(array, i), &out[i]));
    return count;
}

static void prepare_image(const struct engine_model *model, const char *file, struct arena *arena,
                          struct engine_input *input)
{
    char path[PATH_BYTES], *bytes;
    size_t len;
    struct err err = {0};
    snprintf(path, sizeof path, "%s/images/%s", golden_dir(), file);
    ck_assert_int_eq(file_read(&bytes, &len, path, 1 << 26, &err), ERR_OK);
    engine_prepare(model, picture_source(bytes, len, 1 << 25), NULL, arena, input, &err);
    ck_assert_msg(err.code == ERR_OK, "%s: %s", file, err.text);
    free(bytes);
}

/* False for a text with no token, which the reference answers and we refuse. */
static bool prepare_text(const struct engine_model *model, const struct json_t *one,
                         struct arena *arena, struct engine_input *input)
{
    static double ids[TOKENS];
    struct err err = {0};
    size_t count = numbers(one, "ids", ids, TOKENS), len, pair_len = 0;
    const char *text = doc_text(doc_member(one, "text"), &len), *pair = "";
    if (doc_member(one, "text_pair") != NULL)
        pair = doc_text(doc_member(one, "text_pair"), &pair_len);
    engine_prepare(model,
                   &(struct engine_source){.kind = ENGINE_TEXT,
                                           .bytes = text,
                                           .len = len,
                                           .pair = pair,
                                           .pair_len = pair_len,
                                           .is_utf8 = true},
                   NULL, arena, input, &err);
    if (count == 2) {
        ck_assert_int_eq(err.code, ERR_UNUSABLE);
        return false;
    }
    ck_assert_msg(err.code == ERR_OK, "%s", err.text);
    ck_assert_uint_eq(input->tokens, count);
    for (size_t i = 0; i < count; i++)
        ck_assert_int_eq(input->ids[i], (int)ids[i]);
    return true;
}

static void check_offsets(const struct json_t *one, const struct engine_input *input)
{
    const struct json_t *offsets = doc_member(one, "offsets");
    for (size_t i = 0; i < doc_array_count(offsets); i++) {
        double start, end;
        doc_as_number(doc_array_item(doc_array_item(offsets, i), 0), &start);
        doc_as_number(doc_array_item(doc_array_item(offsets, i), 1), &end);
        ck_assert_uint_eq(input->starts[i], (unsigned)start);
        ck_assert_uint_eq(input->ends[i], (unsigned)end);
    }
}

static void check_pixels(const struct json_t *one, const struct engine_info *info,
                         const struct engine_input *input)
{
    double sum = 0, expected, head[16];
    const struct extent size = {info->image_height, info->image_width}, patch = info->patch_size;
    const size_t count = extent_area(extent_parts(size, patch)) * 3 * extent_area(patch);
    for (size_t i = 0; i < count; i++)
        sum += input->patches[i];
    ck_assert(doc_as_number(doc_member(one, "pixels_sum"), &expected));
    ck_assert_msg(fabs(sum - expected) < 1e-2, "pixel sum %g instead of %g", sum, expected);
    size_t heads = numbers(one, "pixels_head", head, 16);
    for (size_t i = 0; i < heads && i < patch.width; i++) /* the first row of the first patch */
        ck_assert_double_eq_tol(input->patches[i], head[i], 1e-6);
}

/* max |a - b| / max |b| */
static double relative(const float *a, const double *b, size_t n)
{
    double worst = 0, largest = 0;
    for (size_t i = 0; i < n; i++) {
        worst = fmax(worst, fabs(a[i] - b[i]));
        largest = fmax(largest, fabs(b[i]));
    }
    return worst / largest;
}

static bool prepare_case(const struct engine_model *model, const struct json_t *one,
                         struct arena *arena, struct engine_input *input)
{
    if (engine_describe(model)->kind == ENGINE_TEXT) {
        if (!prepare_text(model, one, arena, input))
            return false;
        check_offsets(one, input);
        return true;
    }
    prepare_image(model, doc_as_string(doc_member(one, "image")), arena, input);
    check_pixels(one, engine_describe(model), input);
    return true;
}

/* The [CLS] row of attention rollout, to 1e-5. Capturing does not change the answer. The reference
 * has no rollout for attention windows: the row then sums to one. */
static void check_rollout(const struct engine_model *model, struct engine_session *session,
                          const struct json_t *one, struct engine_input *input, const float *logits,
                          struct arena *arena)
{
    double expected[TOKENS];
    float captured[LABELS];
    const float *relevance;
    const struct explain_options rollout = {.method = EXPLAIN_ROLLOUT};
    struct err err = {0};
    size_t count = numbers(one, "rollout", expected, TOKENS);
    ck_assert(count == input->tokens || doc_member(one, "rollout") == NULL);
    if (doc_member(one, "rollout") == NULL && input->kind == ENGINE_IMAGE) /* over its patches */
        return;
    ck_assert_int_eq(engine_capture(model, input, &rollout, arena, &err), ERR_OK);
    run_logits_one(session, input, captured);
    ck_assert_mem_eq(captured, logits, engine_describe(model)->label_count * sizeof *logits);
    ck_assert_int_eq(engine_relevance(model, input, &rollout, 0, arena, &relevance, &err), ERR_OK);
    for (size_t i = 0; i < count; i++)
        ck_assert_msg(fabs(relevance[i] - expected[i]) < 1e-5, "token %zu: %g instead of %g", i,
                      (double)relevance[i], expected[i]);
    double total = 0;
    for (size_t i = 0; i < input->tokens; i++)
        total += (double)relevance[i];
    ck_assert_double_eq_tol(total, 1, 1e-5);
}

static double check_case(const struct engine_model *model, struct engine_session *session,
                         const struct json_t *one)
{
    double expected[LABELS], probabilities[LABELS];
    float logits[LABELS], scores[LABELS];
    struct arena arena;
    struct engine_input input;
    arena_init(&arena);
    double difference = 0;
    if (prepare_case(model, one, &arena, &input)) {
        size_t labels = numbers(one, "logits", expected, LABELS);
        ck_assert_uint_eq(labels, engine_describe(model)->label_count);
        run_logits_one(session, &input, logits);
        difference = relative(logits, expected, labels);
        engine_scores(model, logits, scores);
        numbers(one, "probs", probabilities, LABELS);
        ck_assert(relative(scores, probabilities, labels) < 1e-4);
        check_rollout(model, session, one, &input, logits, &arena);
    }
    arena_deinit(&arena);
    return difference;
}

static void check_model(const char *name, const char *backend)
{
    struct err err = {0};
    struct engine_session *session;
    struct engine_model *model = open_model(name, backend);
    struct json_t *cases = open_cases(name);
    double worst = 0;
    ck_assert_int_eq(engine_session_open(&session, model, 0, 2, &err), ERR_OK);
    for (size_t i = 0; i < doc_array_count(cases); i++)
        worst = fmax(worst, check_case(model, session, doc_array_item(cases, i)));
    printf("%s (%s): %zu cases, logits differ by %.1e\n", name, backend, doc_array_count(cases),
           worst);
    ck_assert_msg(worst < 1e-4, "%s: logits differ by %g", name, worst);
    engine_session_close(session);
    engine_close(model);
    doc_free(cases);
}

/* Calls check for every golden checkpoint of a family that the engine knows. */
static unsigned each_model(void (*check)(const char *name, const char *backend),
                           const char *backend)
{
    unsigned count = 0;
    DIR *dir = opendir(golden_dir());
    ck_assert_ptr_nonnull(dir);
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        static const char *const families[] = {
            "deberta-", "bert-",   "distilbert-", "roberta-",    "xlm-roberta-",
            "electra-", "albert-", "mpnet-",      "longformer-", "modernbert-",
            "vit-",     "deit-",   "dinov2-",     "beit-",       "swin-"};
        for (size_t f = 0; f < sizeof families / sizeof *families; f++)
            if (strncmp(entry->d_name, families[f], strlen(families[f])) == 0) {
                check(entry->d_name, backend);
                count++;
            }
    }
    closedir(dir);
    return count;
}

START_TEST(golden_checkpoints_answer_as_the_reference_does)
{
    ck_assert_uint_ge(each_model(check_model, "auto"), 7);
}
END_TEST

START_TEST(golden_checkpoints_answer_the_same_with_openblas)
{
    ck_assert_uint_ge(each_model(check_model, "openblas"), 7);
}
END_TEST

START_TEST(golden_checkpoints_answer_the_same_with_the_reference_backend)
{
    ck_assert_uint_ge(each_model(check_model, "reference"), 7);
}
END_TEST

enum { BATCH_ROWS = 6 };

/* Every case of a checkpoint, batches of six in a row, against each alone. */
static void check_batches(const char *name, const char *backend)
{
    struct err err = {0};
    struct engine_session *session;
    struct engine_model *model = open_model(name, backend);
    struct json_t *cases = open_cases(name);
    unsigned tokens_max = BATCH_ROWS * engine_describe(model)->tokens_max;
    struct arena arena;
    arena_init(&arena);
    ck_assert_int_eq(engine_session_open(&session, model, tokens_max, 2, &err), ERR_OK);
    struct engine_input inputs[BATCH_ROWS];
    float together[BATCH_ROWS][LABELS], alone[LABELS];
    unsigned filled = 0;
    for (size_t i = 0; i < doc_array_count(cases) && filled < BATCH_ROWS; i++)
        filled += prepare_case(model, doc_array_item(cases, i), &arena, &inputs[filled]);
    run_logits_rows(session, inputs, filled, together[0], LABELS);
    for (unsigned r = 0; r < filled; r++) {
        unsigned labels = engine_describe(model)->label_count;
        run_logits_one(session, &inputs[r], alone);
        engine_scores(model, alone, alone);
        engine_scores(model, together[r], together[r]);
        ck_assert_msg(numbers_difference(alone, together[r], labels) < 1e-5, "%s row %u", name, r);
    }
    engine_session_close(session);
    engine_close(model);
    doc_free(cases);
    arena_deinit(&arena);
}

START_TEST(scores_do_not_depend_on_what_shares_the_batch)
{
    ck_assert_uint_ge(each_model(check_batches, "auto"), 7);
}
END_TEST

struct differences {
    double worst, mean;
};

/* The differences of the scores between two dtypes: of each of a checkpoint's cases the largest
 * one. The checkpoints are tiny and seeded at random: their scores are nearly level, so a wrong
 * sign or scale shows. */
static struct differences score_differences(const char *name, const char *dtype,
                                            const char *backend)
{
    struct err err = {0};
    struct engine_model *models[] = {open_model_as(name, "auto", "f32"),
                                     open_model_as(name, backend, dtype)};
    struct json_t *cases = open_cases(name);
    unsigned labels = engine_describe(models[0])->label_count;
    struct differences all = {0};
    for (size_t i = 0; i < doc_array_count(cases); i++) {
        float scores[2][LABELS];
        struct engine_input input;
        struct arena arena;
        arena_init(&arena);
        for (int m = 0; m < 2 && prepare_case(models[m], doc_array_item(cases, i), &arena, &input);
             m++) {
            struct engine_session *session;
            ck_assert_int_eq(engine_session_open(&session, models[m], 1, 1, &err), ERR_OK);
            run_logits_one(session, &input, scores[m]);
            engine_scores(models[m], scores[m], scores[m]);
            engine_session_close(session);
            if (m == 1) {
                const double one = numbers_difference(scores[0], scores[1], labels);
                all.worst = fmax(all.worst, one);
                all.mean += one / (double)doc_array_count(cases);
            }
        }
        arena_deinit(&arena);
    }
    engine_close(models[0]), engine_close(models[1]);
    doc_free(cases);
    return all;
}

/* ALBERT's layers share their weights, and so their errors. */
static void check_int8(const char *name, const char *backend)
{
    const struct differences found = score_differences(name, "int8", backend);
    const bool is_shared = strncmp(name, "albert-", 7) == 0;
    ck_assert_msg(found.worst < (is_shared ? 0.1 : 0.05) && found.worst > 0, "%s: %g", name,
                  found.worst);
    ck_assert_msg(found.mean < (is_shared ? 0.04 : 0.01), "%s: %g in the mean", name, found.mean);
}

static void check_bf16(const char *name, const char *backend)
{
    const double difference = score_differences(name, "bf16", backend).worst;
    ck_assert_msg(difference < 0.02 && difference > 0, "%s: %g", name, difference);
}

START_TEST(int8_scores_stay_near_those_of_fp32_with_the_fast_and_the_scalar_path)
{
    ck_assert_uint_ge(each_model(check_int8, "auto"), 7);
    ck_assert_uint_ge(each_model(check_int8, "reference"), 7);
}
END_TEST

START_TEST(bf16_scores_stay_near_those_of_fp32)
{
    ck_assert_uint_ge(each_model(check_bf16, "reference"), 7);
}
END_TEST

/* classifier.weight [labels, hidden] and classifier.bias; false for a model with two classifiers.
 */
static bool read_classifier(const char *name, size_t hidden, unsigned labels, float *weight,
                            float *bias)
{
    char path[PATH_BYTES];
    struct err err = {0};
    struct safetensors *file;
    snprintf(path, sizeof path, "%s/%s/model.safetensors", golden_dir(), name);
    if (safetensors_open(&file, path, &err))
        return false;
    const struct tensor_info *matrix = safetensors_find(file, "classifier.weight");
    const struct tensor_info *vector = safetensors_find(file, "classifier.bias");
    if (matrix != NULL) {
        safetensors_read_f32(file, matrix, 0, labels * hidden, weight, &err);
        safetensors_read_f32(file, vector, 0, labels, bias, &err);
        ck_assert_msg(err.code == ERR_OK, "%s", err.text);
    }
    safetensors_close(file);
    return matrix != NULL;
}

static unsigned feature_rows; /* checked so far */

static void check_features(const char *name, const char *backend)
{
    static float weight[LABELS * 1024], bias[LABELS];
    struct err err = {0};
    struct engine_session *session;
    struct engine_model *model = open_model(name, backend);
    const struct engine_info *info = engine_describe(model);
    struct json_t *cases = open_cases(name);
    float logits[LABELS];
    double again[LABELS];
    ck_assert_uint_le(info->classifier_size, 1024);
    ck_assert_int_eq(engine_session_open(&session, model, 0, 1, &err), ERR_OK);
    bool one = read_classifier(name, info->classifier_size, info->label_count, weight, bias);
    for (size_t i = 0; one && i < doc_array_count(cases); i++) {
        struct arena arena;
        struct engine_input input;
        arena_init(&arena);
        if (prepare_case(model, doc_array_item(cases, i), &arena, &input)) {
            run_logits_one(session, &input, logits);
            const float *features = run_features[0];
            for (unsigned l = 0; l < info->label_count; l++) {
                again[l] = (double)bias[l];
                for (unsigned d = 0; d < info->classifier_size; d++)
                    again[l] += (double)weight[l * info->classifier_size + d] * (double)features[d];
            }
            ck_assert_msg(relative(logits, again, info->label_count) < 1e-5, "%s", name);
            feature_rows++;
        }
        arena_deinit(&arena);
    }
    engine_session_close(session);
    engine_close(model);
    doc_free(cases);
}

START_TEST(golden_features_are_what_the_classifier_multiplies)
{
    each_model(check_features, "auto");
    ck_assert_uint_ge(feature_rows, 10);
}
END_TEST

SUITE("golden", golden_features_are_what_the_classifier_multiplies,
      golden_checkpoints_answer_as_the_reference_does,
      golden_checkpoints_answer_the_same_with_openblas,
      int8_scores_stay_near_those_of_fp32_with_the_fast_and_the_scalar_path,
      bf16_scores_stay_near_those_of_fp32,
      golden_checkpoints_answer_the_same_with_the_reference_backend,
      scores_do_not_depend_on_what_shares_the_batch)
