#include "server/api/guard.h"

#include "server/serve/snapshots.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* "127.0.0.1:8080" or "localhost:8080"; the port may be left out where it is 80. */
static bool is_address(const char *host, const char *address)
{
    const char *port = strrchr(address, ':');
    size_t name = (size_t)(port - address), local = strlen("localhost");
    size_t len = strlen(host);
    if (strncmp(host, "localhost", local) == 0)
        name = local;
    else if (strncmp(host, address, name) != 0)
        return false;
    return strcmp(host + name, port) == 0 || (len == name && strcmp(port, ":80") == 0);
}

static bool is_same_origin(const char *origin, const char *scheme, const char *host)
{
    size_t len = strlen(scheme);
    return strncmp(origin, scheme, len) == 0 && strcmp(origin + len, host) == 0;
}

static const char *proxy_header(const struct http_exchange *exchange)
{
    static const char *const names[] = {"Forwarded", "X-Forwarded-For", "X-Real-IP", "Via"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (http_header(exchange, names[i]) != NULL)
            return names[i];
    return NULL;
}

static bool is_type(const char *type, const char *name)
{
    size_t len = strlen(name);
    return type != NULL && strncasecmp(type, name, len) == 0 && strchr("; \t", type[len]) != NULL;
}

/* True if the request has a header that browsers send. */
static bool is_of_browser(const struct http_exchange *exchange)
{
    static const char *const names[] = {"Origin", "Referer", "Sec-Fetch-Site", "Sec-Fetch-Mode"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (http_header(exchange, names[i]) != NULL)
            return true;
    return false;
}

/* Without a key, only a client on this machine that addresses the server by a local name. */
static enum err_code check_place(struct request *request)
{
    char address[HTTP_ADDRESS_BYTES];
    const char *host = http_header(request->exchange, "Host");
    if (!http_loopback_address(request->exchange, address))
        return err_set(&request->err, ERR_FORBIDDEN,
                       "without keys, routes that change something answer only on a loopback "
                       "address of the server's machine");
    if (host == NULL || !is_address(host, address))
        return err_set(&request->err, ERR_FORBIDDEN,
                       "routes that change something answer only requests whose Host is %s",
                       address);
    const char *proxy = proxy_header(request->exchange);
    if (proxy != NULL)
        return err_set(
            &request->err, ERR_FORBIDDEN,
            "routes that change something do not answer through a proxy (the request has %s)",
            proxy);
    return ERR_OK;
}

/* A name that resolves to a loopback address is a page's trick, whatever key it may have. */
static enum err_code check_host_of_browser(struct request *request)
{
    char address[HTTP_ADDRESS_BYTES];
    const char *host = http_header(request->exchange, "Host");
    if (!is_of_browser(request->exchange) || !http_loopback_address(request->exchange, address) ||
        proxy_header(request->exchange) != NULL || (host != NULL && is_address(host, address)))
        return ERR_OK;
    return err_set(&request->err, ERR_FORBIDDEN,
                   "routes that change something answer only pages whose Host is %s", address);
}

static enum err_code check_origin(struct request *request, bool has_key)
{
    const char *host = http_header(request->exchange, "Host");
    const char *origin = http_header(request->exchange, "Origin");
    const char *scheme = http_is_secure(request->exchange) ? "https://" : "http://";
    bool is_same = origin == NULL || (host != NULL && is_same_origin(origin, scheme, host));
    if (is_same || (has_key && host != NULL && is_same_origin(origin, "https://", host)))
        return ERR_OK; /* a proxy may serve the page over TLS */
    return err_set(&request->err, ERR_FORBIDDEN,
                   "routes that change something do not answer pages of another origin");
}

enum err_code guard_check_reader(struct request *request)
{
    const bool has_key = request->snapshot->keys != NULL;
    if (has_key ? check_host_of_browser(request) : check_place(request))
        return request->err.code;
    return check_origin(request, has_key);
}

enum err_code guard_check(struct request *request)
{
    if (guard_check_reader(request))
        return request->err.code;
    /* A page may send these types to another origin without asking. curl -d names the last one too,
     * but nothing that only a browser adds. */
    const char *type = http_header(request->exchange, "Content-Type");
    if (is_type(type, "multipart/form-data") || is_type(type, "text/plain") ||
        (is_type(type, "application/x-www-form-urlencoded") && is_of_browser(request->exchange)))
        return err_set(&request->err, ERR_MEDIA_TYPE,
                       "routes that change something do not answer what a form of a page can send: "
                       "Content-Type must be application/json");
    return ERR_OK;
}
