/* feedback.c - see feedback.h.
 *
 * Lock ranks: order before lock. `order` is held by a call from its first label to the answer of
 * the audit log, so that of two labels for one prediction the later one in the log is the one that
 * is kept. `lock` is held for a few lookups at a time, never while a file is written, and by
 * predictions for one insertion. Nobody else's lock is taken under either but the audit log's. */
#include "server/feedback/feedback_state.h"

#include "engine/base/clock.h"
#include "engine/base/nearest.h"
#include "server/feedback/feedback_line.h"
#include "server/observe/log.h"

#include <stdlib.h>
#include <string.h>

/* ---- predictions ---- */

/* An id that is used again is another prediction, if it is of the same owner. Otherwise labels for
 * the one would count for the other, and teach it: both are told apart by having no label. False:
 * the entry is somebody else's. */
static bool take_over_locked(struct feedback *feedback, struct window_entry *entry)
{
    struct window_entry *before = window_find(&feedback->window, entry->key);
    if (before == NULL)
        return true;
    entry->is_contested = before->is_contested;
    if (before->owner == entry->owner)
        return true;
    before->is_contested = 1;
    feedback->contested++;
    return false;
}

/* A line a minute at most. */
static void tell_contested(struct feedback *feedback, const char *key)
{
    enum { EVERY_S = 60 };
    const uint64_t now_ns = clock_now_ns();
    pthread_mutex_lock(&feedback->lock);
    const bool is_due =
        feedback->told_ns == 0 || now_ns - feedback->told_ns > (uint64_t)EVERY_S * CLOCK_NS_PER_S;
    const uint64_t count = feedback->contested;
    feedback->told_ns = is_due ? now_ns : feedback->told_ns;
    pthread_mutex_unlock(&feedback->lock);
    if (is_due)
        log_event(LOG_WARN, "id_contested", LOG_TEXT("key", key), LOG_NUMBER("inputs", count));
}

bool feedback_is_own(struct feedback *feedback, const char *id, unsigned index, const char *key)
{
    uint64_t place[2];
    window_key(&feedback->window, id, index, place);
    const uint16_t owner = window_owner(&feedback->window, key);
    pthread_mutex_lock(&feedback->lock);
    const struct window_entry *entry = window_find(&feedback->window, place);
    const bool is_own = entry == NULL || entry->owner == owner;
    pthread_mutex_unlock(&feedback->lock);
    return is_own;
}

/* Gives the entry the text of an answer of texts, without a holder. False: there is no memory. */
static bool take_text(struct window_entry *entry, bool is_text, const char *text)
{
    struct feedback_text *copy = is_text && text != NULL ? feedback_text_make(text) : NULL;
    entry->is_text = is_text;
    if (is_text)
        entry->predicted_set = feedback_text_place(copy);
    return copy != NULL || !is_text || text == NULL;
}

/* Puts a prediction that said so into the window: a new one, or one of before the start with its
 * number. at: below 0: its version has no place, and it is not remembered. */
static void put_locked(struct feedback *feedback, struct window_entry *entry, int at,
                       const char *label, unsigned hint)
{
    const int64_t predicted =
        at < 0 ? -1 : outcomes_add_label(feedback->outcomes, (unsigned)at, label, false, hint);
    if (predicted < 0) {
        free(entry->is_text ? feedback_text_at(entry->predicted_set) : NULL);
        return;
    }
    entry->version = (uint16_t)at;
    entry->predicted = (uint32_t)predicted;
    feedback_hold_locked(feedback, FEEDBACK_CALL, entry, FEEDBACK_UNTOLD, 1);
    bool is_in = true;
    if (entry->number == 0)
        window_put(&feedback->window, entry);
    else
        is_in = window_put_old(&feedback->window, entry);
    if (is_in)
        feedback_hold_locked(feedback, FEEDBACK_WINDOW, entry, FEEDBACK_UNTOLD, 1);
    feedback_hold_locked(feedback, FEEDBACK_CALL, entry, FEEDBACK_UNTOLD, -1);
    if (entry->is_text && entry->number > 0 && entry->number < feedback->text_from[FEEDBACK_WINDOW])
        feedback->text_from[FEEDBACK_WINDOW] = entry->number;
    feedback_text_trim_locked(feedback);
    outcomes_predicted(feedback->outcomes, (unsigned)at, (enum decision)entry->decision);
    feedback->outcomes->versions[at].has_texts = entry->is_text;
}

static void remember(void *context, const struct prediction_record *record)
{
    struct feedback *feedback = context;
    const struct answer *answer = record->answer;
    struct window_entry entry = {.label = WINDOW_NO_LABEL};
    if (record->err.code != ERR_OK || feedback->window.size == 0 ||
        answer->info->has_given_labels) /* a model's accuracy is of its own labels */
        return;
    const struct answer_outcome outcome = answer_outcome(answer->info, &answer->result);
    if (outcome.label == NULL && !outcome.text_fits)
        return;
    const char *version = answer->model_version != NULL ? answer->model_version : "";
    window_key(&feedback->window, record->id, record->index, entry.key);
    entry.decision = (uint8_t)outcome.judgement->decision;
    entry.is_sampled = record->is_sampled;
    entry.owner = window_owner(&feedback->window, record->key);
    if (!take_text(&entry, outcome.is_text, outcome.text))
        return;
    pthread_mutex_lock(&feedback->lock);
    const bool is_own = take_over_locked(feedback, &entry);
    int at = is_own ? feedback_version_locked(feedback, answer->model_name, version, false) : -1;
    if (outcome.is_set && at >= 0 &&
        outcomes_learn(feedback->outcomes, (unsigned)at, answer->info->labels,
                       answer->info->label_count))
        entry.has_set = feedback_set_locked(feedback->outcomes, (unsigned)at, answer->info->labels,
                                            outcome.set, &entry.predicted_set);
    if (is_own)
        feedback_given_drop_locked(feedback, entry.key);
    put_locked(feedback, &entry, at, outcome.is_text ? FEEDBACK_TEXT_LABEL : outcome.label,
               outcome.label_index);
    pthread_mutex_unlock(&feedback->lock);
    if (!is_own)
        tell_contested(feedback, record->key);
}

static void remember_shadow(void *context, const struct shadow_record *record)
{
    feedback_shadow_note(context, record);
}

struct observer feedback_observer(struct feedback *feedback)
{
    return (struct observer){
        .context = feedback, .prediction = remember, .shadow = remember_shadow};
}

void feedback_learn(struct feedback *feedback, const char *model, const char *version,
                    const char *const *labels, unsigned count, uint64_t generation)
{
    pthread_mutex_lock(&feedback->lock);
    if (generation > feedback->generation)
        feedback->generation = generation;
    int at = feedback_version_locked(feedback, model, version != NULL ? version : "", false);
    if (at >= 0 && feedback->outcomes->versions[at].generation != generation &&
        outcomes_learn(feedback->outcomes, (unsigned)at, labels, count))
        feedback->outcomes->versions[at].generation = generation;
    pthread_mutex_unlock(&feedback->lock);
}

/* ---- one label ---- */

/* One change of a label, kept so that it can be undone. */
struct step {
    bool is_done;
    struct feedback_text *right; /* a right text; without a holder until it is done */
    bool is_hinted;              /* if the label is refused, the nearest one is named */
    struct window_entry entry;   /* the entry before the change */
    struct feedback_told after;
    const char **known; /* [known_count] of a label that is refused; NULL: no hint is given */
    size_t known_count;
};

static struct outcomes_mark mark_of(const struct window_entry *entry, struct feedback_told told)
{
    if (entry->is_text && told.label != WINDOW_NO_LABEL) {
        const struct feedback_text *right = feedback_text_at(told.label);
        return (struct outcomes_mark){.label = right->is_right ? entry->predicted : OUTCOMES_OTHER,
                                      .predicted = entry->predicted,
                                      .edits = right->edits.count,
                                      .characters = right->edits.characters,
                                      .decision = (enum decision)entry->decision,
                                      .is_sampled = entry->is_sampled};
    }
    return (struct outcomes_mark){.label = told.is_other ? OUTCOMES_OTHER : told.label,
                                  .predicted =
                                      told.is_set ? entry->predicted_set : entry->predicted,
                                  .is_set = told.is_set,
                                  .decision = (enum decision)entry->decision,
                                  .is_sampled = entry->is_sampled};
}

static struct feedback_told told_by(const struct window_entry *entry)
{
    return (struct feedback_told){entry->label, entry->is_other, entry->is_set};
}

/* The entry may have left the window meanwhile; its counts have not. */
static void exchange_locked(struct feedback *feedback, const struct window_entry *entry,
                            struct feedback_told from, struct feedback_told to)
{
    const struct outcomes_mark before = mark_of(entry, from), after = mark_of(entry, to);
    struct window_entry *kept = window_find(&feedback->window, entry->key);
    if (kept != NULL && kept->number == entry->number) {
        feedback_hold_locked(feedback, FEEDBACK_WINDOW, entry, to, 1);
        feedback_hold_locked(feedback, FEEDBACK_WINDOW, entry, told_by(kept), -1);
        kept->label = to.label;
        kept->is_other = to.is_other;
        kept->is_set = to.is_set;
    }
    feedback_given_note_locked(feedback, entry, to.is_set ? WINDOW_NO_LABEL : to.label);
    if (from.label != WINDOW_NO_LABEL) {
        outcomes_count(feedback->outcomes, entry->version, &before, -1);
        feedback_shadow_judge_locked(feedback, entry, from.label, from.is_set, -1);
    }
    if (to.label != WINDOW_NO_LABEL) {
        outcomes_count(feedback->outcomes, entry->version, &after, 1);
        feedback_shadow_judge_locked(feedback, entry, to.label, to.is_set, 1);
    }
}

/* ---- a call ---- */

/* Keeps the labels of the model, by which the one that was probably meant is named after the lock:
 * comparing takes longer than anybody may wait. Without memory none is named. */
static void refuse_label_locked(const struct feedback *feedback, const struct window_entry *entry,
                                struct feedback_item *item, struct step *step, struct arena *arena)
{
    const struct outcomes_version *version = &feedback->outcomes->versions[entry->version];
    err_set(&item->err, ERR_UNUSABLE,
            "label: the model has no such label; \"new\": true beside it stores it");
    if (!step->is_hinted)
        return;
    step->known = arena_alloc_array(arena, version->label_count + 1, sizeof *step->known);
    for (unsigned i = 0; step->known != NULL && i < version->label_count; i++)
        if (!version->labels[i].is_new)
            step->known[step->known_count++] = version->labels[i].text;
}

static void name_nearest(struct feedback_item *item, const struct step *step)
{
    const char *near = nearest_name(item->label, step->known, step->known_count);
    if (near != NULL) {
        item->err = (struct err){0};
        err_set(&item->err, ERR_UNUSABLE,
                "label: the model has no such label; did you mean \"%s\"? \"new\": true beside it "
                "stores one that the model lacks",
                near);
    }
}

/* True if another served version of the model has the label: a shadow, or one of a split. Versions
 * of the snapshot before count too: the labels of this one may be learnt at this moment. */
static bool is_served_locked(const struct feedback *feedback, const char *model, const char *label)
{
    const struct outcomes *outcomes = feedback->outcomes;
    for (unsigned i = 0; i < outcomes->version_count; i++) {
        const struct outcomes_version *version = &outcomes->versions[i];
        if (version->model == NULL || strcmp(version->model, model) != 0 ||
            version->generation == 0 || version->generation + 1 < feedback->generation)
            continue;
        const int64_t found = outcomes_label(outcomes, i, label, 0);
        if (found >= 0 && !version->labels[found].is_new)
            return true;
    }
    return false;
}

/* Finds the number of a label, or adds it. A label is refused if no served version has it and the
 * call does not say that it is new. */
static enum err_code find_label_locked(struct feedback *feedback, const struct window_entry *entry,
                                       struct feedback_item *item, struct step *step,
                                       struct arena *arena)
{
    struct outcomes *outcomes = feedback->outcomes;
    const struct outcomes_version *version = &outcomes->versions[entry->version];
    int64_t found = outcomes_label(outcomes, entry->version, item->label, entry->predicted);
    const bool is_own = found >= 0 && !version->labels[found].is_new;
    if (!is_own && !item->is_new && !is_served_locked(feedback, version->model, item->label)) {
        refuse_label_locked(feedback, entry, item, step, arena);
        return item->err.code;
    }
    if (found < 0)
        found = outcomes_add_label(outcomes, entry->version, item->label, true, entry->predicted);
    if (found < 0 && outcomes_has_room(outcomes, entry->version))
        return err_no_memory(&item->err, strlen(item->label));
    if (found < 0)
        return err_set(&item->err, ERR_UNUSABLE,
                       "label: there is no room for another new label; at most %d are kept for a "
                       "version. Take some back, or serve a version that has them",
                       OUTCOMES_NEW_LABELS);
    step->after = (struct feedback_told){.label = (uint64_t)found, .is_other = !is_own};
    return ERR_OK;
}

/* Writes the texts of a set, which stay, into the arena. */
static enum err_code tell_set_locked(const struct feedback *feedback, unsigned version,
                                     uint64_t set, struct feedback_labels *out, struct arena *arena,
                                     struct err *err)
{
    const char *texts[OUTCOME_SET_LABELS];
    out->count = outcomes_set_texts(feedback->outcomes, version, set, texts);
    out->texts = arena_alloc_array(arena, out->count + 1, sizeof *out->texts);
    if (out->texts == NULL)
        return err_no_memory(err, out->count * sizeof *out->texts);
    memcpy(out->texts, texts, out->count * sizeof *texts);
    return ERR_OK;
}

/* Finds the bits of the labels, which must be the version's own. */
static enum err_code find_set_locked(const struct feedback *feedback,
                                     const struct window_entry *entry, struct feedback_item *item,
                                     struct step *step)
{
    const struct outcomes_version *version = &feedback->outcomes->versions[entry->version];
    if (item->is_new)
        return err_set(&item->err, ERR_UNUSABLE,
                       "new: several labels may hold of this model; they are its own alone");
    step->after.label = 0;
    for (unsigned i = 0; i < item->labels.count; i++) {
        const char *text = item->labels.texts[i];
        const int64_t found = outcomes_label(feedback->outcomes, entry->version, text, i);
        if (found < 0 || found >= OUTCOME_SET_LABELS || version->labels[found].is_new)
            return err_set(&item->err, ERR_UNUSABLE, "labels: the model has no label \"%s\"", text);
        step->after.label |= UINT64_C(1) << found;
    }
    return ERR_OK;
}

/* Judges all labels of an answer that may have several. */
static enum err_code judge_set_locked(const struct feedback *feedback,
                                      const struct window_entry *entry, struct feedback_item *item,
                                      struct step *step, struct arena *arena)
{
    if (!entry->has_set)
        return err_set(&item->err, ERR_UNUSABLE,
                       "labels: the answer has one label: send \"label\"; sets are for models of "
                       "whose labels several may hold, with at most %d labels of %d bytes",
                       OUTCOME_SET_LABELS, OUTCOME_SET_BYTES);
    if (find_set_locked(feedback, entry, item, step))
        return item->err.code;
    step->after.is_set = true;
    return tell_set_locked(feedback, entry->version, entry->predicted_set, &item->predicted_labels,
                           arena, &item->err);
}

/* Keeps what was given before: its text may go when it is replaced. */
static enum err_code keep_replaced_locked(const struct feedback *feedback,
                                          const struct window_entry *entry,
                                          struct feedback_item *item, struct arena *arena)
{
    if (entry->label == WINDOW_NO_LABEL)
        return ERR_OK;
    if (entry->is_set)
        return tell_set_locked(feedback, entry->version, entry->label, &item->replaced_labels,
                               arena, &item->err);
    const char *text = entry->is_text
                           ? feedback_text_at(entry->label)->text
                           : outcomes_text(feedback->outcomes, entry->version, entry->label);
    item->replaced = arena_copy(arena, text, strlen(text));
    return item->replaced != NULL ? ERR_OK : err_no_memory(&item->err, strlen(text));
}

static bool is_given(const struct feedback_item *item)
{
    return item->label != NULL || item->labels.texts != NULL || item->output != NULL;
}

/* ---- a right text ---- */

static enum err_code check_kind(const struct window_entry *entry, struct feedback_item *item)
{
    if (!is_given(item) || (item->output != NULL) == entry->is_text)
        return ERR_OK;
    if (entry->is_text)
        return err_set(&item->err, ERR_UNUSABLE,
                       "%s: the answer is a text: send the right one as \"output\"",
                       item->label != NULL ? "label" : "labels");
    return err_set(&item->err, ERR_UNUSABLE, "output: the answer is no text: send \"%s\"",
                   entry->has_set ? "labels" : "label");
}

/* Copies what was written, as an entry has it now. */
static enum err_code tell_written_locked(const struct window_entry *entry,
                                         struct feedback_item *item, struct arena *arena)
{
    item->is_text = true;
    item->predicted = NULL;
    if (entry->predicted_set == FEEDBACK_NO_TEXT)
        return ERR_OK;
    const char *text = feedback_text_at(entry->predicted_set)->text;
    item->predicted = arena_copy(arena, text, strlen(text));
    return item->predicted != NULL ? ERR_OK : err_no_memory(&item->err, strlen(text));
}

/* Compares a right text with what was written before the lock: that can take a millisecond. */
static void compare(struct feedback *feedback, struct feedback_item *item, struct step *step,
                    struct arena *arena)
{
    uint64_t key[2];
    window_key(&feedback->window, item->id, item->index, key);
    pthread_mutex_lock(&feedback->lock);
    const struct window_entry *entry = window_find(&feedback->window, key);
    if (entry != NULL && entry->is_text)
        tell_written_locked(entry, item, arena);
    pthread_mutex_unlock(&feedback->lock);
    if (item->is_text && item->err.code == ERR_OK)
        feedback_text_compare(&step->right, item->predicted, item->output, &item->err);
}

/* Another prediction may have come under the id since the texts were compared. */
static enum err_code judge_text_locked(const struct window_entry *entry, struct feedback_item *item,
                                       struct step *step, struct arena *arena)
{
    const char *seen = item->predicted;
    if (item->is_new)
        return err_set(&item->err, ERR_UNUSABLE, "new: a right text is always one of its own");
    if (tell_written_locked(entry, item, arena) || item->output == NULL)
        return item->err.code;
    const bool is_same =
        item->predicted == NULL ? seen == NULL : seen != NULL && strcmp(seen, item->predicted) == 0;
    if (step->right == NULL || !is_same) {
        free(step->right);
        if (feedback_text_compare(&step->right, item->predicted, item->output, &item->err))
            return item->err.code;
    }
    step->after.label = feedback_text_place(step->right);
    item->edits = step->right->edits.count;
    return ERR_OK;
}

static struct window_entry *find_locked(struct feedback *feedback, struct feedback_item *item)
{
    uint64_t key[2];
    window_key(&feedback->window, item->id, item->index, key);
    struct window_entry *entry = window_find(&feedback->window, key);
    bool is_old = entry == NULL || window_is_old(&feedback->window, entry);
    if (is_old && feedback->is_reading_past)
        err_set(&item->err, ERR_NOT_READY,
                "id: not known yet: the audit log of before the start is still being read");
    else if (entry == NULL)
        err_set(&item->err, ERR_NOT_FOUND,
                "id: no prediction with this id and index is remembered: only the last %u are "
                "(feedback_window), of at most %d versions, and none made with candidate_labels "
                "nor a text of more than %d bytes",
                feedback->window.size, OUTCOMES_VERSIONS, LIMIT_OUTPUT_BYTES);
    else if (entry->is_contested)
        err_set(&item->err, ERR_UNUSABLE,
                "id: two keys asked under this id, so it is not known whose input the label is of; "
                "give each input an id of its own");
    return item->err.code == ERR_OK ? entry : NULL;
}

static void judge_locked(struct feedback *feedback, struct feedback_item *item, struct step *step,
                         struct arena *arena)
{
    const struct window_entry *entry = find_locked(feedback, item);
    if (entry == NULL)
        return;
    step->entry = *entry;
    step->after = FEEDBACK_UNTOLD;
    if (!is_given(item) && entry->label == WINDOW_NO_LABEL) {
        err_set(&item->err, ERR_NOT_FOUND, "id: no label was given for this prediction");
        return;
    }
    if (check_kind(entry, item) || keep_replaced_locked(feedback, entry, item, arena))
        return;
    if (entry->is_text && judge_text_locked(entry, item, step, arena))
        return;
    if (item->labels.texts != NULL && judge_set_locked(feedback, entry, item, step, arena))
        return;
    if (item->label != NULL && find_label_locked(feedback, entry, item, step, arena))
        return;
    if (item->labels.texts == NULL && !entry->is_text)
        item->predicted = outcomes_text(feedback->outcomes, entry->version, entry->predicted);
    const struct outcomes_mark mark = mark_of(entry, step->after);
    item->is_correct = mark.label == mark.predicted;
    feedback->outcomes->versions[step->entry.version].pins++;
    feedback_hold_locked(feedback, FEEDBACK_CALL, &step->entry, told_by(&step->entry), 1);
    feedback_hold_locked(feedback, FEEDBACK_CALL, &step->entry, step->after, 1);
    exchange_locked(feedback, &step->entry, told_by(&step->entry), step->after);
    step->is_done = true;
}

/* Writes the items to the audit log: an item is accepted once it is there. Without `lock`. */
static enum err_code append(struct feedback *feedback, const struct feedback_item *items,
                            const struct step *steps, unsigned count, struct arena *arena,
                            struct err *err)
{
    unsigned used = 0;
    if (feedback->audit == NULL)
        return ERR_OK;
    struct audit_members *lines = arena_alloc_array(arena, count, sizeof *lines);
    if (lines == NULL)
        return err_no_memory(err, count * sizeof *lines);
    for (unsigned i = 0; i < count; i++) {
        const struct window_entry *entry = &steps[i].entry;
        const struct outcomes_version *version = &feedback->outcomes->versions[entry->version];
        const struct feedback_item *item = &items[i];
        const bool stands = is_given(item);
        if (!steps[i].is_done)
            continue;
        const struct feedback_line line = {
            .kind = stands ? FEEDBACK_LINE_GIVEN : FEEDBACK_LINE_REMOVED,
            .id = item->id,
            .index = item->index,
            .model = version->model,
            .version = version->version,
            .predicted = item->predicted,
            .decision = (enum decision)entry->decision,
            .is_text = entry->is_text,
            .label = stands ? item->label : item->replaced,
            .output = stands ? item->output : item->replaced,
            .edits = stands && entry->is_text ? steps[i].right->edits : (struct edits){0},
            .predicted_labels = item->predicted_labels,
            .labels = stands ? item->labels : item->replaced_labels,
            .is_new = steps[i].after.is_other != 0,
            .source = item->source,
            .key = item->key,
            .replaced = stands ? item->replaced : NULL,
            .replaced_labels = stands ? item->replaced_labels : (struct feedback_labels){0},
        };
        if (feedback_line_write(&lines[used++], &line, arena, err))
            return err->code;
    }
    return used > 0 ? audit_append(feedback->audit, lines, used, err) : ERR_OK;
}

/* The call held both labels, so that each could be the one that stands. */
static void let_go_locked(struct feedback *feedback, const struct step *step)
{
    feedback->outcomes->versions[step->entry.version].pins--;
    feedback_hold_locked(feedback, FEEDBACK_CALL, &step->entry, told_by(&step->entry), -1);
    feedback_hold_locked(feedback, FEEDBACK_CALL, &step->entry, step->after, -1);
}

static void undo_locked(struct feedback *feedback, const struct step *steps, unsigned count)
{
    for (unsigned i = count; i > 0; i--)
        if (steps[i - 1].is_done) {
            exchange_locked(feedback, &steps[i - 1].entry, steps[i - 1].after,
                            told_by(&steps[i - 1].entry));
            let_go_locked(feedback, &steps[i - 1]);
        }
}

static void keep_locked(struct feedback *feedback, const struct step *steps, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        const struct outcomes_mark mark = mark_of(&steps[i].entry, steps[i].after);
        if (steps[i].is_done && steps[i].after.label != WINDOW_NO_LABEL)
            outcomes_given(feedback->outcomes, steps[i].entry.version, &mark);
        if (steps[i].is_done)
            let_go_locked(feedback, &steps[i]);
    }
}

enum err_code feedback_give(struct feedback *feedback, struct feedback_item *items, unsigned count,
                            struct arena *arena, struct err *err)
{
    enum { HINTS_MAX = 2 };
    unsigned hints = 0;
    struct step *steps = arena_alloc_array(arena, count, sizeof *steps);
    if (steps == NULL)
        return err_no_memory(err, count * sizeof *steps);
    pthread_mutex_lock(&feedback->order);
    for (unsigned i = 0; i < count; i++)
        if (items[i].err.code == ERR_OK && items[i].output != NULL)
            compare(feedback, &items[i], &steps[i], arena);
    pthread_mutex_lock(&feedback->lock);
    for (unsigned i = 0; i < count; i++) {
        steps[i].is_hinted = hints < HINTS_MAX;
        if (items[i].err.code == ERR_OK)
            judge_locked(feedback, &items[i], &steps[i], arena);
        hints += steps[i].known != NULL;
    }
    pthread_mutex_unlock(&feedback->lock);
    for (unsigned i = 0; i < count; i++)
        if (steps[i].known != NULL)
            name_nearest(&items[i], &steps[i]);
    append(feedback, items, steps, count, arena, err);
    pthread_mutex_lock(&feedback->lock);
    if (err->code == ERR_OK)
        keep_locked(feedback, steps, count);
    else
        undo_locked(feedback, steps, count);
    for (unsigned i = 0; i < count; i++)
        if (!steps[i].is_done)
            free(steps[i].right);
    feedback_text_trim_locked(feedback);
    const bool is_full =
        feedback->outcomes->cell_count == OUTCOMES_CELLS && !feedback->is_full_told;
    feedback->is_full_told = feedback->is_full_told || is_full;
    pthread_mutex_unlock(&feedback->lock);
    pthread_mutex_unlock(&feedback->order);
    if (is_full)
        log_event(LOG_WARN, "feedback_pairs_full", LOG_NUMBER("pairs", OUTCOMES_CELLS));
    return err->code;
}

/* ---- the past ---- */

/* The set of labels of a line, which the version learns. False: it has no room for one. */
static bool take_set_locked(struct feedback *feedback, unsigned version,
                            const struct feedback_labels *labels, uint64_t *set)
{
    *set = 0;
    for (unsigned i = 0; i < labels->count; i++) {
        const int64_t found =
            outcomes_add_label(feedback->outcomes, version, labels->texts[i], false, i);
        if (found < 0 || found >= OUTCOME_SET_LABELS)
            return false;
        *set |= UINT64_C(1) << found;
    }
    return true;
}

static void take_prediction_locked(struct feedback *feedback, const struct feedback_line *line,
                                   uint64_t number, struct window_entry *entry)
{
    int at = feedback_version_locked(feedback, line->model, line->version, true);
    entry->number = number;
    entry->owner = window_owner(&feedback->window, line->key);
    if (!take_over_locked(feedback, entry) || !take_text(entry, line->is_text, line->predicted))
        return;
    if (at >= 0 && line->predicted_labels.texts != NULL)
        entry->has_set =
            take_set_locked(feedback, (unsigned)at, &line->predicted_labels, &entry->predicted_set);
    feedback_given_drop_old_locked(feedback, entry->key);
    put_locked(feedback, entry, at, line->is_text ? FEEDBACK_TEXT_LABEL : line->predicted, 0);
}

/* Takes a label of the past. It is not counted if its prediction is older than the window, or if a
 * newer prediction has the id. */
static void take_label_locked(struct feedback *feedback, const struct feedback_line *line,
                              const uint64_t key[2])
{
    const struct window_entry *entry = window_find(&feedback->window, key);
    if (entry == NULL)
        feedback_given_take_locked(feedback, line, key);
    if (entry == NULL || !window_is_old(&feedback->window, entry))
        return;
    struct feedback_told after = {.label = WINDOW_NO_LABEL};
    if (line->is_text != entry->is_text) /* the id was another prediction's */
        return;
    if (line->kind == FEEDBACK_LINE_GIVEN && line->is_text) {
        struct feedback_text *right = feedback_text_make(line->output);
        if (right == NULL)
            return;
        right->edits = line->edits;
        right->is_right = line->edits.count == 0 && entry->predicted_set != FEEDBACK_NO_TEXT;
        after.label = feedback_text_place(right);
    } else if (line->kind == FEEDBACK_LINE_GIVEN && line->labels.texts != NULL) {
        after.is_set = entry->has_set; /* else the id was another prediction's */
        if (!after.is_set ||
            !take_set_locked(feedback, entry->version, &line->labels, &after.label))
            return;
    } else if (line->kind == FEEDBACK_LINE_GIVEN) {
        int64_t label = outcomes_add_label(feedback->outcomes, entry->version, line->label,
                                           line->is_new, entry->predicted);
        after = (struct feedback_told){.label = label < 0 ? OUTCOMES_OTHER : (uint64_t)label,
                                       .is_other = line->is_new};
    }
    const struct window_entry copy = *entry;
    exchange_locked(feedback, &copy, told_by(&copy), after);
}

static void take_line(void *context, const struct feedback_line *line, uint64_t number)
{
    struct feedback *feedback = context;
    struct window_entry entry = {.label = WINDOW_NO_LABEL,
                                 .decision = (uint8_t)line->decision,
                                 .is_sampled = line->is_sampled};
    window_key(&feedback->window, line->id, line->index, entry.key);
    pthread_mutex_lock(&feedback->lock);
    if (line->kind == FEEDBACK_LINE_PREDICTION && number == 0)
        feedback_given_drop_old_locked(feedback, entry.key);
    else if (line->kind == FEEDBACK_LINE_PREDICTION)
        take_prediction_locked(feedback, line, number, &entry);
    else
        take_label_locked(feedback, line, entry.key);
    feedback_text_trim_locked(feedback);
    pthread_mutex_unlock(&feedback->lock);
}

static void *read_past(void *context)
{
    struct feedback *feedback = context;
    struct err err = {0};
    struct feedback_past past = {.dir = feedback->audit_dir,
                                 .until = feedback->past_seq,
                                 .predictions_max = feedback->window.size,
                                 .visit = take_line,
                                 .context = feedback,
                                 .stop = &feedback->is_closing};
    uint64_t begun_ns = clock_now_ns();
    feedback_past_read(&past, &err);
    pthread_mutex_lock(&feedback->lock);
    feedback->is_reading_past = false;
    pthread_mutex_unlock(&feedback->lock);
    if (err.code == ERR_OK)
        log_event(LOG_INFO, "feedback_restored", LOG_NUMBER("predictions", past.predictions),
                  LOG_NUMBER("labels", past.labels),
                  LOG_NUMBER("ms", clock_ms_between(begun_ns, clock_now_ns())));
    else if (err.code != ERR_NOT_READY)
        log_event(LOG_WARN, "feedback_not_restored", LOG_NUMBER("predictions", past.predictions),
                  LOG_TEXT("reason", err.text));
    return NULL;
}

/* ---- open and close ---- */

static void leave_window(void *feedback, const struct window_entry *entry)
{
    feedback_hold_locked(feedback, FEEDBACK_WINDOW, entry, told_by(entry), -1);
}

static void leave_given(void *feedback, const struct window_entry *entry)
{
    feedback_hold_locked(feedback, FEEDBACK_GIVEN_LABELS, entry, told_by(entry), -1);
}

/* Places for right labels; without predictions there are no labels. */
static unsigned given_size(unsigned window, bool keeps_labels)
{
    return window > 0 && keeps_labels ? FEEDBACK_GIVEN : 0;
}

size_t feedback_text_bytes(unsigned size)
{
    enum { LEAST = 64 * 1024, EACH = 128 };
    return size > 0 ? LEAST + (size_t)EACH * size : 0;
}

size_t feedback_bytes(unsigned window, bool keeps_labels)
{
    const unsigned given = given_size(window, keeps_labels);
    return 2 * window_bytes(window) + (given > 0 ? window_bytes(given) : 0) +
           feedback_text_bytes(window) + feedback_text_bytes(given) + sizeof(struct outcomes);
}

void feedback_close(struct feedback *feedback)
{
    if (feedback == NULL)
        return;
    atomic_store(&feedback->is_closing, true);
    if (feedback->has_reader)
        pthread_join(feedback->reader, NULL);
    window_close(&feedback->window);
    window_close(&feedback->shadows);
    window_close(&feedback->given);
    outcomes_close(feedback->outcomes);
    pthread_mutex_destroy(&feedback->lock);
    pthread_mutex_destroy(&feedback->order);
    free(feedback->audit_dir);
    free(feedback);
}

enum err_code feedback_open(struct feedback **out, const struct feedback_options *options,
                            struct err *err)
{
    struct feedback *feedback = calloc(1, sizeof *feedback);
    *out = NULL;
    if (feedback == NULL)
        return err_no_memory(err, sizeof *feedback);
    feedback->audit = options->audit;
    pthread_mutex_init(&feedback->order, NULL);
    pthread_mutex_init(&feedback->lock, NULL);
    if (window_open(&feedback->window, options->window, err) ||
        window_open(&feedback->shadows, options->window, err) ||
        window_open(&feedback->given, given_size(options->window, options->keeps_labels), err) ||
        outcomes_open(&feedback->outcomes, err))
        goto out;
    feedback->window.left = leave_window;
    feedback->given.left = leave_given;
    feedback->window.context = feedback->given.context = feedback;
    /* An audit log that begins now has none: there is no moment in which an id is not known yet. */
    const uint64_t past_seq = options->audit != NULL ? audit_state(options->audit).seq : 0;
    if (options->window > 0 && past_seq > 0) {
        feedback->audit_dir = strdup(options->audit_dir);
        if (feedback->audit_dir == NULL) {
            err_no_memory(err, strlen(options->audit_dir));
            goto out;
        }
        feedback->past_seq = past_seq;
        feedback->is_reading_past = true;
        int failure = pthread_create(&feedback->reader, NULL, read_past, feedback);
        feedback->has_reader = failure == 0;
        if (failure != 0)
            err_no_thread(err, failure);
    }
out:
    if (err->code == ERR_OK)
        *out = feedback;
    else
        feedback_close(feedback);
    return err->code;
}
