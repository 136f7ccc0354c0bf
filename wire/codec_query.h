/* codec_query.h - options of a query string beside a JSON body: each counts as if it stood in the
 * body.
 *
 *     struct codec_query query;
 *     codec_query_init(&query);
 *     codec_query_add(&query, "top_k", "3", arena);          for each option
 *     limits.query = &query;                                 codec_parse_json reads it
 *
 * Threads: no state.
 */
#ifndef ATTND_WIRE_CODEC_QUERY_H
#define ATTND_WIRE_CODEC_QUERY_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "wire/call.h"

struct json_t;

struct codec_query {
    struct predict_call asked; /* what the options say; all else is as of a call without options */
    unsigned given;            /* a bit for each of the table's options in codec_query.c */
    struct err err;            /* of the first option that is wrong; those behind it are not read */
};

void codec_query_init(struct codec_query *query);

/* Parses an option as codec_parse_option does, with the error in query->err. Its strings live in
 * the arena. */
void codec_query_add(struct codec_query *query, const char *name, const char *value,
                     struct arena *arena);

/* Puts the options into a call whose other members have been read out of `body`. ERR_UNUSABLE: one
 * is wrong, or the body has another value of it. */
enum err_code codec_query_merge(struct predict_call *call, const struct codec_query *query,
                                const struct json_t *body, struct arena *arena, struct err *err);

/* The place of these options, for an error text about all of them: "?" if the query has one, else
 * "$". */
const char *codec_query_place_of_labels(const struct codec_query *query);
const char *codec_query_place_of_explain(const struct codec_query *query);

#endif
