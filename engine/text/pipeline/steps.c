#include "engine/text/pipeline/steps.h"

#include "engine/base/doc.h"
#include "engine/text/pipeline/members.h"

#include <math.h>
#include <string.h>

enum { LENGTH_MIN = 3 };

static const char config_name[] = "tokenizer_config.json";

/* ---- the steps ---- */

static enum err_code read_steps(struct steps *steps, const struct tokenizer_files *files,
                                struct piece_list *pieces, struct arena *arena, struct err *err)
{
    static const char *const known[] = {
        "version",       "truncation",     "padding", "added_tokens", "normalizer",
        "pre_tokenizer", "post_processor", "decoder", "model",        NULL};
    const struct json_t *root = files->root;
    if (files->older == OLDER_PIECES)
        return steps_read_pieces(steps, files, pieces, arena, err);
    if (files->words != NULL &&
        piece_list_read_lines(pieces, files->words, files->words_len, arena, err))
        return err->code;
    if (members_check(root, "$", known, err) ||
        normalizer_steps_read(&steps->normalizer, doc_member(root, "normalizer"), arena, err) ||
        pretokenizer_steps_read(&steps->pretokenizer, doc_member(root, "pre_tokenizer"), arena,
                                err) ||
        post_processor_read(&steps->post, doc_member(root, "post_processor"), err))
        return err->code;
    return text_model_read(&steps->model, doc_member(root, "model"),
                           steps->pretokenizer.is_byte_level, pieces, arena, err);
}

/* ---- tokenizer_config.json ---- */

/* Reads the side that is cut: from tokenizer_config.json, else from tokenizer.json. */
static enum err_code read_side(struct steps *steps, const struct tokenizer_files *files,
                               struct err *err)
{
    const struct json_t *cut = doc_member(files->root, "truncation");
    const char *side = doc_as_string(doc_member(cut, "direction"));
    side = side != NULL && strcmp(side, "Left") == 0 ? "left" : "right";
    if (doc_get_string(files->config, "$", "truncation_side", &side, err))
        return err->code;
    steps->keeps_end = strcmp(side, "left") == 0;
    if (steps->keeps_end || strcmp(side, "right") == 0)
        return ERR_OK;
    return err_set(err, ERR_UNSUPPORTED, "$.truncation_side: '%.60s' is neither left nor right",
                   side);
}

/* Reads model_max_length; max_len is its older name. */
static enum err_code read_length(struct steps *steps, const struct json_t *config, struct err *err)
{
    static const char key[] = "model_max_length";
    bool is_older = doc_member(config, key) == NULL && !doc_has_null(config, key);
    const char *name = is_older ? "max_len" : key;
    steps->length_max = HUGE_VAL;
    if (doc_get_number(config, "$", name, &steps->length_max, err))
        return err->code;
    if (!(steps->length_max >= LENGTH_MIN))
        return err_set(err, ERR_UNSUPPORTED, "$.%s: must be at least %d", name, LENGTH_MIN);
    return ERR_OK;
}

static enum err_code read_config(struct steps *steps, const struct tokenizer_files *files,
                                 struct err *err)
{
    const struct json_t *root = files->root, *config = files->config;
    const struct json_t *names = doc_member(config, "model_input_names");
    bool splits_specials = false, has_types = names == NULL && !files->class->has_no_types;
    if (read_length(steps, config, err) || read_side(steps, files, err) ||
        doc_get_bool(config, "$", "split_special_tokens", &splits_specials, err) ||
        doc_get_bool(config, "$", "clean_up_tokenization_spaces", &steps->decoder.tidies, err) ||
        normalizer_steps_override(&steps->normalizer, doc_member(root, "normalizer"), files, err) ||
        pretokenizer_steps_override(&steps->pretokenizer, doc_member(root, "pre_tokenizer"), files,
                                    err) ||
        post_processor_override(&steps->post, doc_member(root, "post_processor"), files, err))
        return err->code;
    if (splits_specials)
        return err_set(err, ERR_UNSUPPORTED, "$.split_special_tokens: true is not supported");
    for (size_t i = 0; i < doc_array_count(names); i++) {
        const char *name = doc_as_string(doc_array_item(names, i));
        has_types |= name != NULL && strcmp(name, "token_type_ids") == 0;
    }
    for (unsigned i = 0; i < steps->post.pair.count && !has_types; i++)
        steps->post.pair.items[i].type = 0; /* without token types both texts have type 0 */
    return ERR_OK;
}

/* ---- special tokens ---- */

static int32_t find_special(const struct steps *steps, const struct tokenizer_files *files,
                            enum special_name which, const char *const *usual)
{
    const char *name = tokenizer_files_content(files, which);
    int32_t id = VOCAB_NONE;
    if (name != NULL)
        return added_tokens_find(&steps->added, name, strlen(name));
    for (; *usual != NULL && id == VOCAB_NONE; usual++)
        id = added_tokens_find(&steps->added, *usual, strlen(*usual));
    return id;
}

static unsigned largest_id(const struct tokenizer_template *order, unsigned size)
{
    for (unsigned i = 0; i < order->count; i++)
        if (order->items[i].source == TEMPLATE_SPECIAL && (unsigned)order->items[i].id >= size)
            size = (unsigned)order->items[i].id + 1;
    return size;
}

static unsigned count_ids(const struct steps *steps)
{
    unsigned size = steps->model.vocab_size;
    size = steps->added.vocab_size > size ? steps->added.vocab_size : size;
    for (unsigned i = 0; i < steps->language_count; i++)
        if ((unsigned)steps->languages[i].id >= size)
            size = (unsigned)steps->languages[i].id + 1;
    return largest_id(&steps->post.pair, largest_id(&steps->post.single, size));
}

void steps_fit(struct steps *steps, unsigned rows)
{
    added_tokens_fit(&steps->added, rows);
    steps->vocab_size = count_ids(steps);
    if (steps->mask >= (int32_t)steps->vocab_size)
        steps->mask = VOCAB_NONE;
    if (steps->pad >= (int32_t)steps->vocab_size)
        steps->pad = VOCAB_NONE;
}

/* ---- strings of tokens ---- */

/* The pieces of a Unigram are read once more: its model keeps them as a tree. */
static bool add_listed(struct token_string *strings, const struct json_t *vocab,
                       struct arena *arena)
{
    for (size_t i = 0; i < doc_array_count(vocab); i++) {
        size_t len;
        const char *text = doc_text(doc_array_item(doc_array_item(vocab, i), 0), &len);
        text = text != NULL ? arena_copy(arena, text, len) : NULL;
        if (text == NULL)
            return false;
        strings[i] = (struct token_string){.text = text, .len = (uint32_t)len};
    }
    return true;
}

/* Added tokens win; the others' texts are the list's, and M2M100's languages. */
static enum err_code read_strings(struct steps *steps, const struct json_t *root,
                                  const struct piece_list *pieces, struct arena *arena,
                                  struct err *err)
{
    const struct added_tokens *added = &steps->added;
    const unsigned count = steps->vocab_size;
    struct token_string *strings = arena_alloc_array(arena, count, sizeof *strings);
    const bool is_listed = steps->model.kind == MODEL_UNIGRAM && steps->model.file == NULL;
    if (strings == NULL ||
        (is_listed && !add_listed(strings, doc_member(doc_member(root, "model"), "vocab"), arena)))
        return err_no_memory(err, count * sizeof *strings);
    for (size_t i = 0; !is_listed && i < pieces->count; i++)
        if (pieces->items[i].len > 0)
            strings[pieces->items[i].id] =
                (struct token_string){.text = pieces->items[i].text, .len = pieces->items[i].len};
    for (unsigned i = 0; steps->slow.class == PIECES_M2M100 && i < steps->language_count; i++) {
        const char *text = arena_format(arena, "__%s__", steps->languages[i].code);
        if (text == NULL)
            return err_no_memory(err, sizeof *strings);
        strings[steps->languages[i].id] =
            (struct token_string){.text = text, .len = (uint32_t)strlen(text)};
    }
    for (size_t i = 0; i < added->count; i++) {
        const struct added_token *token = &added->entries[i];
        strings[token->id] = (struct token_string){
            .text = token->content, .len = (uint32_t)token->len, .is_special = token->is_special};
    }
    steps->strings = strings;
    steps->string_count = count;
    return ERR_OK;
}

/* Older files imply the decoder of their class. */
static enum err_code read_decoder(struct steps *steps, const struct tokenizer_files *files,
                                  struct err *err)
{
    if (decoder_read(&steps->decoder, doc_member(files->root, "decoder"), err))
        return err->code;
    if (files->older == OLDER_VOCAB_TXT)
        steps->decoder = (struct decoder){
            .kind = DECODER_WORDPIECE, .cleans = true, .mark = "##", .mark_len = 2};
    if (files->older == OLDER_BPE)
        steps->decoder.kind = DECODER_BYTE_LEVEL;
    if (files->older == OLDER_PIECES)
        steps->decoder = (struct decoder){.kind = DECODER_METASPACE,
                                          .mark = SENTENCEPIECE_MARK,
                                          .mark_len = SENTENCEPIECE_MARK_BYTES};
    return ERR_OK;
}

/* ---- BERT ---- */

/* True if all added tokens are matched literally, in the raw text. */
static bool are_literal(const struct added_tokens *added)
{
    for (size_t i = 0; i < added->raw.count; i++) {
        const struct added_token *token = added->raw.items[i];
        if (token->lstrip || token->rstrip || token->single_word)
            return false;
    }
    return added->normalized.count == 0;
}

static bool is_bert(const struct steps *steps, const struct json_t *root)
{
    const struct json_t *normalizer = doc_member(root, "normalizer");
    return steps->model.kind == MODEL_WORDPIECE &&
           (normalizer == NULL || members_has_type(normalizer, "BertNormalizer")) &&
           members_has_type(doc_member(root, "pre_tokenizer"), "BertPreTokenizer");
}

struct normalizer_flags steps_flags(const struct steps *steps)
{
    return steps->normalizer.count > 0 ? steps->normalizer.items[0].flags
                                       : (struct normalizer_flags){0};
}

/* ---- the whole ---- */

enum err_code steps_read(struct steps *out, const struct tokenizer_files *files,
                         struct arena *arena, struct err *err)
{
    static const char *const pads[] = {"<pad>", "[PAD]", NULL};
    static const char *const masks[] = {"<mask>", "[MASK]", NULL};
    static const char *const none[] = {NULL};
    const char *name = tokenizer_files_name(files);
    struct piece_list pieces = {0}, source = {0};
    *out = (struct steps){0};
    if (read_steps(out, files, &pieces, arena, err))
        return files->older == OLDER_PIECES ? err->code : err_prefix(err, "%s: ", name);
    /* Marian's added tokens have the source's ids on both sides */
    if (files->source_ids != NULL && piece_list_read(&source, files->source_ids, "$", arena, err))
        return err_prefix(err, "vocab.json: ");
    if (added_read(&out->added, files, &out->model, source.count > 0 ? &source : &pieces, arena,
                   err) ||
        (files->older == OLDER_PIECES && steps_name_pieces(out, files, &pieces, arena, err)) ||
        steps_read_languages(out, files, &pieces, arena, err))
        return err->code;
    if (files->older == OLDER_VOCAB_TXT || files->older == OLDER_BPE)
        post_processor_frame(&out->post, files->class->frame, find_special(out, files, CLS, none),
                             find_special(out, files, SEP, none));
    /* the reference normalises them before tokenizer_config.json changes the normaliser */
    if (added_tokens_build(&out->added, &out->normalizer, err))
        return err_prefix(err, "%s: ", name);
    if (read_decoder(out, files, err))
        return err_prefix(err, "%s: ", name);
    if (read_config(out, files, err))
        return err_prefix(err, "%s: ", config_name);
    out->ends_words = files->class->ends_words;
    out->pad = find_special(out, files, PAD, pads);
    out->mask = find_special(out, files, MASK, masks);
    out->vocab_size = count_ids(out);
    if (read_strings(out, files->root, &pieces, arena, err))
        return err->code;
    out->is_bert = is_bert(out, files->root);
    out->is_plain = out->is_bert && !out->post.trims && are_literal(&out->added);
    return ERR_OK;
}

enum err_code steps_limit(unsigned *out, const struct steps *steps, unsigned tokens_max,
                          struct err *err)
{
    unsigned least = steps->post.single.count;
    *out = steps->length_max < tokens_max ? (unsigned)steps->length_max : tokens_max;
    if (*out >= least)
        return ERR_OK;
    return err_set(err, ERR_UNSUPPORTED, "a limit of %u tokens; at least %u are needed", *out,
                   least);
}
