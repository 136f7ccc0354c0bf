/* feedback_text.c - texts of answers and their right ones, as feedback_state.h says. */
#include "server/feedback/feedback_state.h"

#include <stdlib.h>
#include <string.h>

struct feedback_text *feedback_text_make(const char *text)
{
    const size_t len = strlen(text);
    struct feedback_text *out = malloc(sizeof *out + len + 1);
    if (out == NULL)
        return NULL;
    *out = (struct feedback_text){.bytes = sizeof *out + len + 1};
    memcpy(out->text, text, len + 1);
    return out;
}

enum err_code feedback_text_compare(struct feedback_text **out, const char *written,
                                    const char *right, struct err *err)
{
    struct arena scratch;
    arena_init(&scratch);
    const char *from = written != NULL ? written : "";
    *out = feedback_text_make(right);
    if (*out == NULL)
        err_no_memory(err, strlen(right));
    else if (!edits_count(from, strlen(from), right, strlen(right), &scratch, &(*out)->edits, err))
        (*out)->is_right = written != NULL && (*out)->edits.count == 0;
    arena_deinit(&scratch);
    if (err->code != ERR_OK) {
        free(*out);
        *out = NULL;
    }
    return err->code;
}

static void hold(struct feedback *feedback, enum feedback_holder holder, uint64_t place, int step)
{
    if (place == FEEDBACK_NO_TEXT || place == WINDOW_NO_LABEL)
        return;
    struct feedback_text *text = feedback_text_at(place);
    const bool was_held = text->holds[holder] > 0;
    text->holds[holder] += (unsigned)step;
    if (text->holds[holder] > 0 && !was_held)
        feedback->text_bytes[holder] += text->bytes;
    else if (text->holds[holder] == 0 && was_held)
        feedback->text_bytes[holder] -= text->bytes;
    for (unsigned i = 0; i < FEEDBACK_HOLDERS; i++)
        if (text->holds[i] > 0)
            return;
    free(text);
}

void feedback_hold_locked(struct feedback *feedback, enum feedback_holder holder,
                          const struct window_entry *entry, struct feedback_told told, int step)
{
    if (entry->is_text) {
        hold(feedback, holder, entry->predicted_set, step);
        hold(feedback, holder, told.label, step);
    } else if (!told.is_set) {
        outcomes_hold(feedback->outcomes, entry->version, told.label, step);
    }
}

void feedback_text_trim_locked(struct feedback *feedback)
{
    struct window *const windows[] = {
        [FEEDBACK_WINDOW] = &feedback->window, [FEEDBACK_GIVEN_LABELS] = &feedback->given};
    for (unsigned i = 0; i < FEEDBACK_CALL; i++)
        while (feedback->text_bytes[i] > feedback_text_bytes(windows[i]->size) &&
               window_drop_oldest_text(windows[i], &feedback->text_from[i]))
            continue;
}
