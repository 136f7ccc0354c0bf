#include "server/feedback/feedback_shadow.h"

#include <string.h>

/* Another one for each version: one input may have several shadows. */
static void key_of(const uint64_t key[2], unsigned version, uint64_t out[2])
{
    out[0] = key[0] + (version + 1) * UINT64_C(0x9E3779B97F4A7C15);
    out[1] = key[1] ^ version;
}

/* The part of a prediction's number that its shadows keep: an id may be used again. */
static uint32_t number_of(const struct window_entry *entry)
{
    return (uint32_t)entry->number;
}

static void count_locked(struct feedback *feedback, const struct window_entry *answer,
                         const struct window_entry *shadow, uint32_t label, int step)
{
    struct outcomes *outcomes = feedback->outcomes;
    const char *right = outcomes_text(outcomes, answer->version, label);
    const char *judged = outcomes_text(outcomes, shadow->version, shadow->predicted);
    bool shadow_is_right = strcmp(right, judged) == 0;
    outcomes->versions[shadow->version].paired[label == answer->predicted][shadow_is_right] +=
        (uint64_t)(int64_t)step;
}

void feedback_shadow_judge_locked(struct feedback *feedback, const struct window_entry *entry,
                                  uint32_t label, int step)
{
    const struct outcomes *outcomes = feedback->outcomes;
    const char *model = outcomes->versions[entry->version].model;
    for (unsigned i = 0; i < outcomes->version_count; i++) {
        uint64_t key[2];
        if (!outcomes->versions[i].is_shadow || outcomes->versions[i].model == NULL ||
            strcmp(outcomes->versions[i].model, model) != 0)
            continue;
        key_of(entry->key, i, key);
        const struct window_entry *shadow = window_find(&feedback->shadows, key);
        if (shadow != NULL && shadow->label == number_of(entry))
            count_locked(feedback, entry, shadow, label, step);
    }
}

/* The label may have come before the shadow had its turn. */
static void note_locked(struct feedback *feedback, const struct shadow_record *record,
                        const uint64_t key[2])
{
    /* First: the version that makes room may be the answer's. */
    int at = feedback_version_locked(feedback, record->model, record->version, false);
    const struct window_entry *answer = window_find(&feedback->window, key);
    if (answer == NULL || at < 0 ||
        !outcomes_learn(feedback->outcomes, (unsigned)at, record->labels, record->label_count))
        return;
    struct window_entry shadow = {
        .label = number_of(answer),
        .version = (uint16_t)at,
        .predicted = (uint32_t)outcomes_label(feedback->outcomes, (unsigned)at, record->label, 0)};
    key_of(key, (unsigned)at, shadow.key);
    feedback->outcomes->versions[at].is_shadow = true;
    window_put(&feedback->shadows, &shadow);
    if (answer->label != WINDOW_NO_LABEL)
        count_locked(feedback, answer, &shadow, answer->label, 1);
}

void feedback_shadow_note(struct feedback *feedback, const struct shadow_record *record)
{
    uint64_t key[2];
    if (feedback->window.size == 0)
        return;
    window_key(&feedback->window, record->id, record->index, key);
    pthread_mutex_lock(&feedback->lock);
    note_locked(feedback, record, key);
    pthread_mutex_unlock(&feedback->lock);
}
