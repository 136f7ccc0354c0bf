#include "loadtest/workload.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct options options_of(unsigned count, const struct options_source *sources)
{
    struct options options = {.target = {.authority = "127.0.0.1:80", .path = "/predict"}};
    for (unsigned i = 0; i < count; i++)
        options.source[i] = sources[i];
    options.source_count = count;
    return options;
}

static struct workload *open_workload(const struct options *options)
{
    struct workload *workload;
    struct err err = {0};
    ck_assert_msg(workload_open(&workload, options, &err) == ERR_OK, "%s", err.text);
    return workload;
}

static void write_file(char *path, const void *bytes, size_t len)
{
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, bytes, len), (ssize_t)len);
    close(fd);
}

START_TEST(workload_writes_whole_requests)
{
    const struct options_source source[] = {{OPTIONS_TEXT, "a\"b", 1},
                                            {OPTIONS_GET, "/healthz", 1}};
    struct options options = options_of(2, source);
    options.model = "m";
    options.top_k = "all";
    struct workload *workload = open_workload(&options);
    ck_assert_str_eq(workload_next(workload)->request.bytes,
                     "POST /predict HTTP/1.1\r\nHost: 127.0.0.1:80\r\n"
                     "Content-Type: application/json\r\nContent-Length: 41\r\n\r\n"
                     "{\"text\":\"a\\\"b\",\"model\":\"m\",\"top_k\":\"all\"}");
    const struct workload_item *get = workload_next(workload);
    ck_assert_str_eq(get->request.bytes, "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:80\r\n\r\n");
    ck_assert(!get->judged);
    workload_close(workload);
}
END_TEST

START_TEST(workload_sends_the_key_of_a_file_with_every_request)
{
    static const struct {
        const char *bytes;
        size_t len;
    } bad[] = {{"", 0}, {"\n", 1}, {"a b", 3}, {"a\nb", 3}, {"a\0b", 3}, {"\x80", 1}};
    const struct options_source source[] = {{OPTIONS_TEXT, "a", 1}, {OPTIONS_GET, "/models", 1}};
    struct options options = options_of(2, source);
    char path[] = "/tmp/attnd-workload-XXXXXX";
    write_file(path, "k/1+=\r\n", 7);
    options.key_file = path;
    struct workload *workload = open_workload(&options);
    for (int i = 0; i < 2; i++)
        ck_assert_ptr_nonnull(strstr(workload_next(workload)->request.bytes,
                                     "\r\nAuthorization: Bearer k/1+=\r\n\r\n"));
    workload_close(workload);
    unlink(path);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char other[] = "/tmp/attnd-workload-XXXXXX";
        struct err err = {0};
        write_file(other, bad[i].bytes, bad[i].len);
        options.key_file = other;
        ck_assert_int_eq(workload_open(&workload, &options, &err), ERR_UNUSABLE);
        ck_assert_ptr_nonnull(strstr(err.text, "expected one line of printable characters"));
        unlink(other);
    }
}
END_TEST

START_TEST(workload_sends_raw_bodies_with_options_in_the_query)
{
    char path[] = "/tmp/attnd-workload-XXXXXX";
    write_file(path, "\xFF\xD8\0x", 4);
    const struct options_source source[] = {{OPTIONS_IMAGE, path, 1}};
    struct options options = options_of(1, source);
    options.raw = true;
    options.model = "a b";
    options.top_k = "2";
    struct workload *workload = open_workload(&options);
    unlink(path);
    const struct buffer *request = &workload_next(workload)->request;
    const char head[] = "POST /predict?model=a%20b&top_k=2 HTTP/1.1\r\nHost: 127.0.0.1:80\r\n"
                        "Content-Type: image/jpeg\r\nContent-Length: 4\r\n\r\n";
    ck_assert_uint_eq(request->len, strlen(head) + 4);
    ck_assert_mem_eq(request->bytes, head, strlen(head));
    ck_assert_mem_eq(request->bytes + strlen(head), "\xFF\xD8\0x", 4);
    workload_close(workload);
}
END_TEST

START_TEST(workload_takes_turns_by_weight)
{
    const struct options_source source[] = {{OPTIONS_TEXT, "a", 3}, {OPTIONS_TEXT, "b", 1}};
    struct options options = options_of(2, source);
    struct workload *workload = open_workload(&options);
    char order[9] = "";
    for (int i = 0; i < 8; i++)
        order[i] = (char)('a' + workload_next(workload)->index);
    ck_assert_str_eq(order, "aabaaaba");
    workload_close(workload);
}
END_TEST

START_TEST(workload_goes_through_lines_in_their_order)
{
    char path[] = "/tmp/attnd-workload-XXXXXX";
    const char *lines = "{\"text\":\"one\",\"label\":\"x\"}\n\n{\"text\":\"two\"}";
    write_file(path, lines, strlen(lines));
    const struct options_source source[] = {{OPTIONS_TEXTS_JSONL, path, 1}};
    struct options options = options_of(1, source);
    struct workload *workload = open_workload(&options);
    unlink(path);
    ck_assert_uint_eq(workload_items(workload), 2);
    ck_assert_ptr_nonnull(strstr(workload_next(workload)->request.bytes, "{\"text\":\"one\"}"));
    ck_assert_uint_eq(workload_next(workload)->index, 1);
    ck_assert_uint_eq(workload_next(workload)->index, 0);
    workload_close(workload);
}
END_TEST

/* Expects the refusal of a source of this kind with these bytes. `why` follows the path. */
static void refused(enum options_kind kind, const char *bytes, enum err_code code, const char *why)
{
    char path[] = "/tmp/attnd-workload-XXXXXX";
    const struct options_source source[] = {{OPTIONS_TEXT, "a", 1}, {kind, path, 1}};
    struct options options = options_of(2, source);
    struct workload *workload;
    struct err err = {0};
    write_file(path, bytes, strlen(bytes));
    ck_assert_int_eq(workload_open(&workload, &options, &err), code);
    unlink(path);
    ck_assert_ptr_null(workload);
    ck_assert_msg(strncmp(err.text, path, strlen(path)) == 0, "%s", err.text);
    ck_assert_str_eq(err.text + strlen(path), why);
}

START_TEST(workload_names_the_line_that_is_wrong)
{
    refused(OPTIONS_TEXTS_JSONL, "{\"text\":\"one\"}\n{\"label\":\"x\"}\n", ERR_UNUSABLE,
            ": line 2: $.text: missing");
    refused(OPTIONS_TEXTS_JSONL, "\n\n{\"text\":1}\n", ERR_UNUSABLE,
            ": line 3: $.text: expected a string, found a number");
    refused(OPTIONS_TEXTS_JSONL, "\n\n\n", ERR_UNUSABLE, ": holds no input");
    refused(OPTIONS_TEXTS_JSONL, "", ERR_UNUSABLE, ": holds no input");
}
END_TEST

START_TEST(workload_refuses_a_line_that_is_no_json)
{
    char path[] = "/tmp/attnd-workload-XXXXXX", want[96];
    const struct options_source source[] = {{OPTIONS_TEXTS_JSONL, path, 1}};
    struct options options = options_of(1, source);
    struct workload *workload;
    struct err err = {0};
    write_file(path, "{\"text\":\n", 9);
    ck_assert_int_eq(workload_open(&workload, &options, &err), ERR_MALFORMED);
    unlink(path);
    snprintf(want, sizeof want, "%s: line 1: ", path);
    ck_assert_msg(strncmp(err.text, want, strlen(want)) == 0, "%s", err.text);
}
END_TEST

START_TEST(workload_says_which_file_it_cannot_read)
{
    static const enum options_kind kinds[] = {OPTIONS_TEXT_FILE, OPTIONS_TEXTS_JSONL,
                                              OPTIONS_IMAGE};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const struct options_source source[] = {{kinds[i], "tests", 1}};
        struct options options = options_of(1, source);
        struct workload *workload;
        struct err err = {0};
        ck_assert_int_eq(workload_open(&workload, &options, &err), ERR_IO);
        ck_assert_str_eq(err.text, "tests: cannot be read: Is a directory");
        ck_assert_ptr_null(workload);
    }
}
END_TEST

START_TEST(workload_sends_an_image_as_base64)
{
    char path[] = "/tmp/attnd-workload-XXXXXX";
    write_file(path, "\x89PNG", 4);
    const struct options_source source[] = {{OPTIONS_IMAGE, path, 1}};
    struct options options = options_of(1, source);
    options.top_k = "3";
    struct workload *workload = open_workload(&options);
    const struct workload_item *item = workload_next(workload);
    unlink(path);
    ck_assert_str_eq(item->request.bytes, "POST /predict HTTP/1.1\r\nHost: 127.0.0.1:80\r\n"
                                          "Content-Type: application/json\r\nContent-Length: "
                                          "30\r\n\r\n{\"image\":\"iVBORw==\",\"top_k\":3}");
    ck_assert(item->judged);
    workload_close(workload);
}
END_TEST

/* Raw: the type by the first bytes, and of what was not asked for nothing in the query. */
START_TEST(workload_names_the_type_of_a_raw_body)
{
    static const struct {
        enum options_kind kind;
        const char *bytes, *head;
    } rows[] = {
        {OPTIONS_IMAGE, "\xFF\xD8",
         "/predict?top_k=all HTTP/1.1\r\nHost: 127.0.0.1:80\r\n"
         "Content-Type: image/jpeg\r\nContent-Length: 2\r\n\r\n"},
        {OPTIONS_IMAGE, "\xFF",
         "/predict?top_k=all HTTP/1.1\r\nHost: 127.0.0.1:80\r\n"
         "Content-Type: image/png\r\nContent-Length: 1\r\n\r\n"},
        {OPTIONS_TEXT_FILE, "hi",
         "/predict?top_k=all HTTP/1.1\r\nHost: 127.0.0.1:80\r\n"
         "Content-Type: text/plain; charset=utf-8\r\n"
         "Content-Length: 2\r\n\r\nhi"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char path[] = "/tmp/attnd-workload-XXXXXX";
        write_file(path, rows[i].bytes, strlen(rows[i].bytes));
        const struct options_source source[] = {{rows[i].kind, path, 1}};
        struct options options = options_of(1, source);
        options.raw = true;
        options.top_k = "all";
        struct workload *workload = open_workload(&options);
        unlink(path);
        const char *request = workload_next(workload)->request.bytes;
        ck_assert_msg(strncmp(request, "POST ", 5) == 0, "%s", request);
        ck_assert_msg(strncmp(request + 5, rows[i].head, strlen(rows[i].head)) == 0, "%s", request);
        workload_close(workload);
    }
}
END_TEST

SUITE("workload", workload_sends_the_key_of_a_file_with_every_request,
      workload_writes_whole_requests, workload_sends_raw_bodies_with_options_in_the_query,
      workload_takes_turns_by_weight, workload_goes_through_lines_in_their_order,
      workload_names_the_line_that_is_wrong, workload_refuses_a_line_that_is_no_json,
      workload_says_which_file_it_cannot_read, workload_sends_an_image_as_base64,
      workload_names_the_type_of_a_raw_body)
