/* codec_reply.h - answers and problems as JSON text.
 *
 * The body of a 200: the answer of the only row (which must have one: a row that failed is a
 * problem, no 200), or {"results": [...]} for an envelope, a row that failed being a problem in its
 * place. Of lines (is_lines) it is a line for each row: the object of `results`, with `index` and,
 * if the item has none, the id and the context of the call; there are no times. An id that is not
 * UTF-8 is left out. Written in steps, since it may be long:
 *
 *     struct codec_reply *reply = codec_reply_begin(&call, id, &rows, 0, &arena);
 *     while (codec_reply_row(reply) > 0) ...
 *     text = codec_reply_end(reply, &timing, &len);
 *
 * Threads: no state; the arena and the structs are the caller's.
 */
#ifndef ATTND_WIRE_CODEC_REPLY_H
#define ATTND_WIRE_CODEC_REPLY_H

#include "wire/answer.h"
#include "wire/call.h"

/* The times of a request that its reply reports. */
struct codec_timing {
    double queue_ms, prepare_ms, inference_ms, total_ms;
    double explain_ms; /* reported if the call asked for explanations */
    double similar_ms; /* reported if it asked for near inputs */
};

/* One input of the call. */
struct codec_row {
    const struct engine_info *info; /* of the model that answers, if there is no error */
    const struct answer *answer;    /* once it is computed */
    unsigned spans, chunks;         /* that it may have at most: engine_need */
    size_t written;                 /* bytes of its texts, likewise */
    const struct err *err;          /* code != ERR_OK: there is no answer */
};

/* The inputs of the call, wherever they are. */
struct codec_rows {
    const void *context;
    struct codec_row (*row)(const void *context, unsigned index);
};

/* The call and what the rows point to must outlive the reply. begin: text_bytes as
 * codec_reply_bytes has it, 0 for a short one; NULL if there is no memory. row: encodes one more
 * and returns how many are left. end: also the rows that are left; NUL-terminated, in the arena,
 * *len without the NUL; NULL if there was not enough memory. */
struct codec_reply;
struct codec_reply *codec_reply_begin(const struct predict_call *call, const char *id,
                                      const struct codec_rows *rows, size_t text_bytes,
                                      struct arena *arena);
unsigned codec_reply_row(struct codec_reply *reply);
const char *codec_reply_end(struct codec_reply *reply, const struct codec_timing *timing,
                            size_t *len);

/* Upper bounds without explanations and near inputs, before anything is computed: of the text, and,
 * returned, of that with the tree of the largest row. */
size_t codec_reply_bytes(const struct predict_call *call, const char *id,
                         const struct codec_rows *rows, size_t *text);

/* application/problem+json (RFC 9457) for err; instance may be NULL. */
const char *codec_encode_problem(const struct err *err, const char *instance, struct arena *arena,
                                 size_t *len);

#endif
