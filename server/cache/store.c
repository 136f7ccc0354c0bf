#include "server/cache/store.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { BUCKETS_MAX = 1 << 16, BYTES_PER_BUCKET = 1024, LARGEST_PARTS = 4 };

struct store {
    size_t bytes_max, bucket_count; /* constant, as the next three */
    uint64_t life_ns;
    struct memory *memory;
    unsigned char secret[16];
    pthread_mutex_t lock;
    /* Under lock. */
    struct store_entry **buckets; /* [bucket_count] */
    struct store_entry *oldest, *newest;
    struct store_figures figures;
};

enum err_code store_open(struct store **out, size_t bytes_max, uint64_t life_ns,
                         struct memory *memory, struct err *err)
{
    size_t count = bytes_max / BYTES_PER_BUCKET + 1;
    struct store *store = calloc(1, sizeof *store);
    *out = NULL;
    if (store == NULL)
        return err_no_memory(err, sizeof *store);
    store->bytes_max = bytes_max;
    store->bucket_count = count < BUCKETS_MAX ? count : BUCKETS_MAX;
    store->life_ns = life_ns;
    store->memory = memory;
    store->buckets = calloc(store->bucket_count, sizeof(struct store_entry *));
    if (store->buckets == NULL) {
        free(store);
        return err_no_memory(err, count * sizeof(struct store_entry *));
    }
    /* without entropy this early, keys can be foreseen, which costs time and nothing else */
    if (getrandom(store->secret, sizeof store->secret, GRND_NONBLOCK) < 0)
        memset(store->secret, 0, sizeof store->secret);
    pthread_mutex_init(&store->lock, NULL);
    *out = store;
    return ERR_OK;
}

/* ---- keys ---- */

void store_key_begin(const struct store *store, struct sha256_pieces *pieces)
{
    sha256_pieces_begin(pieces);
    sha256_pieces_add(pieces, store->secret, sizeof store->secret);
}

void store_key_add(struct sha256_pieces *pieces, const void *bytes, size_t len)
{
    const uint64_t told = bytes != NULL ? len : UINT64_MAX;
    sha256_pieces_add(pieces, &told, sizeof told);
    if (bytes != NULL)
        sha256_pieces_add(pieces, bytes, len);
}

static struct store_entry **bucket_of(const struct store *store, const char *key)
{
    char digits[17] = {0};
    memcpy(digits, key, sizeof digits - 1);
    return &store->buckets[strtoull(digits, NULL, 16) % store->bucket_count];
}

/* ---- entries ---- */

static size_t size_of(size_t len)
{
    return memory_sum(len, sizeof(struct store_entry));
}

static void drop_locked(struct store *store, struct store_entry *entry)
{
    if (--entry->users > 0)
        return;
    memory_give(store->memory, size_of(entry->len));
    free(entry);
}

static void remove_locked(struct store *store, struct store_entry *entry)
{
    struct store_entry **at = bucket_of(store, entry->key);
    while (*at != entry)
        at = &(*at)->next;
    *at = entry->next;
    *(entry->older != NULL ? &entry->older->newer : &store->oldest) = entry->newer;
    *(entry->newer != NULL ? &entry->newer->older : &store->newest) = entry->older;
    store->figures.bytes -= size_of(entry->len);
    drop_locked(store, entry);
}

static void expire_locked(struct store *store, uint64_t now_ns)
{
    while (store->oldest != NULL && store->oldest->until_ns <= now_ns)
        remove_locked(store, store->oldest);
}

static struct store_entry *find_locked(const struct store *store, const char *key)
{
    struct store_entry *entry = *bucket_of(store, key);
    while (entry != NULL && memcmp(entry->key, key, SHA256_HEX_BYTES) != 0)
        entry = entry->next;
    return entry;
}

const struct store_entry *store_find(struct store *store, const char key[SHA256_HEX_BYTES],
                                     uint64_t now_ns)
{
    pthread_mutex_lock(&store->lock);
    expire_locked(store, now_ns);
    struct store_entry *entry = find_locked(store, key);
    if (entry != NULL)
        entry->users++;
    store->figures.hits += entry != NULL;
    store->figures.misses += entry == NULL;
    pthread_mutex_unlock(&store->lock);
    return entry;
}

void store_release(struct store *store, const struct store_entry *entry)
{
    union {
        const struct store_entry *from;
        struct store_entry *to;
    } ours = {.from = entry}; /* its users are under our lock */
    pthread_mutex_lock(&store->lock);
    drop_locked(store, ours.to);
    pthread_mutex_unlock(&store->lock);
}

static void add_locked(struct store *store, struct store_entry *entry)
{
    struct store_entry **bucket = bucket_of(store, entry->key);
    entry->next = *bucket;
    *bucket = entry;
    entry->older = store->newest;
    entry->newer = NULL;
    *(store->newest != NULL ? &store->newest->newer : &store->oldest) = entry;
    store->newest = entry;
    store->figures.bytes += size_of(entry->len);
}

static struct store_entry *entry_create(struct store *store, const char *key,
                                        const struct store_part *parts, unsigned count)
{
    size_t len = 0;
    for (unsigned i = 0; i < count; i++)
        len = memory_sum(len, parts[i].len);
    if (size_of(len) > store->bytes_max / LARGEST_PARTS ||
        memory_take(store->memory, size_of(len), MEMORY_LARGE, &(struct err){0}) != ERR_OK)
        return NULL;
    struct store_entry *entry = malloc(size_of(len));
    if (entry == NULL) {
        memory_give(store->memory, size_of(len));
        return NULL;
    }
    *entry = (struct store_entry){.users = 1, .len = len};
    memcpy(entry->key, key, SHA256_HEX_BYTES);
    char *at = entry->bytes;
    for (unsigned i = 0; i < count; at += parts[i++].len)
        if (parts[i].len > 0)
            memcpy(at, parts[i].bytes, parts[i].len);
    return entry;
}

void store_keep(struct store *store, const char key[SHA256_HEX_BYTES],
                const struct store_part *parts, unsigned count, uint64_t now_ns)
{
    struct store_entry *entry = entry_create(store, key, parts, count);
    if (entry == NULL)
        return;
    entry->until_ns = now_ns + store->life_ns;
    pthread_mutex_lock(&store->lock);
    expire_locked(store, now_ns);
    struct store_entry *before = find_locked(store, key);
    if (before != NULL)
        remove_locked(store, before);
    while (size_of(entry->len) > store->bytes_max - store->figures.bytes) {
        remove_locked(store, store->oldest);
        store->figures.evictions++;
    }
    add_locked(store, entry);
    pthread_mutex_unlock(&store->lock);
}

struct store_figures store_figures(struct store *store)
{
    pthread_mutex_lock(&store->lock);
    const struct store_figures figures = store->figures;
    pthread_mutex_unlock(&store->lock);
    return figures;
}

void store_close(struct store *store)
{
    if (store == NULL)
        return;
    expire_locked(store, UINT64_MAX);
    pthread_mutex_destroy(&store->lock);
    free(store->buckets);
    free(store);
}
