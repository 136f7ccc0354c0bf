#include "engine/data/samples_form.h"

#include <string.h>

enum { CLS_AND_SEP = 2, TOKENS_MIN = CLS_AND_SEP + 1 };

/* ---- load ---- */

enum err_code samples_load_text(struct samples_loader *loader, const struct dataset_item *item,
                                struct sample *out, struct err *err)
{
    struct encoding encoding;
    if (wordpiece_encode_to(loader->samples->tokenizer, loader->pieces_max + CLS_AND_SEP,
                            item->input, item->input_len, &loader->scratch, &encoding, err))
        return err->code;
    if (encoding.count <= CLS_AND_SEP)
        return err_set(err, ERR_UNUSABLE,
                       "the text has no token: it is empty, blank or holds only "
                       "control characters");
    out->piece_count = encoding.count - CLS_AND_SEP;
    out->is_cut = encoding.truncated;
    size_t bytes = out->piece_count * sizeof *out->pieces;
    int32_t *pieces = arena_alloc(loader->kept, bytes);
    if (pieces == NULL)
        return err_no_memory(err, bytes);
    memcpy(pieces, encoding.ids + 1, bytes);
    out->pieces = pieces;
    return ERR_OK;
}

/* ---- windows ---- */

unsigned samples_room(const struct samples *samples, unsigned tokens_max)
{
    if (tokens_max == 0 || tokens_max > samples->tokens_max)
        tokens_max = samples->tokens_max;
    return (tokens_max < TOKENS_MIN ? TOKENS_MIN : tokens_max) - CLS_AND_SEP;
}

/* Where the window begins that a view asks for; the text has more pieces than `room`. */
static unsigned window_start(const struct sample *sample, const struct samples_view *view,
                             unsigned room, struct rng *rng)
{
    unsigned windows = (sample->piece_count + room - 1) / room;
    unsigned window = view->any_window && rng != NULL ? rng_below(rng, windows) : 0;
    return window == windows - 1 ? sample->piece_count - room : window * room;
}

/* Writes the view's pieces; at most `room`. */
static unsigned take_window(const struct sample *sample, const struct samples_view *view,
                            unsigned room, struct rng *rng, int32_t *out)
{
    unsigned count = sample->piece_count < room ? sample->piece_count : room;
    unsigned start = sample->piece_count > room ? window_start(sample, view, room, rng) : 0;
    memcpy(out, sample->pieces + start, count * sizeof *out);
    return count;
}

/* ---- prepare ---- */

static void drop_words(const struct samples *samples, float rate, struct rng *rng, int32_t *pieces,
                       unsigned count)
{
    const struct wordpiece_specials *specials = &samples->specials;
    int32_t hidden = specials->mask >= 0 ? specials->mask : specials->unk;
    for (unsigned i = 0; i < count; i++)
        if (rng_uniform(rng) < rate)
            pieces[i] = hidden;
}

enum err_code samples_prepare_text(const struct samples *samples, const struct sample *sample,
                                   const struct samples_view *view, struct rng *rng,
                                   struct arena *arena, struct engine_input *out, struct err *err)
{
    unsigned room = samples_room(samples, view->tokens_max);
    unsigned most = sample->piece_count < room ? sample->piece_count : room;
    int32_t *ids = arena_alloc_array(arena, most + CLS_AND_SEP, sizeof *ids);
    if (ids == NULL)
        return err_no_memory(err, (most + CLS_AND_SEP) * sizeof *ids);
    ids[0] = samples->specials.cls;
    unsigned count = take_window(sample, view, room, rng, ids + 1);
    ids[count + 1] = samples->specials.sep;
    if (rng != NULL && view->word_dropout > 0)
        drop_words(samples, view->word_dropout, rng, ids + 1, count);
    *out = (struct engine_input){.kind = ENGINE_TEXT,
                                 .tokens = count + CLS_AND_SEP,
                                 .truncated = sample->piece_count > room || sample->is_cut,
                                 .ids = ids};
    return ERR_OK;
}
