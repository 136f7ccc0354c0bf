/* Zero-shot models, CLIP, against transformers: images in labels that come with them. ATTND_GOLDEN
 * names a directory with the whole checkpoint; the committed one is tests/data/golden/clip-0. */
#include "engine/base/doc.h"
#include "engine/base/file.h"
#include "engine/engine.h"
#include "tests/support/numbers.h"
#include "tests/support/suite.h"

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
    const struct engine_labels labels = {
        .texts = texts,
        .count = count,
        .hypothesis = doc_as_string(doc_member(one, "hypothesis_template"))};
    return label(z, &labels);
}

static void prepare(struct zero_shot *z, const struct engine_model *model, const char *file,
                    struct engine_input *input)
{
    char path[PATH_BYTES], *bytes;
    size_t len;
    snprintf(path, sizeof path, "%s/images/%s", golden_dir(), file);
    ck_assert_int_eq(file_read(&bytes, &len, path, 1 << 26, &z->err), ERR_OK);
    engine_prepare_image(model, bytes, len, 1 << 25, NULL, &z->arena, input, &z->err);
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
    engine_run(z->session, &(const struct engine_input *){&input}, 1, &(float *){logits});
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
    check_backend("onednn");
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
    const struct engine_input *batch[ROWS];
    float together[ROWS][LABELS], alone[LABELS], *rows[ROWS];
    setup(&z);
    for (unsigned r = 0; r < ROWS; r++) {
        labelled[r] = label_case(&z, doc_array_item(z.cases, r));
        prepare_case(&z, labelled[r], doc_array_item(z.cases, r), &inputs[r]);
        batch[r] = &inputs[r];
        rows[r] = together[r];
    }
    engine_session_close(z.session);
    ck_assert(!engine_session_open(&z.session, z.model, 500, 2, &z.err));
    engine_run(z.session, batch, ROWS, rows);
    for (unsigned r = 0; r < ROWS; r++) {
        const unsigned count = engine_describe(labelled[r])->label_count;
        engine_run(z.session, &batch[r], 1, &(float *){alone});
        ck_assert(numbers_difference(alone, together[r], count) < 1e-5);
        engine_close(labelled[r]);
    }
    drop(&z);
}
END_TEST

SUITE("zero_shot", images_are_answered_in_given_labels_as_the_reference_does,
      a_batch_may_have_other_labels_for_each_image)
