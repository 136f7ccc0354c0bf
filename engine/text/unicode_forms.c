/* unicode_forms.c - see unicode.h: normalisation forms.
 *
 * Each character is decomposed. Combining characters (class not 0) wait until a starter ends the
 * run, and are then sorted by class. Forms C and KC pass the result to the composer, which holds a
 * starter back until all that composes with it is known. Each character carries the `change` of
 * aligned_put: 0 for the first of a decomposition, 1 for the others. A composite's change is the
 * sum of its parts', less 1 for each part but the first. A short run is sorted by insertion, a long
 * one by counting: a megabyte of marks takes milliseconds.
 *
 * Stretches of characters that no form changes are kept whole, except the last character of a
 * stretch: the next one may compose with it. */
#include "engine/base/utf8.h"
#include "engine/text/tables/form_tables.h"
#include "engine/text/unicode.h"

#include <assert.h>
#include <string.h>

/* Unicode Standard, section 3.12, "Conjoining Jamo Behavior". */
enum {
    SYLLABLE_FIRST = 0xAC00,
    SYLLABLE_COUNT = 11172,
    LEAD_FIRST = 0x1100,
    LEAD_COUNT = 19,
    VOWEL_FIRST = 0x1161,
    VOWEL_COUNT = 21,
    TAIL_BASE = 0x11A7, /* one before the first tail */
    TAIL_COUNT = 28,
};

enum {
    INSERTION_MAX = 32, /* longer runs are sorted by counting */
    CLASS_COUNT = 256,
    LOOK_CHARACTERS = 4096,
    COMPOSED_PLAIN = 0xCC, /* first byte of U+0300: below it form C changes nothing */
    ASCII_END = 0x80,
};

/* A character and its change, 0 or 1. */
struct item {
    uint32_t character : 31;
    uint32_t change : 1;
};

struct items {
    struct item *items;
    size_t count, room;
};

struct forms {
    struct aligned_builder builder;
    struct arena *arena;
    struct interrupt *interrupt;
    bool is_compatible, composes;
    struct items run;    /* combining characters in the order of the text */
    struct items sorted; /* room for sorting them */
    /* The composer. */
    bool has_starter, is_blocking; /* is_blocking: last_class is that of the last waiting one */
    uint32_t starter;
    long starter_change;
    uint8_t last_class;
    struct items waiting; /* behind the starter, and did not compose with it */
};

/* ---- compositions ---- */

/* 0 if the two do not compose. */
static uint32_t compose_hangul(uint32_t first, uint32_t second)
{
    uint32_t lead = first - LEAD_FIRST, vowel = second - VOWEL_FIRST;
    if (lead < LEAD_COUNT && vowel < VOWEL_COUNT)
        return SYLLABLE_FIRST + (lead * VOWEL_COUNT + vowel) * TAIL_COUNT;
    uint32_t syllable = first - SYLLABLE_FIRST, tail = second - TAIL_BASE;
    if (syllable < SYLLABLE_COUNT && syllable % TAIL_COUNT == 0 && tail - 1 < TAIL_COUNT - 1)
        return first + tail;
    return 0;
}

static uint32_t compose(uint32_t first, uint32_t second)
{
    if (!(unicode_properties(second)->flags & UNICODE_COMPOSES))
        return compose_hangul(first, second);
    const struct form_second *group = form_tables_seconds;
    while (group->second != second)
        group++;
    const struct form_composition *compositions = &form_tables_compositions[group->at];
    size_t low = 0, high = group->count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (compositions[middle].first <= first)
            low = middle;
        else
            high = middle;
    }
    return compositions[low].first == first ? compositions[low].composed : 0;
}

bool unicode_forms_is_mark(uint32_t character)
{
    return unicode_properties(character)->flags & UNICODE_ANY_MARK;
}

/* ---- items ---- */

static uint8_t class_of(struct item item)
{
    return unicode_properties(item.character)->combining_class;
}

static bool items_make_room(struct items *items, size_t count, struct arena *arena, struct err *err)
{
    if (count <= items->room)
        return true;
    size_t room = count > 2 * items->room ? count : 2 * items->room;
    room = room > INSERTION_MAX ? room : INSERTION_MAX;
    struct item *grown = arena_alloc(arena, room * sizeof *grown);
    if (grown == NULL) {
        err_no_memory(err, room * sizeof *grown);
        return false;
    }
    if (items->count > 0)
        memcpy(grown, items->items, items->count * sizeof *grown);
    items->items = grown;
    items->room = room;
    return true;
}

static bool items_add(struct items *items, struct item item, struct arena *arena, struct err *err)
{
    if (!items_make_room(items, items->count + 1, arena, err))
        return false;
    items->items[items->count++] = item;
    return true;
}

static void sort_by_insertion(struct items *run)
{
    for (size_t i = 1; i < run->count; i++) {
        struct item item = run->items[i];
        size_t at = i;
        for (; at > 0 && class_of(run->items[at - 1]) > class_of(item); at--)
            run->items[at] = run->items[at - 1];
        run->items[at] = item;
    }
}

static void sort_by_counting(struct items *run, struct item *out)
{
    size_t places[CLASS_COUNT] = {0}, before = 0;
    for (size_t i = 0; i < run->count; i++)
        places[class_of(run->items[i])]++;
    for (unsigned i = 0; i < CLASS_COUNT; i++) {
        size_t of_class = places[i];
        places[i] = before;
        before += of_class;
    }
    for (size_t i = 0; i < run->count; i++)
        out[places[class_of(run->items[i])]++] = run->items[i];
    memcpy(run->items, out, run->count * sizeof *out);
}

/* Stable: characters of one class keep their order. */
static bool run_sort(struct forms *forms, struct err *err)
{
    struct items *run = &forms->run;
    if (run->count <= INSERTION_MAX) {
        sort_by_insertion(run);
        return true;
    }
    if (!items_make_room(&forms->sorted, run->count, forms->arena, err))
        return false;
    sort_by_counting(run, forms->sorted.items);
    return true;
}

/* ---- composing ---- */

static bool put(struct forms *forms, struct item item, struct err *err)
{
    return aligned_put(&forms->builder, item.character, item.change, err);
}

/* Writes the starter and the characters that wait behind it. */
static bool composer_flush(struct forms *forms, struct err *err)
{
    if (forms->has_starter &&
        !aligned_put(&forms->builder, forms->starter, forms->starter_change, err))
        return false;
    for (size_t i = 0; i < forms->waiting.count; i++)
        if (!put(forms, forms->waiting.items[i], err))
            return false;
    forms->has_starter = forms->is_blocking = false;
    forms->waiting.count = 0;
    return true;
}

/* Takes the next character in canonical order. It composes with the starter unless a character of
 * at least its class is between them (Unicode Standard, D117). */
static bool composer_take(struct forms *forms, struct item item, struct err *err)
{
    uint8_t class = class_of(item);
    if (!forms->has_starter && class != 0)
        return put(forms, item, err);
    bool is_blocked = forms->is_blocking && forms->last_class >= class;
    uint32_t composed =
        forms->has_starter && !is_blocked ? compose(forms->starter, item.character) : 0;
    if (composed != 0) {
        forms->starter = composed;
        forms->starter_change += (long)item.change - 1;
        return true;
    }
    if (class != 0) {
        forms->is_blocking = true;
        forms->last_class = class;
        return items_add(&forms->waiting, item, forms->arena, err);
    }
    if (!composer_flush(forms, err))
        return false;
    forms->has_starter = true;
    forms->starter = item.character;
    forms->starter_change = item.change;
    return true;
}

/* ---- decomposing ---- */

static bool pass_on(struct forms *forms, struct item item, struct err *err)
{
    return forms->composes ? composer_take(forms, item, err) : put(forms, item, err);
}

static bool run_flush(struct forms *forms, struct err *err)
{
    if (forms->run.count > 1 && !run_sort(forms, err))
        return false;
    for (size_t i = 0; i < forms->run.count; i++)
        if (!pass_on(forms, forms->run.items[i], err))
            return false;
    forms->run.count = 0;
    return true;
}

static bool take(struct forms *forms, uint32_t character, struct err *err)
{
    uint32_t parts[UNICODE_COMPATIBLE_MAX];
    unsigned count = forms->is_compatible ? unicode_decompose_compatible(character, parts)
                                          : unicode_decompose(character, parts);
    for (unsigned i = 0; i < count; i++) {
        struct item item = {parts[i], i > 0};
        bool taken = class_of(item) != 0 ? items_add(&forms->run, item, forms->arena, err)
                                         : run_flush(forms, err) && pass_on(forms, item, err);
        if (!taken)
            return false;
    }
    return true;
}

/* ---- the whole ---- */

/* Returns the end of the characters from `at` on that no form changes. */
static size_t plain_end(const struct forms *forms, const struct aligned *in, size_t at)
{
    unsigned end = forms->composes && !forms->is_compatible ? COMPOSED_PLAIN : ASCII_END;
    while (at < in->len && (unsigned char)in->bytes[at] < end)
        at++;
    return at;
}

/* Keeps the plain characters from `at` on, except the last. */
static bool take_plain(struct forms *forms, const struct aligned *in, size_t *at, struct err *err)
{
    size_t end = plain_end(forms, in, *at);
    while (end > *at && end < in->len && ((unsigned char)in->bytes[--end] & 0xC0) == 0x80)
        continue;
    if (end == *at)
        return true;
    if (!run_flush(forms, err) || !composer_flush(forms, err))
        return false;
    assert(forms->builder.at == *at);
    bool kept = aligned_keep(&forms->builder, end - *at, err);
    *at = end;
    return kept;
}

enum err_code unicode_forms_apply(enum unicode_form form, const struct aligned *in,
                                  struct aligned *out, struct arena *arena,
                                  struct interrupt *interrupt, struct err *err)
{
    struct forms forms = {.arena = arena,
                          .interrupt = interrupt,
                          .is_compatible = form == UNICODE_NFKC || form == UNICODE_NFKD,
                          .composes = form == UNICODE_NFC || form == UNICODE_NFKC};
    size_t looked = 0;
    *out = *in;
    if (plain_end(&forms, in, 0) == in->len)
        return ERR_OK;
    aligned_builder_init(&forms.builder, in, arena);
    for (size_t at = 0; at < in->len;) {
        if (looked++ % LOOK_CHARACTERS == 0 && interrupt_look(interrupt, err))
            return err->code;
        if (!take_plain(&forms, in, &at, err))
            return err->code;
        if (at < in->len && !take(&forms, utf8_decode(in->bytes, &at), err))
            return err->code;
    }
    if (run_flush(&forms, err) && composer_flush(&forms, err))
        *out = forms.builder.out;
    return err->code;
}
