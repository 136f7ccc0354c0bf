/* engine_run.c - inputs -> logits -> scores and a judgement. */
#include "engine/base/thread_pool.h"
#include "engine/decide/argmax.h"
#include "engine/engine_state.h"
#include "engine/model/head.h"
#include "engine/model/head_parts.h"
#include "engine/model/sentence_pooling.h"
#include "engine/prepare/question.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct engine_session {
    struct thread_pool *own_pool; /* NULL: it runs on a borrowed one */
    const struct engine_model *model;
    struct lane {
        const struct stack *stack;
        struct workspace workspace;
        struct workspace *last; /* what the head reads, and where it answers */
        unsigned inputs;        /* of the batch that it reads */
    } lanes[MODEL_STACKS_MAX];  /* [lane_count] one for each kind of input */
    unsigned lane_count;
    struct decoder_workspace decoder; /* of a model that writes */
};

static bool writes(const struct engine_model *model)
{
    return model->info.task == ENGINE_GENERATE;
}

static enum err_code open_decoder(struct engine_session *session, struct thread_pool *pool,
                                  struct err *err)
{
    const struct engine_model *model = session->model;
    const struct stack *stack = &model->stacks[1];
    const struct decoder_sizes sizes = engine_decoder_sizes(&stack->spec, model->info.tokens_max);
    return decoder_workspace_open(&session->decoder, &stack->spec, stack->encoder, &sizes, pool,
                                  stack->kernels, err);
}

enum err_code engine_session_open_on(struct engine_session **out, const struct engine_model *model,
                                     unsigned batch_tokens_max, struct thread_pool *pool,
                                     struct err *err)
{
    *out = NULL;
    struct engine_session *session = calloc(1, sizeof *session);
    if (session == NULL)
        return err_no_memory(err, sizeof *session);
    unsigned longest = model->info.tokens_max;
    session->model = model;
    for (unsigned i = 0; i < (model->info.reads_both ? model->stack_count : 1); i++) {
        struct lane *lane = &session->lanes[i];
        lane->stack = &model->stacks[i];
        if (stack_workspace(lane->stack, &lane->workspace,
                            batch_tokens_max > longest ? batch_tokens_max : longest, pool, err)) {
            engine_session_close(session);
            return err->code;
        }
        lane->last = workspace_last(&lane->workspace);
        session->lane_count++;
    }
    session->lanes[0].last->takes_means =
        model->stacks[0].spec.policy.ood.method == OOD_NEIGHBOURS ||
        head_parts_reads_means(&model->stacks[0].weights);
    if (writes(model) && open_decoder(session, pool, err)) {
        engine_session_close(session);
        return err->code;
    }
    *out = session;
    return ERR_OK;
}

enum err_code engine_session_open(struct engine_session **out, const struct engine_model *model,
                                  unsigned batch_tokens_max, unsigned threads, struct err *err)
{
    struct thread_pool *pool;
    *out = NULL;
    if (thread_pool_open(&pool, threads, err))
        return err->code;
    if (engine_session_open_on(out, model, batch_tokens_max, pool, err))
        thread_pool_close(pool);
    else
        (*out)->own_pool = pool;
    return err->code;
}

void engine_session_lend(struct engine_session *session, struct thread_pool *pool)
{
    for (unsigned i = 0; i < session->lane_count; i++) {
        assert(thread_pool_size(pool) <= session->lanes[i].workspace.pool_size_max);
        workspace_lend(&session->lanes[i].workspace, pool);
    }
    if (writes(session->model))
        workspace_lend(&session->decoder.block, pool);
}

void engine_session_let_in(struct engine_session *session, void (*between)(void *context),
                           void *context)
{
    for (unsigned i = 0; i < session->lane_count; i++) {
        session->lanes[i].workspace.between = between;
        session->lanes[i].workspace.between_context = context;
    }
    session->decoder.block.between = between;
    session->decoder.block.between_context = context;
}

void engine_session_close(struct engine_session *session)
{
    if (session == NULL)
        return;
    for (unsigned i = 0; i < session->lane_count; i++)
        workspace_close(&session->lanes[i].workspace);
    if (writes(session->model))
        decoder_workspace_close(&session->decoder);
    thread_pool_close(session->own_pool);
    free(session);
}

/* ---- running ---- */

static struct lane *lane_of(struct engine_session *session, const struct engine_input *input)
{
    return &session->lanes[engine_stack_of(session->model, input->kind) - session->model->stacks];
}

/* The next `count` windows of an input, each a sequence of its own, in as many passes as they need;
 * of the ones before, read[0] has what is pooled. */
static void add_windows(struct lane *lane, const struct engine_input *input, unsigned r,
                        unsigned first, unsigned count)
{
    struct window_place place = {.input = r, .window = first, .skipped = input->skipped};
    place.windows = engine_input_windows(input);
    for (; place.window < first + count; place.window++) {
        place.row = input->windows > 0 ? input->window_offset[place.window] : 0;
        place.masks = input->masks;
        place.mask_count = input->mask_count;
        place.lines = input->has_lines ? input->parts : NULL;
        place.line_count = input->part_count;
        const struct engine_input window = engine_input_window(input, place.window);
        if (!stack_has_room(&lane->workspace, window.tokens))
            stack_run(lane->stack, &lane->workspace);
        stack_add(lane->stack, &lane->workspace, &window, place);
    }
}

static const struct engine_model *model_of(const struct engine_session *session,
                                           const struct engine_input *input)
{
    return input->model != NULL ? input->model : session->model;
}

static bool is_finite(const float *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(numbers[i]))
            return false;
    return true;
}

/* The features of an embedding are its vector. */
static void take_vector(const struct engine_model *model, const struct engine_input *input,
                        struct engine_result *result)
{
    const unsigned size = model->info.vector_size;
    result->task = ENGINE_EMBED;
    result->row_count = result->rows != NULL ? engine_rows(model, input) : 0;
    result->is_finite = is_finite(result->features, size) &&
                        is_finite(result->rows, (size_t)result->row_count * input->row_size);
    memcpy(result->vector, result->features, size * sizeof *result->vector);
}

/* Spans of the rows, which are those of all windows. */
static void take_spans(const struct engine_model *model, const struct engine_input *input,
                       struct engine_result *result)
{
    const struct spec *spec = &model->stacks[0].spec;
    const size_t numbers = (size_t)engine_rows(model, input) * spec_row_size(spec);
    const struct tagged_tokens tokens = {.labels = spec->labels,
                                         .label_count = spec->label_count,
                                         .insides = spec->insides,
                                         .pairs = spec->pairs.weights,
                                         .temperature = spec->temperature,
                                         .logits = result->rows,
                                         .starts = input->starts,
                                         .ends = input->ends,
                                         .continued = input->continued,
                                         .order = input->order,
                                         .count = input->order_count,
                                         .keeps_outside = input->keeps_outside};
    result->task = ENGINE_TAG;
    result->is_finite = is_finite(result->rows, numbers);
    if (!result->is_finite)
        return;
    result->span_count = spans_make(result->spans, &tokens, (enum aggregation)input->aggregation,
                                    result->rows + numbers);
    policy_judge_spans(&spec->policy, result->spans, result->span_count, engine_input_doubt(input),
                       &result->judgement);
}

/* Answers of the rows, window by window. */
static void take_answers(const struct engine_model *model, const struct engine_input *input,
                         struct engine_result *result)
{
    const struct question_input *question = input->question;
    struct extraction *extraction = result->extraction;
    result->task = ENGINE_ANSWER;
    result->is_finite = is_finite(result->rows, 2 * (size_t)input->tokens);
    if (!result->is_finite)
        return;
    extraction_begin(extraction);
    for (unsigned w = 0; w < engine_input_windows(input); w++) {
        const unsigned at = input->windows > 0 ? input->window_offset[w] : 0;
        const unsigned tokens = engine_input_tokens(input, w, 1);
        extraction_add(extraction,
                       &(struct extraction_window){.logits = result->rows + 2 * (size_t)at,
                                                   .starts = input->starts + at,
                                                   .ends = input->ends + at,
                                                   .continued = input->continued + at,
                                                   .asked = question->asked + at,
                                                   .tokens = tokens,
                                                   .text = input->pair_at,
                                                   .text_end = tokens - question->behind});
    }
    result->answer_count = extraction_end(extraction);
    const struct extract *best = extraction->found;
    const struct span span = {.score = result->answer_count > 0 ? fminf(best->score, 1) : 0};
    policy_judge_spans(&model->stacks[0].spec.policy, &span, 1, engine_input_doubt(input),
                       &result->judgement);
}

/* The result of an input whose features are read and whose logits are computed. */
static void finish(struct engine_session *session, const struct lane *lane,
                   const struct engine_input *input, unsigned row, struct engine_result *result)
{
    struct decoder_workspace *decoder = &session->decoder;
    const struct engine_model *model = model_of(session, input);
    result->features = head_features(&lane->stack->spec, lane->last, row);
    /* rows that are the answer, not what spans or answers are made of */
    const bool takes_rows = model->info.row_size > 0 && result->rows != NULL &&
                            model->info.task != ENGINE_TAG && model->info.task != ENGINE_ANSWER;
    if (result->scores == NULL && result->vector == NULL && result->spans == NULL &&
        result->extraction == NULL && result->writer == NULL && !takes_rows)
        return;
    result->truncated = input->truncated;
    result->windows = input->windows;
    result->tokens = input->tokens;
    result->kept_tokens = engine_kept_tokens(model, input);
    if (result->writer != NULL) {
        result->is_done = false;
        engine_write_begin(decoder, result);
    } else if (model->info.task == ENGINE_EMBED)
        take_vector(model, input, result);
    else if (model->info.task == ENGINE_TAG)
        take_spans(model, input, result);
    else if (model->info.task == ENGINE_ANSWER)
        take_answers(model, input, result);
    else if (model->info.row_size > 0) {
        const size_t rows = engine_rows(model, input);
        result->task = model->info.task;
        result->is_finite = is_finite(result->rows, rows * model->info.row_size);
        result->row_count = (unsigned)rows;
    } else
        engine_conclude(model, result->logits, NULL, engine_input_doubt(input), result);
}

/* Returns the windows of an input's next step: as many as its result asks for, or all that are
 * left. */
static unsigned step_of(const struct engine_input *input, const struct engine_result *result)
{
    const unsigned left = engine_input_windows(input) - result->windows_done;
    return result->step > 0 && result->step < left ? result->step : left;
}

/* Adds an input's step to the batch. A model that leaves tokens out runs an input with a capture
 * twice: with all tokens for the capture, then as any other for the answer. Window 0 of the answer
 * replaces what the first run has pooled; a later step is pooled with the steps so far, which are
 * put back when the first run is complete. */
static void add_step(struct engine_session *session, struct engine_input input,
                     struct engine_result *result)
{
    const struct engine_model *asked = model_of(session, &input);
    struct lane *lane = lane_of(session, &input);
    struct workspace *workspace = &lane->workspace, *last = lane->last;
    const unsigned first = result->windows_done, step = step_of(&input, result), r = lane->inputs++;
    const size_t row = spec_row(&lane->stack->spec);
    result->windows_done += step;
    result->is_done = result->windows_done == engine_input_windows(&input);
    workspace->classifiers[r] = asked->base != NULL ? &asked->stacks[0].weights.classifier : NULL;
    last->evidence[r] = input.evidence;
    const bool has_rows =
        asked->info.row_size > 0 || asked->info.task == ENGINE_EMBED || writes(asked);
    last->answers[r] = has_rows ? result->rows : result->is_done ? result->logits : NULL;
    if (input.capture != NULL && lane->stack->spec.token_pruning.full_layers > 0) {
        add_windows(lane, &input, r, first, step);
        if (first > 0)
            stack_run(lane->stack, workspace);
        input.capture = NULL;
    }
    if (first > 0 && result->pooled != NULL)
        memcpy(last->read[0] + r * row, result->pooled, row * sizeof *result->pooled);
    add_windows(lane, &input, r, first, step);
}

/* Takes an input's result, or what its steps so far have pooled. */
static void take_step(struct engine_session *session, const struct engine_input *input,
                      struct engine_result *result)
{
    struct lane *lane = lane_of(session, input);
    const size_t row = spec_row(&lane->stack->spec);
    const unsigned r = lane->inputs++;
    if (result->is_done)
        finish(session, lane, input, r, result);
    else if (result->pooled != NULL)
        memcpy(result->pooled, lane->last->read[0] + r * row, row * sizeof *result->pooled);
}

/* False if the encoder has read the whole input, and the decoder writes. */
static bool reads(const struct engine_result *result)
{
    return result->writer == NULL || !engine_write_has_begun(result);
}

unsigned engine_step_tokens(const struct engine_input *input, const struct engine_result *result)
{
    return reads(result) ? engine_input_tokens(input, result->windows_done, 1)
                         : engine_write_rows(result);
}

void engine_step(struct engine_session *session, const struct engine_input *const *inputs,
                 unsigned rows, struct engine_result *const *results)
{
    for (unsigned i = 0; i < session->lane_count; i++) {
        stack_begin(&session->lanes[i].workspace);
        session->lanes[i].inputs = 0;
    }
    for (unsigned r = 0; r < rows; r++)
        if (reads(results[r]))
            add_step(session, *inputs[r], results[r]);
    for (unsigned i = 0; i < session->lane_count; i++) {
        struct lane *lane = &session->lanes[i];
        const struct stack *stack = lane->stack;
        if (lane->inputs > 0) {
            stack_run(stack, &lane->workspace);
            head_logits(&stack->spec, &stack->weights, lane->last, lane->inputs);
        }
        lane->inputs = 0;
    }
    for (unsigned r = 0; r < rows; r++)
        if (reads(results[r]))
            take_step(session, inputs[r], results[r]);
    if (writes(session->model))
        engine_write_step(&session->decoder, rows, results);
}

void engine_run(struct engine_session *session, const struct engine_input *const *inputs,
                unsigned rows, struct engine_result *const *results)
{
    for (unsigned r = 0; r < rows; r++)
        results[r]->step = results[r]->windows_done = results[r]->written = 0;
    bool is_done;
    do {
        engine_step(session, inputs, rows, results);
        is_done = true;
        for (unsigned r = 0; r < rows; r++)
            is_done = is_done && results[r]->is_done;
    } while (!is_done);
}

enum err_code engine_teach(struct engine_session *session, const struct engine_input *input,
                           const int32_t *ids, unsigned count, struct arena *arena,
                           const float **logits, unsigned *vocabulary, struct err *err)
{
    const struct engine_model *model = session->model;
    struct engine_result result = {.step = 0};
    *vocabulary = model->stacks[1].spec.vocab_size;
    struct engine_input fixed = *input;
    if (engine_write_fix(model, &fixed, count, arena, err) ||
        engine_result_rows(&result, model, &fixed, arena, err))
        return err->code;
    float *out = arena_alloc_array(arena, count, *vocabulary * sizeof *out);
    uint32_t *slots = arena_alloc_array(arena, count, sizeof *slots);
    if (out == NULL || slots == NULL)
        return err_no_memory(err, (size_t)count * *vocabulary * sizeof *out);
    for (unsigned i = 0; i < count; i++)
        if (ids[i] < 0 || (unsigned)ids[i] >= *vocabulary)
            return err_set(err, ERR_UNUSABLE, "token %u is %d, the vocabulary has %u", i, ids[i],
                           *vocabulary);
    engine_step(session, &(const struct engine_input *){&fixed}, 1,
                &(struct engine_result *){&result});
    engine_write_teach(&session->decoder, &result, ids, count, slots, out);
    *logits = out;
    return ERR_OK;
}

unsigned engine_kept_tokens(const struct engine_model *model, const struct engine_input *input)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < engine_input_windows(input); i++)
        kept += spec_pruned_tokens(&model->stacks[0].spec, engine_input_tokens(input, i, 1));
    return kept;
}

void engine_session_take_means(struct engine_session *session)
{
    session->lanes[0].last->takes_means = true;
}

bool engine_scores(const struct engine_model *model, const float *logits, float *scores)
{
    head_scores(&model->stacks[0].spec, model->stacks[0].kernels, logits, scores);
    return is_finite(scores, model->stacks[0].spec.label_count);
}

bool engine_scores_as_fitted(const struct engine_model *model, const float *logits, float *scores)
{
    head_scores_as_fitted(&model->stacks[0].spec, model->stacks[0].kernels, logits, scores);
    return is_finite(scores, model->stacks[0].spec.label_count);
}

void engine_conclude(const struct engine_model *model, const float *logits, const float *ood,
                     enum input_doubt doubt, struct engine_result *result)
{
    const struct spec *spec = &model->stacks[0].spec;
    result->is_finite = engine_scores(model, logits, result->scores);
    if (!result->is_finite)
        return;
    result->task = model->info.task;
    result->label = result->task == ENGINE_CLASSIFY ? argmax(result->scores, spec->label_count) : 0;
    result->number = result->scores[result->label];
    if (ood != NULL)
        policy_judge_by(&spec->policy, result->scores, *ood, doubt, &result->judgement);
    else
        policy_judge(&spec->policy, logits, result->scores, result->features, doubt,
                     &result->judgement);
}

enum err_code engine_result_init(struct engine_result *out, const struct engine_model *model,
                                 struct arena *arena, struct err *err)
{
    const unsigned labels = model->info.label_count, size = model->info.vector_size;
    *out = (struct engine_result){0};
    if (model->info.row_size > 0)
        return ERR_OK;
    if (model->info.task == ENGINE_EMBED) {
        *out = (struct engine_result){.vector = arena_alloc_array(arena, size, sizeof(float))};
        return out->vector != NULL ? ERR_OK : err_no_memory(err, size * sizeof(float));
    }
    *out = (struct engine_result){.logits = arena_alloc_array(arena, labels, sizeof(float)),
                                  .scores = arena_alloc_array(arena, labels, sizeof(float))};
    return out->logits != NULL && out->scores != NULL
               ? ERR_OK
               : err_no_memory(err, 2 * labels * sizeof(float));
}

unsigned engine_rows(const struct engine_model *model, const struct engine_input *input)
{
    switch (model->info.task) {
    case ENGINE_TAG:
    case ENGINE_ANSWER:
        return input->tokens;
    case ENGINE_FILL:
        return input->mask_count;
    case ENGINE_SPARSE:
        return 1;
    case ENGINE_EMBED:
        return input->part_count;
    default:
        return 0;
    }
}

enum err_code engine_result_rows(struct engine_result *out, const struct engine_model *model,
                                 const struct engine_input *input, struct arena *arena,
                                 struct err *err)
{
    if (writes(model))
        return engine_write_room(out, model, input, arena, err);
    const float *pairs = model->stacks[0].spec.pairs.weights;
    const size_t rows = engine_rows(model, input) + spans_scratch_rows(pairs, input->order_count);
    const size_t size = input->row_size > 0 ? input->row_size : model->info.row_size;
    if (size == 0)
        return ERR_OK;
    if (input->question != NULL && question_room(input, &out->extraction, arena, err))
        return err->code;
    out->rows = arena_alloc_array(arena, rows, size * sizeof *out->rows);
    if (input->order != NULL)
        out->spans = arena_alloc_array(arena, input->order_count + 1u, sizeof *out->spans);
    return out->rows != NULL && (input->order == NULL || out->spans != NULL)
               ? ERR_OK
               : err_no_memory(err, rows * (size * sizeof *out->rows + sizeof *out->spans));
}

void engine_normalize(float *vector, unsigned size)
{
    sentence_normalize(vector, size);
}
