/* dataset_form.h - between dataset.c and the reader of each form, of which logit_list.c reads lines
 * alike. Threads: as dataset.h. */
#ifndef ATTND_LEARN_DATA_DATASET_FORM_H
#define ATTND_LEARN_DATA_DATASET_FORM_H

#include "learn/data/dataset.h"

#include <stdbool.h>

struct json_t;

#define DATASET_PAIR_FIELD "text_pair"

/* Reads a list or a folder into a fresh data set; options are complete. */
enum err_code dataset_jsonl_read(struct dataset *dataset, const char *path,
                                 const struct dataset_options *options, struct err *err);
enum err_code dataset_csv_read(struct dataset *dataset, const char *path,
                               const struct dataset_options *options, struct err *err);
enum err_code dataset_folder_read(struct dataset *dataset, const char *path,
                                  const struct dataset_options *options, struct err *err);
enum err_code dataset_text_read(struct dataset *dataset, const char *path,
                                const struct dataset_options *options, struct err *err);

/* One input as a list has it; the strings live as long as the data set. label: NULL if there is
 * none and none is needed. */
struct dataset_record {
    size_t line;
    const char *name; /* NULL: the line, or the image as it is given */
    const char *input, *label;
    const char *pair, *mask, *id; /* NULL if the form or the line has none */
    size_t input_len, pair_len, label_len, mask_len, id_len;
    const struct dataset_span *spans; /* [span_count] */
    unsigned span_count;
};

/* Checks a record and adds it; `path` is the list's own, for images relative to it. */
enum err_code dataset_add_record(struct dataset *dataset, const char *path,
                                 const struct dataset_record *record, struct err *err);
enum err_code dataset_add(struct dataset *dataset, const struct dataset_item *item,
                          struct err *err);

/* Reads the member `key` of a line's object into record->spans, in the data set's memory; the text
 * is read before. ERR_UNUSABLE names the span. */
enum err_code dataset_take_spans(struct dataset *dataset, const struct json_t *object,
                                 const char *key, struct dataset_record *record, struct err *err);

/* Counts a file that is no input. */
void dataset_leave_out(struct dataset *dataset, const char *name);

/* Length of a byte order mark that the bytes begin with, or 0. */
size_t dataset_mark_bytes(const char *bytes, size_t len);
bool dataset_is_blank(const char *bytes, size_t len);

/* The name of the field that holds the input. */
const char *dataset_input_field(const struct dataset_options *options);
bool dataset_is_full(const struct dataset *dataset, const struct dataset_options *options);

/* A whole file, within the limit of a data set's size; yours to free. */
enum err_code dataset_read_file(char **out, size_t *len, const char *path, struct err *err);

#endif
