#include "server/serve/registry.h"

#include "engine/base/clock.h"
#include "server/observe/log.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

struct registry {
    struct registry_model *models; /* [count] */
    unsigned count;
    struct metrics *metrics; /* told of digests; set before the thread starts */
    pthread_t digest_thread;
    bool digest_started;
    atomic_bool stopping; /* partners: registry_stop_digests, digest_main, engine_digest */
};

static bool is_first_of_kind(struct registry *registry, enum engine_kind kind)
{
    return registry_default(registry, kind) == NULL;
}

static enum err_code open_model(struct registry *registry, const struct config *config,
                                const struct config_model *wanted, unsigned batch_tokens,
                                struct err *err)
{
    struct engine_options options = {.linear_backend = config->linear_backend,
                                     .dtype = wanted->dtype};
    struct registry_model *model = &registry->models[registry->count];
    uint64_t start = clock_now_ns();
    if (engine_open(&model->engine, wanted->dir, &options, err))
        return err_prefix(err, "model %s: ", wanted->name);
    model->load_seconds = clock_ms_between(start, clock_now_ns()) / 1000;
    model->name = wanted->name;
    model->index = registry->count;
    model->info = engine_describe(model->engine);
    model->batch_tokens = batch_tokens;
    model->is_default = is_first_of_kind(registry, model->info->kind);
    registry->count++;
    log_event(LOG_INFO, "model_loaded", LOG_TEXT("model", model->name),
              LOG_TEXT("family", model->info->family), LOG_TEXT("dtype", model->info->dtype),
              LOG_TEXT("kernels", model->info->kernels),
              LOG_NUMBER("ms", model->load_seconds * 1000));
    return ERR_OK;
}

enum err_code registry_open(struct registry **out, const struct config *config,
                            unsigned batch_tokens, struct err *err)
{
    *out = NULL;
    struct registry *registry = calloc(1, sizeof *registry);
    if (registry == NULL)
        return err_no_memory(err, sizeof *registry);
    registry->models = calloc(config->model_count, sizeof *registry->models);
    if (registry->models == NULL && config->model_count > 0)
        err_no_memory(err, config->model_count * sizeof *registry->models);
    for (unsigned i = 0; i < config->model_count && err->code == ERR_OK; i++)
        open_model(registry, config, &config->models[i], batch_tokens, err);
    if (err->code != ERR_OK)
        registry_close(registry);
    else
        *out = registry;
    return err->code;
}

void registry_close(struct registry *registry)
{
    if (registry == NULL)
        return;
    registry_stop_digests(registry);
    for (unsigned i = 0; i < registry->count; i++)
        engine_close(registry->models[i].engine);
    free(registry->models);
    free(registry);
}

unsigned registry_count(const struct registry *registry)
{
    return registry->count;
}

struct registry_model *registry_at(struct registry *registry, unsigned index)
{
    return &registry->models[index];
}

struct registry_model *registry_find(struct registry *registry, const char *name)
{
    for (unsigned i = 0; i < registry->count; i++)
        if (strcmp(registry->models[i].name, name) == 0)
            return &registry->models[i];
    return NULL;
}

struct registry_model *registry_default(struct registry *registry, enum engine_kind kind)
{
    for (unsigned i = 0; i < registry->count; i++)
        if (registry->models[i].info->kind == kind)
            return &registry->models[i];
    return NULL;
}

struct hashing {
    struct registry_model *model;
    const atomic_bool *stop;
    struct err err;
};

/* Only spare time is spent on a digest: SCHED_IDLE is an attribute of this thread alone on Linux. A
 * system that refuses it hashes at normal priority. */
static void *hash_main(void *context)
{
    struct hashing *hashing = context;
    pthread_setschedparam(pthread_self(), SCHED_IDLE, &(struct sched_param){0});
    engine_digest(hashing->model->engine, hashing->stop, hashing->model->digest_text,
                  &hashing->err);
    return NULL;
}

/* In a thread of its own, which holds no lock that others wait for and ends when it has hashed:
 * what was made idle may not become normal again. */
static void hash(struct hashing *hashing)
{
    pthread_t thread;
    int failure = pthread_create(&thread, NULL, hash_main, hashing);
    if (failure != 0)
        err_set(&hashing->err, ERR_IO, "cannot start a thread: %s", strerror(failure));
    else
        pthread_join(thread, NULL);
}

static void compute_digest(struct registry *registry, struct registry_model *model)
{
    struct hashing hashing = {.model = model, .stop = &registry->stopping};
    hash(&hashing);
    if (hashing.err.code == ERR_NOT_READY)
        return;
    if (hashing.err.code != ERR_OK) {
        log_event(LOG_WARN, "digest_failed", LOG_TEXT("model", model->name),
                  LOG_TEXT("error", hashing.err.text));
        return;
    }
    atomic_store_explicit(&model->digest, model->digest_text, memory_order_release);
    if (registry->metrics != NULL)
        metrics_set_digest(registry->metrics, model->index, model->digest_text);
    log_event(LOG_INFO, "model_digest", LOG_TEXT("model", model->name),
              LOG_TEXT("digest", model->digest_text));
}

static void *digest_main(void *context)
{
    struct registry *registry = context;
    for (unsigned i = 0; i < registry->count && !atomic_load(&registry->stopping); i++)
        compute_digest(registry, &registry->models[i]);
    return NULL;
}

enum err_code registry_start_digests(struct registry *registry, struct metrics *metrics,
                                     struct err *err)
{
    registry->metrics = metrics;
    int failure = pthread_create(&registry->digest_thread, NULL, digest_main, registry);
    registry->digest_started = failure == 0;
    if (failure != 0)
        return err_set(err, ERR_IO, "cannot start a thread: %s", strerror(failure));
    return ERR_OK;
}

void registry_stop_digests(struct registry *registry)
{
    atomic_store(&registry->stopping, true);
    if (registry->digest_started)
        pthread_join(registry->digest_thread, NULL);
    registry->digest_started = false;
}

const char *registry_digest(const struct registry_model *model)
{
    return atomic_load_explicit(&model->digest, memory_order_acquire);
}
