/* logit_list.c - see logit_list.h. The names of the data set, or its digests, are sorted once, and
 * each line is looked up among them. */
#include "learn/data/logit_list.h"

#include "engine/base/doc.h"
#include "engine/base/doc_string.h"
#include "engine/base/utf8.h"
#include "learn/data/dataset_form.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIGEST_DIGITS = 16 };

/* Key by which an item of the data set is found. */
struct key {
    const char *name; /* NULL: the digest is the key */
    uint64_t digest;
    size_t item;
};

struct reader {
    struct logit_list *list;
    const char *const *labels;
    struct arena arena;
    struct key *keys; /* [list->count], sorted */
    bool by_digest;
    float *row;    /* [label_count] logits of the current line */
    float ood;     /* OOD score of the current line */
    bool *seen;    /* [label_count] labels that the current line has */
    unsigned next; /* the label that is likely to come next */
};

/* ---- keys ---- */

static int compare_keys(const void *a, const void *b)
{
    const struct key *left = a, *right = b;
    if (left->name != NULL)
        return strcmp(left->name, right->name);
    return left->digest < right->digest ? -1 : left->digest > right->digest;
}

/* ---- a line ---- */

/* Index of a label; label_count: there is none. Most files have the labels in the same order on
 * every line, so a search that starts after the last one ends at once. */
static unsigned find_label(struct reader *reader, const char *name)
{
    unsigned count = reader->list->label_count;
    for (unsigned i = 0; i < count; i++) {
        unsigned label = (reader->next + i) % count;
        if (strcmp(reader->labels[label], name) == 0) {
            reader->next = label + 1;
            return label;
        }
    }
    return count;
}

static enum err_code take_logit(void *context, const char *key, const struct json_t *value,
                                struct err *err)
{
    struct reader *reader = context;
    double logit;
    unsigned label = find_label(reader, key);
    if (label == reader->list->label_count)
        return err_set(err, ERR_UNUSABLE, "'%.80s' is not among the labels to learn", key);
    if (!doc_as_number(value, &logit))
        return err_set(err, ERR_UNUSABLE, "the logit of '%.80s': expected a number, found %s", key,
                       doc_type_name(value));
    if (fabs(logit) > LOGIT_LIST_MAX)
        return err_set(err, ERR_UNUSABLE, "the logit of '%.80s' is %.9g; it is from -%g to %g", key,
                       logit, LOGIT_LIST_MAX, LOGIT_LIST_MAX);
    reader->row[label] = (float)logit;
    reader->seen[label] = true;
    return ERR_OK;
}

static enum err_code take_logits(struct reader *reader, const struct json_t *object,
                                 struct err *err)
{
    const struct json_t *logits = doc_member(object, "logits");
    memset(reader->seen, 0, reader->list->label_count * sizeof *reader->seen);
    if (logits == NULL)
        return err_set(err, ERR_UNUSABLE, "member 'logits' is missing");
    if (strcmp(doc_type_name(logits), "an object") != 0)
        return err_set(err, ERR_UNUSABLE, "member 'logits': expected an object, found %s",
                       doc_type_name(logits));
    if (doc_each_member(logits, take_logit, reader, err))
        return err->code;
    for (unsigned i = 0; i < reader->list->label_count; i++)
        if (!reader->seen[i])
            return err_set(err, ERR_UNUSABLE, "there is no logit of '%.80s'", reader->labels[i]);
    return ERR_OK;
}

static enum err_code take_digest(const struct json_t *object, uint64_t *out, struct err *err)
{
    const char *text = NULL;
    if (doc_get_string(object, "$", "digest", &text, err) || text == NULL)
        return err->code;
    if (strlen(text) != DIGEST_DIGITS || strspn(text, "0123456789abcdef") != DIGEST_DIGITS)
        return err_set(err, ERR_UNUSABLE,
                       "member 'digest': expected the first %d hexadecimal digits of a SHA-256",
                       DIGEST_DIGITS);
    *out = strtoull(text, NULL, 16);
    return ERR_OK;
}

/* Reads the OOD score. All lines of a file must have the same method. */
static enum err_code take_ood(struct reader *reader, const struct json_t *object, struct err *err)
{
    const struct json_t *member = doc_member(object, "ood_score");
    char *method = reader->list->ood_method;
    const char *name = NULL;
    double score;
    reader->ood = NAN;
    if (doc_get_string(object, "$", "ood_method", &name, err) || member == NULL)
        return err->code;
    if (name == NULL || *name == '\0' || strlen(name) >= LOGIT_LIST_METHOD_BYTES)
        return err_set(err, ERR_UNUSABLE, "member 'ood_score' needs 'ood_method', of 1 to %d bytes",
                       LOGIT_LIST_METHOD_BYTES - 1);
    if (*method == '\0')
        snprintf(method, LOGIT_LIST_METHOD_BYTES, "%s", name);
    if (strcmp(method, name) != 0)
        return err_set(err, ERR_UNUSABLE, "member 'ood_method' is '%s', on lines before it '%s'",
                       name, method);
    if (!doc_as_number(member, &score) || fabs(score) > LOGIT_LIST_OOD_MAX)
        return err_set(err, ERR_UNUSABLE, "member 'ood_score': expected a number from -%g to %g",
                       LOGIT_LIST_OOD_MAX, LOGIT_LIST_OOD_MAX);
    reader->ood = (float)score;
    return ERR_OK;
}

/* Copies the row to the items that have this key. */
static enum err_code place_row(struct reader *reader, const struct key *key,
                               const struct logit_list_entry *entry, struct err *err)
{
    struct logit_list *list = reader->list;
    size_t low = 0, high = list->count; /* of the first key that is not below this one */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_keys(&reader->keys[middle], key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t at = low; at < list->count && compare_keys(&reader->keys[at], key) == 0; at++) {
        size_t item = reader->keys[at].item;
        if (list->entries[item].line != 0 && reader->by_digest)
            return ERR_OK;
        if (list->entries[item].line != 0)
            return err_set(err, ERR_UNUSABLE, "the input '%.80s' has been on line %zu already",
                           key->name, list->entries[item].line);
        list->entries[item] = *entry;
        list->ood[item] = reader->ood;
        memcpy(list->values + item * list->label_count, reader->row,
               list->label_count * sizeof *list->values);
    }
    return ERR_OK;
}

static enum err_code take_object(struct reader *reader, const struct json_t *object, size_t line,
                                 struct err *err)
{
    struct logit_list_entry entry = {.line = line};
    const char *name = NULL;
    if (strcmp(doc_type_name(object), "an object") != 0)
        return err_set(err, ERR_UNUSABLE, "expected an object, found %s", doc_type_name(object));
    if (doc_get_string(object, "$", "input", &name, err))
        return err->code;
    if (name == NULL)
        return err_set(err, ERR_UNUSABLE, "member 'input' is missing");
    if (take_logits(reader, object, err) || take_digest(object, &entry.digest, err) ||
        take_ood(reader, object, err))
        return err->code;
    if (reader->by_digest && entry.digest == 0)
        return err_set(err, ERR_UNUSABLE, "member 'digest' is missing");
    return place_row(reader,
                     &(struct key){.name = reader->by_digest ? NULL : name, .digest = entry.digest},
                     &entry, err);
}

/* ---- open and close ---- */

static enum err_code open_room(struct reader *reader, struct err *err)
{
    struct logit_list *list = reader->list;
    const unsigned labels = list->label_count;
    list->entries = arena_alloc_array(&list->arena, list->count, sizeof *list->entries);
    list->values = arena_alloc_array(&list->arena, list->count, labels * sizeof *list->values);
    list->ood = arena_alloc_array(&list->arena, list->count, sizeof *list->ood);
    reader->keys = arena_alloc_array(&reader->arena, list->count, sizeof *reader->keys);
    reader->row = arena_alloc_array(&reader->arena, labels, sizeof *reader->row);
    reader->seen = arena_alloc_array(&reader->arena, labels, sizeof *reader->seen);
    if (list->arena.failed || reader->arena.failed)
        return err_no_memory(err, list->count * labels * sizeof *list->values);
    for (size_t i = 0; i < list->count; i++)
        list->ood[i] = NAN;
    return ERR_OK;
}

static enum err_code read_file(struct reader *reader, const char *path, struct err *err)
{
    char *bytes = NULL;
    size_t len, line = 1;
    qsort(reader->keys, reader->list->count, sizeof *reader->keys, compare_keys);
    if (dataset_read_file(&bytes, &len, path, err))
        goto out;
    for (size_t at = dataset_mark_bytes(bytes, len); at < len && err->code == ERR_OK; line++) {
        const char *end = memchr(bytes + at, '\n', len - at);
        size_t count = end != NULL ? (size_t)(end - bytes) - at : len - at;
        struct json_t *object = NULL;
        if (!dataset_is_blank(bytes + at, count) &&
            !doc_parse(&object, bytes + at, count, &doc_limits_file, err))
            take_object(reader, object, line, err);
        doc_free(object);
        if (err->code != ERR_OK)
            err_prefix(err, "line %zu: ", line);
        at += count + (end != NULL);
    }
out:
    free(bytes);
    return err->code;
}

enum err_code logit_list_open(struct logit_list *out, const char *path,
                              const struct dataset *dataset, const char *const *labels,
                              unsigned label_count, struct err *err)
{
    struct reader reader = {.list = out, .labels = labels};
    *out = (struct logit_list){.count = dataset->count, .label_count = label_count};
    if (!open_room(&reader, err)) {
        for (size_t i = 0; i < out->count; i++)
            reader.keys[i] = (struct key){.name = dataset->items[i].name, .item = i};
        read_file(&reader, path, err);
    }
    arena_deinit(&reader.arena);
    return err->code;
}

enum err_code logit_list_open_digests(struct logit_list *out, const char *path,
                                      const uint64_t *digests, size_t count,
                                      const char *const *labels, unsigned label_count,
                                      struct err *err)
{
    struct reader reader = {.list = out, .labels = labels, .by_digest = true};
    *out = (struct logit_list){.count = count, .label_count = label_count};
    if (!open_room(&reader, err)) {
        for (size_t i = 0; i < count; i++)
            reader.keys[i] = (struct key){.digest = digests[i], .item = i};
        read_file(&reader, path, err);
    }
    arena_deinit(&reader.arena);
    return err->code;
}

void logit_list_close(struct logit_list *list)
{
    arena_deinit(&list->arena);
    *list = (struct logit_list){0};
}

const float *logit_list_row(const struct logit_list *list, size_t item)
{
    return list->entries[item].line != 0 ? list->values + item * list->label_count : NULL;
}

/* ---- write ---- */

bool logit_list_write(FILE *file, const struct logit_list_line *line, const char *const *labels,
                      unsigned label_count)
{
    bool is_utf8 = utf8_is_valid(line->name, strlen(line->name));
    for (unsigned i = 0; i < label_count && is_utf8; i++)
        is_utf8 = utf8_is_valid(labels[i], strlen(labels[i]));
    if (!is_utf8)
        return false;
    fputs("{\"input\":", file);
    doc_string_write(file, line->name, strlen(line->name));
    fprintf(file, ",\"digest\":\"%016llx\",\"logits\":{", (unsigned long long)line->digest);
    for (unsigned i = 0; i < label_count; i++) {
        fputs(i > 0 ? "," : "", file);
        doc_string_write(file, labels[i], strlen(labels[i]));
        fprintf(file, ":%.9g", (double)line->logits[i]);
    }
    fputc('}', file);
    if (line->ood_method != NULL)
        fprintf(file, ",\"ood_method\":\"%s\",\"ood_score\":%.9g", line->ood_method,
                (double)line->ood);
    fputs("}\n", file);
    return true;
}
