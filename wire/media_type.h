/* media_type.h - Content-Type -> how a body is to be read (RFC 9110 section 8.3). No state. */
#ifndef ATTND_WIRE_MEDIA_TYPE_H
#define ATTND_WIRE_MEDIA_TYPE_H

#include "engine/base/err.h"

#include <stdbool.h>

/* How a body is to be read. */
enum request_body { REQUEST_JSON, REQUEST_TEXT, REQUEST_IMAGE, REQUEST_LOT, REQUEST_LINES };

struct media_type {
    enum request_body body;
    const char *charset; /* of a text or JSON, as charset_find gives it; "": not told, or UTF-8 */
    bool is_told;        /* false: no type, octets, or the form type that curl gives every body */
};

/* `value` is the header's, NULL if absent: then, for octets and for a form, the body is JSON unless
 * it begins like a picture or a lot. ERR_MEDIA_TYPE for another type or charset. */
enum err_code media_type_parse(const char *value, struct media_type *out, struct err *err);

/* The types that a client should send, and what they are read as; NULL at the end. */
const char *media_type_proper(unsigned index, enum request_body *body);

#endif
