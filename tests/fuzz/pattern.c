/* A pattern of a request, and texts against it: the first line is the pattern, the others are
 * texts. */
#include "engine/generate/pattern.h"

#include "tests/fuzz/driver/fuzz.h"

#include <stdlib.h>

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

/* With a space to skip the automaton accepts the same texts, and those with a space in front. */
static void check_space(const struct automaton *automaton, const char *text, size_t len,
                        struct arena *arena)
{
    struct automaton skips = *automaton;
    struct err err = {0};
    if (automaton_skip_space(&skips, "pattern", arena, &err)) {
        fuzz_check_err(&err);
        return;
    }
    check_table(&skips);
    const bool has_space = len > 0 && text[0] == ' ';
    const unsigned state =
        automaton_walk(automaton, AUTOMATON_START, text + has_space, len - has_space);
    FUZZ_CLAIM(automaton_accepts(&skips, automaton_walk(&skips, AUTOMATON_START, text, len)) ==
               automaton_accepts(automaton, state));
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
        check_space(&automaton, text, text_len, &arena);
    }
    FUZZ_CLAIM(err.code == ERR_OK || err.code == ERR_UNUSABLE);
    fuzz_check_err(&err);
    free(pattern);
    free(text);
    arena_deinit(&arena);
    return 0;
}
