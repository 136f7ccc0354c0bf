/* kafka.h - the group member that reads messages and the transactions that answer them: the only
 * interface to librdkafka.
 *
 *     kafka_open(&kafka, &options, &err);
 *     unsigned epoch = kafka_epoch(kafka);
 *     kafka_next(kafka, wait_ms, &message, &found, &err);
 *     if (kafka_epoch(kafka) != epoch)      what was read before belongs to others now: drop it
 *     kafka_commit(kafka, replies, count, &outcome, &err);
 *     kafka_release(&message);
 *     kafka_close(kafka);
 *
 * Replies and the offsets of their inputs are one transaction (KIP-98), with the group's generation
 * of when the partitions were given to us (KIP-447): a member that lost its partitions without
 * noticing cannot commit, whatever its transactional.id. That id is group and member, so that a
 * process that is started again aborts at once what its killed predecessor left open, and ends a
 * second process of the same name.
 *
 * Partitions change hands only inside kafka_next, so a transaction is never open then.
 *
 * Threads: one at a time; the library has its own.
 */
#ifndef ATTND_TOOLS_STREAM_KAFKA_H
#define ATTND_TOOLS_STREAM_KAFKA_H

#include "engine/base/err.h"
#include "tools/stream/stream_options.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kafka;

/* A message that was read; all of it is the library's until kafka_release. */
struct kafka_message {
    void *handle;
    const char *topic;
    int partition;
    int64_t offset;
    const char *value; /* [len]; NULL: it has none */
    size_t len;
};

/* The reply to an input, or its dead letter. The caller keeps the bytes until kafka_commit returns.
 */
struct kafka_reply {
    const struct kafka_message *input; /* the reply has its key and partition */
    const char *value;                 /* [len]; NULL: dead letter, the input as it came */
    size_t len;
    const char *id, *traceparent; /* headers; traceparent NULL: none */
    const char *problem;          /* header of a dead letter: its problem document */
    bool is_bare;                 /* a dead letter without the input's value and headers */

    /* kafka_commit's; zero to begin with. */
    bool is_alone;   /* sent by itself, since what it was sent with was too large */
    bool is_refused; /* too large by itself */
};

enum kafka_outcome {
    KAFKA_COMMITTED,
    KAFKA_ABORTED, /* the inputs come again */
    KAFKA_REFUSED, /* aborted, since its topic takes no message as large as those is_refused; commit
                    * the same inputs again, with other replies to these */
};

/* Numbers that any thread may read at any time. */
struct kafka_state {
    atomic_uint partitions;   /* assigned partitions */
    atomic_ullong rebalances; /* partitions given or taken away */
    atomic_ullong lag;        /* messages not read yet, of all assigned partitions */
};

/* Reaches the brokers, aborts what this member left open and joins the group. ERR_UNUSABLE for an
 * option that the library refuses, or an output topic that does not exist; ERR_IO if no broker
 * answers. Close it in any case. `stop` (set at any time) ends waiting. */
enum err_code kafka_open(struct kafka **out, const struct stream_options *options,
                         struct kafka_state *state, const atomic_bool *stop, struct err *err);
/* Leaves the group. */
void kafka_close(struct kafka *kafka);

/* Waits for a message. ERR_IO: the library cannot go on. */
enum err_code kafka_next(struct kafka *kafka, unsigned wait_ms, struct kafka_message *out,
                         bool *found, struct err *err);
void kafka_release(struct kafka_message *message);
/* Changes whenever partitions are taken away, and with them all that was read before. */
unsigned kafka_epoch(const struct kafka *kafka);

/* The last header of this name, NUL-terminated; NULL: none. */
const char *kafka_header(const struct kafka_message *message, const char *name);

/* Replies to inputs of the present epoch, [count] >= 1, each partition's in their order and without
 * gaps. All or nothing. ERR_IO: fenced by another process of this name, or an error that only a new
 * process mends; what was not committed comes again there. */
enum err_code kafka_commit(struct kafka *kafka, struct kafka_reply *replies, size_t count,
                           enum kafka_outcome *outcome, struct err *err);

/* Brings the state's lag up to date. */
void kafka_measure_lag(struct kafka *kafka);

#endif
