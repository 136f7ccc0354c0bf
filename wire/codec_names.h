/* codec_names.h - the names that a request may use. The codec refuses all others, and the document
 * of the interface (server/openapi) lists these.
 *
 *     codec_check_listed(name, &codec_names_call)
 *
 * Threads: constant.
 */
#ifndef ATTND_WIRE_CODEC_NAMES_H
#define ATTND_WIRE_CODEC_NAMES_H

#include <stddef.h>

struct codec_names {
    const char *const *list;
    size_t count;
};

extern const struct codec_names codec_names_call;         /* members of a JSON body */
extern const struct codec_names codec_names_search;       /* of a search for near inputs */
extern const struct codec_names codec_names_search_query; /* and options beside it */
extern const struct codec_names codec_names_item;         /* of an element of its "inputs" */
extern const struct codec_names codec_names_context;      /* of a "context" */
extern const struct codec_names codec_names_query;        /* options beside a raw body */
extern const struct codec_names codec_names_feedback;     /* members of a right label */
extern const struct codec_names codec_names_labels;  /* of a body with several: "feedback" alone */
extern const struct codec_names codec_names_load;    /* of POST /admin/models */
extern const struct codec_names codec_names_shares;  /* of PATCH /admin/models/{name}/{version} */
extern const struct codec_names codec_names_promote; /* of a promotion */
extern const struct codec_names codec_names_fit;     /* of POST /admin/fits */

#endif
