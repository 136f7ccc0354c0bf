#include "server/otlp/otlp_endpoint.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum err_code refuse(struct err *err)
{
    return err_set(err, ERR_UNUSABLE,
                   "expected http://ADDRESS:PORT/PATH, such as http://127.0.0.1:4318/v1/traces, "
                   "with a numeric address or localhost, a port from 1 to 65535, and at most %d "
                   "characters; https and names are for a collector beside attnd, which forwards",
                   OTLP_ENDPOINT_BYTES - 1);
}

/* "65535"; 0: not one. */
static unsigned parse_port(const char *text, size_t len)
{
    unsigned port = 0;
    if (len == 0 || len > 5)
        return 0;
    for (size_t i = 0; i < len; i++) {
        if (!isdigit((unsigned char)text[i]))
            return 0;
        port = port * 10 + (unsigned)(text[i] - '0');
    }
    return port <= 65535 ? port : 0;
}

/* "127.0.0.1", "[::1]" or "localhost". */
static bool parse_address(struct otlp_endpoint *out, const char *text, size_t len, unsigned port)
{
    char host[INET6_ADDRSTRLEN];
    bool is_v6 = len >= 2 && text[0] == '[' && text[len - 1] == ']';
    snprintf(host, sizeof host, "%.*s", (int)(is_v6 ? len - 2 : len), is_v6 ? text + 1 : text);
    if (len >= sizeof host)
        return false;
    if (is_v6) {
        out->address.v6.sin6_family = AF_INET6;
        out->address.v6.sin6_port = htons((uint16_t)port);
        out->address_len = sizeof out->address.v6;
        return inet_pton(AF_INET6, host, &out->address.v6.sin6_addr) == 1;
    }
    out->address.v4.sin_family = AF_INET;
    out->address.v4.sin_port = htons((uint16_t)port);
    out->address_len = sizeof out->address.v4;
    return inet_pton(AF_INET, strcmp(host, "localhost") == 0 ? "127.0.0.1" : host,
                     &out->address.v4.sin_addr) == 1;
}

/* True if the path may stand in a request line. */
static bool is_path(const char *path)
{
    for (const char *at = path; *at != '\0'; at++)
        if (*at <= ' ' || *at > '~' || *at == '#')
            return false;
    return true;
}

enum err_code otlp_endpoint_parse(struct otlp_endpoint *out, const char *url, struct err *err)
{
    static const char scheme[] = "http://";
    memset(out, 0, sizeof *out);
    if (strncmp(url, scheme, sizeof scheme - 1) != 0 || strlen(url) >= OTLP_ENDPOINT_BYTES)
        return refuse(err);
    const char *host = url + sizeof scheme - 1, *path = host + strcspn(host, "/");
    size_t len = (size_t)(path - host);
    const char *colon = memrchr(host, ':', len);
    if (colon == NULL || len >= sizeof out->host)
        return refuse(err);
    unsigned port = parse_port(colon + 1, (size_t)(path - colon - 1));
    if (port == 0 || !parse_address(out, host, (size_t)(colon - host), port) || !is_path(path))
        return refuse(err);
    memcpy(out->host, host, len);
    snprintf(out->path, sizeof out->path, "%s", path[0] != '\0' ? path : "/v1/traces");
    return ERR_OK;
}
