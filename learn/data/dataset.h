/* dataset.h - labelled inputs for training and evaluation, from a list or a folder; also texts
 * without labels, for vocabularies and pre-training.
 *
 *     struct dataset dataset;
 *     struct dataset_options options = {.kind = ENGINE_TEXT};
 *     if (dataset_open(&dataset, "reports.jsonl", &options, &err)) ...
 *     if (dataset_match(&dataset, info->labels, info->label_count, classes, &err)) ...
 *     dataset_close(&dataset);
 *
 * Three forms, told by the path: a file .jsonl or .ndjson (one object a line) or a file .csv (RFC
 * 4180, or with semicolons or tabs instead of commas; the first record names the columns), each
 * with {"text" or "image", "label"}, where an image is a path, relative to the file, and a text may
 * have a second one that is read with it, "text_pair"; and a folder that has a folder of pictures,
 * known by their endings (engine/vision/input_formats.h), for each class. An image may be a wafer
 * of an STDF file: "lot.stdf#W03", or "lot.stdf" for the only one (picture.h); in a folder's .stdf
 * files each wafer is an item. Where labels are optional, a plain text .txt or .log is a fourth
 * form: one document, or one a line. Errors give the line. Texts are held in memory; of images only
 * the paths, the caller reads them.
 *
 * A list of objects that begins with {"attnd_split": 1} is what a training held back (split_write):
 * its lines with "part": "train" are passed over, the others have {"name", "text" or "image",
 * "label"}, and "text_pair" where there is one, whatever the options call the fields.
 *
 * For a model of tags a text of a list of objects has "spans" in place of a label: {"label",
 * "start", "end"} each, in characters of the text (Unicode code points), end exclusive, in any
 * order, none over another; [] where there are none. The server's spans are counted alike.
 *
 * For a model that writes texts an input has "target" in place of a label: the text to write, which
 * may be empty.
 *
 * An image of a list of objects may also have a "mask": the path of an image of its size that marks
 * the labelled defect.
 *
 * Threads: immutable after open.
 */
#ifndef ATTND_LEARN_DATA_DATASET_H
#define ATTND_LEARN_DATA_DATASET_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/model/input.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct dataset_options {
    enum engine_kind kind;                              /* which field is the input */
    const char *text_field, *image_field, *label_field; /* NULL: "text", "image", "label" */
    const char *id_field;    /* a member or column that a line may have; NULL: ids are not read */
    const char *label_other; /* where a line, or the header, has no label_field: "value", "labels";
                                NULL: none */
    size_t items_max;        /* only the first so many; 0: all */
    bool labels_optional;    /* an item without a label, or with an empty one, has label NULL */
    bool labels_many;    /* a label may be several, a|b or an array of an object's, or none: "" */
    bool labels_numbers; /* with labels_many: numbers to learn, of any size a double has */
    bool reads_spans;    /* spans in place of labels; label_field "label": "spans" */
    bool reads_targets;  /* texts to write, which may be empty; label_field "label": "target" */
    bool line_documents; /* of a .txt or .log each line that is not blank is a document */
};

/* A labelled part of a text. */
struct dataset_span {
    const char *label;   /* UTF-8, neither empty nor "O" */
    uint32_t start, end; /* characters of the text, start < end, end exclusive */
};

/* Strings are the data set's. */
struct dataset_item {
    const char *name;  /* how a report names it: "line 12", or the image as the list names it */
    const char *input; /* a text, which may hold NUL characters, or the path of an image */
    size_t input_len;
    const char *pair; /* [pair_len] the text that is read with the first; NULL: none */
    size_t pair_len;
    const char *label; /* UTF-8; NULL only if labels are optional, empty only if they are many or
                          texts to write */
    const char *mask;  /* path of an image that marks the labelled defect; NULL: none given */
    const char *id;    /* UTF-8, not empty; NULL: none given, or not read */
    const struct dataset_span *spans; /* [span_count] if they are read: ascending, none overlaps */
    unsigned span_count;
};

enum { DATASET_ENDINGS_MAX = 6, DATASET_ENDING_BYTES = 12 };

/* Files of a folder that are no inputs: all of them, those that are pictures by their ending, and
 * how many have the endings met first. */
struct dataset_left_out {
    size_t count, pictures;
    struct dataset_ending {
        char text[DATASET_ENDING_BYTES]; /* ".tiff", lower case; "" if there is none */
        size_t count;
    } endings[DATASET_ENDINGS_MAX];
};

struct dataset {
    enum engine_kind kind;
    struct dataset_item *items; /* in the file's order; a folder's sorted by class, then name */
    size_t count;               /* at least 1 */
    struct dataset_left_out left_out;
    const char *path; /* as it was opened; NULL: part of another data set */

    bool labels_many, reads_targets; /* of the options */
    size_t capacity;
    char *bytes; /* a CSV or text file: its parts are used where they stand */
    struct arena arena;
};

/* ERR_IO, ERR_MALFORMED, ERR_UNUSABLE (a missing field, one of the wrong type, no item at all),
 * ERR_TOO_LARGE; the text begins with the path. Close it in any case. */
enum err_code dataset_open(struct dataset *out, const char *path,
                           const struct dataset_options *options, struct err *err);
void dataset_close(struct dataset *dataset);

/* Writes the label, or the spans, a line each: what a model should answer. */
void dataset_print_answer(const struct dataset_item *item, FILE *file);

/* Moves the items with one of these labels into a data set of their own, whose strings stay those
 * of `dataset`; the others stay in their order. ERR_UNUSABLE names a label that no item has, or
 * says that no other item is left; ERR_NO_MEMORY. Close *out in any case, before `dataset`. */
enum err_code dataset_set_aside(struct dataset *dataset, const char *const *labels,
                                unsigned label_count, struct dataset *out, struct err *err);

enum { DATASET_SENTENCE_BYTES = 256 };
/* Makes the second text of each pair an item of its own, behind the first, with the same label and
 * the name "line 12, text_pair". ERR_UNUSABLE names the first item without one; ERR_NO_MEMORY. */
enum err_code dataset_unpair(struct dataset *dataset, struct err *err);

/* "5 files are of other kinds and left out (3 .tiff, 2 .bmp)", and what can be done; empty if there
 * are none. */
void dataset_describe_left_out(const struct dataset *dataset, char out[DATASET_SENTENCE_BYTES]);

/* The usual share of inputs that must be usable, and the option of it (--help). */
#define DATASET_USABLE_MIN "0.9"
#define DATASET_USABLE_HELP                                                                        \
    "Refuses the inputs if a smaller share of them can be used; 0 goes on with those that can."

/* ERR_UNUSABLE if no input can be used, or less than the share `usable_min`, 0 to 1: tells how many
 * cannot, of which kinds, the first of each, and --usable-min. A folder's pictures of formats that
 * are not read count as inputs. problems: [read] why each of the first `read` items cannot be used;
 * NULL: it can. */
enum err_code dataset_check_usable(const struct dataset *dataset, const char *const *problems,
                                   size_t read, double usable_min, struct err *err);

/* ERR_UNUSABLE names the first item with a second text, if the model reads only one. */
enum err_code dataset_check_pairs(const struct dataset *dataset, bool reads_pairs, struct err *err);

/* classes[i] = the index of item i's label among `labels`. ERR_UNUSABLE names the first item whose
 * label is not there, and the known ones, or that has none. */
enum err_code dataset_match(const struct dataset *dataset, const char *const *labels,
                            unsigned label_count, unsigned *classes, struct err *err);

/* ---- what was learnt and what was held back ---- */

enum split_part { SPLIT_NONE, SPLIT_TRAIN, SPLIT_VALIDATION };

/* Writes which inputs were learnt and which were held back, as a list of its own:
 * {"attnd_split": 1} first, then a line an input, in the data set's order: {"part": "train" |
 * "validation", "name", "label"} and, so that the list stands alone, the image's absolute path or,
 * of validation texts, the text, with the second one as "text_pair" or its "spans" where there are.
 * Learnt texts are named only: they are nine tenths of the data, and nobody is to be judged by
 * them.
 *
 * parts: [dataset->count]; SPLIT_NONE is not written, nor what is not UTF-8, which JSON cannot
 * hold. ERR_IO, ERR_NO_MEMORY. */
enum err_code split_write(const char *path, const struct dataset *dataset,
                          const enum split_part *parts, struct err *err);

#endif
