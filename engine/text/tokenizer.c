#include "engine/text/tokenizer.h"

#include "engine/text/utf8.h"
#include "engine/text/wordpiece.h"

enum err_code tokenizer_open(struct tokenizer **out, const char *dir, unsigned tokens_max,
                             struct err *err)
{
    return wordpiece_open(out, dir, tokens_max, err);
}

void tokenizer_close(struct tokenizer *tokenizer)
{
    if (tokenizer != NULL)
        tokenizer->kind->close(tokenizer);
}

enum err_code tokenizer_encode_utf8(const struct tokenizer *tokenizer, unsigned limit,
                                    const char *text, size_t len, struct interrupt *interrupt,
                                    struct arena *arena, struct encoding *out, struct err *err)
{
    if (len >= UINT32_MAX)
        return err_set(err, ERR_TOO_LARGE, "a text of %zu bytes; the limit is %u", len,
                       UINT32_MAX - 1);
    return tokenizer->kind->encode(tokenizer, limit != 0 ? limit : tokenizer->limit, text, len,
                                   interrupt, arena, out, err);
}

enum err_code tokenizer_encode(const struct tokenizer *tokenizer, unsigned limit, const char *text,
                               size_t len, struct interrupt *interrupt, struct arena *arena,
                               struct encoding *out, struct err *err)
{
    size_t offset;
    if (len < UINT32_MAX && !utf8_valid(text, len, &offset))
        return err_set(err, ERR_UNUSABLE, "invalid UTF-8 at byte %zu of the text", offset);
    return tokenizer_encode_utf8(tokenizer, limit, text, len, interrupt, arena, out, err);
}

size_t tokenizer_encode_bytes(const struct tokenizer *tokenizer, unsigned limit, const char *text,
                              size_t len)
{
    return tokenizer->kind->encode_bytes(tokenizer, limit != 0 ? limit : tokenizer->limit, text,
                                         len);
}

size_t tokenizer_bytes(const struct tokenizer *tokenizer)
{
    return tokenizer->kind->bytes(tokenizer);
}
