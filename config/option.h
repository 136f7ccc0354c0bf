/* option.h - the table behind config.h: one struct option per row of options.def, and the checked
 * writers of a struct config's fields. Private to config/.
 *
 *     const struct option *option = option_find("queue_limit");
 *     if (option_set_text(option, &config, "64", &err))
 *         return err_prefix(&err, "ATTND_QUEUE_LIMIT: ");
 *
 * Error texts say what is expected and the limits; where the value stood is the caller's prefix.
 * Threads: the table is constant; a struct config belongs to whoever loads it.
 */
#ifndef ATTND_CONFIG_OPTION_H
#define ATTND_CONFIG_OPTION_H

#include "config/config.h"
#include "engine/base/err.h"

#include <stdbool.h>

enum option_type {
    OPTION_ADDRESS, /* ADDRESS:PORT, numeric or localhost */
    OPTION_MODELS,  /* a list; in text form NAME=DIR[,dtype=D], separated by white space */
    OPTION_COUNT,
    OPTION_BYTES,
    OPTION_MS,
    OPTION_WORD /* one of the choices */
};

enum option_reload { OPTION_RESTART, OPTION_LIVE };

struct option {
    const char *key;
    enum option_type type;
    const char *value; /* the default, in text form */
    size_t min, max;
    const char *choices;
    enum option_reload reload;
    const char *sentence;
    size_t offset, size; /* of the field of struct config */
};

enum {
    OPTION_TOTAL = 0
#define OPTION(...) +1
#include "config/options.def"
#undef OPTION
    ,
    OPTION_NAME_BYTES = 64 /* longest name in any spelling, with its NUL */
};

extern const struct option option_table[OPTION_TOTAL];

const struct option *option_find(const char *key); /* NULL: no such key */
size_t option_index(const struct option *option);
bool option_is_number(const struct option *option);

/* The spellings of a key. */
void option_flag(const struct option *option, char out[OPTION_NAME_BYTES]);     /* --queue-limit */
void option_variable(const struct option *option, char out[OPTION_NAME_BYTES]); /* ATTND_... */

/* A value in text form. Models are separated by white space and added to those already there; a
 * directory whose name holds white space is for a flag or the file to name. */
enum err_code option_set_text(const struct option *option, struct config *config, const char *text,
                              struct err *err);
/* Of an option that is a number. */
enum err_code option_set_number(const struct option *option, struct config *config, size_t number,
                                struct err *err);
size_t option_number(const struct option *option, const struct config *config);
/* Of an ADDRESS or a WORD. */
const char *option_text(const struct option *option, const struct config *config);

/* Adds a model after checking name, directory, dtype (NULL: f32) and that the name is new. */
enum err_code option_add_model(struct config *config, const struct config_model *model,
                               struct err *err);
/* The same from NAME=DIR[,dtype=D]. */
enum err_code option_add_model_text(struct config *config, const char *text, size_t len,
                                    struct err *err);

/* `name` made safe for an error text: printable ASCII, cut at 64 bytes. */
const char *option_printable(const char *name, char out[OPTION_NAME_BYTES + 1]);

#endif
