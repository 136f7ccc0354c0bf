#include "engine/base/doc.h"
#include "engine/text/pipeline/members.h"
#include "engine/text/pipeline/piece_list.h"
#include "engine/text/pipeline/steps.h"

#include <string.h>

static const char path[] = "$.post_processor";

static enum err_code read_any(struct post_processor *post, const struct json_t *json, bool is_inner,
                              struct err *err);

static enum err_code append(struct tokenizer_template *order, enum template_source source,
                            uint8_t type, int32_t id, struct err *err)
{
    if (order->count == TEMPLATE_ITEMS_MAX)
        return err_set(err, ERR_UNSUPPORTED, "%s: more than %d items in a template", path,
                       TEMPLATE_ITEMS_MAX);
    order->items[order->count++] = (struct template_item){source, type, id};
    return ERR_OK;
}

static enum err_code read_id(int32_t *out, const struct json_t *json, const char *what,
                             struct err *err)
{
    double number = -1;
    if (!doc_as_number(json, &number) || number < 0 || number > PIECE_ID_MAX ||
        number != (double)(int32_t)number)
        return err_set(err, ERR_UNSUPPORTED, "%s.%s: expected an id from 0 to %d", path, what,
                       PIECE_ID_MAX);
    *out = (int32_t)number;
    return ERR_OK;
}

/* ---- TemplateProcessing ---- */

/* {"SpecialToken": {"id": name, "type_id": n}} or {"Sequence": {"id": "A", "type_id": n}} */
static enum err_code append_item(struct tokenizer_template *order, const struct json_t *item,
                                 const struct json_t *tokens, struct err *err)
{
    const struct json_t *special = doc_member(item, "SpecialToken");
    const struct json_t *sequence = doc_member(item, "Sequence");
    const struct json_t *either = special != NULL ? special : sequence;
    const char *id = doc_as_string(doc_member(either, "id"));
    long long type = 0;
    if (id == NULL)
        return err_set(err, ERR_UNSUPPORTED, "%s: expected a SpecialToken or a Sequence", path);
    if (doc_get_integer(either, path, "type_id", 0, UINT8_MAX, &type, err))
        return err->code;
    if (special == NULL && strcmp(id, "A") != 0 && strcmp(id, "B") != 0)
        return err_set(err, ERR_UNSUPPORTED, "%s: the sequence '%s' is not A or B", path, id);
    if (special == NULL)
        return append(order, id[0] == 'A' ? TEMPLATE_TEXT : TEMPLATE_PAIR, (uint8_t)type, 0, err);
    const struct json_t *ids = doc_member(doc_member(tokens, id), "ids");
    if (doc_array_count(ids) == 0)
        return err_set(err, ERR_UNSUPPORTED, "%s: the template's '%s' has no ids in special_tokens",
                       path, id);
    for (size_t i = 0; i < doc_array_count(ids); i++) {
        int32_t number = 0;
        if (read_id(&number, doc_array_item(ids, i), "special_tokens", err) ||
            append(order, TEMPLATE_SPECIAL, (uint8_t)type, number, err))
            return err->code;
    }
    return ERR_OK;
}

static unsigned count_source(const struct tokenizer_template *order, enum template_source source)
{
    unsigned count = 0;
    for (unsigned i = 0; i < order->count; i++)
        count += order->items[i].source == source;
    return count;
}

static enum err_code read_order(struct tokenizer_template *order, const struct json_t *json,
                                const char *name, unsigned pairs, struct err *err)
{
    const struct json_t *items = doc_member(json, name);
    order->count = 0;
    for (size_t i = 0; i < doc_array_count(items); i++)
        if (append_item(order, doc_array_item(items, i), doc_member(json, "special_tokens"), err))
            return err->code;
    if (count_source(order, TEMPLATE_TEXT) != 1 || count_source(order, TEMPLATE_PAIR) != pairs)
        return err_set(err, ERR_UNSUPPORTED, "%s.%s: expected the sequence A%s once", path, name,
                       pairs > 0 ? " and B" : "");
    return ERR_OK;
}

static enum err_code read_template(struct post_processor *post, const struct json_t *json,
                                   struct err *err)
{
    static const char *const known[] = {"type", "single", "pair", "special_tokens", NULL};
    if (members_check(json, path, known, err) || read_order(&post->single, json, "single", 0, err))
        return err->code;
    for (unsigned i = 0; i < post->single.count; i++)
        if (post->single.items[i].type != 0)
            return err_set(err, ERR_UNSUPPORTED, "%s.single: only type_id 0 is supported", path);
    return read_order(&post->pair, json, "pair", 1, err);
}

/* ---- types with a fixed template ---- */

static enum err_code read_named(int32_t *id, const struct json_t *json, const char *name,
                                struct err *err)
{
    return read_id(id, doc_array_item(doc_member(json, name), 1), name, err);
}

/* A frame puts special tokens around one text and around two. */
void post_processor_frame(struct post_processor *out, enum class_frame frame, int32_t cls,
                          int32_t sep)
{
    const bool is_language = frame == FRAME_LANGUAGE_FIRST || frame == FRAME_LANGUAGE_LAST;
    const struct template_item first = {is_language ? TEMPLATE_LANGUAGE : TEMPLATE_SPECIAL, 0, cls};
    const struct template_item text = {TEMPLATE_TEXT, 0, 0}, end = {TEMPLATE_SPECIAL, 0, sep};
    const uint8_t type = frame != FRAME_ROBERTA;
    struct tokenizer_template *pair = &out->pair;
    out->single = (struct tokenizer_template){{first, text, end}, 3};
    if (frame == FRAME_END)
        out->single = (struct tokenizer_template){{text, end}, 2};
    if (frame == FRAME_LANGUAGE_LAST)
        out->single = (struct tokenizer_template){{text, end, first}, 3};
    *pair = out->single;
    if (is_language || frame == FRAME_END)
        pair->count = 0;
    if (pair->count == 0)
        return;
    if (frame != FRAME_BERT)
        pair->items[pair->count++] = end;
    pair->items[pair->count++] = (struct template_item){TEMPLATE_PAIR, type, 0};
    pair->items[pair->count++] = (struct template_item){TEMPLATE_SPECIAL, type, sep};
}

static enum err_code read_bert(struct post_processor *post, const struct json_t *json,
                               struct err *err)
{
    static const char *const known[] = {"type", "sep", "cls", NULL};
    int32_t cls = 0, sep = 0;
    if (members_check(json, path, known, err) || read_named(&cls, json, "cls", err) ||
        read_named(&sep, json, "sep", err))
        return err->code;
    post_processor_frame(post, FRAME_BERT, cls, sep);
    return ERR_OK;
}

static enum err_code read_roberta(struct post_processor *post, const struct json_t *json,
                                  struct err *err)
{
    static const char *const known[] = {"type", "sep", "cls", "trim_offsets", "add_prefix_space",
                                        NULL};
    int32_t cls = 0, sep = 0;
    post->trims = post->adds_prefix = true;
    if (members_check(json, path, known, err) || read_named(&cls, json, "cls", err) ||
        read_named(&sep, json, "sep", err) ||
        doc_get_bool(json, path, "trim_offsets", &post->trims, err) ||
        doc_get_bool(json, path, "add_prefix_space", &post->adds_prefix, err))
        return err->code;
    post_processor_frame(post, FRAME_ROBERTA, cls, sep);
    return ERR_OK;
}

/* ByteLevel trims offsets and adds no tokens. */
static enum err_code read_byte_level(struct post_processor *post, const struct json_t *json,
                                     struct err *err)
{
    static const char *const known[] = {"type", "add_prefix_space", "trim_offsets", "use_regex",
                                        NULL};
    post->trims = post->adds_prefix = true;
    if (members_check(json, path, known, err) ||
        doc_get_bool(json, path, "trim_offsets", &post->trims, err))
        return err->code;
    return doc_get_bool(json, path, "add_prefix_space", &post->adds_prefix, err);
}

/* ---- the whole ---- */

static enum err_code read_sequence(struct post_processor *post, const struct json_t *json,
                                   struct err *err)
{
    const struct json_t *list = doc_member(json, "processors");
    bool had_template = false;
    for (size_t i = 0; i < doc_array_count(list); i++) {
        unsigned count = post->single.count;
        if (read_any(post, doc_array_item(list, i), true, err))
            return err->code;
        bool is_template = post->single.count != count;
        if (had_template)
            return err_set(err, ERR_UNSUPPORTED, "%s: a step behind a template is not supported",
                           path);
        had_template = is_template;
    }
    return ERR_OK;
}

static enum err_code read_any(struct post_processor *post, const struct json_t *json, bool is_inner,
                              struct err *err)
{
    static const struct {
        const char *type;
        enum err_code (*read)(struct post_processor *, const struct json_t *, struct err *);
    } rows[] = {
        {"TemplateProcessing", read_template}, {"BertProcessing", read_bert},
        {"RobertaProcessing", read_roberta},   {"ByteLevel", read_byte_level},
        {"Sequence", read_sequence},
    };
    const char *type;
    if (members_type(&type, json, path, err))
        return err->code;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].type, type) == 0 && !(is_inner && rows[i].read == read_sequence))
            return rows[i].read(post, json, err);
    return members_unknown_type(type, path, err);
}

enum err_code post_processor_read(struct post_processor *out, const struct json_t *json,
                                  struct err *err)
{
    *out = (struct post_processor){
        .single = {{{TEMPLATE_TEXT, 0, 0}}, 1},
        .pair = {{{TEMPLATE_TEXT, 0, 0}, {TEMPLATE_PAIR, 0, 0}}, 2},
    };
    return json == NULL ? ERR_OK : read_any(out, json, false, err);
}

enum err_code post_processor_override(struct post_processor *post, const struct json_t *json,
                                      const struct tokenizer_files *files, struct err *err)
{
    bool trims = true, adds_prefix = false;
    if (!files->class->sets_trimming ||
        (files->older == OLDER_NONE && !members_has_type(json, "RobertaProcessing") &&
         !members_has_type(json, "ByteLevel")))
        return ERR_OK;
    if (doc_get_bool(files->config, "$", "trim_offsets", &trims, err) ||
        doc_get_bool(files->config, "$", "add_prefix_space", &adds_prefix, err))
        return err->code;
    post->trims = trims;
    post->adds_prefix = adds_prefix;
    return ERR_OK;
}
