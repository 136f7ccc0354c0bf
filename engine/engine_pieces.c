/* engine_pieces.c - the characters that each token of a text that was written adds to it. */
#include "engine/engine_state.h"
#include "engine/text/tokenizer.h"

#include <string.h>

enum { CUT_MAX = 3 }; /* U+FFFD that the bytes of a character stand for while it is not whole */

/* Bytes of the text but for the last character if it may not be whole: U+FFFD stand for it. */
static size_t whole_bytes(const char *text, size_t len)
{
    for (unsigned i = 0; i < CUT_MAX && len >= 3; i++)
        if (memcmp(text + len - 3, "\xEF\xBF\xBD", 3) == 0)
            len -= 3;
    return len;
}

static bool is_special(const struct tokenizer *tokenizer, int32_t id)
{
    const struct token_string *string = tokenizer_string(tokenizer, id);
    return string != NULL && string->is_special;
}

/* True if no token behind `index` adds anything. */
static bool is_last_of_text(const struct tokenizer *tokenizer, const int32_t *ids, unsigned index,
                            unsigned count)
{
    while (index + 1 < count && is_special(tokenizer, ids[index + 1]))
        index++;
    return index + 1 == count;
}

/* Takes what the tokens [first .. next), counted from the start if the text has it, have beyond the
 * bytes that were told; len is 0 if it must wait. A decoder may change a text at its start, so
 * tokens before it are read, too. They begin behind a token up to which all was told and that added
 * something: spaces alone may be taken off there. */
static enum err_code decode(const struct tokenizer *tokenizer, const struct engine_text *written,
                            bool is_last, struct engine_pieces *at, struct engine_piece *out,
                            struct arena *arena, struct err *err)
{
    const char *text, *kept;
    const int32_t *ids = written->ids - written->has_start;
    const unsigned next = at->next + written->has_start;
    size_t len, bytes = at->told_bytes;
    struct arena passing;
    arena_init(&passing);
    if (tokenizer_decode(tokenizer, ids + at->first, next - at->first, true, &text, &len, &passing,
                         err))
        goto out;
    const size_t whole = is_last ? len : whole_bytes(text, len);
    while (bytes < whole && ((unsigned char)text[bytes] & 0xC0) == 0x80)
        bytes++; /* the decoder has changed what stood before */
    if (whole <= bytes)
        goto out;
    out->len = whole - bytes;
    out->text = arena_copy(arena, text + bytes, out->len);
    at->told_bytes = whole;
    if (out->text == NULL)
        err_no_memory(err, out->len + 1);
    else if (whole == len && !tokenizer_decode(tokenizer, ids + at->told, next - at->told, true,
                                               &kept, &at->told_bytes, &passing, err)) {
        at->first = at->told;
        at->told = next;
    }
out:
    arena_deinit(&passing);
    return err->code;
}

/* Takes token pieces->next of the text. is_last: nothing that adds to the text follows it. */
static enum err_code take_piece(const struct tokenizer *tokenizer, const struct engine_text *text,
                                bool is_last, struct engine_pieces *pieces, struct arena *arena,
                                struct engine_piece *out, struct err *err)
{
    const unsigned index = pieces->next++;
    const struct token_string *string = tokenizer_string(tokenizer, text->ids[index]);
    *out = (struct engine_piece){.index = index,
                                 .id = text->ids[index],
                                 .text = "",
                                 .probability = text->probabilities[index]};
    if (string != NULL && string->is_special) {
        out->is_special = true;
        out->name = string->text;
        out->name_len = string->len;
    }
    return out->is_special && !is_last ? ERR_OK
                                       : decode(tokenizer, text, is_last, pieces, out, arena, err);
}

enum err_code engine_next_piece(const struct engine_result *result, struct engine_pieces *pieces,
                                struct arena *arena, struct engine_piece *out, bool *is_there,
                                struct err *err)
{
    const struct tokenizer *tokenizer;
    const struct engine_text text = engine_write_so_far(result, &tokenizer);
    *is_there = pieces->next < text.count;
    if (!*is_there)
        return ERR_OK;
    const bool is_last =
        result->is_done && is_last_of_text(tokenizer, text.ids, pieces->next, text.count);
    return take_piece(tokenizer, &text, is_last, pieces, arena, out, err);
}

size_t engine_pieces_bytes(const struct engine_input *input)
{
    return engine_write_is_greedy(input)
               ? engine_write_tokens_max(input) * (size_t)ENGINE_PIECE_BYTES
               : 0;
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
    for (unsigned t = 0; t < text->count; t++) {
        const bool is_last = is_last_of_text(tokenizer, text->ids, t, text->count);
        if (take_piece(tokenizer, text, is_last, &at, arena, &pieces[t], err))
            return err->code;
    }
    *out = pieces;
    return ERR_OK;
}
