/* feedback_label.c - the right label of one prediction, to group inputs or to learn from them. */
#include "server/feedback/feedback_state.h"

#include <string.h>

enum feedback_standing feedback_label_of(struct feedback *feedback, const char *id, unsigned index,
                                         struct arena *arena, const char **label)
{
    enum feedback_standing standing = FEEDBACK_LABELLED;
    uint64_t key[2];
    *label = NULL;
    window_key(&feedback->window, id, index, key);
    pthread_mutex_lock(&feedback->lock);
    const struct window_entry *entry = window_find(&feedback->window, key);
    const bool is_unread =
        feedback->is_reading_past && (entry == NULL || window_is_old(&feedback->window, entry));
    if (entry == NULL) /* a label outlives its prediction for a while */
        entry = window_find(&feedback->given, key);
    const struct outcomes_version *version =
        entry != NULL ? &feedback->outcomes->versions[entry->version] : NULL;
    if (is_unread) {
        standing = FEEDBACK_UNREAD;
    } else if (entry == NULL) {
        standing = FEEDBACK_FORGOTTEN;
    } else if (entry->label == WINDOW_NO_LABEL) {
        standing = FEEDBACK_OPEN;
    } else if (entry->is_set) {
        *label = outcomes_set_text(feedback->outcomes, entry->version, entry->label, arena);
        standing = *label != NULL ? FEEDBACK_LABELLED : FEEDBACK_NO_MEMORY;
    } else if (entry->is_text || entry->label < version->label_count) {
        const char *text = entry->is_text ? feedback_text_at(entry->label)->text
                                          : version->labels[entry->label].text;
        *label = arena_copy(arena, text, strlen(text));
        standing = *label != NULL ? FEEDBACK_LABELLED : FEEDBACK_NO_MEMORY;
    }
    pthread_mutex_unlock(&feedback->lock);
    return standing;
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
        const char *label = entry->is_text
                                ? feedback_text_at(entry->label)->text
                                : outcomes_text(feedback->outcomes, entry->version, entry->label);
        *out = (struct feedback_given){
            .model = feedback->outcomes->versions[entry->version].model,
            .version = feedback->outcomes->versions[entry->version].version,
            .is_text = entry->is_text,
            .predicted = outcomes_text(feedback->outcomes, entry->version, entry->predicted)};
        if (arena != NULL && (out->label = arena_copy(arena, label, strlen(label))) == NULL)
            err_no_memory(err, strlen(label));
    }
    pthread_mutex_unlock(&feedback->lock);
    if (is_reading)
        err_set(err, ERR_NOT_READY, "the audit log of before the start is still being read");
    return entry != NULL && err->code == ERR_OK;
}
