/* protocol.h - a way to ask for predictions: the words in which a body asks, and in which it is
 * answered. A route names its protocol; everything between parse and encode is the same for all.
 *
 * Threads: constant; the functions are called by the holder of the baton.
 */
#ifndef ATTND_SERVER_API_PROTOCOL_H
#define ATTND_SERVER_API_PROTOCOL_H

#include "server/serve/service.h"

/* What a reply says of the time that its request took. */
struct protocol_timing {
    double queue_ms, prepare_ms, inference_ms, total_ms;
    double explain_ms; /* told if the call asked for explanations */
};

struct protocol {
    const char *name;

    /* From the head alone: what kind of body comes. Returns request->err.code. */
    enum err_code (*accept)(struct request *request);
    /* Upper bound of the memory that parse takes. */
    size_t (*parse_bytes)(const struct request *request);
    /* The exchange's body -> request->call. Returns request->err.code. */
    enum err_code (*parse)(const struct service *service, struct request *request);
    /* What became of the rows -> the body of a 200, in the arena; NULL if there is no memory. */
    const char *(*encode)(struct request *request, const struct protocol_timing *timing,
                          size_t *len);
    /* request->err -> the body that says so; NULL if there is no memory. */
    const char *(*problem)(struct request *request, size_t *len);
    const char *reply_type, *problem_type; /* their Content-Types */
};

/* attnd's own: POST /predict. */
extern const struct protocol protocol_native;

#endif
