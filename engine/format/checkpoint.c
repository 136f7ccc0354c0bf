/* checkpoint.c - see checkpoint.h.
 *
 * A directory holds either model.safetensors or an index that names shards; transformers looks for
 * them in this order. The index alone is not trusted: the shards' headers list the tensors, and the
 * index's entries are checked against them. A tensor that a shard holds and the index does not
 * mention is used too.
 *
 * Shard names come from a file that may be hostile and become paths, so only plain names of
 * safetensors files in the same directory are accepted.
 */
#include "engine/format/checkpoint.h"

#include "engine/base/arena.h"
#include "engine/base/doc.h"
#include "engine/base/file.h"
#include "engine/format/directory.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define WEIGHTS_NAME "model.safetensors"
#define INDEX_NAME "model.safetensors.index.json"
#define SUFFIX ".safetensors"

enum {
    INDEX_BYTES_MAX = 32 * 1000 * 1000,
    SHARDS_MAX = 256, /* each keeps a descriptor open */
    SHARD_NAME_BYTES_MAX = 200,
};

struct shard {
    const char *name; /* inside the directory */
    const char *path;
    struct safetensors *file;
};

/* A tensor and the shard that holds it. */
struct entry {
    const struct tensor_info *info;
    const struct shard *shard;
};

struct checkpoint {
    const char *dir;
    unsigned shard_count;
    struct shard shards[SHARDS_MAX]; /* sorted by name once open */
    size_t entry_count;
    struct entry *entries; /* sorted by the tensors' names */
    struct arena strings;
};

/* True for a name of letters, digits and -_. only, which is also safe to print. */
static bool is_plain_name(const char *name)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    size_t len = strlen(name);
    size_t suffix = sizeof SUFFIX - 1;
    return len > suffix && len <= SHARD_NAME_BYTES_MAX && name[0] != '.' &&
           strspn(name, allowed) == len && strcmp(name + len - suffix, SUFFIX) == 0;
}

static struct shard *find_shard(struct checkpoint *checkpoint, const char *name)
{
    for (unsigned i = 0; i < checkpoint->shard_count; i++)
        if (strcmp(checkpoint->shards[i].name, name) == 0)
            return &checkpoint->shards[i];
    return NULL;
}

static enum err_code add_shard(struct checkpoint *checkpoint, const char *name, struct err *err)
{
    if (find_shard(checkpoint, name) != NULL)
        return ERR_OK;
    if (checkpoint->shard_count == SHARDS_MAX)
        return err_set(err, ERR_UNSUPPORTED, "weight_map: more than %d shards", SHARDS_MAX);
    struct shard shard = {
        .name = arena_copy(&checkpoint->strings, name, strlen(name)),
        .path = arena_format(&checkpoint->strings, "%s/%s", checkpoint->dir, name),
    };
    if (shard.name == NULL || shard.path == NULL)
        return err_no_memory(err, strlen(checkpoint->dir) + strlen(name) + 2);
    checkpoint->shards[checkpoint->shard_count++] = shard;
    return ERR_OK;
}

static enum err_code add_indexed_shard(void *context, const char *key, const struct json_t *value,
                                       struct err *err)
{
    (void)key;
    const char *name = doc_as_string(value);
    if (name == NULL || !is_plain_name(name))
        return err_set(err, ERR_UNSUPPORTED,
                       "weight_map: a shard must be the plain name of a %s file in the directory",
                       SUFFIX);
    return add_shard(context, name, err);
}

static int compare_shards(const void *left, const void *right)
{
    const struct shard *a = left, *b = right;
    return strcmp(a->name, b->name);
}

static enum err_code open_shards(struct checkpoint *checkpoint, struct err *err)
{
    qsort(checkpoint->shards, checkpoint->shard_count, sizeof *checkpoint->shards, compare_shards);
    for (unsigned i = 0; i < checkpoint->shard_count; i++) {
        struct shard *shard = &checkpoint->shards[i];
        if (safetensors_open(&shard->file, shard->path, err))
            return err_prefix(err, "%s: ", shard->name);
        checkpoint->entry_count += safetensors_count(shard->file);
    }
    return ERR_OK;
}

static int compare_entries(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    return strcmp(a->info->name, b->info->name);
}

static enum err_code collect_entries(struct checkpoint *checkpoint, struct err *err)
{
    size_t count = 0;
    checkpoint->entries = calloc(checkpoint->entry_count + 1, sizeof *checkpoint->entries);
    if (checkpoint->entries == NULL)
        return err_no_memory(err, checkpoint->entry_count * sizeof *checkpoint->entries);
    for (unsigned s = 0; s < checkpoint->shard_count; s++) {
        const struct shard *shard = &checkpoint->shards[s];
        for (size_t i = 0; i < safetensors_count(shard->file); i++)
            checkpoint->entries[count++] =
                (struct entry){.info = safetensors_at(shard->file, i), .shard = shard};
    }
    qsort(checkpoint->entries, count, sizeof *checkpoint->entries, compare_entries);
    for (size_t i = 1; i < checkpoint->entry_count; i++) {
        const struct entry *entry = &checkpoint->entries[i];
        if (compare_entries(entry - 1, entry) == 0)
            return err_set(err, ERR_UNSUPPORTED, "%s: tensor '%s' is in %s too",
                           entry[0].shard->name, printable_name(entry->info->name).text,
                           entry[-1].shard->name);
    }
    return ERR_OK;
}

static enum err_code check_indexed_tensor(void *context, const char *key,
                                          const struct json_t *value, struct err *err)
{
    struct checkpoint *checkpoint = context;
    const struct shard *shard = find_shard(checkpoint, doc_as_string(value));
    if (safetensors_find(shard->file, key) == NULL)
        return err_set(err, ERR_UNSUPPORTED, "weight_map: names tensor '%s', which is not in %s",
                       printable_name(key).text, shard->name);
    return ERR_OK;
}

static enum err_code open_sharded(struct checkpoint *checkpoint, const char *index_path,
                                  struct err *err)
{
    struct json_t *index;
    if (doc_parse_file(&index, index_path, INDEX_BYTES_MAX, err))
        return err_prefix(err, INDEX_NAME ": ");
    const struct json_t *map = doc_member(index, "weight_map");
    if (doc_object_count(map) == 0) {
        err_set(err, ERR_UNSUPPORTED,
                INDEX_NAME ": weight_map: expected an object that is not empty, found %s",
                doc_type_name(map));
        goto out;
    }
    if (doc_each_member(map, add_indexed_shard, checkpoint, err)) {
        err_prefix(err, INDEX_NAME ": ");
        goto out;
    }
    if (open_shards(checkpoint, err) || collect_entries(checkpoint, err))
        goto out;
    if (doc_each_member(map, check_indexed_tensor, checkpoint, err))
        err_prefix(err, INDEX_NAME ": ");
out:
    doc_free(index);
    return err->code;
}

static enum err_code open_weights(struct checkpoint *checkpoint, struct err *err)
{
    const char *weights = arena_format(&checkpoint->strings, "%s/" WEIGHTS_NAME, checkpoint->dir);
    const char *index = arena_format(&checkpoint->strings, "%s/" INDEX_NAME, checkpoint->dir);
    struct stat status;
    bool has_weights, has_index;
    if (weights == NULL || index == NULL)
        return err_no_memory(err, strlen(checkpoint->dir) + sizeof INDEX_NAME);
    if (stat(checkpoint->dir, &status) != 0)
        return err_set(err, ERR_IO, "the directory cannot be opened: %s", strerror(errno));
    if (file_exists(weights, &has_weights, err) || file_exists(index, &has_index, err))
        return err->code;
    if (has_weights)
        return add_shard(checkpoint, WEIGHTS_NAME, err) || open_shards(checkpoint, err)
                   ? err->code
                   : collect_entries(checkpoint, err);
    if (has_index)
        return open_sharded(checkpoint, index, err);
    return directory_no_weights(checkpoint->dir, err);
}

enum err_code checkpoint_open(struct checkpoint **out, const char *dir, struct err *err)
{
    *out = NULL;
    struct checkpoint *checkpoint = calloc(1, sizeof *checkpoint);
    if (checkpoint == NULL)
        return err_no_memory(err, sizeof *checkpoint);
    arena_init(&checkpoint->strings);
    checkpoint->dir = arena_copy(&checkpoint->strings, dir, strlen(dir));
    if (checkpoint->dir == NULL)
        err_no_memory(err, strlen(dir) + 1);
    else
        open_weights(checkpoint, err);
    if (err->code != ERR_OK) {
        checkpoint_close(checkpoint);
        return err->code;
    }
    *out = checkpoint;
    return ERR_OK;
}

void checkpoint_close(struct checkpoint *checkpoint)
{
    if (checkpoint == NULL)
        return;
    for (unsigned i = 0; i < checkpoint->shard_count; i++)
        safetensors_close(checkpoint->shards[i].file);
    free(checkpoint->entries);
    arena_deinit(&checkpoint->strings);
    free(checkpoint);
}

size_t checkpoint_count(const struct checkpoint *checkpoint)
{
    return checkpoint->entry_count;
}

const struct tensor_info *checkpoint_at(const struct checkpoint *checkpoint, size_t index)
{
    return checkpoint->entries[index].info;
}

static const struct entry *find_entry(const struct checkpoint *checkpoint, const char *name)
{
    struct tensor_info info = {.name = name};
    struct entry key = {.info = &info};
    return bsearch(&key, checkpoint->entries, checkpoint->entry_count, sizeof key, compare_entries);
}

const struct tensor_info *checkpoint_find(const struct checkpoint *checkpoint, const char *name)
{
    const struct entry *entry = find_entry(checkpoint, name);
    return entry != NULL ? entry->info : NULL;
}

static const struct shard *shard_of(const struct checkpoint *checkpoint,
                                    const struct tensor_info *info)
{
    const struct entry *entry = find_entry(checkpoint, info->name);
    assert(entry != NULL && entry->info == info);
    return entry->shard;
}

static enum err_code name_tensor(const struct shard *shard, const struct tensor_info *info,
                                 struct err *err)
{
    return err_prefix(err, "%s: tensor '%s': ", shard->name, printable_name(info->name).text);
}

enum err_code checkpoint_check_f32(const struct checkpoint *checkpoint,
                                   const struct tensor_info *info, struct err *err)
{
    const struct shard *shard = shard_of(checkpoint, info);
    return safetensors_check_f32(info, err) ? name_tensor(shard, info, err) : ERR_OK;
}

enum err_code checkpoint_read_f32(const struct checkpoint *checkpoint,
                                  const struct tensor_info *info, size_t first, size_t count,
                                  float *out, struct err *err)
{
    const struct shard *shard = shard_of(checkpoint, info);
    if (safetensors_read_f32(shard->file, info, first, count, out, err))
        return name_tensor(shard, info, err);
    return ERR_OK;
}

enum err_code checkpoint_read_halves(const struct checkpoint *checkpoint,
                                     const struct tensor_info *info, size_t first, size_t count,
                                     uint16_t *out, struct err *err)
{
    const struct shard *shard = shard_of(checkpoint, info);
    if (safetensors_read_halves(shard->file, info, first, count, out, err))
        return name_tensor(shard, info, err);
    return ERR_OK;
}

unsigned checkpoint_file_of(const struct checkpoint *checkpoint, const struct tensor_info *info)
{
    return (unsigned)(shard_of(checkpoint, info) - checkpoint->shards);
}

unsigned checkpoint_file_count(const struct checkpoint *checkpoint)
{
    return checkpoint->shard_count;
}

const char *checkpoint_file_path(const struct checkpoint *checkpoint, unsigned index)
{
    return checkpoint->shards[index].path;
}
