/* otlp_endpoint.h - where spans are sent: "http://127.0.0.1:4318/v1/traces".
 *
 *     struct otlp_endpoint endpoint;
 *     if (otlp_endpoint_parse(&endpoint, config->otlp_endpoint, &err))
 *         return err_prefix(&err, "otlp_endpoint: ");
 *
 * Plain HTTP to a numeric address, or localhost, which is 127.0.0.1, as in the option `listen`. A
 * name would have to be resolved, which may block for long; TLS is for a collector beside attnd to
 * speak.
 *
 * Threads: no state.
 */
#ifndef ATTND_SERVER_OTLP_OTLP_ENDPOINT_H
#define ATTND_SERVER_OTLP_OTLP_ENDPOINT_H

#include "engine/base/err.h"

#include <netinet/in.h>
#include <sys/socket.h>

enum { OTLP_ENDPOINT_BYTES = 256 };

struct otlp_endpoint {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } address;
    socklen_t address_len;
    char host[64];                  /* "127.0.0.1:4318", for the header Host */
    char path[OTLP_ENDPOINT_BYTES]; /* "/v1/traces", also if the URL has none */
};

/* ERR_UNUSABLE: what is expected. */
enum err_code otlp_endpoint_parse(struct otlp_endpoint *out, const char *url, struct err *err);

#endif
