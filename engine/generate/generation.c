/* generation.c - see generation.h. Tokens form a tree: a node for each row of each step, which has
 * the number of its slot, its token and its parent. Hypotheses are nodes with a score; their ids
 * are read from the node upwards. A step over 65 000 tokens takes 19 us for one row and 0.19 ms for
 * eight, on one core of a Xeon with AVX-512. */
#include "engine/generate/generation.h"

#include "engine/generate/generation_rules.h"
#include "engine/generate/top_k.h"
#include "engine/tensor/kernels.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* transformers gives this to what is no hypothesis: copies of the first at the first step, and
 * ended ones among those that go on. Sums of log-probabilities stay far above half of it. */
static const float none_score = -1e9f, none_limit = -5e8f;

enum { MERGED_MAX = (GENERATION_ENDS_MAX + 2) * GENERATION_BEAMS_MAX };

struct node {
    uint32_t parent, token;
    float probability; /* logarithm */
};

/* One of `beams` that go on. */
struct beam {
    float sum;
    unsigned row;
};

/* One that has ended: its last token is no node. */
struct finished {
    float score, sum, probability;
    uint32_t parent, token;
    unsigned count;
    bool is_one; /* false: an empty place */
};

/* How a row's logits x become log-probabilities: x - max - log_sum. */
struct scale {
    float max, log_sum;
    bool is_forced;
};

struct generation {
    struct generation_options options;
    unsigned step, row_count; /* step: new tokens that the rows have; row_count 0: ended */
    bool may_improve;
    struct node *nodes;                     /* [new_max][beams] */
    uint32_t *slots;                        /* [beams][new_max] */
    uint32_t *ids;                          /* [new_max + 1] */
    uint32_t *path;                         /* [new_max] nodes of ids */
    float *probabilities;                   /* [new_max] */
    struct top_k_item *top;                 /* [top_room] */
    unsigned parents[GENERATION_BEAMS_MAX]; /* of rows */
    struct output_state states[GENERATION_BEAMS_MAX];
    struct scale scales[GENERATION_BEAMS_MAX];
    struct beam beams[GENERATION_BEAMS_MAX];
    struct finished finished[GENERATION_BEAMS_MAX], dropped;
    bool is_dropped_whole; /* the dropped one may end where it does */
};

/* A candidate for the next token. */
struct candidate {
    float sum, probability;
    unsigned row;
    uint32_t token;
    bool ends, is_one; /* is_one: not banned, and of a hypothesis */
};

/* ---- memory ---- */

static size_t top_room(const struct generation_config *config, unsigned vocabulary)
{
    return config->beams == 1
               ? 1
               : top_k_room(generation_candidates(config), (size_t)config->beams * vocabulary);
}

size_t generation_slots(const struct generation_config *config)
{
    return (size_t)config->beams * config->new_max;
}

/* Takes `count` x `size` bytes of a block, aligned; at[0] is the offset. */
static size_t take(size_t *at, size_t count, size_t size)
{
    const size_t offset = *at;
    *at += (count * size + ARENA_ALIGNMENT - 1) / ARENA_ALIGNMENT * ARENA_ALIGNMENT;
    return offset;
}

struct layout {
    size_t nodes, slots, ids, path, probabilities, top, bytes;
};

static struct layout lay_out(const struct generation_config *config, unsigned vocabulary)
{
    struct layout layout;
    size_t at = 0;
    take(&at, 1, sizeof(struct generation));
    layout.nodes = take(&at, generation_slots(config), sizeof(struct node));
    layout.slots = take(&at, generation_slots(config), sizeof(uint32_t));
    layout.ids = take(&at, config->new_max + 1, sizeof(uint32_t));
    layout.path = take(&at, config->new_max, sizeof(uint32_t));
    layout.probabilities = take(&at, config->new_max, sizeof(float));
    layout.top = take(&at, top_room(config, vocabulary), sizeof(struct top_k_item));
    layout.bytes = at;
    return layout;
}

size_t generation_bytes(const struct generation_config *config, unsigned vocabulary)
{
    return lay_out(config, vocabulary).bytes;
}

enum err_code generation_begin(struct generation **out, const struct generation_options *options,
                               struct arena *arena, struct err *err)
{
    const struct generation_config *config = options->config;
    const struct layout layout = lay_out(config, options->vocabulary);
    char *block = arena_alloc_array(arena, 1, layout.bytes);
    struct generation *generation = (struct generation *)(void *)block;
    if (block == NULL)
        return err_no_memory(err, layout.bytes);
    assert(options->vocabulary <= UINT32_MAX / GENERATION_BEAMS_MAX);
    generation->options = *options;
    generation->may_improve = true;
    generation->nodes = (struct node *)(void *)(block + layout.nodes);
    generation->slots = (uint32_t *)(void *)(block + layout.slots);
    generation->ids = (uint32_t *)(void *)(block + layout.ids);
    generation->path = (uint32_t *)(void *)(block + layout.path);
    generation->probabilities = (float *)(void *)(block + layout.probabilities);
    generation->top = (struct top_k_item *)(void *)(block + layout.top);
    generation->nodes[0] = (struct node){.token = config->start};
    generation->row_count = 1;
    for (unsigned b = 0; b < config->beams; b++) {
        generation->beams[b] = (struct beam){.sum = b == 0 ? 0 : none_score};
        generation->finished[b] = (struct finished){.score = none_score};
    }
    if (options->check != NULL)
        output_check_start(options->check, &generation->states[0]);
    *out = generation;
    return ERR_OK;
}

/* ---- hypotheses ---- */

static uint32_t slot_of(const struct generation *generation, unsigned step, unsigned row)
{
    return step * generation->options.config->beams + row;
}

/* Writes the ids of the node's hypothesis, the start first, and the logarithms of those behind it;
 * returns their number. */
static unsigned trace(const struct generation *generation, uint32_t slot)
{
    const unsigned count = slot / generation->options.config->beams + 1;
    for (unsigned i = count; i > 0; i--) {
        const struct node *node = &generation->nodes[slot];
        generation->ids[i - 1] = node->token;
        generation->path[i - 1] = slot;
        if (i > 1)
            generation->probabilities[i - 2] = node->probability;
        slot = node->parent;
    }
    return count;
}

unsigned generation_rows(const struct generation *generation, struct generation_rows *out)
{
    *out = (struct generation_rows){.count = generation->row_count, .position = generation->step};
    for (unsigned r = 0; r < generation->row_count; r++) {
        uint32_t *slots = generation->slots + (size_t)r * generation->options.config->new_max;
        uint32_t slot = slot_of(generation, generation->step, r);
        out->row[r] = (struct generation_row){.token = generation->nodes[slot].token,
                                              .probability = generation->nodes[slot].probability,
                                              .parent = generation->parents[r],
                                              .slots = slots};
        for (unsigned i = generation->step + 1; i > 0; i--) {
            slots[i - 1] = slot;
            slot = generation->nodes[slot].parent;
        }
    }
    return generation->row_count;
}

static bool read_finished(struct generation *generation, const struct finished *finished,
                          struct generation_hypothesis *out)
{
    if (!finished->is_one || finished->sum < none_limit)
        return false;
    const unsigned count = trace(generation, finished->parent);
    assert(count == finished->count);
    for (unsigned i = 0; i + 1 < count; i++)
        generation->ids[i] = generation->ids[i + 1];
    generation->ids[count - 1] = finished->token;
    generation->probabilities[count - 1] = finished->probability;
    *out = (struct generation_hypothesis){.ids = generation->ids,
                                          .probabilities = generation->probabilities,
                                          .slots = generation->path,
                                          .count = count,
                                          .sum = finished->sum,
                                          .score = finished->score};
    return true;
}

bool generation_result(struct generation *generation, unsigned index,
                       struct generation_hypothesis *out)
{
    return index < generation->options.config->sequences &&
           read_finished(generation, &generation->finished[index], out);
}

bool generation_dropped(struct generation *generation, struct generation_hypothesis *out)
{
    return read_finished(generation, &generation->dropped, out);
}

/* ---- candidates ---- */

static bool is_end(const struct generation_config *config, uint32_t token)
{
    for (unsigned i = 0; i < config->ends.count; i++)
        if (config->ends.at[i] == token)
            return true;
    return false;
}

/* Moves the row's state of the check behind the token. False: no accepted text goes on like that. A
 * token that adds nothing to the text comes only where it is forced. */
static bool advance(const struct generation *generation, unsigned row, uint32_t token,
                    struct output_state *state)
{
    const struct output_check *check = generation->options.check;
    *state = generation->states[row];
    if (check == NULL)
        return true;
    return output_check_is_silent(check, token) ? generation->scales[row].is_forced
                                                : output_check_step(check, state, token);
}

/* True if the check lets the token follow the row. */
static bool allows(const struct generation *generation, unsigned row, uint32_t token)
{
    const struct output_check *check = generation->options.check;
    struct output_state state;
    return check == NULL || (is_end(generation->options.config, token)
                                 ? output_check_ends(check, &generation->states[row])
                                 : advance(generation, row, token, &state));
}

/* Bans all tokens that the check does not let through. Most fail at their first byte, which is
 * looked up: 65 000 tokens take 0.1 ms where all do, 1 ms where none does. */
static void ban_unchecked(const struct generation *generation, unsigned row, float *logits)
{
    const struct output_check *check = generation->options.check;
    bool is_first[256];
    if (check == NULL || check->automaton_count == 0)
        return;
    output_check_first_bytes(check, &generation->states[row], is_first);
    const struct token_texts *texts = output_check_texts(check, &generation->states[row]);
    const char *bytes = texts->bytes;
    const uint32_t *offset = texts->offset;
    for (uint32_t token = 0; token < generation->options.vocabulary; token++) {
        const bool is_dead =
            offset[token] < offset[token + 1] && !is_first[(unsigned char)bytes[offset[token]]];
        if ((is_dead && !is_end(generation->options.config, token)) ||
            !allows(generation, row, token))
            logits[token] = -INFINITY;
    }
}

/* Applies the rules to a row's logits, and finds its scale. Renormalised logits are those that the
 * check lets through; else it is asked for the best alone (gather). */
static enum err_code prepare(struct generation *generation, unsigned row, float *logits,
                             struct err *err)
{
    const struct generation_options *options = &generation->options;
    const struct kernels *kernels = options->kernels;
    const size_t vocabulary = options->vocabulary;
    struct scale *scale = &generation->scales[row];
    const unsigned count = trace(generation, slot_of(generation, generation->step, row));
    scale->log_sum = kernels->log_sum(&scale->max, logits, vocabulary);
    if (!isfinite(scale->log_sum))
        return err_set(err, ERR_INTERNAL, "the logits of token %u are not finite", count);
    scale->is_forced =
        generation_rules_apply(options->config, logits, vocabulary, generation->ids, count);
    if (options->config->renormalizes) {
        ban_unchecked(generation, row, logits);
        scale->log_sum = kernels->log_sum(&scale->max, logits, vocabulary);
    }
    if (!isfinite(scale->log_sum) || (scale->is_forced && !options->config->renormalizes))
        scale->max = scale->log_sum = 0; /* forced, or all are banned */
    return ERR_OK;
}

/* Adds the candidates of a beam to the best ones so far. Few are above the least of those, and the
 * rest are passed by without their sum: `bound` is below the least logit whose sum is above, for
 * all roundings. */
static void gather(const struct generation *generation, struct top_k *top, unsigned b,
                   const float *x)
{
    const struct generation_options *options = &generation->options;
    const bool is_greedy = options->config->beams == 1;
    const unsigned row = generation->beams[b].row;
    const float sum = is_greedy ? 0 : generation->beams[b].sum;
    const struct scale scale = is_greedy ? (struct scale){0} : generation->scales[row];
    const uint32_t vocabulary = options->vocabulary, first = b * vocabulary;
    float least = NAN, bound = 0;
    uint32_t token = 0;
    for (; token < vocabulary && top_k_takes_all(top); token++)
        top_k_add(top,
                  allows(generation, row, token) ? x[token] - scale.max - scale.log_sum + sum
                                                 : -INFINITY,
                  first + token);
    for (; token < vocabulary; token++) {
        if (!(top_k_bound(top) == least)) {
            least = top_k_bound(top);
            const double shift = (double)scale.log_sum + (double)scale.max - (double)sum;
            const double size = fabs((double)scale.log_sum) + fabs((double)scale.max) +
                                fabs((double)sum) + fabs((double)least);
            bound = (float)((double)least + shift - 1e-6 * size);
        }
        token = (uint32_t)options->kernels->next_above(x, token, vocabulary, bound);
        if (token == vocabulary)
            break;
        const float total = x[token] - scale.max - scale.log_sum + sum;
        if (total > least && allows(generation, row, token))
            top_k_add(top, total, first + token);
    }
}

static struct candidate candidate_of(const struct generation *generation, const float *logits,
                                     size_t stride, const struct top_k_item *item)
{
    const struct generation_config *config = generation->options.config;
    const struct beam *beam = &generation->beams[item->index / generation->options.vocabulary];
    const struct scale *scale = &generation->scales[beam->row];
    struct candidate candidate = {.row = beam->row,
                                  .token = item->index % generation->options.vocabulary};
    candidate.probability =
        logits[beam->row * stride + candidate.token] - scale->max - scale->log_sum;
    candidate.is_one = item->value >= none_limit;
    candidate.sum =
        config->beams == 1 && candidate.is_one ? candidate.probability + beam->sum : item->value;
    candidate.ends = is_end(config, candidate.token) || generation->step + 1 == config->new_max;
    return candidate;
}

/* ---- what ends ---- */

static float score_of(const struct generation_config *config, float sum, unsigned count)
{
    return sum / (float)pow(count, config->length_penalty);
}

static struct finished finished_of(const struct generation *generation,
                                   const struct candidate *candidate, float score)
{
    return (struct finished){.score = score,
                             .sum = candidate->sum,
                             .probability = candidate->probability,
                             .parent = slot_of(generation, generation->step, candidate->row),
                             .token = candidate->token,
                             .count = generation->step + 1,
                             .is_one = true};
}

static bool all_finished(const struct generation *generation)
{
    bool all = true;
    for (unsigned b = 0; b < generation->options.config->beams; b++)
        all = all && generation->finished[b].is_one;
    return all;
}

/* Keeps the best hypothesis that is dropped: a whole text before one that is cut. */
static void drop(struct generation *generation, struct finished finished, bool is_whole)
{
    const struct finished *kept = &generation->dropped;
    if (kept->is_one &&
        (generation->is_dropped_whole != is_whole ? !is_whole : finished.score <= kept->score))
        return;
    generation->dropped = finished;
    generation->is_dropped_whole = is_whole;
}

/* True if the text of an ended candidate may end, and is what `holds` takes; one that is not is
 * dropped. */
static bool finishes(struct generation *generation, const struct candidate *candidate)
{
    const struct output_check *check = generation->options.check;
    const struct generation_config *config = generation->options.config;
    struct output_state state;
    if (check == NULL)
        return true;
    if (is_end(config, candidate->token))
        state = generation->states[candidate->row];
    else if (!advance(generation, candidate->row, candidate->token, &state))
        return false;
    if (!candidate->is_one)
        return false;
    const bool is_whole = output_check_ends(check, &state);
    const unsigned count = trace(generation, slot_of(generation, generation->step, candidate->row));
    generation->ids[count] = candidate->token;
    if (is_whole &&
        (check->holds == NULL || check->holds(check->context, generation->ids + 1, count)))
        return true;
    const float score = score_of(config, candidate->sum, count);
    drop(generation, finished_of(generation, candidate, score), is_whole);
    return false;
}

/* Keeps the best `beams` of the finished hypotheses and of the candidates that finish. */
static void update_finished(struct generation *generation, const struct candidate *candidates,
                            unsigned count)
{
    const struct generation_config *config = generation->options.config;
    const unsigned beams = config->beams;
    struct finished merged[MERGED_MAX];
    struct top_k_item items[MERGED_MAX];
    struct top_k top;
    const bool is_full = config->early_stopping == STOPPING_EARLY && all_finished(generation);
    memcpy(merged, generation->finished, beams * sizeof *merged);
    for (unsigned c = 0; c < count; c++) {
        const bool is_one = c < beams && candidates[c].ends && finishes(generation, &candidates[c]);
        float score = score_of(config, candidates[c].sum, generation->step + 1);
        score += is_full ? none_score : 0;
        score += generation->may_improve ? 0 : none_score;
        score += is_one ? 0 : none_score;
        merged[beams + c] = finished_of(generation, &candidates[c], score);
        merged[beams + c].is_one = is_one;
    }
    top_k_begin(&top, items, beams, beams + count);
    for (unsigned i = 0; i < beams + count; i++)
        top_k_add(&top, merged[i].score, i);
    top_k_end(&top);
    for (unsigned b = 0; b < beams; b++)
        generation->finished[b] = merged[items[b].index];
}

/* ---- what goes on ---- */

/* The row of the next step for a candidate: a new one, unless it continues the same row with the
 * same token as one that is there. */
static unsigned row_for(struct generation *generation, const struct candidate *candidate,
                        const struct output_state *states)
{
    const uint32_t parent = slot_of(generation, generation->step, candidate->row);
    const unsigned step = generation->step + 1;
    unsigned row = 0;
    for (; row < generation->row_count; row++) {
        const struct node *node = &generation->nodes[slot_of(generation, step, row)];
        if (node->parent == parent && node->token == candidate->token)
            return row;
    }
    generation->nodes[slot_of(generation, step, row)] =
        (struct node){parent, candidate->token, candidate->probability};
    generation->parents[row] = candidate->row;
    generation->states[row] = *states;
    generation->row_count++;
    return row;
}

/* The best `beams` of the candidates that do not end become the rows of the next step. What is no
 * hypothesis goes on as transformers has it, unless there is a check, which it must not pass; one
 * whose sum is minus infinity stays there whatever its logits. */
static void go_on(struct generation *generation, const struct candidate *candidates, unsigned count)
{
    const unsigned beams = generation->options.config->beams;
    struct top_k_item items[MERGED_MAX];
    struct output_state states[MERGED_MAX];
    struct top_k top;
    top_k_begin(&top, items, beams, count);
    for (unsigned c = 0; c < count; c++) {
        top_k_add(&top, candidates[c].sum + (candidates[c].ends ? none_score : 0), c);
        advance(generation, candidates[c].row, candidates[c].token, &states[c]);
    }
    top_k_end(&top);
    generation->row_count = 0;
    for (unsigned b = 0; b < beams; b++) {
        const struct candidate *candidate = &candidates[items[b].index];
        struct beam *beam = &generation->beams[b];
        const bool is_checked = generation->options.check != NULL;
        beam->sum = is_checked && items[b].value < none_limit ? -INFINITY : items[b].value;
        beam->row =
            beam->sum == -INFINITY ? 0 : row_for(generation, candidate, &states[items[b].index]);
    }
}

/* True if the best hypothesis that goes on may become better than the worst finished one
 * (GenerationMixin._check_early_stop_heuristic). */
static bool may_improve(const struct generation *generation)
{
    const struct generation_config *config = generation->options.config;
    const bool counts_all = config->early_stopping == STOPPING_NEVER && config->length_penalty > 0;
    const float best = score_of(config, generation->beams[0].sum,
                                counts_all ? config->new_max : generation->step + 1);
    float worst = generation->finished[0].score;
    bool is_better = false;
    for (unsigned b = 1; b < config->beams; b++)
        worst = generation->finished[b].score < worst ? generation->finished[b].score : worst;
    for (unsigned b = 0; b < config->beams; b++)
        is_better = is_better || best > (generation->finished[b].is_one ? worst : none_score);
    return is_better;
}

/* The best row of this step, with which no token goes on, is dropped; it was at `sum`. */
static void drop_row(struct generation *generation, struct beam beam)
{
    const struct node *node = &generation->nodes[slot_of(generation, generation->step, beam.row)];
    if (generation->options.check == NULL || generation->step == 0)
        return;
    const float score = score_of(generation->options.config, beam.sum, generation->step);
    drop(generation,
         (struct finished){.score = score,
                           .sum = beam.sum,
                           .probability = node->probability,
                           .parent = node->parent,
                           .token = node->token,
                           .count = generation->step,
                           .is_one = true},
         false);
}

static bool has_ended(struct generation *generation, const struct candidate *candidates,
                      unsigned count)
{
    const struct generation_config *config = generation->options.config;
    bool all_end = true;
    for (unsigned c = 0; c < count; c++)
        all_end = all_end && candidates[c].ends;
    if (all_end || generation->beams[0].sum < none_limit)
        return true;
    if (config->beams == 1)
        return false;
    generation->may_improve = generation->may_improve && may_improve(generation);
    return !generation->may_improve ||
           (config->early_stopping == STOPPING_EARLY && all_finished(generation));
}

enum err_code generation_take(struct generation *generation, float *logits, size_t stride,
                              struct err *err)
{
    const struct generation_config *config = generation->options.config;
    const size_t numbers = (size_t)config->beams * generation->options.vocabulary;
    const bool is_greedy = config->beams == 1;
    struct candidate candidates[MERGED_MAX];
    const unsigned count = is_greedy ? 1 : generation_candidates(config);
    const unsigned rows = generation->row_count;
    const struct beam best = generation->beams[0];
    struct top_k top;
    generation->row_count = 0;
    for (unsigned r = 0; r < rows; r++)
        if (prepare(generation, r, logits + r * stride, err))
            return err->code;
    top_k_begin(&top, generation->top, count, is_greedy ? SIZE_MAX : numbers);
    for (unsigned b = 0; b < config->beams; b++)
        gather(generation, &top, b, logits + generation->beams[b].row * stride);
    top_k_end(&top);
    for (unsigned c = 0; c < count; c++)
        candidates[c] = candidate_of(generation, logits, stride, &generation->top[c]);
    if (!candidates[0].is_one)
        drop_row(generation, best);
    update_finished(generation, candidates, count);
    if (generation->step + 1 < config->new_max)
        go_on(generation, candidates, count);
    if (has_ended(generation, candidates, count))
        generation->row_count = 0;
    generation->step++;
    return ERR_OK;
}
