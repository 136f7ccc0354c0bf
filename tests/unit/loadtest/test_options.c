#include "loadtest/options.h"
#include "tests/support/suite.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

static enum cli_action action; /* of the last load */

static enum err_code load_telling(struct options *options, const char *const *arguments,
                                  struct err *err)
{
    char *argv[16] = {(char[]){"attnd-load"}};
    static char copy[16][128]; /* the options borrow them */
    int argc = 1;
    for (; arguments[argc - 1] != NULL; argc++) {
        snprintf(copy[argc], sizeof copy[argc], "%s", arguments[argc - 1]);
        argv[argc] = copy[argc];
    }
    return options_load(options, &action, argc, argv, err);
}

static enum err_code load(struct options *options, const char *const *arguments)
{
    struct err err = {0};
    return load_telling(options, arguments, &err);
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
        "http://127.0.0.1:80x",     "http://127.1:80",          "ftp://127.0.0.1:80",
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
    ck_assert_uint_eq(ntohl(options.target.address.v4.sin_addr.s_addr), 0x7F090001);
    ck_assert_uint_eq(ntohs(options.target.address.v4.sin_port), 81);
    ck_assert_str_eq(options.target.authority, "127.9.0.1:81");
    ck_assert_str_eq(options.target.path, "/v1");
    ck_assert_int_eq(LOAD(&options, "--text", "x", "--url", "http://localhost:82"), ERR_OK);
    ck_assert_str_eq(options.target.path, "/predict");
    ck_assert_int_eq(LOAD(&options, "--text", "x", "--url", "http://[::1]:83/"), ERR_OK);
    ck_assert_int_eq(options.target.address.any.sa_family, AF_INET6);
}
END_TEST

/* An address for documents, RFC 5737; nothing is sent. */
START_TEST(options_read_another_machine_that_is_claimed)
{
    struct options options;
    ck_assert_int_eq(
        LOAD(&options, "--text", "x", "--url", "http://192.0.2.1:80", "--yes-this-is-mine"),
        ERR_OK);
    ck_assert_uint_eq(ntohl(options.target.address.v4.sin_addr.s_addr), 0xC0000201);
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

/* The refusal of these arguments. */
static void refused(const char *why, const char *const *arguments)
{
    struct options options;
    struct err err = {0};
    ck_assert_int_eq(load_telling(&options, arguments, &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, why);
}

#define REFUSED(why, ...) refused(why, (const char *const[]){__VA_ARGS__, NULL})

START_TEST(options_say_what_is_wrong)
{
    struct options options;
    REFUSED("nothing to send: give --text, --text-file, --texts-jsonl, --image or --get", "--json");
    REFUSED("--text: needs a value: TEXT", "--text");
    REFUSED("unexpected argument 'text'; --help shows the usage", "text");
    REFUSED("unexpected argument '-json'; --help shows the usage", "--text", "x", "-json");
    REFUSED("unknown option '--jso'; did you mean '--json'?", "--json", "--jso");
    REFUSED("unknown option '--text-'; did you mean '--text'?", "--text-");
    REFUSED("--json: takes no value", "--text", "x", "--json=1");
    REFUSED("--connections: must be a whole number from 1 to 10000", "--text", "x", "--connections",
            "1.5");
    REFUSED("--connections: must be a whole number from 1 to 10000", "--text", "x", "--connections",
            "0");
    REFUSED("--connections: must be a whole number from 1 to 10000", "--connections", "10001");
    REFUSED("--connections: must be a whole number from 1 to 10000", "--connections=");
    REFUSED("--tolerance: must be a number from 0 to 1", "--tolerance", "1.001");
    REFUSED("--tolerance: must be a number from 0 to 1", "--tolerance", "0.5x");
    REFUSED("--poisson needs --rate", "--text", "x", "--poisson");
    REFUSED("--top-k: expected an integer or \"all\"", "--text", "x", "--top-k", "most");
    REFUSED("--top-k: must not be empty", "--text", "x", "--top-k", "");
    REFUSED("--top-k: expected an integer or \"all\"", "--text", "x", "--top-k", "2x");
    REFUSED("--get: expected a path that begins with '/'", "--get", "healthz");
    REFUSED("--get: expected a path that begins with '/'", "--get", "/ok", "--get", "/a b");
    REFUSED("--weight: no source stands before it", "--weight", "3", "--text", "x");
    REFUSED("--accept: neither a status from 200 to 599 nor one of the outcomes that --help lists",
            "--accept", "199");
    REFUSED("--url: expected http://HOST:PORT[/PATH] or https://", "--text", "x", "--url",
            "httpss://[::1]:1");
    REFUSED("--url: expected a port from 1 to 65535", "--text", "x", "--url", "http://[::1]:0");
    REFUSED("--url: 192.0.2.1 is not this machine (127.0.0.0/8, [::1], localhost); add "
            "--yes-this-is-mine if you may put load on it",
            "--text", "x", "--url", "http://192.0.2.1:80");
    REFUSED("--url: the path holds a blank, '?' or '#'", "--text", "x", "--url",
            "http://127.0.0.1:80/a?b");
    ck_assert_int_eq(LOAD(&options, "--help"), ERR_OK);
    ck_assert_int_eq(action, CLI_HELP);
    ck_assert_int_eq(LOAD(&options, "--version", "--url", "nowhere"), ERR_OK);
    ck_assert_int_eq(action, CLI_VERSION);
    ck_assert_int_eq(LOAD(&options, "--text", "x", "--poisson", "--rate", "0.5", "--top-k", "10"),
                     ERR_OK);
    ck_assert(options.poisson && options.rate == 0.5);
}
END_TEST

START_TEST(options_have_the_defaults_that_help_tells)
{
    struct options options;
    ck_assert_int_eq(LOAD(&options, "--text", "x"), ERR_OK);
    ck_assert_uint_eq(ntohs(options.target.address.v4.sin_port), 8080);
    ck_assert_str_eq(options.target.authority, "127.0.0.1:8080");
    ck_assert_uint_eq(options.connections, 8);
    ck_assert_uint_eq(options.requests, 0);
    ck_assert_uint_eq(options.seed, 1);
    ck_assert_uint_eq(options.backlog, 100000);
    ck_assert_uint_eq(options.timeout_ms, 30000);
    ck_assert(options.tolerance == 1e-5 && options.rate == 0);
    for (int i = 0; i < OUTCOME_COUNT; i++)
        ck_assert(options.accept[i] == (i == OUTCOME_OK));
    for (int status = 0; status <= OPTIONS_STATUS_MAX; status++)
        ck_assert(options.accept_status[status] == (status == 200));
}
END_TEST

/* 63 bytes and the NUL after them. */
START_TEST(options_bound_the_host_and_the_number_of_sources)
{
    char url[96] = "http://";
    memset(url + 7, '1', 63);
    REFUSED("--url: expected a port from 1 to 65535", "--text", "x", "--url", url);
    url[70] = '1';
    REFUSED("--url: the host is longer than 63 bytes", "--text", "x", "--url", url);

    static char get[] = "--get", path[] = "/x";
    char *argv[2 * (OPTIONS_SOURCES_MAX + 1) + 1] = {(char[]){"attnd-load"}};
    struct options options;
    struct err err = {0};
    int argc = 1;
    for (int i = 0; i <= OPTIONS_SOURCES_MAX; i++) {
        argv[argc++] = get;
        argv[argc++] = path;
    }
    ck_assert_int_eq(options_load(&options, &action, argc - 2, argv, &err), ERR_OK);
    ck_assert_uint_eq(options.source_count, OPTIONS_SOURCES_MAX);
    ck_assert_int_eq(options_load(&options, &action, argc, argv, &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "--get: more than 256 sources");
}
END_TEST

START_TEST(options_of_tls_need_https_and_each_other)
{
    struct options options;
    REFUSED("--ca-file, --insecure, --cert-file and --key-pem-file need a --url with https://",
            "--text", "x", "--ca-file", "a");
    REFUSED("--ca-file, --insecure, --cert-file and --key-pem-file need a --url with https://",
            "--text", "x", "--insecure", "--url", "http://127.0.0.1:81");
    REFUSED("--insecure and --ca-file exclude each other", "--text", "x", "--url",
            "https://127.0.0.1:81", "--insecure", "--ca-file", "a");
    REFUSED("--cert-file and --key-pem-file need each other", "--text", "x", "--url",
            "https://127.0.0.1:81", "--cert-file", "a");
    ck_assert_int_eq(LOAD(&options, "--text", "x", "--url", "https://[::1]:83/v1", "--ca-file", "a",
                          "--cert-file", "b", "--key-pem-file", "c"),
                     ERR_OK);
    ck_assert(options.target.is_secure);
    ck_assert_str_eq(options.target.host, "::1");
    ck_assert_str_eq(options.target.authority, "[::1]:83");
    ck_assert_int_eq(LOAD(&options, "--text", "x", "--url", "https://localhost:83"), ERR_OK);
    ck_assert_str_eq(options.target.host, "localhost");
    ck_assert_int_eq(LOAD(&options, "--text", "x", "--url", "http://localhost:83"), ERR_OK);
    ck_assert(!options.target.is_secure);
}
END_TEST

SUITE("options", options_of_tls_need_https_and_each_other, options_bound_every_run,
      options_refuse_targets_off_this_machine, options_read_loopback_targets,
      options_read_another_machine_that_is_claimed, options_weigh_the_source_before,
      options_accept_statuses_and_outcomes_by_name, options_say_what_is_wrong,
      options_have_the_defaults_that_help_tells, options_bound_the_host_and_the_number_of_sources)
