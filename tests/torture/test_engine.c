/* The engine with every call to the C library failing in turn: a checkpoint opens or says that
 * there is no memory or that input failed, and what it answers is what the reference answers. */
#include "engine/base/doc.h"
#include "engine/engine.h"
#include "engine/model/config/sentence_modules.h"
#include "engine/text/tokenizer.h"
#include "tests/support/encoder_model.h"
#include "tests/support/run_logits.h"
#include "tests/support/sources.h"
#include "tests/torture/drill.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LABELS_MAX = 64, TOKENS_MAX = 400, FILE_BYTES_MAX = 1 << 19 };

#define TOLERANCE 1e-3

struct subject {
    const char *dir;
    enum engine_kind kind;
    const char *input; /* a text, or the path of an image */
    bool explain;
    float logits[LABELS_MAX]; /* the right ones */
    unsigned label_count;
};

/* -------------------------------------------------------------------------------------------- */
/* One try */

static enum drill_outcome compare(const struct subject *subject, const float *logits, char *why,
                                  size_t size)
{
    for (unsigned i = 0; i < subject->label_count; i++)
        if (!(fabsf(logits[i] - subject->logits[i]) <= TOLERANCE)) {
            snprintf(why, size, "logit %u is %g instead of %g", i, (double)logits[i],
                     (double)subject->logits[i]);
            return DRILL_BAD;
        }
    return DRILL_RIGHT;
}

struct bytes {
    size_t len;
    char bytes[FILE_BYTES_MAX];
};
static struct bytes input;

static enum err_code prepare(const struct subject *subject, const struct engine_model *model,
                             struct arena *arena, struct engine_input *out, struct err *err)
{
    return subject->kind == ENGINE_TEXT
               ? engine_prepare(model, text_source_len(input.bytes, input.len), NULL, arena, out,
                                err)
               : engine_prepare(model, picture_source(input.bytes, input.len, 1 << 22), NULL, arena,
                                out, err);
}

static enum err_code explain(const struct engine_model *model, const struct engine_input *prepared,
                             const struct explain_options *how, struct arena *arena,
                             struct err *err)
{
    struct explanation explanation;
    char *png;
    size_t len;
    if (engine_explain(model, NULL, prepared, how, 0, arena, &explanation, err))
        return err->code;
    if (prepared->kind == ENGINE_IMAGE && !engine_overlay(&explanation, NULL, &png, &len, err))
        free(png);
    return err->code;
}

static enum err_code predict(const struct subject *subject, const struct engine_model *model,
                             struct engine_session *session, float *logits, struct err *err)
{
    struct engine_input prepared;
    struct explain_options how = {.method = EXPLAIN_ROLLOUT};
    struct arena arena;
    arena_init(&arena);
    if (!prepare(subject, model, &arena, &prepared, err) &&
        (!subject->explain || !engine_capture(model, &prepared, &how, &arena, err))) {
        run_logits_one(session, &prepared, logits);
        if (subject->explain)
            explain(model, &prepared, &how, &arena, err);
    }
    arena_deinit(&arena);
    return err->code;
}

static enum drill_outcome open_and_predict(const void *context, char *why, size_t size)
{
    const struct subject *subject = context;
    struct engine_options options = {.linear_backend = "native", .load_threads = 2};
    struct engine_model *model;
    struct engine_session *session;
    float logits[LABELS_MAX] = {0};
    struct err err = {0};
    if (engine_open(&model, subject->dir, &options, &err))
        return drill_refused(&err, why, size);
    if (!engine_session_open(&session, model, TOKENS_MAX, 2, &err)) {
        predict(subject, model, session, logits, &err);
        engine_session_close(session);
    }
    engine_close(model);
    return err.code != ERR_OK ? drill_refused(&err, why, size)
                              : compare(subject, logits, why, size);
}

/* -------------------------------------------------------------------------------------------- */
/* A model that is open */

struct opened {
    struct subject *subject;
    struct engine_model *model;
    struct engine_session *session;
};

static enum drill_outcome predict_only(const void *context, char *why, size_t size)
{
    const struct opened *opened = context;
    float logits[LABELS_MAX] = {0};
    struct err err = {0};
    if (predict(opened->subject, opened->model, opened->session, logits, &err))
        return drill_refused(&err, why, size);
    return compare(opened->subject, logits, why, size);
}

/* -------------------------------------------------------------------------------------------- */
/* The right answers */

static void read_input(const struct subject *subject)
{
    if (subject->kind == ENGINE_TEXT) {
        input.len = strlen(subject->input);
        memcpy(input.bytes, subject->input, input.len);
        return;
    }
    FILE *file = fopen(subject->input, "rb");
    ck_assert_msg(file != NULL, "%s", subject->input);
    input.len = fread(input.bytes, 1, sizeof input.bytes, file);
    fclose(file);
}

/* The reference's logits, of the case with this input. */
static void read_golden(struct subject *subject)
{
    char path[256];
    struct json_t *cases;
    struct err err = {0};
    const char *key = subject->kind == ENGINE_TEXT ? "text" : "image";
    const char *slash = strrchr(subject->input, '/');
    const char *wanted = subject->kind == ENGINE_TEXT ? subject->input : slash + 1;
    snprintf(path, sizeof path, "%s/cases.json", subject->dir);
    ck_assert_msg(doc_parse_file(&cases, path, 1 << 24, &err) == ERR_OK, "%s", err.text);
    for (size_t i = 0; i < doc_array_count(cases); i++) {
        const struct json_t *one = doc_array_item(cases, i), *logits = doc_member(one, "logits");
        const char *name = doc_as_string(doc_member(one, key));
        double number = 0;
        if (name == NULL || strcmp(name, wanted) != 0)
            continue;
        subject->label_count = (unsigned)doc_array_count(logits);
        for (unsigned j = 0; j < subject->label_count; j++) {
            ck_assert(doc_as_number(doc_array_item(logits, j), &number));
            subject->logits[j] = (float)number;
        }
    }
    doc_free(cases);
    ck_assert_uint_gt(subject->label_count, 0);
}

static void drill_open(struct subject subject)
{
    read_input(&subject);
    read_golden(&subject);
    struct drill drill = {.name = subject.dir, .run = open_and_predict, .context = &subject};
    ck_assert_uint_eq(drill_run(&drill), 0);
}

static void open_model(struct opened *opened, struct subject *subject)
{
    struct engine_options options = {.linear_backend = "native"};
    struct err err = {0};
    opened->subject = subject;
    read_input(subject);
    ck_assert_msg(engine_open(&opened->model, subject->dir, &options, &err) == ERR_OK, "%s",
                  err.text);
    ck_assert_int_eq(engine_session_open(&opened->session, opened->model, TOKENS_MAX, 2, &err),
                     ERR_OK);
}

/* If there is no reference, the first answer counts as right. */
static void drill_predict(const char *name, struct subject subject)
{
    struct opened opened;
    struct err err = {0};
    open_model(&opened, &subject);
    ck_assert_int_eq(predict(&subject, opened.model, opened.session, subject.logits, &err), ERR_OK);
    subject.label_count = engine_describe(opened.model)->label_count;
    struct drill drill = {.name = name, .run = predict_only, .context = &opened};
    ck_assert_uint_eq(drill_run(&drill), 0);
    engine_session_close(opened.session);
    engine_close(opened.model);
}

#define TEXT(dir_, text) ((struct subject){.dir = dir_, .kind = ENGINE_TEXT, .input = text})
#define IMAGE(dir_, path) ((struct subject){.dir = dir_, .kind = ENGINE_IMAGE, .input = path})

START_TEST(a_sharded_checkpoint_with_a_vocabulary_opens_or_says_why)
{
    drill_open(TEXT("tests/data/golden/bert-3", "中文 混合 text"));
}
END_TEST

START_TEST(a_checkpoint_with_a_tokenizer_json_opens_or_says_why)
{
    drill_open(TEXT("tests/data/golden/bert-4", "中文 混合 text"));
}
END_TEST

START_TEST(a_vision_checkpoint_opens_or_says_why)
{
    drill_open(IMAGE("tests/data/golden/vit-0", "tests/data/golden/images/1_scratch.png"));
}
END_TEST

/* The tables of disentangled attention are made when the model is opened. The first answer counts
 * as right. */
START_TEST(a_checkpoint_of_disentangled_attention_opens_or_says_why)
{
    struct encoder_model files;
    struct opened opened;
    struct err err = {0};
    encoder_model_open(&files, "deberta-v2-0");
    struct subject subject = TEXT(files.dir.path, "a c b a");
    open_model(&opened, &subject);
    ck_assert_int_eq(predict(&subject, opened.model, opened.session, subject.logits, &err), ERR_OK);
    subject.label_count = engine_describe(opened.model)->label_count;
    engine_session_close(opened.session);
    engine_close(opened.model);
    struct drill drill = {.name = "deberta-v2-0", .run = open_and_predict, .context = &subject};
    ck_assert_uint_eq(drill_run(&drill), 0);
    encoder_model_close(&files);
}
END_TEST

START_TEST(a_checkpoint_with_stages_opens_or_says_why)
{
    drill_open(IMAGE("tests/data/golden/swin-0", "tests/data/golden/images/1_scratch.png"));
}
END_TEST

/* Tokenizers of the other kinds are opened, encode a text and decode its ids as they did without a
 * failure. */
struct encoded {
    const char *dir, *text;
    unsigned count;
    int32_t ids[TOKENS_MAX];
    size_t decoded; /* bytes of the text that the ids become */
};

static enum drill_outcome encode_text(const void *context, char *why, size_t size)
{
    const struct encoded *right = context;
    struct tokenizer *tokenizer;
    struct encoding encoding = {0};
    struct arena arena;
    struct err err = {0};
    if (tokenizer_open(&tokenizer, right->dir, TOKENS_MAX, &err))
        return drill_refused(&err, why, size);
    arena_init(&arena);
    const char *text;
    size_t decoded = 0;
    if (!tokenizer_encode(tokenizer, 0, right->text, strlen(right->text), NULL, &arena, &encoding,
                          &err))
        tokenizer_decode(tokenizer, encoding.ids, encoding.count, false, &text, &decoded, &arena,
                         &err);
    bool same = err.code != ERR_OK ||
                (encoding.count == right->count && decoded == right->decoded &&
                 memcmp(encoding.ids, right->ids, right->count * sizeof *right->ids) == 0);
    arena_deinit(&arena);
    tokenizer_close(tokenizer);
    snprintf(why, size, "other ids");
    return !same ? DRILL_BAD : err.code != ERR_OK ? drill_refused(&err, why, size) : DRILL_RIGHT;
}

START_TEST(a_tokenizer_of_pieces_opens_and_encodes_or_says_why)
{
    static const char *const dirs[] = {
        "tests/data/tokenizer/albert-0", "tests/data/tokenizer/xlm-roberta-1",
        "tests/data/recoding/t5-gated-0", "tests/data/recoding/m2m100-0"};
    for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++) {
        struct encoded right = {.dir = dirs[i],
                                .text = "\xEF\xBC\xA1\xCC\x81 \xEF\xAC\x81x kmalloc"};
        struct tokenizer *tokenizer;
        struct encoding encoding;
        struct arena arena;
        struct err err = {0};
        const char *text;
        arena_init(&arena);
        ck_assert(!tokenizer_open(&tokenizer, right.dir, TOKENS_MAX, &err));
        ck_assert(!tokenizer_encode(tokenizer, 0, right.text, strlen(right.text), NULL, &arena,
                                    &encoding, &err));
        ck_assert(!tokenizer_decode(tokenizer, encoding.ids, encoding.count, false, &text,
                                    &right.decoded, &arena, &err));
        right.count = encoding.count;
        memcpy(right.ids, encoding.ids, right.count * sizeof *right.ids);
        tokenizer_close(tokenizer);
        arena_deinit(&arena);
        struct drill drill = {.name = right.dir, .run = encode_text, .context = &right};
        ck_assert_uint_eq(drill_run(&drill), 0);
    }
}
END_TEST

static enum drill_outcome open_only(const void *context, char *why, size_t size)
{
    struct engine_options options = {.linear_backend = "native"};
    struct engine_model *model;
    struct err err = {0};
    if (engine_open(&model, context, &options, &err))
        return drill_refused(&err, why, size);
    bool whole =
        engine_describe(model)->ood_threshold != NULL && engine_describe(model)->reference != NULL;
    engine_close(model);
    snprintf(why, size, "its attnd.json is not heeded");
    return whole ? DRILL_RIGHT : DRILL_BAD;
}

START_TEST(a_checkpoint_with_an_attnd_json_opens_with_it_or_says_why)
{
    struct drill drill = {.name = "wafer-vit", .run = open_only, .context = "models/wafer-vit"};
    ck_assert_uint_eq(drill_run(&drill), 0);
}
END_TEST

static enum drill_outcome read_sentences(const void *context, char *why, size_t size)
{
    struct sentence_modules modules;
    struct arena arena;
    struct err err = {0};
    arena_init(&arena);
    bool whole = true;
    if (sentence_modules_read(&modules, context, &arena, &err) == ERR_OK &&
        sentence_modules_load(&modules, &arena, &err) == ERR_OK)
        whole = modules.step_count == 2 && modules.steps[0].dense.bias != NULL &&
                modules.options.max_tokens == 80 && modules.options.prompt_count == 2;
    arena_deinit(&arena);
    snprintf(why, size, "a part is missing");
    return !whole ? DRILL_BAD : err.code != ERR_OK ? drill_refused(&err, why, size) : DRILL_RIGHT;
}

START_TEST(a_directory_of_sentence_transformers_is_read_whole_or_says_why)
{
    struct drill drill = {.name = "sentence modules",
                          .run = read_sentences,
                          .context = "tests/data/sentences/st-cls-0"};
    ck_assert_uint_eq(drill_run(&drill), 0);
}
END_TEST

START_TEST(a_text_is_predicted_rightly_or_refused)
{
    drill_predict("text", TEXT("tests/data/golden/bert-3", "vdd_io 3.97 V [3.178, 3.6] FAIL"));
}
END_TEST

START_TEST(a_png_is_predicted_rightly_or_refused)
{
    drill_predict("png", IMAGE("models/wafer-vit", "tests/data/examples/wafer_map.png"));
}
END_TEST

START_TEST(a_baseline_jpeg_is_predicted_rightly_or_refused)
{
    drill_predict("jpeg", IMAGE("models/wafer-vit", "tests/data/images/made/rgb.jpg"));
}
END_TEST

START_TEST(a_progressive_jpeg_is_predicted_rightly_or_refused)
{
    drill_predict("progressive jpeg",
                  IMAGE("models/wafer-vit", "tests/data/images/made/rgb_progressive.jpg"));
}
END_TEST

START_TEST(a_turned_cmyk_jpeg_is_predicted_rightly_or_refused)
{
    drill_predict("cmyk jpeg",
                  IMAGE("models/wafer-vit", "tests/data/images/made/orientation_6_cmyk.jpg"));
}
END_TEST

START_TEST(an_image_is_explained_with_an_overlay_or_refused)
{
    struct subject subject = IMAGE("models/wafer-vit", "tests/data/examples/wafer_map.png");
    subject.explain = true;
    drill_predict("explained image", subject);
}
END_TEST

START_TEST(an_image_is_explained_through_windows_or_refused)
{
    struct subject subject =
        IMAGE("tests/data/golden/swin-0", "tests/data/golden/images/1_scratch.png");
    subject.explain = true;
    drill_predict("explained windows", subject);
}
END_TEST

START_TEST(a_text_is_explained_or_refused)
{
    struct subject subject = TEXT("tests/data/golden/bert-3", "vdd_io 3.97 V [3.178, 3.6] FAIL");
    subject.explain = true;
    drill_predict("explained text", subject);
}
END_TEST

/* ---- labels ---- */

enum { ZERO_SHOT_LABELS = 3 };

/* The logits that a zero-shot model gives the picture that was read. */
static enum err_code answer_in(struct engine_model *labelled, struct engine_model *model,
                               float *logits, struct err *err)
{
    struct engine_labeller *labeller = NULL;
    struct engine_session *session = NULL;
    struct engine_input prepared;
    struct arena arena;
    unsigned left = 1;
    arena_init(&arena);
    engine_labeller_open(&labeller, model, 1, err);
    while (err->code == ERR_OK && left > 0)
        engine_encode_labels(labeller, labelled, &left, err);
    if (err->code == ERR_OK && !engine_session_open(&session, model, TOKENS_MAX, 1, err) &&
        !engine_prepare(labelled, picture_source(input.bytes, input.len, 1 << 22), NULL, &arena,
                        &prepared, err))
        run_logits_one(session, &prepared, logits);
    engine_labeller_close(labeller);
    engine_session_close(session);
    arena_deinit(&arena);
    return err->code;
}

static enum err_code predict_labelled(float *logits, struct err *err)
{
    static const char *const texts[ZERO_SHOT_LABELS] = {"center", "donut", "edge ring"};
    const struct engine_labels labels = {.texts = texts, .count = ZERO_SHOT_LABELS};
    struct engine_options options = {.linear_backend = "native"};
    struct engine_model *model, *labelled;
    if (engine_open(&model, "tests/data/golden/clip-0", &options, err))
        return err->code;
    if (!engine_open_labelled(&labelled, model, &labels, err)) {
        answer_in(labelled, model, logits, err);
        engine_close(labelled);
    }
    engine_close(model);
    return err->code;
}

static enum drill_outcome label_and_predict(const void *context, char *why, size_t size)
{
    const struct subject *subject = context;
    float logits[ZERO_SHOT_LABELS];
    struct err err = {0};
    if (predict_labelled(logits, &err))
        return drill_refused(&err, why, size);
    return compare(subject, logits, why, size);
}

START_TEST(labels_of_a_zero_shot_model_are_encoded_or_it_is_said_why)
{
    struct subject subject =
        IMAGE("tests/data/golden/clip-0", "tests/data/golden/images/1_scratch.png");
    struct err err = {0};
    read_input(&subject);
    ck_assert_msg(!predict_labelled(subject.logits, &err), "%s", err.text);
    subject.label_count = ZERO_SHOT_LABELS;
    struct drill drill = {.name = "labels", .run = label_and_predict, .context = &subject};
    ck_assert_uint_eq(drill_run(&drill), 0);
}
END_TEST

DRILLS("engine", labels_of_a_zero_shot_model_are_encoded_or_it_is_said_why,
       a_sharded_checkpoint_with_a_vocabulary_opens_or_says_why,
       a_checkpoint_with_a_tokenizer_json_opens_or_says_why, a_vision_checkpoint_opens_or_says_why,
       a_checkpoint_of_disentangled_attention_opens_or_says_why,
       a_checkpoint_with_stages_opens_or_says_why,
       a_tokenizer_of_pieces_opens_and_encodes_or_says_why,
       a_checkpoint_with_an_attnd_json_opens_with_it_or_says_why,
       a_directory_of_sentence_transformers_is_read_whole_or_says_why,
       a_text_is_predicted_rightly_or_refused, a_png_is_predicted_rightly_or_refused,
       a_baseline_jpeg_is_predicted_rightly_or_refused,
       a_progressive_jpeg_is_predicted_rightly_or_refused,
       a_turned_cmyk_jpeg_is_predicted_rightly_or_refused,
       an_image_is_explained_with_an_overlay_or_refused,
       an_image_is_explained_through_windows_or_refused, a_text_is_explained_or_refused)
