/* fits_run.c - one fit, from the labels to the version in service: see fits.h. What it reads and
 * half of what it writes is removed whatever happens; a model that is whole stays unless the fit
 * was cancelled before it was loaded. */
#include "server/fits/fits_state.h"

#include "engine/base/cpu.h"
#include "engine/base/doc.h"
#include "engine/base/file.h"
#include "server/fits/fits_gather.h"
#include "server/fits/fits_job.h"
#include "server/fits/fits_place.h"
#include "server/fits/fits_process.h"
#include "server/rollout/rollout.h"
#include "server/serve/reloader.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { EXIT_INPUTS = 2 }; /* attnd-fit can make nothing of these inputs */

struct work {
    struct fits *fits;
    struct fit_job *job;
    char dir[PATH_MAX], list[PATH_MAX];
    bool is_refused, is_writing;  /* by its own word */
    char said[FITS_DETAIL_BYTES]; /* its last word that is no progress */
};

/* ---- the job, under the lock ---- */

static void set_step(struct work *work, const char *step, size_t done, size_t total)
{
    pthread_mutex_lock(&work->fits->lock);
    work->job->step = step;
    work->job->done = done;
    work->job->total = total;
    pthread_mutex_unlock(&work->fits->lock);
}

static bool is_cancelled(void *context)
{
    const struct work *work = context;
    pthread_mutex_lock(&work->fits->lock);
    const bool is_cancelled = work->job->is_cancelled;
    pthread_mutex_unlock(&work->fits->lock);
    return is_cancelled;
}

/* ---- inputs ---- */

static bool go_on(void *context, size_t done, size_t total)
{
    struct work *work = context;
    set_step(work, "gathering", done, total);
    return !is_cancelled(work);
}

static enum err_code gather(struct work *work, struct err *err)
{
    struct fits *fits = work->fits;
    struct fit_job *job = work->job;
    struct fits_gathered gathered;
    const struct fits_gather what = {.review = fits->options.review,
                                     .feedback = fits->options.feedback,
                                     .model = job->call.name,
                                     .kind = job->kind,
                                     .dir = work->dir,
                                     .go_on = go_on,
                                     .context = work};
    if (fits_place_dir(work->dir, fits->dir, job->number, err) ||
        file_path(work->list, work->dir, FITS_GATHER_LIST, err) ||
        fits_gather(&what, &gathered, err))
        return err->code;
    pthread_mutex_lock(&fits->lock);
    job->labels = gathered.labels;
    pthread_mutex_unlock(&fits->lock);
    if (gathered.count > 0)
        return ERR_OK;
    return err_set(err, ERR_UNUSABLE,
                   "no labelled input of this model is kept any more: label inputs of GET /review "
                   "by POST /feedback");
}

/* ---- the program ---- */

static bool take_progress(struct work *work, const char *line)
{
    struct json_t *root;
    const char *step = NULL;
    long long done = 0, total = 0;
    struct err err = {0};
    if (line[0] != '{' || doc_parse(&root, line, strlen(line), &doc_limits_request, &err))
        return false;
    const bool is_progress =
        doc_get_string(root, "$", "step", &step, &err) == ERR_OK && step != NULL &&
        doc_get_integer(root, "$", "done", 0, LLONG_MAX, &done, &err) == ERR_OK &&
        doc_get_integer(root, "$", "total", 0, LLONG_MAX, &total, &err) == ERR_OK;
    if (is_progress) {
        /* what is told of a step lives longer than its line */
        static const char *const steps[] = {"features", "fits", "writing"};
        work->is_refused = work->is_refused || strcmp(step, "refused") == 0;
        work->is_writing = work->is_writing || strcmp(step, "writing") == 0;
        for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
            if (strcmp(step, steps[i]) == 0)
                set_step(work, steps[i], (size_t)done, (size_t)total);
    }
    doc_free(root);
    return is_progress;
}

static void take_line(void *context, const char *line)
{
    static const char name[] = "attnd-fit: ";
    struct work *work = context;
    if (!take_progress(work, line) && strncmp(line, name, sizeof name - 1) == 0)
        snprintf(work->said, sizeof work->said, "%s", line + sizeof name - 1);
}

/* The error of a run, by the program's exit status and its last words. */
static enum err_code judge(const struct work *work, int status, struct err *err)
{
    if (WIFSIGNALED(status))
        return err_set(err, ERR_INTERNAL, "attnd-fit was ended by signal %d%s", WTERMSIG(status),
                       WTERMSIG(status) == SIGKILL ? ": perhaps for want of memory" : "");
    if (WEXITSTATUS(status) == EXIT_SUCCESS)
        return ERR_OK;
    const bool is_refused = work->is_refused || WEXITSTATUS(status) == EXIT_INPUTS;
    return err_set(err, is_refused ? ERR_UNUSABLE : ERR_INTERNAL, "%s",
                   work->said[0] != '\0' ? work->said : "attnd-fit failed without a word");
}

static enum err_code run_program(struct work *work, struct err *err)
{
    const struct fit_job *job = work->job;
    char loss[32], precision[32], threads[16];
    int status;
    snprintf(loss, sizeof loss, "%.17g", job->call.loss_max);
    snprintf(precision, sizeof precision, "%.17g", job->call.target_precision);
    const unsigned half = cpu_quota_threads("") / 2;
    snprintf(threads, sizeof threads, "%u",
             work->fits->options.threads > 0 ? work->fits->options.threads
             : half > 0                      ? half
                                             : 1);
    const char *const argv[] = {work->fits->program,
                                "--background",
                                "--progress-lines",
                                "--model",
                                job->model_dir,
                                "--data",
                                work->list,
                                "--out",
                                job->out,
                                "--model-version",
                                job->version,
                                "--loss-max",
                                loss,
                                "--prior",
                                job->call.is_prior_equal ? "equal" : "natural",
                                "--target-precision",
                                precision,
                                "--threads",
                                threads,
                                NULL};
    const struct fits_process process = {.argv = argv,
                                         .wake = work->fits->wake,
                                         .line = take_line,
                                         .is_cancelled = is_cancelled,
                                         .context = work};
    set_step(work, "features", 0, 0);
    if (fits_process_run(&process, &status, err))
        return err->code;
    return judge(work, status, err);
}

/* ---- the new version ---- */

/* Finds the digest of the files that were loaded. */
static void find_digest(struct work *work)
{
    struct snapshots *snapshots = *work->fits->options.snapshots;
    const struct snapshot *snapshot = snapshots_acquire(snapshots);
    const struct fit_job *job = work->job;
    for (unsigned i = 0; i < snapshot->model_count; i++) {
        const struct served_model *model = snapshot->models[i];
        if (strcmp(model->name, job->call.name) == 0 &&
            strcmp(model->info->version, job->version) == 0)
            engine_digest(model->engine, &work->fits->stop, work->job->digest, &(struct err){0});
    }
    snapshots_release(snapshots, snapshot);
}

static enum err_code load(struct work *work, struct err *err)
{
    const struct fit_job *job = work->job;
    const struct rollout_change change = {.action = ROLLOUT_LOAD,
                                          .name = job->call.name,
                                          .dir = job->dir,
                                          .dtype = job->dtype,
                                          .has_shadow = true,
                                          .shadow = job->call.shadow,
                                          .reason = job->call.reason};
    struct reload_result result = {0};
    struct arena arena;
    arena_init(&arena);
    reloader_change(work->fits->reloader, &(struct reloader_call){.change = &change,
                                                                  .key = job->call.key,
                                                                  .arena = &arena,
                                                                  .result = &result,
                                                                  .err = err});
    arena_deinit(&arena);
    return err->code;
}

/* ---- all of it ---- */

static void end(struct work *work, enum fits_state state, struct err *err)
{
    struct fit_job *job = work->job;
    job->outcome = state;
    if (err->code != ERR_OK && state == FITS_SUCCEEDED)
        err_prefix(err, "not loaded: ");
    pthread_mutex_lock(&work->fits->lock);
    job->done = state == FITS_SUCCEEDED ? job->total : job->done;
    if (state != FITS_CANCELLED)
        snprintf(job->detail, sizeof job->detail, "%s", err->text);
    pthread_mutex_unlock(&work->fits->lock);
}

void fits_run(struct fits *fits, struct fit_job *job)
{
    struct work work = {.fits = fits, .job = job};
    struct err err = {0};
    if (gather(&work, &err) == ERR_OK)
        run_program(&work, &err);
    fits_place_remove_partial(job->out);
    pthread_mutex_lock(&fits->lock); /* from now on it cannot be cancelled */
    job->is_loading = !job->is_cancelled;
    if (job->is_loading) {
        job->step = "loading";
        job->done = 0;
        job->total = 1;
    }
    pthread_mutex_unlock(&fits->lock);
    if (!job->is_loading) {
        if (work.is_writing) /* by then nobody else had put something there */
            fits_place_remove(job->out);
        end(&work, FITS_CANCELLED, &err);
        return;
    }
    if (err.code != ERR_OK) {
        end(&work, err.code == ERR_UNUSABLE ? FITS_REFUSED : FITS_FAILED, &err);
        return;
    }
    char *report;
    fits_report_read(&report, job->out, &(struct err){0});
    pthread_mutex_lock(&fits->lock);
    job->report = report;
    pthread_mutex_unlock(&fits->lock);
    if (job->call.shadow > 0 && load(&work, &err) == ERR_OK)
        find_digest(&work);
    end(&work, FITS_SUCCEEDED, &err);
}
