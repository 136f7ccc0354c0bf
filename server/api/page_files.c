/* The built-in page and its files. Headers forbid the browser to load anything from another origin,
 * to send anything there, and to show the page in another site's frame, whatever the page's files
 * contain. */
#include "server/api/handlers.h"

#include "server/api/reply.h"
#include "server/ui/page.h"

/* img-src: a chosen image is shown from memory (blob:) and a heat map may be (data:). */
#define CONTENT_SECURITY_POLICY                                                                    \
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; "        \
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

static const struct http_field headers[] = {
    {"Content-Security-Policy", CONTENT_SECURITY_POLICY},
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Permissions-Policy", "camera=(), geolocation=(), microphone=()"},
    {NULL, NULL},
};

enum http_next page_files_one(struct service *service, struct request *request)
{
    (void)service;
    const struct page_file *file = page_find(request->exchange->path);
    if (file == NULL)
        err_set(&request->err, ERR_NOT_FOUND, "there is nothing at this path");
    else
        reply_tagged(request, file->media_type, file->begin, (size_t)(file->end - file->begin),
                     headers);
    return request->err.code == ERR_OK ? HTTP_REPLY : reply_problem(request);
}
