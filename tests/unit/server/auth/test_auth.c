/* The judgement of a request by the key that it sends, and the meters behind the limits. */
#include "server/auth/auth.h"

#include "engine/base/clock.h"
#include "engine/base/sha256.h"
#include "tests/support/suite.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

struct bench {
    struct keys *keys;
    struct auth auth;
    struct auth_question question;
    struct auth_grant grant;
    struct err err;
};

static void bench_open(struct bench *bench, const char *words)
{
    char text[256], digits[SHA256_HEX_BYTES];
    struct err err = {0};
    sha256_hex("k", 1, digits);
    snprintf(text, sizeof text, "sha256:%s ours %s", digits, words);
    *bench = (struct bench){0};
    ck_assert_msg(keys_parse(&bench->keys, text, strlen(text), "f", NULL, &err) == ERR_OK, "%s",
                  err.text);
    bench->question = (struct auth_question){.keys = bench->keys,
                                             .scope = SCOPE_PREDICT,
                                             .authorization = "Bearer k",
                                             .now_ns = CLOCK_NS_PER_S};
}

static enum err_code ask(struct bench *bench)
{
    bench->err = (struct err){0};
    return auth_check(&bench->auth, &bench->question, &bench->grant, &bench->err);
}

static enum err_code ask_as(struct bench *bench, const char *authorization)
{
    bench->question.authorization = authorization;
    return ask(bench);
}

static void expect_failures(const struct bench *bench, enum auth_failure failure, uint64_t count)
{
    for (int i = 0; i < AUTH_FAILURES_COUNT; i++)
        ck_assert_uint_eq(auth_failures(&bench->auth, (enum auth_failure)i),
                          i == (int)failure ? count : 0);
}

START_TEST(auth_tells_a_request_without_a_key_that_it_needs_one)
{
    struct bench bench;
    bench_open(&bench, "predict");
    static const char *const none[] = {NULL, "", "Basic azpr", "Bear k", "Bearerk", "k"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        ck_assert_int_eq(ask_as(&bench, none[i]), ERR_UNAUTHORIZED);
        ck_assert_str_eq(bench.grant.challenge, "Bearer realm=\"attnd\"");
        ck_assert_ptr_null(bench.grant.name);
    }
    expect_failures(&bench, AUTH_MISSING, 6);
    keys_close(bench.keys);
}
END_TEST

START_TEST(an_unknown_key_is_an_invalid_token_and_is_not_repeated)
{
    struct bench bench;
    bench_open(&bench, "predict");
    static const char *const others[] = {"Bearer", "Bearer ", "Bearer SECRET", "Bearer k SECRET"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        ck_assert_int_eq(ask_as(&bench, others[i]), ERR_UNAUTHORIZED);
        ck_assert_str_eq(bench.grant.challenge, "Bearer realm=\"attnd\", error=\"invalid_token\"");
        ck_assert_ptr_null(strstr(bench.err.text, "SECRET"));
        ck_assert_ptr_null(bench.grant.key);
    }
    expect_failures(&bench, AUTH_UNKNOWN, 4);
    keys_close(bench.keys);
}
END_TEST

START_TEST(a_key_passes_whatever_the_case_of_its_scheme_and_the_blanks_about_it)
{
    struct bench bench;
    bench_open(&bench, "predict");
    static const char *const same[] = {"Bearer k", "bearer k", "BEARER  \tk", "Bearer k \t"};
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        ck_assert_int_eq(ask_as(&bench, same[i]), ERR_OK);
        ck_assert_str_eq(bench.grant.name, "ours");
        ck_assert_ptr_null(bench.grant.challenge);
        auth_release(&bench.grant);
        auth_release(&bench.grant); /* no harm */
    }
    expect_failures(&bench, AUTH_MISSING, 0);
    keys_close(bench.keys);
}
END_TEST

START_TEST(a_key_is_taken_to_the_end_of_its_last_day)
{
    struct bench bench;
    bench_open(&bench, "predict expires=2026-11-22");
    bench.question.now_s = 1795391999; /* 23:59:59 UTC */
    ck_assert_int_eq(ask(&bench), ERR_OK);
    auth_release(&bench.grant);
    bench.question.now_s++;
    ck_assert_int_eq(ask(&bench), ERR_UNAUTHORIZED);
    ck_assert_str_eq(bench.grant.challenge, "Bearer realm=\"attnd\", error=\"invalid_token\"");
    ck_assert_str_eq(bench.grant.name, "ours");
    ck_assert_ptr_null(bench.grant.key);
    expect_failures(&bench, AUTH_EXPIRED, 1);
    keys_close(bench.keys);
}
END_TEST

START_TEST(a_key_opens_only_what_its_scopes_say)
{
    static const char *const names[] = {"predict", "feedback", "metrics", "admin"};
    struct bench bench;
    for (int has = 0; has < 4; has++) {
        bench_open(&bench, names[has]);
        for (int wants = 0; wants < 4; wants++) {
            bench.question.scope = (enum scope)(SCOPE_PREDICT + wants);
            ck_assert_int_eq(ask(&bench), has == wants ? ERR_OK : ERR_FORBIDDEN);
            auth_release(&bench.grant);
            if (has == wants)
                continue;
            char text[128];
            snprintf(text, sizeof text, "this needs a key with the scope %s", names[wants]);
            ck_assert_str_eq(bench.err.text, text);
            snprintf(text, sizeof text,
                     "Bearer realm=\"attnd\", error=\"insufficient_scope\", scope=\"%s\"",
                     names[wants]);
            ck_assert_str_eq(bench.grant.challenge, text);
        }
        expect_failures(&bench, AUTH_SCOPE, 3);
        keys_close(bench.keys);
    }
}
END_TEST

START_TEST(auth_refuses_every_key_for_a_route_without_a_scope)
{
    struct bench bench;
    bench_open(&bench, "predict,feedback,metrics,admin");
    bench.question.scope = SCOPE_UNSAID;
    ck_assert_int_eq(ask(&bench), ERR_FORBIDDEN);
    ck_assert_int_eq(ask_as(&bench, NULL), ERR_UNAUTHORIZED);
    keys_close(bench.keys);
}
END_TEST

START_TEST(a_certificate_stands_for_a_key_where_none_is_sent)
{
    static const char *const names[] = {"press"};
    static const char text[] = "cert:press press predict concurrency=1";
    struct bench bench = {0};
    ck_assert_int_eq(keys_parse(&bench.keys, text, strlen(text), "f", NULL, &bench.err), ERR_OK);
    bench.question = (struct auth_question){
        .keys = bench.keys, .scope = SCOPE_PREDICT, .names = names, .name_count = 1};
    ck_assert_int_eq(ask(&bench), ERR_OK);
    ck_assert_str_eq(bench.grant.name, "press");
    struct auth_grant held = bench.grant;
    ck_assert_int_eq(ask(&bench), ERR_TOO_MANY);
    auth_release(&held);
    ck_assert_int_eq(ask_as(&bench, "Bearer k"), ERR_UNAUTHORIZED);
    ck_assert_uint_eq(auth_failures(&bench.auth, AUTH_UNKNOWN), 1);
    bench.question.name_count = 0;
    ck_assert_int_eq(ask_as(&bench, NULL), ERR_UNAUTHORIZED);
    ck_assert_uint_eq(auth_failures(&bench.auth, AUTH_MISSING), 1);
    keys_close(bench.keys);
}
END_TEST

START_TEST(auth_asks_for_no_key_on_open_routes_or_without_keys)
{
    struct bench bench;
    bench_open(&bench, "predict");
    bench.question.scope = SCOPE_OPEN;
    ck_assert_int_eq(ask_as(&bench, "Bearer wrong"), ERR_OK);
    ck_assert_ptr_null(bench.grant.name);
    bench.question.keys = NULL;
    bench.question.scope = SCOPE_ADMIN;
    ck_assert_int_eq(ask_as(&bench, NULL), ERR_OK);
    expect_failures(&bench, AUTH_MISSING, 0);
    keys_close(bench.keys);
}
END_TEST

START_TEST(auth_with_an_empty_set_of_keys_refuses_all_requests)
{
    struct bench bench = {0};
    ck_assert_int_eq(keys_parse(&bench.keys, "", 0, "f", NULL, &bench.err), ERR_OK);
    bench.question = (struct auth_question){
        .keys = bench.keys, .scope = SCOPE_PREDICT, .authorization = "Bearer k"};
    ck_assert_int_eq(ask(&bench), ERR_UNAUTHORIZED);
    keys_close(bench.keys);
}
END_TEST

static void at_ms(struct bench *bench, unsigned ms)
{
    bench->question.now_ns = CLOCK_NS_PER_S + (uint64_t)ms * CLOCK_NS_PER_MS;
}

START_TEST(a_rate_allows_a_seconds_worth_at_once_and_then_its_pace)
{
    struct bench bench;
    bench_open(&bench, "predict rate=4/s");
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(ask(&bench), ERR_OK);
    ck_assert_int_eq(ask(&bench), ERR_TOO_MANY);
    ck_assert_str_eq(bench.err.text, "more than this key's 4 requests a second");
    ck_assert_uint_eq(bench.grant.retry_after_s, 1);
    ck_assert_ptr_null(bench.grant.key);
    at_ms(&bench, 249);
    ck_assert_int_eq(ask(&bench), ERR_TOO_MANY);
    at_ms(&bench, 251);
    ck_assert_int_eq(ask(&bench), ERR_OK);
    ck_assert_int_eq(ask(&bench), ERR_TOO_MANY);
    at_ms(&bench, 3600000); /* no more than one second's worth is saved */
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(ask(&bench), ERR_OK);
    ck_assert_int_eq(ask(&bench), ERR_TOO_MANY);
    at_ms(&bench, 0); /* a time before the last one adds nothing */
    ck_assert_int_eq(ask(&bench), ERR_TOO_MANY);
    expect_failures(&bench, AUTH_RATE, 5);
    keys_close(bench.keys);
}
END_TEST

START_TEST(a_rate_below_one_a_second_allows_one_and_says_how_long_to_wait)
{
    struct bench bench;
    bench_open(&bench, "predict rate=0.1/s");
    ck_assert_int_eq(ask(&bench), ERR_OK);
    at_ms(&bench, 2500);
    ck_assert_int_eq(ask(&bench), ERR_TOO_MANY);
    ck_assert_uint_eq(bench.grant.retry_after_s, 8);
    at_ms(&bench, 10001);
    ck_assert_int_eq(ask(&bench), ERR_OK);
    keys_close(bench.keys);
}
END_TEST

START_TEST(auth_limits_the_concurrent_requests_of_a_key)
{
    struct bench bench;
    struct auth_grant first, second;
    bench_open(&bench, "predict concurrency=2");
    ck_assert_int_eq(ask(&bench), ERR_OK);
    first = bench.grant;
    ck_assert_int_eq(ask(&bench), ERR_OK);
    second = bench.grant;
    ck_assert_int_eq(ask(&bench), ERR_TOO_MANY);
    ck_assert_str_eq(bench.err.text, "more than this key's 2 requests at once");
    ck_assert_uint_eq(bench.grant.retry_after_s, 1);
    auth_release(&bench.grant); /* nothing is held by a refusal */
    ck_assert_int_eq(ask(&bench), ERR_TOO_MANY);
    auth_release(&first);
    ck_assert_int_eq(ask(&bench), ERR_OK);
    auth_release(&bench.grant);
    auth_release(&second);
    expect_failures(&bench, AUTH_CONCURRENCY, 2);
    keys_close(bench.keys);
}
END_TEST

START_TEST(a_refusal_uses_nothing_of_the_rate)
{
    struct bench bench;
    bench_open(&bench, "predict rate=2/s concurrency=1");
    ck_assert_int_eq(ask(&bench), ERR_OK);
    struct auth_grant held = bench.grant;
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(ask(&bench), ERR_TOO_MANY);
    auth_release(&held);
    bench.question.scope = SCOPE_ADMIN;
    ck_assert_int_eq(ask(&bench), ERR_FORBIDDEN);
    bench.question.scope = SCOPE_PREDICT;
    ck_assert_int_eq(ask(&bench), ERR_OK);
    auth_release(&bench.grant);
    ck_assert_int_eq(ask(&bench), ERR_TOO_MANY);
    ck_assert_uint_eq(auth_failures(&bench.auth, AUTH_RATE), 1);
    keys_close(bench.keys);
}
END_TEST

enum { THREADS = 4, TURNS = 2000 };

static void *take_turns(void *context)
{
    struct bench *bench = context;
    for (int i = 0; i < TURNS; i++) {
        struct auth_grant grant;
        struct err err = {0};
        if (auth_check(&bench->auth, &bench->question, &grant, &err) == ERR_OK)
            auth_release(&grant);
    }
    return NULL;
}

START_TEST(threads_lose_no_place_of_a_key)
{
    pthread_t threads[THREADS];
    struct bench bench;
    bench_open(&bench, "predict concurrency=2 rate=999999/s");
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, take_turns, &bench), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    ck_assert_int_eq(ask(&bench), ERR_OK);
    ck_assert_int_eq(ask(&bench), ERR_OK);
    ck_assert_int_eq(ask(&bench), ERR_TOO_MANY);
    keys_close(bench.keys);
}
END_TEST

SUITE("auth", a_certificate_stands_for_a_key_where_none_is_sent,
      auth_tells_a_request_without_a_key_that_it_needs_one,
      an_unknown_key_is_an_invalid_token_and_is_not_repeated,
      a_key_passes_whatever_the_case_of_its_scheme_and_the_blanks_about_it,
      a_key_is_taken_to_the_end_of_its_last_day, a_key_opens_only_what_its_scopes_say,
      auth_refuses_every_key_for_a_route_without_a_scope,
      auth_asks_for_no_key_on_open_routes_or_without_keys,
      auth_with_an_empty_set_of_keys_refuses_all_requests,
      a_rate_allows_a_seconds_worth_at_once_and_then_its_pace,
      a_rate_below_one_a_second_allows_one_and_says_how_long_to_wait,
      auth_limits_the_concurrent_requests_of_a_key, a_refusal_uses_nothing_of_the_rate,
      threads_lose_no_place_of_a_key)
