#include "server/fits/fits_job.h"

#include "engine/base/clock.h"
#include "server/observe/json_line.h"
#include "server/observe/log.h"

#include <stdio.h>
#include <stdlib.h>

const char *fits_state_name(enum fits_state state)
{
    static const char *const names[] = {
#define X(code, name) name,
        FITS_STATES(X)
#undef X
    };
    return names[state];
}

void fits_job_time(char out[32])
{
    char text[CLOCK_UTC_BYTES];
    clock_utc(text);
    snprintf(out, 32, "%.31s", text);
}

void fits_job_free(struct fit_job *job)
{
    if (job == NULL)
        return;
    free(job->labels);
    free(job->report);
    arena_deinit(&job->arena);
    free(job);
}

/* ---- lines ---- */

/* The counts of labels are the longest part. */
enum { MEMBERS_BYTES = 2 * FITS_TEXT_BYTES };

static enum err_code append(struct audit *audit, const struct fit_job *job, const char *action,
                            bool has_ended, struct err *err)
{
    char bytes[MEMBERS_BYTES];
    struct json_line line = {.bytes = bytes, .size = sizeof bytes, .is_inside = true};
    if (audit == NULL)
        return ERR_OK;
    json_line_text(&line, "type", "fit");
    json_line_text(&line, "action", action);
    json_line_number(&line, "fit", (double)job->number);
    json_line_text(&line, "model", job->call.name);
    json_line_text(&line, "from_version", job->from_version);
    json_line_text(&line, "version", job->version);
    if (job->call.reason != NULL)
        json_line_text(&line, "reason", job->call.reason);
    if (job->call.key != NULL)
        json_line_text(&line, "key", job->call.key);
    if (has_ended && job->labels != NULL)
        json_line_json(&line, "labels", job->labels);
    if (has_ended && job->digest[0] != '\0')
        json_line_text(&line, "digest", job->digest);
    if (has_ended && job->detail[0] != '\0')
        json_line_text(&line, "failed", job->detail);
    if (line.is_cut)
        json_line_json(&line, "cut", "true");
    return audit_append(audit, &(struct audit_members){bytes, line.len}, 1, err);
}

enum err_code fits_job_tell_requested(struct audit *audit, const struct fit_job *job,
                                      struct err *err)
{
    if (append(audit, job, "requested", false, err))
        return err->code;
    log_event(LOG_INFO, "fit_requested", LOG_NUMBER("fit", job->number),
              LOG_TEXT("model", job->call.name), LOG_TEXT("version", job->version));
    return ERR_OK;
}

void fits_job_tell_started(const struct fit_job *job)
{
    log_event(LOG_INFO, "fit_started", LOG_NUMBER("fit", job->number),
              LOG_TEXT("model", job->call.name), LOG_TEXT("from_version", job->from_version),
              LOG_TEXT("version", job->version));
}

void fits_job_tell_ended(struct audit *audit, const struct fit_job *job)
{
    const double seconds =
        job->begun_ns != 0 ? clock_ms_between(job->begun_ns, job->ended_ns) / 1e3 : 0;
    append(audit, job, fits_state_name(job->outcome), true, &(struct err){0});
    log_event(job->outcome == FITS_FAILED ||
                      (job->outcome == FITS_SUCCEEDED && job->detail[0] != '\0')
                  ? LOG_WARN
                  : LOG_INFO,
              "fit_ended", LOG_NUMBER("fit", job->number), LOG_TEXT("model", job->call.name),
              LOG_TEXT("version", job->version), LOG_TEXT("result", fits_state_name(job->outcome)),
              LOG_NUMBER("seconds", seconds),
              LOG_TEXT("reason", job->detail[0] != '\0' ? job->detail : NULL));
}
