#include "tests/support/contract.h"

#include "engine/base/base64.h"
#include "engine/base/doc.h"
#include "tests/support/server_process.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OPTIONS_MAX = 24, PATH_MAX_BYTES = 128 };

static struct server_process shared;

/* ---- the server ---- */

int contract_run(const char *name, const char *const *options, const TTest *const *tests, int count)
{
    const char *arguments[OPTIONS_MAX + 5] = {"--model", "wafer-vit=models/wafer-vit", "--model",
                                              "kernel-bert=models/kernel-bert"};
    for (int i = 0; options[i] != NULL && i < OPTIONS_MAX; i++)
        arguments[4 + i] = options[i];
    server_process_start(&shared, arguments);
    int failed = suite_run(name, tests, count);
    int code = server_process_stop(&shared);
    if (code != 0)
        fprintf(stderr, "%s: attnd ended with %d\n", name, code);
    return failed != 0 || code != 0;
}

unsigned contract_port(void)
{
    return shared.port;
}

/* ---- requests ---- */

struct reply reply_of(struct http_answer answer)
{
    struct reply reply = {.answer = answer};
    struct err err = {0};
    if (answer.body_len > 0)
        doc_parse(&reply.json, answer.body, answer.body_len, &doc_limits_request, &err);
    return reply;
}

void reply_free(struct reply *reply)
{
    doc_free(reply->json);
    reply->json = NULL;
    http_answer_free(&reply->answer);
}

struct reply contract_get(const char *path)
{
    return reply_of(http_get(shared.port, path));
}

struct reply contract_post(const char *json)
{
    return reply_of(http_post_json(shared.port, "/predict", json));
}

struct reply contract_post_as(const char *path, const char *type, const void *body, size_t len)
{
    char extra[256] = "";
    if (type != NULL)
        snprintf(extra, sizeof extra, "Content-Type: %s\r\n", type);
    return reply_of(http_request(shared.port, "POST", path, extra, body, len));
}

struct reply contract_ask(unsigned port, const char *method, const char *path, const char *headers,
                          const char *body)
{
    char *length =
        body != NULL ? contract_format("Content-Length: %zu\r\n", strlen(body)) : strdup("");
    char *request = contract_format("%s %s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n%s%s\r\n%s", method,
                                    path, port, headers, length, body != NULL ? body : "");
    int fd = http_connect(port);
    http_send_text(fd, request);
    struct reply reply = reply_of(http_read(fd, strcmp(method, "HEAD") == 0));
    close(fd);
    free(request);
    free(length);
    return reply;
}

struct reply contract_ask_ready(unsigned port, const char *method, const char *path,
                                const char *body)
{
    struct reply reply = contract_ask(port, method, path, "", body);
    while (reply.answer.status == 503) {
        ck_assert(reply_header(&reply, "Retry-After")[0] != '\0');
        reply_free(&reply);
        reply = contract_ask(port, method, path, "", body);
    }
    return reply;
}

struct reply contract_say(const char *bytes)
{
    int fd = http_connect(shared.port);
    http_send_text(fd, bytes);
    struct reply reply = reply_of(http_read(fd, false));
    close(fd);
    return reply;
}

/* ---- inputs ---- */

char *contract_file(const char *path, size_t *len)
{
    FILE *file = fopen(path, "rb");
    ck_assert_msg(file != NULL, "%s cannot be opened", path);
    fseek(file, 0, SEEK_END);
    *len = (size_t)ftell(file);
    rewind(file);
    char *bytes = malloc(*len + 1);
    ck_assert_ptr_nonnull(bytes);
    ck_assert_uint_eq(fread(bytes, 1, *len, file), *len);
    bytes[*len] = '\0';
    fclose(file);
    return bytes;
}

char *contract_file_base64(const char *path)
{
    size_t len;
    char *bytes = contract_file(path, &len);
    char *text = malloc(base64_encoded_size(len));
    ck_assert_ptr_nonnull(text);
    base64_encode(text, bytes, len);
    free(bytes);
    return text;
}

char *contract_format(const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    int len = vasprintf(&text, format, args);
    va_end(args);
    ck_assert_int_ge(len, 0);
    return text;
}

/* ---- replies ---- */

const struct json_t *contract_at(const struct json_t *root, const char *path)
{
    char key[PATH_MAX_BYTES];
    while (root != NULL && *path != '\0') {
        size_t len = strcspn(path, ".");
        snprintf(key, sizeof key, "%.*s", (int)len, path);
        root = doc_array_count(root) > 0 ? doc_array_item(root, strtoul(key, NULL, 10))
                                         : doc_member(root, key);
        path += len + (path[len] == '.');
    }
    return root;
}

const char *reply_text(const struct reply *reply, const char *path)
{
    const char *text = doc_as_string(contract_at(reply->json, path));
    ck_assert_msg(text != NULL, "no string at %s of %s", path, reply->answer.body);
    return text;
}

void reply_expect_text(const struct reply *reply, const char *path, const char *text)
{
    ck_assert_str_eq(reply_text(reply, path), text);
}

double reply_number(const struct reply *reply, const char *path)
{
    double number = 0;
    ck_assert_msg(doc_as_number(contract_at(reply->json, path), &number), "no number at %s of %s",
                  path, reply->answer.body);
    return number;
}

size_t reply_count(const struct reply *reply, const char *path)
{
    return doc_array_count(contract_at(reply->json, path));
}

const char *reply_header(const struct reply *reply, const char *name)
{
    static char value[256];
    ck_assert_msg(http_answer_header(&reply->answer, name, value, sizeof value), "no %s in:\n%s",
                  name, reply->answer.head);
    return value;
}

void reply_expect_status(const struct reply *reply, int status)
{
    ck_assert_msg(reply->answer.status == status, "%d instead of %d: %s", reply->answer.status,
                  status, reply->answer.body != NULL ? reply->answer.body : "no body");
}

void reply_expect_problem_at(const struct reply *reply, const char *path, int status,
                             const char *error_type, const char *detail)
{
    const struct json_t *problem = contract_at(reply->json, path);
    long long number = 0;
    ck_assert_msg(problem != NULL, "no problem at '%s' of %s", path, reply->answer.body);
    const char *found = doc_as_string(doc_member(problem, "detail"));
    ck_assert_ptr_nonnull(found);
    ck_assert_msg(strncmp(found, detail, strlen(detail)) == 0, "got '%s', want '%s'", found,
                  detail);
    ck_assert_str_eq(doc_as_string(doc_member(problem, "error")), found);
    ck_assert_str_eq(doc_as_string(doc_member(problem, "error_type")), error_type);
    ck_assert_ptr_nonnull(doc_as_string(doc_member(problem, "type")));
    ck_assert_ptr_nonnull(doc_as_string(doc_member(problem, "title")));
    ck_assert(doc_as_integer(doc_member(problem, "status"), &number));
    ck_assert_int_eq(number, status);
}

void reply_expect_problem(const struct reply *reply, int status, const char *error_type,
                          const char *detail)
{
    reply_expect_status(reply, status);
    ck_assert_str_eq(reply_header(reply, "Content-Type"), "application/problem+json");
    ck_assert_uint_gt(strlen(reply_header(reply, "X-Request-Id")), 0);
    reply_expect_problem_at(reply, "", status, error_type, detail);
    ck_assert_ptr_nonnull(doc_as_string(doc_member(reply->json, "instance")));
}
