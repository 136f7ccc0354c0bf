/* wordpiece.c - the WordPiece tokenizer, equal to Hugging Face's BertTokenizerFast.
 *
 * Order of work, as in the reference. Literal special tokens are cut out of the text. The rest is
 * cleaned (control characters and U+FFFD removed, white space unified), CJK characters are spaced,
 * accents stripped and letters lower-cased if the configuration says so. It is split at white space
 * and punctuation, and each word (100 characters at most, else [UNK]) is matched greedily, longest
 * piece first (Schuster and Nakajima 2012; Devlin et al. 2019). Longer texts are cut to the limit.
 *
 * An encoding is made in one pass. Special tokens cut the text into segments. A segment's
 * normalised characters (normalizer.h) are collected into a word until white space or punctuation
 * ends it. A finished word is matched against the vocabulary, and its tokens are appended. At the
 * limit encoding ends, so a megabyte of log costs little more than its check for valid UTF-8, which
 * always covers the whole text and comes first (tokenizer.c, a JSON parser).
 *
 * The word buffer has room for the longest word that is matched at all (100 characters, unless the
 * checkpoint says otherwise). Of longer words only the extent is kept. */
#include "engine/base/utf8.h"
#include "engine/text/normalizer.h"
#include "engine/text/pipeline/steps.h"
#include "engine/text/token_list.h"
#include "engine/text/tokenizer_kind.h"
#include "engine/text/vocab.h"

#include <string.h>

struct word {
    size_t characters;
    uint32_t first, last; /* sources */
    size_t len;
    char bytes[UTF8_BYTES_MAX * TEXT_MODEL_WORD_CHARACTERS_MAX];
    uint32_t source[UTF8_BYTES_MAX * TEXT_MODEL_WORD_CHARACTERS_MAX]; /* source of each byte */
    struct token tokens[TEXT_MODEL_WORD_CHARACTERS_MAX];
};

struct encoder {
    const struct steps *steps;
    struct arena *arena;
    struct interrupt *interrupt; /* NULL: none */
    struct word *word;
    struct token_list *list;
};

/* ---- words ---- */

static void word_put(struct encoder *encoder, struct normalized next)
{
    struct word *word = encoder->word;
    if (word->characters == 0)
        word->first = next.source;
    word->last = next.source;
    word->characters++;
    if (word->characters > encoder->steps->model.word_characters_max)
        return;
    unsigned used = utf8_encode(next.character, word->bytes + word->len);
    for (unsigned i = 0; i < used; i++)
        word->source[word->len++] = next.source;
}

/* Matches greedily, longest piece first. Returns the number of tokens; 0: some part matches no
 * piece. */
static size_t word_match(const struct text_model *model, struct word *word)
{
    size_t count = 0;
    for (size_t at = 0, taken; at < word->len; at += taken) {
        const struct vocab *vocab = at == 0 ? &model->initial : &model->continued;
        int32_t id = vocab_longest(vocab, word->bytes + at, word->len - at, &taken);
        if (id == VOCAB_NONE)
            return 0;
        word->tokens[count++] =
            (struct token){id, word->source[at], word->source[at + taken - 1] + 1, at > 0};
    }
    return count;
}

/* Appends the word's tokens and empties it. False if the list has enough. */
static bool word_finish(struct encoder *encoder)
{
    struct word *word = encoder->word;
    if (word->characters == 0)
        return true;
    bool known = word->characters <= encoder->steps->model.word_characters_max;
    size_t count = known ? word_match(&encoder->steps->model, word) : 0;
    if (count == 0)
        word->tokens[count++] =
            (struct token){encoder->steps->model.unknown, word->first, word->last + 1, false};
    word->characters = word->len = 0;
    for (size_t i = 0; i < count; i++)
        if (!token_list_append(encoder->list, word->tokens[i]))
            return false;
    return true;
}

/* ---- segments ---- */

/* Adds a character to the word or ends the word. False if the list has enough. */
static bool take_character(struct encoder *encoder, struct normalized next)
{
    unsigned flags = unicode_properties(next.character)->flags;
    if (!(flags & (UNICODE_SPACE | UNICODE_PUNCTUATION))) {
        word_put(encoder, next);
        return true;
    }
    if (!word_finish(encoder))
        return false;
    if (flags & UNICODE_SPACE)
        return true;
    word_put(encoder, next);
    return word_finish(encoder);
}

static bool is_interrupted(const struct encoder *encoder, size_t at, struct err *err)
{
    return at % NORMALIZER_LOOK_CHARACTERS == 0 && interrupt_look(encoder->interrupt, err);
}

/* Encodes text without special tokens; *index is the number of its first character and moves behind
 * the text. */
static bool encode_segment(struct encoder *encoder, const char *text, size_t len, uint32_t *index,
                           struct err *err)
{
    struct normalizer normalizer;
    normalizer_init(&normalizer, steps_flags(encoder->steps), text, len, *index, encoder->arena);
    normalizer.interrupt = encoder->interrupt;
    for (struct normalized next; normalizer_next(&normalizer, &next, err);)
        if (is_interrupted(encoder, next.source, err) || !take_character(encoder, next))
            return false;
    *index = normalizer.cursor.index;
    return err->code == ERR_OK && word_finish(encoder);
}

/* Returns the start of the next special token (len: there is none), its id and its bytes. */
static size_t find_special(const struct encoder *encoder, const char *text, size_t len, size_t at,
                           int32_t *id, size_t *taken, struct err *err)
{
    const struct added_set *specials = &encoder->steps->added.raw;
    *id = VOCAB_NONE;
    *taken = 0;
    for (; at < len && !is_interrupted(encoder, at, err); at++) {
        if (specials->contents.longest[(unsigned char)text[at]] == 0)
            continue;
        int32_t number = vocab_longest(&specials->contents, text + at, len - at, taken);
        if (number == VOCAB_NONE)
            continue;
        *id = specials->items[number]->id;
        return at;
    }
    return len;
}

/* ---- the whole ---- */

static enum err_code encode(const struct tokenizer *tokenizer, const char *text, size_t len,
                            struct interrupt *interrupt, struct arena *arena,
                            struct token_list *list, struct err *err)
{
    struct encoder encoder = {.steps = tokenizer->steps,
                              .arena = arena,
                              .interrupt = interrupt,
                              .word = arena_alloc(arena, sizeof *encoder.word),
                              .list = list};
    uint32_t index = 0;
    if (encoder.word == NULL)
        return err_no_memory(err, sizeof *encoder.word);
    encoder.word->characters = encoder.word->len = 0;
    for (size_t at = 0; at < len;) {
        int32_t id;
        size_t taken, end = find_special(&encoder, text, len, at, &id, &taken, err);
        if (err->code != ERR_OK || !encode_segment(&encoder, text + at, end - at, &index, err))
            break;
        if (end == len)
            break;
        uint32_t after = index + (uint32_t)utf8_count(text + end, taken);
        if (!token_list_append(list, (struct token){id, index, after, false}))
            break;
        index = after;
        at = end + taken;
    }
    return err->code;
}

/* The word, and the normaliser's memory for the longest run of combining characters. Each of those
 * has two bytes or more, none of them ASCII. It decomposes into at most as many characters of eight
 * bytes, twice that by doubling. Or a line of the arena for each segment between special tokens. */
static size_t encode_bytes(const struct tokenizer *tokenizer, const char *text, size_t len)
{
    enum { RUN_BYTES_PER_BYTE = 32 };
    size_t marks = 0;
    (void)tokenizer;
    for (size_t i = 0; i < len; i++)
        marks += (unsigned char)text[i] >> 7;
    return sizeof(struct word) + 2 * ARENA_ALIGNMENT +
           (marks < SIZE_MAX / RUN_BYTES_PER_BYTE ? marks * RUN_BYTES_PER_BYTE : SIZE_MAX / 2);
}

/* Every token stands for at least one byte of the text. */
static size_t tokens_max(const struct tokenizer *tokenizer, const char *text, size_t len)
{
    (void)tokenizer, (void)text;
    return len;
}

/* ---- open ---- */

void wordpiece_init(struct tokenizer *tokenizer)
{
    static const struct tokenizer_kind kind = {"WordPiece", encode, encode_bytes, tokens_max};
    tokenizer->kind = &kind;
}
