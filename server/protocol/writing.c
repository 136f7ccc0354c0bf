#include "server/protocol/writing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct writing *writing_begin(struct request *request, const char *head)
{
    struct writing *writing = request->reply;
    struct arena *arena = &request->exchange->arena;
    unsigned most = 1;
    if (writing != NULL)
        return writing;
    for (unsigned i = 0; i < request->good_count; i++) {
        const unsigned count = row_info(request->good[i])->label_count;
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
    for (unsigned i = 0; i < info->label_count && i < most; i++) {
        codec_text_add(&writing->text, i == 0 ? "[{\"label\":" : ",{\"label\":");
        codec_text_string(&writing->text, info->labels[writing->order[i]]);
        codec_text_add(&writing->text, ",\"score\":");
        writing_number(&writing->text, scores[writing->order[i]]);
        codec_text_add(&writing->text, "}");
    }
    codec_text_add(&writing->text, "]");
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
