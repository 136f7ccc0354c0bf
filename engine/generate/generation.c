/* generation.c - see generation.h. Tokens form a tree: a node for each row of each step, which has
 * the number of its slot, its token and its parent. Hypotheses are nodes with a score; their ids
 * are read from the node upwards. A step over 65 000 tokens takes 19 us for one row and 0.19 ms for
 * eight, on one core of a Xeon with AVX-512. */
#include "engine/generate/generation.h"

#include "engine/generate/generation_rules.h"
#include "engine/generate/look_ahead.h"
#include "engine/generate/top_k.h"
#include "engine/tensor/kernels.h"

#include <assert.h>
#include <float.h>
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

/* A search that has found nothing looks ahead, if it can; one that finds nothing then either is run
 * as at first for what it dropped. */
enum run { RUN_FIRST, RUN_AHEAD, RUN_LAST };

struct generation {
    struct generation_options options;
    enum run run;
    struct look_ahead ahead;  /* automaton NULL: it cannot look ahead */
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
    struct finished empty; /* the likeliest text of all, which is no answer; is_one: there is one */
    float least;           /* what is answered then has a larger sum */
    bool is_dropped_whole; /* the dropped one may end where it does */
};

/* A candidate for the next token. */
struct candidate {
    float value, sum, probability; /* value: the sum, and with what may follow if it looks ahead */
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

/* Puts the search where it begins. */
static void start(struct generation *generation)
{
    const struct generation_options *options = &generation->options;
    generation->step = 0;
    generation->may_improve = true;
    generation->nodes[0] = (struct node){.token = options->config->start};
    generation->row_count = 1;
    generation->dropped.is_one = false;
    for (unsigned b = 0; b < options->config->beams; b++) {
        generation->beams[b] = (struct beam){.sum = b == 0 ? 0 : none_score};
        generation->finished[b] = (struct finished){.score = none_score};
    }
    if (options->check != NULL)
        output_check_start(options->check, &generation->states[0]);
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
    generation->nodes = (struct node *)(void *)(block + layout.nodes);
    generation->slots = (uint32_t *)(void *)(block + layout.slots);
    generation->ids = (uint32_t *)(void *)(block + layout.ids);
    generation->path = (uint32_t *)(void *)(block + layout.path);
    generation->probabilities = (float *)(void *)(block + layout.probabilities);
    generation->top = (struct top_k_item *)(void *)(block + layout.top);
    const struct output_check *check = options->check;
    if (check != NULL && check->whole != NULL && config->beams > 1 &&
        look_ahead_open(&generation->ahead, check->whole, check->texts, config->new_max, arena,
                        err))
        return err->code;
    start(generation);
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

/* Returns what may follow the row and the token at best: minus infinity where it may not. */
static float rest_behind(const struct generation *generation, unsigned row, uint32_t token)
{
    const struct automaton *whole = generation->options.check->whole;
    struct output_state state;
    if (!allows(generation, row, token))
        return -INFINITY;
    if (is_end(generation->options.config, token))
        return automaton_accepts(whole, generation->states[row].whole) ? 0 : -INFINITY;
    advance(generation, row, token, &state);
    return look_ahead_rest(&generation->ahead, generation->step + 1, state.whole);
}

/* Adds the candidates of a beam by their sums and what may follow them. */
static void gather_ahead(const struct generation *generation, struct top_k *top, unsigned b,
                         const float *x)
{
    const struct beam beam = generation->beams[b];
    const struct scale scale = generation->scales[beam.row];
    const uint32_t vocabulary = generation->options.vocabulary;
    for (uint32_t token = 0; token < vocabulary; token++)
        top_k_add(top,
                  x[token] - scale.max - scale.log_sum + beam.sum +
                      rest_behind(generation, beam.row, token),
                  b * vocabulary + token);
}

/* Notes for a later look ahead what may follow the best hypothesis. */
static void note(struct generation *generation, const float *logits, size_t stride)
{
    const struct generation_options *options = &generation->options;
    const unsigned row = generation->beams[0].row;
    const struct scale scale = generation->scales[row];
    look_ahead_begin(&generation->ahead, generation->step);
    for (uint32_t token = 0; token < options->vocabulary; token++)
        if (allows(generation, row, token))
            look_ahead_note(&generation->ahead, generation->step, token,
                            logits[row * stride + token] - scale.max - scale.log_sum,
                            is_end(options->config, token));
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
    candidate.sum = item->value;
    if (candidate.is_one && (config->beams == 1 || generation->run == RUN_AHEAD))
        candidate.sum = candidate.probability + beam->sum;
    candidate.value = generation->run == RUN_AHEAD ? item->value : candidate.sum;
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
        top_k_add(&top, candidates[c].value + (candidates[c].ends ? none_score : 0), c);
        advance(generation, candidates[c].row, candidates[c].token, &states[c]);
    }
    top_k_end(&top);
    generation->row_count = 0;
    for (unsigned b = 0; b < beams; b++) {
        const struct candidate *candidate = &candidates[items[b].index];
        struct beam *beam = &generation->beams[b];
        const bool is_checked = generation->options.check != NULL;
        beam->sum = items[b].value;
        if (is_checked && items[b].value < none_limit)
            beam->sum = -INFINITY;
        else if (generation->run == RUN_AHEAD)
            beam->sum = candidate->sum;
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

/* Takes the empty text at the place where it may end, if it is likelier than all others together
 * and is no answer. Then a text is answered only if it is likelier than all others that are not
 * empty: above `least`. */
static void take_empty(struct generation *generation, const float *logits)
{
    const struct generation_config *config = generation->options.config;
    const struct output_check *check = generation->options.check;
    const struct scale *scale = &generation->scales[0];
    const unsigned forced = config->first == generation_no_token ? 0 : 1;
    if (check == NULL || check->whole == NULL || generation->step != forced ||
        automaton_accepts(check->whole, generation->states[0].whole))
        return;
    for (unsigned e = 0; e < config->ends.count; e++) {
        struct candidate end = {.token = config->ends.at[e]};
        end.probability = logits[end.token] - scale->max - scale->log_sum;
        end.sum = generation->beams[0].sum + end.probability;
        if (end.probability <= logf(0.5F))
            continue;
        const float score = score_of(config, end.sum, generation->step + 1);
        generation->empty = finished_of(generation, &end, score);
        generation->least = logf(0.5F) + logf(fmaxf(-expm1f(end.probability), FLT_EPSILON));
    }
}

/* Ends the search where no text can be as likely as take_empty wants it; the empty one is dropped.
 * Sums only fall, so that it may end before any text does. */
static void give_up(struct generation *generation)
{
    bool is_near = generation->row_count > 0 && generation->beams[0].sum > generation->least;
    if (!generation->empty.is_one)
        return;
    for (unsigned b = 0; b < generation->options.config->beams; b++)
        is_near = is_near || (generation->finished[b].is_one &&
                              generation->finished[b].sum > generation->least);
    if (is_near)
        return;
    generation->finished[0].is_one = false;
    generation->dropped = generation->empty;
    generation->row_count = 0;
    generation->run = RUN_LAST;
}

/* A search that has ended and found nothing begins once more if it can look ahead. */
static void begin_again(struct generation *generation)
{
    struct output_state first;
    if (generation->ahead.automaton == NULL || generation->run == RUN_LAST ||
        generation->row_count > 0 || generation->finished[0].is_one)
        return;
    output_check_start(generation->options.check, &first);
    if (generation->run == RUN_FIRST &&
        !look_ahead_compute(&generation->ahead, generation->step,
                            generation->step == generation->options.config->new_max, first.whole))
        return;
    generation->run++;
    start(generation);
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
    take_empty(generation, logits);
    if (generation->ahead.automaton != NULL && generation->run == RUN_FIRST)
        note(generation, logits, stride);
    top_k_begin(&top, generation->top, count, is_greedy ? SIZE_MAX : numbers);
    for (unsigned b = 0; b < config->beams; b++)
        (generation->run == RUN_AHEAD ? gather_ahead : gather)(
            generation, &top, b, logits + generation->beams[b].row * stride);
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
    give_up(generation);
    begin_again(generation);
    return ERR_OK;
}
