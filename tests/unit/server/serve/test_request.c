#include "server/serve/service.h"

#include "engine/base/clock.h"
#include "tests/support/suite.h"
#include "wire/limits.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

START_TEST(request_ids_are_sixteen_hexadecimal_digits)
{
    struct request_ids ids;
    struct arena arena;
    arena_init(&arena);
    request_ids_init(&ids);
    for (int i = 0; i < 100; i++) {
        const char *id = request_ids_next(&ids, &arena);
        ck_assert_uint_eq(strlen(id), 16);
        ck_assert_uint_eq(strspn(id, "0123456789abcdef"), 16);
        ck_assert(request_id_is_plain(id));
    }
    arena_deinit(&arena);
}
END_TEST

static int compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

START_TEST(request_ids_do_not_repeat)
{
    enum { COUNT = 20000 };
    struct request_ids ids;
    struct arena arena;
    const char **all = calloc(COUNT, sizeof *all);
    arena_init(&arena);
    request_ids_init(&ids);
    for (int i = 0; i < COUNT; i++)
        all[i] = request_ids_next(&ids, &arena);
    qsort(all, COUNT, sizeof *all, compare);
    for (int i = 1; i < COUNT; i++)
        ck_assert_str_ne(all[i - 1], all[i]);
    free(all);
    arena_deinit(&arena);
}
END_TEST

START_TEST(request_ids_of_two_processes_differ)
{
    struct request_ids one, two;
    struct arena arena;
    arena_init(&arena);
    request_ids_init(&one);
    request_ids_init(&two);
    ck_assert_str_ne(request_ids_next(&one, &arena), request_ids_next(&two, &arena));
    arena_deinit(&arena);
}
END_TEST

START_TEST(request_id_is_plain_only_without_what_breaks_a_header)
{
    char longest[LIMIT_ID_BYTES + 2];
    memset(longest, 'x', sizeof longest);
    longest[LIMIT_ID_BYTES] = '\0';
    ck_assert(request_id_is_plain("lot-7/wafer:12"));
    ck_assert(request_id_is_plain(longest));
    longest[LIMIT_ID_BYTES] = 'x';
    longest[LIMIT_ID_BYTES + 1] = '\0';
    ck_assert(!request_id_is_plain(longest));
    ck_assert(!request_id_is_plain(""));
    ck_assert(!request_id_is_plain("a b"));
    ck_assert(!request_id_is_plain("a\r\nSet-Cookie:x"));
    ck_assert(!request_id_is_plain("caf\xC3\xA9"));
}
END_TEST

/* ---- phases ---- */

static const bool may_follow[REQUEST_PHASES_COUNT][REQUEST_PHASES_COUNT] = {
    [REQUEST_HEAD] = {[REQUEST_PARSE] = true, [REQUEST_REPLY] = true, [REQUEST_DONE] = true},
    [REQUEST_PARSE] = {[REQUEST_PREPARE] = true, [REQUEST_REPLY] = true, [REQUEST_DONE] = true},
    [REQUEST_PREPARE] = {[REQUEST_QUEUED] = true, [REQUEST_REPLY] = true, [REQUEST_DONE] = true},
    [REQUEST_QUEUED] = {[REQUEST_EXPLAIN] = true, [REQUEST_REPLY] = true, [REQUEST_DONE] = true},
    [REQUEST_EXPLAIN] = {[REQUEST_REPLY] = true, [REQUEST_DONE] = true},
    [REQUEST_REPLY] = {[REQUEST_PARSE] = true, [REQUEST_REPLY] = true, [REQUEST_DONE] = true},
    [REQUEST_DONE] = {[REQUEST_DONE] = true},
};

START_TEST(request_enters_the_phases_that_may_follow)
{
    for (unsigned from = 0; from < REQUEST_PHASES_COUNT; from++)
        for (unsigned to = 0; to < REQUEST_PHASES_COUNT; to++) {
            if (!may_follow[from][to])
                continue;
            struct request request = {.phase = (enum request_phase)from};
            request_enter(&request, (enum request_phase)to);
            ck_assert_uint_eq(request.phase, to);
        }
}
END_TEST

/* True if a process that makes this step lives on; its last message is not shown. */
static bool survives(enum request_phase from, enum request_phase to)
{
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        struct request request = {.phase = from};
        if (freopen("/dev/null", "w", stderr) == NULL)
            _exit(2);
        request_enter(&request, to);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg((WIFEXITED(status) && WEXITSTATUS(status) == 0) ||
                      (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT),
                  "%u to %u: %#x", from, to, (unsigned)status);
    return WIFEXITED(status);
}

START_TEST(request_aborts_at_a_phase_that_may_not_follow)
{
    for (unsigned from = 0; from < REQUEST_PHASES_COUNT; from++)
        for (unsigned to = 0; to < REQUEST_PHASES_COUNT; to++)
            ck_assert_msg(survives(from, to) == may_follow[from][to], "%u to %u", from, to);
}
END_TEST

/* ---- rows ---- */

static struct http_exchange *resumed;
static unsigned handed_on;

void http_resume(struct http_exchange *exchange)
{
    resumed = exchange;
}

const char *http_header(const struct http_exchange *exchange, const char *name)
{
    (void)exchange;
    (void)name;
    return NULL;
}

static void hand_on(struct request *request)
{
    (void)request;
    handed_on++;
}

START_TEST(request_is_passed_on_with_its_last_row)
{
    for (int way = 0; way < 2; way++) {
        struct http_exchange exchange = {0};
        struct request request = {.exchange = &exchange, .then = way == 0 ? NULL : hand_on};
        struct row rows[3] = {{.request = &request}, {.request = &request}, {.request = &request}};
        resumed = NULL;
        handed_on = 0;
        request_expect_rows(&request, 3);
        for (unsigned i = 0; i < 3; i++) {
            ck_assert(resumed == NULL && handed_on == 0);
            request_row_done(&rows[i]);
        }
        ck_assert_ptr_eq(resumed, way == 0 ? &exchange : NULL);
        ck_assert_uint_eq(handed_on, way == 0 ? 0 : 1);
    }
}
END_TEST

START_TEST(request_begins_with_its_head)
{
    struct http_exchange exchange = {0};
    struct request_ids ids;
    static struct service service; /* only kept */
    arena_init(&exchange.arena);
    request_ids_init(&ids);
    struct request *request = request_open(&exchange, &service, &ids);
    ck_assert_ptr_eq(exchange.state, request);
    ck_assert_ptr_eq(request->exchange, &exchange);
    ck_assert_ptr_eq(request->service, &service);
    ck_assert_int_eq(request->phase, REQUEST_HEAD);
    ck_assert_ptr_null(request->route);
    ck_assert_uint_eq(strlen(request->id), 16);
    arena_deinit(&exchange.arena);
}
END_TEST

/* Milliseconds from the head; the call's own come first. */
START_TEST(request_deadline_is_the_calls_or_the_default)
{
    struct http_exchange exchange = {.head_ns = 1000};
    struct request request = {.exchange = &exchange};
    ck_assert_uint_eq(request_deadline_ns(&request, 0), 0);
    ck_assert_uint_eq(request_deadline_ns(&request, 7), 1000 + 7 * (uint64_t)CLOCK_NS_PER_MS);
    request.call.deadline_ms = 5;
    ck_assert_uint_eq(request_deadline_ns(&request, 7), 1000 + 5 * (uint64_t)CLOCK_NS_PER_MS);
    ck_assert_uint_eq(request_deadline_ns(&request, 0), 1000 + 5 * (uint64_t)CLOCK_NS_PER_MS);
    request.call.deadline_ms = (unsigned)-1; /* more than 32 bits of nanoseconds hold */
    ck_assert_uint_eq(request_deadline_ns(&request, 0),
                      1000 + UINT64_C(4294967295) * CLOCK_NS_PER_MS);
}
END_TEST

SUITE("request", request_ids_are_sixteen_hexadecimal_digits, request_ids_do_not_repeat,
      request_ids_of_two_processes_differ, request_id_is_plain_only_without_what_breaks_a_header,
      request_enters_the_phases_that_may_follow, request_aborts_at_a_phase_that_may_not_follow,
      request_is_passed_on_with_its_last_row, request_begins_with_its_head,
      request_deadline_is_the_calls_or_the_default)
