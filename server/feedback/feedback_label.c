/* The right label of one prediction, for those who group or learn from what was labelled. */
#include "server/feedback/feedback_state.h"

#include <string.h>

static enum feedback_standing labelled_locked(const struct feedback *feedback,
                                              const struct window_entry *entry, struct arena *arena,
                                              const char **label)
{
    const struct outcomes_version *version = &feedback->outcomes->versions[entry->version];
    if (entry->label >= version->label_count)
        return FEEDBACK_LABELLED;
    const char *text = version->labels[entry->label].text;
    *label = arena_copy(arena, text, strlen(text));
    return *label != NULL ? FEEDBACK_LABELLED : FEEDBACK_NO_MEMORY;
}

enum feedback_standing feedback_label_of(struct feedback *feedback, const char *id, unsigned index,
                                         struct arena *arena, const char **label)
{
    enum feedback_standing standing;
    uint64_t key[2];
    *label = NULL;
    window_key(&feedback->window, id, index, key);
    pthread_mutex_lock(&feedback->lock);
    const struct window_entry *entry = window_find(&feedback->window, key);
    const bool is_unread =
        feedback->is_reading_past && (entry == NULL || window_is_old(&feedback->window, entry));
    if (entry == NULL) /* a label outlives its prediction for a while */
        entry = window_find(&feedback->given, key);
    if (is_unread)
        standing = FEEDBACK_UNREAD;
    else if (entry == NULL)
        standing = FEEDBACK_FORGOTTEN;
    else if (entry->label == WINDOW_NO_LABEL)
        standing = FEEDBACK_OPEN;
    else
        standing = labelled_locked(feedback, entry, arena, label);
    pthread_mutex_unlock(&feedback->lock);
    return standing;
}
