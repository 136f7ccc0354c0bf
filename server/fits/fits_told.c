/* fits_told.c - the readers of fits.h: copies of fits and the figures of metrics, made under the
 * lock, and reports on the disk, read without it. */
#include "server/fits/fits_state.h"

#include "engine/base/clock.h"
#include "engine/base/file.h"
#include "server/observe/metrics_text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- rows ---- */

static bool copy_text(struct arena *arena, const char **text)
{
    if (*text == NULL)
        return true;
    *text = (*text)[0] != '\0' ? arena_copy(arena, *text, strlen(*text)) : NULL;
    return *text != NULL;
}

static double seconds_of(const struct fit_job *job)
{
    const uint64_t end_ns = job->ended_ns != 0 ? job->ended_ns : clock_now_ns();
    return job->begun_ns != 0 ? clock_ms_between(job->begun_ns, end_ns) / 1e3 : 0;
}

enum err_code fits_copy_locked(const struct fit_job *job, struct arena *arena, struct fits_row *out,
                               struct err *err)
{
    *out = (struct fits_row){.number = job->number,
                             .name = job->call.name,
                             .from_version = job->from_version,
                             .version = job->version,
                             .dir = job->dir,
                             .state = job->state,
                             .step = job->step,
                             .done = job->done,
                             .total = job->total,
                             .labels = job->labels,
                             .created = job->created,
                             .finished = job->finished[0] != '\0' ? job->finished : NULL,
                             .seconds = seconds_of(job),
                             .detail = job->detail[0] != '\0' ? job->detail : NULL,
                             .report = job->report};
    const char **const texts[] = {&out->name,     &out->from_version, &out->version,
                                  &out->dir,      &out->labels,       &out->created,
                                  &out->finished, &out->detail,       &out->report};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!copy_text(arena, texts[i]))
            return err_no_memory(err, FITS_TEXT_BYTES);
    return ERR_OK;
}

size_t fits_row_bytes(void)
{
    enum { OTHERS = 4096 };
    return 2 * (size_t)FITS_TEXT_BYTES + OTHERS;
}

enum err_code fits_read(struct fits *fits, uint64_t number, struct arena *arena,
                        struct fits_row *out, struct err *err)
{
    unsigned at;
    pthread_mutex_lock(&fits->lock);
    if (fits_find_locked(fits, number, &at, err) == ERR_OK)
        fits_copy_locked(fits->jobs[at], arena, out, err);
    pthread_mutex_unlock(&fits->lock);
    return err->code;
}

enum err_code fits_list(struct fits *fits, struct arena *arena, struct fits_row **out,
                        unsigned *count, struct err *err)
{
    *count = 0;
    *out = arena_alloc_array(arena, FITS_KEPT, sizeof **out);
    if (*out == NULL)
        return err_no_memory(err, FITS_KEPT * sizeof **out);
    pthread_mutex_lock(&fits->lock);
    for (unsigned i = fits->count; i > 0 && err->code == ERR_OK; i--)
        if (!fits->jobs[i - 1]->is_held)
            fits_copy_locked(fits->jobs[i - 1], arena, &(*out)[(*count)++], err);
    pthread_mutex_unlock(&fits->lock);
    return err->code;
}

/* ---- metrics ---- */

static void collect(void *context, enum metric_id id, struct metrics_text *out)
{
    static const char *const results[] = {"succeeded", "refused", "failed", "cancelled"};
    struct fits *fits = context;
    uint64_t ended[4] = {0};
    bool is_running = false;
    unsigned waiting = 0;
    if (fits != NULL) {
        pthread_mutex_lock(&fits->lock);
        ended[0] = fits->ended[FITS_SUCCEEDED];
        ended[1] = fits->ended[FITS_REFUSED];
        ended[2] = fits->ended[FITS_FAILED];
        ended[3] = fits->ended[FITS_CANCELLED];
        is_running = fits->is_running;
        waiting = fits_waiting_locked(fits);
        pthread_mutex_unlock(&fits->lock);
    }
    if (id == METRIC_FITS)
        metrics_text_values(out, id, results, ended, 4);
    else
        metrics_text_value(out, id, NULL, id == METRIC_FITS_RUNNING ? is_running : waiting);
}

void fits_register(struct fits *fits, struct metrics *metrics)
{
    static const enum metric_id ids[] = {METRIC_FITS, METRIC_FITS_RUNNING, METRIC_FITS_WAITING};
    metrics_register(metrics, ids, sizeof ids / sizeof *ids,
                     (struct metrics_collector){.context = fits, .collect = collect});
}

/* ---- the report ---- */

static enum err_code report_path(struct fits *fits, uint64_t number, char out[PATH_MAX],
                                 struct err *err)
{
    unsigned at;
    pthread_mutex_lock(&fits->lock);
    if (fits_find_locked(fits, number, &at, err) == ERR_OK) {
        if (fits->jobs[at]->state == FITS_SUCCEEDED)
            file_path(out, fits->jobs[at]->out, "report.html", err);
        else
            err_set(err, ERR_NOT_FOUND, "this fit has left no report: it is %s",
                    fits_state_name(fits->jobs[at]->state));
    }
    pthread_mutex_unlock(&fits->lock);
    return err->code;
}

size_t fits_report_page_bytes(struct fits *fits, uint64_t number)
{
    char path[PATH_MAX];
    struct stat file;
    if (report_path(fits, number, path, &(struct err){0}) != ERR_OK || stat(path, &file) != 0)
        return 0;
    return 2 * (size_t)file.st_size; /* while it is copied */
}

enum err_code fits_report_page(struct fits *fits, uint64_t number, struct arena *arena,
                               const char **html, size_t *len, struct err *err)
{
    enum { PAGE_BYTES_MAX = 64 * 1024 * 1024 };
    char path[PATH_MAX], *bytes;
    struct err cause = {0};
    if (report_path(fits, number, path, err))
        return err->code;
    if (file_read(&bytes, len, path, PAGE_BYTES_MAX, &cause))
        return err_set(err, ERR_NOT_FOUND, "the report of this fit is no longer there");
    *html = arena_copy(arena, bytes, *len);
    free(bytes);
    return *html != NULL ? ERR_OK : err_no_memory(err, *len);
}
