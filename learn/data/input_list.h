/* input_list.h - the inputs that a program's arguments name: files, folders, patterns, lines of a
 * file.
 *
 *     struct input_list list = {0};
 *     if (input_list_add_path(&list, "maps/", &err) || input_list_add_lines(&list, "a.log", &err))
 *         ...
 *     for (unsigned i = 0; i < list.count; i++)
 *         use(&list.items[i]);
 *     input_list_close(&list);
 *
 * A file's first bytes tell its kind: a picture, an image format that is refused when it is read
 * (file_kind.h), or STDF, of which each wafer is an input. A gzip file is STDF if its name says so.
 * Every other file is a text. Threads: one.
 */
#ifndef ATTND_LEARN_DATA_INPUT_LIST_H
#define ATTND_LEARN_DATA_INPUT_LIST_H

#include "engine/base/arena.h"
#include "engine/base/err.h"

#include <stdbool.h>
#include <stddef.h>

enum { INPUT_LIST_MAX = 1 << 20, INPUT_LIST_DEPTH_MAX = 16 };

struct listed_input {
    bool is_image;
    const char *path; /* the file, or LOT.stdf#WAFER; NULL: the input is `text` */
    const char *text; /* [text_len], NUL-terminated */
    size_t text_len;
    const char *pair; /* a second text, read together with `text`; NULL: none */
    const char *file; /* source file, for the reader of the answer; NULL: from an option */
    unsigned line;    /* of that file, from 1; 0: it is not a line */
};

struct input_list {
    struct listed_input *items;
    unsigned count, capacity;
    const char *notes; /* lines for a person about what was left out; NULL: nothing was */
    unsigned note_count;
    struct arena arena;      /* holds the strings */
    const char *text_option; /* gives a text; named where a path is missing; NULL: none does */
};

/* Adds an input; its strings are borrowed. ERR_UNUSABLE beyond INPUT_LIST_MAX. */
enum err_code input_list_add(struct input_list *list, const struct listed_input *input,
                             struct err *err);

/* Adds a file; or all files of a folder and of the folders below it, sorted by name, without hidden
 * ones; or, if nothing has that name, the files that match it as a pattern of glob(7). ERR_UNUSABLE
 * with the path if there is no file, ERR_IO if a folder cannot be read. */
enum err_code input_list_add_path(struct input_list *list, const char *path, struct err *err);

/* Adds each line of a file ("-": standard input) that is not blank, without its line end. Errors
 * are those of file_read, with the path. */
enum err_code input_list_add_lines(struct input_list *list, const char *path, struct err *err);

void input_list_close(struct input_list *list);

#endif
