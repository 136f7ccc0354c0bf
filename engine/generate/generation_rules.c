#include "engine/generate/generation_rules.h"

#include <math.h>
#include <string.h>

static void ban(float *logits, const struct token_ids *tokens)
{
    for (unsigned i = 0; i < tokens->count; i++)
        logits[tokens->at[i]] = -INFINITY;
}

static void force(float *logits, size_t vocabulary, const uint32_t *tokens, unsigned count)
{
    for (size_t i = 0; i < vocabulary; i++)
        logits[i] = -INFINITY;
    for (unsigned i = 0; i < count; i++)
        logits[tokens[i]] = 0;
}

/* Bans each token that has followed the last n - 1 before (NoRepeatNGramLogitsProcessor); the start
 * counts. */
static void ban_repeats(float *logits, unsigned n, const uint32_t *ids, unsigned count)
{
    const uint32_t *last = ids + count - (n - 1);
    for (unsigned i = 0; i + n <= count; i++)
        if (memcmp(ids + i, last, (n - 1) * sizeof *ids) == 0)
            logits[ids[i + n - 1]] = -INFINITY;
}

/* Bans the last token of each word whose others are the last ones. SequenceBiasLogitsProcessor asks
 * for as many ids as the word has, although one less is compared. */
static void ban_words(float *logits, const struct generation_config *config, const uint32_t *ids,
                      unsigned count)
{
    for (unsigned w = 0; w < config->bad_word_count; w++) {
        const struct token_ids *word = &config->bad_words[w];
        const unsigned before = word->count - 1;
        if (before == 0 || (word->count <= count &&
                            memcmp(ids + count - before, word->at, before * sizeof *ids) == 0))
            logits[word->at[before]] = -INFINITY;
    }
}

static bool is_first_forced(const struct generation_config *config, unsigned count)
{
    return config->first != generation_no_token && count == 1;
}

static bool is_last_forced(const struct generation_config *config, unsigned count)
{
    return config->last.count > 0 && count == config->new_max;
}

bool generation_rules_apply(const struct generation_config *config, float *logits,
                            size_t vocabulary, const uint32_t *ids, unsigned count)
{
    /* begin_suppress_tokens is for the first token that is not forced */
    const unsigned begin = config->first == generation_no_token ? 1 : 2;
    if (config->no_repeat > 0 && config->no_repeat <= count)
        ban_repeats(logits, config->no_repeat, ids, count);
    ban_words(logits, config, ids, count);
    if (count <= config->new_min)
        ban(logits, &config->ends);
    if (is_first_forced(config, count))
        force(logits, vocabulary, &config->first, 1);
    if (is_last_forced(config, count))
        force(logits, vocabulary, config->last.at, config->last.count);
    ban(logits, &config->suppressed);
    if (count == begin)
        ban(logits, &config->suppressed_first);
    return is_first_forced(config, count) || is_last_forced(config, count);
}
