#include "server/observe/json_line.h"

#include "engine/base/doc_string.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Adds bytes unless they, and `reserve` more, do not fit. */
static bool add(struct json_line *line, const char *bytes, size_t len, size_t reserve)
{
    if (len + reserve > line->size - line->len) {
        line->is_cut = true;
        return false;
    }
    memcpy(line->bytes + line->len, bytes, len);
    line->len += len;
    return true;
}

/* A JSON string; keeps room to close it. False: not even its quotes fit. */
static bool add_string(struct json_line *line, const char *text)
{
    size_t len = strlen(text);
    if (!add(line, "\"", 1, 1))
        return false;
    for (size_t at = 0; at < len;) {
        const struct doc_string_piece piece =
            doc_string_next(text + at, len - at, DOC_STRING_FOR_TERMINAL);
        if (!add(line, piece.bytes, piece.len, 1))
            break;
        at += piece.taken;
    }
    return add(line, "\"", 1, 0);
}

static bool add_name(struct json_line *line, const char *name)
{
    bool was_cut = line->is_cut;
    bool is_first = line->len == 0;
    line->is_cut = false;
    bool whole = (is_first && line->is_inside) || add(line, is_first ? "{" : ",", 1, 0);
    whole = whole && add_string(line, name) && !line->is_cut && add(line, ":", 1, 0);
    line->is_cut = line->is_cut || was_cut;
    return whole;
}

void json_line_text(struct json_line *line, const char *name, const char *text)
{
    size_t start = line->len;
    if (!add_name(line, name) || !(text != NULL ? add_string(line, text) : add(line, "null", 4, 0)))
        line->len = start;
}

void json_line_element(struct json_line *line, const char *text)
{
    size_t start = line->len;
    if (!add(line, start == 0 ? "[" : ",", 1, 0) || !add_string(line, text))
        line->len = start;
}

void json_line_list(struct json_line *line, const char *name, const char *const *texts,
                    unsigned count)
{
    const size_t start = line->len;
    const bool was_cut = line->is_cut;
    line->is_cut = false;
    bool is_whole = add_name(line, name) && add(line, "[", 1, 1);
    for (unsigned i = 0; i < count && is_whole; i++)
        is_whole = (i == 0 || add(line, ",", 1, 1)) && add_string(line, texts[i]) && !line->is_cut;
    if (!is_whole || !add(line, "]", 1, 0))
        line->len = start;
    line->is_cut = line->is_cut || was_cut;
}

/* Characters that are not ASCII stand inside a string of the JSON, where they may be escaped. */
void json_line_json(struct json_line *line, const char *name, const char *json)
{
    const size_t start = line->len, len = strlen(json);
    bool fits = add_name(line, name);
    for (size_t at = 0; at < len && fits;) {
        size_t plain = 0;
        while (at + plain < len && json[at + plain] > 0 && json[at + plain] < 0x7F)
            plain++;
        struct doc_string_piece piece = {.taken = 0};
        if (at + plain < len)
            piece = doc_string_next(json + at + plain, len - at - plain, DOC_STRING_FOR_TERMINAL);
        fits = add(line, json + at, plain, 0) && add(line, piece.bytes, piece.len, 0);
        at += plain + piece.taken;
    }
    if (!fits)
        line->len = start;
}

/* JSON has neither NaN nor infinity. Whole numbers are printed whole; 9 digits distinguish any two
 * floats. */
void json_line_number(struct json_line *line, const char *name, double number)
{
    char text[32] = "null";
    if (isfinite(number))
        snprintf(text, sizeof text,
                 number == floor(number) && fabs(number) < 1e15 ? "%.0f" : "%.9g", number);
    json_line_json(line, name, text);
}
