#include "server/feedback/feedback_state.h"

#include <stdlib.h>
#include <string.h>

/* ---- versions ---- */

int feedback_version_locked(struct feedback *feedback, const char *model, const char *version,
                            bool is_old)
{
    const int oldest = outcomes_oldest(feedback->outcomes, model, version);
    if (oldest >= 0) {
        window_drop_version(&feedback->window, (unsigned)oldest);
        window_drop_version(&feedback->shadows, (unsigned)oldest);
        window_drop_version(&feedback->given, (unsigned)oldest);
        outcomes_forget(feedback->outcomes, (unsigned)oldest);
    }
    return outcomes_version(feedback->outcomes, model, version, is_old);
}

bool feedback_set_locked(const struct outcomes *outcomes, unsigned version,
                         const char *const *labels, uint64_t set, uint64_t *out)
{
    *out = 0;
    for (unsigned i = 0; set != 0; i++, set >>= 1) {
        const int64_t found = (set & 1) != 0 ? outcomes_label(outcomes, version, labels[i], i) : 0;
        if ((set & 1) == 0)
            continue;
        if (found < 0 || found >= OUTCOME_SET_LABELS)
            return false;
        *out |= UINT64_C(1) << found;
    }
    return true;
}

/* ---- right labels ---- */

void feedback_given_drop_locked(struct feedback *feedback, const uint64_t key[2])
{
    window_drop(&feedback->given, key);
}

void feedback_given_note_locked(struct feedback *feedback, const struct window_entry *entry,
                                uint64_t label)
{
    struct window_entry given = *entry;
    given.label = label;
    window_drop(&feedback->given, entry->key);
    if (feedback->given.size == 0 || label == WINDOW_NO_LABEL ||
        (!given.is_text && label == OUTCOMES_OTHER))
        return;
    feedback_hold_locked(feedback, FEEDBACK_GIVEN_LABELS, &given,
                         (struct feedback_told){.label = label}, 1);
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
    const bool is_given =
        line->kind == FEEDBACK_LINE_GIVEN && (line->label != NULL || line->is_text);
    if (!is_given)
        window_drop(&feedback->given, key);
    int at = feedback->given.size > 0 && is_given
                 ? feedback_version_locked(feedback, line->model, line->version, true)
                 : -1;
    if (at < 0)
        return;
    struct outcomes *outcomes = feedback->outcomes;
    struct window_entry entry = {
        .key = {key[0], key[1]}, .version = (uint16_t)at, .is_text = line->is_text};
    if (line->is_text) {
        struct feedback_text *right = feedback_text_make(line->output);
        if (line->predicted != NULL)
            entry.predicted_set = feedback_text_place(feedback_text_make(line->predicted));
        if (right != NULL)
            feedback_given_note_locked(feedback, &entry, feedback_text_place(right));
        else
            free(feedback_text_at(entry.predicted_set));
        return;
    }
    int64_t predicted = outcomes_add_label(outcomes, (unsigned)at, line->predicted, false, 0);
    int64_t label = outcomes_add_label(outcomes, (unsigned)at, line->label, line->is_new, 0);
    entry.predicted = (uint32_t)predicted;
    if (predicted >= 0 && label >= 0)
        feedback_given_note_locked(feedback, &entry, (uint32_t)label);
}

/* ---- shadows ---- */

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

/* True if the shadow gave the set of another version: the numbers of labels differ. */
static bool is_same_set(const struct outcomes *outcomes, unsigned version, uint64_t set,
                        const struct window_entry *shadow)
{
    const char *texts[OUTCOME_SET_LABELS];
    const unsigned count = outcomes_set_texts(outcomes, version, set, texts);
    uint64_t same = 0;
    for (unsigned i = 0; i < count; i++) {
        const int64_t found = outcomes_label(outcomes, shadow->version, texts[i], 0);
        if (found < 0 || found >= OUTCOME_SET_LABELS)
            return false;
        same |= UINT64_C(1) << found;
    }
    return same == shadow->predicted_set;
}

static void count_locked(struct feedback *feedback, const struct window_entry *answer,
                         const struct window_entry *shadow, uint64_t label, bool is_set, int step)
{
    struct outcomes *outcomes = feedback->outcomes;
    const bool is_right = label == (is_set ? answer->predicted_set : answer->predicted);
    if (is_set && !shadow->has_set) /* it has too many labels for one */
        return;
    const bool shadow_is_right =
        is_set ? is_same_set(outcomes, answer->version, label, shadow)
               : strcmp(outcomes_text(outcomes, answer->version, label),
                        outcomes_text(outcomes, shadow->version, shadow->predicted)) == 0;
    outcomes->versions[shadow->version].paired[is_right][shadow_is_right] +=
        (uint64_t)(int64_t)step;
}

void feedback_shadow_judge_locked(struct feedback *feedback, const struct window_entry *entry,
                                  uint64_t label, bool is_set, int step)
{
    const struct outcomes *outcomes = feedback->outcomes;
    const char *model = outcomes->versions[entry->version].model;
    if (entry->is_text) /* which shadows do not judge */
        return;
    for (unsigned i = 0; i < outcomes->version_count; i++) {
        uint64_t key[2];
        if (!outcomes->versions[i].is_shadow || outcomes->versions[i].model == NULL ||
            strcmp(outcomes->versions[i].model, model) != 0)
            continue;
        key_of(entry->key, i, key);
        const struct window_entry *shadow = window_find(&feedback->shadows, key);
        if (shadow != NULL && shadow->label == number_of(entry))
            count_locked(feedback, entry, shadow, label, is_set, step);
    }
}

void feedback_shadow_note(struct feedback *feedback, const struct shadow_record *record)
{
    uint64_t key[2];
    if (feedback->window.size == 0)
        return;
    window_key(&feedback->window, record->id, record->index, key);
    pthread_mutex_lock(&feedback->lock);
    struct outcomes *outcomes = feedback->outcomes;
    /* First: the version that makes room may be the answer's. */
    int at = feedback_version_locked(feedback, record->model, record->version, false);
    const struct window_entry *answer = window_find(&feedback->window, key);
    if (answer != NULL && !answer->is_text && at >= 0 &&
        outcomes_learn(outcomes, (unsigned)at, record->labels, record->label_count)) {
        struct window_entry shadow = {
            .label = number_of(answer),
            .version = (uint16_t)at,
            .predicted = (uint32_t)outcomes_label(outcomes, (unsigned)at, record->label, 0)};
        if (record->is_set)
            shadow.has_set = feedback_set_locked(outcomes, (unsigned)at, record->labels,
                                                 record->set, &shadow.predicted_set);
        key_of(key, (unsigned)at, shadow.key);
        outcomes->versions[at].is_shadow = true;
        window_put(&feedback->shadows, &shadow);
        if (answer->label != WINDOW_NO_LABEL) /* it may have come before the shadow's turn */
            count_locked(feedback, answer, &shadow, answer->label, answer->is_set, 1);
    }
    pthread_mutex_unlock(&feedback->lock);
}
