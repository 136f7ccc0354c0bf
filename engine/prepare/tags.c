#include "engine/prepare/pipeline.h"

enum { SPECIALS = 2 }; /* of each window, one at each end */

/* A place in a text that is known by its bytes and by its characters. */
struct cursor {
    const char *text;
    size_t len, at;
    uint32_t character;
};

static bool continues(char byte)
{
    return ((unsigned char)byte & 0xC0) == 0x80;
}

/* True if a token that begins at the character has no space at its start, nor just before it. */
static bool is_joined(struct cursor *cursor, uint32_t start)
{
    if (start == 0)
        return false;
    /* Forwards or back: tokens of one text come in order, more or less. */
    for (; cursor->character < start && cursor->at < cursor->len; cursor->character++)
        for (cursor->at++; cursor->at < cursor->len && continues(cursor->text[cursor->at]);)
            cursor->at++;
    for (; cursor->character > start; cursor->character--)
        for (cursor->at--; continues(cursor->text[cursor->at]);)
            cursor->at--;
    const bool begins_with_space = cursor->at < cursor->len && cursor->text[cursor->at] == ' ';
    return !begins_with_space && cursor->text[cursor->at - 1] != ' ';
}

enum err_code tags_order(const struct pipeline *pipeline, const char *text, size_t len,
                         struct arena *arena, struct engine_input *input, struct err *err)
{
    const uint32_t *lengths = pipeline->piece_lengths;
    const int32_t unknown = pipeline->tokenizer->specials.unk;
    const unsigned last = input->windows > 0 ? input->windows - 1 : 0;
    const unsigned count = (input->windows > 0 ? input->window_first[last] : 0) +
                           engine_input_tokens(input, last, 1) - SPECIALS;
    struct cursor cursor = {.text = text, .len = len};
    unsigned *order = arena_alloc_array(arena, count, sizeof *order);
    bool *continued = arena_alloc_array(arena, input->tokens, sizeof *continued);
    if (order == NULL || continued == NULL)
        return err_no_memory(err, input->tokens * (sizeof *order + sizeof *continued));
    for (unsigned i = 0, window = 0; i < count; i++) {
        const unsigned at = order[i] = engine_input_token(input, i, &window);
        const int32_t id = input->ids[at];
        const uint32_t start = input->starts[at], characters = input->ends[at] - start;
        continued[at] = id != unknown &&
                        (lengths != NULL ? lengths[id] != characters : is_joined(&cursor, start));
    }
    input->order = order;
    input->order_count = count;
    input->continued = continued;
    return ERR_OK;
}

size_t tags_bytes(size_t tokens)
{
    return tokens * (sizeof(unsigned) + sizeof(bool)) + 2 * (size_t)ARENA_ALIGNMENT;
}
