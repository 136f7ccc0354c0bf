#include "learn/eval/selftest_write.h"

#include "engine/base/base64.h"
#include "engine/base/doc_string.h"
#include "engine/base/file.h"
#include "engine/base/replace.h"
#include "engine/decide/argmax.h"
#include "engine/selftest.h"
#include "engine/vision/input_formats.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* Most bytes of inputs in a file of SELFTEST_FILE_BYTES_MAX; the rest is for scores. */
    INPUT_BYTES_MAX = SELFTEST_FILE_BYTES_MAX / 4 * 3,
    LABELS_MAX = 64 /* with more only the winner's score is written */
};

struct writer {
    const struct assessment *assessment;
    const struct engine_info *info;
    FILE *file;
    bool *is_taken; /* [dataset's count] */
    float *scores;  /* [label_count] */
    size_t input_bytes;
    unsigned count; /* cases so far */
};

/* ---- one case ---- */

/* Returns the bytes of the picture; the caller frees them. NULL without an error if it cannot be a
 * case. */
static char *read_picture(const char *path, size_t *len, struct err *err)
{
    char *bytes = NULL;
    struct err cause = {0};
    if (file_read_input(&bytes, len, path, SELFTEST_IMAGE_BYTES_MAX, &cause)) {
        if (err_is_of_system(cause.code))
            *err = cause;
        return NULL;
    }
    if (input_format_of_bytes(bytes, *len) != NULL &&
        engine_image_pixels(bytes, *len) <= SELFTEST_PIXELS_MAX)
        return bytes;
    free(bytes);
    return NULL;
}

/* The winner by the logits, for which the checkpoint was fitted. */
static unsigned winner_of(const struct evaluation *evaluation, size_t item)
{
    return argmax(evaluation_logits(evaluation, item), evaluation->label_count);
}

static enum err_code put_case(struct writer *writer, size_t item, const char *bytes, size_t len,
                              struct err *err)
{
    const struct assessment *assessment = writer->assessment;
    const struct engine_info *info = writer->info;
    const struct dataset_item *input = &assessment->dataset->items[item];
    const unsigned winner = winner_of(&assessment->evaluation, item);
    FILE *file = writer->file;
    fprintf(file, "%s\n    {", writer->count > 0 ? "," : "");
    if (info->kind == ENGINE_TEXT) {
        fprintf(file, "\"text\": ");
        doc_string_write(file, bytes, len);
        if (input->pair != NULL) {
            fprintf(file, ", \"text_pair\": ");
            doc_string_write(file, input->pair, input->pair_len);
        }
    } else {
        char *text = malloc(base64_encoded_size(len));
        if (text == NULL)
            return err_no_memory(err, base64_encoded_size(len));
        base64_encode(text, bytes, len);
        fprintf(file, "\"image\": \"%s\"", text);
        free(text);
    }
    fprintf(file, ",\n     \"scores\": {");
    for (unsigned i = 0, put = 0; i < info->label_count; i++) {
        if (info->label_count > LABELS_MAX && i != winner)
            continue;
        fputs(put++ > 0 ? ", " : "", file);
        doc_string_write(file, info->labels[i], strlen(info->labels[i]));
        fprintf(file, ": %.9g", (double)writer->scores[i]);
    }
    fprintf(file, "}, \"label\": ");
    doc_string_write(file, info->labels[winner], strlen(info->labels[winner]));
    fprintf(file, "}");
    writer->input_bytes += len + input->pair_len;
    writer->is_taken[item] = true;
    writer->count++;
    return ERR_OK;
}

/* Writes the item as a case. False if it is no case, or with an error. */
static bool take(struct writer *writer, size_t item, struct err *err)
{
    const struct assessment *assessment = writer->assessment;
    const struct dataset_item *input = &assessment->dataset->items[item];
    const bool is_text = writer->info->kind == ENGINE_TEXT;
    size_t len = input->input_len;
    char *picture = is_text ? NULL : read_picture(input->input, &len, err);
    const char *bytes = is_text ? input->input : picture;
    bool fits =
        bytes != NULL && input->pair_len <= INPUT_BYTES_MAX - writer->input_bytes &&
        len <= (INPUT_BYTES_MAX - writer->input_bytes - input->pair_len) / 4 * 3 &&
        engine_scores_as_fitted(assessment->model, evaluation_logits(&assessment->evaluation, item),
                                writer->scores);
    if (fits)
        put_case(writer, item, bytes, len, err);
    free(picture);
    return fits && err->code == ERR_OK;
}

/* ---- choice ---- */

/* Writes one more case with this label. False if there is none. */
static bool take_of_label(struct writer *writer, unsigned label, struct err *err)
{
    const struct assessment *assessment = writer->assessment;
    const struct evaluation *evaluation = &assessment->evaluation;
    for (size_t i = 0; i < assessment->dataset->count && err->code == ERR_OK; i++)
        if (!writer->is_taken[i] && assessment->classes[i] == label &&
            evaluation->problems[i] == NULL && !evaluation->truncated[i] &&
            winner_of(evaluation, i) == label && take(writer, i, err))
            return true;
    return false;
}

/* ---- the file ---- */

static enum err_code write_file(struct writer *writer, unsigned count, struct err *err)
{
    char path[PATH_MAX], *text = NULL;
    size_t len = 0;
    bool has_more = true;
    FILE *file = writer->file = open_memstream(&text, &len);
    if (file == NULL)
        return err_no_memory(err, SELFTEST_FILE_BYTES_MAX);
    fprintf(file, "{\"format\": %d, \"tolerance\": %g, \"cases\": [", SELFTEST_FORMAT,
            SELFTEST_TOLERANCE);
    while (has_more && writer->count < count && err->code == ERR_OK) {
        has_more = false; /* the labels take turns */
        for (unsigned c = 0; c < writer->info->label_count && writer->count < count; c++)
            has_more = take_of_label(writer, c, err) || has_more;
    }
    if (err->code == ERR_OK && writer->count == 0)
        err_set(err, ERR_UNUSABLE,
                "no input can be a case of the self-test: the model answers none of them right");
    fprintf(file, "\n]}\n");
    bool is_whole = !ferror(file);
    is_whole = fclose(file) == 0 && is_whole;
    if (!is_whole)
        err_no_memory(err, len);
    if (err->code == ERR_OK &&
        file_path(path, writer->assessment->options.dir, SELFTEST_FILE, err) == ERR_OK)
        replace_file(path, text, len, err);
    free(text);
    return err->code;
}

enum err_code selftest_write(const struct assessment *assessment, unsigned count, unsigned *written,
                             struct err *err)
{
    struct writer writer = {.assessment = assessment, .info = engine_describe(assessment->model)};
    if (strcmp(writer.info->dtype, "f32") != 0)
        return err_set(err, ERR_UNUSABLE, "the scores of a self-test must be those of f32, not %s",
                       writer.info->dtype);
    writer.is_taken = calloc(assessment->dataset->count + 1, sizeof *writer.is_taken);
    writer.scores = calloc(writer.info->label_count, sizeof *writer.scores);
    if (writer.is_taken == NULL || writer.scores == NULL)
        err_no_memory(err, assessment->dataset->count);
    else
        write_file(&writer, count, err);
    free(writer.is_taken);
    free(writer.scores);
    *written = writer.count;
    return err->code;
}
