/* fakes.h - an engine and an HTTP edge without models and sockets, for tests of the layers between.
 * Defines the functions of engine.h and http.h, so include it in one file of a test program.
 *
 * The engine's input is a text whose length is its number of tokens; logits[0] is its first byte.
 * While `fake_gate` is shut, engine_run waits, so a test decides how long inference takes; so does
 * the preparing of a text that begins with 'G'. A text that begins with 'S' or an image that begins
 * with '8' is prepared, and a heat map of an image that begins with '7' is made, until the
 * interrupt ends it. `fake_seen` has the questions to the engine; `fake_fails` has the calls that
 * fail.
 */
#ifndef ATTND_TESTS_UNIT_SERVER_FAKES_H
#define ATTND_TESTS_UNIT_SERVER_FAKES_H

#include "engine/base/clock.h"
#include "engine/base/thread_pool.h"
#include "engine/engine.h"
#include "engine/vision/image.h"
#include "server/http/http.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct engine_model {
    struct engine_info info;
};
/* A session of a model, on the pool on which it was opened or that it was lent. */
struct engine_session {
    const struct engine_model *model;
    const struct thread_pool *opened_on, *pool;
    unsigned runs, inside;          /* so far, and that go on now; under fake_lock */
    void (*between)(void *context); /* called once a step */
    void *context;
    float features[256];
};

static const char *const fake_labels[] = {"fail", "pass"};
static struct engine_model fake_models[2] = {
    {{.kind = ENGINE_TEXT,
      .family = "bert",
      .version = "1",
      .dtype = "f32",
      .linear_backend = "reference",
      .kernels = "avx2",
      .scores = "softmax",
      .labels = fake_labels,
      .label_count = 2,
      .feature_size = 1,
      .classifier_size = 1,
      .tokens_max = 64,
      .ood_method = "energy"}},
    {{.kind = ENGINE_IMAGE,
      .family = "vit",
      .version = "1",
      .dtype = "f32",
      .linear_backend = "reference",
      .kernels = "avx2",
      .scores = "softmax",
      .labels = fake_labels,
      .label_count = 2,
      .tokens_max = 64}},
};

static pthread_mutex_t fake_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t fake_changed = PTHREAD_COND_INITIALIZER;
static bool fake_gate_shut;
static unsigned fake_inside; /* threads that wait at the gate */
static atomic_uint fake_runs, fake_rows, fake_sessions_open;
static atomic_int fake_models_open;
static _Atomic(pthread_t) fake_prepared_by, fake_explained_by, fake_closed_by;
static void (*fake_digest_deed)(const struct engine_model *model, struct err *err);

/* The last calls of the engine. The texts are the caller's. */
static struct {
    char dir[256];                             /* engine_open */
    const char *linear_backend, *dtype;        /* engine_open */
    const struct engine_model *copy_of;        /* engine_open */
    atomic_uint opened, closed;                /* models */
    atomic_uint tokens, threads;               /* engine_session_open_on */
    atomic_size_t prepared_len[2], pixels_max; /* by kind; of images */
    atomic_uint runs[2];                       /* by model */
    atomic_int digest_policy;                  /* scheduling policy of the thread that hashes */
    atomic_uint digests_ended;
    atomic_int run_policy;     /* scheduling policy of the thread of the last run */
    atomic_uint prepared_utf8; /* texts that were known to be UTF-8 */
    atomic_size_t pair_len;
    atomic_uint long_text, text_tokens_max; /* the reading of the last one */
} fake_seen;

/* The pretended cost of a model and of one session of it. */
enum { FAKE_MODEL_BYTES = 1000, FAKE_SESSION_BYTES = 100 };

/* The calls that fail. sessions_from: all sessions from this number on cannot be opened. open,
 * prepare, digest: no model can be opened, no input prepared, no digest computed. digest_endless: a
 * digest runs until it is given up. */
static struct {
    atomic_uint sessions_from;
    _Atomic(enum err_code) open, prepare, digest;
    atomic_bool digest_endless;
} fake_fails = {.sessions_from = (unsigned)-1};

/* A model that is opened beside another is then not the same one, so that copies can be told. */
static atomic_bool fake_tells_copies;
static struct engine_model fake_copy;

static inline void fake_gate(bool shut)
{
    pthread_mutex_lock(&fake_lock);
    fake_gate_shut = shut;
    pthread_cond_broadcast(&fake_changed);
    pthread_mutex_unlock(&fake_lock);
}

/* Work that only an interrupt ends; it counts as inside. */
static inline enum err_code fake_endless(struct interrupt *interrupt, struct err *err)
{
    pthread_mutex_lock(&fake_lock);
    fake_inside++;
    pthread_cond_broadcast(&fake_changed);
    pthread_mutex_unlock(&fake_lock);
    while (interrupt_look(interrupt, err) == ERR_OK)
        sched_yield();
    pthread_mutex_lock(&fake_lock);
    fake_inside--;
    pthread_mutex_unlock(&fake_lock);
    return err->code;
}

static inline void fake_await_inside(unsigned count)
{
    pthread_mutex_lock(&fake_lock);
    while (fake_inside < count)
        pthread_cond_wait(&fake_changed, &fake_lock);
    pthread_mutex_unlock(&fake_lock);
}

static inline void fake_wait_at_gate(void)
{
    pthread_mutex_lock(&fake_lock);
    fake_inside++;
    pthread_cond_broadcast(&fake_changed);
    while (fake_gate_shut)
        pthread_cond_wait(&fake_changed, &fake_lock);
    fake_inside--;
    pthread_mutex_unlock(&fake_lock);
}

/* The model of a directory whose last part begins with "text" or "image"; NULL: there is none. */
static inline struct engine_model *fake_model_of(const char *dir)
{
    const char *last = strrchr(dir, '/') != NULL ? strrchr(dir, '/') + 1 : dir;
    if (strncmp(last, "text", 4) == 0)
        return &fake_models[0];
    return strncmp(last, "image", 5) == 0 ? &fake_models[1] : NULL;
}

enum err_code engine_open(struct engine_model **out, const char *dir,
                          const struct engine_options *options, struct err *err)
{
    snprintf(fake_seen.dir, sizeof fake_seen.dir, "%s", dir);
    fake_seen.linear_backend = options->linear_backend;
    fake_seen.dtype = options->dtype;
    fake_seen.copy_of = options->copy_of;
    if (fake_fails.open != ERR_OK)
        return err_set(err, fake_fails.open, "model.safetensors: is too short");
    if (fake_model_of(dir) == NULL)
        return err_set(err, ERR_IO, "config.json: cannot be opened");
    *out = fake_model_of(dir);
    if (fake_tells_copies && fake_models_open > 0) {
        fake_copy = **out;
        *out = &fake_copy;
    }
    atomic_fetch_add(&fake_seen.opened, 1);
    atomic_fetch_add(&fake_models_open, 1);
    return ERR_OK;
}

void engine_close(struct engine_model *model)
{
    if (model == NULL)
        return;
    fake_closed_by = pthread_self();
    atomic_fetch_add(&fake_seen.closed, 1);
    atomic_fetch_sub(&fake_models_open, 1);
}

enum err_code engine_measure(struct engine_cost *out, const char *dir,
                             const struct engine_options *options, unsigned batch_tokens_max,
                             unsigned threads, struct err *err)
{
    (void)options;
    (void)batch_tokens_max;
    (void)threads;
    if (fake_model_of(dir) == NULL)
        return err_set(err, ERR_NOT_FOUND, "config.json: no such file");
    *out = (struct engine_cost){
        .model_bytes = FAKE_MODEL_BYTES, .session_bytes = FAKE_SESSION_BYTES, .label_count = 2};
    return ERR_OK;
}

const struct engine_info *engine_describe(const struct engine_model *model)
{
    return &model->info;
}

enum err_code engine_digest(const struct engine_model *model, const atomic_bool *stop, char out[72],
                            struct err *err)
{
    snprintf(out, 72, "sha256:%064d", model == fake_models ? 7 : 8);
    if (fake_fails.digest_endless)
        fake_seen.digest_policy = sched_getscheduler(0);
    while (fake_fails.digest_endless && !atomic_load(stop))
        sched_yield();
    atomic_fetch_add(&fake_seen.digests_ended, 1);
    if (atomic_load(stop))
        err_set(err, ERR_NOT_READY, "stopped");
    else if (fake_fails.digest != ERR_OK)
        err_set(err, fake_fails.digest, "model.safetensors: cannot be read");
    else if (fake_digest_deed != NULL)
        fake_digest_deed(model, err);
    fake_seen.digest_policy = sched_getscheduler(0); /* its waiters may stop the rest */
    return err->code;
}

static enum err_code fake_prepare(const struct engine_model *model, const char *text, size_t len,
                                  struct interrupt *interrupt, struct arena *arena,
                                  struct engine_input *out, struct err *err)
{
    int32_t *ids = arena_alloc(arena, sizeof *ids);
    fake_seen.prepared_len[model != fake_models] = len;
    if (fake_fails.prepare != ERR_OK)
        return err_set(err, fake_fails.prepare, "the vocabulary is empty");
    if (len == 0)
        return err_set(err, ERR_UNUSABLE, "the text yields no token");
    fake_prepared_by = pthread_self();
    if (text[0] == 'S' || text[0] == '8')
        return fake_endless(interrupt, err);
    if (text[0] == 'G')
        fake_wait_at_gate();
    ids[0] = (unsigned char)text[0];
    *out = (struct engine_input){
        .kind = ENGINE_TEXT, .tokens = len < 64 ? (unsigned)len : 64, .ids = ids};
    return ERR_OK;
}

/* Windows of 64 bytes, the last one shorter; each has the token that it begins with. */
static void fake_cut(const char *text, size_t len, struct arena *arena, struct engine_input *out)
{
    const unsigned windows = (unsigned)(len + 63) / 64;
    unsigned *offset = arena_alloc_array(arena, windows + 1, sizeof *offset);
    int32_t *ids = arena_alloc_array(arena, len, sizeof *ids);
    for (unsigned i = 0; i < windows; i++) {
        offset[i] = 64 * i;
        ids[offset[i]] = (unsigned char)text[offset[i]];
    }
    offset[windows] = (unsigned)len;
    out->ids = ids;
    out->tokens = (unsigned)len;
    out->windows = windows;
    out->window_offset = out->window_first = offset;
}

/* The length of a pair is its second text's; a first text "P..." is answered by the second one. */
static unsigned fake_writes; /* tokens that are written of each text; 0: none is */
static char fake_writer;     /* stands for the engine's private structs */

enum err_code engine_prepare(const struct engine_model *model, const struct engine_source *source,
                             struct interrupt *interrupt, struct arena *arena,
                             struct engine_input *out, struct err *err)
{
    const char *bytes = source->bytes;
    const bool is_pair = source->pair_len > 0, is_text = source->kind == ENGINE_TEXT;
    if (is_pair && bytes[0] == 'P')
        bytes = source->pair;
    if (is_text && !is_pair) {
        fake_seen.prepared_utf8 += source->is_utf8;
        fake_seen.long_text = source->reading.long_text;
        fake_seen.text_tokens_max = source->reading.text_tokens_max;
    }
    if (is_pair)
        fake_seen.pair_len = source->pair_len;
    if (!is_text)
        fake_seen.pixels_max = source->pixels_max;
    if (fake_prepare(model, bytes, is_pair ? source->pair_len : source->len, interrupt, arena, out,
                     err))
        return err->code;
    out->kind = source->kind;
    if (is_text && !is_pair && fake_seen.long_text == LONG_TEXT_WINDOWS && source->len > 64)
        fake_cut(bytes, source->len, arena, out);
    if (fake_writes > 0 && is_text)
        out->writing = (const struct writing_input *)&fake_writer;
    return ERR_OK;
}

/* A file "<digits>..." declares so many pixels. */
size_t engine_image_pixels(const void *bytes, size_t len)
{
    size_t pixels = 0;
    const char *digits = bytes;
    for (size_t i = 0; i < len && digits[i] >= '0' && digits[i] <= '9'; i++)
        pixels = pixels * 10 + (size_t)(digits[i] - '0');
    return pixels;
}

/* A fake text takes its length; a fake image takes its pixels, until it is prepared. */
struct engine_need engine_need(const struct engine_model *model, const struct engine_source *source)
{
    (void)model;
    if (source->kind == ENGINE_TEXT)
        return (struct engine_need){.kept = source->len + source->pair_len};
    return (struct engine_need){.kept = 1,
                                .passing = engine_image_pixels(source->bytes, source->len)};
}

enum err_code engine_session_open_on(struct engine_session **out, const struct engine_model *model,
                                     unsigned batch_tokens_max, struct thread_pool *pool,
                                     struct err *err)
{
    fake_seen.tokens = batch_tokens_max;
    fake_seen.threads = thread_pool_size(pool);
    struct engine_session *session = malloc(sizeof *session);
    if (atomic_fetch_add(&fake_sessions_open, 1) >= fake_fails.sessions_from || session == NULL) {
        atomic_fetch_sub(&fake_sessions_open, 1);
        free(session);
        return err_set(err, ERR_NO_MEMORY, "out of memory (1 bytes were needed)");
    }
    *session = (struct engine_session){.model = model, .opened_on = pool, .pool = pool};
    *out = session;
    return ERR_OK;
}

void engine_session_lend(struct engine_session *session, struct thread_pool *pool)
{
    session->pool = pool;
}

void engine_session_close(struct engine_session *session)
{
    if (session == NULL)
        return;
    free(session);
    atomic_fetch_sub(&fake_sessions_open, 1);
}

/* 'N' yields a NaN for the first label, 'M' for the last; else the scores sum to 1. */
static bool fake_scores(float logit, float *scores)
{
    scores[0] = logit == (float)'N' ? NAN : logit / 256;
    scores[1] = isnan(scores[0]) ? 0.5f : logit == (float)'M' ? NAN : 1 - scores[0];
    return !isnan(scores[0]) && !isnan(scores[1]);
}

static enum engine_task fake_task; /* of all models */

/* 'R' is reviewed, 'U' is unknown; ood_score is the first byte, of a text. */
static void fake_answer(const struct engine_model *model, float logit,
                        const struct engine_input *input, struct engine_result *result)
{
    struct judgement *judgement = &result->judgement;
    if (result->logits != NULL) {
        result->logits[0] = logit;
        result->logits[1] = 0;
    }
    if (result->scores == NULL)
        return;
    result->is_finite = fake_scores(logit, result->scores);
    result->task = fake_task;
    result->label = fake_task == ENGINE_CLASSIFY && result->scores[1] > result->scores[0];
    result->number = result->scores[result->label];
    result->truncated = input->truncated;
    result->windows = input->windows;
    result->tokens = result->kept_tokens = input->tokens;
    *judgement = (struct judgement){.score = result->scores[0], .threshold = 0.5f};
    if (model->info.ood_method != NULL) {
        judgement->has_ood = true;
        judgement->ood_score = logit;
    }
    if (logit == (float)'R')
        judgement->decision = DECISION_REVIEW;
    if (logit == (float)'U')
        judgement->decision = DECISION_UNKNOWN;
}

/* A window's feature is its first token; an input has the sum of its windows'. fake_rows counts
 * windows. */
void engine_step(struct engine_session *session, const struct engine_input *const *inputs,
                 unsigned rows, struct engine_result *const *results)
{
    unsigned windows = 0;
    pthread_mutex_lock(&fake_lock);
    fake_seen.runs[session->model->info.kind == ENGINE_IMAGE]++;
    session->runs++;
    session->inside++;
    pthread_mutex_unlock(&fake_lock);
    fake_seen.run_policy = sched_getscheduler(0);
    fake_wait_at_gate();
    pthread_mutex_lock(&fake_lock);
    session->inside--;
    pthread_mutex_unlock(&fake_lock);
    if (session->between != NULL)
        session->between(session->context);
    for (unsigned i = 0; i < rows; i++) {
        struct engine_result *result = results[i];
        if (result->writer != NULL) {
            result->windows_done = 1;
            result->written++;
            result->is_done = result->written >= fake_writes;
            result->task = ENGINE_GENERATE;
            result->is_finite = true;
            continue;
        }
        const unsigned all = engine_input_windows(inputs[i]), left = all - result->windows_done;
        const unsigned step = result->step > 0 && result->step < left ? result->step : left;
        session->features[i] = result->windows_done > 0 ? result->pooled[0] : 0;
        for (unsigned w = result->windows_done; w < result->windows_done + step; w++)
            session->features[i] += (float)engine_input_window(inputs[i], w).ids[0];
        windows += step;
        result->windows_done += step;
        result->is_done = result->windows_done == all;
        if (result->is_done)
            fake_answer(session->model, session->features[i], inputs[i], result);
        else
            result->pooled[0] = session->features[i];
        result->features = &session->features[i];
    }
    atomic_fetch_add(&fake_runs, 1);
    atomic_fetch_add(&fake_rows, windows);
}

void engine_session_let_in(struct engine_session *session, void (*between)(void *context),
                           void *context)
{
    session->between = between;
    session->context = context;
}

void engine_run(struct engine_session *session, const struct engine_input *const *inputs,
                unsigned rows, struct engine_result *const *results)
{
    for (unsigned i = 0; i < rows; i++)
        results[i]->step = results[i]->windows_done = 0;
    engine_step(session, inputs, rows, results);
}

unsigned engine_kept_tokens(const struct engine_model *model, const struct engine_input *input)
{
    (void)model;
    return input->tokens;
}

/* Scores as those of fake_answer. */
bool engine_scores_as_fitted(const struct engine_model *model, const float *logits, float *scores)
{
    (void)model;
    return fake_scores(logits[0], scores);
}

unsigned engine_step_tokens(const struct engine_input *input, const struct engine_result *result)
{
    return result->written > 0 ? 1 : engine_input_tokens(input, result->windows_done, 1);
}

enum err_code engine_result_texts(struct engine_result *result, struct arena *arena,
                                  struct err *err)
{
    static const struct engine_text text = {.text = "written", .len = 7};
    (void)arena, (void)err;
    result->texts = &text;
    result->text_count = 1;
    return ERR_OK;
}

/* Two hypotheses have no pieces. */
size_t engine_pieces_bytes(const struct engine_input *input)
{
    return input->writing == (const struct writing_input *)&fake_writer ? 64 : 0;
}

static bool fake_pieces_fail;

enum err_code engine_next_piece(const struct engine_result *result, struct engine_pieces *pieces,
                                struct arena *arena, struct engine_piece *out, bool *is_there,
                                struct err *err)
{
    (void)arena;
    if (fake_pieces_fail)
        return err_no_memory(err, 1);
    *is_there = pieces->next < result->written;
    *out = (struct engine_piece){.index = pieces->next, .id = 7, .text = "\"t", .len = 2};
    pieces->next += *is_there;
    return err->code;
}

enum err_code engine_align(const struct engine_model *model, const struct engine_input *input,
                           const struct engine_text *text, struct arena *arena,
                           struct explanation *out, struct err *err)
{
    (void)model, (void)input, (void)text, (void)arena;
    *out = (struct explanation){.method = EXPLAIN_ALIGNMENT};
    return err->code;
}

bool engine_text_is_longest(const struct engine_input *input, const struct engine_text *text)
{
    (void)input, (void)text;
    return false;
}

/* The whole text is its only token's. */
enum err_code engine_text_pieces(const struct engine_model *model, const struct engine_text *text,
                                 const struct engine_piece **out, struct arena *arena,
                                 struct err *err)
{
    struct engine_piece *pieces = arena_alloc_array(arena, text->count + 1u, sizeof *pieces);
    (void)model;
    if (pieces == NULL)
        return err_no_memory(err, sizeof *pieces);
    pieces[0] = (struct engine_piece){.text = text->text, .len = text->len};
    *out = pieces;
    return ERR_OK;
}

void engine_normalize(float *vector, unsigned size)
{
    (void)vector, (void)size;
}

unsigned engine_rows(const struct engine_model *model, const struct engine_input *input)
{
    (void)model, (void)input;
    return 0;
}

enum err_code engine_result_rows(struct engine_result *out, const struct engine_model *model,
                                 const struct engine_input *input, struct arena *arena,
                                 struct err *err)
{
    (void)model, (void)arena;
    if (input->writing != NULL)
        out->writer = (struct writer *)&fake_writer;
    return err->code;
}

enum err_code engine_result_init(struct engine_result *out, const struct engine_model *model,
                                 struct arena *arena, struct err *err)
{
    (void)model;
    *out = (struct engine_result){.logits = arena_alloc_array(arena, 2, sizeof(float)),
                                  .scores = arena_alloc_array(arena, 2, sizeof(float))};
    return out->logits != NULL && out->scores != NULL ? ERR_OK : err_no_memory(err, 16);
}

/* Attention of 100 bytes a token; layer 9 is one too many. */
enum { FAKE_CAPTURE_BYTES = 100 };

size_t engine_capture_bytes(const struct engine_model *model, const struct engine_input *input,
                            const struct explain_options *options)
{
    (void)options;
    (void)model;
    return (size_t)input->tokens * FAKE_CAPTURE_BYTES;
}

enum err_code engine_capture(const struct engine_model *model, struct engine_input *input,
                             const struct explain_options *options, struct arena *arena,
                             struct err *err)
{
    (void)model;
    (void)input;
    (void)arena;
    return options->layer == 9 ? err_set(err, ERR_UNUSABLE, "explain_layer is 9") : ERR_OK;
}

/* One word, the first character; 'E' has no memory for it. Of an image also a view so wide. A text
 * that begins with 'P' has a phrase, all of it. */
enum err_code engine_explain(const struct engine_model *model, const struct engine_source *source,
                             const struct engine_input *input,
                             const struct explain_options *options, unsigned label,
                             struct arena *arena, struct explanation *out, struct err *err)
{
    (void)model;
    (void)label;
    struct excerpt *word = arena_alloc(arena, sizeof *word);
    *word = (struct excerpt){.start = 0, .end = 1, .relevance = 1};
    fake_explained_by = pthread_self();
    enum explain_method method =
        options->method == EXPLAIN_DEFAULT ? EXPLAIN_ATTENTION : options->method;
    *out = (struct explanation){.method = method, .words = word, .word_count = 1};
    out->view.width = (unsigned)input->ids[0];
    out->has_phrases =
        source->kind == ENGINE_TEXT && source->len > 0 && *(const char *)source->bytes == 'P';
    out->phrases[0] = (struct excerpt){.end = (uint32_t)source->len, .relevance = 1};
    out->phrase_count = out->has_phrases;
    return input->ids[0] == 'E' ? err_no_memory(err, 1) : ERR_OK;
}

size_t engine_phrases_bytes(const struct engine_model *model, size_t len)
{
    (void)model;
    (void)len;
    return 0;
}

enum err_code engine_overlay(const struct explanation *explanation, struct interrupt *interrupt,
                             char **png, size_t *len, struct err *err)
{
    if (explanation->view.width == '7')
        return fake_endless(interrupt, err);
    *len = 3;
    *png = malloc(*len);
    if (*png == NULL)
        return err_no_memory(err, *len);
    memcpy(*png, "PNG", *len);
    return ERR_OK;
}

/* The HTTP edge: headers are the test's, the same for every exchange; a resumed exchange is marked
 * by reply.close, which the application does not use. */
struct fake_header {
    const char *name, *value;
};
static const struct fake_header *fake_headers; /* ends with a NULL name */
static const struct fake_header *fake_query;
static atomic_bool fake_client_gone;                             /* every client */
static _Atomic(const struct http_exchange *) fake_client_left;   /* or this one */
static void (*fake_resume_deed)(struct http_exchange *exchange); /* before the client has it */
static bool fake_secure;                                         /* connections are of TLS */
static const char *fake_client_name; /* of every client's certificate; NULL: they have none */
static const char *fake_loopback;    /* of every connection; NULL: no loopback address */

static inline const char *fake_find(const struct fake_header *at, const char *name)
{
    for (; at != NULL && at->name != NULL; at++)
        if (strcmp(at->name, name) == 0)
            return at->value;
    return NULL;
}

const char *http_header(const struct http_exchange *exchange, const char *name)
{
    (void)exchange;
    return fake_find(fake_headers, name);
}

void http_header_each(const struct http_exchange *exchange, const char *name,
                      void (*visit)(void *context, const char *value), void *context)
{
    (void)exchange;
    for (const struct fake_header *at = fake_headers; at != NULL && at->name != NULL; at++)
        if (strcmp(at->name, name) == 0)
            visit(context, at->value);
}

void http_query_each(const struct http_exchange *exchange,
                     void (*visit)(void *context, const char *name, const char *value),
                     void *context)
{
    (void)exchange;
    for (const struct fake_header *at = fake_query; at != NULL && at->name != NULL; at++)
        visit(context, at->name, at->value);
}

bool http_is_secure(const struct http_exchange *exchange)
{
    (void)exchange;
    return fake_secure;
}

const char *const *http_client_names(const struct http_exchange *exchange, unsigned *count)
{
    (void)exchange;
    *count = fake_client_name != NULL;
    return fake_client_name != NULL ? &fake_client_name : NULL;
}

bool http_loopback_address(const struct http_exchange *exchange, char out[HTTP_ADDRESS_BYTES])
{
    (void)exchange;
    if (fake_loopback != NULL)
        snprintf(out, HTTP_ADDRESS_BYTES, "%s", fake_loopback);
    return fake_loopback != NULL;
}

void http_suspend(struct http_exchange *exchange)
{
    (void)exchange;
}

void http_resume(struct http_exchange *exchange)
{
    if (fake_resume_deed != NULL)
        fake_resume_deed(exchange);
    pthread_mutex_lock(&fake_lock);
    exchange->reply.close = true;
    pthread_cond_broadcast(&fake_changed);
    pthread_mutex_unlock(&fake_lock);
}

bool http_client_gone(const struct http_exchange *exchange)
{
    return atomic_load(&fake_client_gone) || atomic_load(&fake_client_left) == exchange;
}

static inline void fake_await_resumed(const struct http_exchange *exchange)
{
    pthread_mutex_lock(&fake_lock);
    while (!exchange->reply.close)
        pthread_cond_wait(&fake_changed, &fake_lock);
    pthread_mutex_unlock(&fake_lock);
}

#endif
