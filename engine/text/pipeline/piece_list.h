/* piece_list.h - a vocabulary as the files have it, before a model is made of it: a JSON object of
 * pieces and ids, or the lines of vocab.txt.
 *
 *     piece_list_read(&list, json, "$.model.vocab", &arena, &err);
 *     piece_list_read_lines(&list, text, len, &arena, &err);
 *     vocab_find(&list.names, "[CLS]", 5)                         its id, or VOCAB_NONE
 *
 * Threads: immutable once read.
 */
#ifndef ATTND_ENGINE_TEXT_PIPELINE_PIECE_LIST_H
#define ATTND_ENGINE_TEXT_PIPELINE_PIECE_LIST_H

#include "engine/text/vocab.h"

struct json_t;

enum { PIECE_ID_MAX = (1 << 24) - 1 };

struct piece {
    const char *text; /* UTF-8 */
    uint32_t len;
    int32_t id;
};

struct piece_list {
    struct piece *items; /* [count], in the order of the file */
    size_t count;
    struct vocab names;
    unsigned distinct;   /* how many different ones there are, an empty one included */
    unsigned vocab_size; /* largest id + 1 of those that are not empty */
};

/* All is in the arena. ERR_UNSUPPORTED if `json` is no object, for an id that is not an integer
 * from 0 to PIECE_ID_MAX, and for a piece of more than VOCAB_PIECE_BYTES_MAX bytes. */
enum err_code piece_list_read(struct piece_list *out, const struct json_t *json, const char *path,
                              struct arena *arena, struct err *err);

/* A piece a line, numbered from 0; of equal ones the last counts. ERR_UNSUPPORTED as above, and for
 * invalid UTF-8. */
enum err_code piece_list_read_lines(struct piece_list *out, const char *text, size_t len,
                                    struct arena *arena, struct err *err);

#endif
