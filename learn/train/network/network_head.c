/* network_head.c - see network_state.h. A classifier pools the tokens of each sequence (first
 * token, mean, or both), then the windows of each input as engine/model/head.h pools them: the mean
 * or the maximum. A classifier of tokens pools nothing. */
#include "learn/train/network/network_state.h"

#include "engine/model/head.h"

#include <string.h>

/* ---- open ---- */

static bool learns(const struct network *network)
{
    return spec_blocks(network->spec) + 1 >= network->options.frozen_depth;
}

static struct network_norm norm_of(const struct network *network, size_t gamma, size_t beta)
{
    return (struct network_norm){gamma, beta, learns(network), network->spec->norm_eps};
}

/* A linear layer in fp32, as in the engine. */
static enum err_code open_linear(struct network *network, struct network_linear *linear,
                                 size_t weight, size_t bias, size_t in, size_t out, struct err *err)
{
    *linear = (struct network_linear){.weight = weight,
                                      .bias = bias,
                                      .in = in,
                                      .out = out,
                                      .precision = PRECISION_F32,
                                      .learns_weight = learns(network),
                                      .learns_bias = learns(network)};
    return network_linear_open(network, linear, err);
}

static enum err_code open_mlm(struct network *network, struct err *err)
{
    const struct parameters_map *map = &network->parameters->map;
    struct network_head *head = &network->head;
    size_t vocab = network->spec->vocab_size;
    head->mlm_norm = norm_of(network, map->mlm_gamma, map->mlm_beta);
    head->transformed = network_memory_rows(network, network->spec->hidden, err);
    head->logits[0] = network_memory_dense(network, vocab, err);
    if (open_linear(network, &head->decoder, map->word, map->mlm_bias, network->spec->hidden, vocab,
                    err))
        return err->code;
    head->decoder.learns_weight = network->options.frozen_depth == 0;
    return err->code;
}

/* For a head that reads all tokens. */
static enum err_code open_pooling(struct network *network, struct err *err)
{
    const struct parameters_map *map = &network->parameters->map;
    struct network_head *head = &network->head;
    size_t features = spec_features(network->spec);
    head->reads_all = spec_head_reads_all(network->spec);
    head->has_pooled_norm = map->pooled_gamma != SIZE_MAX;
    if (!head->reads_all)
        return err->code;
    head->pooled_norm = norm_of(network, map->pooled_gamma, map->pooled_beta);
    head->means = network_memory_rows(network, features, err);
    head->dmeans = network_memory_rows(network, features, err);
    head->pooled_normed =
        head->has_pooled_norm ? network_memory_rows(network, features, err) : head->means;
    head->dnormed =
        head->has_pooled_norm ? network_memory_rows(network, features, err) : head->dmeans;
    return err->code;
}

/* The norm that some families have behind the last block. */
static void open_norm(struct network *network, struct err *err)
{
    const struct parameters_map *map = &network->parameters->map;
    struct network_head *head = &network->head;
    head->final_norm = norm_of(network, map->final_gamma, map->final_beta);
    head->has_norm = map->final_gamma != SIZE_MAX;
    head->normed =
        head->has_norm ? network_memory_rows(network, network->spec->hidden, err) : head->x;
}

/* The states of an encoder, or of a decoder in front of its output (network_words.c). */
static bool gives_states(const struct network *network)
{
    return network->parameters->head == HEAD_STATES || network->parameters->head == HEAD_WORDS;
}

/* One classifier, of the kept tokens. */
static enum err_code open_tags(struct network *network, struct err *err)
{
    const struct parameters_map *map = &network->parameters->map;
    struct network_head *head = &network->head;
    const size_t labels = network->spec->label_count, hidden = network->spec->hidden;
    open_norm(network, err);
    head->classifiers = 1;
    head->dropped = network_memory_rows(network, hidden, err);
    head->logits[0] = network_memory_dense(network, labels, err);
    return open_linear(network, &head->classifier[0], map->classifier_weight, map->classifier_bias,
                       hidden, labels, err);
}

static enum err_code open_classifier(struct network *network, struct err *err)
{
    const struct parameters_map *map = &network->parameters->map;
    struct network_head *head = &network->head;
    size_t labels = network->spec->label_count, features = spec_features(network->spec);
    const size_t weights[] = {map->classifier_weight, map->distillation_weight};
    const size_t biases[] = {map->classifier_bias, map->distillation_bias};
    open_norm(network, err);
    head->classifiers = spec_head_tokens(network->spec);
    head->dropped = network_memory_rows(network, features, err);
    head->features = network_memory_dense(network, features, err);
    head->dlogits = network_memory_dense(network, labels, err);
    for (unsigned i = 0; i < head->classifiers; i++) {
        head->logits[i] = network_memory_dense(network, labels, err);
        head->windows[i] = network_memory_rows(network, features, err);
        if (open_linear(network, &head->classifier[i], weights[i], biases[i], features, labels,
                        err))
            return err->code;
    }
    return open_pooling(network, err);
}

enum err_code network_head_open(struct network *network, struct err *err)
{
    const struct parameters_map *map = &network->parameters->map;
    struct network_head *head = &network->head;
    size_t hidden = network->spec->hidden;
    bool is_mlm = network->parameters->head == HEAD_MLM;
    head->x = network->blocks[network->spec->layers - 1].out;
    if (network->parameters->head == HEAD_EMBEDDING) {
        open_norm(network, err);
        network->head.logits[0] =
            network_memory_dense(network, parameters_outputs(network->spec, HEAD_EMBEDDING), err);
        return err->code;
    }
    if (gives_states(network)) {
        open_norm(network, err);
        return err->code;
    }
    head->has_pooler = map->pooler_weight != SIZE_MAX;
    if (head->has_pooler) {
        head->activation =
            is_mlm ? network->spec->activation : spec_pooler_activation(network->spec);
        if (network->spec->family->drops_features)
            head->dropped_features = network_memory_rows(network, hidden, err);
        head->u = network_memory_rows(network, hidden, err);
        head->pooled = network_memory_rows(network, hidden, err);
        head->norm = (struct network_norm){map->head_gamma, map->head_beta, learns(network),
                                           network->spec->norm_eps};
        head->has_head_norm = map->head_gamma != SIZE_MAX;
        head->features_normed =
            head->has_head_norm ? network_memory_rows(network, hidden, err) : head->pooled;
        if (open_linear(network, &head->pooler, map->pooler_weight, map->pooler_bias, hidden,
                        hidden, err))
            return err->code;
    }
    return is_mlm                                   ? open_mlm(network, err)
           : network->parameters->head == HEAD_TAGS ? open_tags(network, err)
                                                    : open_classifier(network, err);
}

void network_head_pack(struct network *network)
{
    struct network_head *head = &network->head;
    if (head->has_pooler)
        network_linear_pack(network, &head->pooler);
    for (unsigned i = 0; i < head->classifiers; i++)
        network_linear_pack(network, &head->classifier[i]);
    if (network->parameters->head == HEAD_MLM)
        network_linear_pack(network, &head->decoder);
}

/* ---- windows of an input ---- */

/* True if every input is one sequence. */
static bool has_no_windows(const struct network *network)
{
    return network->inputs == network->rows;
}

/* x [rows, D] -> pooled [inputs, D]. Returns pooled, or x if there is nothing to pool. */
static struct matrix pool_windows(const struct network *network, struct matrix pooled,
                                  struct matrix x)
{
    if (has_no_windows(network))
        return x;
    for (unsigned i = 0; i < network->inputs; i++) {
        const unsigned first = network->input_first[i], last = network->input_first[i + 1];
        struct window_place place = {.windows = last - first};
        for (; place.window < place.windows; place.window++)
            head_pool(network->spec, &place, pooled.x + i * pooled.stride,
                      x.x + (first + place.window) * x.stride);
    }
    return pooled;
}

static void share_mean(struct matrix dx, const float *dpooled, unsigned first, unsigned last)
{
    for (unsigned r = first; r < last; r++)
        for (size_t i = 0; i < dx.width; i++)
            dx.x[r * dx.stride + i] = dpooled[i] / (float)(last - first);
}

/* The first of equal windows gets the whole gradient. */
static void give_largest(struct matrix dx, const float *dpooled, const float *pooled,
                         struct matrix x, unsigned first, unsigned last)
{
    for (size_t i = 0; i < dx.width; i++) {
        float left = dpooled[i];
        for (unsigned r = first; r < last; r++) {
            const bool has_it = x.x[r * x.stride + i] == pooled[i];
            dx.x[r * dx.stride + i] = has_it ? left : 0;
            left = has_it ? 0 : left;
        }
    }
}

/* dpooled [inputs, D] -> dx [rows, D]. dx is not dpooled. If there is nothing to pool, dx is not
 * written. */
static void windows_backward(const struct network *network, struct matrix dx, struct matrix dpooled,
                             struct matrix pooled, struct matrix x)
{
    for (unsigned i = 0; !has_no_windows(network) && i < network->inputs; i++) {
        const float *own = dpooled.x + i * dpooled.stride;
        const unsigned first = network->input_first[i], last = network->input_first[i + 1];
        if (network->spec->long_text.pooling == WINDOW_MEAN)
            share_mean(dx, own, first, last);
        else
            give_largest(dx, own, pooled.x + i * pooled.stride, x, first, last);
    }
}

/* ---- classifier ---- */

/* The rows of token `token` of each sequence, in a matrix of kept tokens. */
static struct matrix token_rows(const struct network *network, struct matrix kept, unsigned token)
{
    return (struct matrix){kept.x + token * kept.stride, kept.stride * network->head.classifiers,
                           kept.width};
}

/* act(W_p x + b_p) */
static void pool(struct network *network, struct matrix x, size_t rows)
{
    struct network_head *head = &network->head;
    network_linear_forward(network, &head->pooler, head->u, x, NULL, rows);
    network_rows_activate(network, head->pooled, head->u, rows, head->activation);
}

/* Returns norm(act(W_p D(x) + b_p)), without the norm or the dropout in families that have none. */
static struct matrix run_pooler(struct network *network, struct matrix x, size_t rows)
{
    struct network_head *head = &network->head;
    if (network_rows_drops(network, NETWORK_SITE_POOLER)) {
        network_rows_dropout(network, NETWORK_SITE_POOLER, 0, head->dropped_features, x, NULL,
                             rows);
        x = head->dropped_features;
    }
    pool(network, x, rows);
    if (head->has_head_norm)
        network_rows_norm(network, &head->norm, head->features_normed, head->pooled, rows);
    return head->features_normed;
}

/* dx, the gradient of the pooler's input x, from dy, that of what run_pooler returned. */
static void pooler_backward(struct network *network, struct matrix x, size_t rows, struct matrix dx,
                            struct matrix dy)
{
    struct network_head *head = &network->head;
    bool drops = network_rows_drops(network, NETWORK_SITE_POOLER);
    if (head->has_head_norm) {
        network_rows_norm_backward(network, &head->norm, network->f, dy, head->pooled, NULL, rows);
        dy = network->f;
    }
    network_rows_activation(network, dy, dy, head->u, rows, head->activation);
    network_linear_backward(network, &head->pooler, &dx, dy, drops ? head->dropped_features : x,
                            NULL, rows);
    if (drops)
        network_rows_dropout(network, NETWORK_SITE_POOLER, 0, dx, dx, NULL, rows);
}

static bool has_first(const struct network *network)
{
    return spec_pooling(network->spec) == POOLING_FIRST_AND_PATCHES;
}

/* Number of tokens that the mean of a row is over: the last ones of the row. */
static size_t pooled_tokens(const struct network *network, size_t row)
{
    return spec_pooled_tokens(network->spec, network->offset[row + 1] - network->offset[row]);
}

/* means[r] = the class token and the mean of the patches, concatenated, or the mean alone. */
static void pool_tokens(struct network *network)
{
    const struct network_head *head = &network->head;
    size_t hidden = network->spec->hidden, stride = head->normed.stride;
    for (size_t r = 0; r < network->rows; r++) {
        size_t tokens = pooled_tokens(network, r);
        const float *x = head->normed.x + network->offset[r] * stride;
        const float *each = head->normed.x + (network->offset[r + 1] - tokens) * stride;
        float *out = head->means.x + r * head->means.stride;
        float *mean = has_first(network) ? out + hidden : out;
        memcpy(out, x, hidden * sizeof *out);
        memset(mean, 0, hidden * sizeof *mean);
        for (size_t t = 0; t < tokens; t++)
            for (size_t c = 0; c < hidden; c++)
                mean[c] += each[t * stride + c] / (float)tokens;
    }
}

/* g [T, D] from dmeans. */
static void pool_tokens_backward(struct network *network)
{
    const struct network_head *head = &network->head;
    size_t hidden = network->spec->hidden;
    struct matrix g = network->g;
    for (size_t r = 0; r < network->rows; r++) {
        const float *d = head->dmeans.x + r * head->dmeans.stride;
        const float *mean = has_first(network) ? d + hidden : d;
        size_t tokens = pooled_tokens(network, r);
        size_t first = network->offset[r], pooled = network->offset[r + 1] - tokens;
        for (size_t t = first; t < pooled; t++)
            memset(g.x + t * g.stride, 0, hidden * sizeof *g.x);
        if (has_first(network))
            memcpy(g.x + first * g.stride, d, hidden * sizeof *g.x);
        for (size_t t = 0; t < tokens; t++)
            for (size_t c = 0; c < hidden; c++)
                g.x[(pooled + t) * g.stride + c] = mean[c] / (float)tokens;
    }
}

static void classify(struct network *network, unsigned token)
{
    struct network_head *head = &network->head;
    struct matrix features = head->features;
    struct matrix read =
        head->reads_all ? head->pooled_normed : token_rows(network, head->normed, token);
    if (head->reads_all)
        pool_tokens(network);
    if (head->reads_all && head->has_pooled_norm)
        network_rows_norm(network, &head->pooled_norm, head->pooled_normed, head->means,
                          network->rows);
    if (head->has_pooler)
        read = run_pooler(network, read, network->rows);
    read = pool_windows(network, head->windows[token], read);
    for (size_t r = 0; token == 0 && r < network->inputs; r++)
        memcpy(features.x + r * features.stride, read.x + r * read.stride,
               features.width * sizeof *features.x);
    if (network_rows_drops(network, NETWORK_SITE_CLASSIFIER)) {
        network_rows_dropout(network, NETWORK_SITE_CLASSIFIER, 0, head->dropped, read, NULL,
                             network->inputs);
        read = head->dropped;
    }
    head->read[token] = read;
    network_linear_forward(network, &head->classifier[token], head->logits[token], read, NULL,
                           network->inputs);
}

/* From head.dlogits to the rows of network->g that belong to `token`. */
static void classify_backward(struct network *network, unsigned token)
{
    struct network_head *head = &network->head;
    struct matrix dx = head->reads_all ? head->dnormed : token_rows(network, network->g, token);
    struct matrix dread = head->has_pooler ? network->e : dx;
    struct matrix dpooled = network->inputs < network->rows ? network->f : dread;
    network_linear_backward(network, &head->classifier[token], &dpooled, head->dlogits,
                            head->read[token], NULL, network->inputs);
    if (network_rows_drops(network, NETWORK_SITE_CLASSIFIER))
        network_rows_dropout(network, NETWORK_SITE_CLASSIFIER, 0, dpooled, dpooled, NULL,
                             network->inputs);
    windows_backward(network, dread, dpooled, head->windows[token],
                     head->has_pooler ? head->features_normed
                                      : token_rows(network, head->normed, token));
    if (head->has_pooler)
        pooler_backward(network,
                        head->reads_all ? head->pooled_normed
                                        : token_rows(network, head->normed, token),
                        network->rows, dx, dread);
}

/* From network->g, the gradient behind the final norm, to network->d. */
static void norm_backward(struct network *network)
{
    const struct network_head *head = &network->head;
    const struct matrix d = network->d;
    if (head->has_norm) {
        network_rows_norm_backward(network, &head->final_norm, d, network->g, head->x, NULL,
                                   network->kept_count);
        return;
    }
    network->d = network->g;
    network->g = d;
}

/* From network->g, the gradient of the states. */
static void states_backward(struct network *network)
{
    if (network_rows_drops(network, NETWORK_SITE_STATES))
        network_rows_dropout(network, NETWORK_SITE_STATES, 0, network->g, network->g, NULL,
                             network->kept_count);
    norm_backward(network);
}

static void classifier_backward(struct network *network, const float *dlogits)
{
    struct network_head *head = &network->head;
    size_t numbers = (size_t)network->inputs * network->spec->label_count;
    for (size_t i = 0; i < numbers; i++)
        head->dlogits.x[i] = dlogits[i] / (float)head->classifiers;
    for (unsigned i = 0; i < head->classifiers; i++)
        classify_backward(network, i);
    if (head->has_pooled_norm)
        network_rows_norm_backward(network, &head->pooled_norm, head->dmeans, head->dnormed,
                                   head->means, NULL, network->rows);
    if (head->reads_all)
        pool_tokens_backward(network);
    norm_backward(network);
}

/* ---- tags ---- */

static void tag(struct network *network)
{
    struct network_head *head = &network->head;
    const size_t rows = network->kept_count;
    struct matrix read = head->has_pooler ? run_pooler(network, head->normed, rows) : head->normed;
    if (network_rows_drops(network, NETWORK_SITE_CLASSIFIER)) {
        network_rows_dropout(network, NETWORK_SITE_CLASSIFIER, 0, head->dropped, read, NULL, rows);
        read = head->dropped;
    }
    head->read[0] = read;
    network_linear_forward(network, &head->classifier[0], head->logits[0], read, NULL, rows);
}

static void tag_backward(struct network *network, const float *dlogits)
{
    struct network_head *head = &network->head;
    const size_t rows = network->kept_count, labels = network->spec->label_count;
    struct matrix dy = {(float *)(uintptr_t)dlogits, labels, labels}; /* read only */
    struct matrix dread = head->has_pooler ? network->e : network->g;
    network_linear_backward(network, &head->classifier[0], &dread, dy, head->read[0], NULL, rows);
    if (network_rows_drops(network, NETWORK_SITE_CLASSIFIER))
        network_rows_dropout(network, NETWORK_SITE_CLASSIFIER, 0, dread, dread, NULL, rows);
    if (head->has_pooler)
        pooler_backward(network, head->normed, rows, network->g, dread);
    norm_backward(network);
}

/* ---- masked language model ---- */

static void mlm_backward(struct network *network, const float *dlogits)
{
    struct network_head *head = &network->head;
    size_t rows = network->kept_count, vocab = network->spec->vocab_size;
    struct matrix dy = {(float *)(uintptr_t)dlogits, vocab, vocab}; /* read only */
    struct matrix e = network->e, f = network->f;
    network_linear_backward(network, &head->decoder, &e, dy, head->transformed, NULL, rows);
    network_rows_norm_backward(network, &head->mlm_norm, f, e, head->pooled, NULL, rows);
    network_rows_activation(network, f, f, head->u, rows, head->activation);
    network_linear_backward(network, &head->pooler, &network->d, f, head->x, NULL, rows);
}

/* ---- either ---- */

void network_head_forward(struct network *network)
{
    struct network_head *head = &network->head;
    size_t numbers = (size_t)network->inputs * network->spec->label_count;
    if (network->parameters->head == HEAD_MLM) {
        pool(network, head->x, network->kept_count);
        network_rows_norm(network, &head->mlm_norm, head->transformed, head->pooled,
                          network->kept_count);
        network_linear_forward(network, &head->decoder, head->logits[0], head->transformed, NULL,
                               network->kept_count);
        return;
    }
    if (head->has_norm)
        network_rows_norm(network, &head->final_norm, head->normed, head->x, network->kept_count);
    if (network->parameters->head == HEAD_EMBEDDING)
        network_sentence_pool(network);
    if (gives_states(network) && network_rows_drops(network, NETWORK_SITE_STATES))
        network_rows_dropout(network, NETWORK_SITE_STATES, 0, head->normed, head->normed, NULL,
                             network->kept_count);
    if (network->parameters->head == HEAD_TAGS) {
        tag(network);
        return;
    }
    for (unsigned i = 0; i < head->classifiers; i++)
        classify(network, i);
    for (size_t i = 0; head->classifiers == 2 && i < numbers; i++)
        head->logits[0].x[i] = (head->logits[0].x[i] + head->logits[1].x[i]) * 0.5f;
}

void network_head_backward(struct network *network, const float *dlogits)
{
    if (network->parameters->head == HEAD_MLM)
        mlm_backward(network, dlogits);
    else if (network->parameters->head == HEAD_CLASSIFIER)
        classifier_backward(network, dlogits);
    else if (network->parameters->head == HEAD_TAGS)
        tag_backward(network, dlogits);
    else if (gives_states(network))
        states_backward(network);
    else {
        network_sentence_spread(network, dlogits);
        norm_backward(network);
    }
}
