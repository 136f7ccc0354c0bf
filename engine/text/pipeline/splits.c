/* splits.c - applies the steps of pretokenizer_step.h to a text. */
#include "engine/base/utf8.h"
#include "engine/text/pipeline/normalizer_step.h"
#include "engine/text/pipeline/pretokenizer_step.h"

#include <string.h>

enum { LOOK_SPLITS = 4096 };

enum err_code splits_init(struct splits *splits, const struct aligned *text, struct arena *arena,
                          struct err *err)
{
    *splits = (struct splits){.text = *text, .room = text->len, .arena = arena};
    splits->items = arena_alloc(arena, splits->room * sizeof *splits->items);
    if (splits->items == NULL)
        return err_no_memory(err, splits->room * sizeof *splits->items);
    if (text->len > 0)
        splits->items[splits->count++] = (struct split){0, (uint32_t)text->len};
    return ERR_OK;
}

/* ---- cutting ---- */

/* Collects the pieces of one split in order: matches and the text between them. */
struct cutter {
    struct splits *out;
    enum split_behavior behavior;
    bool was_match;   /* the piece before was a match */
    bool has_pending; /* SPLIT_MERGED_WITH_NEXT: a match waits for the next piece */
    struct split pending;
    size_t first; /* number of the split's first piece */
};

static void put(struct cutter *cutter, struct split piece)
{
    if (piece.len > 0)
        cutter->out->items[cutter->out->count++] = piece;
}

static void put_or_extend(struct cutter *cutter, struct split piece, bool extends)
{
    if (extends && cutter->out->count > cutter->first)
        cutter->out->items[cutter->out->count - 1].len += piece.len;
    else
        put(cutter, piece);
}

static void put_with_next(struct cutter *cutter, struct split piece, bool is_match)
{
    if (cutter->has_pending && !is_match) {
        piece.at = cutter->pending.at;
        piece.len += cutter->pending.len;
    } else if (cutter->has_pending) {
        put(cutter, cutter->pending);
    }
    cutter->has_pending = is_match;
    cutter->pending = piece;
    if (!is_match)
        put(cutter, piece);
}

static void take_piece(struct cutter *cutter, size_t at, size_t end, bool is_match)
{
    struct split piece = {(uint32_t)at, (uint32_t)(end - at)};
    if (piece.len == 0)
        return;
    if (cutter->behavior == SPLIT_ISOLATED || (cutter->behavior == SPLIT_REMOVED && !is_match))
        put(cutter, piece);
    else if (cutter->behavior == SPLIT_MERGED_WITH_PREVIOUS)
        put_or_extend(cutter, piece, is_match && !cutter->was_match);
    else if (cutter->behavior == SPLIT_CONTIGUOUS)
        put_or_extend(cutter, piece, is_match == cutter->was_match);
    else if (cutter->behavior == SPLIT_MERGED_WITH_NEXT)
        put_with_next(cutter, piece, is_match);
    cutter->was_match = is_match;
}

static void cut_split(const struct pretokenizer_step *step, const char *bytes, struct split split,
                      struct splits *out)
{
    struct cutter cutter = {.out = out, .behavior = step->behavior, .first = out->count};
    struct pattern_match match;
    const char *text = bytes + split.at;
    size_t at = 0;
    for (; pattern_next(&step->pattern, text, split.len, at, &match); at = match.end) {
        take_piece(&cutter, split.at + at, split.at + match.at, step->is_inverted);
        take_piece(&cutter, split.at + match.at, split.at + match.end, !step->is_inverted);
    }
    take_piece(&cutter, split.at + at, split.at + split.len, step->is_inverted);
    if (cutter.has_pending)
        put(&cutter, cutter.pending);
}

static enum err_code cut(const struct pretokenizer_step *step, struct splits *splits,
                         struct interrupt *interrupt, struct err *err)
{
    struct splits out = {.text = splits->text, .room = splits->text.len, .arena = splits->arena};
    out.items = arena_alloc(out.arena, out.room * sizeof *out.items);
    if (out.items == NULL)
        return err_no_memory(err, out.room * sizeof *out.items);
    for (size_t i = 0; i < splits->count; i++) {
        if (i % LOOK_SPLITS == 0 && interrupt_look(interrupt, err))
            return err->code;
        cut_split(step, out.text.bytes, splits->items[i], &out);
    }
    *splits = out;
    return ERR_OK;
}

/* ---- marks ---- */

static bool needs_prefix(const struct pretokenizer_step *step, const struct aligned *text,
                         struct split split)
{
    const char *bytes = text->bytes + split.at;
    if (step->prefix == PREFIX_NEVER || (step->marks_spaces && bytes[0] == ' '))
        return false;
    if (split.len >= step->mark_len && memcmp(bytes, step->mark, step->mark_len) == 0)
        return false;
    return step->prefix == PREFIX_ALWAYS || text->starts[split.at] == 0;
}

/* Writes the rest of a split, behind its prefix; spaces become marks. */
static bool mark_rest(const struct pretokenizer_step *step, struct aligned_builder *builder,
                      size_t end, struct err *err)
{
    while (builder->at < end) {
        const char *rest = builder->from->bytes + builder->at;
        const char *space = step->marks_spaces ? memchr(rest, ' ', end - builder->at) : NULL;
        size_t kept = space != NULL ? (size_t)(space - rest) : end - builder->at;
        if (!aligned_keep(builder, kept, err))
            return false;
        if (space == NULL)
            break;
        aligned_drop(builder, 1);
        if (!normalizer_insert(builder, step->mark, step->mark_len, err))
            return false;
    }
    return true;
}

static enum err_code mark(const struct pretokenizer_step *step, struct splits *splits,
                          struct interrupt *interrupt, struct err *err)
{
    struct aligned_builder builder;
    aligned_builder_init(&builder, &splits->text, splits->arena);
    for (size_t i = 0; i < splits->count; i++) {
        struct split *split = &splits->items[i];
        size_t end = split->at + split->len, start = builder.out.len;
        if (i % LOOK_SPLITS == 0 && interrupt_look(interrupt, err))
            return err->code;
        aligned_drop(&builder, split->at - builder.at);
        if (needs_prefix(step, &splits->text, *split) &&
            !normalizer_insert_before(&builder, step->mark, step->mark_len, err))
            return err->code;
        if (!mark_rest(step, &builder, end, err))
            return err->code;
        *split = (struct split){(uint32_t)start, (uint32_t)(builder.out.len - start)};
    }
    splits->text = builder.out;
    return ERR_OK;
}

/* ---- the whole ---- */

enum err_code pretokenizer_steps_apply(const struct pretokenizer_steps *steps,
                                       struct splits *splits, struct interrupt *interrupt,
                                       struct err *err)
{
    for (size_t i = 0; i < steps->count && splits->count > 0; i++) {
        const struct pretokenizer_step *step = &steps->items[i];
        if ((step->prefix != PREFIX_NEVER || step->marks_spaces) &&
            mark(step, splits, interrupt, err))
            return err->code;
        if (step->cuts && cut(step, splits, interrupt, err))
            return err->code;
    }
    return ERR_OK;
}

void pretokenizer_steps_cost(const struct pretokenizer_steps *steps, struct text_cost *cost)
{
    text_cost_add(cost, sizeof(struct split));
    for (size_t i = 0; i < steps->count; i++) {
        const struct pretokenizer_step *step = &steps->items[i];
        size_t growth = 1 + step->mark_len;
        if (step->prefix != PREFIX_NEVER || step->marks_spaces) {
            text_cost_step(cost, &(struct text_growth){{growth, growth, growth}, false});
            text_cost_add(cost, 2 * TEXT_COST_ALIGNED);
        }
        text_cost_add(cost, step->cuts ? sizeof(struct split) : 0);
    }
}
