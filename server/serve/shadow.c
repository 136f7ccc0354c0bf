/* shadow.c - see shadow.h. The clerk takes jobs in order and prepares them; the runner computes.
 * The two take turns by semaphores: `go` gives the job to the runner, `done` back to the clerk. */
#include "server/serve/shadow.h"

#include "engine/base/clock.h"
#include "server/serve/snapshots.h"
#include "server/serve/versions.h"
#include "wire/answer_outcome.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    LOWEST_NICE = 19,
    SPARE_POLL_NS = 1000 * 1000,
    REST_STEP_NS = 20 * 1000 * 1000,
};

/* One input for one version; in one piece with its strings and the input's bytes. */
struct job {
    struct job *next;
    struct served_model *model; /* held */
    struct engine_source source;
    size_t held; /* of the process's memory */
    unsigned index;
    const char *id;
    struct answer_outcome outcome; /* of the answer; without its judgement */
};

struct shadow {
    struct shadow_options options;
    pthread_mutex_t lock;
    pthread_cond_t wanted; /* with lock: a job came, or all is closing */
    /* Under lock. */
    struct job *first, **end;
    unsigned jobs;
    size_t bytes;
    bool is_closing;
    /* Between clerk and runner, whose turn it is. */
    sem_t go, done;
    struct served_model *model; /* NULL: the runner is to end */
    struct engine_input input;
    struct engine_result result;
    /* Used only by the main thread. */
    pthread_t clerk, runner;
    bool has_clerk, has_runner;
};

static void count(struct served_model *model, enum shadow_result result)
{
    atomic_fetch_add_explicit(&model->shadowed[result], 1, memory_order_relaxed);
}

/* ---- offering ---- */

static size_t bytes_of(const struct engine_source *source)
{
    return source->len + source->pair_len;
}

static size_t need_of(const struct served_model *model, const struct engine_source *source)
{
    struct engine_need need = engine_need(model->engine, source);
    size_t numbers = memory_product(2 * (size_t)model->info->label_count, sizeof(float));
    return memory_sum(memory_sum(need.kept, need.passing), numbers);
}

static char *append(char *to, const void *bytes, size_t len)
{
    memcpy(to, bytes, len);
    to[len] = '\0';
    return to + len + 1;
}

static struct job *copy_job(const struct answer_outcome *outcome,
                            const struct engine_source *source, const char *id)
{
    const char *label = outcome->label != NULL ? outcome->label : "";
    size_t id_len = strlen(id), label_len = strlen(label);
    struct job *job = malloc(sizeof *job + id_len + label_len + bytes_of(source) + 4);
    if (job == NULL)
        return NULL;
    char *at = (char *)(job + 1);
    *job = (struct job){.source = *source, .id = at, .outcome = *outcome};
    job->source.prompt_name = NULL; /* the request's, and of embeddings, which are not offered */
    job->outcome.judgement = NULL;
    at = append(at, id, id_len);
    job->outcome.label = outcome->label != NULL ? at : NULL;
    job->source.bytes = at = append(at, label, label_len);
    at = append(at, source->bytes, source->len);
    if (source->pair != NULL) {
        append(at, source->pair, source->pair_len);
        job->source.pair = at;
    }
    return job;
}

/* False: as much waits as may. */
static bool enqueue(struct shadow *shadow, struct job *job)
{
    pthread_mutex_lock(&shadow->lock);
    bool fits = shadow->jobs < SHADOW_JOBS_MAX &&
                bytes_of(&job->source) <= SHADOW_BYTES_MAX - shadow->bytes && !shadow->is_closing;
    if (fits) {
        *shadow->end = job;
        shadow->end = &job->next;
        shadow->jobs++;
        shadow->bytes += bytes_of(&job->source);
    }
    pthread_mutex_unlock(&shadow->lock);
    if (fits)
        pthread_cond_signal(&shadow->wanted);
    return fits;
}

static void drop(struct shadow *shadow, struct job *job)
{
    memory_give(shadow->options.memory, job->held);
    atomic_fetch_sub_explicit(&job->model->shadow_waiting, 1, memory_order_relaxed);
    served_model_release(job->model);
    free(job);
}

static bool offer(struct shadow *shadow, const struct request *request, const struct row *row,
                  struct served_model *model)
{
    const struct engine_source source = request_source(request, (unsigned)(row - request->rows));
    const struct answer_outcome outcome = answer_outcome(row->answer.info, &row->answer.result);
    struct err err = {0};
    pthread_mutex_lock(&shadow->lock);
    bool is_full = shadow->jobs >= SHADOW_JOBS_MAX || shadow->bytes >= SHADOW_BYTES_MAX;
    pthread_mutex_unlock(&shadow->lock);
    if (is_full || row->labels != NULL) /* which the shadow does not have encoded */
        return false;
    if (outcome.number_name == NULL || outcome.is_text) /* there is nothing to compare */
        return false;
    size_t held = memory_sum(need_of(model, &source), bytes_of(&source) + sizeof(struct job));
    if (memory_take(shadow->options.memory, held, MEMORY_LARGE, &err))
        return false;
    struct job *job = copy_job(&outcome, &source, request_reply_id(request));
    if (job == NULL) {
        memory_give(shadow->options.memory, held);
        return false;
    }
    served_model_acquire(model);
    atomic_fetch_add_explicit(&model->shadow_waiting, 1, memory_order_relaxed);
    job->model = model;
    job->held = held;
    job->index = request_index(request, row);
    if (enqueue(shadow, job))
        return true;
    drop(shadow, job);
    return false;
}

void shadow_offer(struct shadow *shadow, const struct request *request)
{
    for (unsigned i = 0; i < request->good_count; i++) {
        const struct row *row = request->good[i];
        struct served_model *model;
        unsigned at = 0;
        while (row->err.code == ERR_OK &&
               (model = versions_next_shadow(request->snapshot, row->model, row->key, &at)) != NULL)
            if (!offer(shadow, request, row, model))
                count(model, SHADOW_SKIPPED);
    }
}

/* ---- the runner ---- */

static void *runner_main(void *context)
{
    struct shadow *shadow = context;
    pthread_setschedparam(pthread_self(), SCHED_IDLE, &(struct sched_param){0});
    for (;;) {
        while (sem_wait(&shadow->go) != 0)
            continue;
        if (shadow->model == NULL)
            return NULL;
        engine_run(shadow->model->shadow, (const struct engine_input *[]){&shadow->input}, 1,
                   (struct engine_result *[]){&shadow->result});
        sem_post(&shadow->done);
    }
}

static void hand_over(struct shadow *shadow, struct served_model *model)
{
    shadow->model = model;
    sem_post(&shadow->go);
    while (model != NULL && sem_wait(&shadow->done) != 0)
        continue;
}

/* ---- the clerk ---- */

static void tell(const struct shadow *shadow, const struct job *job)
{
    const struct served_model *model = job->model;
    const struct answer_outcome outcome = answer_outcome(model->info, &shadow->result);
    const struct shadow_record record = {.id = job->id,
                                         .index = job->index,
                                         .model = model->name,
                                         .version = model->info->version,
                                         .label = outcome.label,
                                         .is_set = outcome.is_set,
                                         .set = outcome.set,
                                         .labels = model->info->labels,
                                         .label_count = model->info->label_count,
                                         .agrees = answer_outcome_agrees(&job->outcome, &outcome)};
    observers_shadow(shadow->options.observers, &record);
    count(job->model, record.agrees ? SHADOW_AGREES : SHADOW_DISAGREES);
}

static void judge(struct shadow *shadow, const struct job *job)
{
    const struct engine_model *engine = job->model->engine;
    struct err err = {0};
    struct arena arena;
    arena_init(&arena);
    if (!engine_result_init(&shadow->result, engine, &arena, &err) &&
        !engine_prepare(engine, &job->source, NULL, &arena, &shadow->input, &err))
        hand_over(shadow, job->model);
    if (err.code == ERR_OK && shadow->result.is_finite)
        tell(shadow, job);
    else
        count(job->model, SHADOW_FAILED);
    arena_deinit(&arena);
}

/* The next job; NULL: all is closing. */
static struct job *take(struct shadow *shadow)
{
    pthread_mutex_lock(&shadow->lock);
    while (shadow->first == NULL && !shadow->is_closing)
        pthread_cond_wait(&shadow->wanted, &shadow->lock);
    struct job *job = shadow->is_closing ? NULL : shadow->first;
    if (job != NULL) {
        shadow->first = job->next;
        if (shadow->first == NULL)
            shadow->end = &shadow->first;
        shadow->jobs--;
        shadow->bytes -= bytes_of(&job->source);
    }
    pthread_mutex_unlock(&shadow->lock);
    return job;
}

static bool is_closing(struct shadow *shadow)
{
    pthread_mutex_lock(&shadow->lock);
    bool is = shadow->is_closing;
    pthread_mutex_unlock(&shadow->lock);
    return is;
}

static uint64_t answers(const struct shadow *shadow)
{
    return batcher_progress(shadow->options.batcher).rows;
}

/* A copy slows the answers that are computed beside it, by its share of caches and of what two
 * processors have in common. Where there are none copies follow each other. */
static void judge_sparingly(struct shadow *shadow, const struct job *job)
{
    const uint64_t before = answers(shadow);
    judge(shadow, job);
    const uint64_t after = answers(shadow);
    if (after > before) {
        const uint64_t wanted = after + SHADOW_ANSWERS * (after - before);
        const struct timespec step = {.tv_nsec = REST_STEP_NS};
        const uint64_t end_ns = clock_now_ns() + (uint64_t)SHADOW_REST_S_MAX * CLOCK_NS_PER_S;
        while (answers(shadow) < wanted && clock_now_ns() < end_ns && !is_closing(shadow))
            nanosleep(&step, NULL);
    }
}

/* On Linux a priority is an attribute of the thread. */
static void *clerk_main(void *context)
{
    struct shadow *shadow = context;
    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), LOWEST_NICE);
    for (struct job *job; (job = take(shadow)) != NULL;) {
        /* Waits for a spare processor, also where a quota and not their number bounds what there
         * is: then even the idle class takes time from those that answer. */
        const struct timespec rest = {.tv_nsec = SPARE_POLL_NS};
        while (!is_closing(shadow) &&
               (batcher_idle(shadow->options.batcher) < shadow->options.workers ||
                batcher_progress(shadow->options.batcher).waiting > 0))
            nanosleep(&rest, NULL);
        if (!is_closing(shadow))
            judge_sparingly(shadow, job);
        drop(shadow, job);
    }
    hand_over(shadow, NULL);
    return NULL;
}

/* ---- start and stop ---- */

enum err_code shadow_start(struct shadow **out, const struct shadow_options *options,
                           struct err *err)
{
    struct shadow *shadow = calloc(1, sizeof *shadow);
    *out = NULL;
    if (shadow == NULL)
        return err_no_memory(err, sizeof *shadow);
    shadow->options = *options;
    shadow->end = &shadow->first;
    pthread_mutex_init(&shadow->lock, NULL);
    pthread_cond_init(&shadow->wanted, NULL);
    sem_init(&shadow->go, 0, 0);
    sem_init(&shadow->done, 0, 0);
    int failure = pthread_create(&shadow->runner, NULL, runner_main, shadow);
    shadow->has_runner = failure == 0;
    if (failure == 0)
        failure = pthread_create(&shadow->clerk, NULL, clerk_main, shadow);
    shadow->has_clerk = shadow->has_runner && failure == 0;
    if (failure != 0) {
        shadow_stop(shadow);
        return err_no_thread(err, failure);
    }
    *out = shadow;
    return ERR_OK;
}

void shadow_stop(struct shadow *shadow)
{
    if (shadow == NULL)
        return;
    pthread_mutex_lock(&shadow->lock);
    shadow->is_closing = true;
    pthread_mutex_unlock(&shadow->lock);
    pthread_cond_signal(&shadow->wanted);
    if (shadow->has_clerk)
        pthread_join(shadow->clerk, NULL);
    else if (shadow->has_runner)
        hand_over(shadow, NULL);
    if (shadow->has_runner)
        pthread_join(shadow->runner, NULL);
    for (struct job *job, *next = shadow->first; (job = next) != NULL;) {
        next = job->next;
        drop(shadow, job);
    }
    sem_destroy(&shadow->go);
    sem_destroy(&shadow->done);
    pthread_cond_destroy(&shadow->wanted);
    pthread_mutex_destroy(&shadow->lock);
    free(shadow);
}
