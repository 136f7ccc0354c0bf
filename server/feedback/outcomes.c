/* outcomes.c - see outcomes.h. A cell is never removed, so that once all are taken no pair of
 * labels gets one later: whether a mark was counted in a cell follows from whether its cell exists.
 */
#include "server/feedback/outcomes.h"

#include <stdlib.h>
#include <string.h>

enum { LABEL_ROOM_FIRST = 16, SLOTS = 2 * OUTCOMES_CELLS };

enum err_code outcomes_open(struct outcomes **out, struct err *err)
{
    *out = calloc(1, sizeof **out);
    if (*out == NULL)
        return err_no_memory(err, sizeof **out);
    arena_init(&(*out)->arena);
    return ERR_OK;
}

void outcomes_close(struct outcomes *outcomes)
{
    if (outcomes == NULL)
        return;
    for (unsigned i = 0; i < outcomes->version_count; i++)
        free(outcomes->versions[i].labels);
    arena_deinit(&outcomes->arena);
    free(outcomes);
}

/* ---- versions ---- */

static int find(const struct outcomes *outcomes, const char *model, const char *version)
{
    for (unsigned i = 0; i < outcomes->version_count; i++)
        if (strcmp(outcomes->versions[i].model, model) == 0 &&
            strcmp(outcomes->versions[i].version, version) == 0)
            return (int)i;
    return -1;
}

const struct outcomes_version *outcomes_find(const struct outcomes *outcomes, const char *model,
                                             const char *version)
{
    int found = find(outcomes, model, version);
    return found < 0 ? NULL : &outcomes->versions[found];
}

int outcomes_version(struct outcomes *outcomes, const char *model, const char *version)
{
    int found = find(outcomes, model, version);
    if (found >= 0 || outcomes->version_count == OUTCOMES_VERSIONS)
        return found;
    struct outcomes_version *added = &outcomes->versions[outcomes->version_count];
    *added = (struct outcomes_version){
        .model = arena_copy(&outcomes->arena, model, strlen(model)),
        .version = arena_copy(&outcomes->arena, version, strlen(version)),
    };
    if (added->model == NULL || added->version == NULL)
        return -1;
    return (int)outcomes->version_count++;
}

/* ---- labels ---- */

static bool is_at(const struct outcomes_version *version, unsigned place, const char *text)
{
    return place < version->label_count && strcmp(version->labels[place].text, text) == 0;
}

int64_t outcomes_label(const struct outcomes *outcomes, unsigned version, const char *text,
                       unsigned hint)
{
    const struct outcomes_version *of = &outcomes->versions[version];
    if (is_at(of, hint, text))
        return hint;
    for (unsigned i = 0; i < of->label_count; i++)
        if (is_at(of, i, text))
            return i;
    return -1;
}

static bool has_room(struct outcomes_version *version)
{
    if (version->label_count < version->label_room)
        return true;
    unsigned room = version->label_room > 0 ? 2 * version->label_room : LABEL_ROOM_FIRST;
    struct outcomes_label *labels = reallocarray(version->labels, room, sizeof *labels);
    if (labels == NULL)
        return false;
    version->labels = labels;
    version->label_room = room;
    return true;
}

int64_t outcomes_add_label(struct outcomes *outcomes, unsigned version, const char *text,
                           bool is_new, unsigned hint)
{
    struct outcomes_version *of = &outcomes->versions[version];
    int64_t found = outcomes_label(outcomes, version, text, hint);
    if (found >= 0) {
        of->labels[found].is_new = of->labels[found].is_new && is_new;
        return found;
    }
    if ((is_new && of->new_count == OUTCOMES_NEW_LABELS) || !has_room(of))
        return -1;
    const char *copy = arena_copy(&outcomes->arena, text, strlen(text));
    if (copy == NULL)
        return -1;
    of->labels[of->label_count] = (struct outcomes_label){copy, is_new};
    of->new_count += is_new;
    return of->label_count++;
}

bool outcomes_learn(struct outcomes *outcomes, unsigned version, const char *const *labels,
                    unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (outcomes_add_label(outcomes, version, labels[i], false, i) < 0)
            return false;
    return true;
}

const char *outcomes_text(const struct outcomes *outcomes, unsigned version, uint32_t label)
{
    const struct outcomes_version *of = &outcomes->versions[version];
    return label < of->label_count ? of->labels[label].text : "other";
}

/* ---- cells ---- */

/* The cell, or the empty one where it belongs. */
static struct outcomes_cell *cell_of(struct outcomes *outcomes, unsigned version,
                                     const struct outcomes_mark *mark)
{
    uint64_t mixed = ((uint64_t)version << 48 ^ (uint64_t)mark->label << 24 ^ mark->predicted) *
                     0x9E3779B97F4A7C15;
    for (unsigned at = (unsigned)(mixed >> 40) % SLOTS;; at = (at + 1) % SLOTS) {
        struct outcomes_cell *cell = &outcomes->cells[at];
        bool is_it = cell->version == version && cell->label == mark->label &&
                     cell->predicted == mark->predicted;
        if (!cell->is_used || is_it)
            return cell;
    }
}

/* NULL: there are too many to make one. */
static struct outcomes_cell *made_cell(struct outcomes *outcomes, unsigned version,
                                       const struct outcomes_mark *mark)
{
    struct outcomes_cell *cell = cell_of(outcomes, version, mark);
    if (cell->is_used)
        return cell;
    if (outcomes->cell_count == OUTCOMES_CELLS)
        return NULL;
    *cell = (struct outcomes_cell){.is_used = true,
                                   .version = (uint16_t)version,
                                   .label = mark->label,
                                   .predicted = mark->predicted};
    outcomes->cell_count++;
    return cell;
}

void outcomes_predicted(struct outcomes *outcomes, unsigned version, enum decision decision)
{
    outcomes->versions[version].predictions[decision]++;
}

void outcomes_count(struct outcomes *outcomes, unsigned version, const struct outcomes_mark *mark,
                    int step)
{
    struct outcomes_version *of = &outcomes->versions[version];
    struct outcomes_cell *cell = made_cell(outcomes, version, mark);
    of->count[mark->decision] += (uint64_t)(int64_t)step;
    if (mark->label == mark->predicted)
        of->right[mark->decision] += (uint64_t)(int64_t)step;
    if (mark->is_sampled)
        of->sampled_count += (uint64_t)(int64_t)step;
    if (mark->is_sampled && mark->label == mark->predicted)
        of->sampled_right += (uint64_t)(int64_t)step;
    if (cell != NULL)
        cell->now[mark->decision] += (uint32_t)step;
}

void outcomes_given(struct outcomes *outcomes, unsigned version, const struct outcomes_mark *mark)
{
    struct outcomes_cell *cell = cell_of(outcomes, version, mark);
    if (cell->is_used)
        cell->total++;
}
