#include "server/json/codec_review.h"

#include "wire/codec_check.h"
#include "wire/codec_dump.h"

#include <jansson.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- the query ---- */

static enum err_code read_whole(const char *name, const char *value, uint64_t max, uint64_t *out,
                                struct err *err)
{
    bool is_number =
        value != NULL && value[0] != '\0' && value[strspn(value, "0123456789")] == '\0';
    errno = 0;
    unsigned long long number = is_number ? strtoull(value, NULL, 10) : 0;
    if (!is_number || errno != 0 || number < 1 || number > max)
        return err_set(err, ERR_UNUSABLE, "?%s: expected an integer from 1 to %llu", name,
                       (unsigned long long)max);
    *out = number;
    return ERR_OK;
}

enum err_code codec_review_option(struct review_filter *filter, const char *name, const char *value,
                                  struct err *err)
{
    static const char *const known[] = {"decision", "limit", "before", "model"};
    uint64_t number = 0;
    if (strcmp(name, known[0]) == 0) {
        for (unsigned i = 0; value != NULL && i < DECISION_COUNT; i++)
            if (strcmp(value, decision_name((enum decision)i)) == 0) {
                filter->decision = (enum decision)i;
                return ERR_OK;
            }
        return err_set(err, ERR_UNUSABLE, "?decision: expected auto, review or unknown");
    }
    if (strcmp(name, known[1]) == 0) {
        if (read_whole(name, value, REVIEW_LIMIT_MAX, &number, err) == ERR_OK)
            filter->limit = (unsigned)number;
        return err->code;
    }
    if (strcmp(name, known[3]) == 0) {
        filter->model = value;
        return value != NULL && value[0] != '\0'
                   ? ERR_OK
                   : err_set(err, ERR_UNUSABLE, "?model: expected the name of a model, found none");
    }
    if (strcmp(name, known[2]) == 0)
        return read_whole(name, value, INT64_MAX, &filter->before, err);
    return codec_check_unknown(CODEC_CHECK_QUERY, name, "option",
                               &(struct codec_names){known, sizeof known / sizeof known[0]}, err);
}

/* ---- the list ---- */

json_t *codec_review_input(const struct kept_input *input)
{
    json_t *object = json_object();
    int failed = codec_add(object, "id", json_string(input->id));
    failed |= codec_add(object, "index", json_integer(input->index));
    failed |= codec_add(object, "time", json_string(input->time));
    failed |= codec_add(object, "model",
                        json_pack("{s:s, s:s}", "name", input->model, "version", input->version));
    if (input->label != NULL)
        failed |= codec_add(object, "label", json_string(input->label));
    else
        failed |= codec_add(object, "output",
                            input->output != NULL ? json_string(input->output) : json_null());
    if (input->label != NULL || input->output != NULL)
        failed |= codec_add(object, input->label != NULL ? "score" : "confidence",
                            json_real(input->score));
    if (input->rejected != NULL)
        failed |= codec_add(object, "rejected", json_string(input->rejected));
    failed |= codec_add(object, "decision", json_string(decision_name(input->decision)));
    if (input->reason != NULL)
        failed |= codec_add(object, "reason", json_string(input->reason));
    failed |= codec_add(object, "sampled", json_boolean(input->is_sampled));
    failed |= codec_add(object, "media_type", json_string(input->media_type));
    failed |= codec_add(object, "bytes", json_integer((json_int_t)input->len));
    failed |= codec_add(object, "digest", json_string(input->digest));
    if (input->right != NULL)
        failed |= codec_add(object, input->label != NULL ? "right_label" : "right_output",
                            json_string(input->right));
    if (input->context != NULL)
        failed |= codec_add(object, "context", json_loads(input->context, 0, NULL));
    return codec_whole(object, failed);
}

const char *codec_review_encode(const struct review_page *page, struct arena *arena, size_t *len)
{
    json_t *reply = json_object(), *inputs = json_array();
    int failed = inputs == NULL;
    for (unsigned i = 0; i < page->count; i++)
        failed |= json_array_append_new(inputs, codec_review_input(&page->inputs[i]));
    failed |= codec_add(reply, "inputs", inputs);
    failed |= codec_add(reply, "next",
                        page->next != 0 ? json_integer((json_int_t)page->next) : json_null());
    return codec_finish(codec_whole(reply, failed), "", arena, len);
}
