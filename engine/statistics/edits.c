#include "engine/statistics/edits.h"

#include "engine/base/utf8.h"

#include <stdlib.h>
#include <string.h>

enum { BITS = 64 };

struct characters {
    uint32_t *at; /* [count] */
    unsigned count;
};

static bool read_characters(struct characters *out, const char *text, size_t len,
                            struct arena *scratch)
{
    *out = (struct characters){.at = arena_alloc_array(scratch, len + 1, sizeof *out->at)};
    for (size_t at = 0; out->at != NULL && at < len;)
        out->at[out->count++] = utf8_decode(text, &at);
    return out->at != NULL;
}

static int compare(const void *left, const void *right)
{
    const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

/* A column of the table: the differences between neighbours, +1 in `plus`, -1 in `minus`. */
struct column {
    uint64_t *plus, *minus; /* [blocks] */
    unsigned blocks, last;  /* last: the bit of the pattern's last character in the last block */
};

/* The next column. matches: [blocks] where the pattern has the column's character. Returns the
 * difference between the last cells of both columns. */
static int step(struct column *column, const uint64_t *matches)
{
    int in = 1; /* the first row rises by one a column */
    for (unsigned i = 0; i < column->blocks; i++) {
        const unsigned top = i + 1 < column->blocks ? BITS - 1 : column->last;
        const uint64_t plus = column->plus[i], minus = column->minus[i];
        const uint64_t down = matches[i] | minus, equal = matches[i] | (uint64_t)(in < 0);
        const uint64_t across = (((equal & plus) + plus) ^ plus) | equal;
        const uint64_t rises = minus | ~(across | plus), falls = plus & across;
        const uint64_t rises_below = rises << 1 | (uint64_t)(in > 0);
        const uint64_t falls_below = falls << 1 | (uint64_t)(in < 0);
        column->plus[i] = falls_below | ~(down | rises_below);
        column->minus[i] = rises_below & down;
        in = (int)(rises >> top & 1) - (int)(falls >> top & 1);
    }
    return in;
}

/* False: there is no memory. The pattern has a character at least. */
static bool walk(const struct characters *pattern, const struct characters *text,
                 struct arena *scratch, unsigned *distance)
{
    const unsigned blocks = (pattern->count + BITS - 1) / BITS;
    uint32_t *known = arena_alloc_array(scratch, pattern->count, sizeof *known);
    unsigned distinct = 0;
    if (known == NULL)
        return false;
    memcpy(known, pattern->at, pattern->count * sizeof *known);
    qsort(known, pattern->count, sizeof *known, compare);
    for (unsigned i = 0; i < pattern->count; i++)
        if (i == 0 || known[i] != known[distinct - 1])
            known[distinct++] = known[i];
    /* a row for each character of the pattern, one for all others, and both of the column */
    uint64_t *words = arena_alloc_array(scratch, (distinct + 3) * (size_t)blocks, sizeof *words);
    if (words == NULL)
        return false;
    struct column column = {.plus = words + (distinct + 1) * (size_t)blocks,
                            .minus = words + (distinct + 2) * (size_t)blocks,
                            .blocks = blocks,
                            .last = (pattern->count - 1) % BITS};
    memset(column.plus, 0xFF, blocks * sizeof *words);
    for (unsigned i = 0; i < pattern->count; i++) {
        const uint32_t *found = bsearch(&pattern->at[i], known, distinct, sizeof *known, compare);
        words[(size_t)(found - known) * blocks + i / BITS] |= UINT64_C(1) << i % BITS;
    }
    *distance = pattern->count;
    for (unsigned i = 0; i < text->count; i++) {
        const uint32_t *found = bsearch(&text->at[i], known, distinct, sizeof *known, compare);
        const size_t row = found != NULL ? (size_t)(found - known) : distinct;
        *distance += (unsigned)step(&column, words + row * blocks);
    }
    return true;
}

enum err_code edits_count(const char *written, size_t written_len, const char *right,
                          size_t right_len, struct arena *scratch, struct edits *out,
                          struct err *err)
{
    struct characters a, b;
    if (!read_characters(&a, written, written_len, scratch) ||
        !read_characters(&b, right, right_len, scratch))
        return err_no_memory(err, written_len + right_len);
    *out = (struct edits){.characters = b.count};
    while (a.count > 0 && b.count > 0 && a.at[a.count - 1] == b.at[b.count - 1])
        a.count--, b.count--;
    while (a.count > 0 && b.count > 0 && *a.at == *b.at)
        a.at++, b.at++, a.count--, b.count--;
    if (a.count == 0)
        out->count = b.count;
    else if (!walk(&a, &b, scratch, &out->count))
        return err_no_memory(err, a.count);
    return ERR_OK;
}
