/* vocab_use.c - see vocab_use.h. The tokenizer encodes, so that its rules are in one place; only
 * for an unknown word, whose pieces it does not return, the greedy match is repeated here. */
#include "engine/text/vocab_use.h"

#include "engine/base/file.h"
#include "engine/text/tokenizer.h"
#include "engine/text/tokenizer_config.h"
#include "engine/text/unicode.h"
#include "engine/text/utf8.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_BYTES_MAX = 64 * 1024 * 1024 };

struct vocab_use {
    struct tokenizer *tokenizer;
    struct tokenizer_config config;
    char *bytes;         /* of vocab.txt, lines ended by NULs */
    const char **pieces; /* [size] */
    uint64_t *counts;    /* [size] */
    bool *kept;          /* [size]: whatever the count */
    size_t size;
    struct arena arena;
};

/* ---- vocab.txt ---- */

/* Lines end as Python's text files do: with \n, \r or \r\n. */
static size_t next_line(char *bytes, size_t len, size_t at)
{
    while (at < len && bytes[at] != '\n' && bytes[at] != '\r')
        at++;
    bool two = at + 1 < len && bytes[at] == '\r' && bytes[at + 1] == '\n';
    if (at < len)
        bytes[at] = '\0';
    return at + 1 + two;
}

static enum err_code read_pieces(struct vocab_use *use, const char *dir, struct err *err)
{
    char path[PATH_MAX];
    size_t len;
    if (file_path(path, dir, "vocab.txt", err))
        return err->code;
    if (file_read(&use->bytes, &len, path, FILE_BYTES_MAX, err))
        return err_prefix(err, "vocab.txt: ");
    use->pieces = calloc(len + 1, sizeof *use->pieces);
    if (use->pieces == NULL)
        return err_no_memory(err, len * sizeof *use->pieces);
    for (size_t at = 0; at < len; at = next_line(use->bytes, len, at))
        use->pieces[use->size++] = use->bytes + at;
    return ERR_OK;
}

/* ---- what is kept in any case ---- */

static bool is_printable_ascii(const char *piece)
{
    const char *character = strncmp(piece, "##", 2) == 0 && piece[2] != '\0' ? piece + 2 : piece;
    return character[0] > ' ' && character[0] <= '~' && character[1] == '\0';
}

static enum err_code mark_kept(struct vocab_use *use, struct err *err)
{
    if (use->config.vocab_size > use->size)
        return err_set(err, ERR_UNSUPPORTED,
                       "an added token has id %u, but vocab.txt ends with id %zu",
                       use->config.vocab_size - 1, use->size - 1);
    use->counts = calloc(use->size + 1, sizeof *use->counts);
    use->kept = calloc(use->size + 1, sizeof *use->kept);
    if (use->counts == NULL || use->kept == NULL)
        return err_no_memory(err, use->size * sizeof *use->counts);
    for (size_t i = 0; i < use->size; i++)
        use->kept[i] =
            is_printable_ascii(use->pieces[i]) ||
            vocab_find(&use->config.specials, use->pieces[i], strlen(use->pieces[i])) == (int32_t)i;
    return ERR_OK;
}

enum err_code vocab_use_open(struct vocab_use **out, const char *dir, struct err *err)
{
    struct vocab_use *use = *out = calloc(1, sizeof *use);
    if (use == NULL)
        return err_no_memory(err, sizeof *use);
    arena_init(&use->arena);
    if (read_pieces(use, dir, err) || tokenizer_open(&use->tokenizer, dir, UINT_MAX, err) ||
        tokenizer_config_read(&use->config, dir, UINT_MAX, &use->arena, err) ||
        mark_kept(use, err)) {
        vocab_use_close(use);
        *out = NULL;
        return err_prefix(err, "%s: ", dir);
    }
    return ERR_OK;
}

void vocab_use_close(struct vocab_use *use)
{
    if (use == NULL)
        return;
    tokenizer_close(use->tokenizer);
    free(use->bytes);
    free(use->pieces);
    free(use->counts);
    free(use->kept);
    arena_deinit(&use->arena);
    free(use);
}

/* ---- unknown words ---- */

struct word {
    size_t characters, len;
    char bytes[UTF8_BYTES_MAX * TOKENIZER_WORD_CHARACTERS_MAX];
};

/* Counts the pieces that the word was cut into before one was missing. */
static void count_way(struct vocab_use *use, const struct word *word)
{
    if (word->characters > use->config.word_characters_max)
        return;
    for (size_t at = 0, taken; at < word->len; at += taken) {
        const struct vocab *vocab = at == 0 ? &use->config.initial : &use->config.continued;
        int32_t id = vocab_longest(vocab, word->bytes + at, word->len - at, &taken);
        if (id == VOCAB_NONE)
            return;
        use->counts[id]++;
    }
}

/* The word lies in text[0..len); white space, which normalising may add around it, does not belong
 * to it. */
static enum err_code count_unknown(struct vocab_use *use, const char *text, size_t len,
                                   struct arena *arena, struct err *err)
{
    struct normalizer normalizer;
    struct word word = {.characters = 0};
    normalizer_init(&normalizer, use->config.flags, text, len, 0, arena);
    for (struct normalized next; normalizer_next(&normalizer, &next, err);) {
        if (unicode_properties(next.character)->flags & UNICODE_SPACE)
            continue;
        if (word.characters++ < TOKENIZER_WORD_CHARACTERS_MAX)
            word.len += utf8_encode(next.character, word.bytes + word.len);
    }
    if (err->code == ERR_OK)
        count_way(use, &word);
    return err->code;
}

/* Byte of character `to`, when character *from is at byte `at`. */
static size_t skip_to(const char *text, size_t at, uint32_t *from, uint32_t to)
{
    for (; *from < to; (*from)++)
        utf8_decode(text, &at);
    return at;
}

/* Words come in the order of the text. A literal "[UNK]" in it is taken for a word too, which keeps
 * a few pieces more. */
static enum err_code count_all(struct vocab_use *use, const char *text,
                               const struct encoding *encoding, struct arena *arena,
                               struct err *err)
{
    uint32_t character = 0;
    size_t at = 0;
    for (unsigned i = 0; i < encoding->count; i++) {
        use->counts[encoding->ids[i]]++;
        if (encoding->ids[i] != use->config.unk)
            continue;
        at = skip_to(text, at, &character, encoding->starts[i]);
        size_t start = at;
        at = skip_to(text, at, &character, encoding->ends[i]);
        if (count_unknown(use, text + start, at - start, arena, err))
            return err->code;
    }
    return ERR_OK;
}

enum err_code vocab_use_add(struct vocab_use *use, const char *text, size_t len, struct err *err)
{
    struct encoding encoding;
    struct arena arena;
    arena_init(&arena);
    if (!tokenizer_encode(use->tokenizer, UINT_MAX, text, len, NULL, &arena, &encoding, err))
        count_all(use, text, &encoding, &arena, err);
    arena_deinit(&arena);
    return err->code;
}

/* ---- the choice ---- */

size_t vocab_use_size(const struct vocab_use *use)
{
    return use->size;
}

const char *vocab_use_piece(const struct vocab_use *use, size_t id)
{
    return use->pieces[id];
}

static bool is_chosen(const struct vocab_use *use, const struct vocab_choice *choice, size_t id)
{
    if (choice->without_numbers && strpbrk(use->pieces[id], "0123456789") != NULL)
        return false;
    return use->kept[id] || (use->counts[id] > 0 && use->counts[id] >= choice->keep_min);
}

size_t vocab_use_choose(const struct vocab_use *use, const struct vocab_choice *choice,
                        int32_t *ids)
{
    size_t count = 0;
    for (size_t i = 0; i < use->size; i++)
        if (is_chosen(use, choice, i))
            ids[count++] = (int32_t)i;
    return count;
}
