#include "loadtest/options.h"
#include "tests/support/suite.h"

#include <arpa/inet.h>
#include <stdio.h>

static enum err_code load(struct options *options, const char *const *arguments)
{
    char *argv[16] = {(char[]){"attnd-load"}};
    char copy[16][128];
    int argc = 1;
    for (; arguments[argc - 1] != NULL; argc++) {
        snprintf(copy[argc], sizeof copy[argc], "%s", arguments[argc - 1]);
        argv[argc] = copy[argc];
    }
    struct err err = {0};
    return options_load(options, argc, argv, &err);
}

#define LOAD(options, ...) load(options, (const char *const[]){__VA_ARGS__, NULL})

START_TEST(options_bound_every_run)
{
    struct options options;
    ck_assert_int_eq(LOAD(&options, "--text", "x"), ERR_OK);
    ck_assert(options.duration_s == 10);
    ck_assert_int_eq(LOAD(&options, "--text=x", "--requests=5"), ERR_OK);
    ck_assert(options.duration_s == 600 && options.requests == 5);
    ck_assert_int_eq(LOAD(&options, "--text", "x", "--duration", "0"), ERR_UNUSABLE);
    ck_assert_int_eq(LOAD(&options, "--text", "x", "--duration", "1e9"), ERR_UNUSABLE);
    ck_assert_int_eq(LOAD(&options, "--text", "x", "--duration", "nan"), ERR_UNUSABLE);
}
END_TEST

START_TEST(options_refuse_targets_off_this_machine)
{
    static const char *const refused[] = {
        "http://10.0.0.1:80",       "http://128.0.0.1:80",      "http://0.0.0.0:80",
        "http://example.com:80",    "http://[::2]:80",          "http://[::ffff:127.0.0.1]:80",
        "http://127.0.0.1.evil:80", "http://127.0.0.1",         "http://127.0.0.1:0",
        "http://127.0.0.1:80x",     "http://127.1:80",          "https://127.0.0.1:80",
        "http://127.0.0.1:65536",   "http://user@127.0.0.1:80", "",
        "http://127.0.0.1:80/a b",
    };
    struct options options;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        ck_assert_msg(LOAD(&options, "--text", "x", "--url", refused[i]) == ERR_UNUSABLE,
                      "accepted: %s", refused[i]);
}
END_TEST

START_TEST(options_read_loopback_targets)
{
    struct options options;
    ck_assert_int_eq(LOAD(&options, "--text", "x", "--url", "http://127.9.0.1:81/v1"), ERR_OK);
    ck_assert_uint_eq(ntohl(options.address.v4.sin_addr.s_addr), 0x7F090001);
    ck_assert_uint_eq(ntohs(options.address.v4.sin_port), 81);
    ck_assert_str_eq(options.authority, "127.9.0.1:81");
    ck_assert_str_eq(options.path, "/v1");
    ck_assert_int_eq(LOAD(&options, "--text", "x", "--url", "http://localhost:82"), ERR_OK);
    ck_assert_str_eq(options.path, "/predict");
    ck_assert_int_eq(LOAD(&options, "--text", "x", "--url", "http://[::1]:83/"), ERR_OK);
    ck_assert_int_eq(options.address.any.sa_family, AF_INET6);
}
END_TEST

START_TEST(options_weigh_the_source_before)
{
    struct options options;
    ck_assert_int_eq(LOAD(&options, "--text", "x", "--image", "i", "--weight", "3"), ERR_OK);
    ck_assert_uint_eq(options.source_count, 2);
    ck_assert_uint_eq(options.source[0].weight, 1);
    ck_assert_uint_eq(options.source[1].weight, 3);
    ck_assert_int_eq(options.source[1].kind, OPTIONS_IMAGE);
    ck_assert_int_eq(LOAD(&options, "--weight", "3", "--text", "x"), ERR_UNUSABLE);
}
END_TEST

START_TEST(options_accept_statuses_and_outcomes_by_name)
{
    struct options options;
    ck_assert_int_eq(LOAD(&options, "--text", "x", "--accept", "422", "--accept", "rejected"),
                     ERR_OK);
    ck_assert(options.accept_status[422] && options.accept[OUTCOME_REJECTED]);
    ck_assert(!options.accept[OUTCOME_LOST] && !options.accept_status[429]);
    ck_assert_int_eq(LOAD(&options, "--text", "x", "--accept", "fine"), ERR_UNUSABLE);
    ck_assert_int_eq(LOAD(&options, "--text", "x", "--accept", "600"), ERR_UNUSABLE);
}
END_TEST

START_TEST(options_refuse_wrong_use)
{
    struct options options;
    ck_assert_int_eq(LOAD(&options, "--json"), ERR_UNUSABLE);
    ck_assert_int_eq(LOAD(&options, "--text"), ERR_UNUSABLE);
    ck_assert_int_eq(LOAD(&options, "text"), ERR_UNUSABLE);
    ck_assert_int_eq(LOAD(&options, "--text", "x", "--json=1"), ERR_UNUSABLE);
    ck_assert_int_eq(LOAD(&options, "--text", "x", "--connections", "1.5"), ERR_UNUSABLE);
    ck_assert_int_eq(LOAD(&options, "--text", "x", "--connections", "0"), ERR_UNUSABLE);
    ck_assert_int_eq(LOAD(&options, "--text", "x", "--poisson"), ERR_UNUSABLE);
    ck_assert_int_eq(LOAD(&options, "--text", "x", "--top-k", "most"), ERR_UNUSABLE);
    ck_assert_int_eq(LOAD(&options, "--get", "healthz"), ERR_UNUSABLE);
    ck_assert_int_eq(LOAD(&options, "--help"), ERR_OK);
}
END_TEST

SUITE("options", options_bound_every_run, options_refuse_targets_off_this_machine,
      options_read_loopback_targets, options_weigh_the_source_before,
      options_accept_statuses_and_outcomes_by_name, options_refuse_wrong_use)
