#include "server/http/layout.h"

#include <stdint.h>
#include <string.h>

/* The end of the parts that are known to be contiguous. */
struct walk {
    const char *at, *end;
};

static size_t left(const struct walk *walk)
{
    return (size_t)(walk->end - walk->at);
}

/* Goes over a part that must begin right here, and over the NULs that have replaced what ends it. A
 * part that was found elsewhere may point anywhere, so it is compared as a number. */
static bool pass(struct walk *walk, const char *part, size_t len, size_t nuls)
{
    if ((uintptr_t)part != (uintptr_t)walk->at || len > left(walk) || nuls > left(walk) - len)
        return false;
    walk->at += len;
    for (; nuls > 0; nuls--)
        if (*walk->at++ != '\0')
            return false;
    return true;
}

static void pass_blanks(struct walk *walk)
{
    while (left(walk) > 0 && (*walk->at == ' ' || *walk->at == '\t'))
        walk->at++;
}

static bool pass_request_line(struct walk *walk, const struct layout_head *head)
{
    return pass(walk, head->method, strlen(head->method), 1) &&
           pass(walk, head->target, head->target_len, 1) &&
           pass(walk, head->version, strlen(head->version), 2);
}

static bool pass_field(struct walk *walk, const struct framing_field *field)
{
    if (field->name_len == 0 || !pass(walk, field->name, field->name_len, 1))
        return false;
    pass_blanks(walk);
    return pass(walk, field->value, field->value_len, 2);
}

enum err_code layout_check_head(const struct layout_head *head, const struct framing_field *fields,
                                size_t count, struct err *err)
{
    struct walk walk = {.at = head->method, .end = head->method + head->bytes};
    bool joined = pass_request_line(&walk, head);
    for (size_t i = 0; i < count && joined; i++)
        joined = pass_field(&walk, &fields[i]);
    if (joined && pass(&walk, walk.at, 0, 2) && walk.at == walk.end)
        return ERR_OK;
    return err_set(
        err, ERR_MALFORMED,
        "request head: not METHOD TARGET VERSION and lines of NAME: VALUE, each ended by "
        "CR LF");
}
