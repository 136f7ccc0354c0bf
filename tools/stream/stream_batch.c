#include "tools/stream/stream_batch.h"

#include "engine/base/clock.h"
#include "engine/base/doc.h"
#include "engine/base/doc_edit.h"
#include "engine/base/thread_pool.h"
#include "server/observe/trace_context.h"
#include "tools/stream/message.h"
#include "wire/answer.h"
#include "wire/problem.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* Messages that a thread takes at a time: enough rows for packed batches, and few enough that all
 * threads have work until the end. */
enum { SHARE_MESSAGES = 32 };

struct item {
    struct kafka_message message;
    char id[MESSAGE_ID_BYTES_MAX + 1];
    char traceparent[TRACE_HEADER_BYTES];
    char *context; /* JSON; NULL: none */
    char *bytes;   /* of its reply or problem */
    bool is_failed;
};

struct worker {
    struct stream_batch *batch;
    struct answers *answers;
    struct err err;
};

struct stream_batch {
    const struct stream_options *options;
    const struct answers_model *model;
    struct thread_pool *pool;
    struct worker *workers; /* [options->threads] */
    struct item *items;     /* [options->batch_messages] */
    struct kafka_reply *replies;
    unsigned count;
    size_t bytes;
    atomic_uint next_share; /* partners: work, stream_batch_answer */
};

/* ---- open and close ---- */

enum err_code stream_batch_open(struct stream_batch **out, const struct stream_options *options,
                                const struct answers_model *model, struct err *err)
{
    struct stream_batch *batch = *out = calloc(1, sizeof *batch);
    if (batch == NULL)
        return err_no_memory(err, sizeof *batch);
    batch->options = options;
    batch->model = model;
    batch->workers = calloc(options->threads, sizeof *batch->workers);
    batch->items = calloc(options->batch_messages, sizeof *batch->items);
    batch->replies = calloc(options->batch_messages, sizeof *batch->replies);
    if (batch->workers == NULL || batch->items == NULL || batch->replies == NULL)
        return err_no_memory(err, options->batch_messages * sizeof *batch->items);
    for (unsigned i = 0; i < options->threads; i++) {
        batch->workers[i].batch = batch;
        if (answers_open(&batch->workers[i].answers, model, err))
            return err->code;
    }
    return thread_pool_open(&batch->pool, options->threads, err);
}

void stream_batch_close(struct stream_batch *batch)
{
    if (batch == NULL)
        return;
    stream_batch_clear(batch);
    for (unsigned i = 0; batch->workers != NULL && i < batch->options->threads; i++)
        answers_close(batch->workers[i].answers);
    if (batch->pool != NULL)
        thread_pool_close(batch->pool);
    free(batch->workers);
    free(batch->items);
    free(batch->replies);
    free(batch);
}

/* ---- gathering ---- */

unsigned stream_batch_count(const struct stream_batch *batch)
{
    return batch->count;
}

bool stream_batch_is_full(const struct stream_batch *batch)
{
    return batch->count == batch->options->batch_messages ||
           batch->bytes >= batch->options->batch_bytes;
}

void stream_batch_add(struct stream_batch *batch, const struct kafka_message *message)
{
    batch->items[batch->count++] = (struct item){.message = *message};
    batch->bytes += message->len;
}

struct stream_batch_sums stream_batch_sums(const struct stream_batch *batch)
{
    struct stream_batch_sums sums = {.messages = batch->count, .bytes = batch->bytes};
    for (unsigned i = 0; i < batch->count; i++)
        sums.failed += batch->items[i].is_failed;
    return sums;
}

void stream_batch_clear(struct stream_batch *batch)
{
    for (unsigned i = 0; i < batch->count; i++) {
        kafka_release(&batch->items[i].message);
        free(batch->items[i].context);
        free(batch->items[i].bytes);
    }
    batch->count = 0;
    batch->bytes = 0;
}

/* ---- answering ---- */

/* Our span, below the one that the input names; a trace of its own without one. */
static void choose_trace(struct item *item)
{
    struct trace_context trace;
    uint64_t random[3];
    const char *given = kafka_header(&item->message, "traceparent");
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        return;
    if (given != NULL && trace_context_parse(&trace, given))
        trace_context_begin_span(&trace, random[0]);
    else
        trace_context_begin(&trace, random);
    trace_context_write(&trace, item->traceparent);
}

static void prepare(void *context, struct answers_row *row)
{
    struct stream_batch *batch = context;
    struct item *item = &batch->items[row->index];
    struct message_input input;
    const struct message message = {.value = item->message.value,
                                    .len = item->message.len,
                                    .bytes_max = batch->options->message_bytes_max,
                                    .prompt_name = batch->model->options->prompt_name,
                                    .asking = batch->model->asking,
                                    .content_type = kafka_header(&item->message, "content-type"),
                                    .is_json = strcmp(batch->options->input, "json") == 0};
    message_prepare(&message, batch->model->engine, &row->arena, &input, &row->err);
    /* the header's id, else the body's, else one that follows from its place */
    const char *id = kafka_header(&item->message, "id");
    if (id == NULL || !message_id_is_plain(id))
        id = input.id;
    if (id != NULL)
        memcpy(item->id, id, strlen(id) + 1);
    else
        message_make_id(item->id, item->message.topic, item->message.partition,
                        item->message.offset);
    choose_trace(item);
    if (input.context != NULL && (item->context = strdup(input.context)) == NULL)
        err_no_memory(&row->err, strlen(input.context));
    row->prepared = input.prepared;
    row->text = input.text;
    row->text_len = input.text_len;
}

/* A reply of this object, instead of one that it may have. */
static enum err_code reply_with(struct stream_batch *batch, unsigned index,
                                const struct json_t *object, struct err *err)
{
    struct item *item = &batch->items[index];
    size_t len = 0;
    free(item->bytes);
    item->bytes = NULL;
    FILE *file = open_memstream(&item->bytes, &len);
    if (file == NULL)
        return err_no_memory(err, 0);
    bool is_printed = answer_print(object, file);
    if (fclose(file) != 0 || !is_printed)
        return err_no_memory(err, 0);
    if (len > 0 && item->bytes[len - 1] == '\n')
        item->bytes[--len] = '\0';
    bool is_dead = item->is_failed && batch->options->dead_letter_topic[0] != '\0';
    batch->replies[index] =
        (struct kafka_reply){.input = &item->message,
                             .value = is_dead ? NULL : item->bytes,
                             .len = is_dead ? 0 : len,
                             .id = item->id,
                             .traceparent = item->traceparent[0] != '\0' ? item->traceparent : NULL,
                             .problem = is_dead ? item->bytes : NULL};
    return ERR_OK;
}

/* Adds the members that tell which message the reply is for. */
static enum err_code add_origin(const struct item *item, struct json_t *object, struct err *err)
{
    if (doc_edit_text(object, "id", item->id, err) == ERR_OK && item->context != NULL)
        doc_edit_json(object, "context", item->context, err);
    return err->code;
}

static enum err_code take(void *context, struct json_t *object, const struct answers_row *row,
                          struct err *err)
{
    struct stream_batch *batch = context;
    struct item *item = &batch->items[row->index];
    item->is_failed = row->err.code != ERR_OK;
    if (add_origin(item, object, err))
        return err->code;
    return reply_with(batch, row->index, object, err);
}

static void work(void *context, unsigned index, unsigned count)
{
    struct stream_batch *batch = context;
    struct worker *worker = &batch->workers[index];
    const struct answers_source source = {.context = batch, .prepare = prepare, .take = take};
    (void)count;
    while (worker->err.code == ERR_OK) {
        unsigned first = atomic_fetch_add(&batch->next_share, SHARE_MESSAGES);
        if (first >= batch->count)
            return;
        unsigned left = batch->count - first;
        answers_run(worker->answers, first, left < SHARE_MESSAGES ? left : SHARE_MESSAGES, &source,
                    &worker->err);
    }
}

enum err_code stream_batch_answer(struct stream_batch *batch, struct err *err)
{
    atomic_store(&batch->next_share, 0);
    thread_pool_run(batch->pool, work, batch);
    for (unsigned i = 0; i < batch->options->threads; i++)
        if (batch->workers[i].err.code != ERR_OK)
            return err_set(err, batch->workers[i].err.code, "%s", batch->workers[i].err.text);
    return ERR_OK;
}

struct kafka_reply *stream_batch_replies(struct stream_batch *batch)
{
    return batch->replies;
}

/* ---- replies that are too large ---- */

static enum err_code shorten(struct stream_batch *batch, unsigned index, struct err *err)
{
    const struct kafka_message *message = &batch->items[index].message;
    struct kafka_reply *reply = &batch->replies[index];
    bool is_dead = reply->value == NULL;
    bool is_short = is_dead ? reply->is_bare : batch->items[index].is_failed;
    fprintf(stderr, "attnd-stream: reply_refused: %s/%d/%lld: too large for topic '%s'\n",
            message->topic, message->partition, (long long)message->offset,
            is_dead ? batch->options->dead_letter_topic : batch->options->output_topic);
    if (is_short)
        return err_set(
            err, ERR_IO,
            "topic '%.200s' takes not even a short problem: its max.message.bytes is too "
            "small",
            is_dead ? batch->options->dead_letter_topic : batch->options->output_topic);
    if (!is_dead) {
        struct item *item = &batch->items[index];
        struct err why = {0};
        err_set(&why, ERR_TOO_LARGE, "the verdict has %zu bytes: too large for topic '%.200s'",
                batch->replies[index].len, batch->options->output_topic);
        struct json_t *object = problem_document(&why, NULL);
        if (object == NULL)
            return err_no_memory(err, 0);
        item->is_failed = true;
        if (add_origin(item, object, err) == ERR_OK)
            reply_with(batch, index, object, err);
        doc_free(object);
        return err->code;
    }
    reply->is_bare = true;
    reply->is_refused = false;
    return ERR_OK;
}

enum err_code stream_batch_shorten(struct stream_batch *batch, struct err *err)
{
    for (unsigned i = 0; i < batch->count; i++)
        if (batch->replies[i].is_refused && shorten(batch, i, err))
            break;
    return err->code;
}
