#include "server/http/query.h"

#include "server/http/framing.h"
#include "wire/limits.h"

#include <stdbool.h>
#include <string.h>

static void decode(char *text)
{
    char *to = text;
    for (const char *from = text; *from != '\0'; from++) {
        bool is_escape = *from == '%';
        *to++ = is_escape ? framing_decode_escape(from) : *from == '+' ? ' ' : *from;
        from += is_escape ? 2 : 0;
    }
    *to = '\0';
}

/* Cuts the argument at its `=`. */
static struct query_argument split(char *text)
{
    char *value = strchr(text, '=');
    if (value != NULL) {
        *value++ = '\0';
        decode(value);
    }
    decode(text);
    return (struct query_argument){.name = text, .value = value};
}

/* An `&` at the very end begins no argument. */
static size_t count_arguments(const char *text)
{
    size_t count = 0;
    while (text != NULL && *text != '\0') {
        const char *end = strchr(text, '&');
        text = end != NULL ? end + 1 : NULL;
        count++;
    }
    return count;
}

enum err_code query_parse(struct query *out, const char *target, struct arena *arena,
                          struct err *err)
{
    const char *mark = strchr(target, '?');
    size_t count = mark != NULL ? count_arguments(mark + 1) : 0;
    *out = (struct query){0};
    if (count == 0)
        return ERR_OK;
    if (count > LIMIT_QUERY_ARGUMENTS)
        return err_set(err, ERR_TOO_LARGE, "request target: more than %d query arguments",
                       LIMIT_QUERY_ARGUMENTS);
    char *text = arena_copy(arena, mark + 1, strlen(mark + 1));
    out->arguments = arena_alloc_array(arena, count, sizeof *out->arguments);
    if (text == NULL || out->arguments == NULL)
        return err_no_memory(err, strlen(mark) + count * sizeof *out->arguments);
    for (; out->count < count; out->count++)
        out->arguments[out->count] = split(strsep(&text, "&"));
    return ERR_OK;
}

const struct query_argument *query_find(const struct query *query, const char *name)
{
    for (size_t i = 0; i < query->count; i++)
        if (strcmp(query->arguments[i].name, name) == 0)
            return &query->arguments[i];
    return NULL;
}
