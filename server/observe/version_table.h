/* version_table.h - something that is kept of each version of a model: found by name, version and a
 * digest of whatever makes it another one. A new one takes, when there are VERSION_TABLE_MAX, the
 * place of the one which was longest without a prediction.
 *
 *     struct version_table table = {.bytes = sizeof(struct sums)};
 *     struct sums *sums = version_table_take(&table, "wafer-vit", "2", digest);
 *     ...
 *     version_table_clear(&table);
 *
 * Threads: one at a time.
 */
#ifndef ATTND_SERVER_OBSERVE_VERSION_TABLE_H
#define ATTND_SERVER_OBSERVE_VERSION_TABLE_H

#include <stddef.h>
#include <stdint.h>

enum { VERSION_TABLE_MAX = 128 }; /* twice as many as a configuration may have */

struct version_entry;

struct version_table {
    size_t bytes; /* of what is kept of each */
    unsigned count;
    uint64_t uses;
    struct version_entry *entries[VERSION_TABLE_MAX];
};

/* version: NULL as "". What is found is aligned for any object; NULL: there is none. */
void *version_table_find(const struct version_table *table, const char *model, const char *version,
                         uint64_t digest);

/* The same, or a new one, all zeros. It counts as a use. NULL: no memory. */
void *version_table_take(struct version_table *table, const char *model, const char *version,
                         uint64_t digest);

void version_table_clear(struct version_table *table);

/* Most bytes that a table takes, without the struct itself. */
size_t version_table_bytes(size_t bytes);

#endif
