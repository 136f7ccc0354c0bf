#include "server/scrape.h"

#include "server/api/repeats.h"
#include "server/audit/audit_service.h"
#include "server/feedback/feedback.h"
#include "server/fits/fits.h"
#include "server/http/tls.h"
#include "server/observe/drift.h"
#include "server/observe/metrics_text.h"
#include "server/otlp/otlp_exporter.h"
#include "server/review/review.h"
#include "server/serve/versions.h"

/* ---- the service ---- */

/* Sum over the versions that are counted under the slot. */
static double queue_depth(void *context, unsigned slot)
{
    const struct service *service = context;
    const struct snapshot *snapshot = snapshots_acquire(service->snapshots);
    uint64_t depth = 0;
    for (unsigned i = 0; i < snapshot->model_count; i++)
        if (snapshot->models[i]->slot == slot)
            depth += batcher_depth(service->batcher, snapshot->models[i]);
    snapshots_release(service->snapshots, snapshot);
    return (double)depth;
}

static void collect_service(void *context, enum metric_id id, struct metrics_text *out)
{
    struct service *service = context;
    if (id == METRIC_QUEUE_DEPTH)
        metrics_expose_models(service->metrics, out, id, queue_depth, service);
    else
        metrics_text_value(out, id, NULL,
                           id == METRIC_READY ? atomic_load(&service->phase) == SERVICE_READY
                                              : (double)memory_taken(&service->memory));
}

/* ---- who is let in ---- */

static void collect_auth(void *context, enum metric_id id, struct metrics_text *out)
{
#define X(failure, name) [AUTH_##failure] = name,
    static const char *const reasons[AUTH_FAILURES_COUNT] = {AUTH_FAILURES(X)};
#undef X
    const struct service *service = context;
    uint64_t failures[AUTH_FAILURES_COUNT];
    for (unsigned i = 0; i < AUTH_FAILURES_COUNT; i++)
        failures[i] = auth_failures(&service->auth, (enum auth_failure)i);
    metrics_text_values(out, id, reasons, failures, AUTH_FAILURES_COUNT);
}

/* Without TLS there is no sample: 0 would look like a certificate that expired long ago. */
static void collect_expiry(void *context, enum metric_id id, struct metrics_text *out)
{
    const struct service *service = context;
    const int64_t expiry_s = service->tls != NULL ? tls_expiry_s(service->tls) : 0;
    if (expiry_s > 0)
        metrics_text_value(out, id, NULL, (double)expiry_s);
}

/* ---- versions ---- */

static void write_share(struct metrics_text *out, const struct snapshot *snapshot, unsigned index)
{
    const struct served_model *model = snapshot->models[index];
    const char *const values[] = {model->name, model->info->version,
                                  version_role_name(versions_role(snapshot, index))};
    metrics_text_value(out, METRIC_MODEL_SHARE, values, versions_share(snapshot, index));
}

/* A version that is no shadow now has series only if it was one before. */
static void write_shadow(struct metrics_text *out, const struct snapshot *snapshot, unsigned index)
{
    static const char *const results[SHADOW_RESULTS] = {[SHADOW_AGREES] = "agree",
                                                        [SHADOW_DISAGREES] = "disagree",
                                                        [SHADOW_SKIPPED] = "skipped",
                                                        [SHADOW_FAILED] = "failed"};
    const struct served_model *model = snapshot->models[index];
    uint64_t counts[SHADOW_RESULTS], all = 0;
    for (unsigned i = 0; i < SHADOW_RESULTS; i++)
        all += counts[i] = atomic_load_explicit(&model->shadowed[i], memory_order_relaxed);
    if (all == 0 && versions_role(snapshot, index) != VERSION_SHADOW)
        return;
    for (unsigned i = 0; i < SHADOW_RESULTS; i++) {
        const char *const values[] = {model->name, model->info->version, results[i]};
        metrics_text_value(out, METRIC_SHADOW, values, (double)counts[i]);
    }
}

static void write_drift(struct metrics_text *out, const struct snapshot *snapshot, unsigned index,
                        struct drift *drift)
{
    const struct served_model *model = snapshot->models[index];
    struct drift_figures figures;
    if (versions_role(snapshot, index) != VERSION_PRIMARY ||
        !drift_read(drift, model->name, model->info, &figures) || !figures.has_psi)
        return;
    for (enum drift_kind kind = 0; kind < DRIFT_KINDS; kind++) {
        const char *const values[] = {model->name, drift_kind_name(kind)};
        if (drift_figures_have(&figures, kind))
            metrics_text_value(out, METRIC_DRIFT, values, figures.psi[kind]);
    }
}

static void collect_versions(void *context, enum metric_id id, struct metrics_text *out)
{
    const struct service *service = context;
    const struct snapshot *snapshot = snapshots_acquire(service->snapshots);
    for (unsigned i = 0; i < snapshot->model_count; i++)
        if (id == METRIC_MODEL_SHARE)
            write_share(out, snapshot, i);
        else if (id == METRIC_SHADOW)
            write_shadow(out, snapshot, i);
        else
            write_drift(out, snapshot, i, service->drift);
    snapshots_release(service->snapshots, snapshot);
}

static size_t count_versions(void *context, enum metric_id id)
{
    const struct service *service = context;
    const struct snapshot *snapshot = snapshots_acquire(service->snapshots);
    const size_t each = id == METRIC_MODEL_SHARE ? 1
                        : id == METRIC_SHADOW    ? SHADOW_RESULTS
                                                 : DRIFT_KINDS;
    const size_t count = each * snapshot->model_count;
    snapshots_release(service->snapshots, snapshot);
    return count;
}

/* ---- all ---- */

void scrape_register(struct service *service)
{
    static const struct {
        enum metric_id id;
        void (*collect)(void *context, enum metric_id id, struct metrics_text *out);
        size_t (*series)(void *context, enum metric_id id);
    } rows[] = {
        {METRIC_QUEUE_DEPTH, collect_service, NULL},
        {METRIC_MEMORY_RESERVED, collect_service, NULL},
        {METRIC_READY, collect_service, NULL},
        {METRIC_AUTH_FAILURES, collect_auth, NULL},
        {METRIC_TLS_EXPIRY, collect_expiry, NULL},
        {METRIC_MODEL_SHARE, collect_versions, count_versions},
        {METRIC_SHADOW, collect_versions, count_versions},
        {METRIC_DRIFT, collect_versions, count_versions},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        metrics_register(service->metrics, &rows[i].id, 1,
                         (struct metrics_collector){.context = service,
                                                    .collect = rows[i].collect,
                                                    .series = rows[i].series});
    service->audit_scrape.audit = service->audit;
    audit_service_register(&service->audit_scrape, service->metrics);
    otlp_exporter_register(service->otlp, service->metrics);
    feedback_register(service->feedback, service->metrics);
    review_register(service->review, service->metrics);
    fits_register(service->fits, service->metrics);
    repeats_register(service);
}
