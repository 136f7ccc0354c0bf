/* workload.c - see workload.h. Requests are kept as the bytes that go over the wire, so that during
 * the run the generator spends its processor time on sockets and clocks only; a base64 image is
 * encoded once. Requests are not validated here: a load test may send requests that must fail. */
#include "loadtest/workload.h"

#include "engine/base/doc.h"
#include "tools/client/bearer_key.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct source {
    unsigned first, count; /* items */
    unsigned next;         /* 0..count */
    int weight, credit;    /* smooth weighted round robin */
};

struct workload {
    const struct options *options;
    struct buffer authorization; /* see there */
    struct workload_item *items;
    unsigned count, capacity;
    struct source source[OPTIONS_SOURCES_MAX];
    unsigned source_count;
};

static enum err_code add_item(struct workload *workload, struct buffer *request, bool judged,
                              struct err *err)
{
    if (request->failed || workload->count == WORKLOAD_ITEMS_MAX) {
        buffer_deinit(request);
        return err_set(err, ERR_UNUSABLE, "more than %d inputs, or no memory for them",
                       WORKLOAD_ITEMS_MAX);
    }
    if (workload->count == workload->capacity) {
        unsigned capacity = workload->capacity * 2 + 16;
        struct workload_item *items = realloc(workload->items, capacity * sizeof *items);
        if (items == NULL) {
            buffer_deinit(request);
            return err_no_memory(err, capacity * sizeof *items);
        }
        workload->items = items;
        workload->capacity = capacity;
    }
    workload->items[workload->count] =
        (struct workload_item){.request = *request, .index = workload->count, .judged = judged};
    workload->count++;
    return ERR_OK;
}

/* The header with the key, with its end of line; "" without one. */
static const char *authorization(const struct workload *workload)
{
    return workload->authorization.bytes != NULL ? workload->authorization.bytes : "";
}

static enum err_code add_get(struct workload *workload, const char *path, struct err *err)
{
    struct buffer request = {0};
    buffer_format(&request, "GET %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", path,
                  workload->options->target.authority, authorization(workload));
    return add_item(workload, &request, false, err);
}

static enum err_code add_post(struct workload *workload, const char *type, const char *query,
                              const struct buffer *body, struct err *err)
{
    struct buffer request = {0};
    buffer_format(&request,
                  "POST %s%s HTTP/1.1\r\nHost: %s\r\nContent-Type: %s\r\n"
                  "Content-Length: %zu\r\n%s\r\n",
                  workload->options->target.path, query, workload->options->target.authority, type,
                  body->len, authorization(workload));
    buffer_append(&request, body->bytes, body->len);
    request.failed |= body->failed;
    return add_item(workload, &request, true, err);
}

static enum err_code add_json(struct workload *workload, bool image, const struct buffer *input,
                              struct err *err)
{
    const struct options *options = workload->options;
    struct buffer body = {0};
    buffer_text(&body, image ? "{\"image\":\"" : "{\"text\":");
    if (image) {
        buffer_base64(&body, input->bytes, input->len);
        buffer_text(&body, "\"");
    } else {
        buffer_json_string(&body, input->bytes, input->len);
    }
    if (options->model != NULL) {
        buffer_text(&body, ",\"model\":");
        buffer_json_string(&body, options->model, strlen(options->model));
    }
    if (options->top_k != NULL) {
        const char *quote = strcmp(options->top_k, "all") == 0 ? "\"" : "";
        buffer_format(&body, ",\"top_k\":%s%s%s", quote, options->top_k, quote);
    }
    buffer_text(&body, "}");
    add_post(workload, "application/json", "", &body, err);
    buffer_deinit(&body);
    return err->code;
}

static enum err_code add_input(struct workload *workload, bool image, const struct buffer *input,
                               struct err *err)
{
    if (!workload->options->raw)
        return add_json(workload, image, input, err);
    bool jpeg = input->len >= 2 && memcmp(input->bytes, "\xFF\xD8", 2) == 0;
    const char *type = !image ? "text/plain; charset=utf-8" : jpeg ? "image/jpeg" : "image/png";
    const struct options *options = workload->options;
    struct buffer query = {0};
    buffer_text(&query, "");
    if (options->model != NULL) {
        buffer_text(&query, "?model=");
        buffer_percent(&query, options->model);
    }
    if (options->top_k != NULL)
        buffer_format(&query, "%stop_k=%s", query.len > 0 ? "&" : "?", options->top_k);
    if (query.failed)
        err_no_memory(err, query.len);
    else
        add_post(workload, type, query.bytes, input, err);
    buffer_deinit(&query);
    return err->code;
}

static enum err_code add_file(struct workload *workload, bool image, const char *path,
                              struct err *err)
{
    struct buffer input = {0};
    if (!buffer_file(&input, path, WORKLOAD_FILE_BYTES_MAX))
        err_set(err, ERR_IO, "%s: cannot be read: %s", path, strerror(errno));
    else
        add_input(workload, image, &input, err);
    buffer_deinit(&input);
    return err->code;
}

static enum err_code add_line(struct workload *workload, const char *line, size_t len,
                              struct err *err)
{
    struct json_t *root;
    const char *text = NULL;
    if (doc_parse(&root, line, len, &doc_limits_file, err))
        return err->code;
    if (!doc_get_string(root, "$", "text", &text, err) && text == NULL)
        err_set(err, ERR_UNUSABLE, "$.text: missing");
    struct buffer input = {0};
    if (!err->code) {
        buffer_text(&input, text);
        add_input(workload, false, &input, err);
    }
    buffer_deinit(&input);
    doc_free(root);
    return err->code;
}

static enum err_code add_lines(struct workload *workload, const char *path, struct err *err)
{
    struct buffer file = {0};
    if (!buffer_file(&file, path, WORKLOAD_FILE_BYTES_MAX))
        err_set(err, ERR_IO, "%s: cannot be read: %s", path, strerror(errno));
    unsigned number = 0;
    for (size_t at = 0; at < file.len && !err->code; number++) {
        const char *newline = memchr(file.bytes + at, '\n', file.len - at);
        size_t len = newline ? (size_t)(newline - file.bytes) - at : file.len - at;
        if (len > 0 && add_line(workload, file.bytes + at, len, err))
            err_prefix(err, "%s: line %u: ", path, number + 1);
        at += len + (newline != NULL);
    }
    buffer_deinit(&file);
    return err->code;
}

static enum err_code add_source(struct workload *workload, const struct options_source *from,
                                struct err *err)
{
    struct source *source = &workload->source[workload->source_count++];
    source->first = workload->count;
    source->weight = (int)from->weight;
    struct buffer text = {0};
    switch (from->kind) {
    case OPTIONS_TEXT:
        buffer_text(&text, from->value);
        add_input(workload, false, &text, err);
        buffer_deinit(&text);
        break;
    case OPTIONS_TEXT_FILE:
        add_file(workload, false, from->value, err);
        break;
    case OPTIONS_TEXTS_JSONL:
        add_lines(workload, from->value, err);
        break;
    case OPTIONS_IMAGE:
        add_file(workload, true, from->value, err);
        break;
    case OPTIONS_GET:
        add_get(workload, from->value, err);
        break;
    }
    source->count = workload->count - source->first;
    if (!err->code && source->count == 0)
        err_set(err, ERR_UNUSABLE, "%s: holds no input", from->value);
    return err->code;
}

enum err_code workload_open(struct workload **out, const struct options *options, struct err *err)
{
    *out = NULL;
    struct workload *workload = calloc(1, sizeof *workload);
    if (workload == NULL)
        return err_no_memory(err, sizeof *workload);
    workload->options = options;
    bearer_key_read(&workload->authorization, options->key_file, err);
    for (unsigned i = 0; i < options->source_count && !err->code; i++)
        add_source(workload, &options->source[i], err);
    if (err->code) {
        workload_close(workload);
        return err->code;
    }
    *out = workload;
    return ERR_OK;
}

void workload_close(struct workload *workload)
{
    if (workload == NULL)
        return;
    for (unsigned i = 0; i < workload->count; i++)
        buffer_deinit(&workload->items[i].request);
    buffer_deinit(&workload->authorization);
    free(workload->items);
    free(workload);
}

unsigned workload_items(const struct workload *workload)
{
    return workload->count;
}

const struct workload_item *workload_next(struct workload *workload)
{
    struct source *best = &workload->source[0];
    int total = 0;
    for (unsigned i = 0; i < workload->source_count; i++) {
        struct source *source = &workload->source[i];
        source->credit += source->weight;
        total += source->weight;
        if (source->credit > best->credit)
            best = source;
    }
    best->credit -= total;
    unsigned item = best->first + best->next;
    best->next = best->next + 1 < best->count ? best->next + 1 : 0;
    return &workload->items[item];
}
