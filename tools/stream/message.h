/* message.h - from the bytes of a message to an input of the encoder: a text, a picture, or the
 * JSON body of POST /predict with one input.
 *
 *     message_prepare(&message, engine, &arena, &input, &err);
 *
 * Threads: no state.
 */
#ifndef ATTND_TOOLS_STREAM_MESSAGE_H
#define ATTND_TOOLS_STREAM_MESSAGE_H

#include "tools/answers/asking.h"

#include <stdint.h>

enum { MESSAGE_ID_BYTES_MAX = 128, MESSAGE_PIXELS_MAX = 32 * 1024 * 1024 };

struct message {
    const char *value; /* [len]; NULL: there is none */
    size_t len;
    size_t bytes_max;         /* limit of a value */
    const char *content_type; /* NULL: by is_json */
    bool is_json;
    const char *prompt_name; /* of an embedding's prompts; NULL: the default one */
    struct asking asking;    /* a question of the message comes first */
};

struct message_input {
    struct engine_input prepared;
    const char *text; /* [text_len], of a text; of a pair the first */
    size_t text_len;
    const char *id, *context; /* members of the JSON body, the context as JSON; NULL: none */
};

/* Fills `out`, whose strings are the arena's or the message's. ERR_TOO_LARGE, ERR_MEDIA_TYPE,
 * ERR_MALFORMED, ERR_UNUSABLE: the message is unusable; id is then set if it was read. */
enum err_code message_prepare(const struct message *message, const struct engine_model *engine,
                              struct arena *arena, struct message_input *out, struct err *err);

/* The id of a message that has none: sixteen hexadecimal digits that follow from its place, so that
 * a message that is answered again has the same. */
enum { MESSAGE_OWN_ID_BYTES = 17 };
void message_make_id(char out[MESSAGE_OWN_ID_BYTES], const char *topic, int partition,
                     int64_t offset);

/* True if an id may stand in headers and in the "id" of a verdict: printable ASCII of at most
 * MESSAGE_ID_BYTES_MAX bytes, like the server's X-Request-Id. */
bool message_id_is_plain(const char *id);

#endif
