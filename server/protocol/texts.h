/* texts.h - what the protocols of others have in common: a JSON object with a text or a list of
 * texts among its members, and its problems.
 *
 *     if (texts_open(request, &root, "input, model", 0)) ...
 *     texts_name(request, root, "$", "model", LIMIT_MODEL_NAME_BYTES, &call->model)
 *     texts_items(request, doc_member(root, "input"), "input")
 *     doc_free(root);
 *
 * Errors go into request->err, which is also what the functions return; their texts begin with the
 * member's name. Threads: the request is its holder's.
 */
#ifndef ATTND_SERVER_PROTOCOL_TEXTS_H
#define ATTND_SERVER_PROTOCOL_TEXTS_H

#include "server/serve/request.h"

struct json_t; /* jansson's */

/* For struct protocol: a body of JSON alone, and the memory to read it. */
enum err_code texts_accept(struct request *request);
size_t texts_parse_bytes(struct request *request);
#define TEXTS_PROTOCOL .accept = texts_accept, .parse_bytes = texts_parse_bytes

/* For struct predict_call: "inputs" of one item, else "inputs[3]". */
void texts_place(const struct predict_call *call, unsigned index, char out[CALL_PLACE_BYTES]);

/* Reads the body: an object without other members than `known`, names with ", " between them, and
 * with at most `more` values beside texts (ids of tokens; 0: none). Yours to doc_free, also after
 * an error. */
enum err_code texts_open(struct request *request, struct json_t **root, const char *known,
                         size_t more);
/* The same of a body that content.h has decoded. */
enum err_code texts_parse(struct request *request, struct json_t **root, const char *known,
                          size_t more);
/* texts_parse_bytes of a body with `more` values. */
size_t texts_parse_bytes_more(struct request *request, size_t more);

/* An optional member of the object at `path`: a string of at most `most` bytes without control
 * characters, copied. */
enum err_code texts_name(struct request *request, const struct json_t *object, const char *path,
                         const char *key, size_t most, const char **out);

/* The optional member `parameters` (*out NULL: there is none): an object without other members than
 * `known`. `path` is its place, for error texts. */
enum err_code texts_parameters(struct request *request, const struct json_t *root, const char *path,
                               const char *known, const struct json_t **out);

/* A text that must be there, but may be empty; copied into the arena. `place` names it. */
enum err_code texts_text(struct request *request, const struct json_t *value, const char *place,
                         const char **out, size_t *len);

/* Room for 1 to inputs_max items; `name` is the list's. */
enum err_code texts_room(struct request *request, size_t count, const char *name);

/* The source of an item: a text that is not empty; or that or {"image": "<base64 of a file>"}. */
typedef enum err_code texts_read(struct request *request, const struct json_t *value,
                                 const char *place, struct engine_source *out);
texts_read texts_source, texts_source_or_image;
/* The source of a picture: the base64 of its file. */
texts_read texts_image;

/* The items of the call: one source, or an array of 1 to inputs_max of them. */
enum err_code texts_items(struct request *request, const struct json_t *value, const char *name,
                          texts_read *read);
bool texts_is_array(const struct json_t *value);

/* The items {"source_sentence": "text", "sentences": ["text", ...]}: the first is what the others
 * are compared with. Sets the call's place and its wish. */
enum err_code texts_similarity(struct request *request, const struct json_t *value);

/* `truncate`, without which a text that is too long is refused, and `truncation_direction`, which
 * can only be Right, of the object at `path`, as text-embeddings-inference has them. */
enum err_code texts_truncation(struct request *request, const struct json_t *object,
                               const char *path);

/* For struct protocol: request->err in OpenAI's form, {"error": {"message", "type", "param",
 * "code"}}, which clients of Cohere and Jina read, too. */
const char *texts_problem(struct request *request, size_t *len);

/* The same in the form of text-embeddings-inference, and with the types of
 * text-generation-inference: {"error", "error_type"}. */
const char *texts_tei_problem(struct request *request, size_t *len);
const char *texts_tgi_problem(struct request *request, size_t *len);

#endif
