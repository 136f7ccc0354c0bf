/* normalizer_apply.c - see normalizer_step.h: the steps. Unchanged characters are kept in runs; a
 * text without a change is shared. Extents follow the reference's NormalizedString: an insertion
 * shares the extent of the character before it, and a replacement that of the last character that
 * it replaces. */
#include "engine/base/utf8.h"
#include "engine/text/pipeline/character_class.h"
#include "engine/text/pipeline/normalizer_step.h"
#include "engine/text/unicode.h"

enum { LOOK_BYTES = 4096 };

static bool is_stopped(const struct normalizer_work *work, struct err *err)
{
    return interrupt_look(work->interrupt, err) != ERR_OK;
}

/* The fate of one character: it is kept, dropped, or replaced by `count` characters. */
enum fate { KEPT, DROPPED, REPLACED };

struct verdict {
    enum fate fate;
    uint32_t characters[UNICODE_LOWER_MAX];
    unsigned count;
};

/* Applies a function to each character. */
static enum err_code map_text(const struct aligned *in, struct aligned *out,
                              struct verdict (*judge)(uint32_t character),
                              const struct normalizer_work *work, struct err *err)
{
    struct aligned_builder builder;
    aligned_builder_init(&builder, in, work->arena);
    size_t kept = 0, look = LOOK_BYTES; /* [builder.at, kept) will be kept */
    for (size_t next = 0; kept < in->len; kept = next) {
        struct verdict verdict = judge(utf8_decode(in->bytes, &next));
        if (kept >= look && is_stopped(work, err))
            return err->code;
        look = kept >= look ? kept + LOOK_BYTES : look;
        if (verdict.fate == KEPT)
            continue;
        if (!aligned_keep(&builder, kept - builder.at, err))
            return err->code;
        if (verdict.fate == DROPPED)
            aligned_drop(&builder, next - kept);
        for (unsigned i = 0; verdict.fate == REPLACED && i < verdict.count; i++)
            if (!aligned_put(&builder, verdict.characters[i], i > 0, err))
                return err->code;
    }
    if (builder.at == 0) {
        *out = *in;
        return ERR_OK;
    }
    if (aligned_keep(&builder, kept - builder.at, err))
        *out = builder.out;
    return err->code;
}

/* ---- character by character ---- */

static struct verdict judge_lower(uint32_t character)
{
    struct verdict verdict = {.fate = KEPT};
    if (character < 0x80 && character - 'A' >= 26)
        return verdict;
    verdict.count = unicode_lower(character, verdict.characters);
    if (verdict.count > 1 || verdict.characters[0] != character)
        verdict.fate = REPLACED;
    return verdict;
}

static struct verdict judge_accent(uint32_t character)
{
    bool is_mark = character >= 0x80 && unicode_forms_is_mark(character);
    return (struct verdict){.fate = is_mark ? DROPPED : KEPT};
}

/* Rules of SentencePiece's nmt_*, equal to the reference's. */
static struct verdict judge_nmt(uint32_t c)
{
    if ((c >= 0x01 && c <= 0x08) || c == 0x0B || (c >= 0x0E && c <= 0x1F) || c == 0x7F ||
        c == 0x8F || c == 0x9F)
        return (struct verdict){.fate = DROPPED};
    if (c == 0x09 || c == 0x0A || c == 0x0C || c == 0x0D || c == 0x1680 ||
        (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xFEFF ||
        c == 0xFFFD)
        return (struct verdict){REPLACED, {' '}, 1};
    return (struct verdict){.fate = KEPT};
}

NORMALIZER_APPLY(normalizer_lowercase)
{
    (void)step;
    return map_text(in, out, judge_lower, work, err);
}

NORMALIZER_APPLY(normalizer_strip_accents)
{
    (void)step;
    return map_text(in, out, judge_accent, work, err);
}

NORMALIZER_APPLY(normalizer_nmt)
{
    (void)step;
    return map_text(in, out, judge_nmt, work, err);
}

/* ---- ends ---- */

NORMALIZER_APPLY(normalizer_strip)
{
    const bool strips_start = step->left && work->is_first;
    size_t at = 0, end = in->len;
    for (size_t next = 0; strips_start && at < end; at = next)
        if (!character_is_space(utf8_decode(in->bytes, &next)))
            break;
    while (step->right && work->is_last && end > at) {
        size_t last = character_before(in->bytes, end), next = last;
        if (!character_is_space(utf8_decode(in->bytes, &next)))
            break;
        end = last;
    }
    (void)err;
    *out = aligned_part(in, at, end - at);
    return ERR_OK;
}

/* ---- strings ---- */

bool normalizer_insert(struct aligned_builder *builder, const char *content, size_t len,
                       struct err *err)
{
    for (size_t at = 0; at < len;)
        if (!aligned_put(builder, utf8_decode(content, &at), 1, err))
            return false;
    return true;
}

bool normalizer_insert_before(struct aligned_builder *builder, const char *content, size_t len,
                              struct err *err)
{
    size_t at = 0;
    uint32_t next = aligned_peek(builder);
    return aligned_put(builder, utf8_decode(content, &at), 0, err) &&
           normalizer_insert(builder, content + at, len - at, err) &&
           aligned_put(builder, next, 1, err);
}

NORMALIZER_APPLY(normalizer_replace)
{
    struct aligned_builder builder;
    struct pattern_match match;
    aligned_builder_init(&builder, in, work->arena);
    for (size_t look = LOOK_BYTES;
         pattern_next(&step->pattern, in->bytes, in->len, builder.at, &match);) {
        if (!aligned_keep(&builder, match.at - builder.at, err))
            return err->code;
        aligned_drop(&builder, match.end - match.at);
        if (!normalizer_insert(&builder, step->content, step->content_len, err))
            return err->code;
        if (builder.at >= look && is_stopped(work, err))
            return err->code;
        look = builder.at >= look ? builder.at + LOOK_BYTES : look;
    }
    if (builder.at == 0)
        *out = *in;
    else if (aligned_keep(&builder, in->len - builder.at, err))
        *out = builder.out;
    return err->code;
}

NORMALIZER_APPLY(normalizer_prepend)
{
    struct aligned_builder builder;
    *out = *in;
    if (in->len == 0 || !work->is_first)
        return ERR_OK;
    aligned_builder_init(&builder, in, work->arena);
    if (normalizer_insert_before(&builder, step->content, step->content_len, err) &&
        aligned_keep(&builder, in->len - builder.at, err))
        *out = builder.out;
    return err->code;
}

/* ---- steps of normalizer.h, unicode.h and precompiled.h ---- */

NORMALIZER_APPLY(normalizer_form)
{
    return unicode_forms_apply(step->form, in, out, work->arena, work->interrupt, err);
}

NORMALIZER_APPLY(normalizer_precompiled)
{
    return precompiled_apply(step->table, in, out, work->arena, work->interrupt, err);
}

/* Returns the byte offset of each character, by the number that normalizer.h gives it. */
static const uint32_t *character_starts(const struct aligned *text, struct arena *arena,
                                        struct err *err)
{
    uint32_t *starts = arena_alloc(arena, text->len * sizeof *starts), count = 0;
    if (starts == NULL) {
        err_no_memory(err, text->len * sizeof *starts);
        return NULL;
    }
    for (size_t at = 0; at < text->len; at++)
        if (((unsigned char)text->bytes[at] & 0xC0) != 0x80)
            starts[count++] = (uint32_t)at;
    return starts;
}

NORMALIZER_APPLY(normalizer_bert)
{
    struct normalizer normalizer;
    struct normalized character;
    struct aligned_builder builder;
    *out = *in;
    if (in->len == 0)
        return ERR_OK;
    const uint32_t *starts = character_starts(in, work->arena, err);
    if (starts == NULL)
        return err->code;
    normalizer_init(&normalizer, step->flags, in->bytes, in->len, 0, work->arena);
    normalizer.interrupt = work->interrupt;
    aligned_builder_init(&builder, in, work->arena);
    while (normalizer_next(&normalizer, &character, err)) {
        builder.at = starts[character.source];
        if (!aligned_put(&builder, character.character, 0, err))
            return err->code;
    }
    *out = builder.out;
    return err->code;
}
