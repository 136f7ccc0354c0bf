/* fits.c - see fits.h: the list of fits, the thread that carries them out, and what others are told
 * of them.
 *
 * One lock, under which nothing is read or written but memory. */
#include "server/fits/fits.h"

#include "engine/base/clock.h"
#include "engine/base/file.h"
#include "server/fits/fits_left.h"
#include "server/fits/fits_place.h"
#include "server/fits/fits_state.h"
#include "server/observe/log.h"
#include "server/serve/reloader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

/* ---- the thread ---- */

static struct fit_job *next_locked(const struct fits *fits)
{
    for (unsigned i = 0; i < fits->count; i++)
        if (fits->jobs[i]->state == FITS_QUEUED && !fits->jobs[i]->is_held)
            return fits->jobs[i];
    return NULL;
}

/* NULL: all is closing. */
static struct fit_job *take(struct fits *fits)
{
    struct fit_job *job = NULL;
    pthread_mutex_lock(&fits->lock);
    while (!fits->is_closing && (job = next_locked(fits)) == NULL)
        pthread_cond_wait(&fits->wanted, &fits->lock);
    if (job != NULL) {
        /* The wake-ups of the one before are over. */
        eventfd_t ignored;
        eventfd_read(fits->wake, &ignored);
        job->state = FITS_RUNNING;
        job->begun_ns = clock_now_ns();
        fits->is_running = true;
    }
    pthread_mutex_unlock(&fits->lock);
    return job;
}

/* The line of the audit log comes first: until it is there, the fit is told as it was. */
static void finish(struct fits *fits, struct fit_job *job)
{
    pthread_mutex_lock(&fits->lock);
    job->ended_ns = clock_now_ns();
    pthread_mutex_unlock(&fits->lock);
    fits_job_tell_ended(fits->options.audit, job);
    fits_left_end(fits->dir, job->number);
    pthread_mutex_lock(&fits->lock);
    fits_job_time(job->finished);
    job->state = job->outcome;
    job->is_held = false;
    fits->ended[job->state]++;
    pthread_mutex_unlock(&fits->lock);
}

static void *fits_main(void *context)
{
    struct fits *fits = context;
    for (struct fit_job *job; (job = take(fits)) != NULL;) {
        fits_job_tell_started(job);
        fits_run(fits, job);
        finish(fits, job);
        pthread_mutex_lock(&fits->lock);
        fits->is_running = false;
        pthread_mutex_unlock(&fits->lock);
    }
    return NULL;
}

/* ---- cancelling and forgetting ---- */

/* Ends a fit that waits. It is held back while the audit line is written. */
static void cancel_waiting(struct fits *fits, struct fit_job *job)
{
    job->outcome = FITS_CANCELLED;
    finish(fits, job);
}

static enum err_code cancel_running_locked(struct fits *fits, struct fit_job *job, struct err *err)
{
    if (job->is_loading)
        return err_set(err, ERR_CONFLICT,
                       "this fit is over and its version is being loaded; unload that instead");
    job->is_cancelled = true;
    eventfd_write(fits->wake, 1);
    return ERR_OK;
}

/* True if a version in service was opened from the directory. */
static bool is_in_service(struct fits *fits, const char *dir)
{
    char wanted[PATH_MAX], found[PATH_MAX];
    const struct snapshot *snapshot = snapshots_acquire(*fits->options.snapshots);
    bool is_served = false;
    for (unsigned i = 0; i < snapshot->model_count && realpath(dir, wanted) != NULL; i++)
        is_served = is_served || (realpath(snapshot->models[i]->dir, found) != NULL &&
                                  strcmp(wanted, found) == 0);
    snapshots_release(*fits->options.snapshots, snapshot);
    return is_served;
}

static enum err_code remove_turn(struct fits *fits, uint64_t number, bool is_held,
                                 struct arena *arena, struct fits_row *out, struct err *err)
{
    struct fit_job *waiting = NULL, *over = NULL;
    unsigned at;
    pthread_mutex_lock(&fits->lock);
    if (fits_find_locked(fits, number, &at, err) == ERR_OK) {
        struct fit_job *job = fits->jobs[at];
        if (job->state == FITS_RUNNING)
            cancel_running_locked(fits, job, err);
        else if (job->state == FITS_SUCCEEDED && !is_held)
            err_set(err, ERR_CONFLICT,
                    "a version is being loaded, perhaps this one; ask again when that is done");
        if (err->code == ERR_OK && fits_copy_locked(job, arena, out, err) == ERR_OK) {
            waiting = job->state == FITS_QUEUED ? job : NULL;
            over = fits_is_over(job) ? job : NULL;
        }
        if (waiting != NULL)
            waiting->is_held = true;
        if (over != NULL)
            fits_take_out_locked(fits, at);
    }
    pthread_mutex_unlock(&fits->lock);
    if (over != NULL) {
        if (over->state == FITS_SUCCEEDED && !is_in_service(fits, over->out))
            fits_place_remove(over->out);
        fits_job_free(over);
    }
    if (waiting == NULL)
        return err->code;
    cancel_waiting(fits, waiting);
    return fits_read(fits, number, arena, out, err);
}

/* Holds the reloader meanwhile. Otherwise a load could begin between the look at the versions in
 * service and the removal of the files, and lose its files. */
enum err_code fits_remove(struct fits *fits, uint64_t number, struct arena *arena,
                          struct fits_row *out, struct err *err)
{
    pthread_mutex_lock(&fits->lock);
    struct reloader *reloader = fits->is_started ? fits->reloader : NULL;
    pthread_mutex_unlock(&fits->lock);
    const bool is_held = reloader != NULL && reloader_hold(reloader);
    remove_turn(fits, number, is_held, arena, out, err);
    if (is_held)
        reloader_release(reloader);
    return err->code;
}

/* ---- open and close ---- */

/* The program that was built with the one that runs. */
static enum err_code find_program(struct fits *fits, struct err *err)
{
    static const char name[] = "attnd-fit";
    const char *given = fits->options.program;
    char self[PATH_MAX];
    const ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
    self[len > 0 ? len : 0] = '\0';
    char *slash = strrchr(self, '/');
    if (slash != NULL)
        *slash = '\0';
    if (given[0] == '\0')
        return file_path(fits->program, slash != NULL ? self : ".", name, err);
    if (snprintf(fits->program, sizeof fits->program, "%s", given) < (int)sizeof fits->program)
        return ERR_OK;
    return err_set(err, ERR_UNUSABLE, "fit_program: longer than %d bytes", PATH_MAX - 1);
}

/* A fit that the process before did not end has an end now. */
static void tell_left(void *context, struct fit_job *job)
{
    struct fits *fits = context;
    job->outcome = FITS_FAILED;
    snprintf(job->detail, sizeof job->detail, "the server was ended before this fit was over");
    fits_job_tell_ended(fits->options.audit, job);
}

static enum err_code clear(struct fits *fits, struct err *err)
{
    unsigned left = 0;
    if (file_path(fits->dir, fits->options.state_dir, FITS_LEFT_FOLDER, err) ||
        fits_left_read(fits->dir, tell_left, fits, &fits->last, &left, err))
        return err->code;
    if (left > 0)
        log_event(LOG_WARN, "fits_left_over", LOG_NUMBER("removed", left));
    return ERR_OK;
}

enum err_code fits_open(struct fits **out, const struct fits_options *options, struct err *err)
{
    struct fits *fits = calloc(1, sizeof *fits);
    *out = NULL;
    if (fits == NULL)
        return err_no_memory(err, sizeof *fits);
    fits->options = *options;
    pthread_mutex_init(&fits->lock, NULL);
    pthread_cond_init(&fits->wanted, NULL);
    fits->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fits->wake < 0)
        err_set(err, ERR_IO, "no eventfd for fits: %s", strerror(errno));
    if (err->code != ERR_OK || find_program(fits, err) || clear(fits, err)) {
        fits_close(fits);
        return err->code;
    }
    *out = fits;
    return ERR_OK;
}

enum err_code fits_start(struct fits *fits, struct reloader *reloader, struct err *err)
{
    fits->reloader = reloader;
    const int failure = pthread_create(&fits->thread, NULL, fits_main, fits);
    if (failure != 0)
        return err_no_thread(err, failure);
    pthread_mutex_lock(&fits->lock);
    fits->is_started = true;
    pthread_mutex_unlock(&fits->lock);
    return ERR_OK;
}

static struct fit_job *hold_waiting(struct fits *fits)
{
    pthread_mutex_lock(&fits->lock);
    struct fit_job *job = next_locked(fits);
    if (job != NULL)
        job->is_held = true;
    pthread_mutex_unlock(&fits->lock);
    return job;
}

void fits_stop(struct fits *fits)
{
    if (fits == NULL)
        return;
    atomic_store(&fits->stop, true);
    pthread_mutex_lock(&fits->lock);
    fits->is_closing = true;
    for (unsigned i = 0; i < fits->count; i++)
        if (fits->jobs[i]->state == FITS_RUNNING)
            fits->jobs[i]->is_cancelled = true;
    eventfd_write(fits->wake, 1);
    pthread_mutex_unlock(&fits->lock);
    pthread_cond_signal(&fits->wanted);
    pthread_mutex_lock(&fits->lock);
    const bool is_started = fits->is_started;
    fits->is_started = false;
    pthread_mutex_unlock(&fits->lock);
    if (is_started)
        pthread_join(fits->thread, NULL);
    for (struct fit_job *job; (job = hold_waiting(fits)) != NULL;)
        cancel_waiting(fits, job);
}

void fits_close(struct fits *fits)
{
    if (fits == NULL)
        return;
    fits_stop(fits);
    for (unsigned i = 0; i < fits->count; i++)
        fits_job_free(fits->jobs[i]);
    if (fits->wake >= 0)
        close(fits->wake);
    pthread_cond_destroy(&fits->wanted);
    pthread_mutex_destroy(&fits->lock);
    free(fits);
}
