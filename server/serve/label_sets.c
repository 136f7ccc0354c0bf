#include "server/serve/label_sets.h"

#include "engine/base/rng.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct label_set {
    struct label_sets *sets;
    struct engine_model *engine;
    uint64_t hash;
    size_t bytes;
    struct err err; /* of the labeller's thread: why it cannot be encoded */
    /* Under the lock of the sets. */
    unsigned users; /* the cache is one */
    bool is_ready, is_listed;
    struct label_set *previous, *next; /* in the cache, the latest used first */
};

struct label_sets {
    const struct engine_model *base;
    struct engine_labeller *labeller; /* of the labeller's thread */
    size_t bytes_max;
    pthread_mutex_t lock;
    /* Under lock. */
    struct label_set *first, *last;
    size_t bytes;
};

/* ---- what is the same set ---- */

static const char *hypothesis_of(const struct label_sets *sets, const struct engine_labels *labels)
{
    return labels->hypothesis != NULL ? labels->hypothesis
                                      : engine_describe(sets->base)->hypothesis;
}

static uint64_t mix_text(uint64_t hash, const char *text)
{
    for (const char *c = text; *c != '\0'; c++)
        hash = rng_mix(hash + (unsigned char)*c);
    return rng_mix(hash + 256); /* no byte: "ab", "c" is not "a", "bc" */
}

static uint64_t hash_of(const char *hypothesis, const struct engine_labels *labels)
{
    uint64_t hash = mix_text(labels->count, hypothesis);
    for (unsigned i = 0; i < labels->count; i++)
        hash = mix_text(hash, labels->texts[i]);
    return hash;
}

static bool is_same(const struct label_set *set, const char *hypothesis,
                    const struct engine_labels *labels)
{
    const struct engine_info *info = engine_describe(set->engine);
    bool same = info->label_count == labels->count && strcmp(info->hypothesis, hypothesis) == 0;
    for (unsigned i = 0; same && i < labels->count; i++)
        same = strcmp(info->labels[i], labels->texts[i]) == 0;
    return same;
}

/* ---- the list ---- */

static void link_locked(struct label_sets *sets, struct label_set *set)
{
    set->previous = NULL;
    set->next = sets->first;
    if (sets->first != NULL)
        sets->first->previous = set;
    else
        sets->last = set;
    sets->first = set;
}

static void unlink_locked(struct label_sets *sets, struct label_set *set)
{
    *(set->previous != NULL ? &set->previous->next : &sets->first) = set->next;
    *(set->next != NULL ? &set->next->previous : &sets->last) = set->previous;
}

/* Returns the set if it was its last hold. */
static struct label_set *release_locked(struct label_set *set)
{
    return --set->users == 0 ? set : NULL;
}

static struct label_set *unlist_locked(struct label_sets *sets, struct label_set *set)
{
    if (!set->is_listed)
        return NULL;
    unlink_locked(sets, set);
    sets->bytes -= set->bytes;
    set->is_listed = false;
    return release_locked(set);
}

static void destroy(struct label_set *set)
{
    if (set == NULL)
        return;
    engine_close(set->engine);
    free(set);
}

/* Held; NULL: there is none. */
static struct label_set *find_locked(struct label_sets *sets, uint64_t hash, const char *hypothesis,
                                     const struct engine_labels *labels)
{
    for (struct label_set *set = sets->first; set != NULL; set = set->next) {
        if (set->hash != hash || !is_same(set, hypothesis, labels))
            continue;
        unlink_locked(sets, set);
        link_locked(sets, set);
        set->users++;
        return set;
    }
    return NULL;
}

/* Takes the set into the cache; what has to leave for it goes to `gone`, one behind the other. */
static void list_locked(struct label_sets *sets, struct label_set *set, struct label_set **gone)
{
    if (set->bytes > sets->bytes_max)
        return;
    while (sets->last != NULL && sets->bytes > sets->bytes_max - set->bytes) {
        struct label_set *left = unlist_locked(sets, sets->last);
        if (left != NULL) {
            left->next = *gone;
            *gone = left;
        }
    }
    link_locked(sets, set);
    sets->bytes += set->bytes;
    set->is_listed = true;
    set->users++;
}

/* ---- the interface ---- */

enum err_code label_sets_open(struct label_sets **out, const struct engine_model *engine,
                              size_t bytes_max, struct err *err)
{
    struct label_sets *sets = calloc(1, sizeof *sets);
    *out = NULL;
    if (sets == NULL)
        return err_no_memory(err, sizeof *sets);
    if (engine_labeller_open(&sets->labeller, engine, 1, err)) {
        free(sets);
        return err->code;
    }
    sets->base = engine;
    sets->bytes_max = bytes_max;
    pthread_mutex_init(&sets->lock, NULL);
    *out = sets;
    return ERR_OK;
}

void label_sets_close(struct label_sets *sets)
{
    if (sets == NULL)
        return;
    while (sets->first != NULL)
        destroy(unlist_locked(sets, sets->first));
    pthread_mutex_destroy(&sets->lock);
    engine_labeller_close(sets->labeller);
    free(sets);
}

struct label_set *label_sets_find(struct label_sets *sets, const struct engine_labels *labels)
{
    const char *hypothesis = hypothesis_of(sets, labels);
    const uint64_t hash = hash_of(hypothesis, labels);
    pthread_mutex_lock(&sets->lock);
    struct label_set *set = find_locked(sets, hash, hypothesis, labels);
    if (set != NULL && !set->is_ready) {
        set->users--; /* the cache holds it too */
        set = NULL;
    }
    pthread_mutex_unlock(&sets->lock);
    return set;
}

static enum err_code create(struct label_set **out, struct label_sets *sets,
                            const struct engine_labels *labels, uint64_t hash, struct err *err)
{
    struct label_set *set = calloc(1, sizeof *set);
    *out = NULL;
    if (set == NULL)
        return err_no_memory(err, sizeof *set);
    if (engine_open_labelled(&set->engine, sets->base, labels, err)) {
        free(set);
        return err->code;
    }
    set->sets = sets;
    set->hash = hash;
    set->bytes = sizeof *set + engine_labelled_bytes(sets->base, labels);
    set->users = 1;
    *out = set;
    return ERR_OK;
}

enum err_code label_sets_begin(struct label_set **out, struct label_sets *sets,
                               const struct engine_labels *labels, struct err *err)
{
    const char *hypothesis = hypothesis_of(sets, labels);
    const uint64_t hash = hash_of(hypothesis, labels);
    struct label_set *gone = NULL;
    pthread_mutex_lock(&sets->lock);
    *out = find_locked(sets, hash, hypothesis, labels);
    pthread_mutex_unlock(&sets->lock);
    if (*out != NULL || create(out, sets, labels, hash, err))
        return err->code;
    pthread_mutex_lock(&sets->lock);
    list_locked(sets, *out, &gone);
    pthread_mutex_unlock(&sets->lock);
    while (gone != NULL) {
        struct label_set *next = gone->next;
        destroy(gone);
        gone = next;
    }
    return ERR_OK;
}

enum err_code label_set_step(struct label_set *set, unsigned *left, struct err *err)
{
    struct label_sets *sets = set->sets;
    *left = 0;
    if (!set->is_ready && set->err.code == ERR_OK) { /* not by this thread, for another request */
        engine_encode_labels(sets->labeller, set->engine, left, &set->err);
        pthread_mutex_lock(&sets->lock);
        if (set->err.code != ERR_OK)
            unlist_locked(sets, set); /* the caller holds it too */
        set->is_ready = set->err.code == ERR_OK && *left == 0;
        pthread_mutex_unlock(&sets->lock);
    }
    return set->err.code != ERR_OK ? err_set(err, set->err.code, "%s", set->err.text) : ERR_OK;
}

void label_set_acquire(struct label_set *set)
{
    pthread_mutex_lock(&set->sets->lock);
    set->users++;
    pthread_mutex_unlock(&set->sets->lock);
}

const struct engine_model *label_set_engine(const struct label_set *set)
{
    return set->engine;
}

void label_set_release(struct label_set *set)
{
    if (set == NULL)
        return;
    pthread_mutex_t *lock = &set->sets->lock;
    pthread_mutex_lock(lock);
    struct label_set *last = release_locked(set);
    pthread_mutex_unlock(lock);
    destroy(last);
}
