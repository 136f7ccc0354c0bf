/* vocab_use.c - see vocab_use.h. The tokenizer encodes the texts, so its rules are in one place. It
 * does not return the pieces of an unknown word, so the greedy match is repeated here for those. */
#include "engine/text/vocab_use.h"

#include "engine/base/file.h"
#include "engine/base/utf8.h"
#include "engine/text/pipeline/steps.h"
#include "engine/text/tokenizer.h"
#include "engine/text/unicode.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_BYTES_MAX = 64 * 1024 * 1024 };

struct vocab_use {
    struct tokenizer *tokenizer;
    struct steps *steps; /* steps by which vocab.txt will be read */
    char *bytes;         /* bytes of vocab.txt, lines ended by NULs */
    const char **pieces; /* [size] */
    uint64_t *counts;    /* [size] */
    bool *kept;          /* [size] kept whatever the count */
    size_t size;
    struct arena arena;
};

/* ---- vocab.txt ---- */

static enum err_code read_pieces(struct vocab_use *use, const char *dir, struct err *err)
{
    char path[PATH_MAX];
    size_t len;
    bool exists;
    if (file_path(path, dir, "vocab.txt", err) || file_exists(path, &exists, err))
        return err->code;
    if (!exists)
        return err_set(err, ERR_UNSUPPORTED,
                       "vocab.txt: there is none; only a vocabulary of WordPiece is trimmed");
    if (file_read(&use->bytes, &len, path, FILE_BYTES_MAX, err))
        return err_prefix(err, "vocab.txt: ");
    use->pieces = calloc(len + 1, sizeof *use->pieces);
    if (use->pieces == NULL)
        return err_no_memory(err, len * sizeof *use->pieces);
    char *bytes = use->bytes;
    for (size_t at = 0; at < len; at++) {
        use->pieces[use->size++] = bytes + at;
        while (at < len && bytes[at] != '\n' && bytes[at] != '\r')
            at++;
        /* Lines end as Python's text files do: with \n, \r or \r\n. */
        const bool two = at + 1 < len && bytes[at] == '\r' && bytes[at + 1] == '\n';
        if (at < len)
            bytes[at] = '\0';
        at += two;
    }
    return ERR_OK;
}

/* ---- pieces that are always kept ---- */

static bool is_printable_ascii(const char *piece)
{
    const char *character = strncmp(piece, "##", 2) == 0 && piece[2] != '\0' ? piece + 2 : piece;
    return character[0] > ' ' && character[0] <= '~' && character[1] == '\0';
}

static enum err_code mark_kept(struct vocab_use *use, struct err *err)
{
    if (use->steps->vocab_size > use->size)
        return err_set(err, ERR_UNSUPPORTED,
                       "an added token has id %u, but vocab.txt ends with id %zu",
                       use->steps->vocab_size - 1, use->size - 1);
    use->counts = calloc(use->size + 1, sizeof *use->counts);
    use->kept = calloc(use->size + 1, sizeof *use->kept);
    if (use->counts == NULL || use->kept == NULL)
        return err_no_memory(err, use->size * sizeof *use->counts);
    for (size_t i = 0; i < use->size; i++)
        use->kept[i] = is_printable_ascii(use->pieces[i]) ||
                       added_tokens_find(&use->steps->added, use->pieces[i],
                                         strlen(use->pieces[i])) == (int32_t)i;
    return ERR_OK;
}

/* ---- vocab.txt and tokenizer.json ---- */

static bool has_same_added(const struct added_tokens *a, const struct added_tokens *b)
{
    for (size_t i = 0; i < a->count; i++)
        if (added_tokens_find(b, a->entries[i].content, a->entries[i].len) != a->entries[i].id)
            return false;
    return a->count == b->count;
}

static bool has_same_pieces(const struct vocab_use *use, const struct text_model *model)
{
    for (size_t i = 0; i < use->size; i++) {
        size_t len = strlen(use->pieces[i]);
        if (vocab_find(&model->initial, use->pieces[i], len) !=
            vocab_find(&use->steps->model.initial, use->pieces[i], len))
            return false;
    }
    return model->initial.count == use->steps->model.initial.count;
}

static bool is_same_order(const struct tokenizer_template *a, const struct tokenizer_template *b)
{
    for (unsigned i = 0; i < a->count && i < b->count; i++)
        if (a->items[i].source != b->items[i].source || a->items[i].type != b->items[i].type ||
            a->items[i].id != b->items[i].id)
            return false;
    return a->count == b->count;
}

/* A tokenizer.json beside vocab.txt takes precedence and is not trimmed: both must agree. */
static enum err_code check_same(const struct vocab_use *use, struct err *err)
{
    const struct steps *json = use->tokenizer->steps, *words = use->steps;
    const struct normalizer_flags a = steps_flags(json), b = steps_flags(words);
    if (!json->is_bert || !words->is_bert)
        return err_set(err, ERR_UNSUPPORTED, "%s: only BERT's WordPiece can be trimmed",
                       json->is_bert ? "vocab.txt" : "tokenizer.json");
    const char *what = NULL;
    if (a.clean_text != b.clean_text || a.space_cjk != b.space_cjk ||
        a.strip_accents != b.strip_accents || a.lower_case != b.lower_case)
        what = "the normalizer";
    else if (!has_same_added(&json->added, &words->added))
        what = "the added tokens";
    else if (!is_same_order(&json->post.pair, &words->post.pair))
        what = "the special tokens";
    else if (!has_same_pieces(use, &json->model))
        what = "the vocabulary";
    else if (json->keeps_end != words->keeps_end)
        what = "the side that is cut";
    return what == NULL ? ERR_OK
                        : err_set(err, ERR_UNSUPPORTED,
                                  "tokenizer.json and vocab.txt differ in %s; only vocab.txt would "
                                  "be trimmed",
                                  what);
}

static enum err_code read_steps(struct vocab_use *use, const char *dir, struct err *err)
{
    struct tokenizer_files files;
    use->steps = arena_alloc(&use->arena, sizeof *use->steps);
    if (use->steps == NULL)
        return err_no_memory(err, sizeof *use->steps);
    if (!tokenizer_files_open(&files, dir, TOKENIZER_JSON_IGNORED, err))
        steps_read(use->steps, &files, &use->arena, err);
    tokenizer_files_close(&files);
    if (err->code == ERR_OK)
        steps_fit(use->steps, (unsigned)use->size);
    tokenizer_fit(use->tokenizer, (unsigned)use->size);
    return err->code;
}

enum err_code vocab_use_open(struct vocab_use **out, const char *dir, struct err *err)
{
    struct vocab_use *use = *out = calloc(1, sizeof *use);
    if (use == NULL)
        return err_no_memory(err, sizeof *use);
    arena_init(&use->arena);
    if (read_pieces(use, dir, err) || tokenizer_open(&use->tokenizer, dir, UINT_MAX, err) ||
        read_steps(use, dir, err) || check_same(use, err) || mark_kept(use, err)) {
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
    char bytes[UTF8_BYTES_MAX * TEXT_MODEL_WORD_CHARACTERS_MAX];
};

/* Counts an unknown word in text[0..len): its pieces up to the first missing one. White space
 * around it, which normalising may add, does not belong to it. */
static enum err_code count_unknown(struct vocab_use *use, const char *text, size_t len,
                                   struct arena *arena, struct err *err)
{
    const struct text_model *model = &use->steps->model;
    struct normalizer normalizer;
    struct word word = {.characters = 0};
    normalizer_init(&normalizer, steps_flags(use->steps), text, len, 0, arena);
    for (struct normalized next; normalizer_next(&normalizer, &next, err);) {
        if (unicode_properties(next.character)->flags & UNICODE_SPACE)
            continue;
        if (word.characters++ < TEXT_MODEL_WORD_CHARACTERS_MAX)
            word.len += utf8_encode(next.character, word.bytes + word.len);
    }
    if (err->code != ERR_OK || word.characters > model->word_characters_max)
        return err->code;
    for (size_t at = 0, taken; at < word.len; at += taken) {
        const struct vocab *vocab = at == 0 ? &model->initial : &model->continued;
        int32_t id = vocab_longest(vocab, word.bytes + at, word.len - at, &taken);
        if (id == VOCAB_NONE)
            break;
        use->counts[id]++;
    }
    return ERR_OK;
}

/* Returns the byte offset of character `to`; character *from is at byte `at`. */
static size_t skip_to(const char *text, size_t at, uint32_t *from, uint32_t to)
{
    for (; *from < to; (*from)++)
        utf8_decode(text, &at);
    return at;
}

/* Words come in the order of the text. A literal "[UNK]" in the text is counted as a word too,
 * which keeps a few pieces more. */
enum err_code vocab_use_add(struct vocab_use *use, const char *text, size_t len, struct err *err)
{
    struct encoding encoding;
    struct arena arena;
    uint32_t character = 0;
    size_t at = 0;
    arena_init(&arena);
    if (tokenizer_encode(use->tokenizer, UINT_MAX, text, len, NULL, &arena, &encoding, err))
        goto out;
    for (unsigned i = 0; i < encoding.count; i++) {
        use->counts[encoding.ids[i]]++;
        if (encoding.ids[i] != use->steps->model.unknown)
            continue;
        at = skip_to(text, at, &character, encoding.starts[i]);
        size_t start = at;
        at = skip_to(text, at, &character, encoding.ends[i]);
        if (count_unknown(use, text + start, at - start, &arena, err))
            goto out;
    }
out:
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

size_t vocab_use_choose(const struct vocab_use *use, const struct vocab_choice *choice,
                        int32_t *ids)
{
    size_t count = 0;
    for (size_t i = 0; i < use->size; i++) {
        if (choice->without_numbers && strpbrk(use->pieces[i], "0123456789") != NULL)
            continue;
        if (use->kept[i] || (use->counts[i] > 0 && use->counts[i] >= choice->keep_min))
            ids[count++] = (int32_t)i;
    }
    return count;
}
