#include "engine/content/file_kind.h"
#include "engine/vision/input_formats.h"
#include "learn/data/dataset_form.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

void dataset_leave_out(struct dataset *dataset, const char *name)
{
    char ending[DATASET_ENDING_BYTES];
    struct dataset_left_out *left_out = &dataset->left_out;
    const char *dot = strrchr(name, '.');
    size_t len = 0;
    for (; dot != NULL && dot[len] != '\0' && len < sizeof ending - 1; len++) {
        unsigned char c = (unsigned char)dot[len];
        ending[len] = (char)(c < 0x20 || c >= 0x7F ? '?' : tolower(c));
    }
    ending[len] = '\0';
    left_out->count++;
    for (unsigned i = 0; i < DATASET_ENDINGS_MAX; i++) {
        struct dataset_ending *known = &left_out->endings[i];
        if (known->count > 0 && strcmp(known->text, ending) != 0)
            continue;
        memcpy(known->text, ending, sizeof ending);
        known->count++;
        return;
    }
}

void dataset_describe_left_out(const struct dataset *dataset, char out[DATASET_SENTENCE_BYTES])
{
    const struct dataset_left_out *left_out = &dataset->left_out;
    size_t all = left_out->count, used, size = DATASET_SENTENCE_BYTES;
    bool has_pictures = false;
    out[0] = '\0';
    if (all == 0)
        return;
    used = (size_t)snprintf(out, size, "%zu file%s of %s and left out (", all,
                            all == 1 ? " is" : "s are", all == 1 ? "another kind" : "other kinds");
    for (unsigned i = 0; i < DATASET_ENDINGS_MAX && left_out->endings[i].count > 0; i++) {
        const struct dataset_ending *ending = &left_out->endings[i];
        used +=
            (size_t)snprintf(out + used, size - used, "%s%zu %s", i > 0 ? ", " : "", ending->count,
                             ending->text[0] != '\0' ? ending->text : "without ending");
        has_pictures |= file_kind_names_picture(ending->text, strlen(ending->text));
    }
    snprintf(out + used, size - used, ")%s",
             has_pictures ? "; " INPUT_FORMATS_LIST " and STDF are read: convert the others" : "");
}
