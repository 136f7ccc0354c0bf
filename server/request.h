/* request.h - the baton: everything one HTTP exchange needs, in the exchange's own arena.
 *
 * The I/O thread holds a request from its head on. To compute, it suspends the exchange and hands
 * the rows to the batcher; each worker then touches only the rows it took. The one word that they
 * share is rows_outstanding: whoever brings it to zero resumes the exchange, and the I/O thread
 * holds the baton again; with explanations a thread of the prepare pool holds it in between. No
 * lock, and nothing of a request may be touched after one's own request_row_done unless one still
 * holds another row of it.
 *
 * Threads: the holder of the baton; a row belongs to the worker that took it.
 */
#ifndef ATTND_SERVER_REQUEST_H
#define ATTND_SERVER_REQUEST_H

#include "server/codec.h"
#include "server/http.h"

#include <stdatomic.h>

struct prepare;
struct registry_model;
struct request;
struct route;

/* One input of a request on its way through the queue. */
struct row {
    struct request *request;
    struct registry_model *model; /* NULL: no model could be found for the item */
    struct engine_input input;
    float *logits, *scores; /* [model's label_count], in the request's arena */
    struct judgement judgement;
    struct explanation *explanation; /* NULL: none */
    uint64_t deadline_ns;            /* 0: none */
    uint64_t submitted_ns, started_ns, done_ns;
    bool abandoned; /* the client had gone before the row's turn */
    struct err err; /* code != ERR_OK: this item has no scores */
};

/* How the body is to be read; from Content-Type. */
enum request_body { REQUEST_JSON, REQUEST_TEXT, REQUEST_IMAGE };

/* What the prepare pool is to do for a request, and its place there: the pool's, under its lock. */
struct request_task {
    struct request *next;
    unsigned kind; /* enum prepare_kind */
    uint64_t units;
};

struct request {
    struct http_exchange *exchange;
    const struct route *route; /* NULL: no such path */
    const char *id;            /* printable ASCII: the client's X-Request-Id, or one of ours */
    struct err err;            /* of the whole request; code != ERR_OK: answered as a problem */
    enum request_body body;
    bool counted; /* metrics_request_begin was called */

    /* POST /predict. */
    bool abandoned; /* the client had gone while the request was prepared or explained */
    bool parsed;
    struct predict_call call;
    struct row *rows;  /* [call.item_count], also of items that never reach the queue */
    struct row **good; /* [good_count]: those that do */
    unsigned good_count;
    uint64_t deadline_ns;   /* 0: none; of every row */
    size_t pixels;          /* that its images have, by their headers */
    unsigned retry_after_s; /* what a 429 advises; 0: the least */
    unsigned reserved;      /* places in the queue that are ours and not yet used */
    uint64_t begun_ns;      /* when reading the call began, ... */
    uint64_t parsed_ns;     /* ... when it was read, ... */
    uint64_t prepared_ns;   /* ... and when its rows were ready for the queue */
    struct request_task task;

    /* With explanations. */
    struct prepare *explainer; /* who gets the baton when the last row is done; NULL: nobody */
    bool computed;             /* the explainer's turn */
    size_t capture_bytes;      /* reserved by explain_keep, given back by explain_release */
    uint64_t explain_units;    /* what explaining will cost (explain.h) */
    uint64_t explained_ns;

    atomic_uint rows_outstanding; /* partners: request_expect_rows, request_row_done */
};

/* Source of the ids that we give: unique in this process, unlikely to repeat across restarts. */
struct request_ids {
    atomic_uint_fast64_t next;
};
void request_ids_init(struct request_ids *ids);
/* Sixteen hexadecimal digits, in the arena; NULL if there is no memory. */
const char *request_ids_next(struct request_ids *ids, struct arena *arena);

/* A request for the exchange, kept in exchange->state; its id from X-Request-Id if that is short
 * printable ASCII, else a new one. NULL if there is no memory. */
struct request *request_open(struct http_exchange *exchange, struct request_ids *ids);

/* Before submitting: how many rows must be done until the exchange is resumed. */
void request_expect_rows(struct request *request, unsigned count);
/* The row is computed or failed. The last row of a request resumes its exchange, or hands it to the
 * explainer, who does. */
void request_row_done(struct row *row);

/* Whether an id may stand in a header field and in a URN: printable ASCII of bounded length. */
bool request_id_is_plain(const char *id);

/* Fill exchange->reply. The bytes of a body are the arena's, or static. */
void request_reply(struct request *request, unsigned status, const char *content_type,
                   const char *body, size_t len);
/* request->err as application/problem+json, with Retry-After where the status calls for it. */
void request_reply_problem(struct request *request);

#endif
