#include "tools/batch/result.h"

#include "engine/base/doc.h"
#include "engine/base/doc_edit.h"
#include "engine/base/memory_file.h"
#include "engine/base/utf8.h"
#include "wire/answer.h"

#include <stdlib.h>
#include <string.h>

/* ---- cells ---- */

/* Numbers are ours; texts come from outside. Line ends stay between the quotes. */
static void write_text(FILE *file, const char *text)
{
    if (text == NULL || text[0] == '\0')
        return;
    bool is_formula = strchr("=+-@\t\r", text[0]) != NULL;
    if (!is_formula && strpbrk(text, ",;\"\t\r\n") == NULL) {
        fputs(text, file);
        return;
    }
    fputs(is_formula ? "\"'" : "\"", file);
    for (const char *at = text; *at != '\0'; at++) {
        if (*at == '"')
            fputc('"', file);
        fputc(*at, file);
    }
    fputc('"', file);
}

static void text_cell(FILE *file, const struct json_t *object, const char *key)
{
    fputc(',', file);
    write_text(file, doc_as_string(doc_member(object, key)));
}

static void number_cell(FILE *file, const struct json_t *object, const char *key)
{
    double number;
    const struct json_t *value = doc_member(object, key);
    fputc(',', file);
    if (value != NULL && doc_as_number(value, &number))
        fprintf(file, "%.*g", ANSWER_DIGITS, number);
}

/* ---- rows ---- */

/* The labels or texts that a row has at most. */
static unsigned columns_of(const struct result_format *format)
{
    return format->texts > 0 ? format->texts : format->top_k;
}

void result_header(const struct result_format *format, FILE *file)
{
    const bool writes = format->texts > 0;
    if (!format->is_csv)
        return;
    fputs("file,line,id,", file);
    fputs(writes ? "output,score,confidence,decision,reason,broken_rule,truncated"
                 : "label,score,decision,reason,ood_score,ood_rank,truncated,windows",
          file);
    for (unsigned i = 2; i <= columns_of(format); i++)
        fprintf(file, ",%s_%u,score_%u", writes ? "output" : "label", i, i);
    fputs(",model,version,digest,status,error\r\n", file);
}

struct values {
    FILE *stream;
    bool has_any;
};

static enum err_code print_value(void *context, const char *key, const struct json_t *value,
                                 struct err *err)
{
    struct values *values = context;
    double number = 0;
    (void)err;
    doc_as_number(value, &number);
    fprintf(values->stream, "%s%s=%.*g", values->has_any ? "|" : "", key, ANSWER_DIGITS, number);
    values->has_any = true;
    return ERR_OK;
}

/* The label and its score. A regression's number stands as the score; several numbers stand as the
 * label: yield=0.9|leakage=0.01. */
static void answer_cells(FILE *file, const struct json_t *object)
{
    const struct json_t *values = doc_member(object, "values");
    struct memory_file text;
    struct err err = {0};
    if (values == NULL) {
        text_cell(file, object, "label");
    } else {
        fputc(',', file);
        if (!memory_file_open(&text, &err)) {
            doc_each_member(values, print_value, &(struct values){text.stream, false}, &err);
            if (!memory_file_close(&text, &err))
                write_text(file, text.bytes);
            free(text.bytes);
        }
    }
    number_cell(file, object, doc_member(object, "value") != NULL ? "value" : "score");
}

static void truncated_cell(FILE *file, const struct json_t *object)
{
    fputs(doc_member(object, "truncated") != NULL ? ",true" : ",", file);
}

/* The cells of a model that writes. */
static void output_cells(const struct result_format *format, const struct json_t *object,
                         FILE *file)
{
    const struct json_t *alternatives = doc_member(object, "alternatives");
    text_cell(file, object, "output");
    number_cell(file, object, "score");
    number_cell(file, object, "confidence");
    text_cell(file, object, "decision");
    text_cell(file, object, "reason");
    text_cell(file, object, "broken_rule");
    truncated_cell(file, object);
    for (unsigned i = 1; i < format->texts; i++) {
        text_cell(file, doc_array_item(alternatives, i - 1), "output");
        number_cell(file, doc_array_item(alternatives, i - 1), "score");
    }
}

/* A problem has no answer: its cells are empty. */
static void write_row(const struct result_format *format, const struct json_t *object,
                      const struct record_input *input, FILE *file)
{
    const struct json_t *model = doc_member(object, "model");
    const char *name = input->listed.file;
    write_text(file, UTF8_SHOWN(name));
    fputc(',', file);
    if (input->listed.line > 0)
        fprintf(file, "%u", input->listed.line);
    fputc(',', file);
    if (input->has_number)
        fprintf(file, "%lld", input->number);
    else
        write_text(file, input->id);
    if (format->texts > 0)
        output_cells(format, object, file);
    else {
        /* The cells of a model of labels, or of numbers. */
        const struct json_t *predictions = doc_member(object, "predictions");
        answer_cells(file, object);
        text_cell(file, object, "decision");
        text_cell(file, object, "reason");
        number_cell(file, object, "ood_score");
        number_cell(file, object, "ood_rank");
        truncated_cell(file, object);
        number_cell(file, object, "windows");
        for (unsigned i = 1; i < format->top_k; i++) {
            text_cell(file, doc_array_item(predictions, i), "label");
            number_cell(file, doc_array_item(predictions, i), "score");
        }
    }
    text_cell(file, model, "name");
    text_cell(file, model, "version");
    text_cell(file, model, "digest");
    number_cell(file, object, "status");
    text_cell(file, object, "error");
    fputs("\r\n", file);
}

/* ---- both ---- */

static bool add_members(struct json_t *object, const struct record_input *input, struct err *err)
{
    if (input->has_number)
        doc_edit_integer(object, "id", input->number, err);
    else if (input->id != NULL && utf8_is_valid(input->id, strlen(input->id)))
        doc_edit_text(object, "id", input->id, err);
    return err->code == ERR_OK && answer_add_origin(object, input->listed.file, input->listed.line);
}

enum err_code result_write(const struct result_format *format, struct json_t *object,
                           const struct record_input *input, FILE *file, struct err *err)
{
    bool ok = object != NULL;
    if (format->is_csv && doc_member(object, "embedding") != NULL)
        return err_set(err, ERR_UNUSABLE,
                       "--format csv has no column for vectors, which this model answers; give "
                       "--format jsonl");
    if (format->is_csv && format->texts == 0 && doc_member(object, "output") != NULL)
        return err_set(err, ERR_UNUSABLE,
                       "--format csv: the table has columns for labels, and this model writes a "
                       "text; name it with --model, or give --format jsonl");
    if (ok && format->is_csv)
        write_row(format, object, input, file);
    else if (ok)
        ok = add_members(object, input, err) && answer_print(object, file);
    return ok && !ferror(file) ? ERR_OK : err_set(err, ERR_NO_MEMORY, "no memory for an answer");
}
