/* attnd-stream - verdicts for the messages of Kafka topics; see tools/stream/. This file has the
 * loop: gather a batch, answer it, commit it. */
#include "engine/base/clock.h"
#include "engine/cli/cli_main.h"
#include "tools/stream/kafka.h"
#include "tools/stream/stream_batch.h"
#include "tools/stream/stream_metrics.h"
#include "tools/stream/stream_options.h"

#include <time.h>

/* IDLE_MS: while no message comes, the loop looks at `stop` so often. ABORTS_MAX: after so many
 * aborted transactions in a row, with pauses that double at first, only a new process may help. */
enum {
    IDLE_MS = 200,
    LAG_MS = 1000,
    ABORTS_MAX = 10,
    PAUSE_MS = 50,
    DOUBLINGS = 6,
    FIRST_MESSAGES = 64, /* size of a batch before the speed is known */
    FIRST_TEXTS = 4,     /* the same of texts to write: each may take seconds */
    NS_PER_US = 1000
};

struct program {
    struct stream_options options;
    struct stream_metrics metrics;
    struct stream_http *http;
    struct answers_model model;
    struct stream_batch *batch;
    struct kafka *kafka;
    const atomic_bool *stop;
    unsigned room;   /* size of the next batch, in messages */
    uint64_t lag_ns; /* when it was measured */
    unsigned aborts; /* in a row */
};

/* ---- the loop ---- */

/* Time to wait for the next message. The first one of a batch may take any time. */
static unsigned wait_ms(const struct program *program, uint64_t first_ns)
{
    if (stream_batch_count(program->batch) == 0)
        return IDLE_MS;
    uint64_t passed_ms = (clock_now_ns() - first_ns) / CLOCK_NS_PER_MS;
    unsigned limit = program->options.batch_wait_ms;
    return passed_ms < limit ? limit - (unsigned)passed_ms : 0;
}

static bool is_full(const struct program *program)
{
    return stream_batch_count(program->batch) >= program->room ||
           stream_batch_is_full(program->batch);
}

/* A batch that is full or has waited enough; none if nothing came. */
static enum err_code gather(struct program *program, struct err *err)
{
    uint64_t first_ns = 0;
    unsigned wait;
    do {
        struct kafka_message message;
        bool found;
        unsigned epoch = kafka_epoch(program->kafka);
        wait = wait_ms(program, first_ns);
        if (kafka_next(program->kafka, wait, &message, &found, err))
            return err->code;
        if (kafka_epoch(program->kafka) != epoch) {
            atomic_fetch_add(&program->metrics.dropped, stream_batch_count(program->batch));
            stream_batch_clear(program->batch);
        }
        if (!found)
            break;
        if (stream_batch_count(program->batch) == 0)
            first_ns = clock_now_ns();
        stream_batch_add(program->batch, &message);
    } while (wait > 0 && !is_full(program) && !atomic_load(program->stop));
    return ERR_OK;
}

static void count(struct program *program)
{
    struct stream_metrics *metrics = &program->metrics;
    struct stream_batch_sums sums = stream_batch_sums(program->batch);
    bool has_dead_letters = program->options.dead_letter_topic[0] != '\0';
    atomic_fetch_add(&metrics->verdicts, sums.messages - sums.failed);
    atomic_fetch_add(has_dead_letters ? &metrics->dead_letters : &metrics->problems, sums.failed);
    atomic_fetch_add(&metrics->bytes, sums.bytes);
    stream_metrics_batch(metrics, sums.messages);
}

static enum err_code pause_after_abort(struct program *program, struct err *err)
{
    unsigned ms = PAUSE_MS << (program->aborts < DOUBLINGS ? program->aborts : DOUBLINGS);
    atomic_fetch_add(&program->metrics.aborts, 1);
    if (++program->aborts > ABORTS_MAX)
        return err_set(err, ERR_IO, "%u transactions were aborted one after another",
                       program->aborts);
    nanosleep(
        &(struct timespec){.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * CLOCK_NS_PER_MS},
        NULL);
    return ERR_OK;
}

/* Sets the size of the next batch: as many messages as take the time that is meant for a batch, but
 * at most twice as many as before, because a small batch tells little about a large one. */
static void make_room(struct program *program, uint64_t compute_ns)
{
    unsigned count = stream_batch_count(program->batch), most = program->options.batch_messages;
    double meant_ns = (double)program->options.batch_compute_ms * CLOCK_NS_PER_MS;
    double room = (double)count * meant_ns / (double)(compute_ns + 1);
    if (room > 2.0 * count)
        room = count < program->room ? program->room : 2.0 * count;
    program->room = room < 1 ? 1 : room > most ? most : (unsigned)room;
}

/* Commits the batch. Replies that their topic refuses are shortened first. False with *err ERR_OK:
 * the transaction was aborted. */
static bool commit(struct program *program, struct err *err)
{
    struct kafka_reply *replies = stream_batch_replies(program->batch);
    unsigned count = stream_batch_count(program->batch);
    enum kafka_outcome outcome;
    kafka_commit(program->kafka, replies, count, &outcome, err);
    while (err->code == ERR_OK && outcome == KAFKA_REFUSED &&
           stream_batch_shorten(program->batch, err) == ERR_OK) {
        atomic_fetch_add(&program->metrics.aborts, 1);
        kafka_commit(program->kafka, replies, count, &outcome, err);
    }
    return err->code == ERR_OK && outcome == KAFKA_COMMITTED;
}

static enum err_code finish(struct program *program, struct err *err)
{
    uint64_t start_ns = clock_now_ns();
    if (stream_batch_answer(program->batch, err))
        return err->code;
    uint64_t computed_ns = clock_now_ns();
    make_room(program, computed_ns - start_ns);
    bool is_committed = commit(program, err);
    uint64_t end_ns = clock_now_ns();
    atomic_fetch_add(&program->metrics.compute_us, (computed_ns - start_ns) / NS_PER_US);
    atomic_fetch_add(&program->metrics.commit_us, (end_ns - computed_ns) / NS_PER_US);
    if (is_committed) {
        count(program);
        program->aborts = 0;
    }
    stream_batch_clear(program->batch);
    if (err->code == ERR_OK && !is_committed)
        pause_after_abort(program, err);
    return err->code;
}

static void measure(struct program *program)
{
    uint64_t now = clock_now_ns();
    if (now - program->lag_ns < (uint64_t)LAG_MS * CLOCK_NS_PER_MS)
        return;
    program->lag_ns = now;
    kafka_measure_lag(program->kafka);
}

/* Runs until `stop`: then the gathered messages are still answered and committed. It ends, too, at
 * a failure that only a new process mends. */
static enum err_code answer_all(struct program *program, struct err *err)
{
    const bool writes = engine_describe(program->model.engine)->task == ENGINE_GENERATE;
    program->room = writes ? FIRST_TEXTS : FIRST_MESSAGES;
    while (!atomic_load(program->stop) && gather(program, err) == ERR_OK) {
        if (stream_batch_count(program->batch) > 0 && finish(program, err))
            break;
        measure(program);
    }
    return err->code;
}

/* ---- the program ---- */

/* The observers' address first: a start that waits for brokers can be looked at. */
static enum err_code open_all(struct program *program, struct err *err)
{
    struct stream_options *options = &program->options;
    if (options->metrics_host[0] != '\0' &&
        stream_http_start(&program->http, options->metrics_host, options->metrics_port,
                          &program->metrics, err))
        return err_prefix(err, "metrics_listen: ");
    if (answers_model_open(&program->model, &options->answers, err))
        return err->code;
    const struct engine_info *info = engine_describe(program->model.engine);
    if (info->dtype_reason != NULL)
        fprintf(stderr, "attnd-stream: dtype_chosen: %s\n", info->dtype_reason);
    if (stream_batch_open(&program->batch, options, &program->model, err))
        return err->code;
    return kafka_open(&program->kafka, options, &program->metrics.kafka, program->stop, err);
}

/* Messages are the library's, so the batch goes first. */
static void close_all(void *target)
{
    struct program *program = target;
    stream_batch_close(program->batch);
    kafka_close(program->kafka);
    answers_model_close(&program->model);
    stream_http_stop(program->http);
    stream_options_free(&program->options);
}

static enum err_code read_options(void *target, enum cli_action *action, int argc,
                                  char *const *argv, struct err *err)
{
    return stream_options_read(&((struct program *)target)->options, action, argc, argv, err);
}

static enum err_code run(struct cli_run *run, struct err *err)
{
    struct program *program = run->target;
    program->stop = cli_main_stop();
    if (open_all(program, err)) {
        if (atomic_load(program->stop))
            *err = (struct err){0};
        return err->code;
    }
    printf("attnd-stream: reading %s as %s in group %s", program->options.topics,
           program->options.member, program->options.group);
    if (program->http != NULL)
        printf(", metrics on http://%s:%u/metrics", program->options.metrics_host,
               stream_http_port(program->http));
    if (printf("\n") <= 0 || fflush(stdout) != 0)
        return ERR_OK; /* cli_main sees that the output was not taken */
    atomic_store(&program->metrics.is_ready, true);
    answer_all(program, err);
    atomic_store(&program->metrics.is_ready, false);
    return err->code;
}

static const struct cli_program programs[] = {
    {.cli = &stream_options_cli, .read = read_options, .run = run, .close = close_all}};

int main(int argc, char **argv)
{
    static struct program program;
    return cli_main(programs, 1, argc, argv, &program);
}
