#include "engine/text/tokenizer.h"

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

enum err_code tokenizer_encode(const struct tokenizer *tokenizer, unsigned limit, const char *text,
                               size_t len, struct interrupt *interrupt, struct arena *arena,
                               struct encoding *out, struct err *err)
{
    return tokenizer->kind->encode(tokenizer, limit != 0 ? limit : tokenizer->limit, text, len,
                                   interrupt, arena, out, err);
}

size_t tokenizer_encode_bytes(const struct tokenizer *tokenizer, const char *text, size_t len)
{
    return tokenizer->kind->encode_bytes(tokenizer, text, len);
}

size_t tokenizer_bytes(const struct tokenizer *tokenizer)
{
    return tokenizer->kind->bytes(tokenizer);
}
