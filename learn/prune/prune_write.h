/* prune_write.h - writes a cut model as a checkpoint directory. Threads: one at a time in a
 * directory. */
#ifndef ATTND_LEARN_PRUNE_PRUNE_WRITE_H
#define ATTND_LEARN_PRUNE_PRUNE_WRITE_H

#include "learn/train/network/parameters.h"

struct prune_writing {
    const struct parameters *parameters;
    const char *source_dir; /* has config.json, tokenizer or preprocessor */
    const char *store;      /* "f16" or "f32" */
    const char *version;
};

/* Writes into `dir`, whose parent must exist. attnd.json keeps how inputs are read and the class
 * codes, but no decisions, which are of another model. */
enum err_code prune_write(const char *dir, const struct prune_writing *writing, struct err *err);

/* Gives the attnd.json of a trained directory the class codes of `source`, if that has any: its
 * labels are the same. */
enum err_code prune_write_codes(const char *dir, const struct spec *source, struct err *err);

#endif
