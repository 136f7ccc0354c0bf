#include "engine/text/pipeline/pretokenizer_step.h"

#include "engine/base/doc.h"
#include "engine/text/pipeline/members.h"

#include <string.h>

enum { NESTED_MAX = 4 };

struct reader {
    struct pretokenizer_steps *steps;
    struct arena *arena;
    unsigned depth;
};

/* Reads the members of a type beside its name; appends one step or two. */
typedef enum err_code read_step(struct reader *reader, const struct json_t *json, const char *path,
                                struct err *err);

static enum err_code append(struct reader *reader, const struct pretokenizer_step *step,
                            const char *path, struct err *err)
{
    struct pretokenizer_steps *steps = reader->steps;
    if (steps->is_byte_level)
        return err_set(err, ERR_UNSUPPORTED, "%s: a step behind ByteLevel is not supported", path);
    if (steps->count == PRETOKENIZER_STEPS_MAX)
        return err_set(err, ERR_UNSUPPORTED, "%s: more than %d steps", path,
                       PRETOKENIZER_STEPS_MAX);
    steps->items[steps->count++] = *step;
    steps->is_byte_level = step->is_byte_level;
    return ERR_OK;
}

static enum err_code append_cut(struct reader *reader, enum pattern_kind kind,
                                enum split_behavior behavior, bool is_inverted, const char *path,
                                struct err *err)
{
    const struct pretokenizer_step step = {
        .cuts = true, .pattern = {.kind = kind}, .behavior = behavior, .is_inverted = is_inverted};
    return append(reader, &step, path, err);
}

/* ---- one function for each type ---- */

static enum err_code read_byte_level(struct reader *reader, const struct json_t *json,
                                     const char *path, struct err *err)
{
    bool prefix = true, trims = true;
    struct pretokenizer_step step = {.cuts = true,
                                     .pattern = {.kind = PATTERN_GPT2},
                                     .behavior = SPLIT_ISOLATED,
                                     .mark = " ",
                                     .mark_len = 1,
                                     .is_byte_level = true};
    if (doc_get_bool(json, path, "add_prefix_space", &prefix, err) ||
        doc_get_bool(json, path, "trim_offsets", &trims, err) ||
        doc_get_bool(json, path, "use_regex", &step.cuts, err))
        return err->code;
    step.prefix = prefix ? PREFIX_ALWAYS : PREFIX_NEVER;
    return append(reader, &step, path, err);
}

static enum err_code read_behavior(enum split_behavior *out, const struct json_t *json,
                                   const char *path, struct err *err)
{
    static const char *const names[] = {"Removed", "Isolated", "MergedWithPrevious",
                                        "MergedWithNext", "Contiguous"};
    const char *name = names[*out];
    if (doc_get_string(json, path, "behavior", &name, err))
        return err->code;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0) {
            *out = (enum split_behavior)i;
            return ERR_OK;
        }
    return err_set(err, ERR_UNSUPPORTED, "%s.behavior '%s' is not supported", path, name);
}

static enum err_code read_split(struct reader *reader, const struct json_t *json, const char *path,
                                struct err *err)
{
    struct pretokenizer_step step = {.cuts = true, .behavior = SPLIT_REMOVED};
    const char *inner = arena_format(reader->arena, "%s.pattern", path);
    if (inner == NULL)
        return err_no_memory(err, strlen(path));
    if (doc_member(json, "behavior") == NULL)
        return err_set(err, ERR_UNSUPPORTED, "%s.behavior is missing", path);
    if (pattern_read(&step.pattern, doc_member(json, "pattern"), inner, reader->arena, err) ||
        read_behavior(&step.behavior, json, path, err) ||
        doc_get_bool(json, path, "invert", &step.is_inverted, err))
        return err->code;
    return append(reader, &step, path, err);
}

static enum err_code read_whitespace_split(struct reader *reader, const struct json_t *json,
                                           const char *path, struct err *err)
{
    (void)json;
    return append_cut(reader, PATTERN_SPACE, SPLIT_REMOVED, false, path, err);
}

static enum err_code read_whitespace(struct reader *reader, const struct json_t *json,
                                     const char *path, struct err *err)
{
    (void)json;
    return append_cut(reader, PATTERN_WORDS, SPLIT_REMOVED, true, path, err);
}

static enum err_code read_bert(struct reader *reader, const struct json_t *json, const char *path,
                               struct err *err)
{
    (void)json;
    append_cut(reader, PATTERN_SPACE, SPLIT_REMOVED, false, path, err);
    return append_cut(reader, PATTERN_PUNCTUATION, SPLIT_ISOLATED, false, path, err);
}

static enum err_code read_digits(struct reader *reader, const struct json_t *json, const char *path,
                                 struct err *err)
{
    bool individual = false;
    if (doc_get_bool(json, path, "individual_digits", &individual, err))
        return err->code;
    return append_cut(reader, PATTERN_DIGIT, individual ? SPLIT_ISOLATED : SPLIT_CONTIGUOUS, false,
                      path, err);
}

static enum err_code read_punctuation(struct reader *reader, const struct json_t *json,
                                      const char *path, struct err *err)
{
    enum split_behavior behavior = SPLIT_ISOLATED;
    if (read_behavior(&behavior, json, path, err))
        return err->code;
    return append_cut(reader, PATTERN_PUNCTUATION, behavior, false, path, err);
}

/* Reads prepend_scheme, or add_prefix_space of older files. */
static enum err_code read_prefix(enum pretokenizer_prefix *out, const struct json_t *json,
                                 const char *path, struct err *err)
{
    const char *scheme = NULL;
    bool adds = true;
    if (doc_get_string(json, path, "prepend_scheme", &scheme, err) ||
        doc_get_bool(json, path, "add_prefix_space", &adds, err))
        return err->code;
    if (scheme == NULL)
        scheme = adds ? "always" : "never";
    else if (!adds && strcmp(scheme, "never") != 0)
        return err_set(err, ERR_UNSUPPORTED, "%s: add_prefix_space contradicts prepend_scheme",
                       path);
    *out = strcmp(scheme, "always") == 0  ? PREFIX_ALWAYS
           : strcmp(scheme, "first") == 0 ? PREFIX_FIRST
                                          : PREFIX_NEVER;
    if (*out == PREFIX_NEVER && strcmp(scheme, "never") != 0)
        return err_set(err, ERR_UNSUPPORTED, "%s.prepend_scheme '%s' is not supported", path,
                       scheme);
    return ERR_OK;
}

/* Reads a Metaspace. str_rep of older files means the same as replacement. */
static enum err_code read_metaspace(struct reader *reader, const struct json_t *json,
                                    const char *path, struct err *err)
{
    static const char block[] = "\xE2\x96\x81";
    const char *mark = block, *same = NULL;
    struct pretokenizer_step step = {.cuts = true,
                                     .behavior = SPLIT_MERGED_WITH_NEXT,
                                     .mark = block,
                                     .mark_len = sizeof block - 1,
                                     .marks_spaces = true};
    if (doc_get_string(json, path, "replacement", &mark, err) ||
        doc_get_string(json, path, "str_rep", &same, err) ||
        doc_get_bool(json, path, "split", &step.cuts, err) ||
        read_prefix(&step.prefix, json, path, err))
        return err->code;
    if (strcmp(mark, block) != 0 || (same != NULL && strcmp(same, block) != 0))
        return err_set(err, ERR_UNSUPPORTED, "%s.replacement: only U+2581 is supported", path);
    step.pattern = (struct pattern){.kind = PATTERN_STRING, .text = block, .len = sizeof block - 1};
    return append(reader, &step, path, err);
}

/* ---- the table ---- */

static enum err_code read_any(struct reader *reader, const struct json_t *json, const char *path,
                              struct err *err);

static enum err_code read_sequence(struct reader *reader, const struct json_t *json,
                                   const char *path, struct err *err)
{
    const struct json_t *list = doc_member(json, "pretokenizers");
    if (reader->depth == NESTED_MAX)
        return err_set(err, ERR_UNSUPPORTED, "%s: sequences nested more than %d deep", path,
                       NESTED_MAX);
    reader->depth++;
    for (size_t i = 0; i < doc_array_count(list); i++) {
        const char *inner = arena_format(reader->arena, "%s.pretokenizers[%zu]", path, i);
        if (inner == NULL)
            return err_no_memory(err, strlen(path));
        if (read_any(reader, doc_array_item(list, i), inner, err))
            return err->code;
    }
    reader->depth--;
    return ERR_OK;
}

static const struct row {
    const char *type;
    read_step *read;
    const char *members[8];
} rows[] = {
    {"Sequence", read_sequence, {"type", "pretokenizers"}},
    {"ByteLevel", read_byte_level, {"type", "add_prefix_space", "trim_offsets", "use_regex"}},
    {"Split", read_split, {"type", "pattern", "behavior", "invert"}},
    {"WhitespaceSplit", read_whitespace_split, {"type"}},
    {"Whitespace", read_whitespace, {"type"}},
    {"BertPreTokenizer", read_bert, {"type"}},
    {"Digits", read_digits, {"type", "individual_digits"}},
    {"Punctuation", read_punctuation, {"type", "behavior"}},
    {"Metaspace",
     read_metaspace,
     {"type", "replacement", "str_rep", "add_prefix_space", "prepend_scheme", "split"}},
};

static enum err_code read_any(struct reader *reader, const struct json_t *json, const char *path,
                              struct err *err)
{
    const char *type;
    if (members_type(&type, json, path, err))
        return err->code;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].type, type) == 0)
            return members_check(json, path, rows[i].members, err)
                       ? err->code
                       : rows[i].read(reader, json, path, err);
    return members_unknown_type(type, path, err);
}

/* ---- words ---- */

/* True if the step ends a split at a space between two letters. */
static bool cuts_words(const struct pretokenizer_step *step)
{
    if (!step->cuts)
        return false;
    if (step->marks_spaces || (step->pattern.kind == PATTERN_SPACE && !step->is_inverted))
        return true;
    bool is_expression = step->pattern.kind == PATTERN_GPT2 || step->pattern.kind == PATTERN_CLIP ||
                         step->pattern.kind == PATTERN_CLIP_NAMED ||
                         step->pattern.kind == PATTERN_WORDS;
    return is_expression && (step->behavior == SPLIT_ISOLATED ||
                             (step->behavior == SPLIT_REMOVED && step->is_inverted));
}

/* True if a step cuts words, and those before it depend on single characters only: text behind a
 * space changes nothing. */
static bool all_cut_words(const struct pretokenizer_steps *steps)
{
    for (size_t i = 0; i < steps->count; i++) {
        const struct pretokenizer_step *step = &steps->items[i];
        const enum pattern_kind kind = step->pattern.kind;
        if (cuts_words(step))
            return true;
        if (!step->cuts || (kind != PATTERN_DIGIT && kind != PATTERN_PUNCTUATION) ||
            step->behavior != SPLIT_ISOLATED)
            return false;
    }
    return false;
}

enum err_code pretokenizer_steps_read(struct pretokenizer_steps *out, const struct json_t *json,
                                      struct arena *arena, struct err *err)
{
    struct reader reader = {out, arena, 0};
    *out = (struct pretokenizer_steps){0};
    out->items = arena_alloc_array(arena, PRETOKENIZER_STEPS_MAX, sizeof *out->items);
    if (out->items == NULL)
        return err_no_memory(err, PRETOKENIZER_STEPS_MAX * sizeof *out->items);
    if (json != NULL && read_any(&reader, json, "$.pre_tokenizer", err))
        return err->code;
    out->cuts_words = all_cut_words(out);
    return ERR_OK;
}

enum err_code pretokenizer_steps_override(struct pretokenizer_steps *steps,
                                          const struct json_t *json,
                                          const struct tokenizer_files *files, struct err *err)
{
    bool adds = false;
    if (files->class->needs_sequence && !members_has_type(json, "Sequence"))
        return err_set(err, ERR_UNSUPPORTED,
                       "$.tokenizer_class: %sTokenizer needs a tokenizer.json whose pre_tokenizer "
                       "is a Sequence",
                       files->class->name);
    if (!members_has_type(json, "ByteLevel"))
        return ERR_OK;
    if (doc_get_bool(files->config, "$", "add_prefix_space", &adds, err))
        return err->code;
    steps->items[0].prefix = adds ? PREFIX_ALWAYS : PREFIX_NEVER;
    return ERR_OK;
}
