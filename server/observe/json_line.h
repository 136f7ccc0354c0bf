/* json_line.h - a JSON object as text in a buffer of fixed size, without malloc. What does not fit
 * is left out, and the line knows it.
 *
 *     struct json_line line = {.bytes = buffer, .size = sizeof buffer};
 *     json_line_text(&line, "event", event);            {"event":"stopped"
 *     json_line_number(&line, "ms", 12.5);              {"event":"stopped","ms":12.5
 *
 * Members begin with '{' or ','; the closing brace is the caller's. Texts may hold anything: what
 * is not printable is escaped, a byte that is not UTF-8 becomes U+FFFD; NULL becomes null, and so
 * does a number that JSON lacks. A member whose name or number does not fit is left out; a text is
 * cut at a character's border.
 *
 * Threads: a line belongs to one.
 */
#ifndef ATTND_SERVER_OBSERVE_JSON_LINE_H
#define ATTND_SERVER_OBSERVE_JSON_LINE_H

#include <stdbool.h>
#include <stddef.h>

struct json_line {
    char *bytes; /* [size]; no NUL */
    size_t size, len;
    bool is_inside; /* no '{' is put before the first member */
    bool is_cut;    /* something was cut or left out */
};

void json_line_text(struct json_line *line, const char *name, const char *text);
void json_line_number(struct json_line *line, const char *name, double number);
/* A text of an array that is a line of its own: ["a","b" */
void json_line_element(struct json_line *line, const char *text);
/* An array of texts, whole or not at all. */
void json_line_list(struct json_line *line, const char *name, const char *const *texts,
                    unsigned count);
/* A value that is JSON already, without line ends; its strings are escaped like texts. */
void json_line_json(struct json_line *line, const char *name, const char *json);

#endif
