/* piece_list.h - the vocabulary of the files, from which a model is made: a JSON object of pieces
 * and ids, or the lines of vocab.txt.
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
    unsigned distinct;   /* number of different pieces, an empty one included */
    unsigned vocab_size; /* largest id + 1 of pieces that are not empty */
};

/* All is in the arena. ERR_UNSUPPORTED if `json` is no object, for an id that is not an integer
 * from 0 to PIECE_ID_MAX, and for a piece of more than VOCAB_PIECE_BYTES_MAX bytes. */
enum err_code piece_list_read(struct piece_list *out, const struct json_t *json, const char *path,
                              struct arena *arena, struct err *err);

/* Reads a piece from each line; ids are line numbers from 0. Of equal pieces the last counts.
 * ERR_UNSUPPORTED as above, and for invalid UTF-8. */
enum err_code piece_list_read_lines(struct piece_list *out, const char *text, size_t len,
                                    struct arena *arena, struct err *err);

#endif
