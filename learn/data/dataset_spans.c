/* dataset_spans.c - the spans of a text, as a list of objects has them. */
#include "engine/base/doc.h"
#include "engine/base/utf8.h"
#include "learn/data/dataset_form.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A place in the text: a whole number from 0 to `most`. */
static enum err_code take_place(const struct json_t *span, const char *key, size_t most,
                                uint32_t *out, struct err *err)
{
    const struct json_t *value = doc_member(span, key);
    double number;
    if (value == NULL)
        return err_set(err, ERR_UNUSABLE, "member '%s' is missing", key);
    if (!doc_as_number(value, &number))
        return err_set(err, ERR_UNUSABLE, "member '%s': expected a number, found %s", key,
                       doc_type_name(value));
    if (!(number >= 0) || number != floor(number))
        return err_set(err, ERR_UNUSABLE, "member '%s': %g is no place in a text", key, number);
    if (number > (double)most)
        return err_set(err, ERR_UNUSABLE,
                       "member '%s': %.0f is behind the end of the text, which has %zu characters",
                       key, number, most);
    *out = (uint32_t)number;
    return ERR_OK;
}

static enum err_code take_label(struct dataset *dataset, const struct json_t *span,
                                struct dataset_span *out, struct err *err)
{
    const struct json_t *value = doc_member(span, "label");
    size_t len = 0;
    const char *text = doc_text(value, &len);
    if (value == NULL)
        return err_set(err, ERR_UNUSABLE, "member 'label' is missing");
    if (text == NULL)
        return err_set(err, ERR_UNUSABLE, "member 'label': expected a string, found %s",
                       doc_type_name(value));
    if (len == 0 || memchr(text, '\0', len) != NULL)
        return err_set(err, ERR_UNUSABLE, "the label is empty or contains a NUL character");
    if (strcmp(text, "O") == 0)
        return err_set(err, ERR_UNUSABLE, "the label 'O' is that of characters without a span");
    out->label = arena_copy(&dataset->arena, text, len);
    return out->label != NULL ? ERR_OK : err_no_memory(err, len);
}

static int compare(const void *left, const void *right)
{
    const struct dataset_span *a = left, *b = right;
    return a->start != b->start ? (a->start < b->start ? -1 : 1)
                                : (a->end > b->end) - (a->end < b->end);
}

static enum err_code check_order(struct dataset_span *spans, size_t count, struct err *err)
{
    qsort(spans, count, sizeof *spans, compare);
    for (size_t i = 1; i < count; i++)
        if (spans[i].start < spans[i - 1].end)
            return err_set(err, ERR_UNUSABLE,
                           "spans overlap: '%.40s' from %u to %u and '%.40s' from %u to %u",
                           spans[i - 1].label, spans[i - 1].start, spans[i - 1].end, spans[i].label,
                           spans[i].start, spans[i].end);
    return ERR_OK;
}

enum err_code dataset_take_spans(struct dataset *dataset, const struct json_t *object,
                                 const char *key, struct dataset_record *record, struct err *err)
{
    const struct json_t *list = doc_member(object, key);
    const size_t count = doc_array_count(list);
    const size_t characters = utf8_count(record->input, record->input_len);
    if (list == NULL)
        return err_set(err, ERR_UNUSABLE, "member '%s' is missing; of a text without any it is []",
                       key);
    if (strcmp(doc_type_name(list), "an array") != 0)
        return err_set(err, ERR_UNUSABLE, "member '%s': expected an array, found %s", key,
                       doc_type_name(list));
    if (characters > UINT32_MAX)
        return err_set(err, ERR_TOO_LARGE, "the text has more than %u characters", UINT32_MAX);
    if (count > characters)
        return err_set(err, ERR_UNUSABLE, "%zu spans in a text of %zu characters", count,
                       characters);
    struct dataset_span *spans = arena_alloc_array(&dataset->arena, count, sizeof *spans);
    if (spans == NULL)
        return err_no_memory(err, count * sizeof *spans);
    for (size_t i = 0; i < count; i++) {
        const struct json_t *span = doc_array_item(list, i);
        struct dataset_span *out = &spans[i];
        if (strcmp(doc_type_name(span), "an object") != 0)
            err_set(err, ERR_UNUSABLE, "expected an object, found %s", doc_type_name(span));
        else if (!take_label(dataset, span, out, err) &&
                 !take_place(span, "start", characters, &out->start, err) &&
                 !take_place(span, "end", characters, &out->end, err) && out->start >= out->end)
            err_set(err, ERR_UNUSABLE, "it begins at %u and ends at %u: no character is in it",
                    out->start, out->end);
        if (err->code != ERR_OK)
            return err_prefix(err, "%s[%zu]: ", key, i);
    }
    record->spans = spans;
    record->span_count = (unsigned)count;
    return check_order(spans, count, err);
}

void dataset_print_answer(const struct dataset_item *item, FILE *file)
{
    fputs(item->label != NULL ? item->label : "", file);
    for (unsigned s = 0; s < item->span_count; s++)
        fprintf(file, "%s%s %u %u", s > 0 ? "\n" : "", item->spans[s].label, item->spans[s].start,
                item->spans[s].end);
}
