/* otlp_exporter.c - see otlp_exporter.h. The thread takes a batch of requests from the ring,
 * encodes it into one buffer, and sends that until it is taken or given up. The requests stay in
 * the ring meanwhile, so that all memory is bounded by what is allocated at the start.
 *
 * Stopping sets stop_ns, the end of all patience, before it closes the ring: whatever waits then
 * goes on at once, each batch is sent at most once more, and none after that time. */
#include "server/otlp/otlp_exporter.h"

#include "engine/base/clock.h"
#include "engine/base/rng.h"
#include "server/observe/log.h"
#include "server/observe/metrics_text.h"
#include "server/otlp/otlp_post.h"
#include "server/otlp/otlp_spans.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

enum {
    BATCH_SPANS = 512,
    BATCH_REQUESTS = BATCH_SPANS / OTLP_SPANS_MAX,
    BATCH_BYTES = OTLP_HEAD_BYTES + BATCH_REQUESTS * OTLP_SPANS_MAX * OTLP_SPAN_BYTES,
    BATCH_MS = 5000,
    ATTEMPTS = 5,
    ATTEMPT_MS = 10000, /* OTLP's default timeout */
    BACKOFF_MS = 1000,
    RETRY_AFTER_S = 60,  /* the most that a collector may ask for */
    STOP_MS = 900,       /* leaves the rest of the second for the last wait to notice */
    INSTANCE_BYTES = 37, /* a UUID */
};

struct otlp_exporter {
    struct otlp_endpoint endpoint;
    unsigned batch_ms, attempt_ms, backoff_ms;
    struct otlp_ring *ring;
    char instance_id[INSTANCE_BYTES];
    pthread_t thread;
    atomic_uint_fast64_t stop_ns; /* 0: runs on; partners: otlp_exporter_close, otlp_post */
    atomic_uint_fast64_t sent, dropped, failed; /* spans; partner: a scrape */

    /* The thread's own. */
    bool is_failing; /* the last batch failed: one line in the log tells of many */
    unsigned char bytes[BATCH_BYTES];
};

/* ---- a request's record ---------------------------------------------------- */

static void on_request(void *context, const struct request_record *record)
{
    struct otlp_exporter *exporter = context;
    struct otlp_entry entry;
    if (record->trace == NULL || !record->trace->context->is_sampled)
        return;
    struct timespec now; /* read anew for each record, since Unix time may be set meanwhile */
    clock_gettime(CLOCK_REALTIME, &now);
    const uint64_t unix_ns = (uint64_t)now.tv_sec * CLOCK_NS_PER_S + (uint64_t)now.tv_nsec;
    otlp_spans_of(&entry, record, unix_ns - clock_now_ns());
    if (!otlp_ring_put(exporter->ring, &entry))
        atomic_fetch_add(&exporter->dropped, otlp_spans_count(&entry));
}

struct observer otlp_exporter_observer(struct otlp_exporter *exporter)
{
    return (struct observer){.context = exporter, .request = on_request};
}

/* ---- a batch --------------------------------------------------------------- */

struct batch {
    unsigned requests, spans;
    size_t len;
};

/* OTLP/HTTP, "Retryable Response Codes". */
static bool is_passing(unsigned status)
{
    return status == 429 || status == 502 || status == 503 || status == 504;
}

/* A fifth more or less, lest many processes come again together. */
static unsigned rest_ms(unsigned first_ms, unsigned attempt, const struct otlp_answer *answer)
{
    if (answer->retry_after_s != 0)
        return 1000 *
               (answer->retry_after_s < RETRY_AFTER_S ? answer->retry_after_s : RETRY_AFTER_S);
    unsigned ms = first_ms << attempt;
    return ms - ms / 5 + (unsigned)(rng_mix(clock_now_ns()) % (2 * ms / 5 + 1));
}

static enum err_code send_once(struct otlp_exporter *exporter, const struct batch *batch,
                               struct otlp_answer *answer, struct err *err)
{
    const struct otlp_patience patience = {
        clock_now_ns() + (uint64_t)exporter->attempt_ms * CLOCK_NS_PER_MS, &exporter->stop_ns};
    *answer = (struct otlp_answer){0};
    if (otlp_post(&exporter->endpoint, exporter->bytes, batch->len, &patience, answer, err))
        return err->code;
    return answer->status / 100 == 2 ? ERR_OK : err_set(err, ERR_IO, "answered %u", answer->status);
}

/* Tries until the batch is taken or refused, or the attempts are used up. After a stop it is tried
 * once more. */
static enum err_code send_batch(struct otlp_exporter *exporter, const struct batch *batch,
                                struct otlp_answer *answer, struct err *err)
{
    bool is_open = true;
    for (unsigned attempt = 0;; attempt++) {
        *err = (struct err){0};
        if (send_once(exporter, batch, answer, err) == ERR_OK)
            return ERR_OK;
        const bool may_pass = answer->status == 0 || is_passing(answer->status);
        if (!may_pass || !is_open || attempt + 1 == ATTEMPTS)
            return err->code;
        is_open = otlp_ring_rest(exporter->ring, rest_ms(exporter->backoff_ms, attempt, answer));
    }
}

static void export(struct otlp_exporter *exporter, unsigned requests)
{
    struct otlp_answer answer;
    struct err err = {0};
    struct protobuf out = {.bytes = exporter->bytes, .size = sizeof exporter->bytes};
    struct batch batch = {.requests = requests};
    const struct otlp_marks marks = otlp_spans_begin(&out, exporter->instance_id);
    for (unsigned i = 0; i < requests; i++) {
        const struct otlp_entry *entry = otlp_ring_at(exporter->ring, i);
        otlp_spans_put(&out, entry);
        batch.spans += otlp_spans_count(entry);
    }
    otlp_spans_end(&out, &marks);
    assert(!out.is_full);
    batch.len = out.len;
    uint64_t failed = batch.spans;
    if (send_batch(exporter, &batch, &answer, &err) == ERR_OK)
        failed = answer.rejected < batch.spans ? answer.rejected : batch.spans;
    atomic_fetch_add(&exporter->failed, failed);
    atomic_fetch_add(&exporter->sent, batch.spans - failed);
    if (err.code != ERR_OK && !exporter->is_failing)
        log_event(LOG_WARN, "otlp_failing", LOG_TEXT("endpoint", exporter->endpoint.host),
                  LOG_TEXT("reason", err.text), LOG_NUMBER("spans", batch.spans));
    if (err.code == ERR_OK && exporter->is_failing)
        log_event(LOG_INFO, "otlp_recovered", LOG_TEXT("endpoint", exporter->endpoint.host));
    exporter->is_failing = err.code != ERR_OK;
    otlp_ring_remove(exporter->ring, requests);
}

static void *run(void *context)
{
    struct otlp_exporter *exporter = context;
    for (unsigned count;
         (count = otlp_ring_await(exporter->ring, BATCH_REQUESTS, exporter->batch_ms)) > 0;)
        export(exporter, count < BATCH_REQUESTS ? count : BATCH_REQUESTS);
    return NULL;
}

/* ---- open and close -------------------------------------------------------- */

static bool is_none(const char *endpoint)
{
    return endpoint == NULL || endpoint[0] == '\0';
}

static enum err_code parse(struct otlp_endpoint *out, const char *endpoint, struct err *err)
{
    return otlp_post_endpoint(out, endpoint, err) ? err_prefix(err, "otlp_endpoint: ") : ERR_OK;
}

enum err_code otlp_exporter_check(const char *endpoint, struct err *err)
{
    struct otlp_endpoint parsed;
    return is_none(endpoint) ? ERR_OK : parse(&parsed, endpoint, err);
}

enum err_code otlp_exporter_open(struct otlp_exporter **out, const struct otlp_options *options,
                                 struct err *err)
{
    struct otlp_endpoint parsed;
    *out = NULL;
    if (is_none(options->endpoint) || parse(&parsed, options->endpoint, err))
        return err->code;
    struct otlp_exporter *exporter = calloc(1, sizeof *exporter);
    if (exporter == NULL)
        return err_no_memory(err, sizeof *exporter);
    exporter->endpoint = parsed;
    exporter->batch_ms = options->batch_ms != 0 ? options->batch_ms : BATCH_MS;
    exporter->attempt_ms = options->attempt_ms != 0 ? options->attempt_ms : ATTEMPT_MS;
    exporter->backoff_ms = options->backoff_ms != 0 ? options->backoff_ms : BACKOFF_MS;
    /* a UUID of version 4 (RFC 9562): another one at each start */
    uint64_t random[2] = {0, 0};
    if (getrandom(random, sizeof random, GRND_NONBLOCK) != (ssize_t)sizeof random)
        random[0] = rng_mix(clock_now_ns());
    const unsigned third = (unsigned)(random[0] & 0x0FFF) | 0x4000;
    const unsigned fourth = (unsigned)(random[1] >> 48 & 0x3FFF) | 0x8000;
    snprintf(exporter->instance_id, INSTANCE_BYTES, "%08" PRIx32 "-%04x-%04x-%04x-%012" PRIx64,
             (uint32_t)(random[0] >> 32), (unsigned)(random[0] >> 16 & 0xFFFF), third, fourth,
             random[1] & 0xFFFFFFFFFFFF);
    int failure = 0;
    if (otlp_ring_open(&exporter->ring, err) == ERR_OK)
        failure = pthread_create(&exporter->thread, NULL, run, exporter);
    if (failure != 0)
        err_no_thread(err, failure);
    if (err->code != ERR_OK) {
        otlp_ring_free(exporter->ring);
        free(exporter);
        return err->code;
    }
    *out = exporter;
    return ERR_OK;
}

void otlp_exporter_close(struct otlp_exporter *exporter)
{
    if (exporter == NULL)
        return;
    atomic_store(&exporter->stop_ns, clock_now_ns() + (uint64_t)STOP_MS * CLOCK_NS_PER_MS);
    otlp_ring_close(exporter->ring);
    pthread_join(exporter->thread, NULL);
    otlp_ring_free(exporter->ring);
    free(exporter);
}

size_t otlp_exporter_bytes(const char *endpoint)
{
    enum { STACK_BYTES = 64 * 1024 };
    return is_none(endpoint) ? 0 : sizeof(struct otlp_exporter) + otlp_ring_bytes() + STACK_BYTES;
}

/* ---- metrics --------------------------------------------------------------- */

static void collect(void *context, enum metric_id id, struct metrics_text *out)
{
    static const char *const results[] = {"sent", "dropped", "failed"};
    struct otlp_exporter *exporter = context;
    uint64_t counts[3] = {0};
    if (exporter != NULL) {
        counts[0] = atomic_load(&exporter->sent);
        counts[1] = atomic_load(&exporter->dropped);
        counts[2] = atomic_load(&exporter->failed);
    }
    metrics_text_values(out, id, results, counts, 3);
}

void otlp_exporter_register(struct otlp_exporter *exporter, struct metrics *metrics)
{
    static const enum metric_id id = METRIC_OTLP_SPANS;
    metrics_register(metrics, &id, 1,
                     (struct metrics_collector){.context = exporter, .collect = collect});
}
