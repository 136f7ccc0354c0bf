/* fits.c - see fits.h: the list of fits, the thread that carries them out, and what others are told
 * of them.
 *
 * One lock, under which nothing is read or written but memory. A fit is in the list before its line
 * is in the audit log, held back, so that its number and version are its own; if the line is
 * refused it is taken out again. */
#include "server/fits/fits.h"

#include "engine/base/clock.h"
#include "engine/base/file.h"
#include "server/fits/fits_left.h"
#include "server/fits/fits_place.h"
#include "server/fits/fits_state.h"
#include "server/fits/fits_tell.h"
#include "server/observe/log.h"
#include "server/serve/reloader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

const char *fits_state_name(enum fits_state state)
{
    static const char *const names[] = {
#define X(code, name) name,
        FITS_STATES(X)
#undef X
    };
    return names[state];
}

void fits_time(char out[32])
{
    char text[CLOCK_UTC_BYTES];
    clock_utc(text);
    snprintf(out, 32, "%.31s", text);
}

/* ---- the list ---- */

static bool is_over(const struct fit_job *job)
{
    return job->state != FITS_QUEUED && job->state != FITS_RUNNING;
}

static void take_out_locked(struct fits *fits, unsigned at)
{
    fits->count--;
    memmove(&fits->jobs[at], &fits->jobs[at + 1], (fits->count - at) * sizeof fits->jobs[0]);
}

/* The oldest that is over makes room; there is one, since few wait. */
static void make_room_locked(struct fits *fits)
{
    for (unsigned i = 0; fits->count == FITS_KEPT && i < fits->count; i++)
        if (is_over(fits->jobs[i])) {
            fits_free(fits->jobs[i]);
            take_out_locked(fits, i);
        }
}

unsigned fits_waiting_locked(const struct fits *fits)
{
    unsigned count = 0;
    for (unsigned i = 0; i < fits->count; i++)
        count += fits->jobs[i]->state == FITS_QUEUED;
    return count;
}

static bool is_claimed_locked(const struct fits *fits, const char *name, const char *version)
{
    for (unsigned i = 0; i < fits->count; i++)
        if (!is_over(fits->jobs[i]) && strcmp(fits->jobs[i]->call.name, name) == 0 &&
            strcmp(fits->jobs[i]->version, version) == 0)
            return true;
    return false;
}

bool fits_is_claimed(struct fits *fits, const char *name, const char *version)
{
    pthread_mutex_lock(&fits->lock);
    const bool is_claimed = is_claimed_locked(fits, name, version);
    pthread_mutex_unlock(&fits->lock);
    return is_claimed;
}

enum err_code fits_find_locked(const struct fits *fits, uint64_t number, unsigned *at,
                               struct err *err)
{
    for (*at = 0; *at < fits->count; (*at)++)
        if (fits->jobs[*at]->number == number && !fits->jobs[*at]->is_held)
            return ERR_OK;
    return err_set(err, ERR_NOT_FOUND,
                   "there is no fit of this number; the last %d since the start are remembered",
                   FITS_KEPT);
}

/* ---- what is asked for ---- */

static enum err_code add(struct fits *fits, struct fit_job *job, struct err *err)
{
    pthread_mutex_lock(&fits->lock);
    if (!fits->is_started || fits->is_closing)
        err_set(err, ERR_NOT_READY, "the server is starting or stopping");
    else if (fits_waiting_locked(fits) >= FITS_WAITING_MAX)
        err_set(err, ERR_QUEUE_FULL, "%d fits wait already; one runs at a time", FITS_WAITING_MAX);
    else if (is_claimed_locked(fits, job->call.name, job->version))
        err_set(err, ERR_CONFLICT, "$.version: another fit is to make it");
    if (err->code == ERR_OK) {
        make_room_locked(fits);
        job->number = ++fits->last;
        job->is_held = true;
        fits->jobs[fits->count++] = job;
    }
    pthread_mutex_unlock(&fits->lock);
    return err->code;
}

/* To the thread, or out of the list. */
static void release(struct fits *fits, struct fit_job *job, bool is_wanted)
{
    pthread_mutex_lock(&fits->lock);
    for (unsigned i = 0; i < fits->count; i++)
        if (fits->jobs[i] == job && !is_wanted)
            take_out_locked(fits, i);
    job->is_held = false;
    pthread_mutex_unlock(&fits->lock);
    pthread_cond_signal(&fits->wanted);
}

enum err_code fits_submit(struct fits *fits, const struct snapshot *snapshot,
                          const struct fits_call *call, uint64_t *number, struct err *err)
{
    struct fit_job *job;
    if (fits_make(fits, snapshot, call, &job, err))
        return err->code;
    if (add(fits, job, err)) {
        fits_free(job);
        return err->code;
    }
    *number = job->number;
    if (fits_left_begin(fits->dir, job, err) == ERR_OK)
        fits_tell_requested(fits->options.audit, job, err);
    if (err->code != ERR_OK)
        fits_left_end(fits->dir, job->number);
    release(fits, job, err->code == ERR_OK);
    if (err->code != ERR_OK)
        fits_free(job);
    return err->code;
}

/* ---- the thread ---- */

void fits_step(struct fits *fits, struct fit_job *job, const char *step, size_t done, size_t total)
{
    pthread_mutex_lock(&fits->lock);
    job->step = step;
    job->done = done;
    job->total = total;
    pthread_mutex_unlock(&fits->lock);
}

bool fits_is_cancelled(struct fits *fits, const struct fit_job *job)
{
    pthread_mutex_lock(&fits->lock);
    const bool is_cancelled = job->is_cancelled;
    pthread_mutex_unlock(&fits->lock);
    return is_cancelled;
}

static const char step_loading[] = "loading";

bool fits_begin_loading(struct fits *fits, struct fit_job *job)
{
    pthread_mutex_lock(&fits->lock);
    const bool goes_on = !job->is_cancelled;
    if (goes_on) {
        job->step = step_loading;
        job->done = 0;
        job->total = 1;
    }
    pthread_mutex_unlock(&fits->lock);
    return goes_on;
}

/* The wake-ups of the one before are over. */
static void begin_locked(struct fits *fits, struct fit_job *job)
{
    eventfd_t ignored;
    eventfd_read(fits->wake, &ignored);
    job->state = FITS_RUNNING;
    job->begun_ns = clock_now_ns();
    fits->is_running = true;
}

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
    if (job != NULL)
        begin_locked(fits, job);
    pthread_mutex_unlock(&fits->lock);
    return job;
}

/* The line of the audit log comes first: until it is there, the fit is told as it was. */
static void finish(struct fits *fits, struct fit_job *job)
{
    pthread_mutex_lock(&fits->lock);
    job->ended_ns = clock_now_ns();
    pthread_mutex_unlock(&fits->lock);
    fits_tell_ended(fits->options.audit, job);
    fits_left_end(fits->dir, job->number);
    pthread_mutex_lock(&fits->lock);
    fits_time(job->finished);
    job->state = job->outcome;
    job->is_held = false;
    fits->ended[job->state]++;
    pthread_mutex_unlock(&fits->lock);
}

static void set_idle(struct fits *fits)
{
    pthread_mutex_lock(&fits->lock);
    fits->is_running = false;
    pthread_mutex_unlock(&fits->lock);
}

static void *fits_main(void *context)
{
    struct fits *fits = context;
    for (struct fit_job *job; (job = take(fits)) != NULL;) {
        fits_tell_started(job);
        fits_run(fits, job);
        finish(fits, job);
        set_idle(fits);
    }
    return NULL;
}

/* ---- cancelling and forgetting ---- */

/* One that waits is held back while that is written down. */
static void cancel_waiting(struct fits *fits, struct fit_job *job)
{
    job->outcome = FITS_CANCELLED;
    finish(fits, job);
}

static enum err_code cancel_running_locked(struct fits *fits, struct fit_job *job, struct err *err)
{
    if (job->step == step_loading)
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

/* Only what this fit has made. */
static void forget(struct fits *fits, struct fit_job *job)
{
    if (job->state == FITS_SUCCEEDED && !is_in_service(fits, job->out))
        fits_place_remove(job->out);
    fits_free(job);
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
            over = is_over(job) ? job : NULL;
        }
        if (waiting != NULL)
            waiting->is_held = true;
        if (over != NULL)
            take_out_locked(fits, at);
    }
    pthread_mutex_unlock(&fits->lock);
    if (over != NULL)
        forget(fits, over);
    if (waiting == NULL)
        return err->code;
    cancel_waiting(fits, waiting);
    return fits_read(fits, number, arena, out, err);
}

/* While no version is being loaded: a load must not lose its files between the look at what is in
 * service and their removal. */
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
    fits_tell_ended(fits->options.audit, job);
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

static void end_running(struct fits *fits)
{
    pthread_mutex_lock(&fits->lock);
    fits->is_closing = true;
    for (unsigned i = 0; i < fits->count; i++)
        if (fits->jobs[i]->state == FITS_RUNNING)
            fits->jobs[i]->is_cancelled = true;
    eventfd_write(fits->wake, 1);
    pthread_mutex_unlock(&fits->lock);
    pthread_cond_signal(&fits->wanted);
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
    end_running(fits);
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
        fits_free(fits->jobs[i]);
    if (fits->wake >= 0)
        close(fits->wake);
    pthread_cond_destroy(&fits->wanted);
    pthread_mutex_destroy(&fits->lock);
    free(fits);
}
