/* fits_submit.c - from a call to a job in the list: the conditions, and the version that it will
 * make. All of it is cheap: no input is read.
 *
 * A fit is in the list before its line is in the audit log, held back, so that its number and
 * version are its own; if the line is refused it is taken out again. */
#include "server/fits/fits_state.h"

#include "engine/base/file.h"
#include "server/fits/fits_gather.h"
#include "server/fits/fits_left.h"
#include "server/fits/fits_place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- what must be there ---- */

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

static bool is_claimed_locked(const struct fits *fits, const char *name, const char *version)
{
    for (unsigned i = 0; i < fits->count; i++)
        if (!fits_is_over(fits->jobs[i]) && strcmp(fits->jobs[i]->call.name, name) == 0 &&
            strcmp(fits->jobs[i]->version, version) == 0)
            return true;
    return false;
}

static bool is_claimed(struct fits *fits, const char *name, const char *version)
{
    pthread_mutex_lock(&fits->lock);
    const bool is_claimed = is_claimed_locked(fits, name, version);
    pthread_mutex_unlock(&fits->lock);
    return is_claimed;
}

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
               !is_claimed(fits, job->call.name, version);
    return ERR_OK;
}

static enum err_code choose_version(struct fits *fits, const struct snapshot *snapshot,
                                    struct fit_job *job, struct err *err)
{
    bool is_free = false;
    if (job->call.version == NULL) {
        enum { TRIES = 1000 }; /* the next one that is free */
        char version[FITS_VERSION_BYTES + 1], next[FITS_VERSION_BYTES + 1];
        if (fits_place_next(job->from_version, version, err) || fits_place_check(version, err))
            return err->code;
        for (unsigned i = 0; i < TRIES && !is_free; i++) {
            if (look(fits, snapshot, job, version, &is_free, err) ||
                fits_place_next(version, next, err))
                return err->code;
            memcpy(version, next, sizeof version);
        }
        return is_free ? ERR_OK
                       : err_set(err, ERR_CONFLICT, "$.version: the next %d are taken; name one",
                                 TRIES);
    }
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

/* Gives the job its own copies of all strings. */
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

static enum err_code make(struct fits *fits, const struct snapshot *snapshot,
                          const struct fits_call *call, struct fit_job **out, struct err *err)
{
    const struct served_model *model = snapshot_find(snapshot, call->name);
    *out = NULL;
    if (model == NULL)
        return err_set(err, ERR_NOT_FOUND, "$.name: no model has this name");
    if (model->info->task == ENGINE_GENERATE)
        return err_set(err, ERR_UNUSABLE,
                       "$.name: this model writes texts, and fits make classifiers; attnd-train "
                       "--task seq2seq learns from right texts");
    if (fits->options.review == NULL)
        return err_set(err, ERR_CONFLICT,
                       "this server keeps no inputs to learn from: set keep_inputs_bytes");
    if (snapshot->config.models_root[0] == '\0')
        return err_set(err, ERR_CONFLICT,
                       "there is no place for a new version; the option models_root names one");
    if (access(fits->program, X_OK) != 0)
        return err_set(err, ERR_CONFLICT,
                       "%s cannot be run; the option fit_program says where attnd-fit is",
                       fits->program);
    struct fit_job *job = calloc(1, sizeof *job);
    if (job == NULL)
        return err_no_memory(err, sizeof *job);
    arena_init(&job->arena);
    fits_job_time(job->created);
    if (fill(job, model, call, err) || choose_version(fits, snapshot, job, err) ||
        check_labels(fits, job->call.name, err)) {
        fits_job_free(job);
        return err->code;
    }
    job->call.version = job->version;
    *out = job;
    return ERR_OK;
}

/* ---- the list ---- */

static enum err_code add(struct fits *fits, struct fit_job *job, struct err *err)
{
    pthread_mutex_lock(&fits->lock);
    if (!fits->is_started || fits->is_closing)
        err_set(err, ERR_NOT_READY, "the server is starting or stopping");
    else if (fits_waiting_locked(fits) >= FITS_WAITING_MAX)
        err_set(err, ERR_QUEUE_FULL, "%d fits wait already; one runs at a time", FITS_WAITING_MAX);
    else if (is_claimed_locked(fits, job->call.name, job->version))
        err_set(err, ERR_CONFLICT, "$.version: a fit that waits or runs will make this version");
    if (err->code == ERR_OK) {
        /* The oldest that is over makes room; there is one, since few wait. */
        for (unsigned i = 0; fits->count == FITS_KEPT && i < fits->count; i++)
            if (fits_is_over(fits->jobs[i])) {
                fits_job_free(fits->jobs[i]);
                fits_take_out_locked(fits, i);
            }
        job->number = ++fits->last;
        job->is_held = true;
        fits->jobs[fits->count++] = job;
    }
    pthread_mutex_unlock(&fits->lock);
    return err->code;
}

enum err_code fits_submit(struct fits *fits, const struct snapshot *snapshot,
                          const struct fits_call *call, uint64_t *number, struct err *err)
{
    struct fit_job *job;
    if (make(fits, snapshot, call, &job, err))
        return err->code;
    if (add(fits, job, err)) {
        fits_job_free(job);
        return err->code;
    }
    *number = job->number;
    if (fits_left_begin(fits->dir, job, err) == ERR_OK)
        fits_job_tell_requested(fits->options.audit, job, err);
    if (err->code != ERR_OK)
        fits_left_end(fits->dir, job->number);
    /* the held job goes to the thread, or out of the list */
    pthread_mutex_lock(&fits->lock);
    for (unsigned i = 0; i < fits->count; i++)
        if (fits->jobs[i] == job && err->code != ERR_OK)
            fits_take_out_locked(fits, i);
    job->is_held = false;
    pthread_mutex_unlock(&fits->lock);
    pthread_cond_signal(&fits->wanted);
    if (err->code != ERR_OK)
        fits_job_free(job);
    return err->code;
}
