/* openapi_problems.h - the replies to what fails: one component for each status that an error has
 * (problem.h). Private to openapi. Threads: no state. */
#ifndef ATTND_SERVER_OPENAPI_OPENAPI_PROBLEMS_H
#define ATTND_SERVER_OPENAPI_OPENAPI_PROBLEMS_H

struct json_t; /* jansson's */

/* 0, or not: there is no memory. */
int openapi_problems_add(struct json_t *components);

/* References to the replies of the errors, OPENAPI_CAN(code) | ..., by rising status. */
int openapi_problems_refer(struct json_t *responses, unsigned can);

/* "X-Request-Id", which every reply has, and the others, each a reference by its name; NULL ends
 * them. */
struct json_t *openapi_problems_headers(const char *const *others);

#endif
