#include "engine/base/nearest.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES_MAX = 64, CELLS_MAX = 1 << 19 };

/* Computes Levenshtein's distance by Wagner and Fischer, one row at a time: row[k] is the distance
 * of the first i bytes of `a` to the first k of `b`. A distance beyond `far` may end early, as
 * SIZE_MAX. *cells rises by the cells computed. */
static size_t edit_distance(const char *a, size_t a_len, const char *b, size_t b_len, size_t far,
                            size_t *cells)
{
    size_t row[NAME_BYTES_MAX + 1];
    for (size_t k = 0; k <= b_len; k++)
        row[k] = k;
    for (size_t i = 0; i < a_len; i++) {
        size_t diagonal = row[0], least = i + 1;
        row[0] = i + 1;
        for (size_t k = 0; k < b_len; k++) {
            size_t substituted = diagonal + (a[i] != b[k]);
            size_t shifted = (row[k] < row[k + 1] ? row[k] : row[k + 1]) + 1;
            diagonal = row[k + 1];
            row[k + 1] = substituted < shifted ? substituted : shifted;
            least = row[k + 1] < least ? row[k + 1] : least;
        }
        *cells += b_len;
        if (least > far)
            return SIZE_MAX;
    }
    return row[b_len];
}

const char *nearest_name(const char *name, const char *const *known, size_t count)
{
    const char *nearest = NULL;
    size_t nearest_distance = SIZE_MAX;
    size_t len = strlen(name);
    if (len > NAME_BYTES_MAX)
        return NULL;
    size_t far = len / 3 + 1; /* one typing error in a short name is still near */
    size_t cells = 0;
    for (size_t i = 0; i < count; i++) {
        size_t known_len = strlen(known[i]);
        if (known_len > NAME_BYTES_MAX || known_len > len + far || len > known_len + far)
            continue;
        if (cells > CELLS_MAX)
            return NULL;
        size_t distance = edit_distance(name, len, known[i], known_len, far, &cells);
        if (distance <= far && distance < nearest_distance && distance < known_len) {
            nearest = known[i];
            nearest_distance = distance;
        }
    }
    return nearest;
}

/* Room for ", ..." is always left. */
bool nearest_list(char *list, size_t size, const char *name)
{
    const char *between = list[0] != '\0' ? ", " : "";
    size_t used = strlen(list), need = strlen(between) + strlen(name);
    bool fits = used + need + sizeof ", ..." <= size;
    snprintf(list + used, size - used, "%s%s", between, fits ? name : "...");
    for (char *at = list + used; *at != '\0'; at++)
        if ((unsigned char)*at < 0x20 || *at == 0x7F)
            *at = '?';
    return fits;
}
