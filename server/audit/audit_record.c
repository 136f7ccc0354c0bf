#include "server/audit/audit_record.h"

#include "engine/base/arena.h"
#include "engine/base/sha256.h"
#include "server/observe/json_line.h"
#include "wire/limits.h"

#include <string.h>

/* Room of one prediction: twice what its longest parts take, and a text, of which a byte is at most
 * 6 in JSON. */
enum { MEMBERS_BYTES = 8 * 1024 + 6 * LIMIT_OUTPUT_BYTES };

/* All labels of an answer that may have several. */
static void put_set(struct json_line *line, const struct engine_info *info, uint64_t set)
{
    const char *texts[OUTCOME_SET_LABELS];
    unsigned count = 0;
    for (unsigned i = 0; i < info->label_count; i++)
        if (set >> i & 1)
            texts[count++] = info->labels[i];
    json_line_list(line, "labels", texts, count);
}

/* The text that was written, whole or as a digest. */
static void put_text(struct json_line *line, const struct answer_outcome *outcome,
                     const char *broken_rule)
{
    char digest[8 + SHA256_HEX_BYTES] = "sha256:";
    if (outcome->text_fits) {
        json_line_text(line, "output", outcome->text);
    } else {
        sha256_hex(outcome->text, outcome->text_len, digest + strlen(digest));
        json_line_text(line, "output_digest", digest);
    }
    if (outcome->text == NULL)
        json_line_text(line, "broken_rule", broken_rule);
}

static size_t put_prediction(const struct prediction_record *record, char bytes[MEMBERS_BYTES])
{
    const struct answer *answer = record->answer;
    const struct engine_result *result = &answer->result;
    const struct answer_outcome outcome = answer_outcome(answer->info, result);
    struct json_line line = {.bytes = bytes, .size = MEMBERS_BYTES, .is_inside = true};
    json_line_text(&line, "type", "prediction");
    json_line_text(&line, "id", record->id);
    json_line_number(&line, "index", record->index);
    if (record->item_id != NULL)
        json_line_text(&line, "item_id", record->item_id);
    if (record->key != NULL)
        json_line_text(&line, "key", record->key);
    if (record->trace_id != NULL)
        json_line_text(&line, "trace_id", record->trace_id);
    json_line_text(&line, "input", record->input_digest);
    json_line_text(&line, "model", answer->model_name);
    json_line_text(&line, "version", answer->model_version);
    json_line_text(&line, "digest", answer->model_digest);
    if (outcome.label != NULL)
        json_line_text(&line, "label", outcome.label);
    if (outcome.is_text)
        put_text(&line, &outcome, result->broken_rule);
    if (outcome.is_set)
        put_set(&line, answer->info, outcome.set);
    if (outcome.number_name != NULL)
        json_line_number(&line, outcome.number_name, (double)outcome.number);
    if (outcome.judgement != NULL)
        json_line_text(&line, "decision", decision_name(outcome.judgement->decision));
    if (outcome.judgement != NULL && outcome.judgement->has_ood)
        json_line_number(&line, "ood_score", (double)outcome.judgement->ood_score);
    if (result->truncated)
        json_line_json(&line, "truncated", "true");
    if (answer->is_repeated)
        json_line_json(&line, "cached", "true");
    if (answer->info->has_given_labels) { /* their number, and the sentence they were put into */
        json_line_number(&line, "candidate_labels", answer->info->label_count);
        json_line_text(&line, "hypothesis_template", answer->info->hypothesis);
    }
    if (record->is_sampled)
        json_line_json(&line, "sampled", "true");
    if (record->context != NULL)
        json_line_json(&line, "context", record->context);
    if (line.is_cut)
        json_line_json(&line, "cut", "true");
    return line.len;
}

enum err_code audit_predictions(struct audit *audit, const struct prediction_record *records,
                                unsigned count, struct err *err)
{
    struct arena arena;
    unsigned used = 0;
    arena_init(&arena);
    struct audit_members *lines = arena_alloc_array(&arena, count, sizeof *lines);
    for (unsigned i = 0; lines != NULL && i < count; i++) {
        char bytes[MEMBERS_BYTES];
        if (records[i].err.code != ERR_OK)
            continue;
        size_t len = put_prediction(&records[i], bytes);
        const char *kept = arena_copy(&arena, bytes, len);
        if (kept == NULL)
            lines = NULL;
        else
            lines[used++] = (struct audit_members){kept, len};
    }
    if (lines == NULL)
        err_no_memory(err, count * sizeof(struct audit_members));
    else
        audit_append(audit, lines, used, err);
    arena_deinit(&arena);
    return err->code;
}

enum err_code audit_repeat(struct audit *audit, const struct audit_repeat *repeat, struct err *err)
{
    char bytes[MEMBERS_BYTES];
    struct json_line line = {.bytes = bytes, .size = sizeof bytes, .is_inside = true};
    json_line_text(&line, "type", "repeat");
    json_line_text(&line, "id", repeat->id);
    if (repeat->key != NULL)
        json_line_text(&line, "key", repeat->key);
    json_line_text(&line, "idempotency_key", repeat->idempotency_key);
    return audit_append(audit, &(struct audit_members){line.bytes, line.len}, 1, err);
}

/* ---- events ---- */

static void append_event(struct audit *audit, const struct json_line *line)
{
    struct err counted = {0};
    audit_append(audit, &(struct audit_members){line->bytes, line->len}, 1, &counted);
}

void audit_start(struct audit *audit)
{
    char bytes[128];
    struct json_line line = {.bytes = bytes, .size = sizeof bytes, .is_inside = true};
    json_line_text(&line, "type", "start");
    json_line_text(&line, "attnd", ATTND_VERSION);
    append_event(audit, &line);
}

void audit_stop(struct audit *audit)
{
    char bytes[64];
    struct json_line line = {.bytes = bytes, .size = sizeof bytes, .is_inside = true};
    json_line_text(&line, "type", "stop");
    append_event(audit, &line);
}

static void append_change(void *context, const struct change_record *record)
{
    char bytes[MEMBERS_BYTES];
    struct json_line line = {.bytes = bytes, .size = sizeof bytes, .is_inside = true};
    json_line_text(&line, "type", record->action != NULL ? "rollout" : "reload");
    if (record->action != NULL) {
        json_line_text(&line, "action", record->action);
        json_line_text(&line, "model", record->model);
        if (record->version != NULL)
            json_line_text(&line, "version", record->version);
        if (record->told != NULL)
            json_line_text(&line, "reason", record->told);
    }
    if (record->key != NULL)
        json_line_text(&line, "key", record->key);
    if (record->reason != NULL) {
        json_line_text(&line, "failed", record->reason);
    } else {
        json_line_number(&line, "generation", (double)record->generation);
        /* ["a","b"] */
        char list[MEMBERS_BYTES / 2];
        struct json_line inside = {.bytes = list, .size = sizeof list - 2};
        for (unsigned i = 0; i < record->changed_count; i++)
            json_line_element(&inside, record->changed[i]);
        if (inside.len == 0)
            inside.bytes[inside.len++] = '[';
        inside.bytes[inside.len++] = ']';
        inside.bytes[inside.len] = '\0';
        json_line_json(&line, "changed", list);
    }
    append_event(context, &line);
}

struct observer audit_observer(struct audit *audit)
{
    return (struct observer){.context = audit, .change = append_change};
}
