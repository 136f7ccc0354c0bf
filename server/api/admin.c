/* admin.c - changes the served models and options by a request.
 *
 * There is no authentication yet: admin routes answer only clients of this machine, on a loopback
 * address. A page in a browser of this machine is refused: the Host header must be that address
 * itself, since any name may resolve to it (DNS rebinding), and an Origin header, which a browser
 * adds to every POST of a page, must be the same. Requests that a proxy of this machine forwards,
 * as its headers tell, are refused too. */
#include "server/api/handlers.h"

#include "server/api/reply.h"
#include "server/protocol/codec.h"

#include <stdio.h>
#include <string.h>

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

static bool is_same_origin(const char *origin, const char *host)
{
    static const char scheme[] = "http://";
    return strncmp(origin, scheme, sizeof scheme - 1) == 0 &&
           strcmp(origin + sizeof scheme - 1, host) == 0;
}

static const char *proxy_header(const struct http_exchange *exchange)
{
    static const char *const names[] = {"Forwarded", "X-Forwarded-For", "X-Real-IP", "Via"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (http_header(exchange, names[i]) != NULL)
            return names[i];
    return NULL;
}

enum err_code admin_head(struct service *service, struct request *request)
{
    char address[HTTP_ADDRESS_BYTES];
    const char *host = http_header(request->exchange, "Host");
    const char *origin = http_header(request->exchange, "Origin");
    (void)service;
    if (!http_loopback_address(request->exchange, address))
        return err_set(&request->err, ERR_FORBIDDEN,
                       "admin routes answer only on a loopback address of the server's machine");
    if (host == NULL || !is_address(host, address))
        return err_set(&request->err, ERR_FORBIDDEN,
                       "admin routes answer only requests whose Host is %s", address);
    if (origin != NULL && !is_same_origin(origin, host))
        return err_set(&request->err, ERR_FORBIDDEN,
                       "admin routes do not answer pages of another origin");
    const char *proxy = proxy_header(request->exchange);
    if (proxy != NULL)
        return err_set(&request->err, ERR_FORBIDDEN,
                       "admin routes do not answer through a proxy (the request has %s)", proxy);
    return ERR_OK;
}

enum http_next admin_reload_begin(struct service *service, struct request *request)
{
    http_suspend(request->exchange);
    if (!reloader_submit(service->reloader, request, &request->err))
        return HTTP_SUSPENDED;
    http_resume(request->exchange);
    return HTTP_SUSPENDED;
}

void admin_reload_finish(struct service *service, struct request *request)
{
    size_t len = 0;
    (void)service;
    const char *json = request->err.code == ERR_OK
                           ? codec_encode_reload(request->reload, &request->exchange->arena, &len)
                           : NULL;
    if (request->err.code == ERR_OK && json == NULL)
        err_set(&request->err, ERR_NO_MEMORY, "reloaded, but out of memory for the reply");
    if (json != NULL)
        reply_fill(request, 200, "application/json", json, len);
    else
        reply_problem(request);
}
