/* bpe_read.c - reads a BPE model from tokenizer.json. A byte-level vocabulary is written in
 * printable characters; here it becomes bytes, so that texts need no rewriting. Pieces with other
 * characters can then never match and are left out. A SentencePiece model has no list of merges: a
 * piece is merged from any two neighbours, and its score is its rank. */
#include "engine/base/doc.h"
#include "engine/base/utf8.h"
#include "engine/text/decoder.h"
#include "engine/text/pipeline/bpe.h"
#include "engine/text/pipeline/bpe_tables.h"
#include "engine/text/pipeline/members.h"
#include "engine/text/sentencepiece.h"

#include <stdlib.h>
#include <string.h>

struct reader {
    struct bpe *model;
    const struct piece_list *pieces;
    struct arena *arena;
};

static const char path[] = "$.model";

int32_t bpe_tables_symbol(const struct bpe *model, const char *text, size_t len, bool is_first,
                          bool is_last)
{
    char symbol[2 * BPE_SUFFIX_BYTES_MAX + UTF8_BYTES_MAX];
    size_t used = 0;
    if (!is_first) {
        memcpy(symbol, model->prefix, model->prefix_len);
        used = model->prefix_len;
    }
    memcpy(symbol + used, text, len);
    used += len;
    if (is_last) {
        memcpy(symbol + used, model->suffix, model->suffix_len);
        used += model->suffix_len;
    }
    return vocab_find(&model->vocab, symbol, used);
}

/* ---- pieces ---- */

/* Writes the bytes of a piece of valid UTF-8 to out[len]. False, with `out` undefined, if a
 * character of a byte-level vocabulary stands for no byte. */
static bool to_bytes(const struct reader *reader, const char *text, size_t len, char *out,
                     size_t *out_len)
{
    *out_len = len;
    if (!reader->model->is_byte_level) {
        memcpy(out, text, len);
        return true;
    }
    *out_len = 0;
    for (size_t at = 0; at < len;) {
        int byte = decoder_byte(utf8_decode(text, &at));
        if (byte < 0)
            return false;
        out[(*out_len)++] = (char)byte;
    }
    return true;
}

static enum err_code add_pieces(struct reader *reader, struct err *err)
{
    const struct piece_list *pieces = reader->pieces;
    size_t bytes = 0;
    for (size_t i = 0; i < pieces->count; i++)
        bytes += pieces->items[i].len;
    char *text = arena_alloc(reader->arena, bytes + 1);
    if (text == NULL)
        return err_no_memory(err, bytes);
    if (vocab_init(&reader->model->vocab, pieces->count, reader->arena, err))
        return err->code;
    for (size_t i = 0, len; i < pieces->count; i++) {
        const struct piece *piece = &pieces->items[i];
        if (!to_bytes(reader, piece->text, piece->len, text, &len))
            continue;
        if (vocab_add(&reader->model->vocab, text, len, piece->id, err))
            return err->code;
        text += len;
    }
    return ERR_OK;
}

static enum err_code read_affix(struct reader *reader, const struct json_t *json, const char *key,
                                char *out, size_t *len, struct err *err)
{
    const char *text = "";
    if (doc_get_string(json, path, key, &text, err))
        return err->code;
    size_t text_len = strlen(text);
    if (text_len >= BPE_SUFFIX_BYTES_MAX || !to_bytes(reader, text, text_len, out, len))
        return err_set(err, ERR_UNSUPPORTED, "%s.%s: at most %d bytes are supported", path, key,
                       BPE_SUFFIX_BYTES_MAX - 1);
    return ERR_OK;
}

/* ---- merges ---- */

struct merge_text {
    const char *left, *right;
    size_t left_len, right_len;
};

static bool split_merge(const struct json_t *item, struct merge_text *out)
{
    if (doc_array_count(item) == 2) {
        out->left = doc_text(doc_array_item(item, 0), &out->left_len);
        out->right = doc_text(doc_array_item(item, 1), &out->right_len);
        return out->left != NULL && out->right != NULL;
    }
    size_t len;
    const char *text = doc_text(item, &len);
    const char *space = text != NULL ? memchr(text, ' ', len) : NULL;
    if (space == NULL || memchr(space + 1, ' ', len - (size_t)(space + 1 - text)) != NULL)
        return false;
    *out =
        (struct merge_text){.left = text, .left_len = (size_t)(space - text), .right = space + 1};
    out->right_len = len - out->left_len - 1;
    return true;
}

/* Adds a merge. The merged piece is both pieces, without the second's prefix. */
static enum err_code add_merge(struct reader *reader, const struct json_t *item, size_t number,
                               struct err *err)
{
    const struct vocab *names = &reader->pieces->names;
    struct bpe *model = reader->model;
    struct merge_text text;
    char both[2 * VOCAB_PIECE_BYTES_MAX];
    size_t prefix_len = model->prefix_len;
    if (!split_merge(item, &text))
        return err_set(err, ERR_UNSUPPORTED, "%s.merges[%zu]: expected \"a b\" or [\"a\", \"b\"]",
                       path, number);
    struct bpe_pair pair = {.rank = (uint32_t)number,
                            .left = vocab_find(names, text.left, text.left_len),
                            .right = vocab_find(names, text.right, text.right_len)};
    size_t skipped = prefix_len < text.right_len ? prefix_len : text.right_len;
    size_t rest = text.right_len - skipped;
    pair.id = VOCAB_NONE;
    if (text.left_len + rest <= sizeof both && pair.left != VOCAB_NONE &&
        pair.right != VOCAB_NONE) {
        memcpy(both, text.left, text.left_len);
        memcpy(both + text.left_len, text.right + skipped, rest);
        pair.id = vocab_find(names, both, text.left_len + rest);
    }
    if (pair.id == VOCAB_NONE)
        return err_set(err, ERR_UNSUPPORTED,
                       "%s.merges[%zu]: a part or the whole is not in the vocabulary", path,
                       number);
    uint32_t at = bpe_tables_slot(model, pair.left, pair.right);
    while (model->pairs[at].left != VOCAB_NONE &&
           (model->pairs[at].left != pair.left || model->pairs[at].right != pair.right))
        at = (at + 1) & model->pair_mask;
    model->pairs[at] = pair;
    return ERR_OK;
}

static enum err_code add_merges(struct reader *reader, const struct json_t *merges, struct err *err)
{
    size_t count = doc_array_count(merges), slots = 16;
    struct bpe *model = reader->model;
    while (slots < 2 * count)
        slots *= 2;
    model->pairs = arena_alloc_array(reader->arena, slots, sizeof *model->pairs);
    if (model->pairs == NULL)
        return err_no_memory(err, slots * sizeof *model->pairs);
    model->pair_mask = (uint32_t)slots - 1;
    for (size_t i = 0; i < slots; i++)
        model->pairs[i].left = VOCAB_NONE;
    for (size_t i = 0; i < count; i++)
        if (add_merge(reader, doc_array_item(merges, i), i, err))
            return err->code;
    return ERR_OK;
}

/* ---- the whole ---- */

static enum err_code read_unknown(struct reader *reader, const struct json_t *json, struct err *err)
{
    const char *name = NULL;
    reader->model->unknown = VOCAB_NONE;
    if (doc_get_string(json, path, "unk_token", &name, err))
        return err->code;
    if (name == NULL)
        return ERR_OK;
    reader->model->unknown = vocab_find(&reader->pieces->names, name, strlen(name));
    if (reader->model->unknown == VOCAB_NONE)
        return err_set(err, ERR_UNSUPPORTED, "%s.unk_token '%s' is not in the vocabulary", path,
                       name);
    return ERR_OK;
}

/* Fills the symbols of single bytes. Without an unknown token the reference drops an unknown symbol
 * and shifts the offsets behind it, so each byte must have a symbol. */
static enum err_code fill_symbols(struct bpe *model, struct err *err)
{
    bool all = model->is_byte_level;
    for (int byte = 0; byte < 256; byte++)
        for (int k = 0; k < 4; k++) {
            char text = (char)byte;
            int32_t id = bpe_tables_symbol(model, &text, 1, k >> 1, k & 1);
            model->symbols[k >> 1][k & 1][byte] = id;
            bool is_met = byte != 0xC0 && byte != 0xC1 && byte < 0xF5; /* UTF-8 can contain it */
            all &= id != VOCAB_NONE || !is_met;
        }
    if (all || model->unknown != VOCAB_NONE)
        return ERR_OK;
    return err_set(err, ERR_UNSUPPORTED,
                   "%s: without an unk_token every byte needs a piece of its own", path);
}

enum err_code bpe_read(struct bpe **out, const struct json_t *json, const struct piece_list *pieces,
                       bool is_byte_level, struct arena *arena, struct err *err)
{
    static const char *const known[] = {"type",
                                        "dropout",
                                        "unk_token",
                                        "continuing_subword_prefix",
                                        "end_of_word_suffix",
                                        "fuse_unk",
                                        "byte_fallback",
                                        "ignore_merges",
                                        "vocab",
                                        "merges",
                                        NULL};
    struct bpe *model = *out = arena_alloc_array(arena, 1, sizeof *model);
    struct reader reader = {model, pieces, arena};
    double dropout = 0;
    bool falls_back = false;
    if (model == NULL)
        return err_no_memory(err, sizeof *model);
    model->is_byte_level = is_byte_level;
    if (members_check(json, path, known, err) ||
        doc_get_number(json, path, "dropout", &dropout, err) ||
        doc_get_bool(json, path, "byte_fallback", &falls_back, err))
        return err->code;
    if (dropout != 0)
        return err_set(err, ERR_UNSUPPORTED, "%s.dropout: only 0 is supported", path);
    if (falls_back)
        return err_set(err, ERR_UNSUPPORTED, "%s.byte_fallback is not supported", path);
    if (doc_get_bool(json, path, "fuse_unk", &model->fuses_unknown, err) ||
        doc_get_bool(json, path, "ignore_merges", &model->ignores_merges, err) ||
        read_affix(&reader, json, "continuing_subword_prefix", model->prefix, &model->prefix_len,
                   err) ||
        read_affix(&reader, json, "end_of_word_suffix", model->suffix, &model->suffix_len, err) ||
        read_unknown(&reader, json, err) || add_pieces(&reader, err) ||
        add_merges(&reader, doc_member(json, "merges"), err))
        return err->code;
    return fill_symbols(model, err);
}

/* ---- a SentencePiece model ---- */

/* A piece by the score that orders it. */
struct scored {
    float score;
    uint32_t id;
};

static int compare_scores(const void *left, const void *right)
{
    const struct scored *a = left, *b = right;
    return (a->score < b->score) - (a->score > b->score);
}

/* Pieces with the same score have the same rank. */
static enum err_code rank_pieces(uint32_t *ranks, const struct sentencepiece *file, struct err *err)
{
    struct scored *order = malloc(file->count * sizeof *order);
    if (order == NULL)
        return err_no_memory(err, file->count * sizeof *order);
    for (uint32_t id = 0; id < file->count; id++)
        order[id] = (struct scored){file->pieces[id].score, id};
    qsort(order, file->count, sizeof *order, compare_scores);
    for (uint32_t i = 0, rank = 0; i < file->count; i++) {
        rank += i > 0 && order[i].score != order[i - 1].score;
        ranks[order[i].id] = rank;
    }
    free(order);
    return ERR_OK;
}

enum err_code bpe_of_pieces(struct bpe **out, const struct sentencepiece *file, struct arena *arena,
                            struct err *err)
{
    struct bpe *model = *out = arena_alloc_array(arena, 1, sizeof *model);
    uint32_t *ranks = arena_alloc_array(arena, file->count, sizeof *ranks);
    if (model == NULL || ranks == NULL)
        return err_no_memory(err, file->count * sizeof *ranks);
    *model =
        (struct bpe){.unknown = file->unknown, .ranks = ranks, .user_defined = file->user_defined};
    if (rank_pieces(ranks, file, err) || vocab_init(&model->vocab, file->count, arena, err))
        return err->code;
    for (uint32_t id = 0; id < file->count; id++) {
        const struct sentencepiece_piece *piece = &file->pieces[id];
        if ((piece->type == PIECE_NORMAL || piece->type == PIECE_USER_DEFINED) &&
            vocab_add(&model->vocab, piece->text, piece->len, (int32_t)id, err))
            return err->code;
    }
    return ERR_OK;
}
