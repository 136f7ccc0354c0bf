/* bpe.c - see bpe.h.
 *
 * The symbols of a split are a doubly linked list in an array; a merge removes the right symbol.
 * The queue is a binary heap of candidate pairs, lowest rank first, then leftmost. A candidate that
 * other merges have made stale is detected at the top of the heap: its symbol is removed, or the
 * two neighbours now merge into another piece (exactly the reference's test). */
#include "engine/text/pipeline/bpe.h"

#include "engine/base/utf8.h"
#include "engine/text/pipeline/bpe_tables.h"

enum { NOWHERE = UINT32_MAX, LOOK_MERGES = 16384 };

struct bpe_symbol {
    int32_t id;
    uint32_t len; /* 0: removed */
    uint32_t previous, next;
};

struct bpe_merge {
    uint32_t rank, at;
    int32_t id;
};

enum { MERGES_PER_SYMBOL = 3 }; /* one at the start, two more by each merge */
_Static_assert(sizeof(struct bpe_symbol) + MERGES_PER_SYMBOL * sizeof(struct bpe_merge) ==
                   BPE_WORK_BYTES,
               "what bpe.h says");

int32_t bpe_unknown(const struct bpe *model)
{
    return model->unknown;
}

const char *bpe_suffix(const struct bpe *model)
{
    return model->suffix;
}

bool bpe_has_prefix(const struct bpe *model)
{
    return model->prefix_len > 0;
}

enum err_code bpe_work_init(struct bpe_work *work, size_t len_max, struct arena *arena,
                            struct interrupt *interrupt, struct err *err)
{
    *work = (struct bpe_work){.interrupt = interrupt};
    work->symbols = arena_alloc(arena, len_max * sizeof *work->symbols);
    work->queue = arena_alloc(arena, MERGES_PER_SYMBOL * len_max * sizeof *work->queue);
    return work->symbols != NULL && work->queue != NULL
               ? ERR_OK
               : err_no_memory(err, len_max * BPE_WORK_BYTES);
}

/* ---- the queue ---- */

static bool is_before(const struct bpe_merge *a, const struct bpe_merge *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->at < b->at;
}

static void queue_push(struct bpe_work *work, struct bpe_merge merge)
{
    struct bpe_merge *queue = work->queue;
    size_t at = work->queued++;
    for (size_t parent; at > 0 && is_before(&merge, &queue[parent = (at - 1) / 2]); at = parent)
        queue[at] = queue[parent];
    queue[at] = merge;
}

static struct bpe_merge queue_pop(struct bpe_work *work)
{
    struct bpe_merge *queue = work->queue, first = queue[0], last = queue[--work->queued];
    size_t at = 0, count = work->queued;
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        child += child + 1 < count && is_before(&queue[child + 1], &queue[child]);
        if (!is_before(&queue[child], &last))
            break;
        queue[at] = queue[child];
    }
    queue[at] = last;
    return first;
}

/* Finds the merge of two neighbours; its id is VOCAB_NONE if they do not merge. */
static struct bpe_merge find_merge(const struct bpe *model, const struct bpe_work *work,
                                   uint32_t at, uint32_t next)
{
    const struct bpe_symbol *left = &work->symbols[at], *right = &work->symbols[next];
    struct bpe_merge merge = {.at = at, .id = VOCAB_NONE};
    if (model->ranks == NULL) {
        const struct bpe_pair *pair = bpe_tables_merge(model, left->id, right->id);
        return pair != NULL ? (struct bpe_merge){pair->rank, at, pair->id} : merge;
    }
    const uint32_t len = left->len + right->len;
    if ((left->id | right->id) & BPE_SYMBOL_FROZEN ||
        len > model->vocab.longest[(unsigned char)work->text[at]])
        return merge;
    merge.id = vocab_find(&model->vocab, work->text + at, len);
    merge.rank = merge.id != VOCAB_NONE ? model->ranks[merge.id] : 0;
    return merge;
}

static void push_pair(const struct bpe *model, struct bpe_work *work, uint32_t at, uint32_t next)
{
    const struct bpe_merge merge = find_merge(model, work, at, next);
    if (merge.id != VOCAB_NONE)
        queue_push(work, merge);
}

/* ---- symbols ---- */

/* Makes a symbol of each byte, or of each character; neighbouring unknown ones are one symbol if
 * the model fuses them. */
static void make_symbols(const struct bpe *model, struct bpe_work *work, const char *text,
                         size_t len)
{
    struct bpe_symbol *symbols = work->symbols;
    uint32_t count = 0;
    bool was_unknown = false;
    for (size_t at = 0, next; at < len; at = next) {
        next = at;
        if (model->is_byte_level)
            next++;
        else
            utf8_decode(text, &next);
        bool is_first = at == 0, is_last = next == len;
        int32_t id = next - at == 1
                         ? model->symbols[is_first][is_last][(unsigned char)text[at]]
                         : bpe_tables_symbol(model, text + at, next - at, is_first, is_last);
        const uint32_t bytes = (uint32_t)(next - at);
        bool is_unknown = id == VOCAB_NONE;
        if (is_unknown && was_unknown && model->fuses_unknown) {
            symbols[count - 1].len += bytes;
        } else {
            symbols[count] =
                (struct bpe_symbol){is_unknown ? model->unknown : id, bytes, count - 1, count + 1};
            count++;
        }
        was_unknown = is_unknown;
    }
    symbols[count - 1].next = NOWHERE;
}

/* Makes the symbols of a SentencePiece model. A symbol's number is the place of its first byte. */
static void make_characters(const struct bpe *model, struct bpe_work *work, size_t len)
{
    uint32_t previous = NOWHERE;
    for (size_t at = 0, next; at < len; at = next) {
        size_t taken = 0;
        int32_t id = vocab_longest(&model->user_defined, work->text + at, len - at, &taken);
        id = id != VOCAB_NONE ? id | BPE_SYMBOL_FROZEN : id;
        next = at + taken;
        if (id == VOCAB_NONE) {
            utf8_decode(work->text, &next);
            id = vocab_find(&model->vocab, work->text + at, next - at);
        }
        work->symbols[at] =
            (struct bpe_symbol){id != VOCAB_NONE ? id : model->unknown, (uint32_t)(next - at),
                                previous, next < len ? (uint32_t)next : NOWHERE};
        previous = (uint32_t)at;
    }
}

/* ---- merging ---- */

static bool is_expired(const struct bpe *model, const struct bpe_work *work,
                       const struct bpe_merge *merge)
{
    const struct bpe_symbol *symbol = &work->symbols[merge->at];
    if (symbol->len == 0 || symbol->next == NOWHERE)
        return true;
    return find_merge(model, work, merge->at, symbol->next).id != merge->id;
}

static void apply(const struct bpe *model, struct bpe_work *work, const struct bpe_merge *merge)
{
    struct bpe_symbol *symbol = &work->symbols[merge->at];
    struct bpe_symbol *right = &work->symbols[symbol->next];
    symbol->id = merge->id;
    symbol->len += right->len;
    symbol->next = right->next;
    right->len = 0;
    if (symbol->next != NOWHERE) {
        work->symbols[symbol->next].previous = merge->at;
        push_pair(model, work, merge->at, symbol->next);
    }
    if (symbol->previous != NOWHERE)
        push_pair(model, work, symbol->previous, merge->at);
}

static enum err_code merge_all(const struct bpe *model, struct bpe_work *work, struct err *err)
{
    work->queued = 0;
    for (uint32_t i = 0, next; (next = work->symbols[i].next) != NOWHERE; i = next)
        push_pair(model, work, i, next);
    for (size_t done = 1; work->queued > 0; done++) {
        if (done % LOOK_MERGES == 0 && interrupt_look(work->interrupt, err))
            return err->code;
        struct bpe_merge merge = queue_pop(work);
        if (!is_expired(model, work, &merge))
            apply(model, work, &merge);
    }
    return ERR_OK;
}

size_t bpe_cut(const struct bpe *model, struct bpe_work *work, const char *text, size_t len,
               struct model_cut *cuts, struct err *err)
{
    if (len == 0)
        return 0;
    int32_t whole = model->ignores_merges && len <= VOCAB_PIECE_BYTES_MAX
                        ? vocab_find(&model->vocab, text, len)
                        : VOCAB_NONE;
    if (whole != VOCAB_NONE) {
        cuts[0] = (struct model_cut){whole, (uint32_t)len};
        return 1;
    }
    work->text = text;
    if (model->ranks != NULL)
        make_characters(model, work, len);
    else
        make_symbols(model, work, text, len);
    if (merge_all(model, work, err))
        return 0;
    size_t count = 0;
    uint32_t end = 0;
    for (uint32_t i = 0; i != NOWHERE; i = work->symbols[i].next) {
        const int32_t id = work->symbols[i].id;
        cuts[count++] = (struct model_cut){id == VOCAB_NONE ? id : id & ~BPE_SYMBOL_FROZEN,
                                           end += work->symbols[i].len};
    }
    return count;
}

const struct vocab *bpe_vocabulary(const struct bpe *model)
{
    return &model->vocab;
}
