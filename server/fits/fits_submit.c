/* fits_submit.c - from what is asked for to a job: what must be there, and which version it will
 * make. All of it is cheap: no input is read. */
#include "server/fits/fits_state.h"

#include "engine/base/file.h"
#include "server/fits/fits_gather.h"
#include "server/fits/fits_place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- what must be there ---- */

static enum err_code check_options(const struct fits *fits, const struct snapshot *snapshot,
                                   struct err *err)
{
    if (fits->options.review == NULL)
        return err_set(
            err, ERR_CONFLICT,
            "this server keeps no inputs to learn from: set keep_inputs_bytes");
    if (snapshot->config.models_root[0] == '\0')
        return err_set(err, ERR_CONFLICT,
                       "there is no place for a new version; the option models_root names one");
    if (access(fits->program, X_OK) != 0)
        return err_set(err, ERR_CONFLICT,
                       "%s cannot be run; the option fit_program says where attnd-fit is",
                       fits->program);
    return ERR_OK;
}

static enum err_code check_labels(const struct fits *fits, const char *model, struct err *err)
{
    bool any;
    if (fits_gather_any(fits->options.review, fits->options.feedback, model, &any, err) || any)
        return err->code;
    return err_set(err, ERR_CONFLICT,
                   "no kept input of this model has a right label: look at GET /review, and label "
                   "inputs by POST /feedback, five or more of a label that is new");
}

/* ---- the version ---- */

static bool is_served(const struct snapshot *snapshot, const char *name, const char *version)
{
    for (unsigned i = 0; i < snapshot->model_count; i++)
        if (strcmp(snapshot->models[i]->name, name) == 0 &&
            strcmp(snapshot->models[i]->info->version, version) == 0)
            return true;
    return false;
}

/* The directory of a version, and whether it is free. */
static enum err_code look(struct fits *fits, const struct snapshot *snapshot, struct fit_job *job,
                          const char *version, bool *is_free, struct err *err)
{
    bool exists;
    job->version = arena_copy(&job->arena, version, strlen(version));
    job->dir = arena_format(&job->arena, "%s-%s", job->call.name, version);
    job->out = job->dir != NULL
                   ? arena_format(&job->arena, "%s/%s", snapshot->config.models_root, job->dir)
                   : NULL;
    if (job->version == NULL || job->out == NULL)
        return err_no_memory(err, PATH_MAX);
    if (file_exists(job->out, &exists, err))
        return err->code;
    *is_free = !exists && !is_served(snapshot, job->call.name, version) &&
               !fits_is_claimed(fits, job->call.name, version);
    return ERR_OK;
}

static enum err_code choose_next(struct fits *fits, const struct snapshot *snapshot,
                                 struct fit_job *job, struct err *err)
{
    enum { TRIES = 1000 };
    char version[FITS_VERSION_BYTES + 1], next[FITS_VERSION_BYTES + 1];
    bool is_free = false;
    if (fits_place_next(job->from_version, version, err) || fits_place_check(version, err))
        return err->code;
    for (unsigned i = 0; i < TRIES && !is_free; i++) {
        if (look(fits, snapshot, job, version, &is_free, err) ||
            fits_place_next(version, next, err))
            return err->code;
        memcpy(version, next, sizeof version);
    }
    return is_free
               ? ERR_OK
               : err_set(err, ERR_CONFLICT, "$.version: the next %d are taken; name one", TRIES);
}

static enum err_code choose_version(struct fits *fits, const struct snapshot *snapshot,
                                    struct fit_job *job, struct err *err)
{
    bool is_free;
    if (job->call.version == NULL)
        return choose_next(fits, snapshot, job, err);
    if (fits_place_check(job->call.version, err) ||
        look(fits, snapshot, job, job->call.version, &is_free, err) || is_free)
        return err->code;
    return err_set(err, ERR_CONFLICT,
                   "$.version: it is served, being made, or its directory is there already");
}

/* ---- the job ---- */

static bool copy_text(struct fit_job *job, const char **text)
{
    if (*text != NULL)
        *text = arena_copy(&job->arena, *text, strlen(*text));
    return *text != NULL;
}

/* Its own copies of all strings. */
static enum err_code fill(struct fit_job *job, const struct served_model *model,
                          const struct fits_call *call, struct err *err)
{
    job->call = *call;
    job->from_version = model->info->version;
    job->model_dir = model->dir;
    job->dtype = model->dtype;
    job->kind = model->info->kind;
    const char **const needed[] = {&job->call.name, &job->from_version, &job->model_dir};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!copy_text(job, needed[i]))
            return err_no_memory(err, PATH_MAX);
    if ((call->reason != NULL && !copy_text(job, &job->call.reason)) ||
        (call->key != NULL && !copy_text(job, &job->call.key)) ||
        (model->dtype != NULL && !copy_text(job, &job->dtype)))
        return err_no_memory(err, PATH_MAX);
    return ERR_OK;
}

void fits_free(struct fit_job *job)
{
    if (job == NULL)
        return;
    free(job->labels);
    free(job->report);
    arena_deinit(&job->arena);
    free(job);
}

enum err_code fits_make(struct fits *fits, const struct snapshot *snapshot,
                        const struct fits_call *call, struct fit_job **out, struct err *err)
{
    const struct served_model *model = snapshot_find(snapshot, call->name);
    *out = NULL;
    if (model == NULL)
        return err_set(err, ERR_NOT_FOUND, "$.name: no model has this name");
    if (check_options(fits, snapshot, err))
        return err->code;
    struct fit_job *job = calloc(1, sizeof *job);
    if (job == NULL)
        return err_no_memory(err, sizeof *job);
    arena_init(&job->arena);
    fits_time(job->created);
    if (fill(job, model, call, err) || choose_version(fits, snapshot, job, err) ||
        check_labels(fits, job->call.name, err)) {
        fits_free(job);
        return err->code;
    }
    job->call.version = job->version;
    *out = job;
    return ERR_OK;
}
