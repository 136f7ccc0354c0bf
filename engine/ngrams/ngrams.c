#include "engine/ngrams/ngrams.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define FNV_BASIS 14695981039346656037ull
#define FNV_PRIME 1099511628211ull

/* ---- the reading ---- */

enum err_code ngrams_key_words(struct ngram_reading *reading, const char *text, struct arena *arena,
                               struct err *err)
{
    text = text != NULL ? text : "";
    const char **words = arena_alloc_array(arena, NGRAM_KEY_WORDS_MAX, sizeof *words);
    char *rest = arena_copy(arena, text, strlen(text));
    if (words == NULL || rest == NULL)
        return err_no_memory(err, strlen(text));
    reading->key_words = words;
    for (const char *word; (word = strsep(&rest, "|")) != NULL;) {
        if (*word == '\0')
            continue;
        if (reading->key_word_count == NGRAM_KEY_WORDS_MAX)
            return err_set(err, ERR_UNUSABLE, "more than %d key words", NGRAM_KEY_WORDS_MAX);
        words[reading->key_word_count++] = word;
    }
    return ERR_OK;
}

const char *ngrams_join_key_words(const struct ngram_reading *reading, struct arena *arena)
{
    const char *joined = "";
    for (unsigned i = 0; joined != NULL && i < reading->key_word_count; i++)
        joined = arena_format(arena, "%s%s%s", joined, i > 0 ? "|" : "", reading->key_words[i]);
    return joined;
}

/* ---- words ---- */

struct word {
    uint64_t hash;
    size_t start, end;
    bool is_number;
};

/* Returns the byte of a word that a byte of the text becomes; 0: it ends the word. */
static unsigned char folded(char byte)
{
    const unsigned char c = (unsigned char)byte;
    if (c >= 'A' && c <= 'Z')
        return (unsigned char)(c + ('a' - 'A'));
    const bool is_of_word = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    return is_of_word || c >= 0x80 ? c : 0;
}

static uint64_t fnv(uint64_t hash, unsigned char byte)
{
    return (hash ^ byte) * FNV_PRIME;
}

/* Finds the word at or behind `at`, before `end`; false: there is none. */
static bool next_word(const char *text, size_t at, size_t end, struct word *out)
{
    while (at < end && folded(text[at]) == 0)
        at++;
    *out = (struct word){.hash = FNV_BASIS, .start = at};
    for (unsigned char c; at < end && (c = folded(text[at])) != 0; at++) {
        out->hash = fnv(out->hash, c);
        out->is_number = out->is_number || (c >= '0' && c <= '9');
    }
    out->end = at;
    if (out->is_number)
        out->hash = fnv(FNV_BASIS, '#');
    return out->end > out->start;
}

/* ---- n-grams ---- */

struct reader {
    const struct ngram_reading *reading;
    const char *text;
    void (*take)(void *context, const struct ngram *ngram);
    void *context;
    enum ngram_block block;
    struct word words[NGRAM_WORDS_MAX]; /* the last words of the block, the newest last */
    unsigned word_count;
};

/* Passes on the n-gram of the newest `count` words. */
static void give(const struct reader *reader, unsigned count)
{
    struct ngram ngram = {.block = reader->block, .words = count};
    uint64_t hash = fnv(FNV_BASIS, (unsigned char)reader->block);
    for (unsigned i = 0; i < count; i++) {
        const struct word *word = &reader->words[reader->word_count - count + i];
        for (unsigned byte = 0; byte < sizeof word->hash; byte++)
            hash = fnv(hash, (unsigned char)(word->hash >> 8 * byte));
        ngram.start[i] = word->start;
        ngram.end[i] = word->end;
    }
    /* Every bit of the hash changes every bit of the row (the finaliser of splitmix64, Steele et
     * al. 2014). */
    hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9ull;
    hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebull;
    ngram.row = (uint32_t)(hash ^ (hash >> 31)) & (reader->reading->rows - 1);
    reader->take(reader->context, &ngram);
}

static void read_words(struct reader *reader, size_t at, size_t end)
{
    struct word word;
    for (; next_word(reader->text, at, end, &word); at = word.end) {
        if (word.is_number && reader->word_count > 0 &&
            reader->words[reader->word_count - 1].is_number)
            continue;
        if (reader->word_count == NGRAM_WORDS_MAX) {
            memmove(reader->words, reader->words + 1, (NGRAM_WORDS_MAX - 1) * sizeof word);
            reader->word_count--;
        }
        reader->words[reader->word_count++] = word;
        for (unsigned count = 1; count <= reader->word_count; count++)
            give(reader, count);
    }
}

/* ---- blocks ---- */

/* The set of first bytes of key words: most places of a text need only one look. */
struct beginnings {
    bool of_word[256];
};

static bool is_key_word(const struct ngram_reading *reading, const char *at, size_t len)
{
    for (unsigned i = 0; i < reading->key_word_count; i++) {
        const char *word = reading->key_words[i];
        if (word[0] == at[0] && strlen(word) <= len && memcmp(word, at, strlen(word)) == 0)
            return true;
    }
    return false;
}

static bool has_key_word(const struct ngram_reading *reading, const struct beginnings *beginnings,
                         const char *line, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (beginnings->of_word[(unsigned char)line[i]] && is_key_word(reading, line + i, len - i))
            return true;
    return false;
}

static void read_lines(struct reader *reader, size_t len)
{
    const size_t end = len < NGRAM_SEARCH_BYTES ? len : NGRAM_SEARCH_BYTES;
    const struct ngram_reading *reading = reader->reading;
    struct beginnings beginnings = {{false}};
    unsigned left = reading->key_lines;
    for (unsigned i = 0; i < reading->key_word_count; i++)
        beginnings.of_word[(unsigned char)reading->key_words[i][0]] = true;
    for (size_t at = 0; at < end && left > 0;) {
        const char *line = reader->text + at, *stop = memchr(line, '\n', end - at);
        const size_t whole = stop != NULL ? (size_t)(stop - line) : end - at;
        const size_t part = whole < NGRAM_LINE_BYTES ? whole : NGRAM_LINE_BYTES;
        if (has_key_word(reading, &beginnings, line, part)) {
            read_words(reader, at, at + part);
            left--;
        }
        at += whole + 1;
    }
}

void ngrams_each(const struct ngram_reading *reading, const char *text, size_t len,
                 void (*take)(void *context, const struct ngram *ngram), void *context)
{
    struct reader reader = {
        .reading = reading, .text = text, .take = take, .context = context, .block = NGRAM_LINES};
    size_t head = 0;
    unsigned characters = reading->characters;
    read_lines(&reader, len);
    for (; head < len; head++) /* the bytes of the first characters */
        if (((unsigned char)text[head] & 0xc0) != 0x80 && characters-- == 0)
            break;
    reader.block = NGRAM_HEAD;
    reader.word_count = 0;
    read_words(&reader, 0, head);
}

/* ---- lists ---- */

struct rows {
    uint32_t *row[NGRAM_BLOCKS]; /* [count of the block] of every n-gram; NULL: only counted */
    size_t count[NGRAM_BLOCKS];
};

static void take_row(void *context, const struct ngram *ngram)
{
    struct rows *rows = context;
    if (rows->row[ngram->block] != NULL)
        rows->row[ngram->block][rows->count[ngram->block]] = ngram->row;
    rows->count[ngram->block]++;
}

static int by_row(const void *a, const void *b)
{
    const uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return left < right ? -1 : left > right;
}

/* Adds each row once, with its count. */
static void add_block(struct ngram_list *list, uint32_t *row, size_t count)
{
    qsort(row, count, sizeof *row, by_row);
    for (size_t i = 0, same; i < count; i += same) {
        for (same = 1; i + same < count && row[i + same] == row[i];)
            same++;
        list->entries[list->count++] = (struct ngram_entry){.row = row[i], .often = (uint32_t)same};
    }
}

/* Computes a block's values, a vector of this length. */
static void weigh_block(struct ngram_entry *entries, size_t count, double length)
{
    double squares = 0;
    for (size_t i = 0; i < count; i++) {
        const double value = 1 + log((double)entries[i].often);
        squares += value * value;
        entries[i].value = (float)value;
    }
    for (size_t i = 0; i < count; i++)
        entries[i].value = (float)((double)entries[i].value * length / sqrt(squares));
}

void ngrams_weigh(struct ngram_list *list)
{
    const size_t lines = list->first[NGRAM_HEAD], head = list->count - lines;
    const double length = lines > 0 && head > 0 ? M_SQRT1_2 : 1; /* blocks hardly share a row */
    weigh_block(list->entries, lines, length);
    weigh_block(list->entries + lines, head, length);
}

const char *ngrams_without_nuls(const char *text, size_t *len, struct arena *arena, struct err *err)
{
    const size_t whole = *len;
    if (whole == 0 || memchr(text, '\0', whole) == NULL)
        return text;
    char *copy = arena_alloc_array(arena, whole, 1);
    if (copy == NULL) {
        err_no_memory(err, whole);
        return NULL;
    }
    *len = 0;
    for (size_t i = 0; i < whole; i++)
        if (text[i] != '\0')
            copy[(*len)++] = text[i];
    return copy;
}

enum err_code ngrams_list(const struct ngram_reading *reading, const char *text, size_t len,
                          struct arena *arena, struct ngram_list *out, struct err *err)
{
    struct rows rows = {{NULL}, {0}};
    *out = (struct ngram_list){0};
    text = ngrams_without_nuls(text, &len, arena, err);
    if (text == NULL)
        return err->code;
    ngrams_each(reading, text, len, take_row, &rows);
    const size_t lines = rows.count[NGRAM_LINES], all = lines + rows.count[NGRAM_HEAD];
    rows.row[NGRAM_LINES] = arena_alloc_array(arena, all + 1, sizeof(uint32_t));
    out->entries = arena_alloc_array(arena, all + 1, sizeof *out->entries);
    if (rows.row[NGRAM_LINES] == NULL || out->entries == NULL)
        return err_no_memory(err, all * (sizeof(uint32_t) + sizeof *out->entries));
    rows.row[NGRAM_HEAD] = rows.row[NGRAM_LINES] + lines;
    rows.count[NGRAM_LINES] = rows.count[NGRAM_HEAD] = 0;
    ngrams_each(reading, text, len, take_row, &rows);
    for (unsigned block = 0; block < NGRAM_BLOCKS; block++) {
        out->first[block] = out->count;
        add_block(out, rows.row[block], rows.count[block]);
    }
    ngrams_weigh(out);
    return ERR_OK;
}

/* Words have at least one byte and are at least one byte apart. */
size_t ngrams_most(const struct ngram_reading *reading, size_t len)
{
    enum { BYTES_OF_CHARACTER = 4 };
    const size_t head = BYTES_OF_CHARACTER * (size_t)reading->characters;
    const size_t lines = (NGRAM_LINE_BYTES + 1) * (size_t)reading->key_lines;
    const size_t words = (head < len ? head : len) / 2 + (lines < len ? lines : len) / 2 + 2;
    return NGRAM_WORDS_MAX * words;
}

size_t ngrams_list_bytes(const struct ngram_reading *reading, size_t len)
{
    return ngrams_most(reading, len) * (sizeof(uint32_t) + sizeof(struct ngram_entry)) + len +
           3 * (size_t)ARENA_ALIGNMENT;
}
