/* encode_texts.c - encodes texts from standard input with the tokenizer of a checkpoint, for
 * compare_tokenizers.py: `encode-texts DIR [repeat]`.
 *
 * A text is two lengths (32 bits, little-endian: of it, and of the second of a pair) and the bytes;
 * an encoding is a count, then ids, starts, ends and types of 32 bits each; a count of ~0 is a
 * text that was refused. With `repeat` nothing is written but the time that so many rounds take. */
#include "engine/base/clock.h"
#include "engine/text/tokenizer.h"

#include <stdio.h>
#include <stdlib.h>

enum { TEXT_BYTES_MAX = 64 * 1024 * 1024, TOKENS_MAX = 1 << 30 };

static bool read_number(uint32_t *out)
{
    return fread(out, sizeof *out, 1, stdin) == 1;
}

static char *read_bytes(uint32_t len)
{
    char *bytes = len <= TEXT_BYTES_MAX ? malloc((size_t)len + 1) : NULL;
    if (bytes == NULL || fread(bytes, 1, len, stdin) != len)
        exit(1);
    return bytes;
}

static void write_numbers(const void *numbers, uint32_t count)
{
    fwrite(numbers, sizeof(uint32_t), count, stdout);
}

static void write_encoding(const struct encoding *encoding)
{
    write_numbers(&encoding->count, 1);
    write_numbers(encoding->ids, encoding->count);
    write_numbers(encoding->starts, encoding->count);
    write_numbers(encoding->ends, encoding->count);
    for (unsigned i = 0; i < encoding->count; i++) {
        uint32_t type = encoding->types != NULL ? encoding->types[i] : 0;
        write_numbers(&type, 1);
    }
}

/* Seconds of `rounds` encodings; the last is written if there is one only. Memory beyond what the
 * tokenizer told is a fault. */
static void encode(const struct tokenizer *tokenizer, const char *text, uint32_t len,
                   const char *pair, uint32_t pair_len, long rounds)
{
    for (long i = 0; i < rounds; i++) {
        struct arena arena;
        struct encoding encoding;
        struct err err = {0};
        const uint32_t refused = UINT32_MAX;
        arena_init(&arena);
        tokenizer_encode_pair(tokenizer, 0, text, len, pair, pair_len, NULL, &arena, &encoding,
                              &err);
        if (err.code == ERR_OK && pair_len == 0 &&
            arena.bytes > tokenizer_encode_bytes(tokenizer, 0, text, len))
            fprintf(stderr, "more memory than told: %zu\n", arena.bytes);
        if (rounds == 1 && err.code == ERR_OK)
            write_encoding(&encoding);
        else if (rounds == 1)
            write_numbers(&refused, 1);
        arena_deinit(&arena);
    }
}

int main(int argc, char **argv)
{
    struct tokenizer *tokenizer;
    struct err err = {0};
    uint32_t len, pair_len;
    uint64_t bytes = 0, ns = 0;
    long rounds = argc > 2 ? strtol(argv[2], NULL, 10) : 1;
    if (argc < 2 || tokenizer_open(&tokenizer, argv[1], TOKENS_MAX, &err)) {
        fprintf(stderr, "%s\n", argc < 2 ? "usage: encode-texts DIR [repeat]" : err.text);
        return 2;
    }
    while (read_number(&len) && read_number(&pair_len)) {
        char *text = read_bytes(len), *pair = read_bytes(pair_len);
        uint64_t start = clock_now_ns();
        encode(tokenizer, text, len, pair, pair_len, rounds);
        ns += clock_now_ns() - start;
        bytes += (len + pair_len) * (uint64_t)rounds;
        free(text);
        free(pair);
    }
    if (rounds > 1)
        printf("%.1f MB/s\n", (double)bytes / (double)ns * 1e3);
    tokenizer_close(tokenizer);
    return 0;
}
