/* A pattern of a request, and texts against it: the first line is the pattern, the others are
 * texts. */
#include "engine/generate/pattern.h"

#include "tests/fuzz/driver/fuzz.h"

#include <stdlib.h>
#include <string.h>

/* Steps lie in the table, the dead state stays dead, and some byte leads on where no text ends. */
static void check_table(const struct automaton *automaton)
{
    FUZZ_CLAIM(automaton->states > AUTOMATON_START && automaton->states <= AUTOMATON_STATES_MAX);
    FUZZ_CLAIM(automaton->classes >= 1 && automaton->classes <= 256);
    for (unsigned byte = 0; byte < 256; byte++)
        FUZZ_CLAIM(automaton->class_of[byte] < automaton->classes);
    for (unsigned s = AUTOMATON_DEAD; s < automaton->states; s++) {
        bool goes_on = false;
        for (unsigned c = 0; c < automaton->classes; c++) {
            const unsigned to = automaton->next[s * automaton->classes + c];
            FUZZ_CLAIM(to < automaton->states);
            goes_on = goes_on || to != AUTOMATON_DEAD;
        }
        FUZZ_CLAIM(s == AUTOMATON_DEAD ? !goes_on && !automaton_accepts(automaton, s)
                                       : goes_on || automaton_accepts(automaton, s));
    }
}

/* Trimmed it accepts the same texts, but for those with white space at an end. */
static void check_trimmed(const struct automaton *automaton, const char *text, size_t len,
                          struct arena *arena)
{
    static const char spaces[] = "\t\n\v\f\r\x1C\x1D\x1E\x1F ";
    struct automaton trimmed;
    struct err err = {0};
    const bool has_space = len > 0 && (memchr(spaces, text[0], sizeof spaces - 1) != NULL ||
                                       memchr(spaces, text[len - 1], sizeof spaces - 1) != NULL);
    const bool is_one =
        !has_space &&
        automaton_accepts(automaton, automaton_walk(automaton, AUTOMATON_START, text, len));
    if (automaton_trim(&trimmed, automaton, "pattern", PATTERN_TABLE_MAX, arena, &err)) {
        FUZZ_CLAIM(!is_one || strstr(err.text, "limit") != NULL);
        fuzz_check_err(&err);
        return;
    }
    check_table(&trimmed);
    FUZZ_CLAIM(is_one ==
               automaton_accepts(&trimmed, automaton_walk(&trimmed, AUTOMATON_START, text, len)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    struct automaton automaton;
    struct arena arena;
    struct err err = {0};
    size_t len, text_len;
    arena_init(&arena);
    char *pattern = fuzz_part(&input, '\n', &len);
    char *text = fuzz_part(&input, '\n', &text_len);
    if (pattern_compile(&automaton, "pattern", pattern, len, &arena, &err) == ERR_OK) {
        check_table(&automaton);
        check_trimmed(&automaton, text, text_len, &arena);
    }
    FUZZ_CLAIM(err.code == ERR_OK || err.code == ERR_UNUSABLE);
    fuzz_check_err(&err);
    free(pattern);
    free(text);
    arena_deinit(&arena);
    return 0;
}
