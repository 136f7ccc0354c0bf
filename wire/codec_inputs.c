#include "wire/codec_check.h"

#include <stdbool.h>
#include <string.h>

/* Position in the text. */
struct scan {
    const char *text;
    size_t len, at;
    unsigned depth; /* of objects and arrays that are open */
};

/* From an opening quotation mark to behind the closing one. */
static void skip_string(struct scan *scan)
{
    for (scan->at++; scan->at < scan->len && scan->text[scan->at] != '"'; scan->at++)
        scan->at += scan->text[scan->at] == '\\';
    scan->at++;
}

static bool is_inputs(const struct scan *scan, size_t start)
{
    static const char word[] = "\"inputs\"";
    size_t len = strlen(word);
    return scan->at <= scan->len && scan->at - start == len &&
           memcmp(scan->text + start, word, len) == 0;
}

/* Elements of the array that opens at scan->at. */
static size_t count_elements(struct scan *scan)
{
    const unsigned outside = scan->depth;
    size_t commas = 0;
    bool has_any = false;
    scan->depth++;
    for (scan->at++; scan->at < scan->len;) {
        char c = scan->text[scan->at];
        scan->depth += c == '[' || c == '{';
        scan->depth -= c == ']' || c == '}';
        if (scan->depth == outside)
            break;
        commas += c == ',' && scan->depth == outside + 1;
        has_any = has_any || strchr(" \t\r\n", c) == NULL;
        if (c == '"')
            skip_string(scan);
        else
            scan->at++;
    }
    return has_any ? commas + 1 : 0;
}

size_t codec_inputs_count(const char *text, size_t len)
{
    struct scan scan = {.text = text, .len = len};
    bool is_next = false; /* the value of "inputs" */
    while (scan.at < len) {
        char c = text[scan.at];
        if (c == '[' && is_next)
            return count_elements(&scan);
        if (c == '"') {
            size_t start = scan.at;
            skip_string(&scan);
            is_next = scan.depth == 1 && is_inputs(&scan, start);
            continue;
        }
        is_next = is_next && strchr(": \t\r\n", c) != NULL;
        scan.depth += c == '[' || c == '{';
        scan.depth -= (c == ']' || c == '}') && scan.depth > 0;
        scan.at++;
    }
    return 0;
}
