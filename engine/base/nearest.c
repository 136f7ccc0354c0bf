#include "engine/base/nearest.h"

#include <ctype.h>
#include <string.h>

enum { ROW = NEAREST_LENGTH_MAX + 1 };

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static int same(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Damerau-Levenshtein distance in its restricted form (optimal string alignment: no substring is
 * edited twice). Row i holds the distances from the first i characters of a to every prefix of b;
 * a swap looks two rows back. */
static size_t distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
    size_t rows[3][ROW];
    for (size_t j = 0; j <= b_len; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_len; i++) {
        size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *two_above = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            size_t replaced = above[j - 1] + !same(a[i - 1], b[j - 1]);
            row[j] = smaller(replaced, smaller(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
                row[j] = smaller(row[j], two_above[j - 2] + 1);
        }
    }
    return rows[a_len % 3][b_len];
}

const char *nearest_name(const char *name, const char *const *known, size_t count)
{
    size_t len = strnlen(name, NEAREST_LENGTH_MAX + 1);
    const char *best = NULL;
    size_t best_distance = NEAREST_LENGTH_MAX;
    if (len > NEAREST_LENGTH_MAX)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        size_t known_len = strnlen(known[i], NEAREST_LENGTH_MAX + 1);
        if (known_len > NEAREST_LENGTH_MAX)
            continue;
        size_t limit = ((len > known_len ? len : known_len) + 2) / 3;
        size_t edits = distance(name, len, known[i], known_len);
        if (edits > limit || edits >= best_distance)
            continue;
        best = known[i];
        best_distance = edits;
    }
    return best;
}
