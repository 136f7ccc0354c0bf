/* media_type.h - Content-Type -> how a body is to be read (RFC 9110 section 8.3). No state. */
#ifndef ATTND_SERVER_API_MEDIA_TYPE_H
#define ATTND_SERVER_API_MEDIA_TYPE_H

#include "engine/base/err.h"
#include "server/serve/request.h"

/* `value` is the header's, NULL if absent: then, and for the form type that `curl -d` sends, the
 * body is JSON. ERR_MEDIA_TYPE for another type, or a text that is not in UTF-8. */
enum err_code media_type_parse(const char *value, enum request_body *out, struct err *err);

#endif
