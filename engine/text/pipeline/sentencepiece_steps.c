/* sentencepiece_steps.c - see steps.h: the slow tokenizers of transformers 4.57 whose vocabulary is
 * a SentencePiece model, those of T5, Pegasus, Marian and M2M100; and languages.
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
    const int32_t id = files->ids == NULL /* T5 and Pegasus take the model's */
                           ? pieces->items[steps->model.file->unknown].id
                           : vocab_find(&pieces->names, unknown, strlen(unknown));
    if (id == VOCAB_NONE)
        return err_set(err, ERR_UNSUPPORTED, "vocab.json: the vocabulary has no unk_token '%.60s'",
                       unknown);
    return text_model_name(&steps->model, id, arena, err);
}

/* ---- languages ---- */

/* The tokens of M2M100's languages have the ids behind the vocabulary, mBART's are added tokens. */
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
    int32_t language = VOCAB_NONE, last;
    if (has_table ? list_class(steps, files, pieces, arena, err)
                  : class->pieces == PIECES_MARIAN && files->source_ids == NULL &&
                        list_marked(steps, pieces, arena, err))
        return err->code;
    if (!has_table && files->older != OLDER_PIECES)
        return ERR_OK;
    if (has_table && (doc_get_string(files->config, "$", key, &code, err) ||
                      doc_expect_string(files->config, "$", "language_codes", "m2m100", err)))
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
    post_processor_frame(&steps->post, class->frame, language, last);
    steps->post.ends_once = steps->slow.class == PIECES_T5;
    return ERR_OK;
}
