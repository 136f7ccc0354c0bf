/* test_http_deadlines.c - slow heads, slow bodies and idle connections against small time limits.
 * The limits are far apart from what is asserted, so that a busy machine does not matter: a drip
 * that would take minutes must end, and in the way it should. */
#include "tests/unit/server/http/http_probe.h"

#include <sys/resource.h>

enum { HEAD_MS = 300, BODY_MS = 400, MUCH_MS = 2000 };

static struct app *start_impatient(unsigned head_ms)
{
    struct http_options options = app_options();
    options.header_timeout_ms = head_ms;
    options.body_timeout_ms = BODY_MS;
    return app_start_with(options);
}

/* A connection on which the text was said soon: one whose test did not run for half of the limit may
 * be over before its first byte. */
static int open_saying(const struct app *app, const char *text)
{
    for (;;) {
        const uint64_t begun_ms = now_ms();
        int fd = client_open(app);
        client_say(fd, text);
        if (now_ms() - begun_ms < HEAD_MS / 2)
            return fd;
        close(fd);
    }
}

/* Sends a byte every 50 ms, which an inactivity timeout would never notice, until an answer. */
static struct answer drip(int fd, const char *text)
{
    for (int i = 0; i < 600 && !client_wait(fd, 50); i++)
        send(fd, &text[(size_t)i % strlen(text)], 1, MSG_NOSIGNAL);
    return client_read(fd, true);
}

START_TEST(http_ends_a_slow_head_with_408)
{
    struct app *app = start_impatient(HEAD_MS);
    int fd = open_saying(app, "G");
    struct answer answer = drip(fd, "EEEEEEEEEEEEEEEEEET");
    ck_assert_uint_eq(answer.status, 408);
    ck_assert_ptr_nonnull(strstr(answer.body, "request head: not whole after 300 ms"));
    close(fd);
    fd = open_saying(app, "GET / HTTP/1.1\r\n");
    ck_assert_uint_eq(drip(fd, "X").status, 408);
    close(fd);
    ck_assert_uint_eq(app->heads, 0);
    app_stop(app);
}
END_TEST

/* Bytes that come so thick that some are always unread: the end of file that ends the head comes
 * together with them, and the library misses it. */
START_TEST(http_ends_a_slow_head_whose_bytes_never_pause)
{
    struct app *app = start_impatient(HEAD_MS);
    for (int round = 0; round < 5; round++) {
        int fd = open_saying(app, "GET / HTTP/1.1\r\nX: ");
        for (int i = 0; i < 5000 && !client_wait(fd, 0); i++) {
            send(fd, "y", 1, MSG_NOSIGNAL);
            usleep(200);
        }
        ck_assert_uint_eq(client_read(fd, true).status, 408);
        close(fd);
    }
    app_stop(app);
}
END_TEST

START_TEST(http_ends_a_slow_body_with_408)
{
    static const char *const heads[] = {
        "POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n",
        "POST /p HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nffff\r\n",
        "POST /missing HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n"};
    struct app *app = start_impatient(60000);
    for (unsigned i = 0; i < 3; i++) {
        int fd = client_open(app);
        client_say(fd, heads[i]);
        struct answer answer = drip(fd, "x");
        ck_assert_uint_eq(answer.status, 408);
        ck_assert_ptr_nonnull(strstr(answer.body, "request body: not whole after 400 ms"));
        close(fd);
        ck_assert_uint_eq(app->heads, i + 1);
    }
    ck_assert_uint_eq(app->begins, 0);
    app_stop(app);
}
END_TEST

START_TEST(http_serves_others_while_many_drip)
{
    struct app *app = start_impatient(MUCH_MS);
    int slow[50];
    for (int i = 0; i < 50; i++) {
        slow[i] = client_open(app);
        client_say(slow[i], i % 2 ? "GET / HTTP/1.1\r\nHo"
                                  : "POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nab");
    }
    for (int i = 0; i < 50; i++)
        ck_assert_uint_eq(client_ask(app, "GET /x HTTP/1.1\r\nHost: h\r\n\r\n").status, 200);
    for (int i = 0; i < 50; i++) {
        ck_assert_uint_eq(client_read(slow[i], true).status, 408);
        close(slow[i]);
    }
    app_stop(app);
}
END_TEST

START_TEST(http_closes_a_connection_that_says_nothing_without_a_word)
{
    struct app *app = start_impatient(HEAD_MS);
    int fd = client_open(app);
    struct answer answer = client_read(fd, true);
    ck_assert_uint_eq(answer.status, 0);
    ck_assert(answer.closed);
    close(fd);
    ck_assert_uint_eq(app->refuses, 0);
    app_stop(app);
}
END_TEST

START_TEST(http_gives_a_suspended_request_all_the_time_it_needs)
{
    struct app *app = start_impatient(HEAD_MS);
    int fd = open_saying(app, "GET /held HTTP/1.1\r\nHost: h\r\n\r\n");
    ck_assert(!client_wait(fd, 1000));
    app_release(app);
    ck_assert_uint_eq(client_read(fd, true).status, 200);
    /* Between requests the limit of a head does not count. */
    ck_assert(!client_wait(fd, 600));
    client_say(fd, "GET /x HTTP/1.1\r\nHost: h\r\n\r\n");
    ck_assert_uint_eq(client_read(fd, true).status, 200);
    close(fd);
    app_stop(app);
}
END_TEST

static double cpu_ms(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e3 +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e3;
}

/* A body drips into a refusal meanwhile: then the library is most easily made to spin. */
START_TEST(http_sleeps_while_nothing_happens)
{
    struct app *app = app_start();
    int idle = client_open(app), refused = client_open(app), arriving = client_open(app);
    client_say(idle, "GET /x HTTP/1.1\r\nHost: h\r\n\r\n");
    ck_assert_uint_eq(client_read(idle, true).status, 200);
    client_say(refused, "POST /small HTTP/1.1\r\nHost: h\r\nContent-Length: 99999\r\n\r\nabc");
    ck_assert_uint_eq(client_read(refused, true).status, 413);
    client_say(arriving, "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nabc");
    usleep(50000);
    double before = cpu_ms();
    usleep(1000000);
    ck_assert_double_lt(cpu_ms() - before, 20);
    close(idle);
    close(refused);
    close(arriving);
    app_stop(app);
}
END_TEST

SUITE("http deadlines", http_ends_a_slow_head_with_408,
      http_ends_a_slow_head_whose_bytes_never_pause, http_ends_a_slow_body_with_408,
      http_serves_others_while_many_drip, http_closes_a_connection_that_says_nothing_without_a_word,
      http_gives_a_suspended_request_all_the_time_it_needs, http_sleeps_while_nothing_happens)
