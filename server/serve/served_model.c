/* served_model.c - see served_model.h.
 *
 * Every worker has a session of its own, and they are opened and warmed up in parallel, with as
 * many threads as there are workers. Warming up touches a session's memory, and checks by one run
 * that the model works; the first one also passes the checkpoint's self-test. While it is warmed it
 * runs on a pool of its own, since the worker's may be serving; afterwards it is lent the worker's.
 */
#include "server/serve/served_model.h"

#include "engine/base/clock.h"
#include "engine/base/file.h"
#include "engine/base/rng.h"
#include "engine/base/thread_pool.h"
#include "engine/selftest.h"
#include "server/observe/log.h"
#include "server/placement/affinity.h"

#include <dirent.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- the directory ---- */

uint64_t served_model_file_stamp(int dir, const char *path)
{
    struct stat file;
    uint64_t stamp = 1;
    for (const char *c = path; *c != '\0'; c++)
        stamp = rng_mix(stamp + (unsigned char)*c);
    if (fstatat(dir, path, &file, 0) != 0 || S_ISDIR(file.st_mode))
        return 0;
    const uint64_t parts[] = {
        (uint64_t)file.st_size,        (uint64_t)file.st_ino,
        (uint64_t)file.st_mtim.tv_sec, (uint64_t)file.st_mtim.tv_nsec,
        (uint64_t)file.st_ctim.tv_sec, (uint64_t)file.st_ctim.tv_nsec,
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        stamp = rng_mix(stamp + parts[i]);
    return stamp;
}

/* A sum, since the order of a directory is any. With `depth` also over the directories in it, where
 * an embedding has its modules. */
static uint64_t dir_stamp(const char *dir, unsigned depth)
{
    DIR *entries = opendir(dir);
    uint64_t stamp = entries != NULL ? 1 : 0;
    if (entries == NULL)
        return 0;
    for (const struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        char path[PATH_MAX];
        struct err ignored = {0};
        stamp += served_model_file_stamp(dirfd(entries), entry->d_name);
        if (depth == 0 || entry->d_name[0] == '.' || file_path(path, dir, entry->d_name, &ignored))
            continue;
        const uint64_t inner = dir_stamp(path, depth - 1); /* 1: it is empty; 0: no directory */
        stamp += inner > 1 ? rng_mix(inner) : 0;
    }
    closedir(entries);
    return stamp;
}

uint64_t served_model_stamp(const char *dir)
{
    return dir_stamp(dir, 1);
}

/* ---- warm sessions ---- */

/* One transparent pixel: the smallest valid PNG there is (67 bytes; IHDR, IDAT, IEND). */
static const unsigned char warm_png[] = {
    0x89, 'P',  'N',  'G',  '\r', '\n', 0x1A, '\n', 0,    0,    0,    13,   'I',  'H',
    'D',  'R',  0,    0,    0,    1,    0,    0,    0,    1,    8,    0,    0,    0,
    0,    0x3A, 0x7E, 0x9B, 0x55, 0,    0,    0,    10,   'I',  'D',  'A',  'T',  0x78,
    0x9C, 0x63, 0x60, 0,    0,    0,    2,    0,    1,    0x48, 0xAF, 0xA4, 0x71, 0,
    0,    0,    0,    'I',  'E',  'N',  'D',  0xAE, 0x42, 0x60, 0x82};

enum { WARM_TOKENS = 2 }; /* that a model writes */

/* Prepares any valid input of the kind. */
static enum err_code warm_input(const struct served_model *model, enum engine_kind kind,
                                struct arena *arena, struct engine_input *input, struct err *err)
{
    static const char text[] = "pass"; /* every weight is read once, whatever the length */
    static const char masked[] = "[MASK] <mask>"; /* for a model to fill in, whatever its own is */
    const bool asks = model->info->task == ENGINE_ANSWER, fills = model->info->task == ENGINE_FILL;
    struct engine_writing writing = {.asked = generation_request_empty};
    writing.asked.max_new_tokens = WARM_TOKENS;
    const bool writes = model->info->task == ENGINE_GENERATE;
    const struct engine_source a_text = {
        .kind = ENGINE_TEXT,
        .bytes = fills ? masked : text,
        .len = fills ? sizeof masked - 1 : sizeof text - 1,
        .question = {.text = asks ? text : NULL, .len = asks ? sizeof text - 1 : 0},
        .writing = writes ? &writing : NULL};
    const struct engine_source a_picture = {.kind = ENGINE_IMAGE,
                                            .bytes = warm_png,
                                            .len = sizeof warm_png,
                                            .pixels_max = 1,
                                            .writing = writes ? &writing : NULL};
    return engine_prepare(model->engine, kind == ENGINE_TEXT ? &a_text : &a_picture, NULL, arena,
                          input, err);
}

/* Runs the model once with each kind of input: pages are touched, kernels chosen, and a model that
 * cannot run is found. */
static enum err_code warm_session(struct engine_session *session, const struct served_model *model,
                                  struct err *err)
{
    struct arena arena;
    struct engine_input input = {0};
    arena_init(&arena);
    struct engine_result result;
    engine_result_init(&result, model->engine, &arena, err);
    for (int kind = ENGINE_TEXT; kind <= ENGINE_IMAGE && err->code == ERR_OK; kind++) {
        if (!engine_reads(model->info, (enum engine_kind)kind) ||
            warm_input(model, (enum engine_kind)kind, &arena, &input, err) ||
            (input.writing != NULL &&
             engine_result_rows(&result, model->engine, &input, &arena, err)))
            continue;
        result.scores = NULL; /* a zero-shot model may have no label yet */
        engine_run(session, (const struct engine_input *[]){&input}, 1,
                   (struct engine_result *[]){&result});
    }
    arena_deinit(&arena);
    return err->code;
}

/* Checks the answers that the checkpoint demands, if it does (engine/selftest.h). One session is as
 * good as another: they share the weights, and the sizes of their pools. */
static enum err_code pass_selftest(struct engine_session *session, const struct served_model *model,
                                   struct err *err)
{
    struct selftest *selftest;
    if (selftest_open(&selftest, model->dir, err) || selftest == NULL)
        goto out;
    const uint64_t start = clock_now_ns();
    const size_t bytes = selftest_bytes(selftest, model->engine);
    /* memory of the process's, so that a reload does not take what requests have */
    if (memory_hold(model->memory, bytes, err)) {
        err_prefix(err, "%s: ", SELFTEST_FILE);
        goto out;
    }
    selftest_run(selftest, model->engine, session, err);
    memory_release(model->memory, bytes);
    if (err->code == ERR_OK)
        log_event(LOG_INFO, "selftest_passed", LOG_TEXT("model", model->name),
                  LOG_NUMBER("cases", selftest_count(selftest)),
                  LOG_NUMBER("ms", clock_ms_between(start, clock_now_ns())));
out:
    selftest_close(selftest);
    return err->code;
}

/* One worker's session in the making. */
struct warming {
    const struct served_model_options *options;
    struct served_model *model;
    unsigned worker;
    pthread_t thread;
    struct err err;
};

/* The weights that the worker reads: those on its node. */
static struct engine_model *copy_of(const struct served_model *model,
                                    const struct placement *placement, unsigned worker)
{
    return placement != NULL ? model->copies[placement->pools[worker].copy] : model->engine;
}

/* The processors of a worker's pool; none where nothing is bound. */
static void add_pool(struct affinity *affinity, const struct served_model_options *options,
                     unsigned worker)
{
    const struct placement *placement = options->placement;
    if (placement == NULL || !placement->is_bound)
        return;
    for (unsigned i = 0; i < options->plan->threads_per_worker; i++)
        affinity_add(affinity, placement->pools[worker].cpus[i]);
}

static enum err_code open_session(struct warming *warming, struct thread_pool *pool)
{
    struct served_model *model = warming->model;
    struct engine_session **session = &model->sessions[warming->worker];
    struct err *err = &warming->err;
    if (engine_session_open_on(session,
                               copy_of(model, warming->options->placement, warming->worker),
                               model->batch_tokens, pool, err) ||
        warm_session(*session, model, err) ||
        (warming->worker == 0 && pass_selftest(*session, model, err)))
        return err->code;
    engine_session_lend(*session, warming->options->pools[warming->worker]);
    return ERR_OK;
}

/* SCHED_IDLE is an attribute of this thread and of those that it starts; a system that refuses it
 * warms at normal priority. */
static void *warming_main(void *context)
{
    struct warming *warming = context;
    struct affinity affinity = {0};
    struct thread_pool *pool;
    if (warming->options->in_spare_time)
        pthread_setschedparam(pthread_self(), SCHED_IDLE, &(struct sched_param){0});
    add_pool(&affinity, warming->options, warming->worker);
    affinity_enter(&affinity); /* the session's memory is touched there first */
    if (!thread_pool_open(&pool, warming->options->plan->threads_per_worker, &warming->err)) {
        open_session(warming, pool);
        thread_pool_close(pool);
    }
    return NULL;
}

static enum err_code open_sessions(struct served_model *model,
                                   const struct served_model_options *options, struct err *err)
{
    const unsigned workers = options->plan->workers;
    struct warming *all = calloc(workers, sizeof *all);
    unsigned started = 0;
    if (all == NULL)
        return err_no_memory(err, workers * sizeof *all);
    for (; started < workers && err->code == ERR_OK; started++) {
        all[started] = (struct warming){.options = options, .model = model, .worker = started};
        int failure = pthread_create(&all[started].thread, NULL, warming_main, &all[started]);
        if (failure != 0) {
            err_no_thread(err, failure);
            break;
        }
    }
    for (unsigned i = 0; i < started; i++) {
        pthread_join(all[i].thread, NULL);
        if (all[i].err.code != ERR_OK)
            err_set(err, all[i].err.code, "%s", all[i].err.text);
    }
    free(all);
    return err->code;
}

/* ---- open and close ---- */

enum err_code served_model_bytes(size_t *bytes, const char *dir, const char *dtype,
                                 const struct plan *plan, struct err *err)
{
    const struct engine_options options = {.dtype = dtype, .writes_texts = true};
    struct engine_cost cost;
    if (engine_measure(&cost, dir, &options, plan->batch_tokens, plan->threads_per_worker, err))
        return err->code;
    *bytes = served_model_sum(&cost, plan);
    return ERR_OK;
}

static const char *copy(struct served_model *model, const char *text)
{
    return text != NULL ? arena_copy(&model->arena, text, strlen(text)) : NULL;
}

static struct served_model *create(const struct served_model_options *options)
{
    struct served_model *model = calloc(1, sizeof *model);
    if (model == NULL)
        return NULL;
    arena_init(&model->arena);
    atomic_init(&model->users, 1);
    model->memory = options->memory;
    model->bytes = options->bytes;
    model->generation = options->generation;
    model->batch_tokens = options->plan->batch_tokens;
    model->workers = options->plan->workers;
    model->slot = METRICS_SLOTS;
    model->name = copy(model, options->name);
    model->dir = copy(model, options->dir);
    model->dtype = copy(model, options->dtype);
    model->sessions =
        arena_alloc_array(&model->arena, model->workers, sizeof(struct engine_session *));
    model->copies = arena_alloc_array(&model->arena, options->plan->copies, sizeof *model->copies);
    return model;
}

static void destroy(struct served_model *model)
{
    if (model->slot != METRICS_SLOTS)
        metrics_remove_model(model->metrics, model->slot, model->generation);
    for (unsigned i = 0; model->sessions != NULL && i < model->workers; i++)
        engine_session_close(model->sessions[i]);
    engine_session_close(model->shadow);
    thread_pool_close(model->shadow_pool);
    label_sets_close(model->label_sets);
    for (unsigned i = model->copy_count; i-- > 0;)
        engine_close(model->copies[i]);
    memory_release(model->memory, model->bytes);
    arena_deinit(&model->arena);
    free(model);
}

static enum err_code load(struct served_model *model, const struct served_model_options *options,
                          struct err *err)
{
    const struct engine_options how = {.linear_backend = options->linear_backend,
                                       .dtype = options->dtype,
                                       .writes_texts = true,
                                       .takes_uncalibrated = options->takes_uncalibrated};
    uint64_t start = clock_now_ns();
    if (model->name == NULL || model->dir == NULL || model->sessions == NULL ||
        model->copies == NULL)
        return err_no_memory(err, sizeof *model);
    model->stamp = served_model_stamp(model->dir);
    /* Each is read by a thread, and those that it starts, on the processors that will compute
     * with it: its memory is then that of their node. */
    struct engine_options like = how;
    for (unsigned i = 0; i < options->plan->copies && err->code == ERR_OK; i++) {
        struct affinity affinity = {0};
        /* the processors of all pools that read the copy */
        for (unsigned w = 0; options->placement != NULL && w < options->plan->workers; w++)
            if (options->placement->pools[w].copy == i)
                add_pool(&affinity, options, w);
        affinity_enter(&affinity);
        like.copy_of = i > 0 ? model->copies[0] : NULL; /* all give the same answers */
        if (!engine_open(&model->copies[i], model->dir, &like, err))
            model->copy_count++;
        affinity_leave(&affinity);
    }
    model->engine = model->copies[0];
    if (err->code != ERR_OK)
        return err->code;
    model->info = engine_describe(model->engine);
    if (open_sessions(model, options, err) ||
        (model->info->is_zero_shot &&
         label_sets_open(&model->label_sets, model->engine, LABEL_SETS_BYTES, err)))
        return err->code;
    model->load_seconds = clock_ms_between(start, clock_now_ns()) / 1000;
    const struct metrics_model told = {.name = model->name,
                                       .info = model->info,
                                       .load_seconds = model->load_seconds,
                                       .generation = model->generation};
    unsigned slot;
    if (metrics_add_model(options->metrics, &told, &slot, err))
        return err->code;
    model->metrics = options->metrics;
    model->slot = slot;
    return ERR_OK;
}

/* Weights of layers that config.json does not ask for, as when its number of layers is wrong. */
static void warn_of_layers(const struct served_model *model)
{
    static const char *const words[] = {".layer.", ".layers."};
    for (unsigned i = 0; i < model->info->unbound_count; i++)
        for (unsigned w = 0; w < 2; w++) {
            const char *name = model->info->unbound[i], *at = strstr(name, words[w]);
            if (at != NULL && strtoul(at + strlen(words[w]), NULL, 10) >= model->info->layers) {
                log_event(LOG_WARN, "layers_unused", LOG_TEXT("model", model->name),
                          LOG_NUMBER("layers", model->info->layers), LOG_TEXT("tensor", name));
                return;
            }
        }
}

enum err_code served_model_open(struct served_model **out,
                                const struct served_model_options *options, struct err *err)
{
    struct served_model *model = create(options);
    *out = NULL;
    if (model == NULL) {
        memory_release(options->memory, options->bytes);
        return err_no_memory(err, sizeof *model);
    }
    if (load(model, options, err)) {
        destroy(model);
        return err_prefix(err, "model %s: ", options->name);
    }
    log_event(LOG_INFO, "model_loaded", LOG_TEXT("model", model->name),
              LOG_TEXT("family", model->info->family), LOG_TEXT("dtype", model->info->dtype),
              LOG_TEXT("kernels", model->info->kernels),
              LOG_NUMBER("generation", model->generation),
              LOG_NUMBER("ms", model->load_seconds * 1000));
    if (model->info->dtype_reason != NULL)
        log_event(LOG_INFO, "dtype_chosen", LOG_TEXT("model", model->name),
                  LOG_TEXT("version", model->info->version), LOG_TEXT("dtype", model->info->dtype),
                  LOG_TEXT("reason", model->info->dtype_reason));
    warn_of_layers(model);
    if (!model->info->is_calibrated)
        log_event(LOG_WARN, "model_uncalibrated", LOG_TEXT("model", model->name),
                  LOG_TEXT("decision", model->info->reviews_all ? "review" : "auto"),
                  LOG_TEXT("reason", "no thresholds in attnd.json: attnd-eval --calibrate chooses "
                                     "them"));
    *out = model;
    return ERR_OK;
}

/* One thread computes it, and one input at a time: it has only what nobody else uses. */
enum err_code served_model_open_shadow(struct served_model *model, struct err *err)
{
    const struct engine_options options = {.dtype = model->info->dtype, .writes_texts = true};
    struct engine_cost cost;
    if (model->shadow != NULL)
        return ERR_OK;
    if (engine_measure(&cost, model->dir, &options, 1, 1, err) ||
        memory_hold(model->memory, cost.session_bytes, err))
        return err_prefix(err, "model %s: as a shadow: ", model->name);
    model->bytes += cost.session_bytes;
    if ((model->shadow_pool == NULL && thread_pool_open(&model->shadow_pool, 1, err)) ||
        engine_session_open_on(&model->shadow, model->engine, 1, model->shadow_pool, err))
        return err_prefix(err, "model %s: as a shadow: ", model->name);
    return ERR_OK;
}

void served_model_acquire(struct served_model *model)
{
    atomic_fetch_add_explicit(&model->users, 1, memory_order_relaxed);
}

/* Release and acquire: the thread that closes sees what every other user did. */
void served_model_release(struct served_model *model)
{
    if (model != NULL && atomic_fetch_sub_explicit(&model->users, 1, memory_order_acq_rel) == 1)
        destroy(model);
}

const char *served_model_digest(const struct served_model *model)
{
    return atomic_load_explicit(&model->digest, memory_order_acquire);
}
