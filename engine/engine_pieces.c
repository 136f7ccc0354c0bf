/* engine_pieces.c - the characters that each token of a text that was written adds to it. */
#include "engine/engine_state.h"
#include "engine/text/tokenizer.h"

#include <string.h>

enum { OPEN_TOKENS = 8 }; /* that may wait for the end of a character or of a space */

/* True if the text ends in U+FFFD: the last character may not be whole. */
static bool is_cut(const char *text, size_t len)
{
    return len >= 3 && memcmp(text + len - 3, "\xEF\xBF\xBD", 3) == 0;
}

/* Takes what ids[first .. end) have more than ids[first .. told), for the last of them; len is 0 if
 * it must wait. A decoder may change a text at its start, so tokens before it are read, too. */
static enum err_code take_piece(const struct tokenizer *tokenizer, const struct engine_text *text,
                                unsigned first, unsigned told, unsigned end,
                                struct engine_piece *out, struct arena *arena, struct err *err)
{
    const char *before, *after;
    size_t before_len, after_len;
    struct arena passing;
    *out = (struct engine_piece){.text = ""};
    arena_init(&passing);
    if (tokenizer_decode(tokenizer, text->ids + first, told - first, true, &before, &before_len,
                         &passing, err) ||
        tokenizer_decode(tokenizer, text->ids + first, end - first, true, &after, &after_len,
                         &passing, err))
        goto out;
    while (before_len < after_len && ((unsigned char)after[before_len] & 0xC0) == 0x80)
        before_len++; /* the decoder has changed what stood before */
    const bool may_wait = end < text->count && end - told < OPEN_TOKENS;
    if (after_len <= before_len || (is_cut(after, after_len) && may_wait))
        goto out;
    out->len = after_len - before_len;
    out->text = arena_copy(arena, after + before_len, out->len);
    if (out->text == NULL)
        err_no_memory(err, out->len + 1);
out:
    arena_deinit(&passing);
    return err->code;
}

enum err_code engine_text_pieces(const struct engine_model *model, const struct engine_text *text,
                                 const struct engine_piece **out, struct arena *arena,
                                 struct err *err)
{
    const struct tokenizer *tokenizer = model->stacks[1].pipeline.tokenizer;
    struct engine_piece *pieces = arena_alloc_array(arena, text->count + 1u, sizeof *pieces);
    unsigned first = 0, told = 0; /* tokens behind which decoding begins, and that are told */
    if (pieces == NULL)
        return err_no_memory(err, (text->count + 1u) * sizeof *pieces);
    for (unsigned t = 0; t < text->count; t++) {
        const struct token_string *string = tokenizer_string(tokenizer, text->ids[t]);
        if (string != NULL && string->is_special) {
            pieces[t] = (struct engine_piece){string->text, string->len, true};
            continue;
        }
        if (take_piece(tokenizer, text, first, told, t + 1, &pieces[t], arena, err))
            return err->code;
        if (pieces[t].len == 0 && t + 1 - told < OPEN_TOKENS)
            continue;
        first = told;
        told = t + 1;
    }
    *out = pieces;
    return ERR_OK;
}
