#include "engine/text/pipeline/normalizer_step.h"

#include "engine/base/doc.h"
#include "engine/text/pipeline/members.h"

#include <string.h>

enum { NESTED_MAX = 4, LETTERS = 3, FORMS = UNICODE_FORMS_GROWTH_MAX };

struct reader {
    struct normalizer_steps *steps;
    struct arena *arena;
    unsigned depth;
};

/* Reads the members of a step beside its type; apply and growth are already set. */
typedef enum err_code read_step(struct reader *reader, struct normalizer_step *step,
                                const struct json_t *json, const char *path, struct err *err);

static enum err_code read_any(struct reader *reader, const struct json_t *json, const char *path,
                              struct err *err);

static enum err_code copy_content(struct reader *reader, struct normalizer_step *step,
                                  const struct json_t *json, const char *path, const char *key,
                                  struct err *err)
{
    const char *content = NULL;
    if (doc_get_string(json, path, key, &content, err))
        return err->code;
    if (content == NULL)
        return err_set(err, ERR_UNSUPPORTED, "%s.%s is missing", path, key);
    step->content_len = strlen(content);
    step->content = arena_copy(reader->arena, content, step->content_len);
    return step->content != NULL ? ERR_OK : err_no_memory(err, step->content_len);
}

static enum err_code read_strip(struct reader *reader, struct normalizer_step *step,
                                const struct json_t *json, const char *path, struct err *err)
{
    (void)reader;
    step->left = step->right = true;
    doc_get_bool(json, path, "strip_left", &step->left, err);
    return doc_get_bool(json, path, "strip_right", &step->right, err);
}

static void grow_all(struct normalizer_step *step, size_t growth)
{
    step->growth = (struct text_growth){{growth, growth, growth}, false};
}

static bool has_word_or_space(const struct pattern *pattern)
{
    for (size_t i = 0; i < pattern->len; i++) {
        unsigned char byte = (unsigned char)pattern->text[i];
        if (byte == ' ' || (unsigned)(byte | 32) - 'a' < 26 || (unsigned)byte - '0' < 10)
            return true;
    }
    return false;
}

/* Reads a Replace. It keeps words if its pattern is blanks: a match has two spaces or more. */
static enum err_code read_replace(struct reader *reader, struct normalizer_step *step,
                                  const struct json_t *json, const char *path, struct err *err)
{
    const char *inner = arena_format(reader->arena, "%s.pattern", path);
    if (inner == NULL)
        return err_no_memory(err, strlen(path));
    if (pattern_read(&step->pattern, doc_member(json, "pattern"), inner, reader->arena, err) ||
        copy_content(reader, step, json, path, "content", err))
        return err->code;
    const struct pattern *pattern = &step->pattern;
    size_t least = pattern->kind == PATTERN_STRING   ? pattern->len
                   : pattern->kind == PATTERN_BLANKS ? 2
                                                     : 1;
    size_t growth = (step->content_len + least - 1) / least;
    grow_all(step, growth > 1 ? growth : 1);
    step->keeps_words = pattern->kind == PATTERN_BLANKS || pattern->kind == PATTERN_BREAKS ||
                        (pattern->kind == PATTERN_SPACES && strcmp(step->content, " ") == 0) ||
                        (pattern->kind == PATTERN_STRING && !has_word_or_space(pattern));
    return ERR_OK;
}

static enum err_code read_prepend(struct reader *reader, struct normalizer_step *step,
                                  const struct json_t *json, const char *path, struct err *err)
{
    if (copy_content(reader, step, json, path, "prepend", err))
        return err->code;
    if (step->content_len == 0)
        return err_set(err, ERR_UNSUPPORTED, "%s.prepend is empty", path);
    grow_all(step, 1 + step->content_len);
    return ERR_OK;
}

/* True if the table leaves ASCII letters and digits, and the spaces between them, as they are. */
static bool table_keeps_words(const struct precompiled *table, struct arena *arena, struct err *err)
{
    static const char words[] = "0 1 2 3 4 5 6 7 8 9 A B C D E F G H I J K L M N O P Q R S T U V W "
                                "X Y Z a b c d e f g h i j k l m n o p q r s t u v w x y z";
    struct aligned in, out;
    return !aligned_of_text(&in, words, sizeof words - 1, 0, arena, err) &&
           !precompiled_apply(table, &in, &out, arena, NULL, err) && out.len == in.len &&
           memcmp(in.bytes, out.bytes, in.len) == 0;
}

static enum err_code read_precompiled(struct reader *reader, struct normalizer_step *step,
                                      const struct json_t *json, const char *path, struct err *err)
{
    size_t len;
    const char *map = doc_text(doc_member(json, "precompiled_charsmap"), &len);
    if (map == NULL)
        return err_set(err, ERR_UNSUPPORTED, "%s.precompiled_charsmap: expected a string", path);
    if (precompiled_read(&step->table, map, len, reader->arena, err))
        return err_prefix(err, "%s: ", path);
    struct precompiled_growth growth = precompiled_growth(step->table);
    size_t letters = growth.other < LETTERS ? growth.other : LETTERS;
    step->growth = (struct text_growth){{growth.ascii, letters, growth.other}, true};
    step->keeps_words = table_keeps_words(step->table, reader->arena, err);
    return err->code;
}

static enum err_code read_bert(struct reader *reader, struct normalizer_step *step,
                               const struct json_t *json, const char *path, struct err *err)
{
    struct normalizer_flags *flags = &step->flags;
    (void)reader;
    *flags = (struct normalizer_flags){.clean_text = true, .space_cjk = true, .lower_case = true};
    if (doc_get_bool(json, path, "clean_text", &flags->clean_text, err) ||
        doc_get_bool(json, path, "handle_chinese_chars", &flags->space_cjk, err) ||
        doc_get_bool(json, path, "lowercase", &flags->lower_case, err))
        return err->code;
    flags->strip_accents = flags->lower_case;
    return doc_get_bool(json, path, "strip_accents", &flags->strip_accents, err);
}

#define READ_FORM(name, value)                                                                     \
    static enum err_code name(struct reader *reader, struct normalizer_step *step,                 \
                              const struct json_t *json, const char *path, struct err *err)        \
    {                                                                                              \
        (void)reader, (void)json, (void)path, (void)err;                                           \
        step->form = value;                                                                        \
        return ERR_OK;                                                                             \
    }
READ_FORM(read_nfc, UNICODE_NFC)
READ_FORM(read_nfd, UNICODE_NFD)
READ_FORM(read_nfkc, UNICODE_NFKC)
READ_FORM(read_nfkd, UNICODE_NFKD)

/* ---- the table ---- */

static const struct row {
    const char *type;
    enum err_code (*apply)(const struct normalizer_step *, const struct aligned *, struct aligned *,
                           const struct normalizer_work *, struct err *);
    read_step *read; /* NULL: nothing to read */
    struct text_growth growth;
    const char *members[6];
} rows[] = {
    {"Lowercase", normalizer_lowercase, NULL, {{1, 2, 2}, false}, {"type"}},
    {"Strip",
     normalizer_strip,
     read_strip,
     {{1, 1, 1}, false},
     {"type", "strip_left", "strip_right"}},
    {"StripAccents", normalizer_strip_accents, NULL, {{1, 1, 1}, false}, {"type"}},
    {"Nmt", normalizer_nmt, NULL, {{1, 1, 1}, false}, {"type"}},
    {"Replace",
     normalizer_replace,
     read_replace,
     {{1, 1, 1}, false},
     {"type", "pattern", "content"}},
    {"Prepend", normalizer_prepend, read_prepend, {{1, 1, 1}, false}, {"type", "prepend"}},
    {"NFC", normalizer_form, read_nfc, {{1, LETTERS, FORMS}, true}, {"type"}},
    {"NFD", normalizer_form, read_nfd, {{1, LETTERS, FORMS}, true}, {"type"}},
    {"NFKC", normalizer_form, read_nfkc, {{1, LETTERS, FORMS}, true}, {"type"}},
    {"NFKD", normalizer_form, read_nfkd, {{1, LETTERS, FORMS}, true}, {"type"}},
    {"Precompiled",
     normalizer_precompiled,
     read_precompiled,
     {{1, 1, 1}, false},
     {"type", "precompiled_charsmap"}},
    {"BertNormalizer",
     normalizer_bert,
     read_bert,
     {{1, LETTERS, FORMS}, true},
     {"type", "clean_text", "handle_chinese_chars", "strip_accents", "lowercase"}},
};

static enum err_code read_sequence(struct reader *reader, const struct json_t *json,
                                   const char *path, struct err *err)
{
    static const char *const known[] = {"type", "normalizers", NULL};
    const struct json_t *list = doc_member(json, "normalizers");
    if (members_check(json, path, known, err))
        return err->code;
    if (reader->depth == NESTED_MAX)
        return err_set(err, ERR_UNSUPPORTED, "%s: sequences nested more than %d deep", path,
                       NESTED_MAX);
    reader->depth++;
    for (size_t i = 0; i < doc_array_count(list); i++) {
        const char *inner = arena_format(reader->arena, "%s.normalizers[%zu]", path, i);
        if (inner == NULL)
            return err_no_memory(err, strlen(path));
        if (read_any(reader, doc_array_item(list, i), inner, err))
            return err->code;
    }
    reader->depth--;
    return ERR_OK;
}

static enum err_code read_any(struct reader *reader, const struct json_t *json, const char *path,
                              struct err *err)
{
    struct normalizer_steps *steps = reader->steps;
    const char *type;
    if (members_type(&type, json, path, err))
        return err->code;
    if (strcmp(type, "Sequence") == 0)
        return read_sequence(reader, json, path, err);
    size_t at = 0;
    while (at < sizeof rows / sizeof *rows && strcmp(rows[at].type, type) != 0)
        at++;
    if (at == sizeof rows / sizeof *rows)
        return members_unknown_type(type, path, err);
    const struct row *row = &rows[at];
    if (steps->count == NORMALIZER_STEPS_MAX)
        return err_set(err, ERR_UNSUPPORTED, "%s: more than %d steps", path, NORMALIZER_STEPS_MAX);
    struct normalizer_step *step = &steps->items[steps->count++];
    *step =
        (struct normalizer_step){.apply = row->apply, .growth = row->growth, .keeps_words = true};
    if (members_check(json, path, row->members, err) ||
        (row->read != NULL && row->read(reader, step, json, path, err)))
        return err->code;
    steps->keep_words &= step->keeps_words;
    return ERR_OK;
}

enum err_code normalizer_steps_read(struct normalizer_steps *out, const struct json_t *json,
                                    struct arena *arena, struct err *err)
{
    struct reader reader = {out, arena, 0};
    *out = (struct normalizer_steps){.keep_words = true};
    out->items = arena_alloc_array(arena, NORMALIZER_STEPS_MAX, sizeof *out->items);
    if (out->items == NULL)
        return err_no_memory(err, NORMALIZER_STEPS_MAX * sizeof *out->items);
    return json == NULL ? ERR_OK : read_any(&reader, json, "$.normalizer", err);
}

enum err_code normalizer_steps_override(struct normalizer_steps *steps, const struct json_t *json,
                                        const struct tokenizer_files *files, struct err *err)
{
    bool lower_case = true, spaces_chinese = true;
    if (!files->class->sets_case)
        return ERR_OK;
    if (json == NULL)
        return err_set(err, ERR_UNSUPPORTED,
                       "$.tokenizer_class: %sTokenizer needs a tokenizer.json with a normalizer",
                       files->class->name);
    if (!members_has_type(json, "BertNormalizer"))
        return ERR_OK;
    static const char *const keys[] = {"do_lower_case", "tokenize_chinese_chars"};
    for (size_t i = 0; i < 2; i++)
        if (doc_has_null(files->config, keys[i]))
            return err_set(err, ERR_UNSUPPORTED, "$.%s: expected true or false, found null",
                           keys[i]);
    struct normalizer_flags *flags = &steps->items[0].flags;
    if (doc_get_bool(files->config, "$", "do_lower_case", &lower_case, err) ||
        doc_get_bool(files->config, "$", "tokenize_chinese_chars", &spaces_chinese, err))
        return err->code;
    if (files->class->sets_chinese)
        flags->space_cjk = spaces_chinese;
    flags->lower_case = flags->strip_accents = lower_case;
    return doc_get_bool(files->config, "$", "strip_accents", &flags->strip_accents, err);
}

/* ---- use ---- */

/* Empties the arena that is no longer needed; returns the other. The step's result is in the other
 * arena, or shares the arrays of its input. */
static unsigned release(struct arena pair[2], unsigned holder, const struct aligned *before,
                        const struct aligned *after)
{
    bool is_shared = after->bytes >= before->bytes && after->bytes < before->bytes + before->len;
    arena_deinit(&pair[is_shared ? !holder : holder]);
    return is_shared ? holder : !holder;
}

enum err_code normalizer_steps_apply(const struct normalizer_steps *steps, struct aligned *text,
                                     struct arena pair[2], const struct normalizer_work *work,
                                     struct err *err)
{
    struct normalizer_work own = *work;
    unsigned holder = 0;
    for (size_t i = 0; i < steps->count && text->len > 0; i++) {
        struct aligned next;
        own.arena = &pair[!holder];
        if (interrupt_look(work->interrupt, err) ||
            steps->items[i].apply(&steps->items[i], text, &next, &own, err))
            return err->code;
        if (next.len > work->size_max)
            return err_set(err, ERR_TOO_LARGE,
                           "%zu bytes of text become %zu when they are normalised; at most %zu are "
                           "supported",
                           text->len, next.len, work->size_max);
        holder = release(pair, holder, text, &next);
        *text = next;
    }
    return ERR_OK;
}

/* Adds the steps' costs. Sorting runs of marks takes up to 96 bytes for each mark, which has two
 * bytes or more. The starts of characters take 4 bytes each. */
void normalizer_steps_cost(const struct normalizer_steps *steps, struct text_cost *cost)
{
    enum { SORT_BYTES = 48 };
    for (size_t i = 0; i < steps->count; i++)
        text_cost_step(cost, &steps->items[i].growth);
    if (steps->count > 0)
        text_cost_add(cost, SORT_BYTES);
}
