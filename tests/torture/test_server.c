/* The server with every call to the C library failing in turn. It runs on a test's main thread, as
 * in attnd, and the client on another, whom nothing fails. */
#include "config/config_load.h"
#include "server/auth/keys.h"
#include "server/http/tls.h"
#include "server/server.h"
#include "tests/support/contract.h"
#include "tests/support/tempdir.h"
#include "tests/support/tls_fixture.h"
#include "tests/torture/ask.h"
#include "tests/torture/faults.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PNG "tests/data/examples/wafer_map.png"
#define JPEG "tests/data/images/made/rgb.jpg"
#define PROGRESSIVE "tests/data/images/made/rgb_progressive.jpg"
#define REPORT "vdd_io 3.97 V [3.178, 3.6] FAIL"

enum { SETTLE_MS = 5000, ARGUMENTS_MAX = 32, WHY = 512 };

/* -------------------------------------------------------------------------------------------- */
/* A server on this thread, a client on another */

struct party {
    const char *const *options;
    void (*client)(struct party *party); /* on its own thread, once the server is ready */
    unsigned port;
    bool ready; /* the server said so */
    int ready_fd;
    /* Used by the clients. */
    struct asked *asked;
    unsigned bad;
    enum drill_outcome outcome;
    char why[WHY];
};

static char *const no_environment[] = {NULL};

/* The arguments go on living for a reload. */
static void load_config(struct config *config, struct reload_source *source,
                        const char *const *options)
{
    static const char *const fixed[] = {
        "attnd",  "--listen",  "127.0.0.1:0", "--log-level",          "debug", "--linear-backend",
        "native", "--workers", "1",           "--threads-per-worker", "1"};
    static const char *argv[ARGUMENTS_MAX];
    int argc = 11;
    memset(argv, 0, sizeof argv);
    memcpy(argv, fixed, sizeof fixed);
    enum config_action action;
    struct err err = {0};
    for (; *options != NULL && argc < ARGUMENTS_MAX - 1; options++)
        argv[argc++] = *options;
    union {
        const char **from;
        char *const *to;
    } arguments = {.from = argv}; /* config_load changes none of them */
    *source =
        (struct reload_source){.argc = argc, .argv = arguments.to, .environment = no_environment};
    ck_assert_msg(config_load(config, &action, argc, arguments.to, no_environment, &err) == ERR_OK,
                  "%s", err.text);
}

/* The ready line, unless the server gives up before. */
static void await_ready(struct party *party, int fd)
{
    char line[512];
    size_t len = 0;
    while (len + 1 < sizeof line && read(fd, line + len, 1) == 1 && line[len] != '\n')
        len++;
    line[len] = '\0';
    const char *port = strstr(line, "127.0.0.1:");
    party->ready = len > 0;
    party->port = port != NULL ? (unsigned)strtoul(port + 10, NULL, 10) : 0;
}

static void *client_main(void *context)
{
    struct party *party = context;
    faults_spare_this_thread(true);
    await_ready(party, party->ready_fd);
    if (party->port != 0)
        party->client(party);
    if (party->ready)
        kill(getpid(), SIGTERM);
    return NULL;
}

static void silence_log(void)
{
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (fd >= 0 && getenv("ATTND_TEST_LOG") == NULL)
        dup2(fd, STDERR_FILENO);
    close(fd);
}

/* The client's thread must not take the signals that the server waits for. */
static pthread_t start_client(struct party *party, int ready_fd)
{
    pthread_t thread;
    sigset_t all, before;
    party->ready_fd = ready_fd;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    ck_assert_int_eq(pthread_create(&thread, NULL, client_main, party), 0);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return thread;
}

/* Faults that are armed meanwhile make only the server's threads fail. */
static enum err_code serve(struct party *party, struct err *err)
{
    struct config config;
    struct reload_source source;
    int fds[2];
    faults_spare_this_thread(true);
    load_config(&config, &source, party->options);
    ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
    FILE *ready = fdopen(fds[1], "w");
    pthread_t client = start_client(party, fds[0]);
    faults_spare_this_thread(false);
    server_run(&config, &source, ready, err);
    faults_spare_this_thread(true);
    fclose(ready);
    pthread_join(client, NULL);
    close(fds[0]);
    config_deinit(&config);
    faults_spare_this_thread(false);
    return err->code;
}

/* -------------------------------------------------------------------------------------------- */
/* Drills of requests */

static const char *const both[] = {"--model", "vit=tests/data/golden/vit-0", "--model",
                                   "bert=tests/data/golden/bert-3", NULL};

/* The digests are computed behind the first requests, and are in the answers. */
static void await_digests(unsigned port)
{
    for (int i = 0; i < 1000; i++) {
        struct http_answer answer = http_get(port, "/models");
        bool known = answer.body != NULL && strstr(answer.body, "\"digest\":null") == NULL;
        http_answer_free(&answer);
        if (known)
            return;
        usleep(10000);
    }
}

static void drill_asked(struct party *party)
{
    await_digests(party->port);
    if (!ask_learn(party->asked, party->port, party->why, WHY)) {
        printf("bad: %s\n", party->why);
        party->bad = 1;
        return;
    }
    struct drill drill = {.name = party->asked->name,
                          .run = ask,
                          .context = party->asked,
                          .only = party->asked->only,
                          .but = party->asked->accepts ? party->asked->but : "accept",
                          .settle_ms = SETTLE_MS};
    party->bad = drill_run(&drill);
    ask_forget(party->asked);
}

static void drill_request_of(const char *const *options, struct asked asked, int status)
{
    struct err err = {0};
    struct party party = {.options = options, .client = drill_asked, .asked = &asked};
    silence_log();
    ck_assert_msg(serve(&party, &err) == ERR_OK, "%s", err.text);
    ck_assert_int_eq(asked.status, status);
    ck_assert_uint_eq(party.bad, 0);
}

static void drill_request(struct asked asked)
{
    drill_request_of(both, asked, 200);
}

/* The body of a POST /predict; free it. */
static void drill_post(struct asked asked, char *body, size_t len)
{
    asked.body = body;
    asked.body_len = len;
    asked.reply = ASK_JSON;
    drill_request(asked);
    free(body);
}

#define JSON_HEAD                                                                                  \
    "POST /predict HTTP/1.1\r\nContent-Type: application/json\r\nX-Request-Id: torture\r\n"

static void drill_json(const char *name, char *json)
{
    drill_post((struct asked){.name = name, .head = JSON_HEAD}, json, strlen(json));
}

static void drill_file(const char *name, const char *head, const char *path)
{
    size_t len;
    char *bytes = contract_file(path, &len);
    drill_post((struct asked){.name = name, .head = head}, bytes, len);
}

START_TEST(a_text_is_answered_rightly_or_refused)
{
    char *json = contract_format("{\"text\":\"%s\",\"top_k\":\"all\"}", REPORT);
    drill_post((struct asked){.name = "POST a text", .head = JSON_HEAD, .accepts = true}, json,
               strlen(json));
}
END_TEST

START_TEST(a_text_with_every_option_is_answered_rightly_or_refused)
{
    drill_json("POST a text with options",
               contract_format("{\"text\":\"%s\",\"model\":\"bert\",\"id\":\"one\",\"context\":"
                               "{\"lot\":\"A1\"},\"deadline_ms\":60000,\"explain\":true}",
                               REPORT));
}
END_TEST

/* Nobody listens at the endpoint for spans. */
START_TEST(a_text_with_a_trace_is_answered_rightly_or_refused)
{
    static const char *const options[] = {"--model", "bert=tests/data/golden/bert-3",
                                          "--otlp-endpoint", "http://127.0.0.1:1/", NULL};
    char *json = contract_format("{\"text\":\"%s\",\"top_k\":\"all\"}", REPORT);
    drill_request_of(options,
                     (struct asked){.name = "POST a text with a trace",
                                    .head = JSON_HEAD
                                    "tracestate: a=1\r\ntracestate: b=2\r\ntraceparent: "
                                    "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-"
                                    "01\r\n",
                                    .accepts = true,
                                    .body = json,
                                    .body_len = strlen(json),
                                    .reply = ASK_JSON},
                     200);
    free(json);
}
END_TEST

START_TEST(requests_of_one_connection_are_answered_rightly_or_refused)
{
    char *json = contract_format("{\"text\":\"%s\"}", REPORT);
    drill_post((struct asked){.name = "POST texts", .head = JSON_HEAD, .repeated = 2}, json,
               strlen(json));
}
END_TEST

START_TEST(a_png_is_answered_rightly_or_refused)
{
    drill_file("POST a PNG",
               "POST /predict HTTP/1.1\r\nContent-Type: image/png\r\nX-Request-Id: torture\r\n",
               PNG);
}
END_TEST

START_TEST(a_baseline_jpeg_is_answered_rightly_or_refused)
{
    drill_file("POST a JPEG",
               "POST /predict HTTP/1.1\r\nContent-Type: image/jpeg\r\nX-Request-Id: torture\r\n",
               JPEG);
}
END_TEST

START_TEST(a_progressive_jpeg_is_answered_rightly_or_refused)
{
    drill_file("POST a progressive JPEG",
               "POST /predict HTTP/1.1\r\nContent-Type: image/jpeg\r\nX-Request-Id: torture\r\n",
               PROGRESSIVE);
}
END_TEST

START_TEST(an_explained_image_is_answered_with_its_overlay_or_refused)
{
    drill_file("POST an image to be explained",
               "POST /predict?explain=rollout&overlay=true&attention_stats=true HTTP/1.1\r\n"
               "Content-Type: image/png\r\nX-Request-Id: torture\r\n",
               PNG);
}
END_TEST

START_TEST(each_item_of_an_envelope_is_answered_rightly_or_refused)
{
    char *png = contract_file_base64(PNG), *jpeg = contract_file_base64(JPEG);
    drill_json("POST an envelope",
               contract_format("{\"inputs\":[{\"text\":\"%s\"},{\"image\":\"%s\"},{\"text\":\"\"},"
                               "{\"image\":\"%s\"}],\"explain\":true}",
                               REPORT, png, jpeg));
    free(png);
    free(jpeg);
}
END_TEST

START_TEST(a_refused_request_is_refused_for_that_or_for_the_failure)
{
    struct asked asked = {.name = "POST a mistake",
                          .head = JSON_HEAD,
                          .body = "{\"text\":5}",
                          .body_len = 10,
                          .reply = ASK_JSON};
    drill_request_of(both, asked, 422);
}
END_TEST

START_TEST(an_unknown_path_is_refused_for_that_or_for_the_failure)
{
    struct asked asked = {.name = "GET nothing",
                          .head = "GET /nothing HTTP/1.1\r\nX-Request-Id: torture\r\n",
                          .reply = ASK_JSON};
    drill_request_of(both, asked, 404);
}
END_TEST

START_TEST(bad_framing_is_refused_for_that_or_for_the_failure)
{
    struct asked asked = {.name = "POST with two lengths",
                          .head = "POST /predict HTTP/1.1\r\nContent-Length: 4\r\n"
                                  "Content-Type: application/json\r\nX-Request-Id: torture\r\n",
                          .body = "{\"a\"",
                          .body_len = 4,
                          .reply = ASK_JSON};
    drill_request_of(both, asked, 400);
}
END_TEST

/* A client of which nobody knows where it is gets no change of state: 403. */
START_TEST(labels_are_judged_or_refused)
{
    char *json = contract_format("{\"feedback\":[{\"id\":\"unknown\",\"label\":\"a\"},{\"id\":5},"
                                 "{\"id\":\"b\",\"label\":\"c\",\"source\":\"d\"}]}");
    drill_post((struct asked){.name = "POST labels",
                              .but = "getsockname",
                              .accepts = true,
                              .head = "POST /feedback HTTP/1.1\r\nContent-Type: "
                                      "application/json\r\nX-Request-Id: torture\r\n"},
               json, strlen(json));
}
END_TEST

START_TEST(metrics_are_whole_or_refused)
{
    drill_request((struct asked){
        .name = "GET /metrics", .head = "GET /metrics HTTP/1.1\r\n", .reply = ASK_METRICS});
}
END_TEST

START_TEST(the_list_of_models_is_whole_or_refused)
{
    drill_request((struct asked){
        .name = "GET /models", .head = "GET /models HTTP/1.1\r\n", .reply = ASK_JSON});
}
END_TEST

START_TEST(the_document_of_the_interface_is_whole_or_refused)
{
    drill_request((struct asked){
        .name = "GET /openapi.json", .head = "GET /openapi.json HTTP/1.1\r\n", .reply = ASK_JSON});
}
END_TEST

START_TEST(the_page_is_whole_or_refused)
{
    drill_request((struct asked){.name = "GET /", .head = "GET / HTTP/1.1\r\n"});
}
END_TEST

/* A connection that nobody remembers would have no deadline. */
START_TEST(a_silent_client_is_closed_whatever_fails)
{
    static const char *const options[] = {"--model", "bert=tests/data/golden/bert-3",
                                          "--header-timeout-ms", "100", NULL};
    drill_request_of(options, (struct asked){.name = "connect", .only = "malloc"}, 0);
}
END_TEST

/* -------------------------------------------------------------------------------------------- */
/* Configuring and starting */

/* The sanitizer ends the process if it has no memory for a thread that starts. */
#ifdef __SANITIZE_ADDRESS__
static const char *const start_but = "malloc";
#else
static const char *const start_but = NULL;
#endif

static void ask_once(struct party *party)
{
    party->asked->port = party->port;
    party->outcome = ask(party->asked, party->why, WHY);
}

static void learn_once(struct party *party)
{
    await_digests(party->port);
    party->bad = !ask_learn(party->asked, party->port, party->why, WHY);
}

/* An error must name a lack of resources, and not a fault of the input. */
static enum drill_outcome not_served(const struct err *err, char *why, size_t size)
{
    snprintf(why, size, "%s: %s", err_name(err->code), err->text);
    bool memory = faults_armed() != NULL && strcmp(faults_armed()->call, "malloc") == 0;
    bool honest =
        err->code == ERR_NO_MEMORY || err->code == ERR_IO || (err->code == ERR_UNUSABLE && !memory);
    return honest && err->text[0] != '\0' ? DRILL_REFUSED : DRILL_BAD;
}

/* Reads a configuration from a file, the environment and flags. */
static enum drill_outcome configure(const void *context, char *why, size_t size)
{
    union {
        const char *const *from;
        char *const *to;
    } argv = {.from = (const char *const[]){"attnd", "--config", context, "--workers", "2", NULL}},
      environment = {.from = (const char *const[]){"ATTND_INPUTS_MAX=3", NULL}};
    struct config config;
    enum config_action action;
    struct err err = {0};
    if (config_load(&config, &action, 5, argv.to, environment.to, &err))
        return not_served(&err, why, size);
    bool right = config.model_count == 1 && strcmp(config.models[0].name, "first") == 0 &&
                 strcmp(config.models[0].dir, "models/first") == 0 && config.queue_limit == 7 &&
                 config.inputs_max == 3 && config.workers == 2;
    config_deinit(&config);
    snprintf(why, size, "another configuration");
    return right ? DRILL_RIGHT : DRILL_BAD;
}

START_TEST(a_configuration_is_read_or_refused_for_the_failure)
{
    static const char text[] = "{\"models\":[{\"name\":\"first\",\"dir\":\"models/first\"}],"
                               "\"queue_limit\":7}";
    char path[128];
    struct tempdir dir;
    tempdir_open(&dir);
    tempdir_write(&dir, "attnd.json", text, sizeof text - 1);
    snprintf(path, sizeof path, "%s/attnd.json", dir.path);
    struct drill drill = {.name = "configuration", .run = configure, .context = path};
    ck_assert_uint_eq(drill_run(&drill), 0);
    tempdir_close(&dir);
}
END_TEST

/* A set, and the next one that shares what was used of its keys. */
static enum drill_outcome read_keys(const void *context, char *why, size_t size)
{
    struct keys *keys = NULL, *next = NULL;
    struct err err = {0};
    bool is_read = keys_read(&keys, context, NULL, &err) == ERR_OK &&
                   keys_read(&next, context, keys, &err) == ERR_OK;
    bool right = is_read && keys_count(next) == 2 &&
                 keys_at(next, 1)->meter == keys_at(keys, 1)->meter &&
                 keys_find(next, "k", 1) == keys_at(next, 0);
    keys_close(keys);
    keys_close(next);
    snprintf(why, size, "another set");
    return is_read ? right ? DRILL_RIGHT : DRILL_BAD : not_served(&err, why, size);
}

START_TEST(keys_are_read_or_refused_for_the_failure)
{
    static const char text[] =
        "sha256:8254c329a92850f6d539dd376f4816ee2764517da5e0235514af433164480d7a ours predict\n"
        "cert:press press admin rate=1/s expires=2030-01-01\n";
    char path[128];
    struct tempdir dir;
    tempdir_open(&dir);
    tempdir_write(&dir, "keys", text, sizeof text - 1);
    snprintf(path, sizeof path, "%s/keys", dir.path);
    struct drill drill = {.name = "keys", .run = read_keys, .context = path};
    ck_assert_uint_eq(drill_run(&drill), 0);
    tempdir_close(&dir);
}
END_TEST

struct certificate_files {
    char cert[128], key[128], authorities[128];
};

static enum drill_outcome read_certificate(const void *context, char *why, size_t size)
{
    const struct certificate_files *files = context;
    struct tls *tls = NULL;
    struct tls_certificate *next = NULL;
    struct err err = {0};
    bool is_read = tls_open(&tls, files->cert, files->key, files->authorities, &err) == ERR_OK &&
                   tls_read(tls, &next, &err) == ERR_OK;
    bool right = is_read && !tls_is_new(tls, next) && tls_client_authorities(tls) != NULL;
    if (is_read)
        tls_use(tls, next);
    tls_close(tls);
    snprintf(why, size, "another certificate");
    return is_read ? right ? DRILL_RIGHT : DRILL_BAD : not_served(&err, why, size);
}

START_TEST(a_certificate_is_read_or_refused_for_the_failure)
{
    struct tempdir dir;
    struct certificate_files files;
    tempdir_open(&dir);
    tls_fixture_authority(&dir, "ca");
    tls_fixture_issue(&dir, "server", "ca", &(struct tls_subject){.name = "attnd"});
    snprintf(files.cert, sizeof files.cert, "%s/server.pem", dir.path);
    snprintf(files.key, sizeof files.key, "%s/server.key", dir.path);
    snprintf(files.authorities, sizeof files.authorities, "%s/ca.pem", dir.path);
    /* GnuTLS 3.7.9 takes a failed malloc for a fault of the certificate, or reads what it has not
     * written (gnutls_x509_crt_list_import2); SECURITY.md says so. */
    struct drill drill = {
        .name = "certificate", .but = "malloc", .run = read_certificate, .context = &files};
    ck_assert_uint_eq(drill_run(&drill), 0);
    tempdir_close(&dir);
}
END_TEST

static enum drill_outcome start_and_stop(const void *context, char *why, size_t size)
{
    union {
        const void *from;
        struct asked *to;
    } asked = {.from = context}; /* its port changes */
    struct err err = {0};
    struct party party = {.options = both, .client = ask_once, .asked = asked.to};
    if (serve(&party, &err))
        return not_served(&err, why, size);
    snprintf(why, size, "%s", party.why);
    return party.outcome;
}

START_TEST(the_server_starts_or_says_why)
{
    struct err err = {0};
    struct asked asked = {.name = "GET /readyz", .head = "GET /readyz HTTP/1.1\r\n"};
    struct party party = {.options = both, .client = learn_once, .asked = &asked};
    /* libmicrohttpd 0.9.75 keeps a descriptor if it cannot start all its threads; attnd then ends.
     */
    struct drill drill = {.name = "start",
                          .but = start_but,
                          .lost = 1,
                          .run = start_and_stop,
                          .context = &asked,
                          .settle_ms = SETTLE_MS};
    silence_log();
    ck_assert_msg(serve(&party, &err) == ERR_OK, "%s", err.text);
    ck_assert_int_eq(asked.status, 200);
    ck_assert_uint_eq(drill_run(&drill), 0);
    ask_forget(&asked);
}
END_TEST

DRILLS("server", a_text_is_answered_rightly_or_refused,
       a_text_with_every_option_is_answered_rightly_or_refused,
       a_text_with_a_trace_is_answered_rightly_or_refused,
       requests_of_one_connection_are_answered_rightly_or_refused,
       a_png_is_answered_rightly_or_refused, a_baseline_jpeg_is_answered_rightly_or_refused,
       a_progressive_jpeg_is_answered_rightly_or_refused,
       an_explained_image_is_answered_with_its_overlay_or_refused,
       each_item_of_an_envelope_is_answered_rightly_or_refused,
       a_refused_request_is_refused_for_that_or_for_the_failure,
       an_unknown_path_is_refused_for_that_or_for_the_failure,
       bad_framing_is_refused_for_that_or_for_the_failure, labels_are_judged_or_refused,
       metrics_are_whole_or_refused,
       the_list_of_models_is_whole_or_refused, the_document_of_the_interface_is_whole_or_refused,
       the_page_is_whole_or_refused, a_silent_client_is_closed_whatever_fails,
       a_configuration_is_read_or_refused_for_the_failure, keys_are_read_or_refused_for_the_failure,
       a_certificate_is_read_or_refused_for_the_failure, the_server_starts_or_says_why)
