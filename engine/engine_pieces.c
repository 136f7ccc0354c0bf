/* engine_pieces.c - the characters that each token of a text that was written adds to it. */
#include "engine/engine_state.h"
#include "engine/text/tokenizer.h"

#include <string.h>

enum {
    OPEN_TOKENS = 8,  /* that may wait for the end of a character or of a space */
    PIECE_BYTES = 512 /* of a token's piece, with what answers it */
};

/* True if the text ends in U+FFFD: the last character may not be whole. */
static bool is_cut(const char *text, size_t len)
{
    return len >= 3 && memcmp(text + len - 3, "\xEF\xBF\xBD", 3) == 0;
}

/* Takes what ids[first .. next) have more than ids[first .. told), for the last of them; len is 0
 * if it must wait. A decoder may change a text at its start, so tokens before it are read, too. */
static enum err_code decode(const struct tokenizer *tokenizer, const int32_t *ids,
                            const struct engine_pieces *at, bool may_wait, struct engine_piece *out,
                            struct arena *arena, struct err *err)
{
    const char *before, *after;
    size_t before_len, after_len;
    struct arena passing;
    arena_init(&passing);
    if (tokenizer_decode(tokenizer, ids + at->first, at->told - at->first, true, &before,
                         &before_len, &passing, err) ||
        tokenizer_decode(tokenizer, ids + at->first, at->next - at->first, true, &after, &after_len,
                         &passing, err))
        goto out;
    while (before_len < after_len && ((unsigned char)after[before_len] & 0xC0) == 0x80)
        before_len++; /* the decoder has changed what stood before */
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

/* Takes token pieces->next of ids. is_last: nothing follows it. */
static enum err_code take_piece(const struct tokenizer *tokenizer, const int32_t *ids, bool is_last,
                                struct engine_pieces *pieces, struct arena *arena,
                                struct engine_piece *out, struct err *err)
{
    const unsigned index = pieces->next++;
    const struct token_string *string = tokenizer_string(tokenizer, ids[index]);
    *out = (struct engine_piece){.index = index, .id = ids[index], .text = ""};
    if (string != NULL && string->is_special) {
        out->text = string->text;
        out->len = string->len;
        out->is_special = true;
        return ERR_OK;
    }
    const bool may_wait = !is_last && pieces->next - pieces->told < OPEN_TOKENS;
    if (decode(tokenizer, ids, pieces, may_wait, out, arena, err))
        return err->code;
    if (out->len > 0 || pieces->next - pieces->told >= OPEN_TOKENS) {
        pieces->first = pieces->told;
        pieces->told = pieces->next;
    }
    return ERR_OK;
}

enum err_code engine_next_piece(const struct engine_result *result, struct engine_pieces *pieces,
                                struct arena *arena, struct engine_piece *out, bool *is_there,
                                struct err *err)
{
    unsigned count;
    const struct tokenizer *tokenizer;
    const int32_t *ids = engine_write_ids(result, &tokenizer, &count);
    *is_there = pieces->next < count;
    if (!*is_there)
        return ERR_OK;
    const bool is_last = result->is_done && pieces->next + 1 == count;
    return take_piece(tokenizer, ids, is_last, pieces, arena, out, err);
}

size_t engine_pieces_bytes(const struct engine_input *input)
{
    return engine_write_is_greedy(input) ? engine_write_tokens_max(input) * (size_t)PIECE_BYTES : 0;
}

enum err_code engine_text_pieces(const struct engine_model *model, const struct engine_text *text,
                                 const struct engine_piece **out, struct arena *arena,
                                 struct err *err)
{
    const struct tokenizer *tokenizer = model->stacks[1].pipeline.tokenizer;
    struct engine_piece *pieces = arena_alloc_array(arena, text->count + 1u, sizeof *pieces);
    struct engine_pieces at = {0};
    if (pieces == NULL)
        return err_no_memory(err, (text->count + 1u) * sizeof *pieces);
    for (unsigned t = 0; t < text->count; t++)
        if (take_piece(tokenizer, text->ids, t + 1 == text->count, &at, arena, &pieces[t], err))
            return err->code;
    *out = pieces;
    return ERR_OK;
}
