/* unigram.c - see unigram.h.
 *
 * The trie is laid out breadth first: the children of a node lie side by side, sorted by their
 * byte, and end where the next node's begin. So a node takes 9 bytes, and the trie is built from
 * the sorted pieces without a search.
 *
 * Viterbi's algorithm goes from left to right. It keeps only the last step of the best path to each
 * position, 2 bytes. The sums are needed only as far back as the longest piece reaches, so they lie
 * in a ring. Then the steps are reversed in place, and pieces are returned from the left. */
#include "engine/text/unigram.h"

#include "engine/base/doc.h"
#include "engine/base/utf8.h"
#include "engine/text/sentencepiece.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    PIECES_MAX = 1 << 24,
    STEP_LEN = 0x7FFF,     /* bits of a step: its length in bytes */
    STEP_UNKNOWN = 0x8000, /* bit of a step: it is the unknown piece */
    RING = 2048,           /* positions whose sums are kept; a power of two */
    LINEAR_MAX = 8,        /* so few children are searched one by one */
    LOOK_CHARACTERS = 4096,
    BYTES = 256,
};
_Static_assert((int)RING > (int)UNIGRAM_PIECE_BYTES_MAX, "a ring reaches as far as a piece");
_Static_assert((int)STEP_LEN >= (int)UNIGRAM_PIECE_BYTES_MAX, "a step holds a piece");

static const float unknown_penalty = 10; /* both references' */

struct node {
    uint32_t children; /* the first of them; the last is before the next node's first */
    int32_t piece;     /* the piece that ends here, or UNIGRAM_NONE */
};

struct unigram {
    struct node *nodes; /* [node_count + 1]; the last is only an end */
    uint8_t *labels;    /* [node_count] the byte that leads to a node */
    uint32_t node_count;
    uint32_t count;
    double *scores; /* [count] */
    double unknown_score;
    int32_t unknown;
    bool is_single; /* sums have single precision: a SentencePiece model */
};

/* ---- building the trie ---- */

struct entry {
    const char *text; /* borrowed from the file */
    uint32_t len;
    int32_t id;
};

/* Orders entries by text; equal ones by id. */
static int entry_compare(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    int order = memcmp(a->text, b->text, a->len < b->len ? a->len : b->len);
    if (order != 0)
        return order;
    if (a->len != b->len)
        return a->len < b->len ? -1 : 1;
    return a->id < b->id ? -1 : 1;
}

/* Counts the nodes of sorted entries: the root, and each byte not shared with the entry before. */
static size_t nodes_needed(const struct entry *entries, size_t count)
{
    size_t nodes = 1;
    for (size_t i = 0; i < count; i++) {
        size_t shared = 0;
        while (i > 0 && shared < entries[i].len && shared < entries[i - 1].len &&
               entries[i].text[shared] == entries[i - 1].text[shared])
            shared++;
        nodes += entries[i].len - shared;
    }
    return nodes;
}

/* Entries [from, to) begin with the bytes that lead to a node. */
struct range {
    uint32_t from, to;
};

/* Gives a node its piece and its children; returns the number of nodes so far. */
static uint32_t node_expand(struct unigram *model, struct range *ranges, uint32_t node,
                            uint32_t nodes, size_t bytes, const struct entry *entries)
{
    struct range range = ranges[node];
    model->nodes[node] = (struct node){nodes, UNIGRAM_NONE};
    for (; range.from < range.to && entries[range.from].len == bytes; range.from++)
        model->nodes[node].piece = entries[range.from].id;
    while (range.from < range.to) {
        char label = entries[range.from].text[bytes];
        uint32_t to = range.from + 1;
        while (to < range.to && entries[to].text[bytes] == label)
            to++;
        model->labels[nodes] = (uint8_t)label;
        ranges[nodes++] = (struct range){range.from, to};
        range.from = to;
    }
    return nodes;
}

static enum err_code trie_build(struct unigram *model, const struct entry *entries, uint32_t count,
                                struct arena *arena, struct err *err)
{
    size_t needed = nodes_needed(entries, count);
    if (needed >= UINT32_MAX)
        return err_set(err, ERR_TOO_LARGE, ".vocab: more than %u bytes", UINT32_MAX);
    model->nodes = arena_alloc(arena, (needed + 1) * sizeof *model->nodes);
    model->labels = arena_alloc(arena, needed);
    struct range *ranges = malloc(needed * sizeof *ranges);
    if (model->nodes == NULL || model->labels == NULL || ranges == NULL) {
        free(ranges);
        return err_no_memory(err, needed * (sizeof *model->nodes + 1 + sizeof *ranges));
    }
    uint32_t nodes = 1, level_end = 1;
    size_t bytes = 0;
    ranges[0] = (struct range){0, count};
    model->labels[0] = 0;
    for (uint32_t node = 0; node < nodes; node++) {
        if (node == level_end) {
            bytes++;
            level_end = nodes;
        }
        nodes = node_expand(model, ranges, node, nodes, bytes, entries);
    }
    free(ranges);
    assert(nodes == needed);
    model->node_count = nodes;
    model->nodes[nodes] = (struct node){nodes, UNIGRAM_NONE};
    return ERR_OK;
}

/* ---- reading ---- */

static enum err_code refuse_unknown(void *context, const char *key, const struct json_t *value,
                                    struct err *err)
{
    (void)context, (void)value;
    static const char *const known[] = {"type", "vocab", "unk_id", "byte_fallback"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(key, known[i]) == 0)
            return ERR_OK;
    return err_set(err, ERR_UNSUPPORTED,
                   ".%s is not supported; a Unigram model has type, vocab, unk_id, byte_fallback",
                   key);
}

static enum err_code entry_read(struct unigram *model, struct entry *entry,
                                const struct json_t *item, uint32_t id, struct err *err)
{
    size_t len = 0;
    const char *text = doc_text(doc_array_item(item, 0), &len);
    double score;
    if (doc_array_count(item) != 2 || text == NULL ||
        !doc_as_number(doc_array_item(item, 1), &score))
        return err_set(err, ERR_UNUSABLE, ".vocab[%u]: expected [piece, score]", id);
    if (len > UNIGRAM_PIECE_BYTES_MAX)
        return err_set(err, ERR_UNSUPPORTED, ".vocab[%u]: a piece of %zu bytes; supported are %d",
                       id, len, UNIGRAM_PIECE_BYTES_MAX);
    *entry = (struct entry){text, (uint32_t)len, (int32_t)id};
    model->scores[id] = score;
    if (score - unknown_penalty < model->unknown_score)
        model->unknown_score = score - unknown_penalty;
    return ERR_OK;
}

static enum err_code vocab_read(struct unigram *model, const struct json_t *vocab,
                                struct arena *arena, struct err *err)
{
    size_t count = doc_array_count(vocab);
    if (count == 0 || count > PIECES_MAX)
        return err_set(err, ERR_UNUSABLE, ".vocab: expected a list of 1 to %d pieces", PIECES_MAX);
    model->count = (uint32_t)count;
    model->scores = arena_alloc(arena, count * sizeof *model->scores);
    struct entry *entries = malloc(count * sizeof *entries);
    if (model->scores == NULL || entries == NULL) {
        free(entries);
        return err_no_memory(err, count * (sizeof *model->scores + sizeof *entries));
    }
    model->unknown_score = INFINITY;
    for (uint32_t id = 0; id < count && err->code == ERR_OK; id++)
        entry_read(model, &entries[id], doc_array_item(vocab, id), id, err);
    if (err->code == ERR_OK) {
        qsort(entries, count, sizeof *entries, entry_compare);
        trie_build(model, entries, model->count, arena, err);
    }
    free(entries);
    return err->code;
}

enum err_code unigram_read(struct unigram **out, const struct json_t *json, const char *path,
                           struct arena *arena, struct err *err)
{
    bool byte_fallback = false;
    long long unknown = UNIGRAM_NONE;
    *out = NULL;
    struct unigram *model = arena_alloc_array(arena, 1, sizeof *model);
    if (model == NULL)
        return err_no_memory(err, sizeof *model);
    if (doc_get_bool(json, path, "byte_fallback", &byte_fallback, err) ||
        doc_get_integer(json, path, "unk_id", 0, PIECES_MAX - 1, &unknown, err))
        return err->code;
    if (doc_each_member(json, refuse_unknown, NULL, err))
        return err_prefix(err, "%s", path);
    if (byte_fallback)
        return err_set(err, ERR_UNSUPPORTED, "%s.byte_fallback: only false is supported", path);
    if (unknown == UNIGRAM_NONE)
        return err_set(err, ERR_UNSUPPORTED, "%s.unk_id: a model without one is not supported",
                       path);
    if (vocab_read(model, doc_member(json, "vocab"), arena, err))
        return err_prefix(err, "%s", path);
    if (unknown >= model->count)
        return err_set(err, ERR_UNUSABLE, "%s.unk_id: %lld of %u pieces", path, unknown,
                       model->count);
    model->unknown = (int32_t)unknown;
    *out = model;
    return ERR_OK;
}

/* ---- a SentencePiece model ---- */

/* Fills the scores and the entries of pieces that are found in a text; returns their number. */
static uint32_t take_pieces(struct unigram *model, const struct sentencepiece *file,
                            struct entry *entries)
{
    float least = FLT_MAX, most = FLT_MIN; /* SentencePiece starts at this number, above nought */
    uint32_t found = 0;
    for (uint32_t id = 0; id < file->count; id++) {
        const struct sentencepiece_piece *piece = &file->pieces[id];
        if (piece->type == PIECE_NORMAL) {
            least = piece->score < least ? piece->score : least;
            most = piece->score > most ? piece->score : most;
        }
    }
    for (uint32_t id = 0; id < file->count; id++) {
        const struct sentencepiece_piece *piece = &file->pieces[id];
        const bool is_user_defined = piece->type == PIECE_USER_DEFINED;
        const float bonus = (float)piece->len * most;
        model->scores[id] = is_user_defined ? bonus - 0.1 : piece->score;
        if (is_user_defined || piece->type == PIECE_NORMAL)
            entries[found++] = (struct entry){piece->text, piece->len, (int32_t)id};
    }
    const float unknown = least - unknown_penalty;
    model->unknown_score = unknown;
    return found;
}

enum err_code unigram_of_pieces(struct unigram **out, const struct sentencepiece *file,
                                struct arena *arena, struct err *err)
{
    struct unigram *model = *out = arena_alloc_array(arena, 1, sizeof *model);
    struct entry *entries = malloc(file->count * sizeof *entries);
    double *scores = arena_alloc_array(arena, file->count, sizeof *scores);
    if (model == NULL || entries == NULL || scores == NULL) {
        free(entries);
        return err_no_memory(err, file->count * (sizeof *entries + sizeof *scores));
    }
    *model = (struct unigram){
        .count = file->count, .scores = scores, .unknown = file->unknown, .is_single = true};
    const uint32_t count = take_pieces(model, file, entries);
    qsort(entries, count, sizeof *entries, entry_compare);
    trie_build(model, entries, count, arena, err);
    free(entries);
    return err->code;
}

uint32_t unigram_count(const struct unigram *model)
{
    return model->count;
}

int32_t unigram_unknown(const struct unigram *model)
{
    return model->unknown;
}

/* ---- looking up ---- */

/* Returns the child of a node by a byte. 0, the root and no node's child: there is none. */
static uint32_t node_child(const struct unigram *model, uint32_t node, uint8_t byte)
{
    uint32_t low = model->nodes[node].children, high = model->nodes[node + 1].children;
    while (high - low > LINEAR_MAX) {
        uint32_t middle = low + (high - low) / 2;
        if (model->labels[middle] <= byte)
            low = middle;
        else
            high = middle;
    }
    for (; low < high; low++)
        if (model->labels[low] == byte)
            return low;
    return 0;
}

int32_t unigram_find(const struct unigram *model, const char *piece, size_t len)
{
    uint32_t node = 0;
    if (len == 0)
        return UNIGRAM_NONE;
    for (size_t i = 0; i < len; i++)
        if ((node = node_child(model, node, (uint8_t)piece[i])) == 0)
            return UNIGRAM_NONE;
    return model->nodes[node].piece;
}

/* ---- cutting ---- */

void unigram_cursor_init(struct unigram_cursor *cursor, const struct unigram *model,
                         struct arena *arena, struct interrupt *interrupt)
{
    *cursor = (struct unigram_cursor){.model = model, .arena = arena, .interrupt = interrupt};
}

/* Makes room for a step to each position of a text, its end included. */
static bool cursor_make_room(struct unigram_cursor *cursor, size_t len, struct err *err)
{
    if (cursor->sums == NULL)
        cursor->sums = arena_alloc(cursor->arena, RING * sizeof *cursor->sums);
    if (cursor->sums != NULL && len < cursor->room)
        return true;
    size_t room = 2 * cursor->room > len + 1 ? 2 * cursor->room : len + 1;
    uint16_t *steps = arena_alloc(cursor->arena, room * sizeof *steps);
    if (cursor->sums == NULL || steps == NULL) {
        err_no_memory(err, room * sizeof *steps + RING * sizeof *cursor->sums);
        return false;
    }
    cursor->steps = steps;
    cursor->room = room;
    return true;
}

/* Offers a path to position `to` whose last step is `step`: kept if it is the first or strictly
 * better. */
static inline void offer(struct unigram_cursor *cursor, size_t to, unsigned step, double sum)
{
    if (cursor->model->is_single)
        sum = (float)sum;
    if (cursor->steps[to] != 0 && !(sum > cursor->sums[to % RING]))
        return;
    cursor->steps[to] = (uint16_t)step;
    cursor->sums[to % RING] = sum;
}

/* Offers every piece that begins at `at`, and the unknown piece if none is one character. */
static void offer_pieces(struct unigram_cursor *cursor, size_t at, size_t character_bytes)
{
    const struct unigram *model = cursor->model;
    double sum = cursor->sums[at % RING];
    bool has_character = false;
    uint32_t node = 0;
    for (size_t end = at; end < cursor->len;) {
        node = node_child(model, node, (uint8_t)cursor->text[end++]);
        if (node == 0)
            break;
        int32_t piece = model->nodes[node].piece;
        if (piece == UNIGRAM_NONE)
            continue;
        unsigned step = (unsigned)(end - at) | (piece == model->unknown ? STEP_UNKNOWN : 0);
        offer(cursor, end, step, sum + model->scores[piece]);
        has_character |= end - at == character_bytes;
    }
    if (!has_character)
        offer(cursor, at + character_bytes, (unsigned)character_bytes | STEP_UNKNOWN,
              sum + model->unknown_score);
}

/* Reverses the best path: a step lay at the position of its end, and now lies at its start. */
static void turn_round(uint16_t *steps, size_t len)
{
    uint16_t step = steps[len];
    for (size_t at = len; at > 0;) {
        at -= step & STEP_LEN;
        uint16_t before = steps[at];
        steps[at] = step;
        step = before;
    }
}

enum err_code unigram_cut(struct unigram_cursor *cursor, const char *text, size_t len,
                          struct err *err)
{
    cursor->text = text;
    cursor->len = cursor->at = 0;
    if (!cursor_make_room(cursor, len, err))
        return err->code;
    memset(cursor->steps, 0, (len + 1) * sizeof *cursor->steps);
    cursor->len = len;
    cursor->sums[0] = 0;
    size_t looked = 0;
    for (size_t at = 0, next = 0; at < len; at = next) {
        if (looked++ % LOOK_CHARACTERS == LOOK_CHARACTERS - 1 &&
            interrupt_look(cursor->interrupt, err)) {
            cursor->len = 0;
            return err->code;
        }
        utf8_decode(text, &next);
        offer_pieces(cursor, at, next - at);
    }
    turn_round(cursor->steps, len);
    return ERR_OK;
}

bool unigram_next(struct unigram_cursor *cursor, struct unigram_piece *out)
{
    if (cursor->at == cursor->len)
        return false;
    size_t at = cursor->at, end = at;
    unsigned step = cursor->steps[at];
    do
        end += cursor->steps[end] & STEP_LEN;
    while (step & STEP_UNKNOWN && end < cursor->len && cursor->steps[end] & STEP_UNKNOWN);
    int32_t id = step & STEP_UNKNOWN && cursor->model->is_single
                     ? UNIGRAM_NONE
                     : unigram_find(cursor->model, cursor->text + at, end - at);
    *out = (struct unigram_piece){id != UNIGRAM_NONE ? id : cursor->model->unknown, at, end - at};
    cursor->at = end;
    return true;
}
