#include "learn/data/csv.h"

#include <string.h>
#include <strings.h>

void csv_open(struct csv *csv, char *bytes, size_t len)
{
    csv->separator = ',';
    csv->bytes = bytes;
    csv->len = len;
    csv->at = len >= 3 && memcmp(bytes, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    csv->line = csv->record_line = 1;
    csv->field_count = 0;
}

char csv_guess_separator(const char *bytes, size_t len)
{
    size_t semicolons = 0, tabs = 0;
    bool is_quoted = false;
    for (size_t i = 0; i < len && (is_quoted || bytes[i] != '\n'); i++) {
        is_quoted ^= bytes[i] == '"';
        if (is_quoted)
            continue;
        if (bytes[i] == ',')
            return ',';
        semicolons += bytes[i] == ';';
        tabs += bytes[i] == '\t';
    }
    return semicolons == 0 && tabs == 0 ? ',' : tabs > semicolons ? '\t' : ';';
}

size_t csv_separator_line(const char *bytes, size_t len, char *separator)
{
    size_t at = len >= 3 && memcmp(bytes, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    bool is_quoted = len - at > 0 && bytes[at] == '"';
    at += is_quoted;
    if (len - at < 5 || strncasecmp(bytes + at, "sep=", 4) != 0 ||
        memchr(",;\t|", bytes[at + 4], 4) == NULL)
        return 0;
    char found = bytes[at + 4];
    at += 5;
    at += is_quoted && at < len && bytes[at] == '"';
    at += at < len && bytes[at] == '\r';
    if (at < len && bytes[at] != '\n')
        return 0;
    *separator = found;
    return at + (at < len);
}

/* Bytes (0 to 2) of the line end at csv->at. A \r at the end of the file is one: its \n was cut
 * off. */
static size_t line_end_bytes(const struct csv *csv)
{
    size_t left = csv->len - csv->at;
    const char *bytes = csv->bytes + csv->at;
    if (left > 0 && bytes[0] == '\n')
        return 1;
    if (left == 0 || bytes[0] != '\r')
        return 0;
    return left == 1 ? 1 : bytes[1] == '\n' ? 2 : 0;
}

static enum err_code read_field(struct csv *csv, struct csv_field *field, struct err *err)
{
    if (csv->at < csv->len && csv->bytes[csv->at] == '"') {
        csv->at++;
        /* Doubled quotes become one, so the field only shrinks and can be rewritten in place. */
        size_t opened = csv->line;
        char *out = csv->bytes + csv->at;
        field->text = out;
        while (csv->at < csv->len) {
            char c = csv->bytes[csv->at++];
            if (c == '"' && (csv->at == csv->len || csv->bytes[csv->at] != '"')) {
                field->len = (size_t)(out - field->text);
                return ERR_OK;
            }
            if (c == '"')
                csv->at++;
            if (c == '\n')
                csv->line++;
            *out++ = c;
        }
        return err_set(err, ERR_MALFORMED, "line %zu: a quoted field is never closed", opened);
    }
    size_t start = csv->at;
    for (; csv->at < csv->len; csv->at++) {
        const char c = csv->bytes[csv->at];
        if (c == csv->separator || c == '"' || c == '\r' || c == '\n')
            break;
    }
    *field = (struct csv_field){.text = csv->bytes + start, .len = csv->at - start};
    return ERR_OK;
}

/* Reads what follows a field: a separator, the record's end, or an error. *more is true after a
 * separator. */
static enum err_code read_separator(struct csv *csv, bool *more, struct err *err)
{
    *more = false;
    if (csv->at == csv->len)
        return ERR_OK;
    size_t end = line_end_bytes(csv);
    if (end > 0) {
        csv->at += end;
        csv->line++;
        return ERR_OK;
    }
    if (csv->bytes[csv->at] != csv->separator)
        return err_set(err, ERR_MALFORMED,
                       "line %zu: after a field there must be %s or the line's end, not %s",
                       csv->line,
                       csv->separator == ','   ? "a comma"
                       : csv->separator == ';' ? "a semicolon"
                       : csv->separator == '|' ? "a bar"
                                               : "a tab",
                       csv->bytes[csv->at] == '"'    ? "a quote"
                       : csv->bytes[csv->at] == '\r' ? "a lone carriage return"
                                                     : "more text");
    csv->at++;
    *more = true;
    return ERR_OK;
}

enum err_code csv_next(struct csv *csv, bool *found, struct err *err)
{
    for (size_t end = line_end_bytes(csv); end > 0; end = line_end_bytes(csv)) {
        csv->at += end;
        csv->line++;
    }
    csv->field_count = 0;
    csv->record_line = csv->line;
    *found = csv->at < csv->len;
    for (bool more = *found; more;) {
        if (csv->field_count == CSV_FIELDS_MAX)
            return err_set(err, ERR_TOO_LARGE, "line %zu: more than %d fields", csv->line,
                           CSV_FIELDS_MAX);
        struct csv_field *field = &csv->fields[csv->field_count++];
        if (read_field(csv, field, err) || read_separator(csv, &more, err))
            return err->code;
        field->text[field->len] = '\0';
    }
    return ERR_OK;
}
