#include "tools/stream/stream_run.h"

#include "engine/base/clock.h"

#include <time.h>

/* While nothing comes the loop looks at `stop` so often. After so many aborted transactions in a
 * row, with pauses that double at first, only a new process may help. */
enum {
    IDLE_MS = 200,
    LAG_MS = 1000,
    ABORTS_MAX = 10,
    PAUSE_MS = 50,
    DOUBLINGS = 6,
    FIRST_MESSAGES = 64, /* of a batch, before the speed is known */
    NS_PER_US = 1000
};

struct run {
    struct kafka *kafka;
    struct stream_batch *batch;
    const struct stream_options *options;
    struct stream_metrics *metrics;
    const atomic_bool *stop;
    unsigned room;   /* of the next batch, in messages */
    uint64_t lag_ns; /* when it was measured */
    unsigned aborts; /* in a row */
};

static void drop(struct run *run)
{
    atomic_fetch_add(&run->metrics->dropped, stream_batch_count(run->batch));
    stream_batch_clear(run->batch);
}

/* How long to wait for the next message: the first one may take any time. */
static unsigned wait_ms(const struct run *run, uint64_t first_ns)
{
    if (stream_batch_count(run->batch) == 0)
        return IDLE_MS;
    uint64_t passed_ms = (clock_now_ns() - first_ns) / CLOCK_NS_PER_MS;
    unsigned limit = run->options->batch_wait_ms;
    return passed_ms < limit ? limit - (unsigned)passed_ms : 0;
}

static bool is_full(const struct run *run)
{
    return stream_batch_count(run->batch) >= run->room || stream_batch_is_full(run->batch);
}

/* A batch that is full or has waited enough; none if nothing came. */
static enum err_code gather(struct run *run, struct err *err)
{
    uint64_t first_ns = 0;
    unsigned wait;
    do {
        struct kafka_message message;
        bool found;
        unsigned epoch = kafka_epoch(run->kafka);
        wait = wait_ms(run, first_ns);
        if (kafka_next(run->kafka, wait, &message, &found, err))
            return err->code;
        if (kafka_epoch(run->kafka) != epoch)
            drop(run);
        if (!found)
            break;
        if (stream_batch_count(run->batch) == 0)
            first_ns = clock_now_ns();
        stream_batch_add(run->batch, &message);
    } while (wait > 0 && !is_full(run) && !atomic_load(run->stop));
    return ERR_OK;
}

static void count(struct run *run)
{
    struct stream_metrics *metrics = run->metrics;
    struct stream_batch_sums sums = stream_batch_sums(run->batch);
    bool has_dead_letters = run->options->dead_letter_topic[0] != '\0';
    atomic_fetch_add(&metrics->verdicts, sums.messages - sums.failed);
    atomic_fetch_add(has_dead_letters ? &metrics->dead_letters : &metrics->problems, sums.failed);
    atomic_fetch_add(&metrics->bytes, sums.bytes);
    stream_metrics_batch(metrics, sums.messages);
}

static enum err_code pause_after_abort(struct run *run, struct err *err)
{
    unsigned ms = PAUSE_MS << (run->aborts < DOUBLINGS ? run->aborts : DOUBLINGS);
    atomic_fetch_add(&run->metrics->aborts, 1);
    if (++run->aborts > ABORTS_MAX)
        return err_set(err, ERR_IO, "%u transactions were aborted one after another", run->aborts);
    nanosleep(
        &(struct timespec){.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * CLOCK_NS_PER_MS},
        NULL);
    return ERR_OK;
}

/* Sets the size of the next batch: as many messages as take the time that is meant for a batch, but
 * at most twice as many as before, because a small batch tells little about a large one. */
static void make_room(struct run *run, uint64_t compute_ns)
{
    unsigned count = stream_batch_count(run->batch), most = run->options->batch_messages;
    double meant_ns = (double)run->options->batch_compute_ms * CLOCK_NS_PER_MS;
    double room = (double)count * meant_ns / (double)(compute_ns + 1);
    if (room > 2.0 * count)
        room = count < run->room ? run->room : 2.0 * count;
    run->room = room < 1 ? 1 : room > most ? most : (unsigned)room;
}

/* With shorter replies for those that their topic refuses. False with *err ERR_OK: aborted. */
static bool commit(struct run *run, struct err *err)
{
    struct kafka_reply *replies = stream_batch_replies(run->batch);
    unsigned count = stream_batch_count(run->batch);
    enum kafka_outcome outcome;
    kafka_commit(run->kafka, replies, count, &outcome, err);
    while (err->code == ERR_OK && outcome == KAFKA_REFUSED &&
           stream_batch_shorten(run->batch, err) == ERR_OK) {
        atomic_fetch_add(&run->metrics->aborts, 1);
        kafka_commit(run->kafka, replies, count, &outcome, err);
    }
    return err->code == ERR_OK && outcome == KAFKA_COMMITTED;
}

static enum err_code finish(struct run *run, struct err *err)
{
    uint64_t start_ns = clock_now_ns();
    if (stream_batch_answer(run->batch, err))
        return err->code;
    uint64_t computed_ns = clock_now_ns();
    make_room(run, computed_ns - start_ns);
    bool is_committed = commit(run, err);
    uint64_t end_ns = clock_now_ns();
    atomic_fetch_add(&run->metrics->compute_us, (computed_ns - start_ns) / NS_PER_US);
    atomic_fetch_add(&run->metrics->commit_us, (end_ns - computed_ns) / NS_PER_US);
    if (is_committed) {
        count(run);
        run->aborts = 0;
    }
    stream_batch_clear(run->batch);
    if (err->code == ERR_OK && !is_committed)
        pause_after_abort(run, err);
    return err->code;
}

static void measure(struct run *run)
{
    uint64_t now = clock_now_ns();
    if (now - run->lag_ns < (uint64_t)LAG_MS * CLOCK_NS_PER_MS)
        return;
    run->lag_ns = now;
    kafka_measure_lag(run->kafka);
}

enum err_code stream_run(struct kafka *kafka, struct stream_batch *batch,
                         const struct stream_options *options, struct stream_metrics *metrics,
                         const atomic_bool *stop, struct err *err)
{
    struct run run = {
        .kafka = kafka, .batch = batch, .options = options, .metrics = metrics, .stop = stop};
    run.room = FIRST_MESSAGES;
    while (!atomic_load(stop) && gather(&run, err) == ERR_OK) {
        if (stream_batch_count(batch) > 0 && finish(&run, err))
            break;
        measure(&run);
    }
    return err->code;
}
