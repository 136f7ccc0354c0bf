#include "server/observe/metrics_text.h"

#include "server/observe/metrics_state.h"

#include <stdio.h>
#include <string.h>

static bool grow(struct metrics_text *text, size_t more)
{
    size_t size = text->size > 0 ? text->size : METRICS_TEXT_BYTES_FIRST;
    while (!text->failed && more > size - text->len) {
        text->failed = size > SIZE_MAX / 2;
        size *= 2;
    }
    char *bytes = text->failed ? NULL : arena_alloc(text->arena, size);
    if (bytes == NULL) {
        text->failed = true;
        return false;
    }
    if (text->len > 0)
        memcpy(bytes, text->bytes, text->len);
    text->bytes = bytes;
    text->size = size;
    return true;
}

static void put(struct metrics_text *text, const char *bytes, size_t len)
{
    if (text->failed || (len > text->size - text->len && !grow(text, len)))
        return;
    memcpy(text->bytes + text->len, bytes, len);
    text->len += len;
}

static void put_string(struct metrics_text *text, const char *string)
{
    put(text, string, strlen(string));
}

void metrics_text_family(struct metrics_text *text, enum metric_id id)
{
    const struct metric *metric = &metric_table[id];
    const char *const pieces[] = {"# HELP ",    metric->name, " ",
                                  metric->help, "\n# TYPE ",  metric->name,
                                  " ",          metric->type, "\n"};
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++)
        put_string(text, pieces[i]);
}

static void put_label(struct metrics_text *text, bool first, const char *name, const char *value)
{
    put_string(text, first ? "{" : ",");
    put_string(text, name);
    put_string(text, "=\"");
    /* "Label values: the backslash, double-quote and line-feed characters have to be escaped". */
    for (size_t plain; *value != '\0'; value += plain + (value[plain] != '\0')) {
        plain = strcspn(value, "\\\"\n");
        put(text, value, plain);
        if (value[plain] != '\0')
            put_string(text, value[plain] == '\n' ? "\\n" : value[plain] == '"' ? "\\\"" : "\\\\");
    }
    put_string(text, "\"");
}

/* One line. values are in the order of the metric's labels; le is NULL but for a bucket. */
void metrics_text_sample(struct metrics_text *text, enum metric_id id, const char *suffix,
                         const char *const *values, const char *le, double number)
{
    const char *const *labels = metric_table[id].labels;
    bool bare = labels[0] == NULL && le == NULL;
    char digits[32];
    put_string(text, metric_table[id].name);
    put_string(text, suffix);
    for (size_t i = 0; labels[i] != NULL; i++)
        put_label(text, i == 0, labels[i], values[i]);
    if (le != NULL)
        put_label(text, labels[0] == NULL, "le", le);
    put_string(text, bare ? " " : "} ");
    /* 15 digits print every count below 1e15 and every sum of nanoseconds as what it is. */
    snprintf(digits, sizeof digits, "%.15g", number);
    put_string(text, digits);
    put_string(text, "\n");
}

void metrics_text_value(struct metrics_text *text, enum metric_id id, const char *const *values,
                        double number)
{
    metrics_text_sample(text, id, "", values, NULL, number);
}

void metrics_text_values(struct metrics_text *text, enum metric_id id, const char *const *values,
                         const uint64_t *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        metrics_text_value(text, id, &values[i], (double)numbers[i]);
}

const char *metrics_text_end(struct metrics_text *text, size_t *len)
{
    put(text, "", 1);
    if (text->failed)
        return NULL;
    *len = text->len - 1;
    return text->bytes;
}
