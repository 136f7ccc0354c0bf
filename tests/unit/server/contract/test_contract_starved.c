/* Long strings over a real socket: the part that the JSON parser may see, and a server that has no
 * memory for them. */
#include "tests/support/call_fixture.h"
#include "tests/support/contract.h"
#include "tests/support/server_process.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { CLIENTS = 8, REQUESTS = 2, LONG_BYTES = 15 << 20 };

static void start(struct server_process *server)
{
    server_process_start(server, (const char *[]){"--model", "k=models/kernel-bert",
                                                  "--body-bytes-max", "16777216", NULL});
}

static struct reply post(const struct server_process *server, const char *body)
{
    return reply_of(http_post_json(server->port, "/predict", body));
}

START_TEST(long_texts_are_read_and_long_bodies_without_them_are_413)
{
    struct server_process server;
    start(&server);
    char *text = call_fixture_padded("{\"text\":\"6 \\u00e9 ", 'x', 4 << 20, "\"}");
    struct reply reply = post(&server, text);
    reply_expect_status(&reply, 200);
    reply_free(&reply);
    free(text);
    char *spaces = call_fixture_padded("{\"text\":\"6\"", ' ', 4 << 20, "}");
    reply = post(&server, spaces);
    reply_expect_problem(&reply, 413, "too_large", "more than ");
    reply_free(&reply);
    free(spaces);
    ck_assert_int_eq(server_process_stop(&server), 0);
}
END_TEST

#ifndef __SANITIZE_ADDRESS__ /* its own address space is most of the machine's */

/* Leaves the process this much more address space than it uses; negative: as much as it may. */
static void limit_address_space(pid_t pid, long more_bytes)
{
    char path[64];
    unsigned long pages = 0;
    struct rlimit limit;
    snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    FILE *file = fopen(path, "r");
    ck_assert(file != NULL && fscanf(file, "%lu", &pages) == 1);
    fclose(file);
    ck_assert_int_eq(prlimit(pid, RLIMIT_AS, NULL, &limit), 0);
    limit.rlim_cur = more_bytes < 0 ? limit.rlim_max
                                    : pages * (rlim_t)sysconf(_SC_PAGESIZE) + (rlim_t)more_bytes;
    ck_assert_int_eq(prlimit(pid, RLIMIT_AS, &limit, NULL), 0);
}

struct client {
    unsigned port;
    const char *body;
    unsigned surprises, failures;
};

/* 0: the library had no memory for the connection. */
static void *post_often(void *context)
{
    struct client *client = context;
    for (int i = 0; i < REQUESTS; i++) {
        struct http_answer answer = http_post_json(client->port, "/predict", client->body);
        client->failures += answer.status != 200;
        client->surprises += answer.status != 200 && answer.status != 500 && answer.status != 0;
        http_answer_free(&answer);
    }
    return NULL;
}

/* The number of requests that were not answered with a prediction. */
static unsigned crowd(unsigned port, const char *body)
{
    pthread_t threads[CLIENTS];
    struct client clients[CLIENTS];
    unsigned failures = 0;
    for (int i = 0; i < CLIENTS; i++) {
        clients[i] = (struct client){.port = port, .body = body};
        ck_assert_int_eq(pthread_create(&threads[i], NULL, post_often, &clients[i]), 0);
    }
    for (int i = 0; i < CLIENTS; i++) {
        pthread_join(threads[i], NULL);
        ck_assert_uint_eq(clients[i].surprises, 0);
        failures += clients[i].failures;
    }
    return failures;
}

/* The allocation that fails is a matter of luck; test_json_load leaves nothing to it. */
START_TEST(a_server_without_memory_for_long_strings_refuses_them_and_lives)
{
    struct server_process server;
    char *body = call_fixture_padded("{\"text\":\"\\n", 'a', LONG_BYTES, "\"}");
    unsigned failures;
    start(&server);
    limit_address_space(server.pid, 60 << 20);
    failures = crowd(server.port, body);
    limit_address_space(server.pid, -1);
    ck_assert_uint_gt(failures, 0);
    struct reply reply = post(&server, body);
    reply_expect_status(&reply, 200);
    reply_free(&reply);
    free(body);
    ck_assert_int_eq(server_process_stop(&server), 0);
}
END_TEST

SUITE("contract_starved", long_texts_are_read_and_long_bodies_without_them_are_413,
      a_server_without_memory_for_long_strings_refuses_them_and_lives)
#else
SUITE("contract_starved", long_texts_are_read_and_long_bodies_without_them_are_413)
#endif
