#include "loadtest/workload.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct options options_of(unsigned count, const struct options_source *sources)
{
    struct options options = {.authority = "127.0.0.1:80", .path = "/predict"};
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

START_TEST(workload_names_the_line_that_is_wrong)
{
    char path[] = "/tmp/attnd-workload-XXXXXX";
    const char *lines = "{\"text\":\"one\"}\n{\"label\":\"x\"}\n";
    write_file(path, lines, strlen(lines));
    const struct options_source source[] = {{OPTIONS_TEXTS_JSONL, path, 1}};
    struct options options = options_of(1, source);
    struct workload *workload;
    struct err err = {0};
    ck_assert_int_eq(workload_open(&workload, &options, &err), ERR_UNUSABLE);
    unlink(path);
    ck_assert_ptr_nonnull(strstr(err.text, "line 2: $.text: missing"));
}
END_TEST

SUITE("workload", workload_writes_whole_requests,
      workload_sends_raw_bodies_with_options_in_the_query, workload_takes_turns_by_weight,
      workload_goes_through_lines_in_their_order, workload_names_the_line_that_is_wrong)
