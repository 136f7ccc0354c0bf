/* sentence_modules.c - see sentence_modules.h. modules.json is read first, with all paths checked;
 * then the files of each module, one tree at a time. The names of files that lead to an error text
 * are plain, because their paths are. */
#include "engine/model/config/sentence_modules.h"

#include "engine/base/file.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define LIST_NAME "modules.json"

enum {
    FILE_BYTES_MAX = 1024 * 1024,
    PATH_BYTES_MAX = 200,
    MODULES_MAX = 2 + SENTENCE_STEPS_MAX,
    ITEM_BYTES = 32, /* "$[9]" */
};

enum kind {
    KIND_TRANSFORMER,
    KIND_POOLING,
    KIND_DENSE,
    KIND_NORMALIZE,
    KIND_MLM,
    KIND_SPLADE,
    KINDS
};

static const char *const kind_names[KINDS] = {
    [KIND_TRANSFORMER] = "Transformer",
    [KIND_POOLING] = "Pooling",
    [KIND_DENSE] = "Dense",
    [KIND_NORMALIZE] = "Normalize",
    [KIND_MLM] = "MLMTransformer",
    [KIND_SPLADE] = "SpladePooling",
};

/* One element of modules.json; its strings are the tree's. */
struct entry {
    enum kind kind;
    const char *name, *path;
};

struct reader {
    struct sentence_modules *out;
    const char *dir;
    struct arena *arena;
    struct err *err;
};

/* ---- files ---- */

/* Parses DIR/PATH/NAME, an object unless it is the list. An optional file that is absent gives
 * NULL. */
static enum err_code parse(const struct reader *reader, const char *name, bool is_optional,
                           struct json_t **out)
{
    char path[PATH_MAX];
    bool exists = true;
    struct err *err = reader->err;
    *out = NULL;
    if (file_path(path, reader->dir, name, err) ||
        (is_optional && file_exists(path, &exists, err)) || !exists)
        return err->code;
    if (doc_parse_file(out, path, FILE_BYTES_MAX, err))
        return err_prefix(err, "%s: ", name);
    const char *expected = strcmp(name, LIST_NAME) == 0 ? "an array" : "an object";
    if (strcmp(doc_type_name(*out), expected) == 0)
        return ERR_OK;
    err_set(err, ERR_UNUSABLE, "%s: expected %s, found %s", name, expected, doc_type_name(*out));
    doc_free(*out);
    *out = NULL;
    return err->code;
}

/* Writes PATH/NAME, or NAME if the path is empty. A path is at most PATH_BYTES_MAX. */
static void join(char out[PATH_MAX], const char *path, const char *name)
{
    snprintf(out, PATH_MAX, "%s%s%s", path, path[0] != '\0' ? "/" : "", name);
}

/* Calls read_object with the module's file, if it is there. */
static enum err_code read_file(const struct reader *reader, const char *path, const char *name,
                               bool is_optional, void *out,
                               enum err_code (*read_object)(void *out, const struct json_t *object,
                                                            const struct reader *reader))
{
    char file[PATH_MAX];
    struct json_t *object;
    join(file, path, name);
    if (parse(reader, file, is_optional, &object) || object == NULL)
        return reader->err->code;
    if (read_object(out, object, reader))
        err_prefix(reader->err, "%s: ", file);
    doc_free(object);
    return reader->err->code;
}

/* ---- modules.json ---- */

/* A class of the package, in whichever of its folders: they differ by version. A class of the same
 * name elsewhere (pylate.models.Dense.Dense, custom_st.Transformer) computes something else. */
static enum err_code find_kind(enum kind *out, const char *type, const char *item, struct err *err)
{
    static const char package[] = "sentence_transformers.";
    const char *dot = strrchr(type, '.');
    for (int kind = 0; kind < KINDS; kind++)
        if (dot != NULL && strncmp(type, package, sizeof package - 1) == 0 &&
            strcmp(dot + 1, kind_names[kind]) == 0) {
            *out = (enum kind)kind;
            return ERR_OK;
        }
    return err_set(err, ERR_UNSUPPORTED,
                   "%s.type '%s' is not supported (supported: Transformer, Pooling, Dense, "
                   "Normalize, MLMTransformer and SpladePooling of sentence_transformers)",
                   item, printable_name(type).text);
}

/* True for plain names with slashes between them: safe to print, and never outside. */
static bool is_plain_path(const char *path)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    if (strlen(path) > PATH_BYTES_MAX)
        return false;
    for (const char *at = path;; at++) {
        const size_t len = strspn(at, allowed);
        if (len == 0 || at[0] == '.')
            return false;
        at += len;
        if (*at == '\0')
            return true;
        if (*at != '/')
            return false;
    }
}

/* The encoder may lie in the directory itself; another module's config.json would be its. */
static enum err_code check_path(const struct entry *entry, const char *item, struct err *err)
{
    if ((entry->kind == KIND_TRANSFORMER || entry->kind == KIND_MLM) && entry->path[0] == '\0')
        return ERR_OK;
    if (is_plain_path(entry->path))
        return ERR_OK;
    return err_set(err, ERR_UNSUPPORTED,
                   "%s.path must be the name of a sub-directory, of letters, digits, -, _ and ., "
                   "with at most %d bytes",
                   item, PATH_BYTES_MAX);
}

static enum err_code read_entry(struct entry *out, const struct json_t *object, const char *item,
                                struct err *err)
{
    const char *type = NULL;
    *out = (struct entry){0};
    if (strcmp(doc_type_name(object), "an object") != 0)
        return err_set(err, ERR_UNUSABLE, "%s: expected an object, found %s", item,
                       doc_type_name(object));
    if (doc_check_members(object, item, "idx, name, path, type, kwargs", err) ||
        doc_get_string(object, item, "type", &type, err) ||
        doc_get_string(object, item, "name", &out->name, err) ||
        doc_get_string(object, item, "path", &out->path, err))
        return err->code;
    if (type == NULL || out->name == NULL || out->path == NULL)
        return err_set(err, ERR_UNSUPPORTED, "%s.%s is missing", item,
                       type == NULL        ? "type"
                       : out->name == NULL ? "name"
                                           : "path");
    return find_kind(&out->kind, type, item, err) ? err->code : check_path(out, item, err);
}

/* Checks an entry against its place and those before it. The package keeps modules by their names,
 * so that a second one of the same name would take the first one's place. */
static enum err_code check_place(const struct entry *entries, unsigned at, const char *item,
                                 struct err *err)
{
    const enum kind kind = entries[at].kind;
    const bool fits = at == 0                       ? kind == KIND_TRANSFORMER || kind == KIND_MLM
                      : entries[0].kind == KIND_MLM ? at == 1 && kind == KIND_SPLADE
                      : at == 1                     ? kind == KIND_POOLING
                                                    : kind == KIND_DENSE || kind == KIND_NORMALIZE;
    if (!fits)
        return err_set(err, ERR_UNSUPPORTED,
                       "%s: %s is not supported in this place (supported: Transformer, Pooling, "
                       "then Dense and Normalize; or MLMTransformer, SpladePooling)",
                       item, kind_names[kind]);
    for (unsigned i = 0; i < at; i++)
        if (strcmp(entries[i].name, entries[at].name) == 0)
            return err_set(err, ERR_UNSUPPORTED, "%s.name is that of $[%u] too", item, i);
    return ERR_OK;
}

static enum err_code read_list(struct entry *entries, unsigned *count, const struct json_t *list,
                               struct err *err)
{
    const size_t found = doc_array_count(list);
    if (found < 2 || found > MODULES_MAX)
        return err_set(
            err, ERR_UNSUPPORTED,
            "%zu modules are not supported (supported: Transformer, Pooling, and at most "
            "%d behind them)",
            found, SENTENCE_STEPS_MAX);
    for (*count = 0; *count < found; ++*count) {
        char item[ITEM_BYTES];
        snprintf(item, sizeof item, "$[%u]", *count);
        if (read_entry(&entries[*count], doc_array_item(list, *count), item, err) ||
            check_place(entries, *count, item, err))
            return err->code;
    }
    return ERR_OK;
}

/* ---- Pooling ---- */

static const struct {
    const char *name, *old_key;
} modes[SENTENCE_MODES] = {
    [SENTENCE_CLS] = {"cls", "pooling_mode_cls_token"},
    [SENTENCE_MAX] = {"max", "pooling_mode_max_tokens"},
    [SENTENCE_MEAN] = {"mean", "pooling_mode_mean_tokens"},
    [SENTENCE_MEAN_SQRT_LENGTH] = {"mean_sqrt_len_tokens", "pooling_mode_mean_sqrt_len_tokens"},
    [SENTENCE_WEIGHTED_MEAN] = {"weightedmean", "pooling_mode_weightedmean_tokens"},
    [SENTENCE_LAST_TOKEN] = {"lasttoken", "pooling_mode_lasttoken"},
};

const char *sentence_mode_name(enum sentence_mode mode)
{
    return modes[mode].name;
}

/* Adds the mode of this name; NULL: the value was no string. */
static enum err_code add_mode(struct sentence_pooling *out, const char *name, const char *place,
                              struct err *err)
{
    for (int mode = 0; name != NULL && mode < SENTENCE_MODES; mode++)
        if (strcmp(name, modes[mode].name) == 0) {
            out->modes[out->count++] = (enum sentence_mode)mode;
            return ERR_OK;
        }
    return err_set(err, ERR_UNSUPPORTED,
                   "%s '%s' is not supported (supported: cls, max, mean, "
                   "mean_sqrt_len_tokens, weightedmean, lasttoken)",
                   place, printable_name(name != NULL ? name : "").text);
}

enum err_code sentence_pooling_read(struct sentence_pooling *out, const struct json_t *value,
                                    const char *place, struct err *err)
{
    const size_t count = doc_array_count(value);
    if (doc_as_string(value) != NULL)
        return add_mode(out, doc_as_string(value), place, err);
    if (strcmp(doc_type_name(value), "an array") != 0)
        return err_set(err, ERR_UNUSABLE, "%s: expected a string or a list, found %s", place,
                       doc_type_name(value));
    if (count < 1 || count > SENTENCE_MODES)
        return err_set(err, ERR_UNSUPPORTED, "%s: expected 1 to %d names, found %zu", place,
                       SENTENCE_MODES, count);
    for (size_t i = 0; i < count; i++)
        if (add_mode(out, doc_as_string(doc_array_item(value, i)), place, err))
            return err->code;
    return ERR_OK;
}

/* Versions before 6: a boolean for each. With booleans, but none for the mean, version 5 adds the
 * mean and version 6 does not. Without any true one, version 6 takes the mean and version 5 fails.
 */
static enum err_code read_booleans(struct sentence_pooling *out, const struct json_t *object,
                                   struct err *err)
{
    for (int mode = 0; mode < SENTENCE_MODES; mode++) {
        bool is_on = false;
        if (doc_get_bool(object, "$", modes[mode].old_key, &is_on, err))
            return err->code;
        if (is_on)
            out->modes[out->count++] = (enum sentence_mode)mode;
    }
    const char *mean_key = modes[SENTENCE_MEAN].old_key;
    if (out->count > 0 && doc_member(object, mean_key) == NULL)
        return err_set(err, ERR_UNSUPPORTED,
                       "$.%s is missing: versions of sentence-transformers differ in its default; "
                       "write true or false",
                       mean_key);
    if (out->count == 0)
        out->modes[out->count++] = SENTENCE_MEAN;
    return ERR_OK;
}

static enum err_code read_pooling(void *context, const struct json_t *object,
                                  const struct reader *reader)
{
    static const char known[] =
        "word_embedding_dimension, embedding_dimension, pooling_mode, include_prompt, "
        "pooling_mode_cls_token, pooling_mode_max_tokens, pooling_mode_mean_tokens, "
        "pooling_mode_mean_sqrt_len_tokens, pooling_mode_weightedmean_tokens, "
        "pooling_mode_lasttoken";
    struct sentence_modules *out = context;
    struct sentence_pooling *pooling = &out->pooling;
    struct err *err = reader->err;
    const struct json_t *names = doc_member(object, "pooling_mode");
    long long hidden = 0;
    pooling->include_prompt = true;
    if (doc_check_members(object, "$", known, err) ||
        doc_get_integer(object, "$", "word_embedding_dimension", 1, SENTENCE_HIDDEN_MAX, &hidden,
                        err) ||
        doc_get_integer(object, "$", "embedding_dimension", 1, SENTENCE_HIDDEN_MAX, &hidden, err) ||
        doc_get_bool(object, "$", "include_prompt", &pooling->include_prompt, err))
        return err->code;
    if (hidden == 0)
        return err_set(err, ERR_UNSUPPORTED, "$.word_embedding_dimension is missing");
    if (names != NULL ? sentence_pooling_read(pooling, names, "$.pooling_mode", err)
                      : read_booleans(pooling, object, err))
        return err->code;
    out->hidden = (unsigned)hidden;
    out->width = pooling->count * out->hidden;
    return ERR_OK;
}

static enum err_code read_splade(void *context, const struct json_t *object,
                                 const struct reader *reader)
{
    static const char known[] =
        "pooling_strategy, activation_function, word_embedding_dimension, embedding_dimension, "
        "chunk_size";
    struct sentence_modules *out = context;
    const char *strategy = "max", *activation = "relu";
    out->is_sparse = true;
    if (doc_check_members(object, "$", known, reader->err) ||
        doc_get_string(object, "$", "activation_function", &activation, reader->err) ||
        doc_get_string(object, "$", "pooling_strategy", &strategy, reader->err))
        return reader->err->code;
    out->splade.logs_twice = strcmp(activation, "log1p_relu") == 0;
    if (!out->splade.logs_twice && strcmp(activation, "relu") != 0)
        return err_set(reader->err, ERR_UNSUPPORTED,
                       "$.activation_function '%s' is not supported (supported: relu, log1p_relu)",
                       printable_name(activation).text);
    out->splade.sums = strcmp(strategy, "sum") == 0;
    if (!out->splade.sums && strcmp(strategy, "max") != 0)
        return err_set(reader->err, ERR_UNSUPPORTED,
                       "$.pooling_strategy '%s' is not supported (supported: max, sum)",
                       printable_name(strategy).text);
    return ERR_OK;
}

/* ---- Dense and Normalize ---- */

static enum err_code read_dense(void *context, const struct json_t *object,
                                const struct reader *reader)
{
    struct sentence_dense *out = context;
    struct sentence_modules *modules = reader->out;
    if (sentence_dense_read(out, object, reader->err))
        return reader->err->code;
    if (out->in != modules->width)
        return err_set(reader->err, ERR_UNSUPPORTED,
                       "$.in_features is %u; the modules before give %u numbers", out->in,
                       modules->width);
    modules->width = out->out;
    return ERR_OK;
}

static enum err_code read_normalize(void *context, const struct json_t *object,
                                    const struct reader *reader)
{
    (void)context;
    if (doc_expect_string(object, "$", "module_input_name", SENTENCE_VECTOR, reader->err))
        return reader->err->code;
    return doc_expect_string(object, "$", "module_output_name", SENTENCE_VECTOR, reader->err);
}

/* Copies a path into the arena, and with the directory in front. */
static enum err_code keep_path(const struct reader *reader, const char *from, const char **path,
                               const char **dir)
{
    *path = arena_copy(reader->arena, from, strlen(from));
    *dir = from[0] != '\0' ? arena_format(reader->arena, "%s/%s", reader->dir, from)
                           : arena_copy(reader->arena, reader->dir, strlen(reader->dir));
    if (*path == NULL || *dir == NULL)
        return err_no_memory(reader->err, strlen(reader->dir) + 2 * strlen(from));
    return ERR_OK;
}

static enum err_code read_step(const struct reader *reader, const struct entry *entry)
{
    struct sentence_step *step = &reader->out->steps[reader->out->step_count++];
    const bool is_dense = entry->kind == KIND_DENSE;
    step->kind = is_dense ? SENTENCE_DENSE : SENTENCE_NORMALIZE;
    if (keep_path(reader, entry->path, &step->path, &step->dir))
        return reader->err->code;
    return read_file(reader, step->path, "config.json", !is_dense, &step->dense,
                     is_dense ? read_dense : read_normalize);
}

/* ---- the encoder and the directory ---- */

static enum err_code read_limits(void *context, const struct json_t *object,
                                 const struct reader *reader)
{
    return sentence_options_read_limits(context, object, reader->err);
}

static enum err_code read_options(void *context, const struct json_t *object,
                                  const struct reader *reader)
{
    return sentence_options_read(context, object,
                                 reader->out->is_sparse ? "SparseEncoder" : "SentenceTransformer",
                                 reader->arena, reader->err);
}

/* Reads the limits from the first file that exists, in the package's order: old versions named it
 * after the encoder. */
static enum err_code read_transformer(const struct reader *reader, const struct entry *entry)
{
    static const char *const names[] = {"bert",   "roberta",     "distilbert", "camembert",
                                        "albert", "xlm-roberta", "xlnet"};
    struct sentence_modules *out = reader->out;
    if (keep_path(reader, entry->path, &out->transformer_path, &out->transformer_dir))
        return reader->err->code;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char name[64], path[PATH_MAX];
        bool exists;
        snprintf(name, sizeof name, "sentence_%s_config.json", names[i]);
        if (file_path(path, out->transformer_dir, name, reader->err) ||
            file_exists(path, &exists, reader->err))
            return reader->err->code;
        if (exists)
            return read_file(reader, out->transformer_path, name, false, &out->options,
                             read_limits);
    }
    return ERR_OK;
}

static enum err_code read_modules(const struct reader *reader, const struct entry *entries,
                                  unsigned count)
{
    if (read_transformer(reader, &entries[0]) ||
        read_file(reader, entries[1].path, "config.json", false, reader->out,
                  entries[1].kind == KIND_SPLADE ? read_splade : read_pooling))
        return reader->err->code;
    for (unsigned i = 2; i < count; i++)
        if (read_step(reader, &entries[i]))
            return reader->err->code;
    return ERR_OK;
}

enum err_code sentence_modules_read(struct sentence_modules *out, const char *dir,
                                    struct arena *arena, struct err *err)
{
    const struct reader reader = {.out = out, .dir = dir, .arena = arena, .err = err};
    struct entry entries[MODULES_MAX];
    struct json_t *list;
    unsigned count = 0;
    *out = (struct sentence_modules){0};
    if (parse(&reader, LIST_NAME, false, &list))
        return err->code;
    if (read_list(entries, &count, list, err))
        err_prefix(err, LIST_NAME ": ");
    else if (read_modules(&reader, entries, count) == ERR_OK)
        read_file(&reader, "", "config_sentence_transformers.json", true, &out->options,
                  read_options);
    doc_free(list);
    return err->code;
}

size_t sentence_modules_numbers(const struct sentence_modules *modules)
{
    size_t numbers = 0;
    for (unsigned i = 0; i < modules->step_count; i++) {
        const struct sentence_dense *dense = &modules->steps[i].dense; /* zero of Normalize */
        numbers += (size_t)dense->out * dense->in + (dense->has_bias ? dense->out : 0);
    }
    return numbers;
}

enum err_code sentence_modules_load(struct sentence_modules *modules, struct arena *arena,
                                    struct err *err)
{
    for (unsigned i = 0; i < modules->step_count; i++) {
        struct sentence_step *step = &modules->steps[i];
        if (step->kind == SENTENCE_DENSE &&
            sentence_dense_load(&step->dense, step->dir, arena, err))
            return err_prefix(err, "%s: ", step->path);
    }
    return ERR_OK;
}
