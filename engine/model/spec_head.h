/* spec_head.h - what a spec names but config.json and attnd.json do not hold: the examples of the
 * head's file. Threads: as spec_read. */
#ifndef ATTND_ENGINE_MODEL_SPEC_HEAD_H
#define ATTND_ENGINE_MODEL_SPEC_HEAD_H

#include "engine/model/spec.h"

struct head_bank;

/* Checks the file of a spec that names one, so that a file that does not fit is told before it is
 * served, and gives its examples to an OOD score that is made from them; numbers are the arena's.
 * Errors as head_file_open. */
enum err_code spec_open_head(struct spec *spec, const char *dir, struct arena *arena,
                             struct err *err);

/* rows [bank->count, hidden]: the examples' token means, each of length 1. ERR_NO_MEMORY. */
enum err_code spec_take_neighbours(struct ood *ood, const struct head_bank *bank,
                                   struct arena *arena, struct err *err);

/* Upper bound of what spec_open_head takes for the directory. */
size_t spec_head_bytes(const char *dir);

#endif
