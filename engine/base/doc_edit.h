/* doc_edit.h - changes members of a JSON file and keeps all others unchanged.
 *
 *     struct json_t *root;
 *     doc_edit_open(&root, "config.json", &err);            doc_edit_new for an empty object
 *     doc_edit_integer(root, "image_size", 96, &err);
 *     doc_edit_text(root, "dtype", "float16", &err);
 *     doc_edit_save(root, "out/config.json", &err);
 *     doc_free(root);
 *
 * Members keep their order; a new one comes last. Numbers survive: integers stay integers, and
 * reals are written with 15 digits, or 17 if one of them needs it.
 *
 * Threads: a tree belongs to one thread at a time.
 */
#ifndef ATTND_ENGINE_BASE_DOC_EDIT_H
#define ATTND_ENGINE_BASE_DOC_EDIT_H

#include "engine/base/doc.h"
#include "engine/base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* Reads the object in a file of at most 64 MB. An integer of more than 64 bits ("model_max_length"
 * has one) becomes a real. Errors begin with the path; ERR_UNSUPPORTED if it is not an object.
 * Yours to doc_free. */
enum err_code doc_edit_open(struct json_t **out, const char *path, struct err *err);
enum err_code doc_edit_new(struct json_t **out, struct err *err);

/* Sets a member of an object, whatever it was before. ERR_UNUSABLE for a text that is not UTF-8. */
enum err_code doc_edit_text(struct json_t *object, const char *key, const char *text,
                            struct err *err);
enum err_code doc_edit_integer(struct json_t *object, const char *key, long long value,
                               struct err *err);
enum err_code doc_edit_number(struct json_t *object, const char *key, double value,
                              struct err *err);
enum err_code doc_edit_bool(struct json_t *object, const char *key, bool value, struct err *err);
/* Sets an array of texts. */
enum err_code doc_edit_texts(struct json_t *object, const char *key, const char *const *texts,
                             size_t count, struct err *err);
/* Sets an array of whole numbers. */
enum err_code doc_edit_integers(struct json_t *object, const char *key, const long long *values,
                                size_t count, struct err *err);
/* Sets the value of a JSON text, an object or an array. ERR_UNUSABLE: the text is neither. */
enum err_code doc_edit_json(struct json_t *object, const char *key, const char *json,
                            struct err *err);
/* Sets an empty object; *child is borrowed. */
enum err_code doc_edit_object(struct json_t *object, const char *key, struct json_t **child,
                              struct err *err);
/* Returns the member if it is an object, borrowed; else NULL. */
struct json_t *doc_edit_member(struct json_t *object, const char *key);
/* Returns the item of a member that is an array, if the item is an object, borrowed; else NULL. */
struct json_t *doc_edit_item(struct json_t *object, const char *key, size_t index);
/* Removes a member; it may be absent. */
void doc_edit_remove(struct json_t *object, const char *key);
/* Renames a member; a member of the new name is replaced. Does nothing if it is absent. */
enum err_code doc_edit_rename(struct json_t *object, const char *key, const char *name,
                              struct err *err);

/* Replaces the file (replace.h), indented. */
enum err_code doc_edit_save(const struct json_t *root, const char *path, struct err *err);

#endif
