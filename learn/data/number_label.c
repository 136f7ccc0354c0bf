#include "learn/data/number_label.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

unsigned number_label_count(const char *label)
{
    unsigned count = 1;
    for (; *label != '\0'; label++)
        count += *label == '|';
    return count;
}

/* Reads one number, which ends at '|' or with the text. strtod alone would also take "nan", "inf"
 * and hexadecimal digits. */
static enum err_code read_one(const char *text, double *out, struct err *err)
{
    const size_t len = strcspn(text, "|");
    const int shown = len < 60 ? (int)len : 60;
    char *end;
    *out = strtod(text, &end);
    if (len == 0 || end != text + len || strspn(text, "+-.0123456789eE") < len || !isfinite(*out))
        return err_set(err, ERR_UNUSABLE, "the label '%.*s' is no number", shown, text);
    if (fabs(*out) > NUMBER_LABEL_MAX)
        return err_set(err, ERR_UNUSABLE, "the number '%.*s' is beyond %g", shown, text,
                       NUMBER_LABEL_MAX);
    return ERR_OK;
}

enum err_code number_label_read(const char *label, double *numbers, unsigned count, struct err *err)
{
    const unsigned found = number_label_count(label);
    if (found != count)
        return err_set(err, ERR_UNUSABLE, "the label has %u number%s, and the model answers %u",
                       found, found == 1 ? "" : "s", count);
    for (unsigned i = 0; i < count; i++) {
        if (read_one(label, &numbers[i], err))
            return err->code;
        label += strcspn(label, "|") + 1;
    }
    return ERR_OK;
}
