/* request.h - the state of one HTTP exchange ("the baton"), in the exchange's own arena.
 *
 * One thread owns it at a time, depending on the phase. The I/O thread owns a request from its head
 * on, and a thread of the prepare pool while it does longer work. To compute, the exchange is
 * suspended and the rows go to the queue; each worker then touches only the rows that it took. The
 * only word that they share is rows_outstanding: the worker that decrements it to zero owns the
 * request and passes it on. There is no lock, and a worker must not touch a request after its
 * request_row_done unless it still holds another row of it.
 *
 * Threads: the owner; a row belongs to the worker that took it.
 */
#ifndef ATTND_SERVER_SERVE_REQUEST_H
#define ATTND_SERVER_SERVE_REQUEST_H

#include "server/auth/auth.h"
#include "server/http/http_app.h"
#include "wire/answer.h"
#include "wire/call.h"
#include "wire/media_type.h"

#include <stdatomic.h>

struct label_set;
struct lines;
struct protocol;
struct repeat;
struct request;
struct route;
struct served_index;
struct served_model;
struct service;
struct snapshot;
struct tracing;

/* phase, what happens in it, the phases that may follow. REQUEST_DONE may come at any time: the
 * client may leave. */
#define REQUEST_PHASES(X)                                                                          \
    X(REQUEST_HEAD, "the head is judged, the body arrives", PARSE, REPLY)                          \
    X(REQUEST_PARSE, "the body becomes a call and its rows", PREPARE, REPLY)                       \
    X(REQUEST_PREPARE, "texts become tokens, images patches", QUEUED, REPLY)                       \
    X(REQUEST_QUEUED, "the rows wait, and run, each by itself", EXPLAIN, REPLY)                    \
    X(REQUEST_EXPLAIN, "near inputs are found, attention becomes words or patches", REPLY, REPLY)  \
    X(REQUEST_REPLY, "the reply is decided, and sent; or a part of it", PARSE, REPLY)              \
    X(REQUEST_DONE, "nothing more", DONE, DONE)

enum request_phase {
#define X(phase, what, ...) phase,
    REQUEST_PHASES(X)
#undef X
        REQUEST_PHASES_COUNT
};

/* One input of a request in the queue. A text of several windows, an image of several views, or a
 * text that is written passes the queue once for each step (engine_step). */
struct row {
    struct request *request;
    struct served_model *model; /* the snapshot's; NULL: none could be found for the item */
    struct label_set *labels;   /* held; NULL: it is answered in the model's own */
    const char *key;            /* by which the version was chosen (versions.h) */
    const struct engine_writing *writing; /* in place of the call's; NULL: that */
    struct engine_input input;
    struct engine_tokens tokens; /* with WISH_TOKENS, in place of what follows but err */
    struct answer answer;     /* made by the worker, its explanation by explain.c; the room of its
                             result is in the request's arena */
    struct err err;           /* code != ERR_OK: there is no answer */
    const char *input_digest; /* "sha256:..." for the audit log; NULL: there is none */
    int8_t *likeness;         /* [classifier_size] by the worker (likeness.h); NULL: not wanted */
    const struct served_index *index; /* of its model, the snapshot's; NULL: not asked for */
    bool in_review;                   /* near inputs are those that are kept for a review */
    float *compared; /* [engine_compared_size] by the worker, what is searched for; NULL likewise */
    uint64_t deadline_ns; /* 0: none */
    uint64_t submitted_ns, started_ns, done_ns;
    bool is_abandoned; /* the client had gone before the row's turn */
};

/* The prepare pool's work for a request, and its place in the list: the pool's, under its lock. */
struct request_task {
    struct request *next;
    unsigned kind; /* enum prepare_kind */
    uint64_t units;
};

struct request {
    struct http_exchange *exchange;
    struct service *service;
    const struct snapshot *snapshot; /* the one in service when the head came; held */
    const struct route *route;       /* NULL: no such path */
    const char *pattern;             /* of the route ("/models/{name}"); NULL: no such path */
    const struct protocol *protocol; /* of a prediction; NULL: not yet known, or it is none */
    struct auth_grant grant;         /* of the key that it sent; released when it is done */
    const char *id;              /* printable ASCII: the client's X-Request-Id, or one of ours */
    const struct tracing *trace; /* its place in a trace; NULL: it is in none */
    enum request_phase phase;    /* changed by request_enter alone */
    struct err err;              /* of the whole request; code != ERR_OK: answered as a problem */
    enum request_body body;
    const char *charset; /* as charset_find has it; "": UTF-8, or what its first bytes say */
    bool is_packed;      /* the body came as gzip */
    size_t unpacked_max; /* how many bytes it then has, plus one; 0: not yet known */
    bool is_typed;       /* the head says what the body is; else its first bytes may */
    const char *content; /* [content_len] the body, unpacked and in UTF-8; NUL-terminated */
    size_t content_len;
    size_t
        json_bytes; /* of a body of JSON and data behind it: of the JSON, plus one; 0: it is none */

    /* Fields of a prediction; of a body of lines they are those of one portion (lines.h). */
    struct lines *lines;   /* NULL: the body has no lines */
    uint64_t since_ns;     /* when the portion's turn came; 0: with the head */
    struct repeat *repeat; /* its Idempotency-Key (repeats.h); NULL: it has none */
    struct predict_call call;
    struct row *rows;  /* [call.item_count], also of items that never reach the queue */
    struct row **good; /* [good_count]: those that do */
    unsigned good_count;
    uint64_t deadline_ns;   /* 0: none; of every row */
    size_t pixels;          /* that its images have, by their headers */
    unsigned retry_after_s; /* what a 429 advises; 0: the least */
    unsigned reserved;      /* places in the queue that are reserved and not yet used */
    bool is_abandoned;      /* the client had gone while the request was prepared or explained */
    struct request_task task;

    /* When reading the call began, when it was read, when its rows were ready for the queue, when
     * near inputs were found, when they were explained, when encoding the reply began and ended; 0:
     * not yet, or never. */
    uint64_t begun_ns, parsed_ns, prepared_ns, searched_ns, explained_ns, encode_ns, encoded_ns;

    /* With explanations. */
    void (*then)(struct request *); /* gets the request after the last row; NULL: it is resumed */
    size_t capture_bytes;           /* reserved by explain_keep, given back by explain_release */
    uint64_t explain_units;         /* what explaining will cost (explain.h) */
    unsigned searched;              /* good rows for which near inputs were searched (similar.h) */

    size_t reply_bytes;      /* that the reply takes while it is made; without explanations */
    size_t long_reply_bytes; /* that its text takes, if it is to be encoded in the pool; else 0 */
    void *reply;             /* in the making, the protocol's own; NULL: not begun */

    struct label_set *labelling; /* held: labels of its call in the making; else NULL */

    /* With a stream of tokens. */
    struct engine_pieces pieces; /* what of the text was sent */
    uint64_t told_ns;            /* when the last part was made; 0: nothing was sent */

    void *state; /* the route's own, in the exchange's arena; NULL: it has none */

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
struct request *request_open(struct http_exchange *exchange, struct service *service,
                             struct request_ids *ids);

/* The id in the body of the reply, which may hold what its header cannot. */
const char *request_reply_id(const struct request *request);

/* The element of the request's path that stands at "{name}" in its pattern, in the arena. NULL if
 * there is no memory. */
const char *request_value(const struct request *request, const char *name);

/* The next phase, which must be one that REQUEST_PHASES lets follow. By the owner. */
void request_enter(struct request *request, enum request_phase phase);

/* The model of a row, with the labels that came with the request, if any did. The row has a
 * model. */
const struct engine_model *row_engine(const struct row *row);
const struct engine_info *row_info(const struct row *row);
/* Fills in which model gave the row's answer. */
void row_answer(struct row *row);

/* The source of the call's item `index`, with the call's way to read it and the configuration's
 * limits. The bytes are the call's. */
struct engine_source request_source(const struct request *request, unsigned index);

/* True if the row may pass the queue several times: a text in windows, an image in views, a text
 * that is written. */
static inline bool row_has_steps(const struct row *row)
{
    return row->input.windows > 0 || row->input.writing != NULL;
}

/* Index of a row in what the client sent. */
static inline unsigned request_index(const struct request *request, const struct row *row)
{
    return request->call.first + (unsigned)(row - request->rows);
}

/* When the call's deadline_ms passes, or the configured one, from its head or its portion's turn
 * on; 0: never. */
uint64_t request_deadline_ns(const struct request *request, unsigned default_ms);

/* Before submitting: how many rows must be done until the request is passed on. */
void request_expect_rows(struct request *request, unsigned count);
/* The row is computed or failed. With the last row of a request, ownership goes to
 * request->then, or the exchange is resumed. */
void request_row_done(struct row *row);

/* Makes the texts of the rows that wrote one, once; by the owner, when the last row is done. A row
 * whose text broke its rules has an error, ERR_UNUSABLE, unless the call wishes any answer. */
void request_take_texts(struct request *request);

/* A row whose text goes on: the request gets the row and its place in the queue, to send what is
 * written. request_goes_on: such a row is not done, and nothing is wrong with it. */
void request_tell(struct row *row);
bool request_goes_on(const struct request *request);

/* True if an id may stand in a header field and in a URN: printable ASCII of bounded length. */
bool request_id_is_plain(const char *id);

#endif
