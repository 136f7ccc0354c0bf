/* test_http_framing.c - hostile and odd framing over real sockets, each rule alone. A corpus and
 * random mutations are in test_http_corpus.c. */
#include "tests/unit/server/http/http_transcript.h"
#include "wire/limits.h"

#include <dirent.h>
#include <malloc.h>

/* A second request on the same connection, which must not run after a refusal. */
static const char hidden[] = "GET /hidden HTTP/1.1\r\nHost: h\r\n\r\n";

static void check_refused(struct app *app, const char *request, unsigned status, const char *why)
{
    int fd = client_open(app);
    client_say(fd, request);
    client_say(fd, hidden);
    struct answer answer = client_read(fd, true);
    ck_assert_msg(answer.status == status, "%u for %s", answer.status, request);
    if (why != NULL && (library_is_lax() || strncmp(answer.body, "refused", 7) == 0))
        ck_assert_msg(strstr(answer.body, why) != NULL, "%s: %s", request, answer.body);
    struct exchange_text rest = {.len = 0};
    drain_socket(fd, &rest);
    close(fd);
    ck_assert_msg(strstr(app->paths, "/hidden") == NULL, "a hidden request ran after %s", request);
}

static const struct {
    const char *request;
    unsigned status;
    const char *why; /* NULL: the library's own refusal, as 1.0.x has for more of them */
} refusals[] = {
    {"POST /p HTTP/1.1\r\nHost: h\r\nContent-Length : 3\r\n\r\nabc", 400, NULL},
    {"POST /p HTTP/1.1\r\nHost: h\r\nContent-Length\t: 3\r\n\r\nabc", 400, NULL},
    {"POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n 5\r\n\r\nabc", 400, "CR LF"},
    {"POST /p HTTP/1.1\r\nHost: h\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n", 400,
     "CR LF"},
    {"POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc", 400,
     "more than one Content-Length"},
    {"POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"
     "0\r\n\r\n",
     400, "both"},
    {"POST /p HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: identity, chunked\r\n\r\n0\r\n\r\n", 400,
     "only be chunked"},
    {"POST /p HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 400,
     "only be chunked"},
    {"POST /p HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n"
     "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
     400, "more than one Transfer-Encoding"},
    {"POST /p HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, "HTTP/1.0"},
    {"GET /p HTTP/1.1\r\nHost: h\r\nHost: h\r\n\r\n", 400, "more than one Host"},
    {"GET /p HTTP/1.1\r\n\r\n", 400, "no Host"},
    {"GET /p HTTP/1.1\r\nHost: a b\r\n\r\n", 400, "not a host name"},
    {"GET /p HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc", 400, "only POST"},
    {"PUT /p HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, "only POST"},
    {"GET /p HTTP/1.1\r\nHost: h\r\nX: a\x01"
     "b\r\n\r\n",
     400, "control byte"},
    {"GET /p HTTP/1.1\r\nHost: h\r\nX y\r\n\r\n", 400, NULL},
    {"GET /p HTTP/1.1\r\nHost: h\r\nX\xC3\xA4: y\r\n\r\n", 400, "header name"},
    {"G\x80T /p HTTP/1.1\r\nHost: h\r\n\r\n", 400, "method"},
    {"GET /a%00b HTTP/1.1\r\nHost: h\r\n\r\n", 400, "byte 2"},
    {"GET /a?q=%00 HTTP/1.1\r\nHost: h\r\n\r\n", 400, "byte 5"},
    {"GET /a%4 HTTP/1.1\r\nHost: h\r\n\r\n", 400, "byte 2"},
    {"GET /a b HTTP/1.1\r\nHost: h\r\n\r\n", 400, "byte 2"},
    {"GET a HTTP/1.1\r\nHost: h\r\n\r\n", 400, "neither"},
    {"GET /p#x HTTP/1.1\r\nHost: h\r\n\r\n", 400, "a fragment, at byte 2"},
    {"POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 18446744073709551615\r\n\r\nabc", 413,
     "request body: larger than "},
    {"POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 4194305\r\n\r\nabc", 413, "4194304 bytes"},
    {"nonsense\r\n\r\n", 400, "request line"},
    {"\x16\x03\x01\x02\r\n\r\n", 400, "request line"},
};

START_TEST(http_refuses_each_ambiguous_head_and_runs_nothing_behind_it)
{
    struct app *app = app_start();
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++)
        check_refused(app, refusals[i].request, refusals[i].status, refusals[i].why);
    ck_assert_uint_eq(app->begins, 0);
    app_stop(app);
}
END_TEST

/* Heads that a strict reader and the library read differently; some hold NULs. Behind each stands a
 * request that must not run. */
#define BYTES(text) text, sizeof text - 1
static const struct {
    const char *name, *bytes;
    size_t len;
} hiding[] = {
    {"an empty name ends the head", BYTES("GET /p HTTP/1.1\r\nHost: h\r\n: x\r\n")},
    {"so does one that was folded", BYTES("GET /p HTTP/1.1\r\nHost: h\r\n: x\r\n y\r\n")},
    {"an empty name in the first line", BYTES("GET /p HTTP/1.0\r\n: x\r\nHost: h\r\n\r\n")},
    {"a NUL ends the head", BYTES("GET /p HTTP/1.1\r\nHost: h\r\n\0x: y\r\n")},
    {"a NUL before its CRLF does", BYTES("GET /p HTTP/1.1\r\nHost: h\r\n\0\r\n")},
    {"a NUL ends a value", BYTES("GET /p HTTP/1.1\r\nHost: h\r\nX: y\0z\r\n\r\n")},
    {"a NUL ends the method", BYTES("GET\0T /p HTTP/1.1\r\nHost: h\r\n\r\n")},
    {"a NUL ends the target", BYTES("GET /p\0/q HTTP/1.1\r\nHost: h\r\n\r\n")},
    {"a fold makes a coding", BYTES("POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 36\r\n"
                                    "Transfer-Encodin: chunked\r\n g\r\n\r\n0\r\n\r\n")},
    {"the same without a length", BYTES("POST /p HTTP/1.1\r\nHost: h\r\n"
                                        "Transfer-Encodin: chunked\r\n\tg\r\n\r\n0\r\n\r\n")},
    {"a fold makes a length", BYTES("POST /p HTTP/1.1\r\nHost: h\r\n"
                                    "Content-Lengt: 3\r\n h\r\n\r\nabc")},
    {"a fold of nothing", BYTES("GET /p HTTP/1.1\r\nHost: h\r\nX: y\r\n \r\n\r\n")},
    {"a fold of the request line", BYTES("GET /p HTTP/1.1\r\n Host: h\r\nHost: h\r\n\r\n")},
    {"a bare LF after the request line", BYTES("GET /p HTTP/1.1\nHost: h\r\n\r\n")},
    {"a bare LF after a field", BYTES("GET /p HTTP/1.1\r\nHost: h\nX: y\r\n\r\n")},
    {"a bare LF at the end", BYTES("GET /p HTTP/1.1\r\nHost: h\r\n\n")},
    {"nothing but bare LFs", BYTES("GET /p HTTP/1.1\nHost: h\n\n")},
    {"a bare CR in a value", BYTES("GET /p HTTP/1.1\r\nHost: h\r\nX: y\r\r\n\r\n")},
    {"two spaces before the target", BYTES("GET  /p HTTP/1.1\r\nHost: h\r\n\r\n")},
    {"two spaces behind the target", BYTES("GET /p  HTTP/1.1\r\nHost: h\r\n\r\n")},
};

START_TEST(http_answers_once_where_a_strict_reader_and_the_library_see_different_heads)
{
    struct app *app = app_start();
    for (size_t i = 0; i < sizeof hiding / sizeof hiding[0]; i++) {
        struct exchange_text got = {.len = 0};
        char statuses[64];
        int fd = client_open(app);
        client_send(fd, hiding[i].bytes, hiding[i].len);
        client_say(fd, hidden);
        drain_socket(fd, &got);
        close(fd);
        list_statuses(got.text, statuses, sizeof statuses);
        ck_assert_msg(strcmp(statuses, "400") == 0, "%s: %s", hiding[i].name, statuses);
    }
    ck_assert_uint_eq(app->begins, 0);
    app_stop(app);
}
END_TEST

/* RFC 9112, section 6.3: then there is no body, and what follows is the next request. */
START_TEST(http_takes_a_post_without_a_length_as_one_without_a_body)
{
    struct app *app = app_start();
    struct exchange_text got = {.len = 0};
    char statuses[64];
    int fd = client_open(app);
    client_say(fd, "POST /p HTTP/1.1\r\nHost: h\r\n\r\n"
                   "POST /q HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc"
                   "GET /last HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    drain_socket(fd, &got);
    close(fd);
    list_statuses(got.text, statuses, sizeof statuses);
    ck_assert_str_eq(statuses, "200 200 200");
    ck_assert_ptr_nonnull(strstr(got.text, "POST /p 0\n"));
    ck_assert_ptr_nonnull(strstr(got.text, "POST /q 3\n"));
    app_stop(app);
}
END_TEST

#define CHUNKED "POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"

/* A client that sends chunks gets a connection of its own for the next request. */
START_TEST(http_answers_nothing_after_a_chunked_body)
{
    static const char *const bodies[] = {
        "5\r\nhello\r\n0\r\n\r\n",
        "5\r\nhello\r\n0\r\nX: y\r\n\r\n",
        "5\r\nhello\r\n0\r\nX: y\r\n: z\r\n",
        "5\r\nhello\r\n0\r\nX: y\r\n: z\r\n\r\n",
        "5\r\nhello\r\n0\n\n",
    };
    struct app *app = app_start();
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        struct exchange_text got = {.len = 0};
        char statuses[64];
        int fd = client_open(app);
        client_say(fd, CHUNKED);
        client_say(fd, bodies[i]);
        client_say(fd, hidden);
        drain_socket(fd, &got);
        close(fd);
        list_statuses(got.text, statuses, sizeof statuses);
        bool is_good = i < 2;
        ck_assert_msg(strcmp(statuses, is_good ? "200" : "400") == 0, "%s: %s", bodies[i],
                      statuses);
        ck_assert_ptr_nonnull(strstr(got.text, "Connection: close\r\n"));
        ck_assert(!is_good || strstr(got.text, "POST /c 5\n") != NULL);
    }
    ck_assert_ptr_null(strstr(app->paths, "/hidden"));
    app_stop(app);
}
END_TEST

START_TEST(http_refuses_lines_of_chunks_with_control_bytes_or_without_crlf)
{
    static const struct {
        const char *bytes;
        size_t len;
    } rows[] = {
        {BYTES("5\nhello\r\n0\r\n\r\n")},
        {BYTES("5;a=b\nhello\r\n0\r\n\r\n")},
        {BYTES("5;a=\rb\r\nhello\r\n0\r\n\r\n")},
        {BYTES("5;a=\0b\r\nhello\r\n0\r\n\r\n")},
        {BYTES("5;a=\x7F\r\nhello\r\n0\r\n\r\n")},
        {BYTES("5\r\nhello\n5\r\nworld\r\n0\r\n\r\n")},
        {BYTES("5\r\nhello\r\n5;\r\r\nworld\r\n0\r\n\r\n")},
    };
    struct app *app = app_start();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct exchange_text got = {.len = 0};
        char statuses[64];
        int fd = client_open(app);
        client_say(fd, CHUNKED);
        client_send(fd, rows[i].bytes, rows[i].len);
        client_say(fd, hidden);
        drain_socket(fd, &got);
        close(fd);
        list_statuses(got.text, statuses, sizeof statuses);
        ck_assert_msg(strcmp(statuses, "400") == 0, "row %zu: %s", i, statuses);
    }
    ck_assert_uint_eq(app->begins, 0);
    app_stop(app);
}
END_TEST

/* The bytes may have been moved by the library since they were read: then nobody knows which were a
 * body's. */
START_TEST(http_refuses_chunks_that_came_together_with_another_request)
{
    struct app *app = app_start();
    struct exchange_text got = {.len = 0};
    char statuses[64];
    int fd = client_open(app);
    client_say(fd, "GET /first HTTP/1.1\r\nHost: h\r\n\r\n" CHUNKED "5\r\nhello\r\n0\r\n\r\n");
    drain_socket(fd, &got);
    close(fd);
    list_statuses(got.text, statuses, sizeof statuses);
    ck_assert_str_eq(statuses, library_is_lax() ? "200 400" : "200 200");
    app_stop(app);
}
END_TEST

/* A line may be a read of its own, of which the library tells nobody. */
START_TEST(http_refuses_malformed_chunks_wherever_they_are_cut)
{
    static const struct {
        const char *bytes;
        size_t len;
    } bodies[] = {
        {BYTES("4\nabcd\r\n0\r\n\r\n")},          {BYTES("4;a\nabcd\r\n0\r\n\r\n")},
        {BYTES("4;a\0b\r\nabcd\r\n0\r\n\r\n")},   {BYTES("4\r\nabcd\r\n4\nefgh\r\n0\r\n\r\n")},
        {BYTES("4\r\nabcd\n0\r\n\r\n")},          {BYTES("4\r\nabcd\r\n0\n\r\n")},
        {BYTES("4\r\nabcd\r\n0\r\n: x\r\n\r\n")},
    };
    struct app *app = app_start();
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++)
        for (size_t cut = 0; cut < bodies[i].len; cut++) {
            int fd = client_open(app);
            client_say(fd, CHUNKED);
            client_send(fd, bodies[i].bytes, cut);
            usleep(1000); /* the rest may be read with it or not: both are refused */
            client_send(fd, bodies[i].bytes + cut, bodies[i].len - cut);
            struct answer answer = client_read(fd, true);
            ck_assert_msg(answer.status == 400, "body %zu cut at %zu: %u", i, cut, answer.status);
            close(fd);
        }
    ck_assert_uint_eq(app->begins, 0);
    app_stop(app);
}
END_TEST

START_TEST(http_refuses_a_line_of_a_chunk_that_fills_its_memory)
{
    static char extension[300 * 1024];
    struct app *app = app_start();
    memset(extension, 'x', sizeof extension);
    for (int i = 0; i < 10; i++) {
        int fd = client_open(app);
        client_say(fd, CHUNKED "5\r\nhello\r\n5;");
        ck_assert(client_send(fd, extension, sizeof extension));
        struct answer answer = client_read(fd, true);
        ck_assert_uint_eq(answer.status, 413);
        ck_assert_ptr_nonnull(strstr(answer.body, "the lines between or behind chunks"));
        ck_assert(client_is_closed(fd));
        close(fd);
    }
    ck_assert_uint_eq(app->begins, 0);
    app_stop(app);
}
END_TEST

/* The lines between the pieces are found, whatever the cuts of the bytes. */
START_TEST(http_takes_a_chunked_body_in_two_parts_wherever_it_is_cut)
{
    const char *body = library_is_lax()
                           ? "5;a=b\r\nhello\r\n1\r\n \r\n00000a;x\r\n5\r\nworld\r\n\r\n"
                             "1\r\n!\r\n1\r\n?\r\n0\r\nX: y\r\n\r\n"
                           : "5\r\nhello\r\n1\r\n \r\n00000a\r\n5\r\nworld\r\n\r\n"
                             "1\r\n!\r\n1\r\n?\r\n0\r\nX: y\r\n\r\n";
    struct app *app = app_start();
    for (size_t cut = 1; cut < strlen(body); cut++) {
        int fd = client_open(app);
        client_say(fd, CHUNKED);
        client_send(fd, body, cut);
        usleep(2000);
        client_say(fd, body + cut);
        struct answer answer = client_read(fd, true);
        ck_assert_msg(strcmp(answer.body, "POST /c 18\n") == 0, "cut at %zu: %s", cut, answer.body);
        close(fd);
    }
    app_stop(app);
}
END_TEST

static unsigned count_descriptors(void)
{
    struct dirent **entries;
    int count = scandir("/proc/self/fd", &entries, NULL, NULL);
    for (int i = 0; i < count; i++)
        free(entries[i]);
    free(entries);
    return (unsigned)count;
}

/* Asks once, lets the answer be whatever the library makes of it, and closes. */
static unsigned ask_and_leave(const struct app *app, const char *bytes, size_t len)
{
    struct exchange_text got = {.len = 0};
    unsigned status = 0;
    int fd = client_open(app);
    client_send(fd, bytes, len);
    drain_socket(fd, &got);
    close(fd);
    sscanf(got.text, "HTTP/1.1 %u", &status);
    return status;
}

static void check_nothing_stays(unsigned descriptors, size_t bytes)
{
    suite_await(count_descriptors() <= descriptors);
    size_t more = mallinfo2().uordblks;
    ck_assert_msg(more < bytes + 256 * 1024, "%zu bytes stay", more - bytes);
}

START_TEST(http_answers_413_to_too_many_arguments_and_keeps_nothing)
{
    static char request[8192];
    struct app *app = start_quick();
    char *end = stpcpy(request, "GET /p?");
    for (int i = 0; i < 2000; i++)
        end = stpcpy(end, "a&");
    stpcpy(end, " HTTP/1.1\r\nHost: h\r\n\r\n");
    ck_assert_uint_eq(ask_and_leave(app, request, strlen(request)), 413);
    unsigned descriptors = count_descriptors();
    size_t bytes = mallinfo2().uordblks;
    for (int i = 0; i < 200; i++)
        ck_assert_uint_eq(ask_and_leave(app, request, strlen(request)), 413);
    check_nothing_stays(descriptors, bytes);
    ck_assert_uint_eq(app->refuses, 201);
    app_stop(app);
}
END_TEST

/* The library fails twice with one of these sizes, and then tells nobody that the request is over.
 */
START_TEST(http_keeps_nothing_of_a_request_that_the_library_forgets)
{
    static char request[140 * 1024];
    struct app *app = start_quick();
    unsigned descriptors = count_descriptors();
    size_t bytes = mallinfo2().uordblks;
    for (size_t size = 1024; size < 128 * 1024; size += 512) {
        char *end = stpcpy(request, "POST /p?a=b HTTP/1.1\r\nHost: h\r\nCookie: ");
        memset(end, 'c', size);
        stpcpy(end + size, "\r\nContent-Length: x\r\n\r\n");
        unsigned status = ask_and_leave(app, request, strlen(request));
        ck_assert_msg(status == 0 || (status >= 400 && status < 500), "%zu: %u", size, status);
    }
    check_nothing_stays(descriptors, bytes);
    app_stop(app);
}
END_TEST

/* The blanks that RFC 9112, section 5.1, allows around a value. */
START_TEST(http_takes_a_head_with_optional_blanks)
{
    static const char *const heads[] = {
        "GET /p HTTP/1.1\r\nHost:h\r\n\r\n",
        "GET /p HTTP/1.1\r\nHost: \t  h \t\r\nX:\r\nY: \t\r\nZ:  a \t b\t \r\n\r\n",
        "POST /p?a=%20b&c&=d+e HTTP/1.1\r\nHost:h\r\nContent-Length:0\r\n\r\n",
        "POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: \t 0\r\nCookie: a=b; c=d\r\n\r\n",
        "\r\nGET /p HTTP/1.1\r\nHost: h\r\n\r\n", /* not to 1.0.x at its strictest */
    };
    const size_t count = sizeof heads / sizeof heads[0] - (library_is_lax() ? 0 : 1);
    struct app *app = app_start();
    int fd = client_open(app);
    for (int round = 0; round < 3; round++)
        for (size_t i = 0; i < count; i++) {
            client_say(fd, heads[i]);
            struct answer answer = client_read(fd, true);
            ck_assert_msg(answer.status == 200, "head %zu: %u %s", i, answer.status, answer.body);
        }
    close(fd);
    app_stop(app);
}
END_TEST

START_TEST(http_refuses_lengths_that_the_library_cannot_read)
{
    static const char *const lengths[] = {"",     "-1",  "+1",  "0x1",
                                          "5, 5", "1 1", "1_0", "184467440737095516160"};
    struct app *app = app_start();
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        char request[256];
        snprintf(request, sizeof request,
                 "POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: %s\r\n\r\n", lengths[i]);
        check_refused(app, request, i == 7 ? 413 : 400, NULL);
    }
    app_stop(app);
}
END_TEST

/* Cookies and many fields take the most memory for their size. */
START_TEST(http_takes_a_head_of_exactly_its_limit)
{
    struct app *app = app_start();
    int fd = client_open(app);
    for (int round = 0; round < 3; round++) {
        static char head[LIMIT_HEAD_BYTES + 1];
        char *end = stpcpy(head, "GET / HTTP/1.1\r\nHost: h\r\nCookie: ");
        for (int i = 0; i < 50; i++)
            end += sprintf(end, "cookie-%02d=%070d; ", i, i);
        for (int i = 0; i < 64; i++)
            end += sprintf(end, "\r\nX-Field-%02d: %020d", i, i);
        end = stpcpy(end, "\r\nX-Rest: ");
        memset(end, 'y', (size_t)(head + LIMIT_HEAD_BYTES - end));
        memcpy(head + LIMIT_HEAD_BYTES - 4, "\r\n\r\n", 5);
        client_say(fd, head);
        struct answer answer = client_read(fd, true);
        ck_assert_msg(answer.status == 200, "%u %s", answer.status, answer.body);
    }
    close(fd);
    app_stop(app);
}
END_TEST

START_TEST(http_refuses_a_head_over_its_limit)
{
    struct app *app = app_start();
    static char head[200 * 1024];
    for (size_t size = 17 * 1024; size < sizeof head - 64; size = size * 5 / 4) {
        int len = snprintf(head, sizeof head, "GET / HTTP/1.1\r\nHost: h\r\nX: ");
        memset(head + len, 'y', size);
        memcpy(head + (size_t)len + size, "\r\n\r\n", 4);
        int fd = client_open(app);
        client_send(fd, head, (size_t)len + size + 4);
        unsigned status = client_read(fd, true).status;
        ck_assert_msg(status == 413, "%u", status);
        close(fd);
    }
    ck_assert_uint_eq(app->begins, 0);
    app_stop(app);
}
END_TEST

SUITE("http framing", http_takes_a_post_without_a_length_as_one_without_a_body,
      http_refuses_each_ambiguous_head_and_runs_nothing_behind_it,
      http_answers_once_where_a_strict_reader_and_the_library_see_different_heads,
      http_answers_nothing_after_a_chunked_body,
      http_refuses_lines_of_chunks_with_control_bytes_or_without_crlf,
      http_refuses_malformed_chunks_wherever_they_are_cut,
      http_refuses_chunks_that_came_together_with_another_request,
      http_refuses_a_line_of_a_chunk_that_fills_its_memory,
      http_takes_a_chunked_body_in_two_parts_wherever_it_is_cut,
      http_answers_413_to_too_many_arguments_and_keeps_nothing,
      http_keeps_nothing_of_a_request_that_the_library_forgets,
      http_takes_a_head_with_optional_blanks, http_refuses_lengths_that_the_library_cannot_read,
      http_takes_a_head_of_exactly_its_limit, http_refuses_a_head_over_its_limit)
