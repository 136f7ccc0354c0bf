/* form_tables.h - the generated tables behind unicode.c and unicode_forms.c, which alone use them;
 * make_form_tables.py names the version of Unicode.
 *
 * Constant: any thread.
 */
#ifndef ATTND_ENGINE_TEXT_TABLES_FORM_TABLES_H
#define ATTND_ENGINE_TEXT_TABLES_FORM_TABLES_H

#include <stddef.h>
#include <stdint.h>

/* Characters first to last decompose into `length` characters each, which stand one decomposition
 * behind the other in the pool; full, not reordered. */
struct form_run {
    uint32_t first, last;
    uint16_t at, length;
};

/* The compositions with this second character. */
struct form_second {
    uint32_t second;
    uint16_t at, count;
};

struct form_composition {
    uint32_t first, composed;
};

extern const struct form_run form_tables_canonical[], form_tables_compatible[]; /* ascending */
extern const size_t form_tables_canonical_count, form_tables_compatible_count;
extern const uint32_t form_tables_pool[];
extern const struct form_second form_tables_seconds[]; /* ascending */
extern const size_t form_tables_second_count;
extern const struct form_composition form_tables_compositions[]; /* ascending in each second */

#endif
