/* recode_texts.c - encodes texts from standard input by both tokenizers of an encoder-decoder, and
 * decodes ids, for compare_recoding.py: `recode-texts DIR`.
 *
 * A text is two lengths (32 bits, little-endian: of it, and of the codes of its languages) and the
 * bytes; the codes, "en de", may be empty. Written are the source's ids, the target's, and the
 * texts of the target's without and with special tokens. Instead of the second length ~0: the bytes
 * are ids of 32 bits, and only their two texts are written. Ids and texts begin with their number,
 * which is ~0 for what was refused. */
#include "engine/text/tokenizer.h"
#include "engine/text/vocab.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_BYTES_MAX = 64 * 1024 * 1024, TOKENS_MAX = 1 << 30, CODES = 2 };

static char *read_bytes(uint32_t len)
{
    char *bytes = len <= TEXT_BYTES_MAX ? calloc(1, (size_t)len + 1) : NULL;
    if (bytes == NULL || fread(bytes, 1, len, stdin) != len)
        exit(1);
    return bytes;
}

static void write_block(const void *bytes, uint32_t count, size_t size)
{
    fwrite(&count, sizeof count, 1, stdout);
    if (count != UINT32_MAX)
        fwrite(bytes, size, count, stdout);
}

static void write_texts(const struct tokenizer *tokenizer, const int32_t *ids, uint32_t count,
                        struct arena *arena)
{
    for (int skips = 1; skips >= 0; skips--) {
        struct err err = {0};
        const char *text = NULL;
        size_t len = 0;
        tokenizer_decode(tokenizer, ids, count, skips, &text, &len, arena, &err);
        write_block(text, err.code == ERR_OK ? (uint32_t)len : UINT32_MAX, 1);
    }
}

static int32_t language_of(const struct tokenizer *tokenizer, const char *code)
{
    unsigned count;
    const struct tokenizer_language *languages = tokenizer_languages(tokenizer, &count);
    for (unsigned i = 0; code != NULL && i < count; i++)
        if (strcmp(languages[i].code, code) == 0)
            return languages[i].id;
    return VOCAB_NONE;
}

static void recode(struct tokenizer *const tokenizers[2], const char *text, uint32_t len,
                   char *codes, struct arena *arena)
{
    struct encoding encoding = {0};
    char *rest = codes;
    for (int side = 0; side < CODES; side++) {
        struct arena work;
        struct err err = {0};
        const char *code = strsep(&rest, " ");
        arena_init(&work);
        tokenizer_encode_language(tokenizers[side], language_of(tokenizers[side], code), 0, text,
                                  len, NULL, &work, &encoding, &err);
        if (err.code == ERR_OK &&
            work.bytes > tokenizer_encode_bytes(tokenizers[side], 0, text, len))
            fprintf(stderr, "more memory than told: %zu\n", work.bytes);
        write_block(encoding.ids, err.code == ERR_OK ? encoding.count : UINT32_MAX,
                    sizeof *encoding.ids);
        if (side == 1)
            write_texts(tokenizers[side], encoding.ids, encoding.count, arena);
        arena_deinit(&work);
    }
}

int main(int argc, char **argv)
{
    struct tokenizer *tokenizers[2];
    struct err err = {0};
    uint32_t lengths[2];
    if (argc < 2 || tokenizer_open(&tokenizers[0], argv[1], TOKENS_MAX, &err) ||
        tokenizer_open_target(&tokenizers[1], argv[1], TOKENS_MAX, &err)) {
        fprintf(stderr, "%s\n", argc < 2 ? "usage: recode-texts DIR" : err.text);
        return 2;
    }
    while (fread(lengths, sizeof lengths, 1, stdin) == 1) {
        struct arena arena;
        arena_init(&arena);
        char *text = read_bytes(lengths[0]);
        if (lengths[1] == UINT32_MAX) {
            write_texts(tokenizers[1], (const int32_t *)(void *)text, lengths[0] / sizeof(int32_t),
                        &arena);
        } else {
            char *codes = read_bytes(lengths[1]);
            recode(tokenizers, text, lengths[0], codes, &arena);
            free(codes);
        }
        free(text);
        arena_deinit(&arena);
    }
    tokenizer_close(tokenizers[0]);
    tokenizer_close(tokenizers[1]);
    return 0;
}
