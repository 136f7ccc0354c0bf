#include "engine/text/vocab.h"
#include "learn/data/digest.h"
#include "learn/data/samples_form.h"

#include <string.h>

enum { CLS_AND_SEP = 2, TOKENS_MIN = CLS_AND_SEP + 1 };

/* ---- load ---- */

/* Returns the text behind the next line end, and counts the code points up to there; NULL at the
 * end of the text. */
static const char *next_line(const char *at, const char *end, uint32_t *character)
{
    for (; at < end; at++) {
        *character += ((unsigned char)*at & 0xC0) != 0x80; /* UTF-8: not a continuation */
        if (*at == '\n')
            return at + 1;
    }
    return NULL;
}

/* The tokens of a text, without [CLS] and [SEP]; a side of a pair may have none. */
static enum err_code keep_pieces(struct samples_loader *loader, const char *text, size_t len,
                                 struct encoding *encoding, const int32_t **pieces, unsigned *count,
                                 struct err *err)
{
    if (tokenizer_encode(loader->samples->pipeline.tokenizer, loader->pieces_max + CLS_AND_SEP,
                         text, len, NULL, &loader->scratch, encoding, err))
        return err->code;
    *count = encoding->count - CLS_AND_SEP;
    int32_t *kept = arena_alloc_array(loader->kept, *count, sizeof *kept);
    if (kept == NULL)
        return err_no_memory(err, *count * sizeof *kept);
    memcpy(kept, encoding->ids + 1, *count * sizeof *kept);
    *pieces = kept;
    return ERR_OK;
}

static enum err_code mark(struct samples_loader *loader, const struct dataset_item *item,
                          const struct encoding *encoding, struct sample *out, struct err *err)
{
    const struct tag_tokens tokens = {.starts = encoding->starts + 1,
                                      .ends = encoding->ends + 1,
                                      .count = out->piece_count,
                                      .is_cut = out->is_cut};
    int32_t *tags = arena_alloc_array(loader->kept, tokens.count, sizeof *tags);
    bool *touches = arena_alloc_array(loader->kept, tokens.count, sizeof *touches);
    if (tags == NULL || touches == NULL)
        return err_no_memory(err, tokens.count * sizeof *tags);
    for (unsigned i = 0; i < tokens.count; i++)
        touches[i] = i > 0 && tokens.starts[i] == tokens.ends[i - 1];
    out->touches = touches;
    out->misfits = tag_set_mark(loader->samples->tags, item, &tokens, tags);
    out->tags = tags;
    return ERR_OK;
}

/* ---- texts that are written, and what they are written from ---- */

/* Finds a language's token; NULL: the usual one, or none. */
static enum err_code find_language(const struct tokenizer *tokenizer, const char *option,
                                   const char *code, int32_t *out, struct err *err)
{
    *out = VOCAB_NONE;
    return code == NULL ? ERR_OK : tokenizer_find_language(tokenizer, option, code, out, err);
}

enum err_code samples_open_writing(struct samples *samples, const char *dir,
                                   const struct samples_writing *writing, struct err *err)
{
    const unsigned most = spec_text_tokens(writing->target);
    samples->writes = true;
    samples->writing = *writing;
    if (tokenizer_open_target(&samples->target, dir, most, err))
        return err->code;
    tokenizer_fit(samples->target, writing->target->vocab_size);
    if (samples->target->vocab_size > writing->target->vocab_size)
        return err_set(err, ERR_UNSUPPORTED,
                       "the target's vocabulary has %u entries but config.json says %u",
                       samples->target->vocab_size, writing->target->vocab_size);
    /* A tokenizer that cannot make a text of tokens is refused before anything is learnt. */
    struct arena scratch;
    const char *text;
    size_t len;
    arena_init(&scratch);
    tokenizer_decode(samples->target, NULL, 0, true, &text, &len, &scratch, err);
    arena_deinit(&scratch);
    if (err->code != ERR_OK)
        return err->code;
    if (find_language(samples->pipeline.tokenizer, "--source-language", writing->source_language,
                      &samples->languages[0], err))
        return err->code;
    return find_language(samples->target, "--target-language", writing->target_language,
                         &samples->languages[1], err);
}

static enum err_code keep_ids(struct samples_loader *loader, const struct encoding *encoding,
                              const int32_t **out, unsigned *count, struct err *err)
{
    int32_t *kept = arena_alloc_array(loader->kept, encoding->count, sizeof *kept);
    if (kept == NULL)
        return err_no_memory(err, encoding->count * sizeof *kept);
    memcpy(kept, encoding->ids, encoding->count * sizeof *kept);
    *out = kept;
    *count = encoding->count;
    return ERR_OK;
}

/* All tokens of a source; an empty one may be its end token alone, as for transformers. */
static enum err_code load_source(struct samples_loader *loader, const struct dataset_item *item,
                                 struct sample *out, struct err *err)
{
    const struct samples *samples = loader->samples;
    const struct tokenizer *tokenizer = samples->pipeline.tokenizer;
    const unsigned wanted = samples->writing.tokens_max;
    const unsigned limit = wanted > 0 && wanted < tokenizer->limit ? wanted : 0;
    struct encoding encoding;
    if (tokenizer_encode_language(tokenizer, samples->languages[0], limit, item->input,
                                  item->input_len, NULL, &loader->scratch, &encoding, err))
        return err->code;
    if (encoding.count == 0)
        return err_set(err, ERR_UNUSABLE, "the text has no token, nor a token that ends it");
    out->is_cut = encoding.truncated;
    out->digest = digest_of_pair(item->input, item->input_len, NULL, 0);
    return keep_ids(loader, &encoding, &out->pieces, &out->piece_count, err);
}

enum err_code samples_load_target(struct samples_loader *loader, const struct dataset_item *item,
                                  struct sample *out, struct err *err)
{
    const struct samples *samples = loader->samples;
    struct encoding encoding;
    if (tokenizer_encode_language(samples->target, samples->languages[1], 0, item->label,
                                  strlen(item->label), NULL, &loader->scratch, &encoding, err))
        return err_prefix(err, "the target: ");
    if (encoding.truncated)
        return err_set(err, ERR_UNUSABLE, "the target has more than %u tokens, the decoder's limit",
                       samples->target->limit);
    if (encoding.count == 0)
        return err_set(err, ERR_UNUSABLE, "the target has no token, nor a token that ends it");
    return keep_ids(loader, &encoding, &out->written, &out->written_count, err);
}

unsigned samples_target_tokens(const struct samples *samples)
{
    return samples->longest_written;
}

enum err_code samples_written_input(const struct samples *samples, size_t item,
                                    const struct samples_view *view, struct rng *rng,
                                    struct arena *arena, struct engine_input *out,
                                    struct engine_input *read, struct samples_targets *targets,
                                    struct err *err)
{
    const struct sample *sample = &samples->items[item];
    const unsigned count = sample->written_count;
    if (samples_input(samples, item, view, rng, arena, out, err))
        return err->code;
    int32_t *ids = arena_alloc_array(arena, count, sizeof *ids);
    if (ids == NULL)
        return err_no_memory(err, count * sizeof *ids);
    ids[0] = samples->writing.start >= 0 ? samples->writing.start : sample->written[count - 1];
    memcpy(ids + 1, sample->written, (count - 1) * sizeof *ids);
    *read = (struct engine_input){.kind = ENGINE_TEXT, .tokens = count, .ids = ids};
    *targets = (struct samples_targets){.count = count, .ids = sample->written};
    return ERR_OK;
}

/* ---- load ---- */

enum err_code samples_load_text(struct samples_loader *loader, const struct dataset_item *item,
                                struct sample *out, struct err *err)
{
    struct encoding encoding, second = {0};
    if (loader->samples->writes)
        return load_source(loader, item, out, err);
    struct pipeline_text text = {.bytes = item->input, .len = item->input_len};
    unsigned skipped; /* tokens of a prompt that does not count */
    if (loader->samples->spec.sentence != NULL &&
        prompt_add(&text, &skipped, &loader->samples->pipeline, NULL, &loader->scratch, err))
        return err->code;
    if (keep_pieces(loader, text.bytes, text.len, &encoding, &out->pieces, &out->piece_count, err))
        return err->code;
    if (item->pair != NULL &&
        keep_pieces(loader, item->pair, item->pair_len, &second, &out->pair, &out->pair_count, err))
        return err_prefix(err, "the second text: ");
    if (!tokenizer_has_token(&encoding) && !tokenizer_has_token(&second))
        return err_set(err, ERR_UNUSABLE,
                       "the text has no token: it is empty, blank or holds only control "
                       "characters");
    out->is_cut = encoding.truncated || second.truncated;
    if (loader->samples->tags != NULL && mark(loader, item, &encoding, out, err))
        return err->code;
    out->digest = digest_of_pair(item->input, item->input_len, item->pair, item->pair_len);
    /* The lines of a sample are the pieces that begin them. */
    const uint32_t *starts = encoding.starts + 1;
    const char *at = text.bytes, *end = text.bytes + text.len, *next = at;
    uint32_t line_end = 0;
    unsigned most = 1; /* lines that can have a piece: no more than there are pieces */
    while (most < out->piece_count && (next = memchr(next, '\n', (size_t)(end - next))) != NULL) {
        next++;
        most++;
    }
    unsigned *lines = arena_alloc_array(loader->kept, most, sizeof *lines);
    if (lines == NULL)
        return err_no_memory(err, most * sizeof *lines);
    for (unsigned i = 0; i < out->piece_count; i++) {
        if (i > 0 && (at == NULL || starts[i] < line_end))
            continue;
        lines[out->line_count++] = i;
        while (at != NULL && line_end <= starts[i])
            at = next_line(at, end, &line_end);
    }
    out->lines = lines;
    return ERR_OK;
}

/* ---- windows ---- */

unsigned samples_room(const struct samples *samples, unsigned tokens_max)
{
    unsigned most = samples->pipeline.tokenizer->limit;
    if (tokens_max == 0 || tokens_max > most)
        tokens_max = most;
    return (tokens_max < TOKENS_MIN ? TOKENS_MIN : tokens_max) - CLS_AND_SEP;
}

/* Lists the pieces of the lines from `start` on that are not left out; at most `room`, and none if
 * all lines are left out. */
static unsigned take_lines(const struct sample *sample, float dropout, unsigned start,
                           unsigned room, struct rng *rng, unsigned *taken)
{
    float rate = dropout * rng_uniform(rng);
    unsigned count = 0;
    for (unsigned i = 0; i < sample->line_count && count < room; i++) {
        unsigned end = i + 1 < sample->line_count ? sample->lines[i + 1] : sample->piece_count;
        unsigned first = sample->lines[i] > start ? sample->lines[i] : start;
        if (end <= start || rng_uniform(rng) < rate)
            continue;
        while (first < end && count < room)
            taken[count++] = first++;
    }
    return count;
}

/* Lists the view's pieces, of one window or of all; at most `room`. */
static unsigned take_window(const struct sample *sample, const struct samples_view *view,
                            unsigned room, struct rng *rng, unsigned *taken)
{
    const unsigned pieces = sample->piece_count;
    unsigned count = pieces < room ? pieces : room, start = 0;
    if (pieces > room) {
        unsigned windows = (pieces + room - 1) / room;
        unsigned window = view->any_window && rng != NULL ? rng_below(rng, windows) : 0;
        start = window == windows - 1 ? pieces - room : window * room;
    }
    if (rng != NULL && view->line_dropout > 0) {
        unsigned left = take_lines(sample, view->line_dropout, start, room, rng, taken);
        if (left > 0)
            return left;
    }
    for (unsigned i = 0; i < count; i++)
        taken[i] = start + i;
    return count;
}

/* ---- prepare ---- */

static void drop_words(const struct samples *samples, float rate, struct rng *rng, int32_t *pieces,
                       unsigned count)
{
    const struct tokenizer_specials *specials = &samples->pipeline.tokenizer->specials;
    int32_t hidden = specials->mask >= 0 ? specials->mask : specials->unk;
    for (unsigned i = 0; i < count; i++)
        if (rng_uniform(rng) < rate)
            pieces[i] = hidden;
}

struct windows_shape samples_windows_shape(const struct samples *samples,
                                           const struct samples_view *view)
{
    const unsigned room = samples_room(samples, view->tokens_max);
    const unsigned stride = view->window_stride;
    return (struct windows_shape){.room = room,
                                  .stride = stride == 0 || stride > room ? room : stride};
}

static unsigned pair_limit(const struct samples *samples, const struct samples_view *view)
{
    const unsigned least = tokenizer_pair_specials(samples->pipeline.tokenizer) + 2;
    const unsigned most = samples_room(samples, view->tokens_max) + CLS_AND_SEP;
    return most > least ? most : least;
}

unsigned samples_pair_tokens(const struct samples *samples, const struct samples_view *view)
{
    const unsigned specials = tokenizer_pair_specials(samples->pipeline.tokenizer);
    const unsigned longest = samples->longest_pair + specials, limit = pair_limit(samples, view);
    if (samples->longest_pair == 0)
        return 0;
    return longest < limit ? longest : limit;
}

/* Words are dropped before the texts are joined, so that special tokens stay. */
static enum err_code prepare_pair(const struct samples *samples, const struct sample *sample,
                                  const struct samples_view *view, struct rng *rng,
                                  struct arena *arena, struct engine_input *out, struct err *err)
{
    const unsigned counts[2] = {sample->piece_count, sample->pair_count};
    const int32_t *ids[2] = {sample->pieces, sample->pair};
    struct encoding joined;
    for (unsigned side = 0; side < 2 && rng != NULL && view->word_dropout > 0; side++) {
        int32_t *copy = arena_alloc_array(arena, counts[side], sizeof *copy);
        if (copy == NULL)
            return err_no_memory(err, counts[side] * sizeof *copy);
        memcpy(copy, ids[side], counts[side] * sizeof *copy);
        drop_words(samples, view->word_dropout, rng, copy, counts[side]);
        ids[side] = copy;
    }
    if (tokenizer_join_pair(samples->pipeline.tokenizer, pair_limit(samples, view), ids, counts,
                            arena, &joined, err))
        return err->code;
    *out = windows_whole(&joined);
    out->truncated = joined.truncated || sample->is_cut;
    return ERR_OK;
}

enum err_code samples_prepare_text(const struct samples *samples, const struct sample *sample,
                                   const struct samples_view *view, struct rng *rng,
                                   struct arena *arena, struct engine_input *out,
                                   const unsigned **taken, struct err *err)
{
    const struct tokenizer_specials *specials = &samples->pipeline.tokenizer->specials;
    const struct windows_shape shape = samples_windows_shape(samples, view);
    const unsigned room = view->windows > 0 ? sample->piece_count : shape.room;
    const unsigned most = sample->piece_count < room ? sample->piece_count : room;
    if (sample->pair != NULL)
        return prepare_pair(samples, sample, view, rng, arena, out, err);
    if (samples->writes) {
        *out = (struct engine_input){.kind = ENGINE_TEXT,
                                     .tokens = sample->piece_count,
                                     .truncated = sample->is_cut,
                                     .ids = sample->pieces};
        return ERR_OK;
    }
    int32_t *ids = arena_alloc_array(arena, most + CLS_AND_SEP, sizeof *ids);
    unsigned *list = arena_alloc_array(arena, most, sizeof *list);
    if (ids == NULL || list == NULL)
        return err_no_memory(err, (most + CLS_AND_SEP) * sizeof *ids);
    if (taken != NULL)
        *taken = list;
    ids[0] = specials->cls;
    unsigned count = take_window(sample, view, room, rng, list);
    for (unsigned i = 0; i < count; i++)
        ids[1 + i] = sample->pieces[list[i]];
    ids[count + 1] = specials->sep;
    if (rng != NULL && view->word_dropout > 0)
        drop_words(samples, view->word_dropout, rng, ids + 1, count);
    if (count > shape.room)
        return samples_cut_windows(samples, &shape, view->windows, ids + 1, count, rng, arena, out,
                                   err);
    *out = (struct engine_input){.kind = ENGINE_TEXT,
                                 .tokens = count + CLS_AND_SEP,
                                 .truncated = sample->piece_count > room || sample->is_cut,
                                 .ids = ids};
    return ERR_OK;
}

enum err_code samples_tagged_input(const struct samples *samples, size_t item,
                                   const struct samples_view *view, struct rng *rng,
                                   struct arena *arena, struct engine_input *out,
                                   struct samples_targets *targets, struct err *err)
{
    const struct sample *sample = &samples->items[item];
    const unsigned *taken;
    *targets = (struct samples_targets){0};
    if (sample->problem != NULL)
        return err_set(err, ERR_UNUSABLE, "%s", sample->problem);
    if (samples_prepare_text(samples, sample, view, rng, arena, out, &taken, err))
        return err->code;
    unsigned *places = arena_alloc_array(arena, out->tokens, sizeof *places);
    int32_t *tags = arena_alloc_array(arena, out->tokens, sizeof *tags);
    bool *touches = arena_alloc_array(arena, out->tokens, sizeof *touches);
    if (places == NULL || tags == NULL || touches == NULL)
        return err_no_memory(err, out->tokens * sizeof *tags);
    for (unsigned w = 0; w < engine_input_windows(out); w++) {
        const unsigned *own = taken + (out->windows > 0 ? out->window_first[w] : 0);
        const unsigned first = 1 + (out->windows > 0 ? out->window_offset[w] : 0);
        const unsigned count = engine_input_tokens(out, w, 1) - CLS_AND_SEP;
        for (unsigned i = 0; i < count; i++) {
            if (sample->tags[own[i]] == TAG_NONE)
                continue;
            places[targets->count] = first + i;
            touches[targets->count] = sample->touches[own[i]];
            tags[targets->count++] = sample->tags[own[i]];
        }
    }
    targets->places = places;
    targets->ids = tags;
    targets->touches = touches;
    return ERR_OK;
}

void samples_count_tags(const struct samples *samples, size_t item, unsigned tag_count,
                        double *counts)
{
    const struct sample *sample = &samples->items[item];
    int32_t before = TAG_NONE;
    for (unsigned i = 0; i < sample->piece_count && sample->problem == NULL; i++) {
        const int32_t tag = sample->tags[i];
        if (before != TAG_NONE && tag != TAG_NONE) {
            const size_t gap = sample->touches[i] ? TAG_TOUCHING : TAG_APART;
            counts[(gap * tag_count + (size_t)before) * tag_count + (size_t)tag]++;
        }
        before = tag;
    }
}
