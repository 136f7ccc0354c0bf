/* texts.h - what the protocols of others have in common: a JSON object with a text or a list of
 * texts among its members, and replies without a tree.
 *
 *     if (texts_open(request, &root, "input, model")) ...
 *     texts_name(request, root, "model", LIMIT_MODEL_NAME_BYTES, &call->model)
 *     texts_items(request, doc_member(root, "input"), "input")
 *     doc_free(root);
 *
 * Errors go into request->err, which is also what the functions return; their texts begin with the
 * member's name. Threads: the request is its holder's.
 */
#ifndef ATTND_SERVER_PROTOCOL_TEXTS_H
#define ATTND_SERVER_PROTOCOL_TEXTS_H

#include "server/serve/request.h"
#include "wire/codec_dump.h"

struct json_t; /* jansson's */

/* For struct protocol: a body of JSON alone, and the memory to read it. */
enum err_code texts_accept(struct request *request);
size_t texts_parse_bytes(struct request *request);

/* Reads the body: an object without other members than `known`, names with ", " between them. Yours
 * to doc_free, also after an error. */
enum err_code texts_open(struct request *request, struct json_t **root, const char *known);

/* An optional member: a string of at most `most` bytes without control characters, copied. */
enum err_code texts_name(struct request *request, const struct json_t *root, const char *key,
                         size_t most, const char **out);

/* A text that must be there, but may be empty; copied into the arena. `place` names it. */
enum err_code texts_text(struct request *request, const struct json_t *value, const char *place,
                         const char **out, size_t *len);

/* The items of the call: a text, or 1 to inputs_max of them, none empty. */
enum err_code texts_items(struct request *request, const struct json_t *value, const char *name);

/* For struct protocol: request->err in OpenAI's form, {"error": {"message", "type", "param",
 * "code"}}, which clients of Cohere and Jina read, too. */
const char *texts_problem(struct request *request, size_t *len);

/* Writes a number with the digits of answer.h. */
enum { TEXTS_NUMBER_BYTES = 24 }; /* most that it takes, and a comma: -0.123456789e-38, */
void texts_number(struct codec_text *text, float number);

#endif
