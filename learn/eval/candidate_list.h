/* candidate_list.h - the labels of a zero-shot model as a command line names them.
 *
 *     candidate_list_add(&list, "center", &err);
 *     candidate_list_add_json(&list, "[\"donut\", \"edge ring\"]", &err);
 *     candidate_list_open(&labelled, model, &list, threads, &err);     NULL: none were named
 *     engine_close(labelled);
 *     candidate_list_close(&list);
 *
 * Threads: one at a time.
 */
#ifndef ATTND_LEARN_EVAL_CANDIDATE_LIST_H
#define ATTND_LEARN_EVAL_CANDIDATE_LIST_H

#include "engine/base/err.h"

struct engine_model;

/* Zero at first. */
struct candidate_list {
    char **texts; /* [count] */
    unsigned count;
    const char *hypothesis; /* borrowed; NULL: the model's */
};

/* Adds one label, or all of a JSON array of strings. ERR_UNUSABLE, ERR_MALFORMED, ERR_NO_MEMORY. */
enum err_code candidate_list_add(struct candidate_list *list, const char *text, struct err *err);
enum err_code candidate_list_add_json(struct candidate_list *list, const char *json,
                                      struct err *err);

/* Opens the model with these labels, encoded (engine_open_labelled). If the list is empty, *out is
 * NULL; ERR_UNUSABLE if the model has no labels either. */
enum err_code candidate_list_open(struct engine_model **out, const struct engine_model *model,
                                  const struct candidate_list *list, unsigned threads,
                                  struct err *err);
void candidate_list_close(struct candidate_list *list);

#endif
