#include "learn/train/loop/corpus.h"

#include "learn/data/number_label.h"

#include <stdlib.h>
#include <string.h>

/* Length of the name at `text`, which ends at a '|' if there may be several. */
static size_t name_len(const struct labels *labels, const char *text)
{
    return labels->several ? strcspn(text, "|") : strlen(text);
}

static int compare(const char *text, size_t len, const char *name)
{
    int order = strncmp(text, name, len);
    return order != 0 ? order : name[len] == '\0' ? 0 : -1;
}

/* Index of a name among names sorted by bytes, or the index at which to insert it. */
static unsigned place_of(const struct labels *labels, const char *text, size_t len, bool *found)
{
    unsigned low = 0, high = labels->count;
    *found = false;
    while (low < high && !*found) {
        unsigned middle = low + (high - low) / 2;
        int order = compare(text, len, labels->name[middle]);
        *found = order == 0;
        if (order <= 0)
            high = middle;
        else
            low = middle + 1;
    }
    return high;
}

static enum err_code insert(struct labels *labels, unsigned place, const char *text, size_t len,
                            struct arena *arena, struct err *err)
{
    if (labels->count == SPEC_LABELS_MAX)
        return err_set(err, ERR_UNUSABLE, "more than %d different labels", SPEC_LABELS_MAX);
    char *copy = arena_copy(arena, text, len);
    if (copy == NULL)
        return err_no_memory(err, len);
    memmove(labels->name + place + 1, labels->name + place,
            (labels->count - place) * sizeof *labels->name);
    labels->name[place] = copy;
    labels->count++;
    return ERR_OK;
}

static enum err_code collect(struct labels *labels, const char *text, struct arena *arena,
                             struct err *err)
{
    if (labels->several && text[0] == '\0')
        return ERR_OK;
    for (;;) {
        bool found;
        size_t len = name_len(labels, text);
        unsigned place = place_of(labels, text, len, &found);
        if (len == 0)
            return err_set(err, ERR_UNUSABLE, "a label is empty");
        if (!found && insert(labels, place, text, len, arena, err))
            return err->code;
        if (text[len] == '\0')
            return ERR_OK;
        text += len + 1;
    }
}

/* True if the spec has the same set of labels: then training can continue with its head. A
 * checkpoint may have one name twice. `seen` [labels->count] must be zero. */
static bool same_set(const struct labels *labels, const struct spec *spec, bool *seen)
{
    if (spec->label_count != labels->count)
        return false;
    for (unsigned i = 0; i < spec->label_count; i++) {
        bool found;
        unsigned place = place_of(labels, spec->labels[i], strlen(spec->labels[i]), &found);
        if (!found || seen[place])
            return false;
        seen[place] = true;
    }
    return true;
}

enum err_code labels_learn(struct labels *out, const struct dataset *dataset, bool several,
                           const struct spec *spec, struct arena *arena, struct err *err)
{
    *out = (struct labels){.several = several};
    out->name = arena_alloc_array(arena, SPEC_LABELS_MAX, sizeof *out->name);
    if (out->name == NULL)
        return err_no_memory(err, SPEC_LABELS_MAX * sizeof *out->name);
    for (size_t i = 0; i < dataset->count; i++)
        if (collect(out, dataset->items[i].label, arena, err))
            return err_prefix(err, "%.80s: ", dataset->items[i].name);
    if (out->count == 0)
        return err_set(err, ERR_UNUSABLE, "no input has a label: nothing to learn");
    if (out->count < 2 && !several)
        return err_set(err, ERR_UNUSABLE, "every input has the label '%.80s': nothing to learn",
                       out->count > 0 ? out->name[0] : "");
    bool *seen = arena_alloc_array(arena, out->count, sizeof *seen);
    if (seen == NULL)
        return err_no_memory(err, out->count * sizeof *seen);
    if (same_set(out, spec, seen))
        memcpy(out->name, spec->labels, out->count * sizeof *out->name);
    return ERR_OK;
}

enum err_code labels_match(const struct labels *labels, const char *text, float *targets,
                           unsigned *first, struct err *err)
{
    bool any = false;
    memset(targets, 0, labels->count * sizeof *targets);
    *first = labels->count;
    if (labels->several && text[0] == '\0')
        return ERR_OK;
    for (;;) {
        unsigned label = 0;
        size_t len = name_len(labels, text);
        while (label < labels->count && compare(text, len, labels->name[label]) != 0)
            label++;
        if (label == labels->count)
            return err_set(err, ERR_UNUSABLE, "the label '%.*s' is not among those to learn",
                           len < 80 ? (int)len : 80, text);
        if (!any)
            *first = label;
        any = true;
        targets[label] = 1;
        if (text[len] == '\0')
            return ERR_OK;
        text += len + 1;
    }
}

unsigned labels_measured(const struct labels *labels)
{
    unsigned found = 0;
    double number;
    for (unsigned c = 0; c < labels->count; c++)
        found += number_label_read(labels->name[c], &number, 1, &(struct err){0}) == ERR_OK;
    return found > LABELS_NUMBERS && 2 * found > labels->count ? found : 0;
}
