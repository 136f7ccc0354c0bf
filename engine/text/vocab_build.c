/* vocab_build.c - see vocab_build.h.
 *
 * The pair to merge. Schuster and Nakajima merge the pair that raises the likelihood of the corpus
 * most, usually scored as count(ab) / (count(a) count(b)). Hugging Face's WordPiece trainer merges
 * the most frequent pair, and so does this one. Logs are the reason: the score prefers rare parts
 * that always occur together, which are serial numbers and addresses, while the frequent pairs are
 * the words of test programs and drivers. Also, a count can be kept exact: it changes only in words
 * that a merge touches, but a score changes with every count of either part.
 *
 * Work is proportional to the change. Every pair lists the words it was seen in. A merge takes the
 * pairs of each of those words out of the counts, rewrites the word and adds its pairs again. The
 * heap is lazy: an entry holds the count at the time of its push; an entry at the top whose count
 * is too large is pushed again with the true count. A count that rises is pushed at once. Positions
 * may be stale (the pair is no longer in the word) or double; a check finds them.
 *
 * Memory: four bytes for each character of each different word, and as much for its pairs'
 * positions.
 */
#include "engine/text/vocab_build.h"

#include "engine/base/arena.h"
#include "engine/base/utf8.h"
#include "engine/text/unicode.h"
#include "engine/text/vocab.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { PIECES_MAX = 1 << 20, CHARACTERS = 0x110000, PREFIX = 2, PAIRS_FIRST = 4096 };

static const char *const specials[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};

/* A word as pieces: pieces[first .. first + len). */
struct split {
    size_t first;
    uint32_t len;
    int64_t count;
};

struct pair {
    int32_t left, right;
    int64_t count;
    uint32_t *words; /* [word_count] words in which it was seen */
    uint32_t word_count, word_capacity;
    uint32_t touched; /* number of the last merge that raised its count */
};

struct candidate {
    int64_t count; /* at the time of the push */
    uint32_t pair;
};

struct builder {
    const struct word_counts *words;
    const struct vocab_build_options *options;
    struct vocab_list *list;
    struct vocab ids; /* piece -> its place in the list */
    struct arena arena;
    bool spaced_cjk;

    int32_t *pieces; /* pieces of all splits */
    struct split *splits;
    size_t split_count;

    struct pair *pairs;
    size_t pair_count, pair_capacity;
    uint32_t *slots; /* number of a pair plus one; 0: empty */
    size_t slot_mask;

    struct candidate *heap;
    size_t heap_count, heap_capacity;

    uint32_t *touched; /* pairs whose count the current merge has raised */
    size_t touched_count, touched_capacity;
    uint32_t merges;
};

/* Returns the array with room for one more item, perhaps moved. NULL without memory; then the old
 * array stays. */
static void *reserve(void *items, size_t count, size_t *capacity, size_t size, struct err *err)
{
    if (count < *capacity)
        return items;
    size_t larger = *capacity == 0 ? 1024 : 2 * *capacity;
    void *moved = reallocarray(items, larger, size);
    if (moved == NULL)
        err_no_memory(err, larger * size);
    else
        *capacity = larger;
    return moved;
}

/* ---- pieces ---- */

static enum err_code add_piece(struct builder *builder, const char *text, size_t len,
                               struct err *err)
{
    struct vocab_list *list = builder->list;
    if (list->count == builder->options->size)
        return err_set(err, ERR_UNUSABLE,
                       "%zu pieces have no room for the special tokens and the characters of the "
                       "texts; ask for more, or for fewer characters",
                       builder->options->size);
    const char *copy = arena_copy(&list->arena, text, len);
    if (copy == NULL)
        return err_no_memory(err, len);
    if (vocab_add(&builder->ids, copy, len, (int32_t)list->count, err))
        return err->code;
    list->pieces[list->count++] = copy;
    if (builder->options->progress != NULL)
        builder->options->progress(builder->options->context, list->count);
    return ERR_OK;
}

/* Writes "##" and the character, or the character alone. */
static size_t spell(uint32_t character, bool continues, char out[PREFIX + UTF8_BYTES_MAX])
{
    size_t prefix = continues ? PREFIX : 0;
    memcpy(out, "##", prefix);
    return prefix + utf8_encode(character, out + prefix);
}

/* Adds the characters that become pieces. Printable ASCII always does: later logs may have letters
 * that these do not. Some characters are always words of their own and continue none. */
static enum err_code add_characters(struct builder *builder, const uint64_t *counts,
                                    struct err *err)
{
    const bool lower_case = builder->words->flags.lower_case;
    char text[PREFIX + UTF8_BYTES_MAX];
    for (int continues = 0; continues <= 1; continues++)
        for (uint32_t character = 0; character < CHARACTERS; character++) {
            const bool lowered = lower_case && character >= 'A' && character <= 'Z';
            const bool is_usual = character > ' ' && character <= '~' && !lowered;
            if (!is_usual && counts[character] < builder->options->character_min)
                continue;
            const unsigned flags = unicode_properties(character)->flags;
            const bool is_alone =
                flags & UNICODE_PUNCTUATION || (builder->spaced_cjk && flags & UNICODE_CJK);
            if (!(continues && is_alone) &&
                add_piece(builder, text, spell(character, continues, text), err))
                return err->code;
        }
    return ERR_OK;
}

static enum err_code add_alphabet(struct builder *builder, struct err *err)
{
    const struct word_counts *words = builder->words;
    for (size_t i = 0; i < sizeof specials / sizeof specials[0]; i++)
        if (add_piece(builder, specials[i], strlen(specials[i]), err))
            return err->code;
    uint64_t *counts = calloc(CHARACTERS, sizeof *counts);
    if (counts == NULL)
        return err_no_memory(err, CHARACTERS * sizeof *counts);
    for (size_t i = 0; i < words->count; i++) {
        const char *text = word_counts_text(words, i);
        for (size_t at = 0; at < words->items[i].len;)
            counts[utf8_decode(text, &at)] += words->items[i].count;
    }
    add_characters(builder, counts, err);
    free(counts);
    return err->code;
}

/* ---- pairs ---- */

static uint32_t *find_slot(const struct builder *builder, int32_t left, int32_t right)
{
    const uint64_t key = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
    const size_t hash = (size_t)((key ^ key >> 29) * 0x9E3779B97F4A7C15u >> 24);
    for (size_t at = hash & builder->slot_mask;; at = (at + 1) & builder->slot_mask) {
        uint32_t *slot = &builder->slots[at];
        if (*slot == 0)
            return slot;
        const struct pair *pair = &builder->pairs[*slot - 1];
        if (pair->left == left && pair->right == right)
            return slot;
    }
}

static enum err_code grow_pairs(struct builder *builder, struct err *err)
{
    size_t capacity = builder->pair_capacity == 0 ? PAIRS_FIRST : 2 * builder->pair_capacity;
    struct pair *pairs = reallocarray(builder->pairs, capacity, sizeof *pairs);
    if (pairs == NULL)
        return err_no_memory(err, capacity * sizeof *pairs);
    builder->pairs = pairs;
    uint32_t *slots = calloc(2 * capacity, sizeof *slots);
    if (slots == NULL)
        return err_no_memory(err, 2 * capacity * sizeof *slots);
    free(builder->slots);
    builder->slots = slots;
    builder->slot_mask = 2 * capacity - 1;
    builder->pair_capacity = capacity;
    for (size_t i = 0; i < builder->pair_count; i++)
        *find_slot(builder, pairs[i].left, pairs[i].right) = (uint32_t)i + 1;
    return ERR_OK;
}

/* Returns the pair, added if it is new; NULL without memory. */
static struct pair *take_pair(struct builder *builder, int32_t left, int32_t right, struct err *err)
{
    if (builder->pair_count == builder->pair_capacity && grow_pairs(builder, err))
        return NULL;
    uint32_t *slot = find_slot(builder, left, right);
    if (*slot == 0) {
        builder->pairs[builder->pair_count++] = (struct pair){.left = left, .right = right};
        *slot = (uint32_t)builder->pair_count;
    }
    return &builder->pairs[*slot - 1];
}

/* Adds a word to the pair's positions. The same word twice in a row is one position. */
static enum err_code note_word(struct pair *pair, uint32_t word, struct err *err)
{
    if (pair->word_count > 0 && pair->words[pair->word_count - 1] == word)
        return ERR_OK;
    if (pair->word_count == pair->word_capacity) {
        uint32_t capacity = pair->word_capacity == 0 ? 4 : 2 * pair->word_capacity;
        uint32_t *words = reallocarray(pair->words, capacity, sizeof *words);
        if (words == NULL)
            return err_no_memory(err, capacity * sizeof *words);
        pair->words = words;
        pair->word_capacity = capacity;
    }
    pair->words[pair->word_count++] = word;
    return ERR_OK;
}

/* ---- heap: most frequent first, then oldest pieces ---- */

static bool comes_before(const struct builder *builder, struct candidate a, struct candidate b)
{
    if (a.count != b.count)
        return a.count > b.count;
    const struct pair *left = &builder->pairs[a.pair], *right = &builder->pairs[b.pair];
    return left->left != right->left ? left->left < right->left : left->right < right->right;
}

static enum err_code push(struct builder *builder, uint32_t pair, struct err *err)
{
    struct candidate candidate = {builder->pairs[pair].count, pair};
    if (candidate.count < (int64_t)builder->options->pair_min)
        return ERR_OK;
    struct candidate *heap =
        reserve(builder->heap, builder->heap_count, &builder->heap_capacity, sizeof *heap, err);
    if (heap == NULL)
        return err->code;
    builder->heap = heap;
    size_t at = builder->heap_count++;
    for (; at > 0 && comes_before(builder, candidate, builder->heap[(at - 1) / 2]);
         at = (at - 1) / 2)
        builder->heap[at] = builder->heap[(at - 1) / 2];
    builder->heap[at] = candidate;
    return ERR_OK;
}

/* Takes the top of the heap, which must not be empty. */
static struct candidate pop(struct builder *builder)
{
    struct candidate *heap = builder->heap, top = heap[0];
    size_t count = --builder->heap_count, at = 0;
    struct candidate last = heap[count];
    for (size_t child = 1; child < count; child = 2 * at + 1) {
        if (child + 1 < count && comes_before(builder, heap[child + 1], heap[child]))
            child++;
        if (!comes_before(builder, heap[child], last))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = last;
    return top;
}

/* ---- words ---- */

/* Splits a word into its characters as pieces; false if one of them is no piece. */
static bool split_word(struct builder *builder, size_t index, struct split *split)
{
    const char *text = word_counts_text(builder->words, index);
    char piece[PREFIX + UTF8_BYTES_MAX];
    for (size_t at = 0; at < builder->words->items[index].len;) {
        bool continues = at > 0;
        size_t len = spell(utf8_decode(text, &at), continues, piece);
        int32_t id = vocab_find(&builder->ids, piece, len);
        if (id == VOCAB_NONE)
            return false;
        builder->pieces[split->first + split->len++] = id;
    }
    return true;
}

/* Splits all words. A word of one piece has no pairs and is left out. */
static enum err_code split_words(struct builder *builder, struct err *err)
{
    const struct word_counts *words = builder->words;
    builder->pieces = calloc(words->bytes_used + 1, sizeof *builder->pieces);
    builder->splits = calloc(words->count + 1, sizeof *builder->splits);
    if (builder->pieces == NULL || builder->splits == NULL)
        return err_no_memory(err, words->bytes_used * sizeof *builder->pieces);
    size_t used = 0;
    for (size_t i = 0; i < words->count; i++) {
        struct split split = {.first = used, .count = (int64_t)words->items[i].count};
        if (!split_word(builder, i, &split) || split.len < 2)
            continue;
        used += split.len;
        builder->splits[builder->split_count++] = split;
    }
    return ERR_OK;
}

static enum err_code count_pairs(struct builder *builder, struct err *err)
{
    for (size_t w = 0; w < builder->split_count; w++) {
        const struct split *split = &builder->splits[w];
        const int32_t *pieces = builder->pieces + split->first;
        for (uint32_t i = 0; i + 1 < split->len; i++) {
            struct pair *pair = take_pair(builder, pieces[i], pieces[i + 1], err);
            if (pair == NULL || note_word(pair, (uint32_t)w, err))
                return err->code;
            pair->count += split->count;
        }
    }
    for (size_t i = 0; i < builder->pair_count; i++)
        if (push(builder, (uint32_t)i, err))
            return err->code;
    return ERR_OK;
}

/* ---- merging ---- */

/* Replaces left, right by `merged` in a word, from its beginning; false if it has no such pair. */
static bool rewrite(int32_t *pieces, uint32_t *len, int32_t left, int32_t right, int32_t merged)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < *len; i++) {
        bool meets = i + 1 < *len && pieces[i] == left && pieces[i + 1] == right;
        pieces[kept++] = meets ? merged : pieces[i];
        i += meets;
    }
    bool changed = kept < *len;
    *len = kept;
    return changed;
}

/* Notes a pair that a merge has created in a word: its count has risen, so it is pushed again. */
static enum err_code touch(struct builder *builder, struct pair *pair, uint32_t word,
                           struct err *err)
{
    if (note_word(pair, word, err))
        return err->code;
    if (pair->touched == builder->merges)
        return ERR_OK;
    pair->touched = builder->merges;
    uint32_t *touched = reserve(builder->touched, builder->touched_count,
                                &builder->touched_capacity, sizeof *touched, err);
    if (touched == NULL)
        return err->code;
    builder->touched = touched;
    builder->touched[builder->touched_count++] = (uint32_t)(pair - builder->pairs);
    return ERR_OK;
}

static enum err_code merge_in_word(struct builder *builder, uint32_t word, int32_t left,
                                   int32_t right, int32_t merged, struct err *err)
{
    struct split *split = &builder->splits[word];
    int32_t *pieces = builder->pieces + split->first;
    int32_t before[WORD_CHARACTERS_MAX];
    uint32_t before_len = split->len;
    memcpy(before, pieces, before_len * sizeof *before);
    if (!rewrite(pieces, &split->len, left, right, merged))
        return ERR_OK;
    for (uint32_t i = 0; i + 1 < before_len; i++)
        builder->pairs[*find_slot(builder, before[i], before[i + 1]) - 1].count -= split->count;
    for (uint32_t i = 0; i + 1 < split->len; i++) {
        struct pair *pair = take_pair(builder, pieces[i], pieces[i + 1], err);
        if (pair == NULL)
            return err->code;
        pair->count += split->count;
        bool is_new = pieces[i] == merged || pieces[i + 1] == merged;
        if (is_new && touch(builder, pair, word, err))
            return err->code;
    }
    return ERR_OK;
}

static enum err_code merge(struct builder *builder, uint32_t index, struct err *err)
{
    struct pair pair = builder->pairs[index];
    const char *head = builder->list->pieces[pair.left];
    const char *tail = builder->list->pieces[pair.right] + PREFIX;
    const size_t head_len = strlen(head), len = head_len + strlen(tail);
    char text[PREFIX + UTF8_BYTES_MAX * WORD_CHARACTERS_MAX + 1];
    memcpy(text, head, head_len);
    memcpy(text + head_len, tail, len - head_len);
    int32_t merged = vocab_find(&builder->ids, text, len);
    if (merged == VOCAB_NONE) { /* else another pair made it before ("a" "##bc", "ab" "##c") */
        merged = (int32_t)builder->list->count;
        if (add_piece(builder, text, len, err))
            return err->code;
    }
    builder->pairs[index].words = NULL;
    builder->pairs[index].word_count = builder->pairs[index].word_capacity = 0;
    builder->touched_count = 0;
    builder->merges++;
    for (uint32_t i = 0; i < pair.word_count && err->code == ERR_OK; i++)
        merge_in_word(builder, pair.words[i], pair.left, pair.right, merged, err);
    free(pair.words);
    assert(err->code != ERR_OK || builder->pairs[index].count == 0);
    for (size_t i = 0; i < builder->touched_count && err->code == ERR_OK; i++)
        push(builder, builder->touched[i], err);
    return err->code;
}

/* ---- the whole ---- */

enum err_code vocab_build(struct vocab_list *out, const struct word_counts *words,
                          const struct vocab_build_options *options, struct err *err)
{
    const size_t size = options->size;
    struct builder builder = {
        .words = words, .options = options, .list = out, .spaced_cjk = words->flags.space_cjk};
    *out = (struct vocab_list){0};
    arena_init(&out->arena);
    if (size > PIECES_MAX)
        return err_set(err, ERR_UNUSABLE, "%zu pieces; at most %d are supported", size, PIECES_MAX);
    out->pieces = arena_alloc_array(&out->arena, size + 1, sizeof *out->pieces);
    if (out->pieces == NULL)
        return err_no_memory(err, size * sizeof *out->pieces);
    arena_init(&builder.arena);
    if (vocab_init(&builder.ids, size, &builder.arena, err) || add_alphabet(&builder, err) ||
        split_words(&builder, err) || count_pairs(&builder, err))
        goto out;
    while (builder.heap_count > 0 && out->count < size && err->code == ERR_OK) {
        struct candidate top = pop(&builder);
        int64_t count = builder.pairs[top.pair].count;
        if (count == top.count)
            merge(&builder, top.pair, err);
        else if (count < top.count)
            push(&builder, top.pair, err);
    }
out:
    for (size_t i = 0; i < builder.pair_count; i++)
        free(builder.pairs[i].words);
    free(builder.pairs);
    free(builder.slots);
    free(builder.heap);
    free(builder.touched);
    free(builder.pieces);
    free(builder.splits);
    arena_deinit(&builder.arena);
    return err->code;
}

void vocab_build_close(struct vocab_list *list)
{
    arena_deinit(&list->arena);
    *list = (struct vocab_list){0};
}
