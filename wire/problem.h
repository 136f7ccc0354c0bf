/* problem.h - the HTTP status of each kind of failure, and an error as a problem document (RFC
 * 9457). Also attnd-predict's, which prints the problem of an input that failed in its place.
 *
 * Threads: no state.
 */
#ifndef ATTND_WIRE_PROBLEM_H
#define ATTND_WIRE_PROBLEM_H

#include "engine/base/err.h"

#include <stdbool.h>

struct json_t; /* jansson's */

unsigned problem_status(enum err_code code);

/* True if the same request may succeed a little later. The reply then has Retry-After. */
bool problem_is_passing(unsigned status);

/* "urn:attnd:error:" and err_name(code). */
enum { PROBLEM_TYPE_BYTES = 64 };
void problem_type(enum err_code code, char out[PROBLEM_TYPE_BYTES]);

/* In words: "Queue full". */
const char *problem_title(enum err_code code);

/* {"type", "title", "status", "detail", "instance"?, "error", "error_type"}. A text
 * that is not UTF-8 is replaced by the title, such an instance is left out. A new reference; NULL
 * if there is no memory. */
struct json_t *problem_document(const struct err *err, const char *instance);

#endif
