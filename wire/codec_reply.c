/* codec_reply.c - see codec_reply.h. answer.c and problem.c make the objects of a prediction and a
 * problem; this file adds the members that only a server has.
 *
 * Digits. One jansson dump prints all reals with the same precision. Nine digits are right for
 * scores (fp32 survives them) and for milliseconds, but not for a context, which is returned to the
 * client unchanged: codec.c has made a text of it, which is put in front of the closing brace.
 *
 * Memory. Trees live for the length of a call, the text as long as the arena. A reply to a
 * prediction is written row by row, so that no more than the tree of one row is held: labels may be
 * the client's own, and as long as a request. */
#include "wire/codec_reply.h"

#include "engine/base/utf8.h"
#include "engine/decide/class_codes.h"
#include "wire/codec_dump.h"
#include "wire/problem.h"

#include <jansson.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* ---- the reply to a predict call ---- */

static json_t *milliseconds(double ms)
{
    return json_real(isfinite(ms) ? round(ms * 1000.0) / 1000.0 : 0.0);
}

static json_t *answer_json(const struct predict_call *call, const struct codec_row *row)
{
    const struct answer *answer = row->answer;
    return call->wish == WISH_SIMILAR
               ? answer_similar(&answer->neighbours, answer->result.truncated)
               : answer_prediction(answer, call->top_k);
}

/* One of several: a row that failed becomes a problem and does not affect the others. */
static json_t *item_json(const struct predict_call *call, const struct codec_row *row,
                         const struct predict_item *item)
{
    json_t *object =
        row->err->code != ERR_OK ? problem_document(row->err, NULL) : answer_json(call, row);
    int failed = object == NULL;
    if (item->id != NULL)
        failed |= codec_add(object, "id", json_string(item->id));
    if (item->context != NULL)
        failed |= codec_add(object, "context", json_loads(item->context, 0, NULL));
    return codec_whole(object, failed);
}

static json_t *member(const char *key, json_t *value)
{
    json_t *object = json_object();
    return codec_whole(object, codec_add(object, key, value));
}

struct codec_reply {
    const struct predict_call *call;
    const char *id; /* of the request; NULL: none, or it is not UTF-8 */
    struct codec_rows rows;
    struct codec_text text;
    unsigned encoded; /* rows */
};

struct codec_reply *codec_reply_begin(const struct predict_call *call, const char *id,
                                      const struct codec_rows *rows, size_t text_bytes,
                                      struct arena *arena)
{
    struct codec_reply *reply = arena_alloc(arena, sizeof *reply);
    if (reply == NULL)
        return NULL;
    *reply = (struct codec_reply){.call = call, .rows = *rows};
    reply->id = id != NULL && utf8_is_valid(id, strlen(id)) ? id : NULL;
    codec_text_open(&reply->text, text_bytes, arena);
    if (call->is_lines)
        return reply;
    codec_text_add(&reply->text, "{");
    if (reply->id != NULL) {
        codec_text_members(&reply->text, member("id", json_string(id)));
        codec_text_add(&reply->text, ",");
    }
    if (call->envelope)
        codec_text_add(&reply->text, "\"results\":[");
    return reply;
}

/* {"index": 17, "id", ...}: an item without an id or a context has the request's. */
static void add_line(struct codec_reply *reply, const struct codec_row *row, unsigned i)
{
    const struct predict_call *call = reply->call;
    struct predict_item item = call->items[i];
    char index[32];
    if (item.id == NULL)
        item.id = reply->id;
    snprintf(index, sizeof index, "{\"index\":%u,", call->first + i);
    codec_text_add(&reply->text, index);
    codec_text_members(&reply->text, item_json(call, row, &item));
    if (item.context == NULL && call->context != NULL) {
        codec_text_add(&reply->text, ",\"context\":");
        codec_text_add(&reply->text, call->context);
    }
    codec_text_add(&reply->text, "}\n");
}

unsigned codec_reply_row(struct codec_reply *reply)
{
    const struct predict_call *call = reply->call;
    const unsigned i = reply->encoded, count = call->envelope ? call->item_count : 1;
    if (i == count)
        return 0;
    const struct codec_row row = reply->rows.row(reply->rows.context, i);
    if (call->is_lines) {
        add_line(reply, &row, i);
    } else if (!call->envelope) {
        codec_text_members(&reply->text, answer_json(call, &row));
    } else {
        codec_text_add(&reply->text, i > 0 ? ",{" : "{");
        codec_text_members(&reply->text, item_json(call, &row, &call->items[i]));
        codec_text_add(&reply->text, "}");
    }
    return count - ++reply->encoded;
}

const char *codec_reply_end(struct codec_reply *reply, const struct codec_timing *timing,
                            size_t *len)
{
    const struct predict_call *call = reply->call;
    while (codec_reply_row(reply) > 0)
        continue;
    if (call->is_lines)
        return codec_text_end(&reply->text, len);
    json_t *times = json_object();
    int failed = codec_add(times, "queue", milliseconds(timing->queue_ms));
    failed |= codec_add(times, "prepare", milliseconds(timing->prepare_ms));
    failed |= codec_add(times, "inference", milliseconds(timing->inference_ms));
    if (call->similar > 0)
        failed |= codec_add(times, "similar", milliseconds(timing->similar_ms));
    if (call->explain)
        failed |= codec_add(times, "explain", milliseconds(timing->explain_ms));
    failed |= codec_add(times, "total", milliseconds(timing->total_ms));
    codec_text_add(&reply->text, call->envelope ? "]," : ",");
    codec_text_members(&reply->text, member("timing_ms", codec_whole(times, failed)));
    if (call->context != NULL) {
        codec_text_add(&reply->text, ",\"context\":");
        codec_text_add(&reply->text, call->context);
    }
    codec_text_add(&reply->text, "}");
    return codec_text_end(&reply->text, len);
}

/* ---- the size of that reply ---- */

enum {
    SCORE_TEXT_BYTES = 64,  /* {"label":"","score":0.123456789}, and a class code's key */
    SCORE_TREE_BYTES = 512, /* an object of jansson's with three members, without their texts */
    SPAN_TEXT_BYTES = 96,   /* {"label":"","score":0.123456789,"start":0,"end":0,"text":""}, */
    SPAN_TREE_BYTES = 768,  /* an object with five members, without their texts */
    NUMBER_TEXT_BYTES = 24, /* -0.123456789e-38 and a comma */
    CHUNK_BYTES = 768,      /* the object of a line, without its vector */
    NUMBER_TREE_BYTES =
        128,            /* a real of jansson's, and its place in an array that has just doubled */
    BASE64_BYTES = 6,   /* of a number, as text and as jansson's string */
    FRAME_BYTES = 1024, /* the members of the whole */
    ROW_TEXT_BYTES = 2048, /* of a row: a problem twice, or all but labels and names */
};

/* Bytes of the text as jansson writes it: '"' and '\\' take two, a control character takes six. */
static size_t written_bytes(const char *text)
{
    size_t bytes = 0;
    for (; text != NULL && *text != '\0'; text++)
        bytes += (unsigned char)*text < 0x20 ? 6 : *text == '"' || *text == '\\' ? 2 : 1;
    return bytes;
}

/* Bytes that labels or numbers of a model take in each row: as text, and as a tree of jansson's. */
struct labels_size {
    const struct engine_info *info;
    size_t text, tree;
};

/* The label with its class code; the best one stands in `label` and in `reason`, too. */
static struct labels_size size_of_labels(const struct engine_info *info, unsigned top_k)
{
    if (info->vector_size > 0)
        return (struct labels_size){.info = info,
                                    .text = memory_product(info->vector_size, NUMBER_TEXT_BYTES),
                                    .tree = memory_product(info->vector_size, NUMBER_TREE_BYTES)};
    size_t listed = top_k != TOP_K_ALL && top_k < info->label_count ? top_k : info->label_count;
    size_t sum = 0, longest = 0;
    for (unsigned i = 0; i < info->label_count; i++) {
        size_t bytes = written_bytes(info->labels[i]);
        if (info->class_codes != NULL)
            bytes += written_bytes(info->class_codes[i].text);
        sum += bytes;
        longest = bytes > longest ? bytes : longest;
    }
    size_t texts = listed == info->label_count ? sum : memory_product(listed, longest);
    size_t text = memory_sum(listed * SCORE_TEXT_BYTES, memory_sum(texts, 2 * longest));
    return (struct labels_size){
        .info = info, .text = text, .tree = memory_sum(listed * SCORE_TREE_BYTES, text)};
}

/* Each span with its label; texts of spans may share a character at each end, and control
 * characters take six bytes. */
static struct labels_size size_of_spans(const struct codec_row *row,
                                        const struct engine_source *source)
{
    size_t longest = 0, texts = memory_product(row->spans, 2 * UTF8_BYTES_MAX);
    for (unsigned i = 0; i < row->info->label_count; i++) {
        size_t bytes = written_bytes(row->info->labels[i]);
        longest = bytes > longest ? bytes : longest;
    }
    const size_t copies = row->info->task == ENGINE_ANSWER ? row->spans + 1 : 1;
    texts = memory_sum(texts, memory_product(copies, memory_product(6, source->len)));
    const size_t text = memory_sum(memory_product(row->spans, SPAN_TEXT_BYTES + longest), texts);
    return (struct labels_size){
        .text = text, .tree = memory_sum(memory_product(row->spans, SPAN_TREE_BYTES), text)};
}

/* Vectors of lines or of tokens. */
static struct labels_size size_of_chunks(const struct predict_call *call,
                                         const struct codec_row *row)
{
    const struct vector_form *form = &call->vector;
    const bool is_string = form->encoding == VECTOR_BASE64;
    const size_t numbers =
        form->chunks == VECTORS_TOKENS ? row->info->hidden_size : row->info->vector_size;
    const size_t text = memory_product(numbers, is_string ? BASE64_BYTES : NUMBER_TEXT_BYTES);
    const size_t tree = memory_product(numbers, is_string ? BASE64_BYTES : NUMBER_TREE_BYTES);
    const size_t chunks = row->chunks;
    return (struct labels_size){
        .text = memory_sum(memory_product(chunks, text + CHUNK_BYTES), CHUNK_BYTES),
        .tree = memory_sum(memory_product(chunks, tree + CHUNK_BYTES), CHUNK_BYTES)};
}

/* Texts that were written. */
static struct labels_size size_of_texts(const struct codec_row *row)
{
    const size_t text =
        memory_sum(memory_product(6, row->written), GENERATION_BEAMS_MAX * (size_t)SPAN_TEXT_BYTES);
    return (struct labels_size){
        .text = text, .tree = memory_sum(GENERATION_BEAMS_MAX * (size_t)SPAN_TREE_BYTES, text)};
}

/* Entries of the vocabulary: the best for each masked token, or all with a weight. */
static struct labels_size size_of_tokens(const struct engine_info *info, unsigned top_k)
{
    const unsigned words = info->vocab_size;
    const size_t best = top_k == TOP_K_ALL || top_k > words ? words : top_k;
    const size_t entries = info->task == ENGINE_FILL ? ENGINE_MASKS_MAX * best : words;
    const size_t text =
        memory_product(entries, SPAN_TEXT_BYTES + 6 * (size_t)info->token_bytes_max);
    return (struct labels_size){.text = text,
                                .tree = memory_sum(memory_product(entries, SPAN_TREE_BYTES), text)};
}

size_t codec_reply_bytes(const struct predict_call *call, const char *id,
                         const struct codec_rows *rows, size_t *text)
{
    struct labels_size labels = {.info = NULL};
    const size_t once =
        written_bytes(id) + (call->context != NULL ? strlen(call->context) : 0); /* or each line */
    size_t largest = 0;
    *text = FRAME_BYTES + once;
    for (unsigned i = 0; i < call->item_count; i++) {
        const struct codec_row row = rows->row(rows->context, i);
        const struct predict_item *item = &call->items[i];
        size_t bytes = ROW_TEXT_BYTES + (call->is_lines ? once : 0) + written_bytes(item->id) +
                       (item->context != NULL ? strlen(item->context) : 0);
        if (row.err->code == ERR_OK) {
            if (row.info->task == ENGINE_GENERATE)
                labels = size_of_texts(&row);
            else if (row.info->token_texts != NULL)
                labels = size_of_tokens(row.info, call->top_k);
            else if (row.info->row_size > 0)
                labels = size_of_spans(&row, &item->source);
            else if (row.info != labels.info)
                labels = size_of_labels(row.info, call->top_k);
            const struct labels_size chunks = size_of_chunks(call, &row);
            const size_t tree = memory_sum(labels.tree, chunks.tree);
            bytes = memory_sum(bytes, memory_sum(labels.text, chunks.text));
            largest = tree > largest ? tree : largest;
        }
        *text = memory_sum(*text, bytes);
    }
    return memory_sum(*text, largest);
}

const char *codec_encode_problem(const struct err *err, const char *instance, struct arena *arena,
                                 size_t *len)
{
    return codec_finish(problem_document(err, instance), "", arena, len);
}
