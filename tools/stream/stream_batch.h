/* stream_batch.h - some messages on their way from their reading to their replies: gathered, then
 * answered in packed batches on all threads.
 *
 *     stream_batch_open(&batch, &options, &model, &err);
 *     stream_batch_add(batch, &message);                 takes the message over
 *     stream_batch_answer(batch, &err);
 *     kafka_commit(kafka, stream_batch_replies(batch), stream_batch_count(batch), ...);
 *     stream_batch_clear(batch);
 *     stream_batch_close(batch);
 *
 * Threads: one; answering starts its own and waits for them.
 */
#ifndef ATTND_TOOLS_STREAM_STREAM_BATCH_H
#define ATTND_TOOLS_STREAM_STREAM_BATCH_H

#include "tools/answers/answers.h"
#include "tools/stream/kafka.h"
#include "tools/stream/stream_options.h"

struct stream_batch;

/* Sums over a batch that was answered. */
struct stream_batch_sums {
    unsigned messages, failed;
    size_t bytes; /* bytes of values */
};

/* Close it in any case, before the model and what its messages came from. */
enum err_code stream_batch_open(struct stream_batch **out, const struct stream_options *options,
                                const struct answers_model *model, struct err *err);
void stream_batch_close(struct stream_batch *batch);

unsigned stream_batch_count(const struct stream_batch *batch);
bool stream_batch_is_full(const struct stream_batch *batch);
/* There must be room. */
void stream_batch_add(struct stream_batch *batch, const struct kafka_message *message);
/* Makes a reply to each. Only a failure of the system is an error. */
enum err_code stream_batch_answer(struct stream_batch *batch, struct err *err);
/* [messages], in the order in which they were added; the batch's, until it is cleared. */
struct kafka_reply *stream_batch_replies(struct stream_batch *batch);
/* Shortens the refused replies after KAFKA_REFUSED: a verdict becomes a problem, and a dead letter
 * keeps only its headers. ERR_IO if even that was refused. */
enum err_code stream_batch_shorten(struct stream_batch *batch, struct err *err);
struct stream_batch_sums stream_batch_sums(const struct stream_batch *batch);
void stream_batch_clear(struct stream_batch *batch);

#endif
