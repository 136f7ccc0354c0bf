#include "server/observe/version_table.h"

#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 256 }; /* of a name and a version, about */

/* In one piece with what is kept, and with its names behind that. */
struct version_entry {
    uint64_t digest;
    uint64_t used; /* the number of its last use */
    const char *model, *version;
    max_align_t kept[];
};

static const char *version_text(const char *version)
{
    return version != NULL ? version : "";
}

static struct version_entry *find(const struct version_table *table, const char *model,
                                  const char *version, uint64_t digest)
{
    for (unsigned i = 0; i < table->count; i++) {
        struct version_entry *found = table->entries[i];
        if (found->digest == digest && strcmp(found->model, model) == 0 &&
            strcmp(found->version, version_text(version)) == 0)
            return found;
    }
    return NULL;
}

void *version_table_find(const struct version_table *table, const char *model, const char *version,
                         uint64_t digest)
{
    struct version_entry *found = find(table, model, version, digest);
    return found != NULL ? found->kept : NULL;
}

/* In a free place, or that of the version which was longest without a use. */
static struct version_entry *add(struct version_table *table, const char *model,
                                 const char *version, uint64_t digest)
{
    const size_t model_bytes = strlen(model) + 1, version_bytes = strlen(version_text(version)) + 1;
    struct version_entry *added =
        calloc(1, sizeof *added + table->bytes + model_bytes + version_bytes);
    if (added == NULL)
        return NULL;
    char *names = (char *)added->kept + table->bytes;
    added->digest = digest;
    added->model = memcpy(names, model, model_bytes);
    added->version = memcpy(names + model_bytes, version_text(version), version_bytes);
    unsigned at = table->count;
    if (at < VERSION_TABLE_MAX) {
        table->count++;
    } else {
        at = 0;
        for (unsigned i = 1; i < VERSION_TABLE_MAX; i++)
            if (table->entries[i]->used < table->entries[at]->used)
                at = i;
        free(table->entries[at]);
    }
    table->entries[at] = added;
    return added;
}

void *version_table_take(struct version_table *table, const char *model, const char *version,
                         uint64_t digest)
{
    struct version_entry *taken = find(table, model, version, digest);
    if (taken == NULL)
        taken = add(table, model, version, digest);
    if (taken == NULL)
        return NULL;
    taken->used = ++table->uses;
    return taken->kept;
}

void version_table_clear(struct version_table *table)
{
    for (unsigned i = 0; i < table->count; i++)
        free(table->entries[i]);
    table->count = 0;
}

size_t version_table_bytes(size_t bytes)
{
    return VERSION_TABLE_MAX * (sizeof(struct version_entry) + bytes + NAME_BYTES);
}
