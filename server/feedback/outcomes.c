/* outcomes.c - see outcomes.h. A cell is removed only with its version. Marks that came while all
 * cells were taken are in none: if one of them is taken back after a version made room, a cell that
 * stands at 0 stays there.
 *
 * A model's text is stored once and stays, since results borrow it. One that people made up belongs
 * to its place in its version. */
#include "server/feedback/outcomes.h"

#include "server/feedback/siphash.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { LABEL_ROOM_FIRST = 16, SLOTS = 2 * OUTCOMES_CELLS, TEXT_ROOM_FIRST = 256 };
static const uint64_t LIVE_USES = 1ULL << 32; /* above all of before the start */

enum err_code outcomes_open(struct outcomes **out, struct err *err)
{
    *out = calloc(1, sizeof **out);
    if (*out == NULL)
        return err_no_memory(err, sizeof **out);
    arena_init(&(*out)->arena);
    if (getrandom((*out)->secret, sizeof(*out)->secret, 0) == sizeof(*out)->secret)
        return ERR_OK;
    outcomes_close(*out);
    *out = NULL;
    return err_set(err, ERR_IO, "no random bytes for the hashes of labels");
}

static void free_labels(struct outcomes_version *version)
{
    for (unsigned i = 0; i < version->label_count; i++)
        free(version->labels[i].own);
    free(version->labels);
    free(version->slots);
}

void outcomes_close(struct outcomes *outcomes)
{
    if (outcomes == NULL)
        return;
    for (unsigned i = 0; i < outcomes->version_count; i++)
        free_labels(&outcomes->versions[i]);
    free(outcomes->texts);
    arena_deinit(&outcomes->arena);
    free(outcomes);
}

/* ---- texts ---- */

static uint64_t hash_of(const struct outcomes *outcomes, const char *text)
{
    uint64_t hash[2];
    siphash(outcomes->secret, text, strlen(text), hash);
    return hash[0];
}

/* The slot of a text, or the empty one where it belongs. */
static size_t text_slot(const struct outcomes *outcomes, const char *text)
{
    size_t at = (size_t)hash_of(outcomes, text) & (outcomes->text_room - 1);
    while (outcomes->texts[at] != NULL && strcmp(outcomes->texts[at], text) != 0)
        at = (at + 1) & (outcomes->text_room - 1);
    return at;
}

static bool has_text_room(struct outcomes *outcomes)
{
    if (2 * outcomes->text_count < outcomes->text_room)
        return true;
    const size_t before = outcomes->text_room;
    const char **old = outcomes->texts;
    const char **texts = calloc(before > 0 ? 2 * before : TEXT_ROOM_FIRST, sizeof *texts);
    if (texts == NULL)
        return false;
    outcomes->texts = texts;
    outcomes->text_room = before > 0 ? 2 * before : TEXT_ROOM_FIRST;
    for (size_t i = 0; i < before; i++)
        if (old[i] != NULL)
            texts[text_slot(outcomes, old[i])] = old[i];
    free(old);
    return true;
}

/* The one copy of a model's text; NULL: there is no memory. */
static const char *intern(struct outcomes *outcomes, const char *text)
{
    if (!has_text_room(outcomes))
        return NULL;
    const size_t at = text_slot(outcomes, text);
    if (outcomes->texts[at] != NULL)
        return outcomes->texts[at];
    outcomes->texts[at] = arena_copy(&outcomes->arena, text, strlen(text));
    outcomes->text_count += outcomes->texts[at] != NULL;
    return outcomes->texts[at];
}

/* ---- versions ---- */

static int find(const struct outcomes *outcomes, const char *model, const char *version)
{
    for (unsigned i = 0; i < outcomes->version_count; i++)
        if (outcomes->versions[i].model != NULL &&
            strcmp(outcomes->versions[i].model, model) == 0 &&
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

int outcomes_version(struct outcomes *outcomes, const char *model, const char *version, bool is_old)
{
    int found = find(outcomes, model, version);
    unsigned at = 0;
    while (at < outcomes->version_count && outcomes->versions[at].model != NULL)
        at++;
    if (found < 0 && at < OUTCOMES_VERSIONS) {
        struct outcomes_version *added = &outcomes->versions[at];
        *added = (struct outcomes_version){.model = intern(outcomes, model),
                                           .version = intern(outcomes, version)};
        if (added->model == NULL || added->version == NULL) {
            added->model = NULL;
            return -1;
        }
        found = (int)at;
        if (at == outcomes->version_count)
            outcomes->version_count++;
    }
    if (found >= 0 && !is_old)
        outcomes->versions[found].used = LIVE_USES + ++outcomes->uses;
    else if (found >= 0 && outcomes->versions[found].used < LIVE_USES)
        outcomes->versions[found].used = ++outcomes->old_uses;
    return found;
}

int outcomes_oldest(const struct outcomes *outcomes, const char *model, const char *version)
{
    int oldest = -1;
    if (outcomes->version_count < OUTCOMES_VERSIONS || find(outcomes, model, version) >= 0)
        return -1;
    for (unsigned i = 0; i < outcomes->version_count; i++)
        if (outcomes->versions[i].model == NULL)
            return -1;
        else if (outcomes->versions[i].pins == 0 &&
                 (oldest < 0 || outcomes->versions[i].used < outcomes->versions[oldest].used))
            oldest = (int)i;
    return oldest;
}

/* ---- labels ---- */

static unsigned slot_mask(const struct outcomes_version *version)
{
    return 2 * version->label_room - 1; /* label_room is a power of two */
}

/* The slot of a label, or the empty one where it belongs. */
static unsigned label_slot(const struct outcomes_version *version, const char *text, uint64_t hash)
{
    unsigned at = (unsigned)hash & slot_mask(version);
    for (; version->slots[at] != 0; at = (at + 1) & slot_mask(version)) {
        const struct outcomes_label *label = &version->labels[version->slots[at] - 1];
        if (label->hash == hash && strcmp(label->text, text) == 0)
            break;
    }
    return at;
}

static void put_slot(struct outcomes_version *version, unsigned label)
{
    const struct outcomes_label *of = &version->labels[label];
    version->slots[label_slot(version, of->text, of->hash)] = label + 1;
}

/* Later ones move up into the hole (Knuth, volume 3, algorithm 6.4R). */
static void drop_slot(struct outcomes_version *version, unsigned label)
{
    const struct outcomes_label *of = &version->labels[label];
    const unsigned mask = slot_mask(version);
    unsigned hole = label_slot(version, of->text, of->hash);
    version->slots[hole] = 0;
    for (unsigned at = (hole + 1) & mask; version->slots[at] != 0; at = (at + 1) & mask) {
        const unsigned from = (unsigned)version->labels[version->slots[at] - 1].hash & mask;
        if (((at - from) & mask) < ((at - hole) & mask))
            continue;
        version->slots[hole] = version->slots[at];
        version->slots[at] = 0;
        hole = at;
    }
}

int64_t outcomes_label(const struct outcomes *outcomes, unsigned version, const char *text,
                       unsigned hint)
{
    const struct outcomes_version *of = &outcomes->versions[version];
    if (hint < of->label_count && strcmp(of->labels[hint].text, text) == 0)
        return hint;
    if (of->label_room == 0)
        return -1;
    return (int64_t)of->slots[label_slot(of, text, hash_of(outcomes, text))] - 1;
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
    uint32_t *slots = calloc(2 * (size_t)room, sizeof *slots);
    if (slots == NULL)
        return false;
    free(version->slots);
    version->slots = slots;
    version->label_room = room;
    for (unsigned i = 0; i < version->label_count; i++)
        put_slot(version, i);
    return true;
}

/* The place of a new label that nobody holds any more, or one behind the last. */
static unsigned free_place(const struct outcomes_version *version)
{
    for (unsigned i = 0; version->new_count == OUTCOMES_NEW_LABELS && i < version->label_count; i++)
        if (version->labels[i].is_new && version->labels[i].holds == 0)
            return i;
    return version->label_count;
}

int64_t outcomes_add_label(struct outcomes *outcomes, unsigned version, const char *text,
                           bool is_new, unsigned hint)
{
    struct outcomes_version *of = &outcomes->versions[version];
    int64_t found = outcomes_label(outcomes, version, text, hint);
    if (found >= 0 && of->labels[found].is_new && !is_new) { /* people had made it up */
        struct outcomes_label *label = &of->labels[found];
        const char *copy = intern(outcomes, label->text);
        if (copy == NULL)
            return -1;
        free(label->own);
        *label = (struct outcomes_label){.text = copy, .hash = label->hash};
        of->new_count--;
    }
    if (found >= 0)
        return found;
    const unsigned at = is_new ? free_place(of) : of->label_count;
    const bool is_more = at == of->label_count;
    if ((is_more && is_new && of->new_count == OUTCOMES_NEW_LABELS) || (is_more && !has_room(of)))
        return -1;
    char *own = is_new ? strdup(text) : NULL;
    const char *copy = is_new ? own : intern(outcomes, text);
    if (copy == NULL)
        return -1;
    if (!is_more) {
        drop_slot(of, at);
        free(of->labels[at].own);
    }
    of->labels[at] = (struct outcomes_label){
        .text = copy, .own = own, .is_new = is_new, .hash = hash_of(outcomes, copy)};
    put_slot(of, at);
    of->new_count += is_new && is_more;
    of->label_count += is_more;
    return at;
}

bool outcomes_has_room(const struct outcomes *outcomes, unsigned version)
{
    const struct outcomes_version *of = &outcomes->versions[version];
    return of->new_count < OUTCOMES_NEW_LABELS || free_place(of) < of->label_count;
}

void outcomes_hold(struct outcomes *outcomes, unsigned version, uint64_t label, int step)
{
    struct outcomes_version *of = &outcomes->versions[version];
    if (label < of->label_count && of->labels[label].is_new &&
        (step > 0 || of->labels[label].holds > 0))
        of->labels[label].holds += (unsigned)step;
}

bool outcomes_learn(struct outcomes *outcomes, unsigned version, const char *const *labels,
                    unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (outcomes_add_label(outcomes, version, labels[i], false, i) < 0)
            return false;
    return true;
}

const char *outcomes_text(const struct outcomes *outcomes, unsigned version, uint64_t label)
{
    const struct outcomes_version *of = &outcomes->versions[version];
    return label < of->label_count ? of->labels[label].text : "other";
}

unsigned outcomes_set_texts(const struct outcomes *outcomes, unsigned version, uint64_t set,
                            const char *texts[OUTCOME_SET_LABELS])
{
    unsigned count = 0;
    for (unsigned n = 0; n < OUTCOME_SET_LABELS; n++)
        if (set >> n & 1)
            texts[count++] = outcomes_text(outcomes, version, n);
    return count;
}

const char *outcomes_set_text(const struct outcomes *outcomes, unsigned version, uint64_t set,
                              struct arena *arena)
{
    const char *texts[OUTCOME_SET_LABELS];
    const unsigned count = outcomes_set_texts(outcomes, version, set, texts);
    size_t len = 0, at = 0;
    for (unsigned i = 0; i < count; i++)
        len += strlen(texts[i]) + 1;
    char *text = arena_alloc(arena, len + 1);
    for (unsigned i = 0; text != NULL && i < count; i++) {
        if (i > 0)
            text[at++] = '|';
        memcpy(text + at, texts[i], strlen(texts[i]));
        at += strlen(texts[i]);
    }
    if (text != NULL)
        text[at] = '\0';
    return text;
}

/* ---- cells ---- */

static unsigned home(unsigned version, uint64_t label, uint64_t predicted)
{
    static const uint64_t odd = 0x9E3779B97F4A7C15;
    const uint64_t mixed = ((uint64_t)version << 48 ^ label << 24 ^ label >> 40 ^ predicted) * odd;
    return (unsigned)(mixed >> 40) % SLOTS;
}

/* The cell, or the empty one where it belongs. */
static struct outcomes_cell *cell_of(struct outcomes *outcomes, unsigned version,
                                     const struct outcomes_mark *mark)
{
    for (unsigned at = home(version, mark->label, mark->predicted);; at = (at + 1) % SLOTS) {
        struct outcomes_cell *cell = &outcomes->cells[at];
        bool is_it = cell->version == version && cell->is_set == mark->is_set &&
                     cell->label == mark->label && cell->predicted == mark->predicted;
        if (!cell->is_used || is_it)
            return cell;
    }
}

/* Later cells move up into the hole (Knuth, volume 3, algorithm 6.4R). */
static void remove_cell(struct outcomes *outcomes, unsigned hole)
{
    outcomes->cells[hole].is_used = false;
    outcomes->cell_count--;
    for (unsigned at = (hole + 1) % SLOTS; outcomes->cells[at].is_used; at = (at + 1) % SLOTS) {
        const struct outcomes_cell *cell = &outcomes->cells[at];
        const unsigned from = home(cell->version, cell->label, cell->predicted);
        if ((at + SLOTS - from) % SLOTS < (at + SLOTS - hole) % SLOTS)
            continue;
        outcomes->cells[hole] = outcomes->cells[at];
        outcomes->cells[at].is_used = false;
        hole = at;
    }
}

void outcomes_forget(struct outcomes *outcomes, unsigned version)
{
    for (unsigned at = 0; at < SLOTS;)
        if (outcomes->cells[at].is_used && outcomes->cells[at].version == version)
            remove_cell(outcomes, at);
        else
            at++;
    free_labels(&outcomes->versions[version]);
    outcomes->versions[version] = (struct outcomes_version){0};
}

void outcomes_predicted(struct outcomes *outcomes, unsigned version, enum decision decision)
{
    outcomes->versions[version].predictions[decision]++;
}

void outcomes_count(struct outcomes *outcomes, unsigned version, const struct outcomes_mark *mark,
                    int step)
{
    struct outcomes_version *of = &outcomes->versions[version];
    struct outcomes_cell *cell = cell_of(outcomes, version, mark);
    if (!cell->is_used && outcomes->cell_count < OUTCOMES_CELLS) {
        *cell = (struct outcomes_cell){.is_used = true,
                                       .is_set = mark->is_set,
                                       .version = (uint16_t)version,
                                       .label = mark->label,
                                       .predicted = mark->predicted};
        outcomes->cell_count++;
    }
    of->count[mark->decision] += (uint64_t)(int64_t)step;
    of->edits[mark->decision] += (uint64_t)((int64_t)mark->edits * step);
    of->characters[mark->decision] += (uint64_t)((int64_t)mark->characters * step);
    if (mark->label == mark->predicted)
        of->right[mark->decision] += (uint64_t)(int64_t)step;
    if (mark->is_sampled)
        of->sampled_count += (uint64_t)(int64_t)step;
    if (mark->is_sampled && mark->label == mark->predicted)
        of->sampled_right += (uint64_t)(int64_t)step;
    if (cell->is_used && (step > 0 || cell->now[mark->decision] > 0))
        cell->now[mark->decision] += (uint32_t)step;
}

void outcomes_given(struct outcomes *outcomes, unsigned version, const struct outcomes_mark *mark)
{
    struct outcomes_cell *cell = cell_of(outcomes, version, mark);
    if (cell->is_used)
        cell->total++;
}
