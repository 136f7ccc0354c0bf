#include "engine/selftest.h"

#include "engine/base/file.h"
#include "engine/decide/argmax.h"
#include "engine/selftest_state.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- open and close ---- */

static enum err_code read_file(struct selftest *selftest, const char *dir, const char *path,
                               struct err *err)
{
    char *bytes;
    size_t len;
    if (file_read(&bytes, &len, path, SELFTEST_FILE_BYTES_MAX, err))
        return err_prefix(err, "%s: ", SELFTEST_FILE);
    if (selftest_parse(selftest, dir, bytes, len, err))
        err_prefix(err, "%s: ", SELFTEST_FILE);
    free(bytes);
    return err->code;
}

enum err_code selftest_open(struct selftest **out, const char *dir, struct err *err)
{
    char path[PATH_MAX];
    bool exists;
    *out = NULL;
    if (file_path(path, dir, SELFTEST_FILE, err) || file_exists(path, &exists, err) || !exists)
        return err->code;
    struct selftest *selftest = calloc(1, sizeof *selftest);
    if (selftest == NULL)
        return err_no_memory(err, sizeof *selftest);
    arena_init(&selftest->arena);
    if (read_file(selftest, dir, path, err)) {
        selftest_close(selftest);
        return err->code;
    }
    *out = selftest;
    return ERR_OK;
}

void selftest_close(struct selftest *selftest)
{
    if (selftest == NULL)
        return;
    arena_deinit(&selftest->arena);
    free(selftest);
}

unsigned selftest_count(const struct selftest *selftest)
{
    return selftest->count;
}

double selftest_tolerance(const struct selftest *selftest, const char *dtype)
{
    if (dtype != NULL && strcmp(dtype, "bf16") == 0)
        return selftest->tolerance_bf16;
    return dtype != NULL && strcmp(dtype, "int8") == 0 ? selftest->tolerance_int8
                                                       : selftest->tolerance;
}

/* ---- running ---- */

/* The workspace of one case; it is freed before the next. */
struct run {
    const struct selftest *selftest;
    const struct engine_model *model;
    struct engine_session *session;
    const struct engine_info *info;
    double tolerance;
    float *logits, *scores; /* [label_count] */
};

static enum err_code prepare_file(const struct run *run, const struct selftest_case *item,
                                  struct arena *arena, struct engine_input *input, struct err *err)
{
    struct engine_source source = item->source;
    char *bytes;
    if (file_read(&bytes, &source.len, item->image_file, SELFTEST_IMAGE_BYTES_MAX, err))
        return err->code;
    source.bytes = bytes;
    engine_prepare(run->model, &source, NULL, arena, input, err);
    free(bytes);
    return err->code;
}

static enum err_code prepare(const struct run *run, const struct selftest_case *item,
                             struct arena *arena, struct engine_input *input, struct err *err)
{
    if (item->source.kind != run->info->kind)
        return err_set(err, ERR_UNUSABLE, "is %s, and the model reads %s",
                       item->source.kind == ENGINE_TEXT ? "a text" : "an image",
                       run->info->kind == ENGINE_TEXT ? "texts" : "images");
    return item->image_file != NULL
               ? prepare_file(run, item, arena, input, err)
               : engine_prepare(run->model, &item->source, NULL, arena, input, err);
}

static enum err_code find_label(const struct run *run, const char *label, unsigned *out,
                                struct err *err)
{
    for (*out = 0; *out < run->info->label_count; ++*out)
        if (strcmp(run->info->labels[*out], label) == 0)
            return ERR_OK;
    return err_set(err, ERR_UNUSABLE, "the model has no label \"%.64s\"", label);
}

static enum err_code check_score(const struct run *run, const struct selftest_score *expected,
                                 struct err *err)
{
    unsigned at;
    if (find_label(run, expected->label, &at, err))
        return err->code;
    double found = (double)run->scores[at];
    if (fabs(found - expected->value) <= run->tolerance)
        return ERR_OK;
    return err_set(err, ERR_UNUSABLE,
                   "label \"%.64s\": expected a score of %.9g within %g in %s, found %.9g",
                   expected->label, expected->value, run->tolerance, run->info->dtype, found);
}

static enum err_code check(const struct run *run, const struct selftest_case *item, struct err *err)
{
    if (!engine_scores_as_fitted(run->model, run->logits, run->scores))
        return err_set(err, ERR_UNUSABLE, "the scores are not finite");
    for (unsigned i = 0; i < item->score_count; i++)
        if (check_score(run, &item->scores[i], err))
            return err->code;
    const char *label = item->label;
    unsigned at, best = argmax(run->scores, run->info->label_count);
    if (label == NULL || find_label(run, label, &at, err))
        return err->code;
    if ((double)run->scores[at] >= (double)run->scores[best] - run->tolerance)
        return ERR_OK;
    return err_set(err, ERR_UNUSABLE,
                   "expected the label \"%.64s\", which scores %.9g, found \"%.64s\" with %.9g",
                   label, (double)run->scores[at], run->info->labels[best],
                   (double)run->scores[best]);
}

static enum err_code run_case(const struct run *run, const struct selftest_case *item,
                              struct err *err)
{
    struct arena arena;
    struct engine_input input = {0};
    arena_init(&arena);
    if (prepare(run, item, &arena, &input, err) == ERR_OK) {
        engine_run(run->session, (const struct engine_input *[]){&input}, 1,
                   (struct engine_result *[]){&(struct engine_result){.logits = run->logits}});
        check(run, item, err);
    }
    arena_deinit(&arena);
    return err->code;
}

static enum err_code run_cases(const struct run *run, struct err *err)
{
    const struct selftest *selftest = run->selftest;
    for (unsigned i = 0; i < selftest->count; i++)
        if (run_case(run, &selftest->cases[i], err))
            return err_prefix(err, "%s: case %u of %u: ", SELFTEST_FILE, i + 1, selftest->count);
    return ERR_OK;
}

enum err_code selftest_run(const struct selftest *selftest, const struct engine_model *model,
                           struct engine_session *session, struct err *err)
{
    const struct engine_info *info = engine_describe(model);
    if (info->label_count == 0 || info->row_size > 0)
        return err_set(err, ERR_UNUSABLE, "%s: the model has no labels of whole inputs to check",
                       SELFTEST_FILE);
    struct arena arena;
    struct run run = {.selftest = selftest, .model = model, .session = session, .info = info};
    run.tolerance = selftest_tolerance(selftest, info->dtype);
    arena_init(&arena);
    run.logits = arena_alloc_array(&arena, info->label_count, sizeof(float));
    run.scores = arena_alloc_array(&arena, info->label_count, sizeof(float));
    if (run.logits == NULL || run.scores == NULL)
        err_no_memory(err, 2 * info->label_count * sizeof(float));
    else
        run_cases(&run, err);
    arena_deinit(&arena);
    return err->code;
}

/* An image of a file is not looked at before it is read: the most that one may take of the bytes
 * and of the pixels, at 4 bytes each, decoded and as the model's. */
size_t selftest_bytes(const struct selftest *selftest, const struct engine_model *model)
{
    enum { IMAGE_BYTES = SELFTEST_IMAGE_BYTES_MAX + 2 * 4 * SELFTEST_PIXELS_MAX };
    size_t most = 0;
    for (unsigned i = 0; i < selftest->count; i++) {
        const struct selftest_case *item = &selftest->cases[i];
        struct engine_need need = {.passing = IMAGE_BYTES};
        if (item->image_file == NULL)
            need = engine_need(model, &item->source);
        most = need.kept + need.passing > most ? need.kept + need.passing : most;
    }
    return most + selftest->file_bytes + 2 * engine_describe(model)->label_count * sizeof(float);
}
