/* The right label of one prediction, for those who group or learn from what was labelled. */
#include "server/feedback/feedback_state.h"

/* A label outlives its prediction for a while. */
static enum feedback_standing given_locked(const struct feedback *feedback, const uint64_t key[2],
                                           const char **label)
{
    const struct window_entry *entry = window_find(&feedback->given, key);
    if (entry == NULL)
        return FEEDBACK_FORGOTTEN;
    *label = outcomes_text(feedback->outcomes, entry->version, entry->label);
    return FEEDBACK_LABELLED;
}

static const char *text_locked(const struct feedback *feedback, const struct window_entry *entry)
{
    const struct outcomes_version *version = &feedback->outcomes->versions[entry->version];
    return entry->label < version->label_count ? version->labels[entry->label].text : NULL;
}

enum feedback_standing feedback_label_of(struct feedback *feedback, const char *id, unsigned index,
                                         const char **label)
{
    enum feedback_standing standing = FEEDBACK_LABELLED;
    uint64_t key[2];
    *label = NULL;
    window_key(&feedback->window, id, index, key);
    pthread_mutex_lock(&feedback->lock);
    const struct window_entry *entry = window_find(&feedback->window, key);
    if (feedback->is_reading_past && (entry == NULL || window_is_old(&feedback->window, entry)))
        standing = FEEDBACK_UNREAD;
    else if (entry == NULL)
        standing = given_locked(feedback, key, label);
    else if (entry->label == WINDOW_NO_LABEL)
        standing = FEEDBACK_OPEN;
    else
        *label = text_locked(feedback, entry);
    pthread_mutex_unlock(&feedback->lock);
    return standing;
}
