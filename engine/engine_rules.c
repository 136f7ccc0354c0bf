#include "engine/engine_rules.h"

#include "engine/base/utf8.h"
#include "engine/fab/semi_check.h"
#include "engine/generate/pattern.h"
#include "engine/text/tokenizer.h"

#include <assert.h>
#include <string.h>

_Static_assert((int)ENGINE_PATTERN_BYTES_MAX == (int)PATTERN_BYTES_MAX &&
                   (int)ENGINE_ALLOWED_MAX == (int)AUTOMATON_WORDS_MAX,
               "engine.h tells the limits of generate/");

static const char pattern_name[] = "pattern", allowed_name[] = "allowed",
                  numbers_name[] = "copy_numbers", checksum_name[] = "checksum";

static const char *const checksum_names[] = {
    [ENGINE_CHECKSUM_SEMI_M13] = "semi-m13", [ENGINE_CHECKSUM_NONE] = "none"};

const char *engine_checksum_name(enum engine_checksum checksum)
{
    return checksum_names[checksum];
}

bool engine_checksum_find(const char *name, size_t len, enum engine_checksum *out)
{
    for (enum engine_checksum c = ENGINE_CHECKSUM_SEMI_M13; c <= ENGINE_CHECKSUM_NONE; c++)
        if (strlen(checksum_names[c]) == len && memcmp(checksum_names[c], name, len) == 0) {
            *out = c;
            return true;
        }
    return false;
}

bool engine_rules_are_asked(const struct engine_writing *writing)
{
    return writing != NULL &&
           (writing->pattern != NULL || writing->allowed != NULL || writing->copies_numbers ||
            writing->checksum == ENGINE_CHECKSUM_SEMI_M13);
}

/* ---- automata ---- */

static enum err_code add_pattern(struct automaton *out, const struct tokenizer *tokenizer,
                                 const struct engine_writing *writing, struct arena *arena,
                                 struct err *err)
{
    struct automaton all;
    struct arena scratch;
    if (!tokenizer_strips(tokenizer))
        return pattern_compile(out, pattern_name, writing->pattern, writing->pattern_len, arena,
                               err);
    arena_init(&scratch);
    if (!pattern_compile(&all, pattern_name, writing->pattern, writing->pattern_len, &scratch, err))
        automaton_trim(out, &all, pattern_name, PATTERN_TABLE_MAX, arena, err);
    arena_deinit(&scratch);
    return err->code;
}

/* A text that decoding would change is never written. */
static enum err_code check_allowed(const struct tokenizer *tokenizer, const char *text, unsigned at,
                                   struct arena *scratch, struct err *err)
{
    const size_t len = strlen(text);
    size_t offset;
    if (!utf8_valid(text, len, &offset))
        return err_set(err, ERR_UNUSABLE, "%s[%u]: invalid UTF-8 at byte %zu", allowed_name, at,
                       offset);
    char *copy = arena_copy(scratch, text, len);
    if (copy == NULL)
        return err_no_memory(err, len);
    if (tokenizer_finish(tokenizer, copy, len) != len)
        return err_set(err, ERR_UNUSABLE,
                       "%s[%u]: the model's tokenizer takes white space out of this text, at its "
                       "ends or before punctuation",
                       allowed_name, at);
    return ERR_OK;
}

enum err_code engine_rules_make(struct writing_rules *out, const struct engine_model *model,
                                const struct engine_source *source, struct arena *arena,
                                struct err *err)
{
    const struct engine_writing *writing = source->writing;
    const struct tokenizer *tokenizer = model->stacks[1].pipeline.tokenizer;
    *out = (struct writing_rules){.checksum = writing->checksum};
    if (writing->pattern != NULL) {
        out->names[out->count] = pattern_name;
        if (add_pattern(&out->automata[out->count++], tokenizer, writing, arena, err))
            return err->code;
    }
    if (writing->allowed != NULL) {
        out->names[out->count] = allowed_name;
        struct automaton *allowed = &out->automata[out->count++];
        const unsigned count = writing->allowed_count;
        struct arena scratch;
        arena_init(&scratch);
        struct automaton_text *texts = arena_alloc_array(&scratch, count + 1u, sizeof *texts);
        if (texts == NULL)
            err_no_memory(err, count * sizeof *texts);
        for (unsigned i = 0; i < count && i < AUTOMATON_WORDS_MAX && err->code == ERR_OK; i++) {
            texts[i] = (struct automaton_text){writing->allowed[i], strlen(writing->allowed[i])};
            check_allowed(tokenizer, writing->allowed[i], i, &scratch, err);
        }
        if (err->code == ERR_OK)
            automaton_words(allowed, allowed_name, texts, count, arena, err);
        arena_deinit(&scratch);
        if (err->code != ERR_OK)
            return err->code;
    }
    if (writing->copies_numbers) {
        if (source->kind == ENGINE_IMAGE)
            return err_set(err, ERR_UNUSABLE,
                           "%s: the input is a picture, which has no text to copy numbers from",
                           numbers_name);
        out->names[out->count] = numbers_name;
        const struct automaton_text text = {source->bytes, source->len};
        if (automaton_numbers(&out->automata[out->count++], numbers_name, text, arena, err))
            return err->code;
    }
    return ERR_OK;
}

enum { CHECKSUM_CLASSES = 39 }; /* the characters of marks, and others */

size_t engine_rules_checksum_bytes(void)
{
    return automaton_bytes(AUTOMATON_START + SEMI_CHECK_STATES, CHECKSUM_CLASSES);
}

/* Its states are those of semi_check_step, behind the dead one. */
enum err_code engine_rules_checksum(struct automaton *out, struct arena *arena, struct err *err)
{
    unsigned classes = 1;
    char characters[CHECKSUM_CLASSES];
    uint16_t *next;
    uint8_t *accepts;
    for (unsigned byte = 0; byte < 256; byte++) {
        unsigned state = 0;
        const bool is_one = semi_check_step(&state, (char)byte);
        out->class_of[byte] = is_one ? (uint8_t)classes : 0;
        if (is_one)
            characters[classes++] = (char)byte;
    }
    assert(classes == CHECKSUM_CLASSES);
    if (automaton_table(out, checksum_name, AUTOMATON_START + SEMI_CHECK_STATES, classes,
                        AUTOMATON_BYTES_MAX, &next, &accepts, arena, err))
        return err->code;
    for (unsigned s = 0; s < SEMI_CHECK_STATES; s++) {
        accepts[AUTOMATON_START + s] = semi_check_state_holds(s);
        for (unsigned class = 1; class < classes; class ++) {
            unsigned state = s;
            semi_check_step(&state, characters[class]);
            next[(AUTOMATON_START + s) * classes + class] = (uint16_t)(AUTOMATON_START + state);
        }
    }
    return ERR_OK;
}

/* Bytes of a list of texts; false: it is refused. */
static bool allowed_bytes(const struct engine_writing *writing, size_t *kept)
{
    bool is_used[256] = {false};
    size_t bytes = 0, kinds = 0;
    if (writing->allowed_count > AUTOMATON_WORDS_MAX)
        return false;
    for (unsigned i = 0; i < writing->allowed_count; i++)
        for (const char *at = writing->allowed[i]; *at != '\0'; at++, bytes++)
            is_used[(unsigned char)*at] = true;
    for (unsigned byte = 0; byte < 256; byte++)
        kinds += is_used[byte];
    *kept = automaton_bytes(AUTOMATON_START + 1 + bytes, kinds + 1);
    return bytes <= AUTOMATON_STATES_MAX;
}

bool engine_rules_bytes(const struct engine_source *source, size_t *kept, size_t *passing)
{
    const struct engine_writing *writing = source->writing;
    *kept = *passing = 0;
    if (!engine_rules_are_asked(writing))
        return true;
    *kept = sizeof(struct writing_rules) + ARENA_ALIGNMENT;
    if (writing->pattern != NULL) {
        *kept += PATTERN_TABLE_MAX + automaton_bytes(AUTOMATON_STATES_MAX, 0);
        *passing = pattern_compile_bytes() + 4 * (size_t)PATTERN_TABLE_MAX;
    }
    if (writing->allowed != NULL) {
        size_t bytes;
        if (!allowed_bytes(writing, &bytes))
            return false;
        *kept += bytes;
        *passing += bytes + writing->allowed_count * sizeof(struct automaton_text);
    }
    if (writing->copies_numbers) {
        const struct automaton_text text = {source->bytes, source->len};
        const size_t bytes = source->kind == ENGINE_TEXT ? automaton_numbers_bytes(text) : 0;
        if (bytes == 0)
            return false;
        *kept += bytes;
    }
    return true;
}

/* ---- a whole text ---- */

const char *engine_rules_broken(const struct writing_rules *rules, const char *text, size_t len)
{
    for (unsigned a = 0; a < rules->count; a++) {
        const struct automaton *automaton = &rules->automata[a];
        if (!automaton_accepts(automaton, automaton_walk(automaton, AUTOMATON_START, text, len)))
            return rules->names[a];
    }
    if (rules->checksum == ENGINE_CHECKSUM_SEMI_M13 && !semi_check_holds(text, len))
        return checksum_name;
    return NULL;
}
