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
    left_out->pictures += file_kind_names_picture(ending, len);
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
    }
    snprintf(out + used, size - used, ")%s",
             left_out->pictures > 0 ? "; " INPUT_FORMATS_LIST
                                      " and STDF are read: convert the others"
                                    : "");
}

/* ---- inputs that cannot be used ---- */

enum { KINDS_NAMED = 3 };

/* Problems that differ in their numbers alone are of one kind. */
struct kind {
    const char *problem;
    size_t first, count;
};

static const char *past_digits(const char *text)
{
    while (isdigit((unsigned char)*text))
        text++;
    return text;
}

static bool are_alike(const char *a, const char *b)
{
    for (a = past_digits(a), b = past_digits(b); *a == *b && *a != '\0';) {
        a = past_digits(a + 1);
        b = past_digits(b + 1);
    }
    return *a == *b;
}

/* Counts the problems by kind: those of the kinds met first, and in kinds[KINDS_NAMED] the others.
 */
static size_t count_kinds(struct kind kinds[KINDS_NAMED + 1], const char *const *problems,
                          size_t read)
{
    size_t failed = 0;
    for (size_t i = 0; i < read; i++) {
        unsigned k = 0;
        if (problems[i] == NULL)
            continue;
        while (k < KINDS_NAMED && kinds[k].count > 0 && !are_alike(kinds[k].problem, problems[i]))
            k++;
        if (kinds[k].count++ == 0) {
            kinds[k].problem = problems[i];
            kinds[k].first = i;
        }
        failed++;
    }
    return failed;
}

enum err_code dataset_check_usable(const struct dataset *dataset, const char *const *problems,
                                   size_t read, double usable_min, struct err *err)
{
    struct kind kinds[KINDS_NAMED + 1] = {0};
    char list[sizeof err->text] = "";
    const size_t pictures = dataset->left_out.pictures, all = dataset->count + pictures;
    const size_t failed = count_kinds(kinds, problems, read) + pictures;
    size_t used = 0;
    const char *path = dataset->path != NULL ? dataset->path : "", *colon = path[0] ? ": " : "";
    if (failed - pictures == dataset->count)
        return err_set(err, ERR_UNUSABLE, "%s%snone of %zu inputs can be used; %.80s: %s", path,
                       colon, dataset->count, dataset->items[0].name, problems[0]);
    if ((double)(all - failed) >= usable_min * (double)all)
        return ERR_OK;
    for (unsigned k = 0; k < KINDS_NAMED && kinds[k].count > 0 && used < sizeof list; k++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%zu as %.60s: %.80s",
                                 used > 0 ? "; " : "", kinds[k].count,
                                 dataset->items[kinds[k].first].name, kinds[k].problem);
    if (pictures > 0 && used < sizeof list)
        used += (size_t)snprintf(list + used, sizeof list - used,
                                 "%spictures of other formats than " INPUT_FORMATS_OR ": %zu",
                                 used > 0 ? "; " : "", pictures);
    if (kinds[KINDS_NAMED].count > 0 && used < sizeof list)
        snprintf(list + used, sizeof list - used, "; %zu of other kinds", kinds[KINDS_NAMED].count);
    return err_set(err, ERR_UNUSABLE,
                   "%s%s%s%zu of %zu inputs cannot be used. Mend them or take them out, or give "
                   "--usable-min 0 to go on with the others. %s",
                   path, colon, read < dataset->count ? "at least " : "", failed, all, list);
}
