#include "engine/text/pipeline/text_model.h"

#include "engine/base/doc.h"
#include "engine/base/utf8.h"
#include "engine/text/pipeline/members.h"

#include <string.h>

static const char path[] = "$.model";
static const char vocab_path[] = "$.model.vocab";

/* ---- WordPiece ---- */

/* Any piece of the list can begin a word. Pieces with the prefix can continue one, without the
 * prefix. */
static enum err_code read_wordpiece(struct text_model *model, const struct json_t *json,
                                    const struct piece_list *pieces, struct arena *arena,
                                    struct err *err)
{
    static const char *const known[] = {
        "type",  "unk_token", "continuing_subword_prefix", "max_input_chars_per_word",
        "vocab", NULL};
    const char *prefix = "##", *unknown = "[UNK]";
    long long characters_max = 100;
    if (members_check(json, path, known, err) ||
        doc_get_string(json, path, "continuing_subword_prefix", &prefix, err) ||
        doc_get_string(json, path, "unk_token", &unknown, err) ||
        doc_get_integer(json, path, "max_input_chars_per_word", 1, TEXT_MODEL_WORD_CHARACTERS_MAX,
                        &characters_max, err))
        return err->code;
    const size_t prefix_len = strlen(prefix);
    model->has_prefix = prefix_len > 0;
    model->word_characters_max = (unsigned)characters_max;
    model->unknown = vocab_find(&pieces->names, unknown, strlen(unknown));
    if (model->unknown == VOCAB_NONE)
        return err_set(err, ERR_UNSUPPORTED, "the vocabulary has no unk_token '%s'", unknown);
    model->initial = pieces->names;
    if (vocab_init(&model->continued, pieces->count, arena, err))
        return err->code;
    for (size_t i = 0; i < pieces->count; i++) {
        const struct piece *piece = &pieces->items[i];
        if (piece->len >= prefix_len && memcmp(piece->text, prefix, prefix_len) == 0 &&
            vocab_add(&model->continued, piece->text + prefix_len, piece->len - prefix_len,
                      piece->id, err))
            return err->code;
    }
    return ERR_OK;
}

/* Cuts greedily, longest piece first. A split that does not match, or is too long, is one unknown
 * token. */
static size_t cut_wordpiece(const struct text_model *model, struct model_cut *cuts,
                            const char *text, size_t len)
{
    size_t count = 0;
    const struct model_cut unknown = {model->unknown, (uint32_t)len};
    bool is_long =
        len > model->word_characters_max && utf8_count(text, len) > model->word_characters_max;
    for (size_t at = 0, taken; at < len && !is_long; at += taken) {
        int32_t id = vocab_longest(at == 0 ? &model->initial : &model->continued, text + at,
                                   len - at, &taken);
        if (id == VOCAB_NONE)
            is_long = true;
        else
            cuts[count++] = (struct model_cut){id, (uint32_t)(at + taken)};
        if (is_long)
            break;
    }
    if (!is_long)
        return count;
    cuts[0] = unknown;
    return 1;
}

/* ---- all models ---- */

enum err_code text_model_read(struct text_model *out, const struct json_t *json, bool is_byte_level,
                              struct piece_list *pieces, struct arena *arena, struct err *err)
{
    static const char *const names[] = {"BPE", "WordPiece", "Unigram"};
    enum { KINDS = sizeof names / sizeof *names };
    const char *type;
    size_t kind = 0;
    if (members_type(&type, json, path, err))
        return err->code;
    while (kind < KINDS && strcmp(names[kind], type) != 0)
        kind++;
    if (kind == KINDS)
        return members_unknown_type(type, path, err);
    *out = (struct text_model){.kind = (enum text_model_kind)kind, .name = names[kind]};
    if (is_byte_level && out->kind != MODEL_BPE)
        return err_set(err, ERR_UNSUPPORTED, "%s.type '%s' behind a ByteLevel is not supported",
                       path, type);
    if (out->kind == MODEL_UNIGRAM) {
        if (unigram_read(&out->unigram, json, path, arena, err))
            return err->code;
        out->unknown = unigram_unknown(out->unigram);
        out->vocab_size = out->pieces = unigram_count(out->unigram);
        return ERR_OK;
    }
    if (pieces->items == NULL &&
        piece_list_read(pieces, doc_member(json, "vocab"), vocab_path, arena, err))
        return err->code;
    out->vocab_size = pieces->vocab_size;
    out->pieces = pieces->distinct;
    if (out->kind == MODEL_WORDPIECE)
        return read_wordpiece(out, json, pieces, arena, err);
    if (bpe_read(&out->bpe, json, pieces, is_byte_level, arena, err))
        return err->code;
    out->unknown = bpe_unknown(out->bpe);
    out->has_prefix = bpe_has_prefix(out->bpe);
    return ERR_OK;
}

int32_t text_model_find(const struct text_model *model, const struct piece_list *pieces,
                        const char *piece, size_t len)
{
    if (len > VOCAB_PIECE_BYTES_MAX)
        return VOCAB_NONE;
    return model->kind == MODEL_UNIGRAM ? unigram_find(model->unigram, piece, len)
                                        : vocab_find(&pieces->names, piece, len);
}

enum err_code text_model_work_init(struct text_model_work *work, const struct text_model *model,
                                   size_t longest, struct arena *arena, struct interrupt *interrupt,
                                   struct err *err)
{
    *work = (struct text_model_work){0};
    work->cuts = arena_alloc(arena, longest * sizeof *work->cuts);
    if (work->cuts == NULL)
        return err_no_memory(err, longest * sizeof *work->cuts);
    if (model->kind == MODEL_BPE)
        return bpe_work_init(&work->bpe, longest, arena, interrupt, err);
    if (model->kind == MODEL_UNIGRAM)
        unigram_cursor_init(&work->cursor, model->unigram, arena, interrupt);
    return ERR_OK;
}

size_t text_model_cut(const struct text_model *model, struct text_model_work *work,
                      const char *text, size_t len, struct err *err)
{
    struct unigram_piece piece;
    size_t count = 0;
    switch (model->kind) {
    case MODEL_BPE:
        return bpe_cut(model->bpe, &work->bpe, text, len, work->cuts, err);
    case MODEL_WORDPIECE:
        return cut_wordpiece(model, work->cuts, text, len);
    case MODEL_UNIGRAM:
        break;
    }
    if (unigram_cut(&work->cursor, text, len, err))
        return 0;
    while (unigram_next(&work->cursor, &piece))
        work->cuts[count++] = (struct model_cut){piece.id, (uint32_t)(piece.at + piece.len)};
    return count;
}
