#include "engine/model/head.h"

#include "engine/model/capture.h"
#include "engine/model/head_parts.h"
#include "engine/model/sentence_pooling.h"

#include <math.h>
#include <string.h>

/* Copies token `token` of every sequence, normalised if the family does so, into cls [rows, D]. */
static void gather(const struct spec *spec, const struct weights *weights, struct workspace *w,
                   unsigned token)
{
    size_t hidden = spec->hidden;
    for (unsigned r = 0; r < w->rows; r++)
        memcpy(w->cls + r * hidden, w->x + (r * spec_head_tokens(spec) + token) * w->hidden_stride,
               hidden * sizeof *w->cls);
    if (weights->final_norm.gamma != NULL)
        w->kernels->layer_norm(w->cls, hidden, w->cls, hidden, weights->final_norm.gamma,
                               weights->final_norm.beta, w->rows, hidden, spec->norm_eps);
}

static void add_mean(float *out, const float *x, size_t stride, size_t rows, size_t width)
{
    memset(out, 0, width * sizeof *out);
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < width; c++)
            out[c] += x[r * stride + c] / (float)rows;
}

/* Normalises all tokens' rows in place, then pools them into cls [rows, spec_features]. */
static void pool(const struct spec *spec, const struct weights *weights, struct workspace *w)
{
    size_t hidden = spec->hidden, stride = w->hidden_stride;
    bool has_first = spec_pooling(spec) == POOLING_FIRST_AND_PATCHES;
    const struct norm *each = &weights->final_norm, *pooled = &weights->pooled_norm;
    for (unsigned r = 0; r < w->rows; r++) {
        float *x = w->x + w->offset[r] * stride, *out = w->cls + (size_t)r * spec_features(spec);
        unsigned tokens = w->offset[r + 1] - w->offset[r];
        size_t pooled_tokens = spec_pooled_tokens(spec, tokens);
        if (each->gamma != NULL)
            w->kernels->layer_norm(x, stride, x, stride, each->gamma, each->beta, tokens, hidden,
                                   spec->norm_eps);
        if (has_first)
            memcpy(out, x, hidden * sizeof *out);
        add_mean(has_first ? out + hidden : out, x + (tokens - pooled_tokens) * stride, stride,
                 pooled_tokens, hidden);
        if (pooled->gamma != NULL)
            w->kernels->layer_norm(out, hidden, out, hidden, pooled->gamma, pooled->beta, 1, hidden,
                                   spec->norm_eps);
    }
}

/* Divides each row by its length (Radford et al. 2021, figure 3). A length of zero gives NaN, as in
 * the reference. */
static void scale_to_unit(float *x, size_t rows, size_t width)
{
    for (size_t r = 0; r < rows; r++, x += width) {
        double squares = 0;
        for (size_t i = 0; i < width; i++)
            squares += (double)x[i] * (double)x[i];
        for (size_t i = 0; i < width; i++)
            x[i] = (float)((double)x[i] / sqrt(squares));
    }
}

/* y = act(x W^T + b); rows of x lie `stride` numbers apart. */
static void project(struct workspace *w, const struct linear *linear, float *y, const float *x,
                    size_t stride, unsigned rows, enum activation act)
{
    struct linear_io io = {
        .x = operand_f32(x, stride), .rows = rows, .y = y, .y_stride = linear->out, .act = act};
    linear_run(linear, w->kernels, w->pool, &io);
}

/* out <- the states of all tokens, or a vector of each line. A line's tokens are pooled as if they
 * were a text of their own. */
static void answer_parts(const struct spec *spec, const struct window_place *place,
                         struct workspace *w, const struct sentence_tokens *tokens, float *out)
{
    const size_t size = place->lines != NULL ? spec_features(spec) : spec->hidden;
    for (unsigned t = 0; place->lines == NULL && t < tokens->end; t++)
        memcpy(out + t * size, tokens->x + t * tokens->stride, size * sizeof *out);
    for (unsigned i = 0; place->lines != NULL && i < place->line_count; i++) {
        const struct input_part *line = &place->lines[i];
        const struct sentence_tokens part = {.x = tokens->x + line->first * tokens->stride,
                                             .stride = tokens->stride,
                                             .end = line->end - line->first};
        if (part.end == 0)
            memset(out + i * size, 0, size * sizeof *out);
        else
            sentence_embed(out + i * size, spec->sentence, &part, w->sentence);
    }
}

/* Writes each sequence's vector, out of all its tokens, into cls [rows, spec_features]. */
static void make_vectors(const struct spec *spec, const struct weights *weights,
                         struct workspace *w)
{
    const struct norm *each = &weights->final_norm;
    const size_t stride = w->hidden_stride;
    for (unsigned r = 0; r < w->rows; r++) {
        float *x = w->x + w->offset[r] * stride;
        const struct sentence_tokens tokens = {.x = x,
                                               .stride = stride,
                                               .first = w->places[r].skipped +
                                                        spec_unpooled_tokens(spec),
                                               .end = w->offset[r + 1] - w->offset[r]};
        if (each->gamma != NULL)
            w->kernels->layer_norm(x, stride, x, stride, each->gamma, each->beta, tokens.end,
                                   spec->hidden, spec->norm_eps);
        sentence_embed(w->cls + (size_t)r * spec_features(spec), spec->sentence, &tokens,
                       w->sentence);
        if (w->answers[w->places[r].input] != NULL)
            answer_parts(spec, &w->places[r], w, &tokens, w->answers[w->places[r].input]);
    }
}

/* Returns the features of every sequence at its token `token`, pooled as the family does,
 * [rows, D]. */
static const float *pooled_of(const struct spec *spec, const struct weights *weights,
                              struct workspace *w, unsigned token)
{
    if (spec_head_reads_all(spec))
        pool(spec, weights, w);
    else
        gather(spec, weights, w, token);
    if (spec->projection > 0) {
        project(w, &weights->projection, w->pooled, w->cls, weights->projection.in, w->rows,
                ACTIVATION_NONE);
        if (spec->head == HEAD_CLASSIFIER)
            scale_to_unit(w->pooled, w->rows, spec->projection);
        return w->pooled;
    }
    if (weights->pooler.out == 0)
        return w->cls;
    project(w, &weights->pooler, w->pooled, w->cls, weights->pooler.in, w->rows,
            spec_pooler_activation(spec));
    if (weights->head_norm.gamma != NULL)
        w->kernels->layer_norm(w->pooled, spec->hidden, w->pooled, spec->hidden,
                               weights->head_norm.gamma, weights->head_norm.beta, w->rows,
                               spec->hidden, spec->norm_eps);
    return w->pooled;
}

/* Returns the features of every sequence at its token `token`; of an embedding the vectors. */
static const float *features_of(const struct spec *spec, const struct weights *weights,
                                struct workspace *w, unsigned token)
{
    if (spec->head != HEAD_EMBEDDING)
        return pooled_of(spec, weights, w, token);
    if (!spec_has_own_vector(spec)) {
        make_vectors(spec, weights, w);
        return w->cls;
    }
    const float *pooled = pooled_of(spec, weights, w, token);
    const size_t width = spec_features(spec);
    for (unsigned r = 0; r < w->rows; r++)
        sentence_finish(w->cls + r * width, spec->sentence, pooled + r * width, w->sentence);
    return w->cls;
}

/* to = the mean, or the maximum, of the windows so far and one more. */
static void pool_window(const struct window_place *place, enum window_pooling pooling, float *to,
                        const float *from, size_t width)
{
    if (place->windows == 1) {
        memcpy(to, from, width * sizeof *to);
        return;
    }
    const bool is_first = place->window == 0;
    for (size_t i = 0; i < width; i++)
        if (pooling == WINDOW_MEAN)
            to[i] = (is_first ? 0 : to[i]) + from[i] / (float)place->windows;
        else
            to[i] = is_first || from[i] > to[i] ? from[i] : to[i];
}

void head_pool(const struct spec *spec, const struct window_place *place, float *read,
               const float *features)
{
    const bool is_text = spec->family->kind == ENGINE_TEXT;
    pool_window(place, is_text ? spec->long_text.pooling : WINDOW_MEAN, read, features,
                spec_features(spec));
}

static const struct linear *classifier_of(const struct weights *weights, unsigned token)
{
    return token == 0 ? &weights->classifier : &weights->distillation_classifier;
}

/* logits [rows, labels] += the logits of the means, if the model has a classifier of means. */
static void add_means(struct workspace *w, const struct weights *weights, const float *means,
                      size_t stride, unsigned rows, float *logits)
{
    const struct linear *classifier = &weights->mean_classifier;
    if (!head_parts_reads_means(weights))
        return;
    project(w, classifier, w->mean_logits, means, stride, rows, ACTIVATION_NONE);
    for (size_t i = 0; i < rows * classifier->out; i++)
        logits[i] += w->mean_logits[i];
}

/* Computes the logits of a captured window alone. */
static void capture_logits(const struct weights *weights, struct workspace *w,
                           const float *features, unsigned row)
{
    const struct linear *classifier = classifier_of(weights, 0);
    if (w->captures[row] == NULL || w->captures[row]->logits == NULL)
        return;
    float *logits = w->captures[row]->logits;
    const size_t means = weights->mean_classifier.in;
    project(w, classifier, logits, features + row * classifier->in, classifier->in, 1,
            ACTIVATION_NONE);
    add_means(w, weights, w->means + row * means, means, 1, logits);
}

static float splade_weight(const struct sentence_splade *splade, float logit)
{
    const float weight = log1pf(logit);
    return splade->logs_twice ? log1pf(weight) : weight;
}

/* out [vocabulary] = the largest, or the sum, over tokens of log(1 + max(0, logit)); some tokens'
 * logits at a time. */
static void weigh_vocabulary(const struct spec *spec, const struct weights *weights,
                             struct workspace *w, const float *x, size_t stride, unsigned tokens,
                             float *out)
{
    const struct sentence_splade *splade = &spec->sentence->splade;
    const size_t words = weights->classifier.out;
    memset(out, 0, words * sizeof *out);
    for (unsigned first = 0; first < tokens; first += HEAD_SPARSE_TOKENS) {
        const unsigned left = tokens - first;
        const unsigned count = left < HEAD_SPARSE_TOKENS ? left : HEAD_SPARSE_TOKENS;
        project(w, &weights->classifier, w->vocabulary, x + first * stride, stride, count,
                ACTIVATION_NONE);
        for (unsigned t = 0; t < count; t++) {
            const float *logits = w->vocabulary + t * words;
            for (size_t i = 0; i < words; i++)
                if (splade->sums)
                    out[i] += logits[i] <= 0 ? 0 : splade_weight(splade, logits[i]);
                else
                    out[i] = logits[i] > out[i] || isnan(logits[i]) ? logits[i] : out[i];
        }
    }
    for (size_t i = 0; i < words && !splade->sums; i++) /* the function rises */
        out[i] = splade_weight(splade, out[i]);
}

/* Writes a row for each token of the batch, where the input wants them; of masked ones alone, or
 * one for all of a sequence. */
static void write_rows(const struct spec *spec, const struct weights *weights, struct workspace *w)
{
    const struct norm *each = &weights->final_norm, *dense = &weights->head_norm;
    const size_t hidden = spec->hidden;
    for (unsigned r = 0; r < w->rows; r++) {
        const struct window_place *place = &w->places[r];
        unsigned tokens = w->offset[r + 1] - w->offset[r];
        size_t stride = w->hidden_stride;
        float *x = w->x + w->offset[r] * stride, *out = w->answers[place->input];
        if (out == NULL)
            continue;
        if (each->gamma != NULL)
            w->kernels->layer_norm(x, stride, x, stride, each->gamma, each->beta, tokens, hidden,
                                   spec->norm_eps);
        if (spec->head == HEAD_FILL) {
            tokens = place->mask_count;
            for (unsigned m = 0; m < tokens; m++)
                memcpy(w->z + m * hidden, x + place->masks[m] * stride, hidden * sizeof *x);
            x = w->z;
            stride = hidden;
        }
        if (weights->pooler.out > 0) {
            project(w, &weights->pooler, w->y, x, stride, tokens, spec_pooler_activation(spec));
            w->kernels->layer_norm(w->y, hidden, w->y, hidden, dense->gamma, dense->beta, tokens,
                                   hidden, spec->norm_eps);
            x = w->y;
            stride = hidden;
        }
        if (spec->head == HEAD_SPARSE)
            weigh_vocabulary(spec, weights, w, x, stride, tokens, out);
        else
            project(w, &weights->classifier, out + place->row * (size_t)spec_row_size(spec), x,
                    stride, tokens, ACTIVATION_NONE);
    }
}

/* Writes the states of each sequence's tokens [tokens, D] to its rows of what its input wants. */
static void write_states(const struct spec *spec, const struct weights *weights,
                         struct workspace *w)
{
    const size_t hidden = spec->hidden, stride = w->hidden_stride;
    for (unsigned r = 0; r < w->rows; r++) {
        const unsigned tokens = w->offset[r + 1] - w->offset[r];
        const struct window_place *place = &w->places[r];
        float *x = w->x + w->offset[r] * stride, *out = w->answers[place->input];
        if (weights->final_norm.gamma != NULL)
            norm_apply(w->kernels, spec, &weights->final_norm, x, stride, x, stride, tokens, hidden,
                       spec->norm_eps);
        for (unsigned t = 0; out != NULL && t < tokens; t++)
            memcpy(out + (place->row + t) * hidden, x + t * stride, hidden * sizeof *out);
    }
}

void head_read(const struct spec *spec, const struct weights *weights, struct workspace *w)
{
    const size_t width = spec_features(spec);
    if (spec->head == HEAD_STATES) {
        write_states(spec, weights, w);
        return;
    }
    if (spec_row_size(spec) > 0) {
        write_rows(spec, weights, w);
        return;
    }
    for (unsigned token = 0; token < spec_head_tokens(spec); token++) {
        const float *features = features_of(spec, weights, w, token);
        for (unsigned r = 0; r < w->rows; r++) {
            const struct window_place *place = &w->places[r];
            float *read = w->read[token] + place->input * spec_row(spec);
            head_pool(spec, place, read, features + r * width);
            pool_window(place, WINDOW_MEAN, read + width, w->means + r * (size_t)spec_means(spec),
                        spec_means(spec));
            if (token == 0)
                capture_logits(weights, w, features, r);
        }
    }
}

/* Computes each input's logits by the classifier of its own labels, else by the model's; if there
 * is neither, it has no logits. */
static void label_logits(const struct spec *spec, const struct weights *weights,
                         struct workspace *w, unsigned inputs)
{
    for (unsigned r = 0; r < inputs; r++) {
        const struct linear *own = w->classifiers[r];
        const struct linear *classifier = own != NULL ? own : &weights->classifier;
        if (classifier->out > 0 && w->answers[r] != NULL)
            project(w, classifier, w->answers[r], w->read[0] + r * spec_row(spec), classifier->in,
                    1, ACTIVATION_NONE);
    }
}

/* Returns the evidence of n-grams for a label, which is added to the encoder's logit. */
static float evidence_of(const struct workspace *w, unsigned input, size_t label)
{
    return w->evidence[input] != NULL ? w->evidence[input][label] : 0;
}

void head_logits(const struct spec *spec, const struct weights *weights, struct workspace *w,
                 unsigned inputs)
{
    if (spec_is_zero_shot(spec)) {
        label_logits(spec, weights, w, inputs);
        return;
    }
    if (spec->head == HEAD_EMBEDDING || spec->head == HEAD_STATES || spec_row_size(spec) > 0)
        return;
    const size_t labels = spec->label_count;
    const unsigned tokens = spec_head_tokens(spec);
    for (unsigned token = 0; token < tokens; token++)
        project(w, classifier_of(weights, token), w->logits[token], w->read[token], spec_row(spec),
                inputs, ACTIVATION_NONE);
    add_means(w, weights, w->read[0] + spec_features(spec), spec_row(spec), inputs, w->logits[0]);
    for (unsigned r = 0; r < inputs; r++)
        for (size_t i = 0; i < labels && w->answers[r] != NULL; i++) {
            float value = w->logits[0][r * labels + i];
            w->answers[r][i] =
                (tokens == 2 ? (value + w->logits[1][r * labels + i]) * 0.5f : value) +
                evidence_of(w, r, i);
        }
}

const float *head_features(const struct spec *spec, const struct workspace *workspace, unsigned row)
{
    return workspace->read[0] + (size_t)row * spec_row(spec);
}

static void scores_of(const struct spec *spec, const struct kernels *kernels, const float *shifts,
                      const float *logits, float *scores)
{
    for (unsigned i = 0; i < spec->label_count; i++)
        scores[i] = (float)(logits[i] / spec->temperature) + (shifts != NULL ? shifts[i] : 0);
    if (spec->scores == SCORES_SOFTMAX)
        kernels->softmax(scores, scores, spec->label_count);
    if (spec->scores == SCORES_SIGMOID)
        for (unsigned i = 0; i < spec->label_count; i++)
            scores[i] = (float)(1 / (1 + exp(-(double)scores[i])));
}

void head_scores(const struct spec *spec, const struct kernels *kernels, const float *logits,
                 float *scores)
{
    scores_of(spec, kernels, spec->class_prior.shifts, logits, scores);
}

void head_scores_as_fitted(const struct spec *spec, const struct kernels *kernels,
                           const float *logits, float *scores)
{
    scores_of(spec, kernels, NULL, logits, scores);
}
