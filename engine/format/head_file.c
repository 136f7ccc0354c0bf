#include "engine/format/head_file.h"

#include "engine/base/file.h"
#include "engine/format/safetensors.h"
#include "engine/format/safetensors_write.h"

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char format[] = "attnd-head", version[] = "1";

struct head_file {
    struct safetensors *tensors;
    unsigned labels, width;
    size_t rows;
    const struct tensor_info *features, *logits, *classes, *digests;
    const struct tensor_info *weight, *bias;       /* NULL: it has no classifier */
    const struct tensor_info *ngrams, *ngram_bias; /* NULL: it has no table */
    const struct tensor_info *lists, *list_ends;   /* the examples' n-grams; NULL: they are not
                                                      known */
};

/* ---- open ---- */

static enum err_code check_form(const struct safetensors *file, struct err *err)
{
    const char *form = safetensors_metadata(file, "format");
    const char *found = safetensors_metadata(file, "version");
    if (form == NULL || strcmp(form, format) != 0 || found == NULL)
        return err_set(err, ERR_UNSUPPORTED, "it is no head of attnd's");
    if (strcmp(found, version) != 0)
        return err_set(err, ERR_UNSUPPORTED, "its version is '%s', and this program reads %s",
                       printable_name(found).text, version);
    return ERR_OK;
}

/* Finds a tensor and checks its form. rows 0: any number of them; columns 0: a list. */
static enum err_code find(const struct head_file *file, const char *name, enum dtype dtype,
                          size_t rows, size_t columns, const struct tensor_info **out,
                          struct err *err)
{
    const struct tensor_info *info = *out = safetensors_find(file->tensors, name);
    if (info == NULL)
        return err_set(err, ERR_UNSUPPORTED, "tensor '%s' is missing", name);
    if (info->dtype == dtype && info->rank == (columns > 0 ? 2 : 1) &&
        (columns == 0 || info->shape[1] == columns) && (rows == 0 || info->shape[0] == rows))
        return ERR_OK;
    return err_set(err, ERR_UNSUPPORTED,
                   "tensor '%s' does not fit a model of %u labels and %u features", name,
                   file->labels, file->width);
}

static bool has(const struct head_file *file, const char *name)
{
    return safetensors_find(file->tensors, name) != NULL;
}

/* Finds the bank: all of its tensors or none. */
static enum err_code find_bank(struct head_file *file, struct err *err)
{
    if (!has(file, "bank.features") && !has(file, "bank.logits") && !has(file, "bank.classes") &&
        !has(file, "bank.digests"))
        return ERR_OK;
    if (find(file, "bank.features", DTYPE_F16, 0, file->width, &file->features, err))
        return err->code;
    file->rows = file->features->shape[0];
    if (file->rows == 0)
        return err_set(err, ERR_UNSUPPORTED, "tensor 'bank.features' is empty");
    if (find(file, "bank.logits", DTYPE_F32, file->rows, file->labels, &file->logits, err) ||
        find(file, "bank.classes", DTYPE_U64, file->rows, 0, &file->classes, err))
        return err->code;
    if (find(file, "bank.digests", DTYPE_U64, file->rows, 0, &file->digests, err) ||
        (!has(file, "bank.ngrams") && !has(file, "bank.ngram_ends")))
        return err->code;
    if (find(file, "bank.ngrams", DTYPE_U32, 0, 0, &file->lists, err))
        return err->code;
    return find(file, "bank.ngram_ends", DTYPE_U64, file->rows, 0, &file->list_ends, err);
}

/* Finds weight and bias: both or neither. */
static enum err_code find_matrix(struct head_file *file, struct err *err)
{
    if (!has(file, "head.weight") && !has(file, "head.bias"))
        return ERR_OK;
    if (find(file, "head.weight", DTYPE_F32, file->labels, file->width, &file->weight, err))
        return err->code;
    return find(file, "head.bias", DTYPE_F32, file->labels, 0, &file->bias, err);
}

static enum err_code find_ngrams(struct head_file *file, struct err *err)
{
    if (!has(file, "ngrams.weight") && !has(file, "ngrams.bias"))
        return ERR_OK;
    if (find(file, "ngrams.weight", DTYPE_F16, 0, file->labels, &file->ngrams, err))
        return err->code;
    const size_t rows = file->ngrams->shape[0];
    if (rows < 2 || rows > NGRAM_ROWS_MAX || (rows & (rows - 1)) != 0)
        return err_set(err, ERR_UNSUPPORTED,
                       "tensor 'ngrams.weight' has %zu rows; expected a power of two from 2 to %d",
                       rows, NGRAM_ROWS_MAX);
    return find(file, "ngrams.bias", DTYPE_F32, file->labels, 0, &file->ngram_bias, err);
}

enum err_code head_file_open(struct head_file **out, const char *dir, const char *name,
                             unsigned labels, unsigned width, struct err *err)
{
    char path[PATH_MAX];
    struct head_file *file = *out = calloc(1, sizeof *file);
    if (file == NULL)
        return err_no_memory(err, sizeof *file);
    *file = (struct head_file){.labels = labels, .width = width};
    if (file_path(path, dir, name, err) || safetensors_open(&file->tensors, path, err) ||
        check_form(file->tensors, err) || find_bank(file, err) || find_matrix(file, err) ||
        find_ngrams(file, err)) {
        head_file_close(file);
        *out = NULL;
        return err_prefix(err, "%s: ", name);
    }
    return ERR_OK;
}

void head_file_close(struct head_file *file)
{
    if (file == NULL)
        return;
    safetensors_close(file->tensors);
    free(file);
}

/* ---- the examples' n-grams ---- */

enum { ROW_BITS = 20, OFTEN_BITS = 11, OFTEN_MAX = (1 << OFTEN_BITS) - 1 };
static_assert(NGRAM_ROWS_MAX == 1 << ROW_BITS && NGRAM_BLOCKS == 2, "an entry is 32 bits");

static uint32_t packed(const struct ngram_entry *entry, unsigned block)
{
    const uint32_t often = entry->often < OFTEN_MAX ? entry->often : OFTEN_MAX;
    return entry->row | often << ROW_BITS | (uint32_t)block << (ROW_BITS + OFTEN_BITS);
}

/* Unpacks an entry. Blocks follow each other. ERR_UNSUPPORTED for a count of 0 and for an entry out
 * of its block's order. */
static enum err_code unpack(struct ngram_list *out, const uint32_t *from, struct err *err)
{
    unsigned block = 0;
    out->first[NGRAM_HEAD] = out->count;
    for (size_t i = 0; i < out->count; i++) {
        const unsigned of = from[i] >> (ROW_BITS + OFTEN_BITS);
        out->entries[i] = (struct ngram_entry){.row = from[i] & (NGRAM_ROWS_MAX - 1),
                                               .often = from[i] >> ROW_BITS & OFTEN_MAX};
        if (of < block || out->entries[i].often == 0)
            return err_set(err, ERR_UNSUPPORTED, "tensor 'bank.ngrams' is not a list of n-grams");
        if (of > block)
            out->first[NGRAM_HEAD] = i;
        block = of;
    }
    ngrams_weigh(out);
    return ERR_OK;
}

static enum err_code read_lists(const struct head_file *file, struct head_bank *out,
                                struct arena *arena, struct err *err)
{
    if (file->lists == NULL)
        return ERR_OK;
    const size_t all = file->lists->shape[0];
    uint32_t *packed = calloc(all + 1, sizeof *packed);
    uint64_t *ends = calloc(file->rows, sizeof *ends), first = 0;
    struct ngram_list *lists = arena_alloc_array(arena, file->rows, sizeof *lists);
    struct ngram_entry *entries = arena_alloc_array(arena, all + 1, sizeof *entries);
    out->ngrams = lists;
    if (packed == NULL || ends == NULL || lists == NULL || entries == NULL) {
        err_no_memory(err, all * sizeof *entries);
        goto out;
    }
    if (safetensors_read_as(file->tensors, file->lists, DTYPE_U32, packed, err) ||
        safetensors_read_as(file->tensors, file->list_ends, DTYPE_U64, ends, err))
        goto out;
    for (size_t i = 0; i < file->rows && err->code == ERR_OK; first = ends[i++]) {
        if (ends[i] < first || ends[i] > all) {
            err_set(err, ERR_UNSUPPORTED,
                    "tensor 'bank.ngram_ends': the list of example %zu ends at %llu of %zu", i,
                    (unsigned long long)ends[i], all);
            goto out;
        }
        lists[i] = (struct ngram_list){.entries = entries + first, .count = ends[i] - first};
        unpack(&lists[i], packed + first, err);
    }
out:
    free(packed);
    free(ends);
    return err->code;
}

/* ---- the bank ---- */

enum err_code head_file_bank(const struct head_file *file, struct head_bank *out,
                             struct arena *arena, struct err *err)
{
    size_t rows = file->rows;
    *out = (struct head_bank){.count = rows, .width = file->width, .labels = file->labels};
    if (rows == 0)
        return ERR_OK;
    uint64_t *numbers = calloc(rows + 1, sizeof *numbers);
    out->features = arena_alloc_array(arena, rows * file->width, sizeof *out->features);
    out->logits = arena_alloc_array(arena, rows * file->labels, sizeof *out->logits);
    out->classes = arena_alloc_array(arena, rows, sizeof *out->classes);
    out->digests = arena_alloc_array(arena, rows, sizeof *out->digests);
    if (numbers == NULL || out->features == NULL || out->logits == NULL || out->classes == NULL ||
        out->digests == NULL) {
        err_no_memory(err, rows * (file->width + file->labels) * sizeof *out->features);
        goto out;
    }
    if (safetensors_read_f32(file->tensors, file->features, 0, rows * file->width, out->features,
                             err) ||
        safetensors_read_f32(file->tensors, file->logits, 0, rows * file->labels, out->logits,
                             err) ||
        safetensors_read_as(file->tensors, file->classes, DTYPE_U64, numbers, err) ||
        safetensors_read_as(file->tensors, file->digests, DTYPE_U64, out->digests, err))
        goto out;
    for (size_t i = 0; i < rows && err->code == ERR_OK; i++) {
        out->classes[i] = (unsigned)numbers[i];
        if (numbers[i] >= file->labels)
            err_set(err, ERR_UNSUPPORTED, "an example is of class %llu of %u",
                    (unsigned long long)numbers[i], file->labels);
    }
out:
    free(numbers);
    return err->code != ERR_OK ? err->code : read_lists(file, out, arena, err);
}

/* ---- the classifier ---- */

enum err_code head_file_matrix(const struct head_file *file, struct head_matrix *out,
                               struct arena *arena, struct err *err)
{
    const size_t labels = file->labels, numbers = labels * file->width;
    *out = (struct head_matrix){.width = file->width, .labels = file->labels};
    if (file->weight == NULL)
        return ERR_OK;
    out->weight = arena_alloc_array(arena, numbers, sizeof *out->weight);
    out->bias = arena_alloc_array(arena, labels, sizeof *out->bias);
    if (out->weight == NULL || out->bias == NULL)
        return err_no_memory(err, numbers * sizeof *out->weight);
    if (safetensors_read_f32(file->tensors, file->weight, 0, numbers, out->weight, err))
        return err->code;
    return safetensors_read_f32(file->tensors, file->bias, 0, labels, out->bias, err);
}

/* ---- metadata ---- */

/* Reads a number of the metadata, at most `most`. */
static enum err_code take_number(const struct head_file *file, const char *key, unsigned most,
                                 unsigned *out, struct err *err)
{
    const char *text = safetensors_metadata(file->tensors, key);
    char *end = NULL;
    const unsigned long number = text != NULL ? strtoul(text, &end, 10) : 0;
    if (text == NULL || *text < '0' || *text > '9' || *end != '\0' || number > most)
        return err_set(err, ERR_UNSUPPORTED, "metadata '%s' is not a number of at most %u", key,
                       most);
    *out = (unsigned)number;
    return ERR_OK;
}

enum err_code head_file_full_layers(const struct head_file *file, unsigned *out, struct err *err)
{
    *out = 0;
    if (safetensors_metadata(file->tensors, "full_layers") == NULL)
        return ERR_OK;
    return take_number(file, "full_layers", INT_MAX, out, err)
               ? err_prefix(err, "%s: ", HEAD_FILE_NAME)
               : ERR_OK;
}

/* ---- the table of n-grams ---- */

static enum err_code take_words(const struct head_file *file, struct ngram_reading *out,
                                struct arena *arena, struct err *err)
{
    const char *text = safetensors_metadata(file->tensors, "ngrams.key_words");
    if (text == NULL)
        return err_set(err, ERR_UNSUPPORTED, "metadata 'ngrams.key_words' is missing");
    struct err cause = {0};
    if (ngrams_key_words(out, text, arena, &cause))
        return err_set(err, cause.code == ERR_UNUSABLE ? ERR_UNSUPPORTED : cause.code,
                       "metadata 'ngrams.key_words': %s", cause.text);
    return ERR_OK;
}

static enum err_code take_scale(const struct head_file *file, double *out, struct err *err)
{
    const char *text = safetensors_metadata(file->tensors, "ngrams.scale");
    char *end = NULL;
    *out = text != NULL ? strtod(text, &end) : 0;
    if (text == NULL || *end != '\0' || !(*out > 0) || !isfinite(*out))
        return err_set(err, ERR_UNSUPPORTED, "metadata 'ngrams.scale' is not a number above 0");
    return ERR_OK;
}

enum err_code head_file_ngrams(const struct head_file *file, struct ngram_table *out,
                               struct arena *arena, struct err *err)
{
    *out = (struct ngram_table){.labels = file->labels};
    if (file->ngrams == NULL)
        return ERR_OK;
    const size_t rows = file->ngrams->shape[0], numbers = rows * file->labels;
    uint16_t *weight = arena_alloc_array(arena, numbers, sizeof *weight);
    float *bias = arena_alloc_array(arena, file->labels, sizeof *bias);
    if (weight == NULL || bias == NULL)
        return err_no_memory(err, numbers * sizeof *weight);
    out->halves = weight;
    out->bias = bias;
    out->reading.rows = (uint32_t)rows;
    if (take_number(file, "ngrams.characters", NGRAM_CHARACTERS_MAX, &out->reading.characters,
                    err) ||
        take_number(file, "ngrams.key_lines", NGRAM_LINES_MAX, &out->reading.key_lines, err) ||
        take_words(file, &out->reading, arena, err) || take_scale(file, &out->scale, err) ||
        safetensors_read_halves(file->tensors, file->ngrams, 0, numbers, weight, err))
        return err->code;
    return safetensors_read_f32(file->tensors, file->ngram_bias, 0, file->labels, bias, err);
}

/* ---- writing ---- */

enum { TENSORS_MAX = 10, METADATA_MAX = 8 };

/* The tensors and metadata to write, in order. */
struct writing {
    struct tensor_out tensors[TENSORS_MAX];
    struct metadata_out metadata[METADATA_MAX];
    unsigned tensor_count, metadata_count;
    struct arena arena; /* memory of converted values */
};

static void add(struct writing *writing, struct tensor_out tensor)
{
    writing->tensors[writing->tensor_count++] = tensor;
}

static void tell(struct writing *writing, const char *key, const char *value)
{
    writing->metadata[writing->metadata_count++] = (struct metadata_out){key, value};
}

static enum err_code add_lists(struct writing *writing, const struct head_bank *bank,
                               struct err *err)
{
    size_t all = 0, at = 0;
    for (size_t i = 0; i < bank->count; i++)
        all += bank->ngrams[i].count;
    uint32_t *entries = arena_alloc_array(&writing->arena, all + 1, sizeof *entries);
    uint64_t *ends = arena_alloc_array(&writing->arena, bank->count, sizeof *ends);
    if (entries == NULL || ends == NULL)
        return err_no_memory(err, all * sizeof *entries);
    for (size_t i = 0; i < bank->count; i++) {
        const struct ngram_list *list = &bank->ngrams[i];
        for (size_t k = 0; k < list->count; k++)
            entries[at++] =
                packed(&list->entries[k], k < list->first[NGRAM_HEAD] ? NGRAM_LINES : NGRAM_HEAD);
        ends[i] = at;
    }
    add(writing, (struct tensor_out){"bank.ngram_ends", DTYPE_U64, 1, {bank->count}, ends});
    add(writing, (struct tensor_out){"bank.ngrams", DTYPE_U32, 1, {all}, entries});
    return ERR_OK;
}

static enum err_code add_bank(struct writing *writing, const struct head_bank *bank,
                              struct err *err)
{
    if (bank == NULL || bank->count == 0)
        return ERR_OK;
    uint64_t *classes = arena_alloc_array(&writing->arena, bank->count, sizeof *classes);
    if (classes == NULL)
        return err_no_memory(err, bank->count * sizeof *classes);
    for (size_t i = 0; i < bank->count; i++)
        classes[i] = bank->classes[i];
    const size_t rows = bank->count;
    add(writing,
        (struct tensor_out){"bank.features", DTYPE_F16, 2, {rows, bank->width}, bank->features});
    add(writing,
        (struct tensor_out){"bank.logits", DTYPE_F32, 2, {rows, bank->labels}, bank->logits});
    add(writing, (struct tensor_out){"bank.classes", DTYPE_U64, 1, {rows}, classes});
    add(writing, (struct tensor_out){"bank.digests", DTYPE_U64, 1, {rows}, bank->digests});
    return bank->ngrams != NULL ? add_lists(writing, bank, err) : ERR_OK;
}

static void add_matrix(struct writing *writing, const struct head_matrix *matrix)
{
    if (matrix == NULL || matrix->weight == NULL)
        return;
    const size_t labels = matrix->labels;
    add(writing,
        (struct tensor_out){"head.weight", DTYPE_F32, 2, {labels, matrix->width}, matrix->weight});
    add(writing, (struct tensor_out){"head.bias", DTYPE_F32, 1, {labels}, matrix->bias});
}

static enum err_code add_ngrams(struct writing *writing, const struct ngram_table *table,
                                struct err *err)
{
    if (table == NULL || table->bias == NULL)
        return ERR_OK;
    const struct ngram_reading *reading = &table->reading;
    const char *characters = arena_format(&writing->arena, "%u", reading->characters);
    const char *lines = arena_format(&writing->arena, "%u", reading->key_lines);
    const char *words = ngrams_join_key_words(reading, &writing->arena);
    const char *scale = arena_format(&writing->arena, "%.9g", table->scale);
    if (characters == NULL || lines == NULL || words == NULL || scale == NULL)
        return err_no_memory(err, reading->key_word_count);
    tell(writing, "ngrams.characters", characters);
    tell(writing, "ngrams.key_lines", lines);
    tell(writing, "ngrams.key_words", words);
    tell(writing, "ngrams.scale", scale);
    const size_t labels = table->labels, numbers = reading->rows * labels;
    const float *weight = table->weight;
    if (weight == NULL) {
        float *widened = arena_alloc_array(&writing->arena, numbers, sizeof *widened);
        if (widened == NULL)
            return err_no_memory(err, numbers * sizeof *widened);
        ngram_table_read(table, 0, numbers, widened);
        weight = widened;
    }
    add(writing,
        (struct tensor_out){"ngrams.weight", DTYPE_F16, 2, {reading->rows, labels}, weight});
    add(writing, (struct tensor_out){"ngrams.bias", DTYPE_F32, 1, {labels}, table->bias});
    return ERR_OK;
}

enum err_code head_file_write(const char *dir, const struct head_content *content, struct err *err)
{
    char path[PATH_MAX];
    struct writing writing = {.tensor_count = 0};
    char full_layers[16];
    arena_init(&writing.arena);
    tell(&writing, "format", format);
    tell(&writing, "version", version);
    snprintf(full_layers, sizeof full_layers, "%u", content->full_layers);
    if (content->full_layers > 0)
        tell(&writing, "full_layers", full_layers);
    if (!file_path(path, dir, HEAD_FILE_NAME, err) && !add_bank(&writing, content->bank, err) &&
        !add_ngrams(&writing, content->ngrams, err)) {
        add_matrix(&writing, content->matrix);
        tell(&writing, NULL, NULL);
        safetensors_write_with(path, writing.tensors, writing.tensor_count, writing.metadata, err);
    }
    arena_deinit(&writing.arena);
    return err->code;
}
