/* test_http_corpus.c - many requests over real sockets: the corpus of gunicorn's tests
 * (tests/data/http), a good request cut at every byte, and random mutations of it. */
#include "tests/unit/server/http/http_transcript.h"

#include <dirent.h>

/* ---- the corpus ---- */

/* A strict server differs from gunicorn here on purpose, or gunicorn's test does not send what its
 * head announces. All other valid requests are served, once each has the Host it may lack. */
static const struct {
    const char *name, *statuses, *reason;
} differences[] = {
    {"001.bin", "400", "PUT with a body: only POST may have one"},
    {"005.bin", "400", "a fragment in the target"},
    {"008.bin", "400", "GET with a body"},
    {"009.bin", "400", "Transfer-Encoding: identity"},
    {"020.bin", "400", "GET with a body"},
    {"022.bin", "200 400", "the second of two pipelined requests lacks Host"},
    {"018.bin", "200 400", "the second of two pipelined requests lacks Host"},
    {"023.bin", "200", "the second of two pipelined requests comes after a chunked body"},
    {"024.bin", "413", "a head of more than 16 KiB"},
    {"025.bin", "400", "several Transfer-Encoding values"},
    {"025_line.bin", "400", "several Transfer-Encoding values"},
    {"027.bin", "400", "bytes above 0x7F in the target"},
    {"028.bin", "400", "space before a colon"},
    {"029.bin", "400", "several Transfer-Encoding values"},
    {"030.bin", "400", "several Transfer-Encoding values"},
    {"031.bin", "405", "unknown method"},
    {"031compat.bin", "405", "unknown method"},
    {"031compat2.bin", "405", "unknown method"},
    {"040.bin", "400", "GET with a body"},
    {"040_compat.bin", "400", "GET with a body"},
    {"099.bin", "", "announces more bytes than the file holds"},
    {"compat_obs_fold.bin", "400", "obsolete folding"},
    {"compat_obs_fold_huge.bin", "400", "obsolete folding"},
    {"pp_01.bin", "400", "PROXY line"},
    {"pp_02.bin", "400", "PROXY line"},
    {"pp_04.bin", "400", "PROXY header, binary"},
    {"pp_05.bin", "400", "PROXY header, binary"},
    {"rfc9110_body_framing_get_cl_nonzero_01.bin", "400", "GET with a body"},
    {"rfc9112_smuggle_gzip_chunked_01.bin", "400", "several Transfer-Encoding values"},
    {"rfc9112_smuggle_te_identity_chunked_01.bin", "400", "several Transfer-Encoding values"},
    {"rfc9112_target_asterisk_options_01.bin", "405", "OPTIONS"},
    {"rfc9112_target_authority_connect_01.bin", "405", "CONNECT"},
    {"rfc9112_target_authority_ipv6_01.bin", "405", "CONNECT"},
};

/* libmicrohttpd 1.0.1 differs further: it takes the LF behind a chunk's extension for the chunk's
 * first byte, and then does not find the CR LF behind the chunk. */
static const struct {
    const char *name, *statuses, *reason;
} newer_differences[] = {
    {"013.bin", "400", "an extension of a chunk"},
    {"rfc9112_chunked_ext_quoted_01.bin", "400", "an extension of a chunk"},
};

static const char *expected_statuses(const char *name)
{
    for (size_t i = 0; i < sizeof newer_differences / sizeof newer_differences[0]; i++)
        if (!library_is_lax() && strcmp(newer_differences[i].name, name) == 0)
            return newer_differences[i].statuses;
    for (size_t i = 0; i < sizeof differences / sizeof differences[0]; i++)
        if (strcmp(differences[i].name, name) == 0)
            return differences[i].statuses;
    return "200";
}

struct raw_case {
    char bytes[512 * 1024];
    size_t len;
};

static void read_case(struct raw_case *out, const char *dir, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *file = fopen(path, "rb");
    ck_assert_ptr_nonnull(file);
    out->len = fread(out->bytes, 1, sizeof out->bytes - 1, file);
    out->bytes[out->len] = '\0';
    fclose(file);
}

/* Most of the corpus predates the rule that HTTP/1.1 needs a Host, which would answer for it. */
static bool add_host(struct raw_case *raw)
{
    static const char host[] = "Host: h\r\n";
    char *line_end = memmem(raw->bytes, raw->len, "\r\n", 2);
    if (line_end == NULL || line_end - raw->bytes < 8 || memcmp(line_end - 8, "HTTP/1.1", 8) ||
        memmem(raw->bytes, raw->len, "\nHost:", 6) || memmem(raw->bytes, raw->len, "\nHOST:", 6))
        return false;
    size_t at = (size_t)(line_end - raw->bytes) + 2;
    memmove(raw->bytes + at + sizeof host - 1, raw->bytes + at, raw->len - at);
    memcpy(raw->bytes + at, host, sizeof host - 1);
    raw->len += sizeof host - 1;
    return true;
}

static void run_case(struct app *app, const char *bytes, size_t len, struct exchange_text *got)
{
    got->len = 0;
    int fd = client_open(app);
    client_send(fd, bytes, len);
    client_wait(fd, 30); /* an end of file at once would make the server give up on what it read */
    shutdown(fd, SHUT_WR);
    drain_socket(fd, got);
    close(fd);
}

static int is_case(const struct dirent *entry)
{
    return strstr(entry->d_name, ".bin") != NULL;
}

static void each_case(const char *dir, int count_wanted, struct app *app,
                      void (*check)(struct app *app, const char *name, struct raw_case *raw))
{
    static struct raw_case raw;
    struct dirent **entries;
    int count = scandir(dir, &entries, is_case, alphasort);
    ck_assert_int_eq(count, count_wanted);
    for (int i = 0; i < count; i++) {
        read_case(&raw, dir, entries[i]->d_name);
        check(app, entries[i]->d_name, &raw);
        free(entries[i]);
    }
    free(entries);
}

static void check_valid(struct app *app, const char *name, struct raw_case *raw)
{
    struct exchange_text got;
    char statuses[64];
    run_case(app, raw->bytes, raw->len, &got);
    list_statuses(got.text, statuses, sizeof statuses);
    if (add_host(raw)) {
        ck_assert_msg(strncmp(statuses, "400", 3) == 0, "%s without Host: %s", name, statuses);
        run_case(app, raw->bytes, raw->len, &got);
        list_statuses(got.text, statuses, sizeof statuses);
    }
    ck_assert_msg(strcmp(statuses, expected_statuses(name)) == 0, "%s: %s, %s expected", name,
                  statuses, expected_statuses(name));
}

START_TEST(http_serves_the_valid_corpus_or_differs_for_a_listed_reason)
{
    struct app *app = start_quick();
    each_case("tests/data/http/valid", 63, app, check_valid);
    app_stop(app);
}
END_TEST

/* Only the request on the first line may run. */
static void check_nothing_hidden(const struct app *app, const char *name, unsigned begun)
{
    unsigned now = app->begins;
    ck_assert_msg(now - begun <= 1, "%s began %u requests", name, now - begun);
    ck_assert_msg(strstr(app->paths, "/after") == NULL, "%s ran what it hid", name);
}

static void check_invalid(struct app *app, const char *name, struct raw_case *raw)
{
    struct exchange_text got;
    unsigned begun = app->begins;
    run_case(app, raw->bytes, raw->len, &got);
    check_nothing_hidden(app, name, begun);
    if (!add_host(raw))
        return;
    begun = app->begins;
    run_case(app, raw->bytes, raw->len, &got);
    check_nothing_hidden(app, name, begun);
}

START_TEST(http_runs_nothing_hidden_in_the_invalid_corpus)
{
    struct app *app = start_quick();
    each_case("tests/data/http/invalid", 74, app, check_invalid);
    ck_assert_uint_eq(client_ask(app, "GET / HTTP/1.1\r\nHost: h\r\n\r\n").status, 200);
    app_stop(app);
}
END_TEST

/* ---- cuts and mutations ---- */

static char good[] = "POST /p?a=b%20c HTTP/1.1\r\nHost: h\r\nX-A: b\r\n"
                     "Transfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n0\r\nT: u\r\n\r\n";

enum { AT_ONCE = 64 };

/* A start without the extension if the library refuses it (newer_differences). */
static struct app *start_for_good(void)
{
    if (!library_is_lax())
        memcpy(strstr(good, "5;x=y"), "00005", 5);
    return start_quick();
}

/* Sends requests, each on a connection that is then closed on this side, and waits until the server
 * has closed all of them. */
static void throw_at(const struct app *app, char requests[][sizeof good], const size_t *lens,
                     int count)
{
    int fds[AT_ONCE];
    for (int i = 0; i < count; i++) {
        fds[i] = client_open(app);
        client_send(fds[i], requests[i], lens[i]);
        shutdown(fds[i], SHUT_WR);
    }
    for (int i = 0; i < count; i++) {
        struct exchange_text got = {.len = 0};
        drain_socket(fds[i], &got);
        ck_assert_msg(client_is_closed(fds[i]), "request %d: %.*s", i, (int)lens[i], requests[i]);
        close(fds[i]);
    }
}

START_TEST(http_survives_a_request_cut_at_every_byte)
{
    struct app *app = start_for_good();
    for (size_t len = 0; len < sizeof good - 1;) {
        char requests[AT_ONCE][sizeof good];
        size_t lens[AT_ONCE];
        int count = 0;
        for (; count < AT_ONCE && len < sizeof good - 1; count++, len++) {
            memcpy(requests[count], good, sizeof good);
            lens[count] = len;
        }
        throw_at(app, requests, lens, count);
    }
    ck_assert_uint_eq(app->begins, 0);
    ck_assert_uint_eq(client_ask(app, good).status, 200);
    app_stop(app);
}
END_TEST

START_TEST(http_survives_random_mutations)
{
    struct app *app = start_for_good();
    unsigned seed = 1;
    const char *count = getenv("ATTND_HTTP_MUTATIONS");
    for (long left = count != NULL ? strtol(count, NULL, 10) : 1000; left > 0; left -= AT_ONCE) {
        char requests[AT_ONCE][sizeof good];
        size_t lens[AT_ONCE];
        for (int i = 0; i < AT_ONCE; i++) {
            memcpy(requests[i], good, sizeof good);
            lens[i] = sizeof good - 1;
            for (int edit = 0; edit < 3; edit++)
                requests[i][(size_t)rand_r(&seed) % (sizeof good - 1)] =
                    "\0\r\n :;%0af\x80\xFF?,-"[rand_r(&seed) % 15];
        }
        throw_at(app, requests, lens, AT_ONCE);
    }
    ck_assert_uint_eq(client_ask(app, good).status, 200);
    app_stop(app);
}
END_TEST

SUITE("http corpus", http_serves_the_valid_corpus_or_differs_for_a_listed_reason,
      http_runs_nothing_hidden_in_the_invalid_corpus, http_survives_a_request_cut_at_every_byte,
      http_survives_random_mutations)
