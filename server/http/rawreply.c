#include "server/http/rawreply.h"

#include "server/http/sockets.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

const char *rawreply_header_safe(const char *id, struct arena *arena)
{
    char *copy = id != NULL ? arena_copy(arena, id, strlen(id)) : NULL;
    if (copy == NULL)
        return NULL;
    size_t len = 0;
    for (const char *from = id; *from != '\0'; from++)
        if (*from >= 0x20 && *from < 0x7F)
            copy[len++] = *from;
    while (len > 0 && copy[len - 1] == ' ')
        len--;
    copy[len] = '\0';
    copy += strspn(copy, " ");
    return *copy != '\0' ? copy : NULL;
}

/* RFC 9110, section 15. The phrase is for people; a status that is not listed here is sent without
 * one. */
static const char *reason_phrase(unsigned status)
{
    static const struct {
        unsigned status;
        const char *phrase;
    } rows[] = {
        {400, "Bad Request"},       {401, "Unauthorized"},          {403, "Forbidden"},
        {404, "Not Found"},         {405, "Method Not Allowed"},    {408, "Request Timeout"},
        {411, "Length Required"},   {413, "Content Too Large"},     {415, "Unsupported Media Type"},
        {429, "Too Many Requests"}, {500, "Internal Server Error"}, {503, "Service Unavailable"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].status == status)
            return rows[i].phrase;
    return "";
}

/* RFC 9110, section 5.6.7; the locale is never changed, so the names are English. */
static const char *format_date(char *out, size_t size)
{
    struct tm parts;
    time_t now = time(NULL);
    if (gmtime_r(&now, &parts) == NULL ||
        strftime(out, size, "%a, %d %b %Y %H:%M:%S GMT", &parts) == 0)
        return "Thu, 01 Jan 1970 00:00:00 GMT";
    return out;
}

/* "Name: value", each with its end of line, in the arena; NULL without memory. */
static const char *format_more(const struct http_field *more, struct arena *arena)
{
    const char *lines = "";
    for (; lines != NULL && more != NULL && more->name != NULL; more++)
        lines = arena_format(arena, "%s%s: %s\r\n", lines, more->name, more->value);
    return lines;
}

static char *format_head(const struct http_reply *reply, struct arena *arena)
{
    char date[64], retry[48] = "";
    const char *more = format_more(reply->more, arena);
    if (more != NULL && reply->traceparent != NULL)
        more = arena_format(arena, "traceparent: %s\r\n%s", reply->traceparent, more);
    if (more == NULL)
        return NULL;
    if (reply->retry_after_s > 0)
        snprintf(retry, sizeof retry, "Retry-After: %u\r\n", reply->retry_after_s);
    const char *id = rawreply_header_safe(reply->request_id, arena);
    return arena_format(
        arena,
        "HTTP/1.1 %u %s\r\nDate: %s\r\nConnection: close\r\n"
        "Content-Length: %zu\r\nContent-Type: %s\r\n%s%s%s%s%s%s%s%s\r\n",
        reply->status, reason_phrase(reply->status), format_date(date, sizeof date),
        reply->body_len, reply->content_type != NULL ? reply->content_type : "text/plain", retry,
        reply->allow != NULL ? "Allow: " : "", reply->allow != NULL ? reply->allow : "",
        reply->allow != NULL ? "\r\n" : "", id != NULL ? "X-Request-Id: " : "",
        id != NULL ? id : "", id != NULL ? "\r\n" : "", more);
}

/* One send for both parts, so that a close right behind cannot come between them. */
void rawreply_send(int fd, const struct http_reply *reply, bool with_body, struct arena *arena)
{
    char *head = format_head(reply, arena);
    if (head == NULL)
        return;
    size_t head_len = strlen(head);
    size_t body_len = with_body ? reply->body_len : 0;
    char *whole = arena_alloc(arena, head_len + body_len);
    if (whole == NULL)
        return;
    memcpy(whole, head, head_len);
    if (body_len > 0)
        memcpy(whole + head_len, reply->body, body_len);
    sockets_send(fd, whole, head_len + body_len);
}
