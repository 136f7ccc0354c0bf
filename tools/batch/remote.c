#include "tools/batch/batch_run.h"

#include "engine/base/doc.h"
#include "engine/base/doc_edit.h"
#include "engine/base/file.h"
#include "engine/base/utf8.h"
#include "engine/content/text_file.h"
#include "learn/data/picture.h"
#include "tools/batch/remote_call.h"
#include "tools/client/bearer_key.h"
#include "wire/problem.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BODY_BYTES = 4 * 1024 * 1024, INPUTS_DEFAULT = 64, DIGEST_LOOKS = 40 };

/* One input of the envelope that is being made. */
struct row {
    struct record_input input;
    struct arena arena;
    struct err err; /* it is not in the envelope */
};

struct remote {
    const struct remote_server *server;
    struct connection connection;
    struct buffer body, piece;
    struct row rows[CHUNK_INPUTS];
    unsigned row_count, sent; /* of the envelope */
    FILE *file;               /* of the chunk */
};

/* ---- the server ---- */

static unsigned whole_of(const struct json_t *object, const char *key, unsigned fallback)
{
    double number;
    const struct json_t *value = doc_member(object, key);
    bool is_sound =
        value != NULL && doc_as_number(value, &number) && number >= 1 && number < 4294967296.0;
    return is_sound ? (unsigned)number : fallback;
}

static const char *text_of(const struct json_t *object, const char *key)
{
    const char *text = doc_as_string(doc_member(object, key));
    return text != NULL ? text : "";
}

static bool is_asked(const struct remote_server *server, const struct json_t *model)
{
    bool is_default = false;
    const char *name = server->options->model;
    if (name != NULL)
        return strcmp(text_of(model, "name"), name) == 0;
    doc_get_bool(model, "$", "default", &is_default, &(struct err){0});
    return is_default;
}

static enum err_code take_models(struct remote_server *server, const struct json_t *models,
                                 bool *has_digests, struct err *err)
{
    static const struct {
        const char *name;
        enum engine_task task;
    } known[] = {{"tag", ENGINE_TAG},
                 {"answer", ENGINE_ANSWER},
                 {"embed", ENGINE_EMBED},
                 {"generate", ENGINE_GENERATE}};
    unsigned found = 0, images = 0, tasks = 0, writing = 0;
    *has_digests = true;
    server->texts = 0;
    buffer_clear(&server->identity);
    server->inputs_max = INPUTS_DEFAULT;
    server->body_bytes_max = BODY_BYTES;
    for (size_t i = 0; i < doc_array_count(models); i++) {
        const struct json_t *model = doc_array_item(models, i);
        if (!is_asked(server, model))
            continue;
        found++;
        images += strcmp(text_of(model, "kind"), "image") == 0;
        for (size_t t = 0; t < sizeof known / sizeof *known; t++)
            if (strcmp(text_of(model, "task"), known[t].name) == 0)
                tasks |= 1u << known[t].task;
        if (strcmp(text_of(model, "task"), "generate") == 0) {
            const unsigned texts = whole_of(doc_member(model, "writes"), "num_return_sequences", 1);
            server->texts = texts > server->texts ? texts : server->texts;
            writing++;
        }
        unsigned inputs = whole_of(model, "inputs_max", INPUTS_DEFAULT);
        unsigned bytes = whole_of(model, "body_bytes_max", BODY_BYTES);
        server->inputs_max = inputs < server->inputs_max ? inputs : server->inputs_max;
        server->body_bytes_max = bytes < server->body_bytes_max ? bytes : server->body_bytes_max;
        const char *digest = text_of(model, "digest");
        buffer_format(&server->identity, "%s%s %s %s %s", server->identity.len > 0 ? ", " : "",
                      text_of(model, "name"), text_of(model, "version"), text_of(model, "dtype"),
                      digest);
        *has_digests = *has_digests && digest[0] != '\0'; /* "": it is not yet computed */
    }
    server->takes_images = found > 0 && images == found;
    server->asks = tasks >> ENGINE_ANSWER & 1;
    server->texts = writing < found ? 0 : server->texts;
    if (found == 0)
        return err_set(err, ERR_UNUSABLE, "%s: it serves no model named '%.100s'",
                       server->options->url,
                       server->options->model != NULL ? server->options->model : "(default)");
    if (asking_check(&server->options->asking, tasks, err))
        return err_prefix(err, "%s: ", server->options->url);
    return server->identity.failed ? err_no_memory(err, server->identity.len) : ERR_OK;
}

static enum err_code ask_once(struct remote_server *server, struct connection *connection,
                              bool *has_digests, struct err *err)
{
    struct remote_reply reply;
    if (remote_call(server, connection, "/models", NULL, &reply, err))
        return err->code;
    const struct json_t *models = reply.body != NULL ? doc_member(reply.body, "models") : NULL;
    if (reply.status != 200 || models == NULL)
        remote_call_refused(server, &reply, err);
    else
        take_models(server, models, has_digests, err);
    doc_free(reply.body);
    return err->code;
}

enum err_code remote_server_open(struct remote_server *out, const struct remote_options *options,
                                 struct err *err)
{
    const struct tls_stream_trust_options trust = {.ca_file = options->ca_file};
    *out = (struct remote_server){.options = options};
    if (server_url_read(&out->url, options->url, "/predict", err) ||
        server_url_resolve(&out->url, err) ||
        bearer_key_read(&out->authorization, options->key_file, err) ||
        asking_write(&out->asked, &options->asking, err))
        return err->code;
    if (out->url.is_secure && tls_stream_trust_open(&out->trust, &trust, err))
        return err->code;
    /* A server that has just started knows its models' digests a little later. */
    const struct timespec pause = {.tv_nsec = REMOTE_PAUSE_MS * 1000000L};
    struct connection connection;
    bool has_digests = false;
    connection_init(&connection);
    connection.trust = out->trust;
    connection.host = out->url.host;
    for (unsigned n = 0; n < DIGEST_LOOKS && !has_digests && err->code == ERR_OK; n++) {
        if (n > 0)
            nanosleep(&pause, NULL);
        ask_once(out, &connection, &has_digests, err);
    }
    connection_deinit(&connection);
    return err->code;
}

void remote_server_close(struct remote_server *server)
{
    tls_stream_trust_close(server->trust);
    server->trust = NULL;
    buffer_deinit(&server->authorization);
    buffer_deinit(&server->identity);
    free(server->asked);
    server->asked = NULL;
}

enum err_code remote_open(struct remote **out, const struct remote_server *server, struct err *err)
{
    struct remote *remote = calloc(1, sizeof *remote);
    *out = remote;
    if (remote == NULL)
        return err_no_memory(err, sizeof *remote);
    remote->server = server;
    connection_init(&remote->connection);
    remote->connection.trust = server->trust;
    remote->connection.host = server->url.host;
    return ERR_OK;
}

void remote_close(struct remote *remote)
{
    if (remote == NULL)
        return;
    connection_deinit(&remote->connection);
    buffer_deinit(&remote->body);
    buffer_deinit(&remote->piece);
    free(remote);
}

/* ---- an input as JSON ---- */

static enum err_code add_text(struct buffer *out, const char *key, const char *text, size_t len,
                              struct err *err)
{
    size_t at = 0;
    for (size_t bytes; at < len; at += bytes)
        if ((bytes = utf8_character_bytes(text + at, len - at)) == 0)
            return err_set(err, ERR_UNUSABLE, "invalid UTF-8 at byte %zu of the text", at);
    buffer_format(out, "\"%s\":", key);
    buffer_json_string(out, text, len);
    return ERR_OK;
}

static enum err_code add_file(const struct remote *remote, const struct listed_input *input,
                              struct buffer *out, struct err *err)
{
    char *bytes;
    size_t len, ignored;
    const char *wafer;
    if (input->is_image && picture_is_lot(input->path, &ignored, &wafer))
        return err_set(
            err, ERR_UNUSABLE,
            "a wafer of an STDF file is drawn by the model's own program: use it without "
            "--url");
    if (file_read_input(&bytes, &len, input->path, remote->server->body_bytes_max, err) ||
        (!input->is_image && text_file_decode(&bytes, &len, remote->server->body_bytes_max, err)))
        return err->code;
    if (input->is_image) {
        buffer_text(out, "\"image\":\"");
        buffer_base64(out, bytes, len);
        buffer_text(out, "\"");
    } else {
        add_text(out, "text", bytes, len, err);
    }
    free(bytes);
    return err->code;
}

static enum err_code write_input(struct remote *remote, const struct record_input *record,
                                 struct err *err)
{
    const struct engine_question *all = &remote->server->options->asking.question;
    const struct listed_input *input = &record->listed;
    const char *question = record->question != NULL ? record->question : all->text;
    struct buffer *out = &remote->piece;
    buffer_clear(out);
    buffer_text(out, "{");
    if (input->path != NULL)
        add_file(remote, input, out, err);
    else
        add_text(out, "text", input->text, input->text_len, err);
    if (err->code == ERR_OK && input->pair != NULL) {
        buffer_text(out, ",");
        add_text(out, "text_pair", input->pair, strlen(input->pair), err);
    }
    if (err->code == ERR_OK && question != NULL && !input->is_image) {
        buffer_text(out, ",");
        add_text(out, "question", question,
                 record->question != NULL ? record->question_len : all->len, err);
    }
    buffer_text(out, "}");
    return out->failed ? err_no_memory(err, out->len) : err->code;
}

static void begin_envelope(struct remote *remote)
{
    const struct remote_options *options = remote->server->options;
    struct buffer *out = &remote->body;
    buffer_clear(out);
    buffer_text(out, "{");
    if (options->model != NULL) {
        buffer_text(out, "\"model\":");
        buffer_json_string(out, options->model, strlen(options->model));
        buffer_text(out, ",");
    }
    if (options->prompt_name != NULL) {
        buffer_text(out, "\"prompt_name\":");
        buffer_json_string(out, options->prompt_name, strlen(options->prompt_name));
        buffer_text(out, ",");
    }
    buffer_text(out, remote->server->asked);
    if (options->explain != NULL && strcmp(options->explain, "default") != 0)
        buffer_format(out, "\"explain\":\"%s\",", options->explain);
    else if (options->explain != NULL)
        buffer_text(out, "\"explain\":true,");
    if (options->format.top_k > 0)
        buffer_format(out, "\"top_k\":%u,\"inputs\":[", options->format.top_k);
    else
        buffer_text(out, "\"top_k\":\"all\",\"inputs\":[");
}

/* ---- answers ---- */

/* The server's place is the element of a request: the input's own stands before it. */
static void fail_there(struct chunk *chunk, const struct listed_input *input, const char *detail)
{
    struct err why = {0};
    err_set(&why, ERR_UNUSABLE, "%s", detail != NULL ? detail : "the server gave no reason");
    if (input->line > 0)
        err_prefix(&why, "line %u: ", input->line);
    err_prefix(&why, "%s: ", input->file);
    chunk_fail(chunk, why.text);
}

static enum err_code write_rows(struct remote *remote, const struct remote_reply *reply,
                                struct chunk *chunk, struct err *err)
{
    size_t next = 0;
    /* 413 of an envelope with one input is that input's own */
    bool is_single = remote->sent == 1 && reply->status == 413 && reply->body != NULL;
    if (remote->sent > 0 && reply->status != 200 && !is_single)
        return remote_call_refused(remote->server, reply, err);
    for (unsigned i = 0; i < remote->row_count && err->code == ERR_OK; i++) {
        struct row *row = &remote->rows[i];
        const bool is_good = row->err.code == ERR_OK;
        struct json_t *object = is_single ? reply->body : NULL;
        if (!is_good)
            object = problem_document(&row->err, NULL);
        else if (!is_single)
            object = doc_edit_item(reply->body, "results", next++);
        if (is_good && object == NULL)
            return err_set(err, ERR_IO, "%s: gave fewer answers than inputs",
                           remote->server->options->url);
        if (!is_good)
            chunk_fail(chunk, row->err.text);
        else if (doc_member(object, "status") != NULL)
            fail_there(chunk, &row->input.listed, doc_as_string(doc_member(object, "detail")));
        result_write(&remote->server->options->format, object, &row->input, remote->file, err);
        if (!is_good)
            doc_free(object);
    }
    return err->code;
}

static enum err_code finish_envelope(struct remote *remote, struct chunk *chunk, struct err *err)
{
    struct remote_reply reply = {0};
    buffer_text(&remote->body, "]}");
    if (err->code == ERR_OK && remote->sent > 0)
        remote_call(remote->server, &remote->connection, remote->server->url.path, &remote->body,
                    &reply, err);
    if (err->code == ERR_OK)
        write_rows(remote, &reply, chunk, err);
    doc_free(reply.body);
    for (unsigned i = 0; i < remote->row_count; i++)
        arena_deinit(&remote->rows[i].arena);
    remote->row_count = remote->sent = 0;
    begin_envelope(remote);
    return err->code;
}

static enum err_code prepare(struct remote *remote, struct row *row, const struct record *record)
{
    *row = (struct row){0};
    arena_init(&row->arena);
    if (!record_parse(record, remote->server->takes_images, remote->server->asks, &row->arena,
                      &row->input, &row->err))
        write_input(remote, &row->input, &row->err);
    if (row->err.code != ERR_OK && record->line > 0)
        err_prefix(&row->err, "%s: line %u: ", row->input.listed.file, record->line);
    else if (row->err.code != ERR_OK)
        err_prefix(&row->err, "%s: ", row->input.listed.file);
    return row->err.code;
}

static enum err_code add(struct remote *remote, const struct record *record, struct chunk *chunk,
                         struct err *err)
{
    struct row row;
    prepare(remote, &row, record);
    bool is_good = row.err.code == ERR_OK;
    bool is_full = remote->sent == remote->server->inputs_max ||
                   remote->body.len + remote->piece.len + 3 > remote->server->body_bytes_max;
    if (is_good && is_full && remote->sent > 0)
        finish_envelope(remote, chunk, err);
    remote->rows[remote->row_count++] = row;
    if (err_is_of_system(row.err.code))
        return err_set(err, row.err.code, "%s", row.err.text);
    if (!is_good)
        return err->code;
    buffer_text(&remote->body, remote->sent++ > 0 ? "," : "");
    buffer_append(&remote->body, remote->piece.bytes, remote->piece.len);
    return err->code;
}

enum err_code remote_answer(struct remote *remote, struct chunk *chunk, struct err *err)
{
    remote->file = open_memstream(&chunk->lines, &chunk->lines_len);
    if (remote->file == NULL)
        return err_no_memory(err, 0);
    begin_envelope(remote);
    for (unsigned i = 0; i < chunk->count && err->code == ERR_OK; i++)
        add(remote, &chunk->records[i], chunk, err);
    finish_envelope(remote, chunk, err);
    if (fclose(remote->file) != 0)
        err_no_memory(err, chunk->lines_len);
    return err->code;
}
