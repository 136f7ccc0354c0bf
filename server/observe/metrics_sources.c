/* metrics_sources.c - see metrics_sources.h: a function for each source. */
#include "server/observe/metrics_sources.h"

#include <string.h>

static void write_auth(struct metrics_text *text, struct metrics *metrics, enum metric_id id)
{
    static const char *const reasons[METRICS_AUTH_REASONS] = {"missing", "unknown", "expired",
                                                              "scope",   "rate",    "concurrency"};
    struct metrics_auth auth = {0};
    if (metrics->sources.auth != NULL)
        metrics->sources.auth(metrics->sources.context, &auth);
    for (size_t i = 0; i < METRICS_AUTH_REASONS; i++)
        metrics_text_value(text, id, &reasons[i], (double)auth.failures[i]);
}

/* 0 would look like a certificate that expired long ago. */
static void write_expiry(struct metrics_text *text, struct metrics *metrics, enum metric_id id)
{
    struct metrics_auth auth = {0};
    if (metrics->sources.auth != NULL)
        metrics->sources.auth(metrics->sources.context, &auth);
    if (auth.certificate_expiry_s > 0)
        metrics_text_value(text, id, NULL, auth.certificate_expiry_s);
}

static void write_audit(struct metrics_text *text, struct metrics *metrics, enum metric_id id)
{
    static const char *const results[] = {"written", "lost", "refused"};
    struct metrics_audit audit = {0};
    if (metrics->sources.audit != NULL)
        metrics->sources.audit(metrics->sources.context, &audit);
    const uint64_t counts[] = {audit.written, audit.lost, audit.refused};
    for (size_t i = 0; id == METRIC_AUDIT_RECORDS && i < 3; i++)
        metrics_text_value(text, id, &results[i], (double)counts[i]);
    if (id != METRIC_AUDIT_RECORDS)
        metrics_text_value(text, id, NULL,
                           id == METRIC_AUDIT_LAG        ? audit.lag_s
                           : id == METRIC_AUDIT_SEQUENCE ? (double)audit.seq
                                                         : (double)audit.head);
}

static void put_share(void *scrape, const struct metrics_version *version)
{
    const char *const values[] = {version->model, version->version, version->role};
    metrics_text_value(scrape, METRIC_MODEL_SHARE, values, version->share);
}

static void put_shadow(void *scrape, const struct metrics_version *version)
{
    static const char *const results[METRICS_SHADOW_RESULTS] = {"agree", "disagree", "skipped",
                                                                "failed"};
    uint64_t all = 0;
    for (size_t i = 0; i < METRICS_SHADOW_RESULTS; i++)
        all += version->shadowed[i];
    for (size_t i = 0; i < METRICS_SHADOW_RESULTS; i++) {
        const char *const values[] = {version->model, version->version, results[i]};
        if (all > 0 || strcmp(version->role, "shadow") == 0)
            metrics_text_value(scrape, METRIC_SHADOW, values, (double)version->shadowed[i]);
    }
}

static void write_versions(struct metrics_text *text, struct metrics *metrics, enum metric_id id)
{
    if (metrics->sources.versions != NULL)
        metrics->sources.versions(metrics->sources.context,
                                  id == METRIC_SHADOW ? put_shadow : put_share, text);
}

static void write_otlp(struct metrics_text *text, struct metrics *metrics, enum metric_id id)
{
    static const char *const results[] = {"sent", "dropped", "failed"};
    struct metrics_otlp otlp = {0};
    if (metrics->sources.otlp != NULL)
        metrics->sources.otlp(metrics->sources.context, &otlp);
    const uint64_t counts[] = {otlp.sent, otlp.dropped, otlp.failed};
    for (size_t i = 0; i < 3; i++)
        metrics_text_value(text, id, &results[i], (double)counts[i]);
}

static void put_feedback(void *scrape, const char *model, const char *version, const char *label,
                         const char *predicted, uint64_t count)
{
    const char *const values[] = {model, version, label, predicted};
    metrics_text_value(scrape, METRIC_FEEDBACK, values, (double)count);
}

static void put_accuracy(void *scrape, const char *model, const char *version, double ratio)
{
    const char *const values[] = {model, version};
    metrics_text_value(scrape, METRIC_ACCURACY, values, ratio);
}

static void put_weighted(void *scrape, const char *model, const char *version, double ratio)
{
    const char *const values[] = {model, version};
    metrics_text_value(scrape, METRIC_ACCURACY_WEIGHTED, values, ratio);
}

static void write_feedback(struct metrics_text *text, struct metrics *metrics, enum metric_id id)
{
    const struct metrics_feedback sink = {
        .label = id == METRIC_FEEDBACK ? put_feedback : NULL,
        .accuracy = id == METRIC_ACCURACY ? put_accuracy : NULL,
        .weighted = id == METRIC_ACCURACY_WEIGHTED ? put_weighted : NULL,
        .scrape = text,
    };
    if (metrics->sources.feedback != NULL)
        metrics->sources.feedback(metrics->sources.context, &sink);
}

static void put_drift(void *scrape, const char *model, const char *kind, double psi)
{
    const char *const values[] = {model, kind};
    metrics_text_value(scrape, METRIC_DRIFT, values, psi);
}

static void write_drift(struct metrics_text *text, struct metrics *metrics, enum metric_id id)
{
    const struct metrics_drift sink = {.value = put_drift, .scrape = text};
    (void)id;
    if (metrics->sources.drift != NULL)
        metrics->sources.drift(metrics->sources.context, &sink);
}

static void write_kept(struct metrics_text *text, struct metrics *metrics, enum metric_id id)
{
    static const char *const results[] = {"kept", "dropped"};
    struct metrics_kept kept = {0};
    if (metrics->sources.kept != NULL)
        metrics->sources.kept(metrics->sources.context, &kept);
    const uint64_t counts[] = {kept.kept, kept.dropped};
    for (size_t i = 0; id == METRIC_KEPT_INPUTS && i < 2; i++)
        metrics_text_value(text, id, &results[i], (double)counts[i]);
    if (id == METRIC_KEPT_INPUTS_BYTES)
        metrics_text_value(text, id, NULL, (double)kept.bytes);
}

static void write_fits(struct metrics_text *text, struct metrics *metrics, enum metric_id id)
{
    static const char *const results[] = {"succeeded", "refused", "failed", "cancelled"};
    struct metrics_fits fits = {0};
    if (metrics->sources.fits != NULL)
        metrics->sources.fits(metrics->sources.context, &fits);
    const uint64_t counts[] = {fits.succeeded, fits.refused, fits.failed, fits.cancelled};
    for (size_t i = 0; id == METRIC_FITS && i < 4; i++)
        metrics_text_value(text, id, &results[i], (double)counts[i]);
    if (id != METRIC_FITS)
        metrics_text_value(text, id, NULL, id == METRIC_FITS_RUNNING ? fits.running : fits.waiting);
}

static void (*const writers[METRIC_TOTAL])(struct metrics_text *text, struct metrics *metrics,
                                           enum metric_id id) = {
    [METRIC_AUTH_FAILURES] = write_auth,
    [METRIC_TLS_EXPIRY] = write_expiry,
    [METRIC_AUDIT_RECORDS] = write_audit,
    [METRIC_AUDIT_LAG] = write_audit,
    [METRIC_AUDIT_SEQUENCE] = write_audit,
    [METRIC_AUDIT_HEAD] = write_audit,
    [METRIC_MODEL_SHARE] = write_versions,
    [METRIC_SHADOW] = write_versions,
    [METRIC_OTLP_SPANS] = write_otlp,
    [METRIC_FEEDBACK] = write_feedback,
    [METRIC_ACCURACY] = write_feedback,
    [METRIC_DRIFT] = write_drift,
    [METRIC_ACCURACY_WEIGHTED] = write_feedback,
    [METRIC_KEPT_INPUTS] = write_kept,
    [METRIC_KEPT_INPUTS_BYTES] = write_kept,
    [METRIC_FITS] = write_fits,
    [METRIC_FITS_RUNNING] = write_fits,
    [METRIC_FITS_WAITING] = write_fits,
};

void metrics_sources_write(struct metrics_text *text, struct metrics *metrics, enum metric_id id)
{
    writers[id](text, metrics, id);
}
