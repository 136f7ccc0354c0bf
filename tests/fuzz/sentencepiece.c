/* A SentencePiece model as spiece.model and sentencepiece.bpe.model, behind a byte that chooses the
 * class of tokenizer; a text through it, and its ids back. */
#include "engine/text/tokenizer.h"

#include "engine/base/utf8.h"
#include "tests/fuzz/driver/fuzz.h"

#include <stdlib.h>
#include <string.h>

enum { TOKENS_MAX = 64 };

static void recode(const struct tokenizer *tokenizer)
{
    static const char text[] = "the  die \xEF\xBC\xA1\xCC\x81\t\xEF\xAC\x81<x>\xED\x95\x9C q</s>"
                               "\xE2\x96\x81 a<extra_id_0> \x01";
    struct arena arena;
    struct encoding encoding;
    struct err err = {0};
    const char *decoded;
    size_t len;
    arena_init(&arena);
    const size_t told = tokenizer_encode_bytes(tokenizer, 0, text, sizeof text - 1);
    tokenizer_encode(tokenizer, 0, text, sizeof text - 1, NULL, &arena, &encoding, &err);
    FUZZ_CLAIM(err.code == ERR_OK || err.code == ERR_TOO_LARGE); /* when normalised */
    FUZZ_CLAIM(arena.bytes <= told);
    FUZZ_CLAIM(err.code != ERR_OK || encoding.count <= tokenizer->limit);
    for (unsigned i = 0; err.code == ERR_OK && i < encoding.count; i++)
        FUZZ_CLAIM((unsigned)encoding.ids[i] < tokenizer->vocab_size);
    for (int skips = 0; err.code == ERR_OK && skips < 2; skips++) {
        FUZZ_CLAIM(!tokenizer_decode(tokenizer, encoding.ids, encoding.count, skips, &decoded, &len,
                                     &arena, &err));
        FUZZ_CLAIM(utf8_is_valid(decoded, len) && decoded[len] == '\0');
    }
    arena_deinit(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const configs[] = {
        "{\"tokenizer_class\":\"T5Tokenizer\",\"legacy\":false}",
        "{\"tokenizer_class\":\"T5Tokenizer\"}",
        "{\"tokenizer_class\":\"PegasusTokenizer\",\"offset\":5}",
        "{\"tokenizer_class\":\"NllbTokenizer\",\"legacy_behaviour\":true}",
        "{\"tokenizer_class\":\"MBartTokenizer\"}",
        "{\"tokenizer_class\":\"MBart50Tokenizer\"}",
    };
    struct fuzz_input input = {data, size};
    struct tokenizer *tokenizer;
    struct err err = {0};
    const char *config = configs[fuzz_byte(&input) % (sizeof configs / sizeof *configs)];
    fuzz_file("spiece.model", input.at, input.left);
    fuzz_file("sentencepiece.bpe.model", input.at, input.left);
    fuzz_file("tokenizer_config.json", config, strlen(config));
    if (tokenizer_open(&tokenizer, fuzz_dir(), TOKENS_MAX, &err) == ERR_OK)
        recode(tokenizer);
    fuzz_check_err(&err);
    tokenizer_close(tokenizer);
    return 0;
}
