/* engine_rules.h - what a text that is written must be: the rules of struct engine_writing,
 * compiled to automata that the search walks (generate/output_check.h), and asked once more of each
 * text that ends, as it is decoded.
 *
 *     engine_rules_make(&rules, model, source, &arena, &err)
 *     broken = engine_rules_broken(&rules, text, len)         "pattern", "checksum"; NULL: none
 *
 * Threads: immutable once made.
 */
#ifndef ATTND_ENGINE_ENGINE_RULES_H
#define ATTND_ENGINE_ENGINE_RULES_H

#include "engine/engine_state.h"
#include "engine/generate/output_check.h"

struct writing_rules {
    struct automaton automata[OUTPUT_AUTOMATA_MAX];
    const char *names[OUTPUT_AUTOMATA_MAX]; /* options that they are of */
    unsigned count;
    enum engine_checksum checksum;
};

/* True if the options have rules; writing NULL: none. */
bool engine_rules_are_asked(const struct engine_writing *writing);

/* Tables are in the arena. ERR_UNUSABLE names option, place and limit; ERR_NO_MEMORY. */
enum err_code engine_rules_make(struct writing_rules *out, const struct engine_model *model,
                                const struct engine_source *source, struct arena *arena,
                                struct err *err);
/* Upper bounds of what this keeps in the arena, and takes while it runs. False: it is refused. */
bool engine_rules_bytes(const struct engine_source *source, size_t *kept, size_t *passing);

/* Accepts the texts whose check characters hold (ENGINE_CHECKSUM_SEMI_M13). ERR_NO_MEMORY. */
enum err_code engine_rules_checksum(struct automaton *out, struct arena *arena, struct err *err);
size_t engine_rules_checksum_bytes(void); /* of the arena */

/* The first rule that a text does not obey, by the name of its option; NULL: it obeys all. */
const char *engine_rules_broken(const struct writing_rules *rules, const char *text, size_t len);

#endif
