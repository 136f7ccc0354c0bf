/* text_cost.h - upper bounds for the steps of a tokenizer: the size of the text and the memory, for
 * each byte of the client's text. Bytes are counted by kind: ASCII hardly grows, most scripts grow
 * at most threefold when they are decomposed, and compatibility forms elevenfold (U+FDFA).
 *
 *     struct text_cost cost = TEXT_COST_OF_TEXT;
 *     text_cost_step(&cost, &(struct text_growth){{1, 2, 2}, false});        for each step
 *     struct text_bytes bytes = text_cost_count(text, len);
 *     text_cost_total(&bytes, cost.size)                bytes that the text can become
 *
 * Threads: no state.
 */
#ifndef ATTND_ENGINE_TEXT_PIPELINE_TEXT_COST_H
#define ATTND_ENGINE_TEXT_PIPELINE_TEXT_COST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum text_kind {
    TEXT_ASCII,
    TEXT_LETTERS, /* characters that grow at most threefold in any Unicode form */
    TEXT_FORMS,   /* U+2000 to U+3FFF, and from U+F000 on */
    TEXT_KINDS,
};

enum {
    TEXT_COST_ALIGNED = 9, /* memory of a byte of struct aligned */
    TEXT_COST_SIZE_MAX = 4096,
};

struct text_bytes {
    size_t of[TEXT_KINDS];
};

/* Most bytes that a step makes of a byte. */
struct text_growth {
    size_t of[TEXT_KINDS];
    bool is_form; /* a Unicode form or similar: a second one does not grow the text again */
};

struct text_cost {
    size_t form[TEXT_KINDS];  /* the largest growth of a form */
    size_t other[TEXT_KINDS]; /* the product of the other growths */
    size_t size[TEXT_KINDS];  /* bytes of text: the product of both */
    size_t bytes[TEXT_KINDS]; /* bytes of memory, in the worst step */
};

#define TEXT_COST_OF_TEXT                                                                          \
    ((struct text_cost){{1, 1, 1},                                                                 \
                        {1, 1, 1},                                                                 \
                        {1, 1, 1},                                                                 \
                        {TEXT_COST_ALIGNED, TEXT_COST_ALIGNED, TEXT_COST_ALIGNED}})

/* Adds a step that writes with an aligned_builder while the old text still exists: twice both
 * texts, or, if the builder doubles repeatedly, four times the new one. */
static inline void text_cost_step(struct text_cost *cost, const struct text_growth *growth)
{
    for (int kind = 0; kind < TEXT_KINDS; kind++) {
        size_t before = cost->size[kind], *grown = growth->is_form ? cost->form : cost->other;
        size_t size = growth->is_form ? growth->of[kind] : grown[kind] * growth->of[kind];
        size = size > TEXT_COST_SIZE_MAX ? TEXT_COST_SIZE_MAX : size;
        grown[kind] = size > grown[kind] ? size : grown[kind];
        cost->size[kind] = cost->form[kind] * cost->other[kind];
        size_t longer = before > cost->size[kind] ? before : cost->size[kind];
        size_t bytes = 2 * TEXT_COST_ALIGNED * (longer + cost->size[kind]);
        cost->bytes[kind] = bytes > cost->bytes[kind] ? bytes : cost->bytes[kind];
    }
}

static inline void text_cost_add(struct text_cost *cost, size_t bytes_per_byte)
{
    for (int kind = 0; kind < TEXT_KINDS; kind++)
        cost->bytes[kind] += bytes_per_byte * cost->size[kind];
}

static inline enum text_kind text_cost_kind(unsigned char lead)
{
    return lead < 0x80                                    ? TEXT_ASCII
           : lead == 0xE2 || lead == 0xE3 || lead >= 0xEF ? TEXT_FORMS
                                                          : TEXT_LETTERS;
}

/* Counts the bytes of valid UTF-8 by kind. */
static inline struct text_bytes text_cost_count(const char *text, size_t len)
{
    struct text_bytes bytes = {{0}};
    enum text_kind kind = TEXT_ASCII;
    for (size_t i = 0; i < len; i++) {
        unsigned char byte = (unsigned char)text[i];
        kind = (byte & 0xC0) == 0x80 ? kind : text_cost_kind(byte);
        bytes.of[kind]++;
    }
    return bytes;
}

static inline size_t text_cost_total(const struct text_bytes *bytes, const size_t of[TEXT_KINDS])
{
    size_t total = 0;
    for (int kind = 0; kind < TEXT_KINDS; kind++) {
        size_t part;
        if (__builtin_mul_overflow(bytes->of[kind], of[kind], &part) ||
            __builtin_add_overflow(total, part, &total))
            return SIZE_MAX / 4;
    }
    return total;
}

#endif
