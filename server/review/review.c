/* review.c - see review.h.
 *
 * Two locks, neither taken under the other: `queue` of what waits for the thread, and `lock` of the
 * list, which only the thread changes. Files are opened without either: one that makes room
 * meanwhile is not found, and that is said. */
#include "server/review/review.h"

#include "engine/base/clock.h"
#include "engine/base/doc.h"
#include "engine/base/doc_string.h"
#include "engine/vision/input_formats.h"
#include "server/feedback/feedback.h"
#include "server/feedback/siphash.h"
#include "server/observe/log.h"
#include "server/observe/metrics_text.h"
#include "server/review/kept_file.h"
#include "server/review/review_state.h"
#include "server/review/sample.h"
#include "server/serve/likeness.h"
#include "server/serve/request.h"
#include "server/serve/snapshots.h"
#include "wire/answer_outcome.h"
#include "wire/limits.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>

/* An input on its way to the disk; in one piece with the head of its file and its bytes. */
struct job {
    struct job *next;
    struct kept_entry entry;
    size_t held; /* of the process's memory */
    size_t head_len, len;
    unsigned likeness_size;
    char bytes[]; /* [head_len + likeness_size + len] */
};

void review_key(const struct review *review, const char *id, unsigned index, uint64_t key[2])
{
    feedback_key(review->options.feedback, id, index, key);
}

/* Names are the configuration's: no client chooses them, and there is no secret. */
uint32_t review_model(const char *model)
{
    static const uint64_t none[2];
    uint64_t hash[2];
    siphash(none, model, strlen(model), hash);
    return (uint32_t)hash[0];
}

/* ---- offering ---- */

static void drop(struct review *review, struct job *job)
{
    memory_give(review->options.memory, job->held);
    free(job);
}

static bool enqueue(struct review *review, struct job *job)
{
    pthread_mutex_lock(&review->queue);
    bool fits = review->jobs < REVIEW_JOBS_MAX && job->len <= REVIEW_BYTES_MAX - review->waiting;
    if (fits) {
        *review->end = job;
        review->end = &job->next;
        review->jobs++;
        review->waiting += job->len;
    }
    pthread_mutex_unlock(&review->queue);
    if (fits)
        pthread_cond_signal(&review->wanted);
    return fits;
}

static const char *media_type_of(const struct predict_item *item)
{
    if (item->source.kind == ENGINE_TEXT)
        return item->source.pair != NULL ? "application/json" : "text/plain; charset=utf-8";
    const struct input_format *format = input_format_of_bytes(item->source.bytes, item->source.len);
    return format != NULL ? format->media_types[0] : "application/octet-stream";
}

/* Size of the row's likeness; 0 if it has none or a file has no room for it. */
static unsigned likeness_size(const struct row *row)
{
    const unsigned size = row->likeness != NULL ? row->model->info->classifier_size : 0;
    return size <= LIKENESS_SIZE_MAX ? size : 0;
}

static bool make_head(const struct request *request, const struct row *row,
                      const struct answer_outcome *outcome, bool is_sampled, const char *reason,
                      char head[KEPT_FILE_HEAD_BYTES], size_t *len)
{
    const unsigned index = request_index(request, row);
    const struct predict_item *item = &request->call.items[row - request->rows];
    const struct answer *answer = &row->answer;
    char time_text[32];
    struct timespec now;
    struct tm parts;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &parts);
    /* "2026-11-22T21:39:44.123Z" */
    size_t at = strftime(time_text, sizeof time_text, "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(time_text + at, sizeof time_text - at, ".%03dZ", (int)(now.tv_nsec / CLOCK_NS_PER_MS));
    const struct kept_input input = {
        .id = request_reply_id(request),
        .index = index,
        .time = time_text,
        .model = answer->model_name,
        .version = answer->model_version != NULL ? answer->model_version : "",
        .label = outcome->is_text         ? NULL
                 : outcome->label != NULL ? outcome->label
                                          : answer->info->labels[0],
        .output = outcome->text,
        .rejected = answer->result.rejected != NULL ? answer->result.rejected->text : NULL,
        .score = (double)outcome->number,
        .decision = outcome->judgement->decision,
        .is_sampled = is_sampled,
        .media_type = media_type_of(item),
        .likeness_size = likeness_size(row),
        .reason = reason,
        .context = item->context != NULL ? item->context : request->call.context};
    return kept_file_head(&input, head, len);
}

/* Most bytes that the input takes in its file. A character of a pair is at most 6 in JSON. */
static size_t kept_bytes(const struct engine_source *source)
{
    if (source->pair == NULL)
        return source->len;
    return memory_sum(memory_product(6, memory_sum(source->len, source->pair_len)), 64);
}

/* Two texts as the JSON that POST /predict reads. Returns the number of bytes; 0: no memory. */
static size_t write_pair(const struct engine_source *source, char *out, size_t size)
{
    FILE *file = fmemopen(out, size, "w");
    if (file == NULL)
        return 0;
    fputs("{\"text\":", file);
    doc_string_write(file, source->bytes, source->len);
    fputs(",\"text_pair\":", file);
    doc_string_write(file, source->pair, source->pair_len);
    fputc('}', file);
    const long len = ftell(file);
    return fclose(file) == 0 && len > 0 ? (size_t)len : 0;
}

static struct job *make_job(struct review *review, const char *head, size_t head_len,
                            const struct row *row, const struct predict_item *item)
{
    const struct engine_source *source = &item->source;
    const unsigned size = likeness_size(row);
    const size_t room = kept_bytes(source), before = head_len + size;
    const size_t held = memory_sum(sizeof(struct job) + before, room);
    if (memory_take(review->options.memory, held, MEMORY_LARGE, &(struct err){0}))
        return NULL;
    struct job *job = malloc(held);
    if (job == NULL) {
        memory_give(review->options.memory, held);
        return NULL;
    }
    *job =
        (struct job){.held = held, .head_len = head_len, .len = source->len, .likeness_size = size};
    memcpy(job->bytes, head, head_len);
    if (size > 0)
        memcpy(job->bytes + head_len, row->likeness, size);
    if (source->pair == NULL)
        memcpy(job->bytes + before, source->bytes, source->len);
    else
        job->len = write_pair(source, job->bytes + before, room);
    if (source->pair == NULL || job->len > 0)
        return job;
    drop(review, job);
    return NULL;
}

static bool offer(struct review *review, const struct request *request, const struct row *row,
                  const struct answer_outcome *outcome, bool is_sampled)
{
    char head[KEPT_FILE_HEAD_BYTES];
    size_t len;
    /* A person labels a kept input in the model's own labels, or gives it a text that feedback
     * takes. */
    if (row->labels != NULL || (outcome->is_text && !outcome->text_fits))
        return false;
    struct json_t *reason =
        outcome->judgement->decision != DECISION_AUTO ? answer_reason(&row->answer) : NULL;
    const bool fits =
        make_head(request, row, outcome, is_sampled, doc_as_string(reason), head, &len);
    doc_free(reason);
    if (!fits)
        return false;
    struct job *job = make_job(review, head, len, row, &request->call.items[row - request->rows]);
    if (job == NULL)
        return false;
    job->entry.decision = outcome->judgement->decision;
    job->entry.model = review_model(row->answer.model_name);
    review_key(review, request_reply_id(request), request_index(request, row), job->entry.key);
    if (enqueue(review, job))
        return true;
    drop(review, job);
    return false;
}

void review_offer(struct review *review, const struct request *request)
{
    const double share = request->snapshot->config.keep_inputs_share;
    if (!request->call.keep)
        return;
    for (unsigned i = 0; i < request->good_count; i++) {
        const struct row *row = request->good[i];
        if (row->err.code != ERR_OK)
            continue;
        const struct answer_outcome outcome = answer_outcome(row->answer.info, &row->answer.result);
        if (outcome.number_name == NULL && !outcome.is_text)
            continue;
        const enum decision decision = outcome.judgement->decision;
        const bool is_sampled =
            sample_takes(share, request_reply_id(request), request_index(request, row), decision);
        if ((decision != DECISION_AUTO || is_sampled) &&
            !offer(review, request, row, &outcome, is_sampled))
            atomic_fetch_add_explicit(&review->dropped, 1, memory_order_relaxed);
    }
}

/* ---- the thread ---- */

void review_make_room(struct review *review, uint64_t bytes)
{
    for (;;) {
        struct err err = {0};
        pthread_mutex_lock(&review->lock);
        const struct kept_entry *oldest = kept_list_oldest(&review->list);
        const uint64_t number = oldest != NULL ? oldest->number : 0;
        const bool is_full = oldest != NULL && (review->list.count == review->list.room ||
                                                review->list.bytes + bytes > review->bytes_max);
        if (is_full)
            kept_list_drop(&review->list);
        pthread_mutex_unlock(&review->lock);
        if (!is_full)
            return;
        if (kept_file_remove(review->dir, number, &err) != ERR_OK)
            log_event(LOG_WARN, "review_not_removed", LOG_TEXT("reason", err.text));
    }
}

void review_add(struct review *review, const struct kept_entry *entry)
{
    pthread_mutex_lock(&review->lock);
    kept_list_add(&review->list, entry);
    pthread_mutex_unlock(&review->lock);
}

/* One that is larger than all may be is not worth the others. */
static void keep(struct review *review, const struct job *job)
{
    const char *likeness = job->bytes + job->head_len;
    const struct kept_parts parts = {.head = job->bytes,
                                     .head_len = job->head_len,
                                     .likeness = (const int8_t *)likeness,
                                     .likeness_size = job->likeness_size,
                                     .bytes = likeness + job->likeness_size,
                                     .len = job->len};
    const uint64_t most = review_on_disk(review, job->head_len + KEPT_FILE_TAIL_BYTES +
                                                     job->likeness_size + job->len);
    struct kept_entry entry = job->entry;
    struct err err = {0};
    size_t size;
    if (most > review->bytes_max) {
        atomic_fetch_add_explicit(&review->dropped, 1, memory_order_relaxed);
        return;
    }
    review_make_room(review, most);
    entry.number = review->next++;
    kept_file_write(review->dir, entry.number, &parts, &size, &err);
    entry.bytes = review_on_disk(review, size);
    if (err.code == ERR_OK)
        review_add(review, &entry);
    /* A line when the disk begins to refuse, and one when it takes files again. */
    const bool fails = err.code != ERR_OK;
    if (fails && !review->is_failing)
        log_event(LOG_WARN, "review_not_kept", LOG_TEXT("reason", err.text));
    else if (!fails && review->is_failing)
        log_event(LOG_INFO, "review_kept_again", LOG_NUMBER("number", review->next - 1));
    review->is_failing = fails;
    atomic_fetch_add_explicit(err.code == ERR_OK ? &review->kept : &review->dropped, 1,
                              memory_order_relaxed);
}

/* The next job; NULL: all is closing, and nothing waits. */
static struct job *take(struct review *review)
{
    pthread_mutex_lock(&review->queue);
    while (review->first == NULL && !atomic_load(&review->is_closing))
        pthread_cond_wait(&review->wanted, &review->queue);
    struct job *job = review->first;
    if (job != NULL) {
        review->first = job->next;
        if (review->first == NULL)
            review->end = &review->first;
        review->jobs--;
        review->waiting -= job->len;
    }
    pthread_mutex_unlock(&review->queue);
    return job;
}

static void *review_main(void *context)
{
    struct review *review = context;
    review_restore(review);
    for (struct job *job; (job = take(review)) != NULL;) {
        keep(review, job);
        drop(review, job);
    }
    return NULL;
}

/* ---- listing and reading ---- */

enum err_code review_check_restored(const struct review *review, struct err *err)
{
    if (atomic_load(&review->is_restored))
        return ERR_OK;
    return err_set(err, ERR_NOT_READY, "what was kept before the start is still being read");
}

size_t review_list_bytes(unsigned limit)
{
    /* the strings, the tree of the reply, its text */
    enum { EACH = 4 * (KEPT_FILE_HEAD_BYTES + LIMIT_OUTPUT_BYTES) };
    return memory_product(limit, EACH);
}

static enum err_code find_right(struct review *review, struct kept_input *input,
                                struct arena *arena, struct err *err)
{
    switch (feedback_label_of(review->options.feedback, input->id, input->index, arena,
                              &input->right)) {
    case FEEDBACK_NO_MEMORY:
        return err_no_memory(err, LIMIT_OUTPUT_BYTES);
    case FEEDBACK_UNREAD:
        return err_set(err, ERR_NOT_READY, "the audit log of before the start is still being read");
    default:
        return ERR_OK;
    }
}

enum err_code review_list(struct review *review, const struct review_filter *filter,
                          struct arena *arena, struct review_page *out, struct err *err)
{
    uint64_t numbers[REVIEW_LIMIT_MAX + 1];
    const uint32_t model = filter->model != NULL ? review_model(filter->model) : 0;
    *out = (struct review_page){0};
    if (review_check_restored(review, err))
        return err->code;
    pthread_mutex_lock(&review->lock);
    unsigned count =
        kept_list_before(&review->list, filter->before, filter->decision,
                         filter->model != NULL ? &model : NULL, numbers, filter->limit + 1);
    pthread_mutex_unlock(&review->lock);
    if (count > filter->limit)
        out->next = numbers[--count - 1];
    out->inputs = arena_alloc_array(arena, count + 1, sizeof *out->inputs);
    if (out->inputs == NULL)
        return err_no_memory(err, count * sizeof *out->inputs);
    /* A file that has made room since, or that somebody changed, is passed over. */
    for (unsigned i = 0; i < count && err->code == ERR_OK; i++) {
        struct err cause = {0};
        if (kept_file_read(review->dir, numbers[i], KEPT_FILE_LINE, arena, &out->inputs[out->count],
                           &cause) == ERR_OK)
            find_right(review, &out->inputs[out->count++], arena, err);
        else if (cause.code == ERR_NO_MEMORY)
            *err = cause;
    }
    return err->code;
}

static enum err_code not_kept(struct err *err)
{
    return err_set(err, ERR_NOT_FOUND,
                   "id: no input with this id and index is kept; GET /review lists those that are");
}

enum err_code review_look(struct review *review, const char *id, unsigned index,
                          struct review_place *out, struct err *err)
{
    struct kept_entry entry;
    uint64_t key[2];
    if (review_check_restored(review, err))
        return err->code;
    review_key(review, id, index, key);
    pthread_mutex_lock(&review->lock);
    bool is_kept = kept_list_find(&review->list, key, &entry);
    pthread_mutex_unlock(&review->lock);
    if (!is_kept)
        return not_kept(err);
    *out = (struct review_place){
        .id = id, .number = entry.number, .bytes = entry.bytes + 2 * KEPT_FILE_HEAD_BYTES};
    return ERR_OK;
}

enum err_code review_read(struct review *review, const struct review_place *place,
                          struct arena *arena, struct kept_input *out, struct err *err)
{
    struct err cause = {0};
    if (kept_file_read(review->dir, place->number, KEPT_FILE_BYTES, arena, out, &cause) == ERR_OK)
        return strcmp(out->id, place->id) == 0 ? ERR_OK : not_kept(err);
    if (cause.code == ERR_NOT_FOUND)
        return not_kept(err);
    if (cause.code == ERR_NO_MEMORY)
        return err_no_memory(err, place->bytes);
    log_event(LOG_WARN, "review_unreadable", LOG_NUMBER("number", place->number),
              LOG_TEXT("reason", cause.text));
    return err_set(err, ERR_INTERNAL, "the input that was kept cannot be read");
}

/* ---- walking over all ---- */

enum err_code review_after(struct review *review, uint64_t after, struct kept_entry *out,
                           unsigned most, unsigned *count, struct err *err)
{
    *count = 0;
    if (review_check_restored(review, err))
        return err->code;
    pthread_mutex_lock(&review->lock);
    *count = kept_list_after(&review->list, after, out, most);
    pthread_mutex_unlock(&review->lock);
    return ERR_OK;
}

enum err_code review_open_entry(struct review *review, const struct kept_entry *entry,
                                bool with_bytes, struct arena *arena, struct kept_input *out,
                                struct err *err)
{
    return kept_file_read(review->dir, entry->number, with_bytes ? KEPT_FILE_BYTES : KEPT_FILE_LINE,
                          arena, out, err);
}

/* ---- metrics ---- */

static void collect(void *context, enum metric_id id, struct metrics_text *out)
{
    static const char *const results[] = {"kept", "dropped"};
    struct review *review = context;
    uint64_t counts[2] = {0}, bytes = 0;
    if (review != NULL) {
        pthread_mutex_lock(&review->lock);
        bytes = review->list.bytes;
        pthread_mutex_unlock(&review->lock);
        counts[0] = atomic_load_explicit(&review->kept, memory_order_relaxed);
        counts[1] = atomic_load_explicit(&review->dropped, memory_order_relaxed);
    }
    if (id == METRIC_KEPT_INPUTS)
        metrics_text_values(out, id, results, counts, 2);
    else
        metrics_text_value(out, id, NULL, (double)bytes);
}

void review_register(struct review *review, struct metrics *metrics)
{
    static const enum metric_id ids[] = {METRIC_KEPT_INPUTS, METRIC_KEPT_INPUTS_BYTES};
    metrics_register(metrics, ids, sizeof ids / sizeof *ids,
                     (struct metrics_collector){.context = review, .collect = collect});
}

/* ---- open and close ---- */

/* No file is smaller than its head, and a head than this. */
static unsigned room_of(size_t bytes_max)
{
    enum { HEAD_BYTES_MIN = 256 };
    const size_t most = bytes_max / HEAD_BYTES_MIN + 1;
    return most < REVIEW_INPUTS_MAX ? (unsigned)most : REVIEW_INPUTS_MAX;
}

size_t review_bytes(size_t bytes_max)
{
    return bytes_max > 0 ? memory_product(room_of(bytes_max), sizeof(struct kept_entry)) : 0;
}

static enum err_code start(struct review *review, struct err *err)
{
    /* The inputs are for nobody but the server's user. A file system of a network tells the size of
     * its transfers, 256 KiB to 4 MiB, where a disk tells that of its blocks. */
    enum { BLOCK_BYTES_MAX = 64 * 1024 };
    const char *state_dir = review->options.state_dir;
    int len = snprintf(review->dir, sizeof review->dir, "%s/inputs", state_dir);
    if (len < 0 || (size_t)len >= sizeof review->dir - KEPT_FILE_NAME_BYTES)
        return err_set(err, ERR_UNUSABLE, "state_dir: longer than %zu bytes",
                       sizeof review->dir - KEPT_FILE_NAME_BYTES);
    if (mkdir(state_dir, 0750) != 0 && errno != EEXIST)
        return err_set(err, ERR_UNUSABLE, "state_dir %s: %s", state_dir, strerror(errno));
    if (mkdir(review->dir, 0700) != 0 && errno != EEXIST)
        return err_set(err, ERR_UNUSABLE, "state_dir: %s: %s", review->dir, strerror(errno));
    if (access(review->dir, R_OK | W_OK | X_OK) != 0)
        return err_set(err, ERR_UNUSABLE, "state_dir: %s: %s", review->dir, strerror(errno));
    struct statvfs disk;
    review->block_bytes = 4096;
    if (statvfs(review->dir, &disk) == 0 && disk.f_frsize > 0 && disk.f_frsize <= BLOCK_BYTES_MAX)
        review->block_bytes = disk.f_frsize;
    if (kept_list_open(&review->list, room_of(review->bytes_max), err))
        return err->code;
    int failure = pthread_create(&review->thread, NULL, review_main, review);
    review->has_thread = failure == 0;
    return failure == 0 ? ERR_OK : err_no_thread(err, failure);
}

enum err_code review_open(struct review **out, const struct review_options *options,
                          struct err *err)
{
    struct review *review = calloc(1, sizeof *review);
    *out = NULL;
    if (review == NULL)
        return err_no_memory(err, sizeof *review);
    review->options = *options;
    review->bytes_max = options->bytes_max;
    review->end = &review->first;
    pthread_mutex_init(&review->queue, NULL);
    pthread_mutex_init(&review->lock, NULL);
    pthread_cond_init(&review->wanted, NULL);
    if (start(review, err)) {
        review_close(review);
        return err->code;
    }
    log_event(LOG_INFO, "review_keeps_inputs", LOG_TEXT("dir", review->dir),
              LOG_NUMBER("bytes_max", review->bytes_max));
    *out = review;
    return ERR_OK;
}

void review_close(struct review *review)
{
    if (review == NULL)
        return;
    pthread_mutex_lock(&review->queue);
    atomic_store(&review->is_closing, true);
    pthread_mutex_unlock(&review->queue);
    pthread_cond_signal(&review->wanted);
    if (review->has_thread)
        pthread_join(review->thread, NULL);
    kept_list_close(&review->list);
    pthread_cond_destroy(&review->wanted);
    pthread_mutex_destroy(&review->lock);
    pthread_mutex_destroy(&review->queue);
    free(review);
}
