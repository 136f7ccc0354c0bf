/* engine_run.c - inputs -> logits -> scores and a judgement. */
#include "engine/base/thread_pool.h"
#include "engine/decide/argmax.h"
#include "engine/engine_state.h"
#include "engine/model/embed.h"
#include "engine/model/head.h"
#include "engine/model/head_parts.h"
#include "engine/model/stages.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

struct engine_session {
    struct thread_pool *own_pool; /* NULL: it runs on a borrowed one */
    const struct engine_model *model;
    struct workspace workspace;
    struct workspace *last; /* what the head reads, and where it answers */
};

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
    if (workspace_open(&session->workspace, &model->spec, model->encoder,
                       batch_tokens_max > longest ? batch_tokens_max : longest, pool,
                       model->kernels, err)) {
        free(session);
        return err->code;
    }
    session->last = workspace_last(&session->workspace);
    session->last->takes_means =
        model->spec.policy.ood.method == OOD_NEIGHBOURS || head_parts_reads_means(&model->weights);
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
    assert(thread_pool_size(pool) <= session->workspace.pool_size_max);
    workspace_lend(&session->workspace, pool);
}

void engine_session_close(struct engine_session *session)
{
    if (session == NULL)
        return;
    workspace_close(&session->workspace);
    thread_pool_close(session->own_pool);
    free(session);
}

/* ---- running ---- */

static void begin_pass(struct workspace *workspace)
{
    workspace->rows = workspace->offset[0] = 0;
    workspace->captured = false;
}

static void run_pass(struct engine_session *session)
{
    const struct engine_model *model = session->model;
    stages_run(&model->spec, &model->weights, &session->workspace);
    const struct spec last = spec_at(&model->spec, spec_stages(&model->spec) - 1);
    head_read(&last, &model->weights, session->last);
    begin_pass(&session->workspace);
}

/* A sequence of its own, at the end of the packed batch; of the next one if this has no room. */
static void add_window(struct engine_session *session, const struct engine_input *window,
                       struct window_place place)
{
    struct workspace *workspace = &session->workspace;
    if (window->tokens > workspace->tokens_max - workspace->offset[workspace->rows])
        run_pass(session);
    const unsigned row = workspace->rows++, first = workspace->offset[row];
    workspace->places[row] = place;
    workspace->captures[row] = window->capture;
    workspace->captured = workspace->captured || window->capture != NULL;
    workspace->offset[row + 1] = first + window->tokens;
    const struct spec spec = spec_at(&session->model->spec, 0);
    embed(&spec, &session->model->weights, workspace, window, first);
}

/* All windows of an input; what was read of it before is replaced. */
static void add_input(struct engine_session *session, const struct engine_input *input, unsigned r)
{
    struct window_place place = {.input = r, .windows = engine_input_windows(input)};
    for (; place.window < place.windows; place.window++) {
        const struct engine_input window = engine_input_window(input, place.window);
        add_window(session, &window, place);
    }
}

/* A model that leaves tokens out runs an input with a capture twice: with all tokens for the
 * capture, then as any other for the answer. */
void engine_run(struct engine_session *session, const struct engine_input *const *inputs,
                unsigned rows, float *const *logits)
{
    const struct engine_model *model = session->model;
    begin_pass(&session->workspace);
    for (unsigned r = 0; r < rows; r++) {
        session->workspace.classifiers[r] = inputs[r]->classifier;
        session->last->evidence[r] = inputs[r]->evidence;
        struct engine_input input = *inputs[r];
        if (input.capture != NULL && model->spec.token_pruning.full_layers > 0) {
            add_input(session, &input, r);
            input.capture = NULL;
        }
        add_input(session, &input, r);
    }
    run_pass(session);
    head_logits(&model->spec, &model->weights, session->last, rows, logits);
}

unsigned engine_kept_tokens(const struct engine_model *model, const struct engine_input *input)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < engine_input_windows(input); i++)
        kept += spec_pruned_tokens(&model->spec, engine_input_window(input, i).tokens);
    return kept;
}

void engine_pool(struct engine_session *session, const float *features, unsigned window,
                 unsigned windows)
{
    const struct window_place place = {.window = window, .windows = windows};
    const struct spec *spec = &session->model->spec;
    float *read = session->last->read[0];
    head_pool(spec, &place, read, features);
    head_pool_mean(spec, &place, read, features + spec_features(spec));
}

const float *engine_pooled(struct engine_session *session, const struct engine_input *input,
                           float *logits)
{
    const struct engine_model *model = session->model;
    session->last->evidence[0] = input->evidence;
    head_logits(&model->spec, &model->weights, session->last, 1, &logits);
    return engine_features(session, 0);
}

void engine_session_take_means(struct engine_session *session)
{
    session->last->takes_means = true;
}

const float *engine_features(const struct engine_session *session, unsigned row)
{
    return head_features(&session->model->spec, session->last, row);
}

static bool is_finite(const float *scores, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (!isfinite(scores[i]))
            return false;
    return true;
}

bool engine_scores(const struct engine_model *model, const float *logits, float *scores)
{
    head_scores(&model->spec, model->kernels, logits, scores);
    return is_finite(scores, model->spec.label_count);
}

bool engine_scores_as_fitted(const struct engine_model *model, const float *logits, float *scores)
{
    head_scores_as_fitted(&model->spec, model->kernels, logits, scores);
    return is_finite(scores, model->spec.label_count);
}

unsigned engine_argmax(const struct engine_model *model, const float *scores)
{
    return argmax(scores, model->spec.label_count);
}

void engine_judge(const struct engine_model *model, const float *logits, const float *scores,
                  const float *features, enum input_doubt doubt, struct judgement *out)
{
    policy_judge(&model->spec.policy, logits, scores, features, doubt, out);
}

void engine_judge_by(const struct engine_model *model, const float *scores, float ood,
                     enum input_doubt doubt, struct judgement *out)
{
    policy_judge_by(&model->spec.policy, scores, ood, doubt, out);
}
