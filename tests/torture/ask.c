#include "tests/torture/ask.h"

#include "tests/support/exposition.h"
#include "tests/support/http_client.h"

#include <errno.h>
#include <jansson.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

/* -------------------------------------------------------------------------------------------- */
/* One connection */

static int open_connection(unsigned port)
{
    struct timeval patience = {.tv_sec = ASK_PATIENCE_S};
    const int on = 1;
    int fd = http_connect(port);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    return fd;
}

/* Head and body leave apart, as most clients send them. */
static void say(const struct asked *asked, int fd, bool last)
{
    char head[1024], length[64] = "";
    if (asked->head == NULL)
        return;
    if (asked->body != NULL)
        snprintf(length, sizeof length, "Content-Length: %zu\r\n", asked->body_len);
    snprintf(head, sizeof head, "%sHost: 127.0.0.1:%u\r\n%s%s\r\n", asked->head, asked->port,
             length, last ? "Connection: close\r\n" : "");
    http_send_text(fd, head);
    if (asked->body != NULL)
        http_send(fd, asked->body, asked->body_len);
}

/* The answer's status; 0 for none or a part of one, -1 for silence. */
static int hear(int fd, struct http_answer *answer)
{
    errno = 0;
    *answer = http_read(fd, false);
    return answer->status == 0 && errno == EAGAIN ? -1 : answer->status;
}

/* -------------------------------------------------------------------------------------------- */
/* Comparing */

/* Times differ between two right answers; RFC 9457 leaves it to the server to name the instance. */
static json_t *what_must_be_equal(const struct http_answer *answer)
{
    json_t *json = json_loadb(answer->body, answer->body_len, 0, NULL);
    json_object_del(json, "timing_ms");
    json_object_del(json, "instance");
    return json;
}

/* An item of an envelope may be refused for itself. */
static enum drill_outcome compare_item(const json_t *item, const json_t *right)
{
    json_int_t status = json_integer_value(json_object_get(item, "status"));
    if (json_equal(item, right))
        return DRILL_RIGHT;
    return status >= 500 || status == 429 ? DRILL_REFUSED : DRILL_BAD;
}

static enum drill_outcome compare_json(const json_t *json, const json_t *right)
{
    const json_t *items = json_object_get(json, "results");
    const json_t *rights = json_object_get(right, "results");
    enum drill_outcome worst = DRILL_RIGHT;
    if (json_equal(json, right))
        return DRILL_RIGHT;
    if (json_array_size(items) == 0 || json_array_size(items) != json_array_size(rights))
        return DRILL_BAD;
    for (size_t i = 0; i < json_array_size(items); i++) {
        enum drill_outcome one = compare_item(json_array_get(items, i), json_array_get(rights, i));
        worst = one > worst ? one : worst;
    }
    return worst;
}

static enum drill_outcome compare_metrics(const struct http_answer *answer, char *why, size_t size)
{
    char problem[EXPOSITION_PROBLEM_BYTES];
    struct exposition *page = exposition_parse(answer->body, answer->body_len, problem);
    if (page == NULL)
        snprintf(why, size, "metrics: %s", problem);
    exposition_free(page);
    return page != NULL ? DRILL_RIGHT : DRILL_BAD;
}

static enum drill_outcome compare_body(const struct asked *asked, const struct http_answer *answer,
                                       char *why, size_t size)
{
    if (asked->reply == ASK_METRICS)
        return compare_metrics(answer, why, size);
    enum drill_outcome outcome = DRILL_BAD;
    if (asked->reply == ASK_BYTES) {
        bool same =
            answer->body_len == asked->len && memcmp(answer->body, asked->bytes, asked->len) == 0;
        outcome = same ? DRILL_RIGHT : DRILL_BAD;
    } else {
        json_t *json = what_must_be_equal(answer);
        outcome = compare_json(json, asked->json);
        json_decref(json);
    }
    if (outcome != DRILL_RIGHT)
        snprintf(why, size, "another %d: %.300s", answer->status, answer->body);
    return outcome;
}

static enum drill_outcome judge(const struct asked *asked, int status,
                                const struct http_answer *answer, char *why, size_t size)
{
    char type[64] = "";
    snprintf(why, size, status < 0 ? "silence" : "%d: %.300s", status,
             answer->body != NULL ? answer->body : "");
    if (status != asked->status) {
        bool refused = status == 0 || status >= 500 || status == 429;
        return refused ? DRILL_REFUSED : DRILL_BAD;
    }
    if (status == 0)
        return DRILL_RIGHT;
    http_answer_header(answer, "Content-Type", type, sizeof type);
    if (strcmp(type, asked->type) != 0) {
        snprintf(why, size, "%d with the type '%s'", status, type);
        return DRILL_BAD;
    }
    return compare_body(asked, answer, why, size);
}

/* -------------------------------------------------------------------------------------------- */

bool ask_learn(struct asked *asked, unsigned port, char *why, size_t size)
{
    struct http_answer answer;
    int fd = open_connection(port);
    asked->port = port;
    say(asked, fd, true);
    asked->status = hear(fd, &answer);
    close(fd);
    http_answer_header(&answer, "Content-Type", asked->type, sizeof asked->type);
    asked->bytes = answer.body;
    asked->len = answer.body_len;
    asked->json = asked->reply == ASK_JSON ? what_must_be_equal(&answer) : NULL;
    snprintf(why, size, "%s: nothing to learn: %d %.200s", asked->name, asked->status,
             answer.body != NULL ? answer.body : "");
    return asked->status >= 0 && (asked->reply != ASK_JSON || asked->json != NULL);
}

void ask_forget(struct asked *asked)
{
    free(asked->bytes);
    json_decref(asked->json);
}

enum drill_outcome ask(const void *context, char *why, size_t size)
{
    const struct asked *asked = context;
    enum drill_outcome outcome = DRILL_RIGHT;
    int fd = open_connection(asked->port);
    for (int left = asked->repeated; left >= 0 && outcome == DRILL_RIGHT; left--) {
        struct http_answer answer;
        say(asked, fd, left == 0);
        int status = hear(fd, &answer);
        outcome = judge(asked, status, &answer, why, size);
        http_answer_free(&answer);
    }
    close(fd);
    return outcome;
}
