/* contract.h - what the end-to-end tests share: one attnd for a whole suite, requests to it, and
 * replies read as JSON.
 *
 *     struct reply reply = contract_post("{\"text\":\"\"}");
 *     reply_expect_problem(&reply, 422, "unusable", "$.text: empty");
 *     reply_free(&reply);
 *
 * A value in a reply is named by its path: "results.1.model.name". Whatever is not as expected
 * fails the test. Threads: one.
 */
#ifndef ATTND_TESTS_SUPPORT_CONTRACT_H
#define ATTND_TESTS_SUPPORT_CONTRACT_H

#include "tests/support/http_client.h"
#include "tests/support/suite.h"

struct json_t;

struct reply {
    struct http_answer answer;
    struct json_t *json; /* NULL: the body is not JSON */
};

/* Runs a suite whose tests share one server: both models and the given options. It must still end
 * with 0 after whatever the tests did to it. */
int contract_run(const char *name, const char *const *options, const TTest *const *tests,
                 int count);
#define CONTRACT_SUITE(name, options, ...)                                                         \
    SUITE_BY(name, contract_run(name, options, suite_tests, suite_count), __VA_ARGS__)

/* The shared server's port. */
unsigned contract_port(void);

/* Takes the answer over and reads its body. */
struct reply reply_of(struct http_answer answer);
void reply_free(struct reply *reply);

/* Sends one request to the shared server, on a connection of its own. */
struct reply contract_get(const char *path);
struct reply contract_post(const char *json);
/* type may be NULL: no Content-Type. */
struct reply contract_post_as(const char *path, const char *type, const void *body, size_t len);
/* Asks any server's port, as a client of this machine. headers: whole lines, "" for none. body NULL
 * stands for none. */
struct reply contract_ask(unsigned port, const char *method, const char *path, const char *headers,
                          const char *body);
/* The same, asked again while the answer is 503: a server that was just started reads its past, and
 * what it does not know yet may be there. */
struct reply contract_ask_ready(unsigned port, const char *method, const char *path,
                                const char *body);
/* Exactly these bytes. */
struct reply contract_say(const char *bytes);

/* The whole of a file, NUL-terminated, and a file as base64; yours to free. */
char *contract_file(const char *path, size_t *len);
char *contract_file_base64(const char *path);
/* A JSON text made as printf does; yours to free. */
char *contract_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The value at a path; NULL if there is none. */
const struct json_t *contract_at(const struct json_t *root, const char *path);
void reply_expect_text(const struct reply *reply, const char *path, const char *text);
/* A string, borrowed from the reply. */
const char *reply_text(const struct reply *reply, const char *path);
double reply_number(const struct reply *reply, const char *path);
size_t reply_count(const struct reply *reply, const char *path);

/* The value of a header that must be there, in a static buffer. */
const char *reply_header(const struct reply *reply, const char *name);

void reply_expect_status(const struct reply *reply, int status);
/* Checks all that RFC 9457 and the contract ask of an error. detail: the beginning of its text. */
void reply_expect_problem(const struct reply *reply, int status, const char *error_type,
                          const char *detail);
/* The problem object at a path ("results.1") of a reply. */
void reply_expect_problem_at(const struct reply *reply, const char *path, int status,
                             const char *error_type, const char *detail);

#endif
