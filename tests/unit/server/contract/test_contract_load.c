/* The errors that come of load and of stopping, over real sockets: 429, 503 and 504. Each test has
 * a server of its own, made small enough to be filled. */
#include "tests/support/contract.h"
#include "tests/support/server_process.h"

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS_MAX = 20, CLIENTS = 32 };

/* Images that keep a worker busy for some 100 ms; the reference backend, and the thread sanitizer
 * with it, take seconds for each. */
static bool takes_seconds_an_image(void)
{
    const char *backend = getenv("ATTND_TEST_BACKEND");
    return backend != NULL && strcmp(backend, "reference") == 0;
}

static unsigned batch_size(void)
{
    return takes_seconds_an_image() ? 4 : 64;
}

#define MODELS "--model", "wafer-vit=models/wafer-vit", "--model", "kernel-bert=models/kernel-bert"

/* POST /predict of the example image, `copies` of them; yours to free. */
static char *image_request(unsigned copies, const char *options)
{
    char *base64 = contract_file_base64("tests/data/examples/wafer_map.png");
    size_t item = strlen(base64) + sizeof ",{\"image\":\"\"}", used = 0;
    char *items = calloc(copies, item);
    ck_assert_ptr_nonnull(items);
    for (unsigned i = 0; i < copies; i++)
        used += (size_t)sprintf(items + used, "%s{\"image\":\"%s\"}", i > 0 ? "," : "", base64);
    char *body = contract_format("{\"inputs\":[%s]%s}", items, options);
    char *request = contract_format("POST /predict HTTP/1.1\r\nHost: h\r\nContent-Type: "
                                    "application/json\r\nContent-Length: %zu\r\n\r\n%s",
                                    strlen(body), body);
    free(body);
    free(items);
    free(base64);
    return request;
}

/* Sends one request from each client at the same time; counts the answers that were 200 and 429. */
static void storm(unsigned port, const char *request, unsigned *good, unsigned *refused)
{
    int fds[CLIENTS];
    for (int i = 0; i < CLIENTS; i++)
        fds[i] = http_connect(port);
    for (int i = 0; i < CLIENTS; i++)
        ck_assert(http_send_text(fds[i], request));
    for (int i = 0; i < CLIENTS; i++) {
        struct reply reply = reply_of(http_read(fds[i], false));
        if (reply.answer.status == 200) {
            ++*good;
        } else {
            reply_expect_problem(&reply, 429, "queue_full", "");
            ck_assert_ptr_nonnull(strstr(reply_text(&reply, "detail"), "2"));
            ck_assert_int_ge(strtol(reply_header(&reply, "Retry-After"), NULL, 10), 1);
            ++*refused;
        }
        reply_free(&reply);
        close(fds[i]);
    }
}

START_TEST(a_full_queue_is_429_with_retry_after_and_empties_again)
{
    struct server_process server;
    server_process_start(&server,
                         (const char *[]){MODELS, "--workers", "1", "--queue-limit", "2",
                                          "--inputs-max", "2", "--queue-ms-max", "0", NULL});
    char *request = image_request(2, "");
    unsigned good = 0, refused = 0;
    for (int i = 0; i < ROUNDS_MAX && (good == 0 || refused == 0); i++)
        storm(server.port, request, &good, &refused);
    ck_assert_uint_gt(good, 0);
    ck_assert_uint_gt(refused, 0);
    struct reply reply = reply_of(http_post_json(server.port, "/predict", "{\"text\":\"a\"}"));
    reply_expect_status(&reply, 200);
    reply_free(&reply);
    free(request);
    ck_assert_int_eq(server_process_stop(&server), 0);
}
END_TEST

/* The number of images that still wait. */
static long images_waiting(unsigned port)
{
    static const char series[] = "attnd_queue_depth{model=\"wafer-vit\"} ";
    struct http_answer answer = http_get(port, "/metrics");
    const char *depth = strstr(answer.body != NULL ? answer.body : "", series);
    long waiting = depth != NULL ? strtol(depth + strlen(series), NULL, 10) : 0;
    http_answer_free(&answer);
    return waiting;
}

/* Waits until an image is in the queue, which means that the only worker is busy with others. False:
 * all were computed, and answered on the connection, before anybody looked. */
static bool await_queue(unsigned port, int fd)
{
    while (images_waiting(port) == 0)
        if (poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 1) == 1)
            return false;
    return true;
}

/* A text that comes last and is in haste; the images that still waited when it had its answer. */
static long overtaken(unsigned port, const char *images)
{
    int fd = http_connect(port);
    ck_assert(http_send_text(fd, images));
    const bool waited = await_queue(port, fd);
    struct reply reply = reply_of(
        http_post_json(port, "/predict", "{\"text\":\"ten tokens or so\",\"deadline_ms\":900}"));
    long waiting = waited ? images_waiting(port) : 0;
    if (reply.answer.status != 200) { /* on a crowded machine one image may take that long */
        reply_expect_problem(&reply, 504, "deadline_passed", "");
        waiting = 0;
    }
    reply_free(&reply);
    reply = reply_of(http_read(fd, false));
    reply_expect_status(&reply, 200);
    reply_free(&reply);
    close(fd);
    return waiting;
}

/* One batch an image, one worker, and the text submitted last: were it answered in the order of
 * arrival, no image could be left. That one is seen at all needs the look at the queue to come
 * before the last image, hence the rounds. Haste does not help if one image takes seconds. */
START_TEST(a_text_in_haste_overtakes_eight_images)
{
    struct server_process server;
    if (takes_seconds_an_image())
        suite_skip("the reference backend takes seconds for an image");
    server_process_start(&server, (const char *[]){MODELS, "--workers", "1", "--batch-tokens-max",
                                                   "1", "--queue-ms-max", "0", NULL});
    char *images = image_request(8, "");
    long waiting = 0;
    for (int i = 0; i < ROUNDS_MAX && waiting == 0; i++)
        waiting = overtaken(server.port, images);
    ck_assert_int_gt(waiting, 0);
    free(images);
    ck_assert_int_eq(server_process_stop(&server), 0);
}
END_TEST

/* A worker that computes many images meets a request that has a millisecond. */
static int ask_behind_work(unsigned port, const char *work)
{
    int fd = http_connect(port);
    ck_assert(http_send_text(fd, work));
    await_queue(port, fd);
    struct reply reply =
        reply_of(http_post_json(port, "/predict", "{\"text\":\"a\",\"deadline_ms\":1}"));
    int status = reply.answer.status;
    if (status != 200)
        reply_expect_problem(&reply, 504, "deadline_passed", "");
    reply_free(&reply);
    reply = reply_of(http_read(fd, false));
    reply_expect_status(&reply, 200);
    reply_free(&reply);
    close(fd);
    return status;
}

START_TEST(a_deadline_that_passes_behind_work_is_504)
{
    struct server_process server;
    server_process_start(&server,
                         (const char *[]){MODELS, "--workers", "1", "--queue-ms-max", "0", NULL});
    char *work = image_request(batch_size(), "");
    int status = 200;
    for (int i = 0; i < ROUNDS_MAX && status == 200; i++)
        status = ask_behind_work(server.port, work);
    ck_assert_int_eq(status, 504);
    free(work);
    ck_assert_int_eq(server_process_stop(&server), 0);
}
END_TEST

START_TEST(deadline_passes_for_each_input_of_a_request)
{
    struct server_process server;
    server_process_start(&server,
                         (const char *[]){MODELS, "--workers", "1", "--queue-ms-max", "0", NULL});
    char *work = image_request(batch_size(), ",\"deadline_ms\":20");
    int fd = http_connect(server.port);
    ck_assert(http_send_text(fd, work));
    struct reply reply = reply_of(http_read(fd, false));
    if (reply.answer.status == 200) {
        ck_assert_uint_eq(reply_count(&reply, "results"), batch_size());
        char *last = contract_format("results.%u", batch_size() - 1);
        reply_expect_problem_at(&reply, last, 504, "deadline_passed", "");
        free(last);
    } else {
        reply_expect_problem(&reply, 504, "deadline_passed", "");
    }
    reply_free(&reply);
    close(fd);
    free(work);
    ck_assert_int_eq(server_process_stop(&server), 0);
}
END_TEST

static bool is_ready(unsigned port)
{
    struct reply reply = reply_of(http_get(port, "/readyz"));
    const bool is = reply.answer.status == 200;
    reply_free(&reply);
    return is;
}

START_TEST(a_draining_server_is_not_ready_and_yet_answers)
{
    struct server_process server;
    server_process_start(&server, (const char *[]){MODELS, "--drain-delay-ms", "5000", NULL});
    kill(server.pid, SIGTERM);
    suite_await(!is_ready(server.port)); /* SIGTERM takes a moment */
    struct reply reply = reply_of(http_get(server.port, "/readyz"));
    reply_expect_problem(&reply, 503, "not_ready", "the server is draining");
    ck_assert_int_ge(strtol(reply_header(&reply, "Retry-After"), NULL, 10), 1);
    ck_assert_str_eq(reply_header(&reply, "Connection"), "close");
    reply_free(&reply);
    reply = reply_of(http_request(server.port, "HEAD", "/readyz", "", NULL, 0));
    reply_expect_status(&reply, 503);
    reply_free(&reply);
    reply = reply_of(http_get(server.port, "/healthz"));
    reply_expect_status(&reply, 200);
    reply_free(&reply);
    reply = reply_of(http_post_json(server.port, "/predict", "{\"text\":\"a\"}"));
    reply_expect_status(&reply, 200);
    ck_assert_str_eq(reply_header(&reply, "Connection"), "close");
    reply_free(&reply);
    kill(server.pid, SIGTERM); /* once more, to no effect */
    ck_assert_int_eq(server_process_wait(&server), 0);
}
END_TEST

/* Images that wait are computed while a server drains. True if the server was told to stop before
 * they were. */
static bool is_answered_in_a_drain(const char *work)
{
    struct server_process server;
    server_process_start(&server,
                         (const char *[]){MODELS, "--workers", "1", "--queue-ms-max", "0", NULL});
    int idle = http_connect(server.port), busy = http_connect(server.port);
    http_send_text(idle, "GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n");
    struct reply reply = reply_of(http_read(idle, false));
    reply_expect_status(&reply, 200);
    reply_free(&reply);
    ck_assert(http_send_text(busy, work));
    await_queue(server.port, busy);
    kill(server.pid, SIGTERM);
    reply = reply_of(http_read(busy, false));
    reply_expect_status(&reply, 200);
    ck_assert_uint_eq(reply_count(&reply, "results"), batch_size());
    char value[16];
    bool closes = http_answer_header(&reply.answer, "Connection", value, sizeof value);
    ck_assert(!closes || strcmp(value, "close") == 0);
    reply_free(&reply);
    char byte;
    ck_assert_int_eq(read(idle, &byte, 1), 0);
    ck_assert_int_eq(server_process_wait(&server), 0);
    close(idle);
    close(busy);
    return closes;
}

START_TEST(a_drain_closes_idle_connections_and_answers_what_has_begun)
{
    char *work = image_request(batch_size(), "");
    bool is_seen = false;
    for (int i = 0; i < ROUNDS_MAX && !is_seen; i++)
        is_seen = is_answered_in_a_drain(work);
    ck_assert(is_seen);
    free(work);
}
END_TEST

/* A body that never comes whole would keep the drain waiting for body_timeout_ms. */
START_TEST(a_drain_ends_at_its_timeout_with_0)
{
    struct server_process server;
    server_process_start(&server, (const char *[]){MODELS, "--drain-timeout-ms", "200", NULL});
    int fd = http_connect(server.port);
    http_send_text(fd, "POST /predict HTTP/1.1\r\nHost: h\r\nContent-Length: 50\r\n\r\n{");
    usleep(50000);
    ck_assert_int_eq(server_process_stop(&server), 0);
    close(fd);
}
END_TEST

/* Stops a server while images wait in its queue, with no time to compute them; how many of them
 * were failed. Whatever came of the others, there is an answer. */
static unsigned failed_by_a_stop(const char *work)
{
    struct server_process server;
    unsigned failed = 0;
    server_process_start(&server,
                         (const char *[]){MODELS, "--workers", "1", "--batch-tokens-max", "1",
                                          "--queue-ms-max", "0", "--drain-timeout-ms", "0", NULL});
    int fd = http_connect(server.port);
    ck_assert(http_send_text(fd, work));
    await_queue(server.port, fd);
    kill(server.pid, SIGTERM);
    struct reply reply = reply_of(http_read(fd, false));
    if (reply.answer.status == 200) {
        ck_assert_uint_eq(reply_count(&reply, "results"), batch_size());
        for (unsigned i = 0; i < batch_size(); i++) {
            char *path = contract_format("results.%u.error_type", i);
            failed += contract_at(reply.json, path) != NULL;
            free(path);
        }
    } else {
        reply_expect_problem(&reply, 503, "not_ready", "the server is stopping");
    }
    reply_free(&reply);
    ck_assert_int_eq(server_process_wait(&server), 0);
    close(fd);
    return failed;
}

START_TEST(a_stop_answers_what_waits_in_the_queue_with_503)
{
    char *work = image_request(batch_size(), "");
    unsigned failed = 0;
    for (int i = 0; i < ROUNDS_MAX && failed == 0; i++)
        failed = failed_by_a_stop(work);
    ck_assert_uint_gt(failed, 0);
    free(work);
}
END_TEST

enum { MANY = 20000 };

/* POST /predict of MANY inputs that are none: little to do, and an answer of megabytes. */
static char *many_mistakes(void)
{
    char *items = malloc(MANY * 3 + 1);
    ck_assert_ptr_nonnull(items);
    for (size_t i = 0; i < MANY; i++)
        memcpy(items + 3 * i, ",{}", 3);
    items[MANY * 3] = '\0';
    char *body = contract_format("{\"inputs\":[%s]}", items + 1);
    char *request = contract_format("POST /predict HTTP/1.1\r\nHost: h\r\nContent-Type: "
                                    "application/json\r\nContent-Length: %zu\r\n\r\n%s",
                                    strlen(body), body);
    free(body);
    free(items);
    return request;
}

/* True if an answer comes whole although the client reads it late: the server has nothing else left
 * to do, and its time to drain is over at once. */
static bool comes_whole_after_a_stop(const char *request)
{
    struct server_process server;
    server_process_start(&server, (const char *[]){MODELS, "--inputs-max", "20000", "--queue-limit",
                                                   "20000", "--drain-timeout-ms", "0", NULL});
    int fd = http_connect(server.port);
    ck_assert(http_send_text(fd, request));
    struct pollfd readable = {.fd = fd, .events = POLLIN};
    ck_assert_int_eq(poll(&readable, 1, suite_patience_ms()), 1);
    kill(server.pid, SIGTERM);
    usleep(200000);
    struct http_answer answer = http_read(fd, false);
    int status = answer.status; /* 0 unless it was whole */
    http_answer_free(&answer);
    ck_assert_int_eq(server_process_wait(&server), 0);
    close(fd);
    return status == 200;
}

/* The server has a second for that. A crowded machine may use it up: hence the rounds. */
START_TEST(a_stop_lets_the_last_answers_out)
{
    char *request = many_mistakes();
    bool whole = false;
    for (int i = 0; i < ROUNDS_MAX && !whole; i++)
        whole = comes_whole_after_a_stop(request);
    ck_assert(whole);
    free(request);
}
END_TEST

SUITE("contract_load", a_full_queue_is_429_with_retry_after_and_empties_again,
      a_text_in_haste_overtakes_eight_images, a_deadline_that_passes_behind_work_is_504,
      deadline_passes_for_each_input_of_a_request, a_draining_server_is_not_ready_and_yet_answers,
      a_drain_closes_idle_connections_and_answers_what_has_begun,
      a_drain_ends_at_its_timeout_with_0, a_stop_answers_what_waits_in_the_queue_with_503,
      a_stop_lets_the_last_answers_out)
