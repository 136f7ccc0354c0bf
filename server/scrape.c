#include "server/scrape.h"

#include "server/audit/audit_service.h"
#include "server/feedback/feedback.h"
#include "server/fits/fits.h"
#include "server/http/tls.h"
#include "server/observe/drift.h"
#include "server/otlp/otlp_exporter.h"
#include "server/review/review.h"
#include "server/serve/versions.h"

/* Sum over the versions that are counted under the slot. */
static uint64_t queue_depth(void *context, unsigned slot)
{
    const struct service *service = context;
    const struct snapshot *snapshot = snapshots_acquire(service->snapshots);
    uint64_t depth = 0;
    for (unsigned i = 0; i < snapshot->model_count; i++)
        if (snapshot->models[i]->slot == slot)
            depth += batcher_depth(service->batcher, snapshot->models[i]);
    snapshots_release(service->snapshots, snapshot);
    return depth;
}

static size_t memory_reserved(void *context)
{
    const struct service *service = context;
    return memory_taken(&service->memory);
}

static bool is_ready(void *context)
{
    struct service *service = context;
    return atomic_load(&service->phase) == SERVICE_READY;
}

static void read_otlp(void *context, struct metrics_otlp *out)
{
    const struct service *service = context;
    otlp_exporter_metrics(service->otlp, out);
}

static size_t count_feedback(void *context)
{
    const struct service *service = context;
    return feedback_series(service->feedback);
}

static void read_feedback(void *context, const struct metrics_feedback *sink)
{
    const struct service *service = context;
    feedback_metrics(service->feedback, sink);
}

_Static_assert((int)SHADOW_RESULTS == (int)METRICS_SHADOW_RESULTS, "a result is a label value");

static void tell_versions(void *context, void (*tell)(void *scrape, const struct metrics_version *),
                          void *scrape)
{
    const struct service *service = context;
    const struct snapshot *snapshot = snapshots_acquire(service->snapshots);
    for (unsigned i = 0; i < snapshot->model_count; i++) {
        const struct served_model *model = snapshot->models[i];
        struct metrics_version version = {.model = model->name,
                                          .version = model->info->version,
                                          .role = version_role_name(versions_role(snapshot, i)),
                                          .share = versions_share(snapshot, i)};
        for (unsigned k = 0; k < SHADOW_RESULTS; k++)
            version.shadowed[k] = atomic_load_explicit(&model->shadowed[k], memory_order_relaxed);
        tell(scrape, &version);
    }
    snapshots_release(service->snapshots, snapshot);
}

static void read_drift(void *context, const struct metrics_drift *sink)
{
    const struct service *service = context;
    const struct snapshot *snapshot = snapshots_acquire(service->snapshots);
    for (unsigned i = 0; i < snapshot->model_count; i++) {
        const struct served_model *model = snapshot->models[i];
        struct drift_figures figures;
        if (versions_role(snapshot, i) != VERSION_PRIMARY ||
            !drift_read(service->drift, model->name, model->info, &figures) || !figures.has_psi)
            continue;
        for (enum drift_kind kind = 0; kind < DRIFT_KINDS; kind++)
            sink->value(sink->scrape, model->name, drift_kind_name(kind), figures.psi[kind]);
    }
    snapshots_release(service->snapshots, snapshot);
}

static void read_audit(void *context, struct metrics_audit *out)
{
    const struct service *service = context;
    audit_service_metrics(service->audit, out);
}

_Static_assert((int)AUTH_FAILURES_COUNT == (int)METRICS_AUTH_REASONS, "a reason is a label value");

static void read_auth(void *context, struct metrics_auth *out)
{
    const struct service *service = context;
    for (unsigned i = 0; i < AUTH_FAILURES_COUNT; i++)
        out->failures[i] = auth_failures(&service->auth, (enum auth_failure)i);
    out->certificate_expiry_s = service->tls != NULL ? (double)tls_expiry_s(service->tls) : 0;
}

static void read_kept(void *context, struct metrics_kept *out)
{
    const struct service *service = context;
    if (service->review != NULL)
        review_metrics(service->review, out);
}

static void read_fits(void *context, struct metrics_fits *out)
{
    const struct service *service = context;
    if (service->fits != NULL)
        fits_metrics(service->fits, out);
}

struct metrics_sources scrape_sources(struct service *service)
{
    return (struct metrics_sources){
        .memory_reserved = memory_reserved,
        .queue_depth = queue_depth,
        .is_ready = is_ready,
        .audit = read_audit,
        .otlp = read_otlp,
        .auth = read_auth,
        .kept = read_kept,
        .fits = read_fits,
        .feedback = read_feedback,
        .feedback_series = count_feedback,
        .versions = tell_versions,
        .drift = read_drift,
        .context = service,
    };
}
