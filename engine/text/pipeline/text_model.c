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

/* ---- pieces of a SentencePiece model ---- */

enum err_code text_model_of_pieces(struct text_model *out, const struct sentencepiece *file,
                                   const struct piece_list *pieces, struct arena *arena,
                                   struct err *err)
{
    *out = (struct text_model){.kind = file->is_bpe ? MODEL_BPE : MODEL_UNIGRAM,
                               .name = file->is_bpe ? "BPE" : "Unigram",
                               .vocab_size = pieces->vocab_size,
                               .pieces = pieces->distinct,
                               .file = file};
    return file->is_bpe ? bpe_of_pieces(&out->bpe, file, arena, err)
                        : unigram_of_pieces(&out->unigram, file, arena, err);
}

static int32_t name_of(const struct text_model *model, const char *text, size_t len)
{
    const int32_t id =
        len <= VOCAB_PIECE_BYTES_MAX ? vocab_find(&model->tokens, text, len) : VOCAB_NONE;
    return id != VOCAB_NONE ? id : model->unknown;
}

enum err_code text_model_name(struct text_model *model, int32_t unknown, struct arena *arena,
                              struct err *err)
{
    const struct sentencepiece *file = model->file;
    int32_t *ids = arena_alloc_array(arena, file->count, sizeof *ids);
    if (ids == NULL)
        return err_no_memory(err, file->count * sizeof *ids);
    model->ids = ids;
    model->unknown = unknown;
    for (uint32_t i = 0; i < file->count; i++) {
        const struct sentencepiece_piece *piece = &file->pieces[i];
        ids[i] = name_of(model, piece->text, piece->len);
        if (piece->type == PIECE_BYTE)
            model->bytes[sentencepiece_byte(piece)] = ids[i];
    }
    return ERR_OK;
}

/* Unknown pieces become their bytes. Written from the end, because there may be more. */
static size_t name_bytes(const struct text_model *model, struct model_cut *cuts, size_t count,
                         const char *text)
{
    size_t total = 0, to;
    for (size_t i = 0, at = 0; i < count; at = cuts[i++].end)
        total += cuts[i].id == model->file->unknown ? cuts[i].end - at : 1;
    to = total;
    for (size_t i = count; i > 0; i--) {
        const struct model_cut cut = cuts[i - 1];
        const uint32_t begin = i > 1 ? cuts[i - 2].end : 0;
        if (cut.id != model->file->unknown)
            cuts[--to] = (struct model_cut){model->ids[cut.id], cut.end};
        for (uint32_t at = cut.end; cut.id == model->file->unknown && at > begin; at--)
            cuts[--to] = (struct model_cut){model->bytes[(unsigned char)text[at - 1]], at};
    }
    return total;
}

/* Neighbouring unknown pieces become one, and all get their ids. */
static size_t name_pieces(const struct text_model *model, struct model_cut *cuts, size_t count,
                          const char *text)
{
    const int32_t unknown = model->file->unknown;
    size_t kept = 0;
    if (model->file->falls_back)
        return name_bytes(model, cuts, count, text);
    for (size_t i = 0; i < count; i++)
        if (kept > 0 && cuts[i].id == unknown && cuts[kept - 1].id == unknown)
            cuts[kept - 1].end = cuts[i].end;
        else
            cuts[kept++] = cuts[i];
    for (size_t i = 0, at = 0; i < kept; at = cuts[i++].end)
        cuts[i].id = cuts[i].id == unknown ? name_of(model, text + at, cuts[i].end - at)
                                           : model->ids[cuts[i].id];
    return kept;
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
    return model->kind == MODEL_UNIGRAM && model->file == NULL
               ? unigram_find(model->unigram, piece, len)
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
    if (model->kind == MODEL_WORDPIECE)
        return cut_wordpiece(model, work->cuts, text, len);
    if (model->kind == MODEL_BPE)
        count = bpe_cut(model->bpe, &work->bpe, text, len, work->cuts, err);
    else if (!unigram_cut(&work->cursor, text, len, err))
        while (unigram_next(&work->cursor, &piece))
            work->cuts[count++] = (struct model_cut){piece.id, (uint32_t)(piece.at + piece.len)};
    return model->file != NULL ? name_pieces(model, work->cuts, count, text) : count;
}
