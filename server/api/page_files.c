/* The built-in page and its files. Headers forbid the browser to load anything from another origin,
 * to send anything there, and to show the page in another site's frame, whatever the page's files
 * contain. */
#include "server/api/handlers.h"

#include "server/api/reply.h"
#include "server/ui/page.h"

#include "engine/base/sha256.h"

#include <string.h>

/* img-src: a chosen image is shown from memory (blob:) and a heat map may be (data:). */
#define CONTENT_SECURITY_POLICY                                                                    \
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; "        \
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/* Every file's headers. The first is its tag. */
static const struct http_field *headers_of(const char *tag, struct arena *arena)
{
    static const struct http_field all[] = {
        {"ETag", NULL},
        {"Cache-Control", "no-cache"},
        {"Content-Security-Policy", CONTENT_SECURITY_POLICY},
        {"X-Content-Type-Options", "nosniff"},
        {"Referrer-Policy", "no-referrer"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
        {"Permissions-Policy", "camera=(), geolocation=(), microphone=()"},
        {NULL, NULL},
    };
    struct http_field *headers = arena_alloc(arena, sizeof all);
    if (headers == NULL)
        return NULL;
    memcpy(headers, all, sizeof all);
    headers[0].value = tag;
    return headers;
}

/* A few kilobytes are hashed in microseconds, so the tag is not kept anywhere. */
static const char *tag_of(const struct page_file *file, struct arena *arena)
{
    char hash[SHA256_HEX_BYTES];
    sha256_hex(file->begin, (size_t)(file->end - file->begin), hash);
    return arena_format(arena, "\"%s\"", hash);
}

/* Whether If-None-Match names the tag, also among others and as a weak one (RFC 9110, 13.1.2). */
static bool client_has(const struct request *request, const char *tag)
{
    const char *known = http_header(request->exchange, "If-None-Match");
    return known != NULL && (strcmp(known, "*") == 0 || strstr(known, tag) != NULL);
}

static enum http_next problem(struct request *request, enum err_code code, const char *why)
{
    err_set(&request->err, code, "%s", why);
    reply_problem(request);
    return HTTP_REPLY;
}

enum http_next page_files_one(struct service *service, struct request *request)
{
    (void)service;
    struct arena *arena = &request->exchange->arena;
    const struct page_file *file = page_find(request->exchange->path);
    if (file == NULL)
        return problem(request, ERR_NOT_FOUND, "there is nothing at this path");
    const char *tag = tag_of(file, arena);
    const struct http_field *headers = tag != NULL ? headers_of(tag, arena) : NULL;
    if (headers == NULL)
        return problem(request, ERR_NO_MEMORY, "out of memory for the page");
    /* A 304 has the head of the 200, the length too; the library sends no body with it. */
    reply_fill(request, client_has(request, tag) ? 304 : 200, file->media_type, file->begin,
               (size_t)(file->end - file->begin));
    request->exchange->reply.more = headers;
    return HTTP_REPLY;
}
