/* Zero-shot models, CLIP, against transformers: images in labels that come with them. ATTND_GOLDEN
 * names a directory with the whole checkpoint; the committed one is tests/data/golden/clip-0. */
#include "engine/base/doc.h"
#include "engine/base/file.h"
#include "engine/engine.h"
#include "tests/support/numbers.h"
#include "tests/support/run_logits.h"
#include "tests/support/sources.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 1024, LABELS = 16 };

static const char *golden_dir(void)
{
    const char *dir = getenv("ATTND_GOLDEN");
    return dir != NULL ? dir : "tests/data/golden";
}

/* A model, what runs it, what encodes its labels, and the cases that transformers answered. */
struct zero_shot {
    struct engine_model *model;
    struct engine_session *session;
    struct engine_labeller *labeller;
    struct json_t *cases;
    struct arena arena;
    struct err err;
};

static void setup_as(struct zero_shot *z, const char *backend, const char *dtype)
{
    char path[PATH_BYTES];
    *z = (struct zero_shot){0};
    arena_init(&z->arena);
    snprintf(path, sizeof path, "%s/clip-0", golden_dir());
    engine_open(&z->model, path,
                &(struct engine_options){.linear_backend = backend, .dtype = dtype}, &z->err);
    ck_assert_msg(z->err.code == ERR_OK, "%s", z->err.text);
    ck_assert_int_eq(engine_session_open(&z->session, z->model, 64, 2, &z->err), ERR_OK);
    ck_assert_int_eq(engine_labeller_open(&z->labeller, z->model, 1, &z->err), ERR_OK);
    snprintf(path, sizeof path, "%s/clip-0/cases.json", golden_dir());
    ck_assert_msg(!doc_parse_file(&z->cases, path, 1 << 24, &z->err), "%s", z->err.text);
}

static void setup(struct zero_shot *z)
{
    setup_as(z, "auto", "f32");
}

static void drop(struct zero_shot *z)
{
    engine_labeller_close(z->labeller);
    engine_session_close(z->session);
    engine_close(z->model);
    doc_free(z->cases);
    arena_deinit(&z->arena);
}

static struct engine_model *label(struct zero_shot *z, const struct engine_labels *labels)
{
    struct engine_model *labelled;
    unsigned left = 0, steps = 0;
    engine_open_labelled(&labelled, z->model, labels, &z->err);
    ck_assert_msg(z->err.code == ERR_OK, "%s", z->err.text);
    do {
        ck_assert_msg(!engine_encode_labels(z->labeller, labelled, &left, &z->err), "%s",
                      z->err.text);
        steps++;
    } while (left > 0);
    ck_assert_uint_le(steps, labels->count);
    return labelled;
}

static struct engine_model *label_case(struct zero_shot *z, const struct json_t *one)
{
    const struct json_t *list = doc_member(one, "candidate_labels");
    const char *texts[LABELS];
    const unsigned count = (unsigned)doc_array_count(list);
    ck_assert_uint_le(count, LABELS);
    for (unsigned i = 0; i < count; i++)
        texts[i] = doc_as_string(doc_array_item(list, i));
    const struct engine_labels labels = {.texts = texts,
                                         .count = count,
                                         .hypothesis =
                                             doc_as_string(doc_member(one, "hypothesis_template"))};
    return label(z, &labels);
}

static void prepare(struct zero_shot *z, const struct engine_model *model, const char *file,
                    struct engine_input *input)
{
    char path[PATH_BYTES], *bytes;
    size_t len;
    snprintf(path, sizeof path, "%s/images/%s", golden_dir(), file);
    ck_assert_int_eq(file_read(&bytes, &len, path, 1 << 26, &z->err), ERR_OK);
    engine_prepare(model, picture_source(bytes, len, 1 << 25), NULL, &z->arena, input, &z->err);
    ck_assert_msg(z->err.code == ERR_OK, "%s: %s", file, z->err.text);
    free(bytes);
}

static void prepare_case(struct zero_shot *z, const struct engine_model *model,
                         const struct json_t *one, struct engine_input *input)
{
    prepare(z, model, doc_as_string(doc_member(one, "image")), input);
}

static size_t numbers(const struct json_t *one, const char *key, double *out)
{
    const struct json_t *array = doc_member(one, key);
    size_t count = doc_array_count(array);
    for (size_t i = 0; i < count; i++)
        ck_assert(doc_as_number(doc_array_item(array, i), &out[i]));
    return count;
}

/* max |a - b| / max |b| */
static double relative(const float *a, const double *b, size_t n)
{
    double worst = 0, largest = 0;
    for (size_t i = 0; i < n; i++) {
        worst = fmax(worst, fabs((double)a[i] - b[i]));
        largest = fmax(largest, fabs(b[i]));
    }
    return worst / largest;
}

static double check_case(struct zero_shot *z, const struct json_t *one)
{
    double expected[LABELS], shares[LABELS];
    float logits[LABELS], scores[LABELS];
    struct engine_input input;
    struct engine_model *labelled = label_case(z, one);
    const size_t count = numbers(one, "logits_per_image", expected);
    numbers(one, "probs", shares);
    ck_assert_uint_eq(engine_describe(labelled)->label_count, count);
    prepare_case(z, labelled, one, &input);
    run_logits_one(z->session, &input, logits);
    ck_assert(engine_scores(labelled, logits, scores));
    ck_assert(relative(scores, shares, count) < 1e-4);
    engine_close(labelled);
    return relative(logits, expected, count);
}

static void check_backend(const char *backend)
{
    struct zero_shot z;
    double worst = 0;
    setup_as(&z, backend, "f32");
    for (size_t i = 0; i < doc_array_count(z.cases); i++)
        worst = fmax(worst, check_case(&z, doc_array_item(z.cases, i)));
    printf("clip-0 (%s): logits differ by %.1e\n", backend, worst);
    ck_assert_msg(worst < 1e-4, "%s: %g", backend, worst);
    drop(&z);
}

START_TEST(images_are_answered_in_given_labels_as_the_reference_does)
{
    check_backend("auto");
    check_backend("openblas");
    check_backend("reference");
}
END_TEST

/* Images in labels of their own and the cases in a batch, against each alone. */
START_TEST(a_batch_may_have_other_labels_for_each_image)
{
    enum { ROWS = 5 };
    struct zero_shot z;
    struct engine_model *labelled[ROWS];
    struct engine_input inputs[ROWS];
    float together[ROWS][LABELS], alone[LABELS];
    setup(&z);
    for (unsigned r = 0; r < ROWS; r++) {
        labelled[r] = label_case(&z, doc_array_item(z.cases, r));
        prepare_case(&z, labelled[r], doc_array_item(z.cases, r), &inputs[r]);
    }
    engine_session_close(z.session);
    ck_assert(!engine_session_open(&z.session, z.model, 500, 2, &z.err));
    run_logits_rows(z.session, inputs, ROWS, together[0], LABELS);
    for (unsigned r = 0; r < ROWS; r++) {
        const unsigned count = engine_describe(labelled[r])->label_count;
        run_logits_one(z.session, &inputs[r], alone);
        ck_assert(numbers_difference(alone, together[r], count) < 1e-5);
        engine_close(labelled[r]);
    }
    drop(&z);
}
END_TEST

/* The largest difference of a score from that of fp32, over all cases. */
static double score_difference(const char *backend, const char *dtype)
{
    struct zero_shot z[2];
    double worst = 0;
    setup(&z[0]);
    setup_as(&z[1], backend, dtype);
    for (size_t i = 0; i < doc_array_count(z[0].cases); i++) {
        float scores[2][LABELS];
        unsigned count = 0;
        for (int m = 0; m < 2; m++) {
            const struct json_t *one = doc_array_item(z[m].cases, i);
            struct engine_model *labelled = label_case(&z[m], one);
            struct engine_input input;
            prepare_case(&z[m], labelled, one, &input);
            run_logits_one(z[m].session, &input, scores[m]);
            ck_assert(engine_scores(labelled, scores[m], scores[m]));
            count = engine_describe(labelled)->label_count;
            engine_close(labelled);
        }
        worst = fmax(worst, numbers_difference(scores[0], scores[1], count));
    }
    drop(&z[0]), drop(&z[1]);
    printf("clip-0 (%s): scores differ by %.1e\n", dtype, worst);
    return worst;
}

START_TEST(scores_in_fewer_bits_stay_near_those_of_fp32)
{
    double int8 = score_difference("auto", "int8"), bf16 = score_difference("reference", "bf16");
    ck_assert_msg(int8 < 0.05 && int8 > 0, "%g", int8);
    ck_assert_msg(bf16 < 0.02 && bf16 > 0, "%g", bf16);
}
END_TEST

/* Attention rollout of the image, as the reference takes it, and a gradient for each label. */
START_TEST(images_are_explained_for_the_label_that_won)
{
    static const struct explain_options rollout = {.method = EXPLAIN_ROLLOUT},
                                        gradient = {.method = EXPLAIN_GRADIENT};
    struct zero_shot z;
    setup(&z);
    const struct json_t *one = doc_array_item(z.cases, 0);
    struct engine_model *labelled = label_case(&z, one);
    float logits[LABELS];
    const float *relevance, *first;
    double expected[64];
    struct engine_input input;
    prepare_case(&z, labelled, one, &input);
    ck_assert(!engine_capture(labelled, &input, &rollout, &z.arena, &z.err));
    run_logits_one(z.session, &input, logits);
    ck_assert(!engine_relevance(labelled, &input, &rollout, 0, &z.arena, &relevance, &z.err));
    const size_t count = numbers(one, "rollout", expected);
    for (size_t i = 0; i < count; i++)
        ck_assert_double_eq_tol((double)relevance[i], expected[i], 1e-5);
    ck_assert(!engine_relevance(labelled, &input, &gradient, 0, &z.arena, &first, &z.err));
    ck_assert(!engine_relevance(labelled, &input, &gradient, 1, &z.arena, &relevance, &z.err));
    ck_assert(numbers_difference(first, relevance, input.tokens) > 1e-6);
    engine_close(labelled);
    drop(&z);
}
END_TEST

/* ---- labels ---- */

static struct engine_labels labels_of(const char *const *texts, unsigned count,
                                      const char *hypothesis)
{
    return (struct engine_labels){.texts = texts, .count = count, .hypothesis = hypothesis};
}

static void expect_refused(const struct engine_labels *labels, const char *words)
{
    struct err err = {0};
    ck_assert_int_eq(engine_check_labels(labels, &err), ERR_UNUSABLE);
    ck_assert_msg(strstr(err.text, words) != NULL, "'%s' does not say '%s'", err.text, words);
}

START_TEST(labels_that_cannot_be_told_apart_or_read_are_refused_by_their_number)
{
    static const struct {
        const char *texts[3];
        unsigned count;
        const char *hypothesis, *words;
    } wrong[] = {
        {{"a"}, 0, NULL, "candidate_labels: empty"},
        {{"a", ""}, 2, NULL, "candidate_labels[1]: empty"},
        {{"a", " \t\n"}, 2, NULL, "candidate_labels[1]: blank"},
        {{"a", "b", "a"}, 3, NULL, "candidate_labels[2]: the same as candidate_labels[0]"},
        {{"a", "b\x01"}, 2, NULL, "candidate_labels[1]: must not contain control characters"},
        {{"a", "b\x7F"}, 2, NULL, "candidate_labels[1]: must not contain control characters"},
        {{"a", "b\xC2\x85"}, 2, NULL, "candidate_labels[1]: must not contain control characters"},
        {{"a", "b\xFF"}, 2, NULL, "candidate_labels[1]: not valid UTF-8"},
        {{"a", "b"}, 2, "no place", "hypothesis_template: must have \"{}\""},
        {{"a", "b"}, 2, "{} and {}", "hypothesis_template: must have \"{}\""},
        {{"a", "b"}, 2, "", "hypothesis_template: empty"},
        {{"a", "b"}, 2, "{}\x02", "hypothesis_template: must not contain control characters"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct engine_labels labels =
            labels_of(wrong[i].texts, wrong[i].count, wrong[i].hypothesis);
        expect_refused(&labels, wrong[i].words);
    }
}
END_TEST

START_TEST(labels_are_bounded_in_number_and_in_bytes)
{
    enum { MORE = 1001, LONG = 5000 };
    static char texts[MORE][8], long_text[LONG + 1], fat[1000][2000];
    static const char *list[MORE];
    struct err err = {0};
    for (unsigned i = 0; i < MORE; i++) {
        snprintf(texts[i], sizeof texts[i], "%u", i);
        list[i] = texts[i];
    }
    struct engine_labels labels = labels_of(list, MORE, NULL);
    expect_refused(&labels, "candidate_labels: at most 1000 labels, found 1001");
    labels.count = MORE - 1;
    ck_assert_msg(!engine_check_labels(&labels, &err), "%s", err.text);
    memset(long_text, 'x', LONG);
    list[3] = long_text;
    expect_refused(&labels, "candidate_labels[3]: at most 4096 bytes, found 5000");
    for (unsigned i = 0; i < MORE - 1; i++) {
        memset(fat[i], 'x', sizeof fat[i] - 1);
        memcpy(fat[i], texts[i], strlen(texts[i]));
        list[i] = fat[i];
    }
    expect_refused(&labels, "candidate_labels: at most 1048576 bytes in all, found 1999000");
}
END_TEST

/* Each scores the same in another company, and a thousand are encoded in steps. */
START_TEST(a_label_does_not_depend_on_those_beside_it)
{
    enum { MANY = 1000 };
    static char texts[MANY][16];
    static const char *list[MANY];
    static float logits[2][MANY];
    struct zero_shot z;
    setup(&z);
    for (unsigned i = 0; i < MANY; i++) {
        snprintf(texts[i], sizeof texts[i], "defect %u", i);
        list[i] = texts[i];
    }
    struct engine_labels labels[2] = {labels_of(list, MANY, "{}"), labels_of(list + 500, 7, "{}")};
    for (int k = 0; k < 2; k++) {
        struct engine_model *labelled = label(&z, &labels[k]);
        struct engine_input input;
        prepare(&z, labelled, "0_center.png", &input);
        run_logits_one(z.session, &input, logits[k]);
        engine_close(labelled);
    }
    ck_assert(numbers_difference(logits[0] + 500, logits[1], 7) < 1e-4);
    drop(&z);
}
END_TEST

START_TEST(a_model_whose_labels_are_fixed_takes_no_others)
{
    static const char *const texts[] = {"a", "b"};
    struct engine_model *model, *labelled;
    struct err err = {0};
    struct engine_labels labels = labels_of(texts, 2, NULL);
    ck_assert(!engine_open(&model, "tests/data/golden/vit-0", &(struct engine_options){0}, &err));
    ck_assert(!engine_describe(model)->is_zero_shot);
    ck_assert_int_eq(engine_open_labelled(&labelled, model, &labels, &err), ERR_UNUSABLE);
    ck_assert_ptr_nonnull(strstr(err.text, "not zero-shot"));
    ck_assert_ptr_null(labelled);
    engine_close(model);
}
END_TEST

/* ---- labels of attnd.json ---- */

/* The checkpoint with an attnd.json of this text. */
static void open_with(struct tempdir *dir, struct engine_model **model, const char *attnd,
                      struct err *err)
{
    static const char *const files[] = {"config.json", "model.safetensors", "tokenizer.json",
                                        "tokenizer_config.json", "preprocessor_config.json"};
    *err = (struct err){0};
    tempdir_open(dir);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char path[PATH_BYTES], *bytes;
        size_t len;
        snprintf(path, sizeof path, "%s/clip-0/%s", golden_dir(), files[i]);
        ck_assert(!file_read(&bytes, &len, path, 1 << 24, err));
        tempdir_write(dir, files[i], bytes, len);
        free(bytes);
    }
    tempdir_write(dir, "attnd.json", attnd, strlen(attnd));
    engine_open(model, dir->path, &(struct engine_options){0}, err);
}

START_TEST(labels_of_attnd_json_make_it_a_model_like_any)
{
    struct zero_shot z;
    struct tempdir dir;
    struct engine_model *model;
    struct engine_session *session;
    float own[LABELS], given[LABELS];
    struct engine_input input;
    static const char *const texts[] = {"center", "donut", "edge ring"};
    struct engine_labels labels = labels_of(texts, 3, "a {}");
    setup(&z);
    open_with(&dir, &model,
              "{\"candidate_labels\": [\"center\", \"donut\", \"edge ring\"], "
              "\"hypothesis_template\": \"a {}\", \"thresholds\": {\"center\": 0.9, \"donut\": "
              "0.9, \"edge ring\": 0.9}}",
              &z.err);
    ck_assert_msg(z.err.code == ERR_OK, "%s", z.err.text);
    const struct engine_info *info = engine_describe(model);
    ck_assert(info->is_zero_shot && !info->has_given_labels);
    ck_assert_uint_eq(info->label_count, 3);
    ck_assert_str_eq(info->labels[2], "edge ring");
    ck_assert_str_eq(info->hypothesis, "a {}");
    ck_assert(!engine_session_open(&session, model, 0, 1, &z.err));
    prepare(&z, model, "0_center.png", &input);
    run_logits_one(session, &input, own);
    struct engine_model *labelled = label(&z, &labels);
    prepare(&z, labelled, "0_center.png", &input);
    run_logits_one(z.session, &input, given);
    ck_assert(numbers_difference(own, given, 3) < 1e-5);
    engine_close(labelled);
    engine_session_close(session);
    engine_close(model);
    tempdir_close(&dir);
    drop(&z);
}
END_TEST

START_TEST(zero_shot_refuses_bad_labels_of_attnd_json)
{
    static const struct {
        const char *attnd, *words;
    } wrong[] = {
        {"{\"candidate_labels\": []}", "$.candidate_labels: empty"},
        {"{\"candidate_labels\": \"a\"}", "$.candidate_labels: expected an array"},
        {"{\"candidate_labels\": [\"a\", 3]}", "$.candidate_labels[1]: expected a string"},
        {"{\"candidate_labels\": [\"a\", \"a\"]}", "$.candidate_labels[1]: the same as"},
        {"{\"hypothesis_template\": \"of\"}", "$.hypothesis_template: must have"},
        {"{\"hypothesis_template\": 1}", "$.hypothesis_template: expected a string"},
        {"{\"candidate_labels\": [\"a\"], \"thresholds\": {\"b\": 0.5}}", "no label of the model"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct tempdir dir;
        struct engine_model *model;
        struct err err;
        open_with(&dir, &model, wrong[i].attnd, &err);
        ck_assert_msg(err.code == ERR_UNSUPPORTED && strstr(err.text, wrong[i].words) != NULL,
                      "%s: '%s'", wrong[i].attnd, err.text);
        tempdir_close(&dir);
    }
}
END_TEST

SUITE("zero_shot", images_are_answered_in_given_labels_as_the_reference_does,
      a_batch_may_have_other_labels_for_each_image, scores_in_fewer_bits_stay_near_those_of_fp32,
      images_are_explained_for_the_label_that_won,
      labels_that_cannot_be_told_apart_or_read_are_refused_by_their_number,
      labels_are_bounded_in_number_and_in_bytes, a_label_does_not_depend_on_those_beside_it,
      a_model_whose_labels_are_fixed_takes_no_others, labels_of_attnd_json_make_it_a_model_like_any,
      zero_shot_refuses_bad_labels_of_attnd_json)
