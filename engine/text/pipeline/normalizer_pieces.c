/* normalizer_pieces.c - see normalizer_step.h: the normaliser of a SentencePiece model, as
 * SentencePiece 0.2 applies it (its src/normalizer.cc). The longest entry of the charsmap that the
 * text begins with is replaced, else one character is kept; a user-defined piece is kept whole.
 * Spaces are removed at both ends and among neighbours, what is left of them becomes the mark, and
 * one more mark begins the text, each as the model says. */
#include "engine/base/utf8.h"
#include "engine/text/pipeline/normalizer_step.h"
#include "engine/text/sentencepiece.h"

#include <string.h>

enum { LOOK_PARTS = 4096, MARK = 0x2581, LETTERS = 3 };

/* The beginning of a text, and what becomes of it. */
struct part {
    const char *text; /* [len]; may be empty */
    size_t len;
    size_t taken; /* bytes */
};

static struct part next_part(const struct normalizer_step *step, const char *text, size_t len)
{
    struct part part = {.text = text};
    if (vocab_longest(&step->file->user_defined, text, len, &part.taken) == VOCAB_NONE) {
        if (step->table != NULL &&
            precompiled_longest(step->table, text, len, &part.taken, &part.text, &part.len) &&
            (part.taken == len || ((unsigned char)text[part.taken] & 0xC0) != 0x80))
            return part;
        part = (struct part){.text = text};
        utf8_decode(text, &part.taken);
    }
    part.len = part.taken;
    return part;
}

/* Writes a character. The first one of a part replaces its *characters, of which none are left
 * then; the others share their extent. */
static bool put(struct aligned_builder *builder, uint32_t character, size_t *characters,
                struct err *err)
{
    const long change = 1 - (long)*characters;
    *characters = 0;
    return aligned_put(builder, character, change, err);
}

/* Writes a part; spaces before it are left out if it is `after_space`. */
static bool put_part(const struct sentencepiece *file, struct aligned_builder *builder,
                     const struct part *part, bool adds_mark, bool after_space, struct err *err)
{
    size_t characters = utf8_count(builder->from->bytes + builder->at, part->taken), at = 0;
    const size_t next = builder->at + part->taken;
    if (adds_mark && !put(builder, file->marks_spaces ? MARK : ' ', &characters, err))
        return false;
    while (after_space && at < part->len && part->text[at] == ' ')
        at++;
    while (at < part->len) {
        const uint32_t character = utf8_decode(part->text, &at);
        if (!put(builder, character == ' ' && file->marks_spaces ? MARK : character, &characters,
                 err))
            return false;
    }
    aligned_drop(builder, next - builder->at);
    return true;
}

static void remove_last_spaces(const struct sentencepiece *file, struct aligned *text)
{
    const char *space = file->marks_spaces ? SENTENCEPIECE_MARK : " ";
    const size_t len = strlen(space);
    while (text->len >= len && memcmp(text->bytes + text->len - len, space, len) == 0)
        text->len -= len;
}

NORMALIZER_APPLY(normalizer_pieces)
{
    const struct sentencepiece *file = step->file;
    struct aligned_builder builder;
    bool after_space = file->removes_spaces, adds_mark = file->adds_prefix, is_start = true;
    aligned_builder_init(&builder, in, work->arena);
    for (size_t looked = 0; builder.at < in->len; looked++) {
        if (looked % LOOK_PARTS == LOOK_PARTS - 1 && interrupt_look(work->interrupt, err))
            return err->code;
        const struct part part = next_part(step, in->bytes + builder.at, in->len - builder.at);
        const bool is_space = part.len == 1 && part.text[0] == ' ';
        if (is_start && file->removes_spaces && is_space) {
            aligned_drop(&builder, part.taken);
            continue;
        }
        is_start = false;
        if (!put_part(file, &builder, &part, adds_mark, after_space, err))
            return err->code;
        adds_mark = false;
        if (part.len > 0)
            after_space = file->removes_spaces && part.text[part.len - 1] == ' ';
    }
    if (file->removes_spaces)
        remove_last_spaces(file, &builder.out);
    *out = builder.out;
    return ERR_OK;
}

/* A space takes as many bytes as the mark. The mark before a text is not counted: encode_chunk
 * leaves room for it. */
enum err_code normalizer_steps_of_pieces(struct normalizer_steps *out,
                                         const struct sentencepiece *file, struct arena *arena,
                                         struct err *err)
{
    const size_t space = file->marks_spaces ? SENTENCEPIECE_MARK_BYTES : 1;
    struct precompiled_growth growth = {1, 1};
    struct normalizer_step *step = arena_alloc_array(arena, 1, sizeof *step);
    if (step == NULL)
        return err_no_memory(err, sizeof *step);
    *step = (struct normalizer_step){.apply = normalizer_pieces, .file = file};
    if (file->charsmap != NULL) {
        if (precompiled_of_bytes(&step->table, file->charsmap, file->charsmap_len, space, arena,
                                 err))
            return err_prefix(err, "normalizer_spec.");
        growth = precompiled_growth(step->table);
    }
    const size_t ascii = growth.ascii > space ? growth.ascii : space;
    const size_t letters = growth.other < LETTERS ? growth.other : LETTERS;
    step->growth = (struct text_growth){{ascii, letters, growth.other}, true};
    *out = (struct normalizer_steps){.items = step, .count = 1};
    return ERR_OK;
}
