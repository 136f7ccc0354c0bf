#include "server/review/review_nearest.h"

#include "server/review/review_groups.h"
#include "server/review/review_state.h"
#include "server/serve/likeness.h"
#include "wire/limits.h"

#include <string.h>

/* The nearest so far, nearest first. */
struct nearest {
    struct scored {
        uint64_t number; /* of the file; newer ones are higher */
        float score;
    } * rows; /* [room] */
    unsigned count, room;
};

size_t review_nearest_bytes(struct review *review, unsigned k)
{
    /* Each of the nearest is read once more, a line with its tree. */
    enum { EACH = sizeof(struct scored) + 2 * KEPT_FILE_HEAD_BYTES + LIMIT_LABEL_BYTES };
    return (size_t)review_groups_units(review) * sizeof(struct kept_entry) + (size_t)k * EACH +
           4 * (size_t)ARENA_ALIGNMENT;
}

static void keep(struct nearest *nearest, uint64_t number, float score)
{
    unsigned at = nearest->count;
    if (at == nearest->room && score <= nearest->rows[at - 1].score)
        return;
    nearest->count += at < nearest->room;
    at -= at == nearest->room;
    for (; at > 0 && nearest->rows[at - 1].score < score; at--)
        nearest->rows[at] = nearest->rows[at - 1];
    nearest->rows[at] = (struct scored){number, score};
}

/* True if a newer entry has the same id and index. */
static bool is_outdated(const struct kept_entry *entries, unsigned at)
{
    for (unsigned i = 0; i < at; i++)
        if (entries[i].key[0] == entries[at].key[0] && entries[i].key[1] == entries[at].key[1])
            return true;
    return false;
}

/* A file that has made room since, or that somebody changed, is passed over. */
static enum err_code compare(const struct review *review,
                             const struct review_nearest_question *question,
                             const struct kept_entry *entry, struct nearest *nearest,
                             struct err *err)
{
    struct kept_input input;
    struct arena passing;
    struct err cause = {0};
    arena_init(&passing);
    if (kept_file_read(review->dir, entry->number, KEPT_FILE_LIKENESS, &passing, &input, &cause) ==
        ERR_OK) {
        if (strcmp(input.model, question->model) == 0 &&
            input.likeness_size == question->likeness_size)
            keep(nearest, entry->number,
                 likeness_cosine(question->likeness, input.likeness, input.likeness_size));
    } else if (cause.code == ERR_NO_MEMORY) {
        *err = cause;
    }
    arena_deinit(&passing);
    return err->code;
}

/* False: it has made room since, or *err is set. */
static bool tell(const struct review *review, const struct review_nearest_question *question,
                 const struct scored *row, struct answer_neighbour *out, struct arena *arena,
                 struct err *err)
{
    struct kept_input input;
    struct err cause = {0};
    const char *label = NULL;
    if (kept_file_read(review->dir, row->number, KEPT_FILE_LINE, arena, &input, &cause)) {
        if (cause.code == ERR_NO_MEMORY)
            *err = cause;
        return false;
    }
    switch (feedback_label_of(question->feedback, input.id, input.index, arena, &label)) {
    case FEEDBACK_NO_MEMORY:
        err_no_memory(err, LIMIT_LABEL_BYTES);
        return false;
    case FEEDBACK_UNREAD:
        err_set(err, ERR_NOT_READY, "the audit log of before the start is still being read");
        return false;
    default:
        break;
    }
    const char *source = input.index == 0
                             ? REVIEW_NEAREST_SOURCE
                             : arena_format(arena, REVIEW_NEAREST_SOURCE "?index=%u", input.index);
    if (source == NULL) {
        err_no_memory(err, REVIEW_NEAREST_SOURCE_BYTES);
        return false;
    }
    *out = (struct answer_neighbour){input.id, label != NULL ? label : "", source, row->score};
    return true;
}

enum err_code review_nearest(struct review *review, const struct review_nearest_question *question,
                             struct answer_neighbour *items, unsigned *count, struct arena *arena,
                             struct err *err)
{
    const unsigned most = review_groups_units(review);
    struct nearest nearest = {.room = question->k};
    *count = 0;
    if (review_check_restored(review, err))
        return err->code;
    struct kept_entry *entries = arena_alloc_array(arena, most + 1, sizeof *entries);
    nearest.rows = arena_alloc_array(arena, question->k, sizeof *nearest.rows);
    if (entries == NULL || nearest.rows == NULL)
        return err_no_memory(err, review_nearest_bytes(review, question->k));
    pthread_mutex_lock(&review->lock);
    const unsigned found =
        kept_list_newest(&review->list, review_model(question->model), entries, most);
    pthread_mutex_unlock(&review->lock);
    for (unsigned i = 0; i < found; i++)
        if (interrupt_look(question->interrupt, err) ||
            (!is_outdated(entries, i) && compare(review, question, &entries[i], &nearest, err)))
            return err->code;
    for (unsigned i = 0; i < nearest.count && err->code == ERR_OK; i++)
        *count += tell(review, question, &nearest.rows[i], &items[*count], arena, err);
    return err->code;
}
