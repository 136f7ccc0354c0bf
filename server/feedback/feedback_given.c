#include "server/feedback/feedback_given.h"

#include <string.h>

void feedback_given_drop_locked(struct feedback *feedback, const uint64_t key[2])
{
    window_drop(&feedback->given, key);
}

void feedback_given_note_locked(struct feedback *feedback, const struct window_entry *entry,
                                uint32_t label)
{
    struct window_entry given = *entry;
    given.label = label;
    window_drop(&feedback->given, entry->key);
    if (feedback->given.size == 0 || label == WINDOW_NO_LABEL || label == OUTCOMES_OTHER)
        return;
    outcomes_hold(feedback->outcomes, given.version, label, 1);
    window_put(&feedback->given, &given);
}

void feedback_given_drop_old_locked(struct feedback *feedback, const uint64_t key[2])
{
    const struct window_entry *entry = window_find(&feedback->window, key);
    if (entry == NULL || window_is_old(&feedback->window, entry))
        window_drop(&feedback->given, key);
}

void feedback_given_take_locked(struct feedback *feedback, const struct feedback_line *line,
                                const uint64_t key[2])
{
    if (line->kind == FEEDBACK_LINE_REMOVED)
        window_drop(&feedback->given, key);
    int at = feedback->given.size > 0 && line->kind == FEEDBACK_LINE_GIVEN
                 ? feedback_version_locked(feedback, line->model, line->version, true)
                 : -1;
    if (at < 0)
        return;
    struct outcomes *outcomes = feedback->outcomes;
    int64_t predicted = outcomes_add_label(outcomes, (unsigned)at, line->predicted, false, 0);
    int64_t label = outcomes_add_label(outcomes, (unsigned)at, line->label, line->is_new, 0);
    const struct window_entry entry = {
        .key = {key[0], key[1]}, .version = (uint16_t)at, .predicted = (uint32_t)predicted};
    if (predicted >= 0 && label >= 0)
        feedback_given_note_locked(feedback, &entry, (uint32_t)label);
}

void feedback_key(const struct feedback *feedback, const char *id, unsigned index, uint64_t key[2])
{
    window_key(&feedback->window, id, index, key);
}

bool feedback_given(struct feedback *feedback, const uint64_t key[2], struct arena *arena,
                    struct feedback_given *out, struct err *err)
{
    pthread_mutex_lock(&feedback->lock);
    const bool is_reading = feedback->is_reading_past;
    const struct window_entry *entry = window_find(&feedback->given, key);
    if (entry != NULL) {
        const char *label = outcomes_text(feedback->outcomes, entry->version, entry->label);
        *out = (struct feedback_given){
            .model = feedback->outcomes->versions[entry->version].model,
            .version = feedback->outcomes->versions[entry->version].version,
            .predicted = outcomes_text(feedback->outcomes, entry->version, entry->predicted)};
        if (arena != NULL && (out->label = arena_copy(arena, label, strlen(label))) == NULL)
            err_no_memory(err, strlen(label));
    }
    pthread_mutex_unlock(&feedback->lock);
    if (is_reading)
        err_set(err, ERR_NOT_READY, "the audit log of before the start is still being read");
    return entry != NULL && err->code == ERR_OK;
}
