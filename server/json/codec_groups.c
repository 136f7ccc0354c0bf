/* codec_groups.c - GET /review/groups, see codec_review.h. */
#include "server/json/codec_review.h"
#include "wire/codec_check.h"
#include "wire/codec_dump.h"

#include <jansson.h>

#include <stdlib.h>
#include <string.h>

/* ---- the query ---- */

static enum err_code read_decisions(const char *value, unsigned *out, struct err *err)
{
    if (value != NULL && strcmp(value, "any") == 0) {
        *out = (1u << DECISION_COUNT) - 1;
        return ERR_OK;
    }
    for (unsigned i = 0; value != NULL && i < DECISION_COUNT; i++)
        if (strcmp(value, decision_name((enum decision)i)) == 0) {
            *out = 1u << i;
            return ERR_OK;
        }
    return err_set(err, ERR_UNUSABLE, "?decision: expected auto, review, unknown or any");
}

enum err_code codec_groups_option(struct review_question *question, const char *name,
                                  const char *value, struct err *err)
{
    static const char *const known[] = {"model", "decision", "limit"};
    if (strcmp(name, known[0]) == 0) {
        question->model = value;
        return ERR_OK;
    }
    if (strcmp(name, known[1]) == 0)
        return read_decisions(value, &question->decisions, err);
    if (strcmp(name, known[2]) != 0)
        return codec_check_unknown(CODEC_CHECK_QUERY, name, "option",
                                   &(struct codec_names){known, sizeof known / sizeof known[0]},
                                   err);
    const bool is_number = value != NULL && value[0] != '\0' && strlen(value) <= 9 &&
                           value[strspn(value, "0123456789")] == '\0';
    const unsigned long number = is_number ? strtoul(value, NULL, 10) : 0;
    if (number < 1 || number > REVIEW_GROUPS_MAX)
        return err_set(err, ERR_UNUSABLE, "?limit: expected an integer from 1 to %d",
                       REVIEW_GROUPS_MAX);
    question->limit = (unsigned)number;
    return ERR_OK;
}

/* ---- the groups ---- */

/* An input that was deleted since, to make room, has no id any more. */
static json_t *nearest_json(const struct review_nearest *nearest)
{
    json_t *object = json_object();
    int failed = codec_add(object, "label", json_string(nearest->label));
    failed |= codec_add(object, "similarity", json_real((double)nearest->similarity));
    if (nearest->input != NULL) {
        failed |= codec_add(object, "id", json_string(nearest->input->id));
        failed |= codec_add(object, "index", json_integer((json_int_t)nearest->input->index));
        failed |= codec_add(object, "media_type", json_string(nearest->input->media_type));
    }
    return codec_whole(object, failed);
}

static json_t *group_json(const struct review_group *group)
{
    json_t *object = json_object(), *decisions = json_object();
    json_t *items = json_array(), *nearest = json_array();
    int failed = codec_add(object, "size", json_integer((json_int_t)group->size));
    failed |=
        codec_add(object, "label", group->label != NULL ? json_string(group->label) : json_null());
    for (unsigned i = 0; i < DECISION_COUNT; i++)
        failed |= codec_add(decisions, decision_name((enum decision)i),
                            json_integer((json_int_t)group->decisions[i]));
    failed |= codec_add(object, "decisions", decisions);
    for (unsigned i = 0; i < group->input_count; i++)
        failed |= json_array_append_new(items, codec_review_input(&group->inputs[i]));
    for (unsigned i = 0; i < group->nearest_count; i++)
        failed |= json_array_append_new(nearest, nearest_json(&group->nearest[i]));
    failed |= codec_add(object, "items", items);
    failed |= codec_add(object, "nearest", nearest);
    return codec_whole(object, failed);
}

const char *codec_groups_encode(const char *model, const struct review_found *found,
                                struct arena *arena, size_t *len)
{
    json_t *reply = json_object(), *groups = json_array(), *labels = json_array();
    int failed = codec_add(reply, "model", json_string(model));
    for (unsigned i = 0; i < found->count; i++)
        failed |= json_array_append_new(groups, group_json(&found->groups[i]));
    for (unsigned i = 0; i < found->label_count; i++)
        failed |=
            json_array_append_new(labels, json_pack("{s:s, s:i}", "label", found->labels[i].label,
                                                    "count", (int)found->labels[i].count));
    failed |= codec_add(reply, "groups", groups);
    failed |= codec_add(reply, "groups_total", json_integer((json_int_t)found->total));
    failed |= codec_add(reply, "inputs", json_integer((json_int_t)found->inputs));
    failed |= codec_add(reply, "ungrouped_total", json_integer((json_int_t)found->ungrouped));
    failed |= codec_add(reply, "forgotten", json_integer((json_int_t)found->forgotten));
    failed |= codec_add(reply, "labels", labels);
    return codec_finish(codec_whole(reply, failed), "", arena, len);
}
