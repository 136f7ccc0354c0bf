#include "server/protocol/writing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct writing *writing_begin(struct request *request, const char *head)
{
    struct writing *writing = request->reply;
    struct arena *arena = &request->exchange->arena;
    unsigned most = request->call.item_count;
    if (writing != NULL)
        return writing;
    for (unsigned i = 0; i < request->call.item_count; i++) { /* `good` lacks known answers */
        const struct row *row = &request->rows[i];
        const unsigned count = row->err.code == ERR_OK ? row_info(row)->label_count : 0;
        most = count > most ? count : most;
    }
    writing = arena_alloc(arena, sizeof *writing);
    unsigned *order = arena_alloc_array(arena, most, sizeof *order);
    if (writing == NULL || order == NULL)
        return NULL;
    *writing = (struct writing){.order = order};
    codec_text_open(&writing->text, request->long_reply_bytes, arena);
    codec_text_add(&writing->text, head);
    return request->reply = writing;
}

struct writing *writing_next(struct request *request, const char *head, unsigned count)
{
    struct writing *writing = writing_begin(request, head);
    if (writing == NULL || writing->encoded == count)
        return NULL;
    writing->count = count;
    codec_text_add(&writing->text, writing->encoded > 0 ? "," : "");
    return writing;
}

unsigned writing_done(struct writing *writing, const char *tail)
{
    if (++writing->encoded == writing->count)
        codec_text_add(&writing->text, tail);
    return writing->count - writing->encoded;
}

size_t writing_reply_bytes(const struct request *request, size_t *text)
{
    enum {
        FRAME_BYTES = 2048,                                    /* of a reply and its headers */
        PROBLEM_BYTES = sizeof((struct err *)0)->text * 6 * 2, /* JSON, and dumped */
    };
    size_t work = 0;
    *text = FRAME_BYTES;
    for (unsigned i = 0; i < request->call.item_count; i++)
        if (request->rows[i].err.code == ERR_OK)
            *text =
                memory_sum(*text, request->protocol->row_bytes(request, &request->rows[i], &work));
    return memory_sum(memory_sum(*text, work), PROBLEM_BYTES);
}

const char *writing_encode(struct request *request, const struct codec_timing *timing, size_t *len)
{
    (void)timing;
    while (request->protocol->encode_row(request) > 0)
        continue;
    struct writing *writing = request->reply;
    return writing != NULL ? codec_text_end(&writing->text, len) : NULL;
}

void writing_number(struct codec_text *text, float number)
{
    char written[WRITING_NUMBER_BYTES + 8];
    snprintf(written, sizeof written, "%.9g", (double)number);
    codec_text_add(text, written);
}

void writing_numbers(struct codec_text *text, const float *numbers, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        codec_text_add(text, i == 0 ? "[" : ",");
        writing_number(text, numbers[i]);
    }
    codec_text_add(text, "]");
}

/* qsort_r's; the context points to the scores. */
static int compare(const void *left, const void *right, void *context)
{
    const unsigned a = *(const unsigned *)left, b = *(const unsigned *)right;
    const float *scores = *(const float *const *)context;
    const float x = scores[a], y = scores[b];
    return x != y ? (x < y) - (x > y) : (a > b) - (a < b);
}

void writing_rank(unsigned *order, const float *scores, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        order[i] = i;
    qsort_r(order, count, sizeof *order, compare, &scores);
}

void writing_labels(struct writing *writing, const struct row *row, const struct writing_how *how)
{
    const struct engine_info *info = row_info(row);
    const struct engine_result *result = &row->answer.result;
    const float *scores = how->wants_logits ? result->logits : result->scores;
    const unsigned most = how->top_k == TOP_K_ALL ? info->label_count : how->top_k;
    writing_rank(writing->order, scores, info->label_count);
    codec_text_add(&writing->text, "[");
    for (unsigned i = 0; i < info->label_count && i < most; i++) {
        const unsigned label = writing->order[i];
        writing_label(&writing->text, info->labels[label], scores[label], i == 0);
    }
    codec_text_add(&writing->text, "]");
}

void writing_label(struct codec_text *text, const char *label, float score, bool is_first)
{
    codec_text_add(text, is_first ? "{\"label\":" : ",{\"label\":");
    codec_text_string(text, label);
    codec_text_add(text, ",\"score\":");
    writing_number(text, score);
    codec_text_add(text, "}");
}

unsigned writing_vector_size(const struct request *request, const struct row *row)
{
    const unsigned kept = request->call.vector.dimensions;
    return kept > 0 ? kept : row_info(row)->vector_size;
}

void writing_cosine(struct codec_text *text, const struct request *request, const struct row *left,
                    const struct row *right)
{
    const unsigned size = writing_vector_size(request, left);
    const float *a = left->answer.result.vector, *b = right->answer.result.vector;
    double product = 0, a2 = 0, b2 = 0;
    for (unsigned i = 0; i < size; i++) {
        product += (double)a[i] * (double)b[i];
        a2 += (double)a[i] * (double)a[i];
        b2 += (double)b[i] * (double)b[i];
    }
    const double lengths = sqrt(a2) * sqrt(b2);
    writing_number(text, lengths > 0 ? (float)(product / lengths) : 0);
}

size_t writing_labels_bytes(const struct row *row)
{
    enum { LABEL_BYTES = 64 }; /* its number and the names of members, and its place in the order */
    const struct engine_info *info = row_info(row);
    size_t bytes = LABEL_BYTES;
    for (unsigned i = 0; i < info->label_count; i++)
        bytes += LABEL_BYTES + strlen(info->labels[i]) * 6;
    return bytes;
}
