#include "learn/eval/measure/lexical.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 1024, FIRST_POSTINGS = 2 };
static const double bm25_k = 1.2, bm25_b = 0.75;

/* A document that has the word, and how often. */
struct posting {
    size_t document;
    unsigned count;
};

struct lexical_word {
    char *text; /* [len] small letters; NULL: an empty slot */
    size_t len;
    uint64_t hash;
    struct posting *postings; /* [count], ascending */
    size_t count, capacity;
    unsigned asked; /* of the query that is being scored */
};

/* ---- words of a text ---- */

static bool is_letter(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c >= 0x80;
}

/* Moves *at behind the next word. False at the end of the text. */
static bool next_word(const struct lexical_text *text, size_t *at, size_t *first, size_t *len)
{
    const unsigned char *bytes = (const unsigned char *)text->bytes;
    while (*at < text->len && !is_letter(bytes[*at]))
        ++*at;
    *first = *at;
    while (*at < text->len && is_letter(bytes[*at]))
        ++*at;
    *len = *at - *first;
    return *len > 0;
}

static unsigned char small(char c)
{
    return (unsigned char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

/* FNV-1a (Fowler, Noll and Vo). */
static uint64_t hash_of(const char *word, size_t len)
{
    uint64_t hash = 0xCBF29CE484222325u;
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ small(word[i])) * 0x100000001B3u;
    return hash;
}

/* ---- the table ---- */

static bool is_word(const struct lexical_word *slot, uint64_t hash, const char *word, size_t len)
{
    if (slot->hash != hash || slot->len != len)
        return false;
    size_t i = 0;
    while (i < len && (unsigned char)slot->text[i] == small(word[i]))
        i++;
    return i == len;
}

/* The slot of a word, or the empty one where it belongs. */
static struct lexical_word *find(const struct lexical *lexical, uint64_t hash, const char *word,
                                 size_t len)
{
    size_t at = hash & (lexical->slots - 1);
    while (lexical->words[at].text != NULL && !is_word(&lexical->words[at], hash, word, len))
        at = (at + 1) & (lexical->slots - 1);
    return &lexical->words[at];
}

static enum err_code grow(struct lexical *lexical, struct err *err)
{
    const size_t slots = lexical->slots > 0 ? 2 * lexical->slots : FIRST_SLOTS;
    struct lexical larger = {.slots = slots, .words = calloc(slots, sizeof *larger.words)};
    if (larger.words == NULL)
        return err_no_memory(err, slots * sizeof *larger.words);
    for (size_t i = 0; i < lexical->slots; i++) {
        const struct lexical_word *word = &lexical->words[i];
        if (word->text != NULL)
            *find(&larger, word->hash, word->text, word->len) = *word;
    }
    free(lexical->words);
    lexical->words = larger.words;
    lexical->slots = slots;
    return ERR_OK;
}

static enum err_code add_word(struct lexical *lexical, size_t document, const char *text,
                              size_t len, struct err *err)
{
    const uint64_t hash = hash_of(text, len);
    if (2 * lexical->word_count >= lexical->slots && grow(lexical, err))
        return err->code;
    struct lexical_word *word = find(lexical, hash, text, len);
    if (word->text == NULL) {
        if ((word->text = malloc(len)) == NULL)
            return err_no_memory(err, len);
        for (size_t i = 0; i < len; i++)
            word->text[i] = (char)small(text[i]);
        word->len = len;
        word->hash = hash;
        lexical->word_count++;
    }
    lexical->lengths[document]++;
    if (word->count > 0 && word->postings[word->count - 1].document == document) {
        word->postings[word->count - 1].count++;
        return ERR_OK;
    }
    if (word->count == word->capacity) {
        const size_t capacity = word->capacity > 0 ? 2 * word->capacity : FIRST_POSTINGS;
        struct posting *grown = reallocarray(word->postings, capacity, sizeof *grown);
        if (grown == NULL)
            return err_no_memory(err, capacity * sizeof *grown);
        word->postings = grown;
        word->capacity = capacity;
    }
    word->postings[word->count++] = (struct posting){document, 1};
    return ERR_OK;
}

/* ---- open and close ---- */

static double inverse_frequency(const struct lexical *lexical, enum lexical_kind kind,
                                const struct lexical_word *word)
{
    const double all = (double)lexical->documents, has = (double)word->count;
    return kind == LEXICAL_BM25 ? log(1 + (all - has + 0.5) / (has + 0.5))
                                : log((1 + all) / (1 + has)) + 1;
}

enum err_code lexical_open(struct lexical *out, const struct lexical_text *texts, size_t count,
                           struct err *err)
{
    *out = (struct lexical){.documents = count,
                            .lengths = calloc(count + 1, sizeof *out->lengths),
                            .norms = calloc(count + 1, sizeof *out->norms)};
    if (out->lengths == NULL || out->norms == NULL)
        return err_no_memory(err, count * sizeof *out->lengths);
    if (grow(out, err))
        return err->code;
    for (size_t d = 0; d < count; d++) {
        for (size_t at = 0, first, len; next_word(&texts[d], &at, &first, &len);)
            if (add_word(out, d, texts[d].bytes + first, len, err))
                return err->code;
        out->mean_length += out->lengths[d] / (double)count;
    }
    for (size_t i = 0; i < out->slots; i++) {
        const struct lexical_word *word = &out->words[i];
        const double idf = inverse_frequency(out, LEXICAL_TFIDF, word);
        for (size_t p = 0; p < word->count; p++) {
            const double weight = word->postings[p].count * idf;
            out->norms[word->postings[p].document] += weight * weight;
        }
    }
    for (size_t d = 0; d < count; d++)
        out->norms[d] = sqrt(out->norms[d]);
    return ERR_OK;
}

void lexical_close(struct lexical *lexical)
{
    for (size_t i = 0; i < lexical->slots; i++) {
        free(lexical->words[i].text);
        free(lexical->words[i].postings);
    }
    free(lexical->words);
    free(lexical->lengths);
    free(lexical->norms);
    *lexical = (struct lexical){0};
}

/* ---- scores ---- */

/* The part of a document's score that comes of its count of a word, over q idf. */
static double weigh(const struct lexical *lexical, enum lexical_kind kind, double idf,
                    const struct posting *posting)
{
    const double count = posting->count;
    if (kind == LEXICAL_TFIDF)
        return count * idf;
    const double length = lexical->lengths[posting->document] / lexical->mean_length;
    return count * (bm25_k + 1) / (count + bm25_k * (1 - bm25_b + bm25_b * length));
}

enum err_code lexical_score(struct lexical *lexical, enum lexical_kind kind,
                            const struct lexical_text *query, float *scores, struct err *err)
{
    double *sums = calloc(lexical->documents + 1, sizeof *sums), squares = 0;
    if (sums == NULL)
        return err_no_memory(err, lexical->documents * sizeof *sums);
    for (unsigned pass = 0; pass < 2; pass++) /* counts the words, then takes each once */
        for (size_t at = 0, first, len; next_word(query, &at, &first, &len);) {
            const char *text = query->bytes + first;
            struct lexical_word *word = find(lexical, hash_of(text, len), text, len);
            if (word->text == NULL)
                continue;
            if (pass == 0) {
                word->asked++;
            } else if (word->asked > 0) {
                const double idf = inverse_frequency(lexical, kind, word);
                const double weight = word->asked * idf;
                squares += weight * weight;
                for (size_t p = 0; p < word->count; p++)
                    sums[word->postings[p].document] +=
                        word->asked * idf * weigh(lexical, kind, idf, &word->postings[p]);
                word->asked = 0;
            }
        }
    for (size_t d = 0; d < lexical->documents; d++) {
        const double lengths = kind == LEXICAL_TFIDF ? sqrt(squares) * lexical->norms[d] : 1;
        scores[d] = lengths > 0 ? (float)(sums[d] / lengths) : 0;
    }
    free(sums);
    return ERR_OK;
}
