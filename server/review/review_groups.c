/* review_groups.c - see review_groups.h.
 *
 * Two readings: the first takes of each file what grouping needs, a few words and the likeness; the
 * second what is told of the inputs that are listed, once it is known how many bytes that are. */
#include "server/review/review_groups.h"

#include "server/review/linkage.h"
#include "server/review/review_state.h"
#include "server/serve/likeness.h"
#include "wire/limits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* State that the first reading fills. */
struct reading {
    struct review *review;
    const struct review_question *question;
    struct review_found *out;
    struct kept_entry *entries; /* [entry_count] */
    unsigned entry_count;
    struct review_item *open;  /* [open_count] with a likeness: without a label */
    struct review_item *bare;  /* [bare_count] without both */
    struct review_item *known; /* [known_count] with both */
    unsigned open_count, bare_count, known_count;
    int8_t *likenesses; /* [open_count, likeness_size]: those of `open`, in order */
    struct arena *arena;
};

/* ---- the first reading ---- */

unsigned review_groups_units(struct review *review)
{
    pthread_mutex_lock(&review->lock);
    const unsigned count = review->list.count;
    pthread_mutex_unlock(&review->lock);
    return count < REVIEW_READ_MAX ? count : REVIEW_READ_MAX;
}

size_t review_groups_finding(struct review *review, const struct review_question *question)
{
    /* Items stand in one of three lists, and in their group. */
    enum { EACH = sizeof(struct kept_entry) + 4 * sizeof(struct review_item) + 64 };
    const size_t entries = review_groups_units(review), of_entries = entries + 1;
    const size_t open = entries < REVIEW_GROUPED_MAX ? entries : REVIEW_GROUPED_MAX;
    const size_t each = EACH + 2 * (size_t)ARENA_ALIGNMENT + 2 * (size_t)question->likeness_size;
    const size_t groups = (size_t)question->limit * sizeof(struct review_group);
    return of_entries * each + linkage_bytes((unsigned)open) + groups +
           REVIEW_LABELS_MAX *
               (sizeof(struct review_count) + LIMIT_LABEL_BYTES + 1 + ARENA_ALIGNMENT) +
           (size_t)question->likeness_size * sizeof(float) + 4 * (size_t)KEPT_FILE_HEAD_BYTES;
}

static enum err_code take_entries(struct reading *reading, struct err *err)
{
    struct review *review = reading->review;
    const uint32_t model = review_model(reading->question->model);
    const unsigned most = review_groups_units(review);
    reading->entries = arena_alloc_array(reading->arena, most + 1, sizeof *reading->entries);
    reading->open = arena_alloc_array(reading->arena, most + 1, sizeof *reading->open);
    reading->bare = arena_alloc_array(reading->arena, most + 1, sizeof *reading->bare);
    reading->known = arena_alloc_array(reading->arena, most + 1, sizeof *reading->known);
    reading->likenesses =
        arena_alloc(reading->arena, (most + 1) * (size_t)reading->question->likeness_size);
    reading->out->labels =
        arena_alloc_array(reading->arena, REVIEW_LABELS_MAX, sizeof *reading->out->labels);
    if (reading->entries == NULL || reading->open == NULL || reading->bare == NULL ||
        reading->known == NULL || reading->likenesses == NULL || reading->out->labels == NULL)
        return err_no_memory(err, review_groups_finding(review, reading->question));
    pthread_mutex_lock(&review->lock);
    reading->entry_count = kept_list_newest(&review->list, model, reading->entries, most);
    pthread_mutex_unlock(&review->lock);
    return ERR_OK;
}

/* True if a newer input has the same id and index. A label then belongs to the newer one. */
static bool is_outdated(const struct reading *reading, unsigned place)
{
    const uint64_t *key = reading->entries[place].key;
    for (unsigned i = 0; i < place; i++)
        if (reading->entries[i].key[0] == key[0] && reading->entries[i].key[1] == key[1])
            return true;
    return false;
}

/* The label's copy in the reading's arena; NULL: there is no memory. */
static const char *count_label(struct reading *reading, const char *label)
{
    struct review_found *out = reading->out;
    for (unsigned i = 0; i < out->label_count; i++)
        if (strcmp(out->labels[i].label, label) == 0) {
            out->labels[i].count++;
            return out->labels[i].label;
        }
    const char *copy = arena_copy(reading->arena, label, strlen(label));
    if (copy != NULL && out->label_count < REVIEW_LABELS_MAX)
        out->labels[out->label_count++] = (struct review_count){copy, 1};
    return copy;
}

/* Its likeness may be compared: it is copied to where those of its kind stand. */
static enum err_code take_labelled(struct reading *reading, struct review_item *item,
                                   const struct kept_input *input, struct err *err)
{
    const unsigned size = reading->question->likeness_size;
    if (item->label == NULL)
        return ERR_OK;
    item->label = count_label(reading, item->label);
    if (item->label == NULL)
        return err_no_memory(err, LIMIT_LABEL_BYTES);
    if (input->likeness_size != size || size == 0)
        return ERR_OK;
    item->likeness =
        (const int8_t *)arena_copy(reading->arena, (const char *)input->likeness, size);
    if (item->likeness == NULL)
        return err_no_memory(err, size);
    reading->known[reading->known_count++] = *item;
    return ERR_OK;
}

static void take_open(struct reading *reading, struct review_item *item,
                      const struct kept_input *input)
{
    const unsigned size = reading->question->likeness_size;
    if ((reading->question->decisions >> item->decision & 1) == 0 ||
        reading->open_count + reading->bare_count == REVIEW_GROUPED_MAX)
        return;
    if (input->likeness_size != size || size == 0) {
        reading->bare[reading->bare_count++] = *item;
        return;
    }
    int8_t *place = reading->likenesses + reading->open_count * (size_t)size;
    memcpy(place, input->likeness, size);
    item->likeness = place;
    reading->open[reading->open_count++] = *item;
}

static enum err_code take_input(struct reading *reading, const struct kept_entry *entry,
                                const struct kept_input *input, struct arena *passing,
                                struct err *err)
{
    struct review_item item = {
        .number = entry->number, .decision = input->decision, .line = input->line_len};
    switch (feedback_label_of(reading->question->feedback, input->id, input->index, passing,
                              &item.label)) {
    case FEEDBACK_NO_MEMORY:
        return err_no_memory(err, LIMIT_LABEL_BYTES);
    case FEEDBACK_UNREAD:
        return err_set(err, ERR_NOT_READY, "the audit log of before the start is still being read");
    case FEEDBACK_FORGOTTEN:
        reading->out->forgotten++;
        return ERR_OK;
    case FEEDBACK_LABELLED:
        return take_labelled(reading, &item, input, err);
    default:
        take_open(reading, &item, input);
        return ERR_OK;
    }
}

/* A file that has made room since, or that somebody changed, is passed over. */
static enum err_code take_entry(struct reading *reading, const struct kept_entry *entry,
                                struct err *err)
{
    struct kept_input input;
    struct arena passing;
    struct err cause = {0};
    arena_init(&passing);
    if (kept_file_read(reading->review->dir, entry->number, KEPT_FILE_LIKENESS, &passing, &input,
                       &cause) == ERR_OK) {
        if (strcmp(input.model, reading->question->model) == 0 && input.label != NULL)
            take_input(reading, entry, &input, &passing, err);
    } else if (cause.code == ERR_NO_MEMORY)
        *err = cause;
    arena_deinit(&passing);
    return err->code;
}

/* ---- groups ---- */

static int by_size(const void *a, const void *b)
{
    const struct review_group *one = a, *other = b;
    if (one->size != other->size)
        return one->size < other->size ? 1 : -1;
    return one->items[0].number < other->items[0].number   ? 1
           : one->items[0].number > other->items[0].number ? -1
                                                           : 0;
}

static int by_similarity(const void *a, const void *b)
{
    const struct review_item *one = a, *other = b;
    if (one->similarity != other->similarity)
        return one->similarity < other->similarity ? 1 : -1;
    return one->number < other->number ? 1 : one->number > other->number ? -1 : 0;
}

/* The groups with their items side by side, those that could not be compared behind them. */
static enum err_code fill(const struct reading *reading, const unsigned *of, unsigned count,
                          struct review_group *groups, struct err *err)
{
    const unsigned all = reading->open_count + reading->bare_count;
    struct review_item *items = arena_alloc_array(reading->arena, all + 1, sizeof *items);
    if (items == NULL)
        return err_no_memory(err, all * sizeof *items);
    for (unsigned i = 0; i < reading->open_count; i++)
        groups[of[i]].size++;
    for (unsigned g = 0; g < count; g++) {
        groups[g].items = items;
        items += groups[g].size;
    }
    for (unsigned i = 0; i < reading->open_count; i++)
        groups[of[i]].items[groups[of[i]].count++] = reading->open[i];
    for (unsigned i = 0; i < reading->bare_count; i++, items++) {
        *items = reading->bare[i];
        groups[count + i] = (struct review_group){.size = 1, .count = 1, .items = items};
    }
    return ERR_OK;
}

/* The sum of the members' directions. */
static void find_middle(const struct review_group *group, unsigned size, float *middle)
{
    memset(middle, 0, size * sizeof *middle);
    for (unsigned i = 0; i < group->size; i++) {
        const int8_t *likeness = group->items[i].likeness;
        const float length = likeness_length(likeness, size);
        for (unsigned k = 0; k < size && length > 0; k++)
            middle[k] += (float)likeness[k] / length;
    }
}

static float to_middle(const int8_t *likeness, const float *middle, unsigned size)
{
    double product = 0, square = 0;
    for (unsigned k = 0; k < size; k++) {
        product += (double)likeness[k] * (double)middle[k];
        square += (double)middle[k] * (double)middle[k];
    }
    const double lengths = sqrt(square) * (double)likeness_length(likeness, size);
    return lengths > 0 ? (float)(product / lengths) : 0;
}

/* Keeps the most similar, in order. */
static void offer_nearest(struct review_group *group, const struct review_item *item,
                          float similarity)
{
    unsigned at = group->nearest_count;
    if (at == REVIEW_NEAREST_MAX && similarity <= group->nearest[at - 1].similarity)
        return;
    if (at < REVIEW_NEAREST_MAX)
        group->nearest_count++;
    else
        at--;
    for (; at > 0 && group->nearest[at - 1].similarity < similarity; at--)
        group->nearest[at] = group->nearest[at - 1];
    group->nearest[at] =
        (struct review_nearest){.label = item->label, .similarity = similarity, .item = item};
}

static void describe(const struct reading *reading, struct review_group *group, float *middle)
{
    const unsigned size = reading->question->likeness_size;
    if (group->items[0].likeness != NULL) {
        find_middle(group, size, middle);
        for (unsigned i = 0; i < group->size; i++)
            group->items[i].similarity = to_middle(group->items[i].likeness, middle, size);
        qsort(group->items, group->size, sizeof *group->items, by_similarity);
        for (unsigned i = 0; i < reading->known_count; i++)
            offer_nearest(group, &reading->known[i],
                          to_middle(reading->known[i].likeness, middle, size));
    }
    for (unsigned i = 0; i < group->size; i++)
        group->decisions[group->items[i].decision]++;
    group->count = group->size < REVIEW_GROUP_ITEMS_MAX ? group->size : REVIEW_GROUP_ITEMS_MAX;
}

static enum err_code group_all(struct reading *reading, struct err *err)
{
    const unsigned size = reading->question->likeness_size, limit = reading->question->limit;
    struct review_found *out = reading->out;
    const struct linkage linkage = {.likenesses = reading->likenesses,
                                    .count = reading->open_count,
                                    .size = size,
                                    .least = REVIEW_ALIKE,
                                    .interrupt = reading->question->interrupt};
    unsigned grouped = 0;
    unsigned *of = arena_alloc_array(reading->arena, reading->open_count + 1, sizeof *of);
    float *middle = arena_alloc_array(reading->arena, size + 1, sizeof *middle);
    if (of == NULL || middle == NULL)
        return err_no_memory(err, reading->open_count * sizeof *of);
    if (linkage_groups(&linkage, of, &grouped, reading->arena, err))
        return err->code;
    out->total = grouped + reading->bare_count;
    out->groups = arena_alloc_array(reading->arena, out->total + 1, sizeof *out->groups);
    if (out->groups == NULL)
        return err_no_memory(err, out->total * sizeof *out->groups);
    if (fill(reading, of, grouped, out->groups, err))
        return err->code;
    qsort(out->groups, grouped, sizeof *out->groups, by_size);
    out->count = out->total < limit ? out->total : limit;
    for (unsigned g = 0; g < out->count && !interrupt_look(linkage.interrupt, err); g++)
        describe(reading, &out->groups[g], middle);
    return err->code;
}

enum err_code review_groups_find(struct review *review, const struct review_question *question,
                                 struct review_found *out, struct arena *arena, struct err *err)
{
    struct reading reading = {.review = review, .question = question, .out = out, .arena = arena};
    *out = (struct review_found){0};
    if (review_check_restored(review, err))
        return err->code;
    if (take_entries(&reading, err))
        return err->code;
    for (unsigned i = 0; i < reading.entry_count; i++)
        if (interrupt_look(reading.question->interrupt, err) ||
            (!is_outdated(&reading, i) && take_entry(&reading, &reading.entries[i], err)))
            return err->code;
    reading.out->inputs = reading.open_count + reading.bare_count;
    reading.out->ungrouped = reading.bare_count;
    return group_all(&reading, err);
}

/* ---- the second reading ---- */

size_t review_groups_bytes(const struct review_found *found)
{
    /* The strings of a line, the tree of the reply and its text twice; what each member of the tree
     * takes. */
    enum { COPIES = 5, EACH = 6 * 1024, GROUP = 4 * 1024, LABEL = 1024 };
    size_t bytes = found->count * (size_t)GROUP + found->label_count * (size_t)LABEL;
    for (unsigned g = 0; g < found->count; g++) {
        const struct review_group *group = &found->groups[g];
        for (unsigned i = 0; i < group->count; i++)
            bytes += EACH + COPIES * group->items[i].line;
        for (unsigned i = 0; i < group->nearest_count; i++)
            bytes += EACH + COPIES * group->nearest[i].item->line;
    }
    return bytes;
}

/* False: it has made room since, or *err is set. */
static bool read_line(const struct review *review, const struct review_item *item,
                      struct arena *arena, struct kept_input *out, struct err *err)
{
    struct err cause = {0};
    if (kept_file_read(review->dir, item->number, KEPT_FILE_LINE, arena, out, &cause) == ERR_OK)
        return true;
    if (cause.code == ERR_NO_MEMORY)
        *err = cause;
    return false;
}

/* The label of most of them, of several the one that comes first. */
static const char *most_given(const struct review_group *group)
{
    const char *label = NULL;
    unsigned most = 0;
    for (unsigned i = 0; i < group->input_count; i++) {
        unsigned same = 0;
        for (unsigned k = 0; k < group->input_count; k++)
            same += strcmp(group->inputs[i].label, group->inputs[k].label) == 0;
        if (same > most) {
            most = same;
            label = group->inputs[i].label;
        }
    }
    return label;
}

static enum err_code read_group(const struct review *review, struct review_group *group,
                                struct arena *arena, struct err *err)
{
    struct kept_input *inputs =
        arena_alloc_array(arena, group->count + group->nearest_count, sizeof *inputs);
    if (inputs == NULL)
        return err_no_memory(err, group->count * sizeof *inputs);
    group->inputs = inputs;
    for (unsigned i = 0; i < group->count && err->code == ERR_OK; i++)
        group->input_count +=
            read_line(review, &group->items[i], arena, &inputs[group->input_count], err);
    for (unsigned i = 0; i < group->nearest_count && err->code == ERR_OK; i++) {
        struct kept_input *place = &inputs[group->count + i];
        if (read_line(review, group->nearest[i].item, arena, place, err))
            group->nearest[i].input = place;
    }
    group->label = most_given(group);
    return err->code;
}

enum err_code review_groups_read(struct review *review, struct review_found *found,
                                 struct arena *arena, struct err *err)
{
    for (unsigned g = 0; g < found->count; g++)
        if (read_group(review, &found->groups[g], arena, err))
            return err->code;
    return ERR_OK;
}
