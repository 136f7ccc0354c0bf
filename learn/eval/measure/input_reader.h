/* input_reader.h - reads and prepares the inputs that a program's arguments name
 * (learn/data/input_list.h), one after another: texts, pairs, files and pictures.
 *
 *     struct input_reader reader = {.model = model};
 *     input_reader_prepare(&reader, &list.items[i], &arena, &input, &err);
 *     input_reader_close(&reader);
 *
 * Threads: one at a time.
 */
#ifndef ATTND_LEARN_EVAL_MEASURE_INPUT_READER_H
#define ATTND_LEARN_EVAL_MEASURE_INPUT_READER_H

#include "engine/engine.h"
#include "learn/data/input_list.h"
#include "learn/data/picture.h"

struct input_reader {
    const struct engine_model *model;
    struct engine_reading reading;        /* of long texts */
    struct engine_question question;      /* zeros: none */
    const struct engine_writing *writing; /* NULL: nothing is asked */
    const char *prompt_name;              /* of an embedding's prompts; NULL: the default one */
    struct pictures pictures;             /* zero at first */
    const char *text; /* the text that was prepared last, the first one of a pair; the
                                      item or the arena owns it */
    size_t text_len;
};

/* Prepares an input; *out lies in the arena. ERR_IO and ERR_UNUSABLE as in the engine, or if the
 * model takes the other kind of input. The error begins with the file. */
enum err_code input_reader_prepare(struct input_reader *reader, const struct listed_input *source,
                                   struct arena *arena, struct engine_input *out, struct err *err);
void input_reader_close(struct input_reader *reader);

#endif
