/* sentencepiece_steps.c - see steps.h: the slow tokenizers of transformers 4.57 whose vocabulary is
 * a SentencePiece model, those of T5, Pegasus, Marian, M2M100, NLLB and mBART; and languages.
 *
 * Such a tokenizer looks for added tokens in the raw text, gives each part between them to the
 * model by itself, and finds the ids of the model's pieces by their text. */
#include "engine/base/doc.h"
#include "engine/text/pipeline/steps.h"

#include <string.h>

enum { UNKNOWN_BYTES_MAX = 16 }; /* of T5's unk_token, which is put before texts */

static const char config_name[] = "tokenizer_config.json";

/* ---- ids ---- */

/* Ids of the pieces that are their numbers, from `offset` on. */
static enum err_code list_pieces(struct piece_list *out, const struct sentencepiece *file,
                                 long long offset, struct arena *arena, struct err *err)
{
    struct piece *items = arena_alloc_array(arena, file->count, sizeof *items);
    if (items == NULL)
        return err_no_memory(err, file->count * sizeof *items);
    *out = (struct piece_list){.items = items, .count = file->count, .distinct = file->count};
    if (vocab_init(&out->names, file->count, arena, err))
        return err->code;
    for (uint32_t i = 0; i < file->count; i++) {
        const struct sentencepiece_piece *piece = &file->pieces[i];
        items[i] = (struct piece){piece->text, piece->len, (int32_t)(i + offset)};
        if (vocab_add(&out->names, piece->text, piece->len, items[i].id, err))
            return err->code;
    }
    out->vocab_size = file->count + (unsigned)offset;
    return ERR_OK;
}

static enum err_code add_next(struct piece_list *list, const char *text, size_t len,
                              struct err *err)
{
    const int32_t id = (int32_t)list->count;
    if (len > VOCAB_PIECE_BYTES_MAX || vocab_find(&list->names, text, len) != VOCAB_NONE)
        return err_set(err, ERR_UNSUPPORTED, "sentencepiece.bpe.model: the text of token %d is %s",
                       (int)id, len > VOCAB_PIECE_BYTES_MAX ? "too long" : "that of another token");
    list->items[list->count++] = (struct piece){text, (uint32_t)len, id};
    list->distinct = list->vocab_size = (unsigned)list->count;
    return vocab_add(&list->names, text, len, id, err);
}

/* fairseq's ids: four tokens, all pieces behind the first three, which stand for those; then
 * mBART's languages and mask. NLLB's tokens have the names that the files give them. */
static enum err_code list_fairseq(struct piece_list *out, const struct tokenizer_files *files,
                                  const struct sentencepiece *file, struct arena *arena,
                                  struct err *err)
{
    static const char *const fixed[] = {"<s>", "<pad>", "</s>", "<unk>"};
    static const enum special_name named[] = {BOS, PAD, EOS, UNK};
    enum { TOKENS = 4, PIECES = 3, MORE = 256 };
    const bool is_nllb = files->class->pieces == PIECES_NLLB;
    const char *const *codes = files->class->languages;
    const size_t most = file->count + MORE;
    *out = (struct piece_list){.items = arena_alloc_array(arena, most, sizeof *out->items)};
    if (out->items == NULL)
        return err_no_memory(err, most * sizeof *out->items);
    if (file->count < PIECES || file->unknown != 0 || file->pieces[1].type != PIECE_CONTROL ||
        file->pieces[2].type != PIECE_CONTROL)
        return err_set(err, ERR_UNSUPPORTED,
                       "%s: the first pieces must be the unknown one and two control pieces",
                       files->pieces_name);
    if (vocab_init(&out->names, (unsigned)most, arena, err))
        return err->code;
    for (unsigned i = 0; i < TOKENS && err->code == ERR_OK; i++) {
        const char *name = is_nllb ? tokenizer_files_content(files, named[i]) : fixed[i];
        const char *kept = name != NULL ? arena_copy(arena, name, strlen(name)) : NULL;
        if (name == NULL)
            return err_set(err, ERR_UNSUPPORTED, "%s: $.%s: null is not supported", config_name,
                           special_keys[named[i]]);
        if (kept == NULL)
            return err_no_memory(err, strlen(name));
        add_next(out, kept, strlen(kept), err);
    }
    for (uint32_t i = PIECES; i < file->count && err->code == ERR_OK; i++)
        add_next(out, file->pieces[i].text, file->pieces[i].len, err);
    for (; !is_nllb && *codes != NULL && err->code == ERR_OK; codes++)
        add_next(out, *codes, strlen(*codes), err);
    return is_nllb || err->code != ERR_OK ? err->code : add_next(out, "<mask>", 6, err);
}

/* M2M100's languages have the ids behind those of the pieces, so these must be 0, 1 and so on. */
static enum err_code check_dense(const struct piece_list *list, struct arena *arena,
                                 struct err *err)
{
    bool *is_there = arena_alloc_array(arena, list->count, sizeof *is_there);
    if (is_there == NULL)
        return err_no_memory(err, list->count);
    for (size_t i = 0; i < list->count; i++) {
        const size_t id = (size_t)list->items[i].id;
        if (id >= list->count || is_there[id])
            return err_set(err, ERR_UNSUPPORTED,
                           "$: the ids of %zu pieces must be those from 0 on, each once",
                           list->count);
        is_there[id] = true;
    }
    return ERR_OK;
}

static enum err_code read_ids(struct piece_list *out, const struct tokenizer_files *files,
                              const struct sentencepiece *file, struct arena *arena,
                              struct err *err)
{
    long long offset = 0;
    if (files->ids != NULL) {
        if (piece_list_read(out, files->ids, "$", arena, err) ||
            (files->class->pieces == PIECES_M2M100 && check_dense(out, arena, err)))
            err_prefix(err, "%s: ", files->source_ids != NULL ? "target_vocab.json" : "vocab.json");
        return err->code;
    }
    if (files->class->pieces >= PIECES_NLLB)
        return list_fairseq(out, files, file, arena, err);
    if (added_offset(&offset, files, err))
        return err_prefix(err, "%s: ", config_name);
    return list_pieces(out, file, offset, arena, err);
}

/* ---- T5 ---- */

/* legacy is true unless a file says otherwise; add_prefix_space too, but null is false. */
static enum err_code read_t5(struct slow_text *slow, struct sentencepiece *file,
                             const struct tokenizer_files *files, struct arena *arena,
                             struct err *err)
{
    const char *unknown = tokenizer_files_content(files, UNK);
    bool is_legacy = true, adds_space = !doc_has_null(files->config, "add_prefix_space");
    if (doc_get_bool(files->config, "$", "legacy", &is_legacy, err) ||
        doc_get_bool(files->config, "$", "add_prefix_space", &adds_space, err))
        return err_prefix(err, "%s: ", config_name);
    slow->strips_first = adds_space;
    if (is_legacy)
        return ERR_OK;
    if (!file->removes_spaces || unknown == NULL || strlen(unknown) > UNKNOWN_BYTES_MAX)
        return err_set(
            err, ERR_UNSUPPORTED, "%s: $.legacy: false without %s is not supported", config_name,
            file->removes_spaces ? "an unk_token of at most 16 bytes"
                                 : "the model's normalizer_spec.remove_extra_whitespaces");
    file->adds_prefix = false;
    slow->spaced = arena_copy(arena, unknown, strlen(unknown));
    slow->first = adds_space ? arena_format(arena, "%s" SENTENCEPIECE_MARK, unknown) : NULL;
    if (slow->spaced == NULL || (adds_space && slow->first == NULL))
        return err_no_memory(err, strlen(unknown));
    return ERR_OK;
}

/* ---- the model ---- */

/* Refuses what transformers passes on to SentencePiece: sampling and the like. */
static enum err_code check_arguments(const struct tokenizer_files *files, struct err *err)
{
    if (doc_object_count(doc_member(files->config, "sp_model_kwargs")) == 0)
        return ERR_OK;
    return err_set(err, ERR_UNSUPPORTED, "%s: $.sp_model_kwargs: only an empty object is supported",
                   config_name);
}

enum err_code steps_read_pieces(struct steps *steps, const struct tokenizer_files *files,
                                struct piece_list *pieces, struct arena *arena, struct err *err)
{
    struct sentencepiece *file;
    steps->slow.class = files->class->pieces;
    if (sentencepiece_read(&file, files->pieces, files->pieces_len, arena, err))
        return err_prefix(err, "%s: ", files->pieces_name);
    if (check_arguments(files, err) ||
        (files->class->pieces == PIECES_T5 && read_t5(&steps->slow, file, files, arena, err)) ||
        read_ids(pieces, files, file, arena, err))
        return err->code;
    steps->slow.strings = files->ids != NULL ? pieces->distinct : pieces->vocab_size;
    if (normalizer_steps_of_pieces(&steps->normalizer, file, arena, err) ||
        text_model_of_pieces(&steps->model, file, pieces, arena, err))
        return err_prefix(err, "%s: ", files->pieces_name);
    return ERR_OK;
}

enum err_code steps_name_pieces(struct steps *steps, const struct tokenizer_files *files,
                                const struct piece_list *pieces, struct arena *arena,
                                struct err *err)
{
    struct vocab *tokens = &steps->model.tokens;
    const struct added_tokens *added = &steps->added;
    const char *unknown = tokenizer_files_content(files, UNK);
    if (vocab_init(tokens, pieces->count + added->count, arena, err))
        return err->code;
    for (size_t i = 0; i < pieces->count; i++)
        if (vocab_add(tokens, pieces->items[i].text, pieces->items[i].len, pieces->items[i].id,
                      err))
            return err->code;
    for (size_t i = 0; i < added->count; i++)
        if (vocab_add(tokens, added->entries[i].content, added->entries[i].len,
                      added->entries[i].id, err))
            return err->code;
    const enum piece_class class = files->class->pieces;
    const int32_t id = class == PIECES_T5 || class == PIECES_PEGASUS /* take the model's */
                           ? pieces->items[steps->model.file->unknown].id
                           : vocab_find(&pieces->names, unknown, strlen(unknown));
    if (id == VOCAB_NONE)
        return err_set(err, ERR_UNSUPPORTED, "%s: the vocabulary has no unk_token '%.60s'",
                       files->ids != NULL ? "vocab.json" : files->pieces_name, unknown);
    return text_model_name(&steps->model, id, arena, err);
}

/* ---- languages ---- */

/* The tokens of M2M100's languages have the ids behind the vocabulary, others' are added tokens. */
static enum err_code list_class(struct steps *steps, const struct tokenizer_files *files,
                                const struct piece_list *pieces, struct arena *arena,
                                struct err *err)
{
    const char *const *codes = files->class->languages;
    unsigned count = 0;
    while (codes[count] != NULL)
        count++;
    struct tokenizer_language *languages = arena_alloc_array(arena, count, sizeof *languages);
    if (languages == NULL)
        return err_no_memory(err, count * sizeof *languages);
    steps->languages = languages;
    for (unsigned i = 0; i < count; i++) {
        const int32_t id = files->class->pieces == PIECES_M2M100
                               ? (int32_t)(pieces->distinct + i)
                               : added_tokens_find(&steps->added, codes[i], strlen(codes[i]));
        if (id != VOCAB_NONE)
            languages[steps->language_count++] = (struct tokenizer_language){codes[i], id};
    }
    return ERR_OK;
}

/* Marian's vocabulary has a token ">>deu<<" for each language of a target. */
static enum err_code list_marked(struct steps *steps, const struct piece_list *pieces,
                                 struct arena *arena, struct err *err)
{
    enum { MARKS = 4, MARK = 2 };
    struct tokenizer_language *languages =
        arena_alloc_array(arena, pieces->count, sizeof *languages);
    if (languages == NULL)
        return err_no_memory(err, pieces->count * sizeof *languages);
    steps->languages = languages;
    for (size_t i = 0; i < pieces->count; i++) {
        const struct piece *piece = &pieces->items[i];
        if (piece->len <= MARKS || memcmp(piece->text, ">>", MARK) != 0 ||
            memcmp(piece->text + piece->len - MARK, "<<", MARK) != 0)
            continue;
        const char *code = arena_copy(arena, piece->text + MARK, piece->len - MARKS);
        if (code == NULL)
            return err_no_memory(err, piece->len);
        languages[steps->language_count++] = (struct tokenizer_language){code, piece->id};
    }
    return ERR_OK;
}

enum err_code steps_read_languages(struct steps *steps, const struct tokenizer_files *files,
                                   const struct piece_list *pieces, struct arena *arena,
                                   struct err *err)
{
    const struct tokenizer_class *class = files->class;
    const char *key = files->is_target ? "tgt_lang" : "src_lang";
    const char *code = files->is_target ? NULL : class->language, *end;
    const bool has_table = class->languages != NULL;
    bool is_behind = false; /* NLLB's language, behind the text */
    int32_t language = VOCAB_NONE, last;
    if (has_table ? list_class(steps, files, pieces, arena, err)
                  : class->pieces == PIECES_MARIAN && files->source_ids == NULL &&
                        list_marked(steps, pieces, arena, err))
        return err->code;
    if (!has_table && files->older != OLDER_PIECES)
        return ERR_OK;
    if (has_table && (doc_get_string(files->config, "$", key, &code, err) ||
                      (class->pieces == PIECES_M2M100 &&
                       doc_expect_string(files->config, "$", "language_codes", "m2m100", err)) ||
                      (class->pieces == PIECES_NLLB &&
                       doc_get_bool(files->config, "$", "legacy_behaviour", &is_behind, err))))
        return err_prefix(err, "%s: ", config_name);
    for (unsigned i = 0; has_table && code != NULL && i < steps->language_count; i++)
        if (strcmp(steps->languages[i].code, code) == 0)
            language = steps->languages[i].id;
    if (has_table && code != NULL && language == VOCAB_NONE)
        return err_set(err, ERR_UNSUPPORTED, "%s: $.%s: '%.60s' is no language of %sTokenizer",
                       config_name, key, code, class->name);
    end = tokenizer_files_content(files, EOS);
    last = end != NULL ? added_tokens_find(&steps->added, end, strlen(end)) : VOCAB_NONE;
    if (last == VOCAB_NONE)
        return err_set(err, ERR_UNSUPPORTED, "%s: the vocabulary has no eos_token",
                       tokenizer_files_name(files));
    post_processor_frame(&steps->post, is_behind ? FRAME_LANGUAGE_LAST : class->frame, language,
                         last);
    steps->post.ends_once = steps->slow.class == PIECES_T5;
    return ERR_OK;
}
