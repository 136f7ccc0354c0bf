/* answer.c - see answer.h. jansson keeps the order in which members are added, so the code reads
 * like the reply it makes. Adding to a tree fails only without memory or on text that is not UTF-8;
 * failures are collected in a flag that is checked once, at the end of an object. */
#include "wire/answer.h"

#include "engine/base/base64.h"
#include "engine/base/utf8.h"
#include "engine/decide/class_codes.h"
#include "engine/decide/class_prior.h"
#include "engine/decide/extraction.h"
#include "engine/model/attention_stats.h"

#include <jansson.h>

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An object or an array under construction. */
struct builder {
    json_t *json;
    bool failed;
};

struct ranked {
    float score;
    unsigned index;
};

static struct builder build(void)
{
    json_t *object = json_object();
    return (struct builder){.json = object, .failed = object == NULL};
}

static struct builder build_array(void)
{
    json_t *array = json_array();
    return (struct builder){.json = array, .failed = array == NULL};
}

/* Takes ownership of the value. */
static void add(struct builder *object, const char *key, json_t *value)
{
    if (json_object_set_new_nocheck(object->json, key, value) != 0)
        object->failed = true;
}

/* Takes ownership of the value. */
static void append(struct builder *array, json_t *value)
{
    if (json_array_append_new(array->json, value) != 0)
        array->failed = true;
}

static json_t *built(const struct builder *builder)
{
    if (!builder->failed)
        return builder->json;
    json_decref(builder->json);
    return NULL;
}

static json_t *text_or_null(const char *text)
{
    return text != NULL ? json_string(text) : json_null();
}

/* ---- a prediction ---- */

/* Falling scores; equal ones by index. */
static int compare_ranked(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    if (a->score != b->score)
        return a->score > b->score ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

/* The fab's name for a label, if it has given one. */
static void add_class_code(struct builder *builder, const struct answer *answer, unsigned label)
{
    const struct class_code *codes = answer->info->class_codes;
    if (codes != NULL && !codes[label].is_none)
        add(builder, "class_code",
            codes[label].text != NULL ? json_string(codes[label].text)
                                      : json_integer((json_int_t)codes[label].number));
}

static json_t *scored_label(const struct answer *answer, unsigned index)
{
    struct builder row = build();
    add(&row, "label", json_string(answer->info->labels[index]));
    add_class_code(&row, answer, index);
    add(&row, "score", json_real((double)answer->result.scores[index]));
    return built(&row);
}

/* The usual request wants one label and needs no sorting. */
static json_t *best_prediction(const struct answer *answer)
{
    struct builder rows = build_array();
    append(&rows, scored_label(answer, answer->result.label));
    return built(&rows);
}

static json_t *sorted_predictions(const struct answer *answer, unsigned rows_max)
{
    unsigned count = answer->info->label_count;
    struct ranked *ranked = calloc(count, sizeof *ranked);
    struct builder rows = build_array();
    rows.failed = rows.failed || ranked == NULL;
    for (unsigned i = 0; !rows.failed && i < count; i++)
        ranked[i] = (struct ranked){.score = answer->result.scores[i], .index = i};
    if (!rows.failed)
        qsort(ranked, count, sizeof *ranked, compare_ranked);
    for (unsigned i = 0; !rows.failed && i < rows_max; i++)
        append(&rows, scored_label(answer, ranked[i].index));
    free(ranked);
    return built(&rows);
}

/* The same of a text that was written. */
static json_t *reason_of_text(const struct answer *answer)
{
    const struct engine_result *result = &answer->result;
    const struct judgement *judgement = &result->judgement;
    if (result->text_count == 0)
        return json_sprintf(result->rejected != NULL
                                ? "no text was found that obeys the rule %s: the best one that "
                                  "does not is in `rejected`"
                                : "no text was found that obeys the rule %s",
                            result->broken_rule);
    if (judgement->uncalibrated)
        return json_string_nocheck("the model is not calibrated: it has no threshold");
    if (judgement->truncated)
        return json_string_nocheck("the text is longer than the model reads: its end was not read");
    if (judgement->coloured)
        return json_string_nocheck("this picture has colours, and the model learnt grey pictures");
    if (judgement->other_checksum)
        return json_string_nocheck("the request's checksum is not that of attnd.json, with which "
                                   "the threshold was fitted");
    if (judgement->never)
        return json_string_nocheck("all texts go to a person: attnd.json says so");
    char threshold[DECISION_THRESHOLD_BYTES];
    return json_sprintf("the text has confidence %.9g, below the threshold %s",
                        (double)judgement->score,
                        decision_threshold_text(threshold, judgement->threshold));
}

json_t *answer_reason(const struct answer *answer)
{
    const struct judgement *judgement = &answer->result.judgement;
    if (answer->result.task == ENGINE_GENERATE)
        return reason_of_text(answer);
    const char *label = answer->info->labels[judgement->label];
    double score = (double)judgement->score;
    char threshold[DECISION_THRESHOLD_BYTES];
    decision_threshold_text(threshold, judgement->threshold);
    double target = answer->info->target_precision;
    if (judgement->decision == DECISION_UNKNOWN)
        return json_sprintf("the input is unlike what the model knows: ood_score %.9g is above "
                            "its threshold %s",
                            (double)judgement->ood_score, threshold);
    if (judgement->uncalibrated)
        return json_string_nocheck("the model is not calibrated: it has no thresholds");
    if (judgement->truncated)
        return json_string_nocheck("the text is longer than the model reads: its end was not read");
    if (judgement->coloured)
        return json_string_nocheck("this picture has colours, and the model learnt grey pictures: "
                                   "draw it in grey");
    if (judgement->never && target > 0)
        return json_sprintf("label '%s' always goes to a person: at no score do the validation "
                            "data show it to be right %.6g %% of the time",
                            label, 100 * target);
    if (judgement->never)
        return json_sprintf("label '%s' always goes to a person: attnd.json has no threshold for "
                            "it",
                            label);
    return json_sprintf("label '%s' has score %.9g, below its threshold %s", label, score,
                        threshold);
}

/* ---- an explanation ---- */

static json_t *excerpts(const struct excerpt *list, unsigned count, const char *measure)
{
    struct builder array = build_array();
    for (unsigned i = 0; !array.failed && i < count; i++) {
        struct builder part = build();
        add(&part, "start", json_integer(list[i].start));
        add(&part, "end", json_integer(list[i].end));
        add(&part, measure, json_real((double)list[i].relevance));
        if (list[i].of_pair)
            add(&part, "of", json_string_nocheck("text_pair"));
        append(&array, built(&part));
    }
    return built(&array);
}

static json_t *reals(const float *numbers, size_t count)
{
    struct builder array = build_array();
    for (size_t i = 0; !array.failed && i < count; i++)
        append(&array, json_real((double)numbers[i]));
    return built(&array);
}

static json_t *boxes(const struct patch_box *list, unsigned count)
{
    struct builder array = build_array();
    for (unsigned i = 0; !array.failed && i < count; i++) {
        struct builder box = build();
        add(&box, "left", json_integer(list[i].left));
        add(&box, "top", json_integer(list[i].top));
        add(&box, "width", json_integer(list[i].right - list[i].left));
        add(&box, "height", json_integer(list[i].bottom - list[i].top));
        add(&box, "relevance", json_real((double)list[i].relevance));
        append(&array, built(&box));
    }
    return built(&array);
}

static json_t *explanation_of(const struct answer *answer)
{
    const struct explanation *explanation = answer->explanation;
    struct builder out = build();
    const struct patches_view *view = &explanation->view;
    add(&out, "method", json_string_nocheck(method_name(explanation->method)));
    if (explanation->layer > 0)
        add(&out, "layer", json_integer(explanation->layer));
    if (answer->info->full_layers > 0)
        add(&out, "of_all_tokens", json_true());
    if (explanation->words != NULL) {
        add(&out, "words", excerpts(explanation->words, explanation->word_count, "relevance"));
        add(&out, "spans", excerpts(explanation->spans, explanation->span_count, "relevance"));
        if (explanation->has_phrases)
            add(&out, "phrases",
                excerpts(explanation->phrases, explanation->phrase_count, "evidence"));
        return built(&out);
    }
    add(&out, "grid", json_pack("[ii]", (int)view->rows, (int)view->columns));
    add(&out, "region",
        json_pack("[ffff]", view->all.left, view->all.top, view->all.width, view->all.height));
    add(&out, "relevance", reals(explanation->patches, (size_t)view->rows * view->columns));
    add(&out, "top_patches", boxes(explanation->boxes, explanation->box_count));
    if (explanation->overlay != NULL)
        add(&out, "overlay", json_string_nocheck(explanation->overlay));
    return built(&out);
}

/* One number of every head that a layer has: [layers][heads]. `at` is its place in struct
 * attention_stats. */
static json_t *per_head(const struct explanation *explanation, size_t at)
{
    struct builder layers = build_array();
    for (unsigned l = 0; !layers.failed && l < explanation->layers; l++) {
        const char *number =
            (const char *)(explanation->stats + (size_t)l * explanation->heads) + at;
        const unsigned *left = explanation->heads_left;
        unsigned count = left != NULL ? left[l] : explanation->heads;
        struct builder heads = build_array();
        for (unsigned h = 0; !heads.failed && h < count; h++) {
            append(&heads, json_real((double)*(const float *)(const void *)number));
            number += sizeof *explanation->stats;
        }
        append(&layers, built(&heads));
    }
    return built(&layers);
}

static json_t *stats_of(const struct explanation *explanation)
{
    struct builder out = build();
    add(&out, "entropy", per_head(explanation, offsetof(struct attention_stats, entropy)));
    add(&out, "distance", per_head(explanation, offsetof(struct attention_stats, distance)));
    add(&out, "diagonal", per_head(explanation, offsetof(struct attention_stats, diagonal)));
    add(&out, "neighbour", per_head(explanation, offsetof(struct attention_stats, neighbour)));
    add(&out, "sparsity", per_head(explanation, offsetof(struct attention_stats, sparsity)));
    return built(&out);
}

/* An array, or base64 a string. */
static json_t *vector_json(const struct answer *answer, const float *vector, unsigned count)
{
    const struct vector_form *form = &answer->vector;
    const struct engine_info *info = answer->info;
    if (form->encoding == VECTOR_BASE64) {
        char *text = malloc(base64_encoded_size(count * sizeof *vector));
        if (text == NULL)
            return NULL;
        base64_encode(text, (const char *)vector, count * sizeof *vector);
        json_t *string = json_string_nocheck(text);
        free(text);
        return string;
    }
    struct builder array = build_array();
    for (unsigned i = 0; !array.failed && i < count; i++)
        append(&array, form->encoding == VECTOR_FLOAT
                           ? json_real((double)vector[i])
                           : json_integer(vector_form_integer(form, info, vector, i)));
    return built(&array);
}

static json_t *chunks_of(const struct answer *answer)
{
    const struct engine_input *input = answer->input;
    const unsigned count =
        input->has_lines ? vector_form_count(&answer->vector, answer->info) : input->row_size;
    struct builder array = build_array();
    for (unsigned i = 0; !array.failed && i < input->part_count; i++) {
        const struct input_part *part = &input->parts[i];
        const bool is_of_text = input->has_lines || part->stop > 0;
        const float *vector = answer->result.rows + (size_t)i * input->row_size;
        struct builder out = build();
        add(&out, "start", is_of_text ? json_integer(part->start) : json_null());
        add(&out, "end", is_of_text ? json_integer(part->stop) : json_null());
        add(&out, "embedding",
            part->end > part->first ? vector_json(answer, vector, count) : json_null());
        append(&array, built(&out));
    }
    return built(&array);
}

/* The number of a regression; of one with several a member for each, by its name. */
static void add_values(struct builder *reply, const struct answer *answer)
{
    const struct engine_info *info = answer->info;
    if (info->label_count == 1) {
        add(reply, "value", json_real((double)answer->result.number));
        return;
    }
    struct builder values = build();
    for (unsigned i = 0; i < info->label_count; i++)
        add(&values, info->labels[i], json_real((double)answer->result.scores[i]));
    add(reply, "values", built(&values));
}

/* The part of the text from character start to end; those of the first calls come first. */
static json_t *part_of(const struct answer *answer, struct utf8_place *place, uint32_t start,
                       uint32_t end)
{
    const size_t first = utf8_move(place, answer->text, answer->text_len, start);
    const size_t last = end > start ? utf8_move(place, answer->text, answer->text_len, end) : first;
    return json_stringn(answer->text + first, last - first);
}

static json_t *extract_of(const struct answer *answer, const struct extract *extract)
{
    struct builder out = build();
    struct utf8_place place = {0, 0};
    add(&out, "text", part_of(answer, &place, extract->start, extract->end));
    add(&out, "score", json_real((double)extract->score));
    add(&out, "start", json_integer(extract->start));
    add(&out, "end", json_integer(extract->end));
    return built(&out);
}

/* The best answer and, if several are asked for, all of them. */
static void add_answers(struct builder *reply, const struct answer *answer)
{
    const struct extraction *extraction = answer->result.extraction;
    const unsigned count = answer->result.answer_count;
    add(reply, "answer", count > 0 ? extract_of(answer, extraction->found) : json_null());
    if (extraction->options.top == 1)
        return;
    struct builder array = build_array();
    for (unsigned i = 0; !array.failed && i < count; i++)
        append(&array, extract_of(answer, &extraction->found[i]));
    add(reply, "answers", built(&array));
}

static json_t *spans_of(const struct answer *answer)
{
    struct builder array = build_array();
    struct utf8_place place = {0, 0};
    for (unsigned i = 0; !array.failed && i < answer->result.span_count; i++) {
        const struct span *span = &answer->result.spans[i];
        struct builder out = build();
        add(&out, "label", json_string(span->name));
        add(&out, "score", json_real((double)span->score));
        add(&out, "start", json_integer(span->start));
        add(&out, "end", json_integer(span->end));
        add(&out, "text", part_of(answer, &place, span->start, span->end));
        append(&array, built(&out));
    }
    return built(&array);
}

static json_t *token_text(const struct engine_info *info, unsigned id)
{
    const char *text = info->token_texts[id];
    return text != NULL ? json_string(text) : json_string_nocheck("");
}

/* The best tokens for a masked one, with their share of the softmax of its logits [vocab_size]. */
static json_t *best_tokens(const struct engine_info *info, const float *logits, unsigned top_k)
{
    const unsigned count = info->vocab_size, most = top_k == 0 || top_k > count ? count : top_k;
    struct ranked *ranked = calloc(count, sizeof *ranked);
    struct builder rows = build_array();
    rows.failed = rows.failed || ranked == NULL;
    double sum = 0;
    for (unsigned i = 0; !rows.failed && i < count; i++)
        ranked[i] = (struct ranked){.score = logits[i], .index = i};
    if (!rows.failed)
        qsort(ranked, count, sizeof *ranked, compare_ranked);
    for (unsigned i = 0; !rows.failed && i < count; i++)
        sum += exp((double)ranked[i].score - (double)ranked[0].score);
    for (unsigned i = 0; !rows.failed && i < most; i++) {
        struct builder row = build();
        add(&row, "token", json_integer(ranked[i].index));
        add(&row, "text", token_text(info, ranked[i].index));
        add(&row, "score",
            json_real(
                (double)(float)(exp((double)ranked[i].score - (double)ranked[0].score) / sum)));
        append(&rows, built(&row));
    }
    free(ranked);
    return built(&rows);
}

static json_t *filled(const struct answer *answer, unsigned top_k)
{
    struct builder masks = build_array();
    for (unsigned i = 0; !masks.failed && i < answer->result.row_count; i++)
        append(&masks,
               best_tokens(answer->info, answer->result.rows + (size_t)i * answer->info->row_size,
                           top_k));
    return built(&masks);
}

/* The entries of the vocabulary that have a weight, by their index. */
static json_t *weights_of(const struct answer *answer)
{
    struct builder rows = build_array();
    for (unsigned i = 0; !rows.failed && i < answer->info->row_size; i++) {
        if (!(answer->result.rows[i] > 0))
            continue;
        struct builder row = build();
        add(&row, "index", json_integer(i));
        add(&row, "value", json_real((double)answer->result.rows[i]));
        add(&row, "token", token_text(answer->info, i));
        append(&rows, built(&row));
    }
    return built(&rows);
}

static void add_judgement(struct builder *reply, const struct answer *answer)
{
    const struct judgement *judgement = &answer->result.judgement;
    add(reply, "decision", json_string_nocheck(decision_name(judgement->decision)));
    if (judgement->decision != DECISION_AUTO)
        add(reply, "reason", answer_reason(answer));
    if (judgement->has_ood)
        add(reply, "ood_score", json_real((double)judgement->ood_score));
    if (judgement->has_rank)
        add(reply, "ood_rank", json_real((double)judgement->ood_rank));
}

/* For each token of the text where the model looked. */
static json_t *alignment_of(const struct explanation *explanation)
{
    const size_t sources = explanation->words != NULL
                               ? explanation->word_count
                               : (size_t)explanation->view.rows * explanation->view.columns;
    struct builder array = build_array();
    for (unsigned i = 0; !array.failed && i < explanation->aligned_count; i++) {
        const struct aligned_token *token = &explanation->aligned[i];
        struct builder out = build();
        add(&out, "text", json_stringn(token->text, token->len));
        add(&out, "weights", reals(token->weights, sources));
        append(&array, built(&out));
    }
    return built(&array);
}

/* A text that was written, as {"output", "score"}. */
static json_t *written(const struct engine_text *text)
{
    struct builder row = build();
    add(&row, "output", json_stringn(text->text, text->len));
    add(&row, "score", json_real((double)text->score));
    return built(&row);
}

/* The best text, and the others if more than one was asked for; or why there is none. */
static void add_texts(struct builder *reply, const struct answer *answer)
{
    const struct engine_result *result = &answer->result;
    if (result->text_count == 0) {
        add(reply, "output", json_null());
        add(reply, "broken_rule", json_string(result->broken_rule));
        if (result->rejected != NULL)
            add(reply, "rejected", written(result->rejected));
        add_judgement(reply, answer);
        return;
    }
    add(reply, "output", json_stringn(result->texts[0].text, result->texts[0].len));
    add(reply, "score", json_real((double)result->texts[0].score));
    add(reply, "confidence", json_real((double)result->texts[0].confidence));
    add_judgement(reply, answer);
    if (result->text_count > 1) {
        struct builder others = build_array();
        for (unsigned i = 1; !others.failed && i < result->text_count; i++)
            append(&others, written(&result->texts[i]));
        add(reply, "alternatives", built(&others));
    }
    if (answer->explanation != NULL)
        add(reply, "alignment", alignment_of(answer->explanation));
}

/* The members that a task has of its own. */
static void add_task(struct builder *reply, const struct answer *answer, unsigned top_k)
{
    const struct engine_result *result = &answer->result;
    const unsigned count = answer->info->label_count;
    const unsigned rows = top_k == 0 || top_k > count ? count : top_k;
    switch (result->task) {
    case ENGINE_CLASSIFY:
        add(reply, "label", json_string(answer->info->labels[result->label]));
        add_class_code(reply, answer, result->label);
        add(reply, "score", json_real((double)result->number));
        add_judgement(reply, answer);
        add(reply, "predictions",
            rows == 1 ? best_prediction(answer) : sorted_predictions(answer, rows));
        break;
    case ENGINE_REGRESS:
        add_values(reply, answer);
        add_judgement(reply, answer);
        break;
    case ENGINE_TAG:
        add(reply, "spans", spans_of(answer));
        add_judgement(reply, answer);
        break;
    case ENGINE_ANSWER:
        add_answers(reply, answer);
        add_judgement(reply, answer);
        break;
    case ENGINE_FILL:
        add(reply, "predictions", filled(answer, top_k));
        break;
    case ENGINE_SPARSE:
        add(reply, "sparse", weights_of(answer));
        break;
    case ENGINE_GENERATE:
        add_texts(reply, answer);
        break;
    case ENGINE_EMBED:
        add(reply, "embedding",
            vector_json(answer, result->vector, vector_form_count(&answer->vector, answer->info)));
        add(reply, "dimensions", json_integer(vector_form_size(&answer->vector, answer->info)));
        if (answer->vector.encoding != VECTOR_FLOAT)
            add(reply, "encoding",
                json_string_nocheck(vector_encoding_name(answer->vector.encoding)));
        if (answer->input != NULL && answer->input->parts != NULL)
            add(reply, "chunks", chunks_of(answer));
        break;
    }
}

/* ---- near inputs ---- */

static json_t *text_or_none(const char *text)
{
    return text[0] != '\0' ? json_string(text) : json_null();
}

static json_t *neighbours_of(const struct answer_neighbours *neighbours)
{
    struct builder array = build_array();
    for (unsigned i = 0; !array.failed && i < neighbours->count; i++) {
        const struct answer_neighbour *neighbour = &neighbours->items[i];
        struct builder row = build();
        add(&row, "id", json_string(neighbour->id));
        add(&row, "label", text_or_none(neighbour->label));
        add(&row, "score", json_real((double)neighbour->score));
        add(&row, "source", text_or_none(neighbour->source));
        append(&array, built(&row));
    }
    return built(&array);
}

struct json_t *answer_similar(const struct answer_neighbours *neighbours, bool truncated)
{
    struct builder reply = build();
    if (truncated)
        add(&reply, "truncated", json_true());
    add(&reply, "neighbours", neighbours_of(neighbours));
    return built(&reply);
}

/* ---- the whole ---- */

struct json_t *answer_prediction(const struct answer *answer, unsigned top_k)
{
    const struct engine_result *result = &answer->result;
    if (answer->info->row_size == 0 && result->task != ENGINE_EMBED &&
        result->task != ENGINE_GENERATE && answer->info->label_count == 0)
        return NULL;
    struct builder reply = build(), model = build();
    add(&model, "name", json_string(answer->model_name));
    add(&model, "version", text_or_null(answer->model_version));
    add(&model, "digest", text_or_null(answer->model_digest));
    add(&reply, "model", built(&model));
    add_task(&reply, answer, top_k);
    if (result->truncated)
        add(&reply, "truncated", json_true());
    if (result->windows > 0 && answer->info->kind == ENGINE_TEXT)
        add(&reply, "windows", json_integer(result->windows));
    if (answer->info->full_layers > 0)
        add(&reply, "tokens",
            json_pack("{s:i,s:i}", "of", (int)result->tokens, "kept", (int)result->kept_tokens));
    if (answer->explanation != NULL)
        add(&reply, "explanation", explanation_of(answer));
    if (answer->explanation != NULL && answer->explanation->stats != NULL)
        add(&reply, "attention_stats", stats_of(answer->explanation));
    if (answer->neighbours.items != NULL)
        add(&reply, "neighbours", neighbours_of(&answer->neighbours));
    if (answer->is_repeated)
        add(&reply, "cached", json_true());
    return built(&reply);
}

/* ---- a model ---- */

static json_t *texts(const char *const *list, unsigned count)
{
    struct builder array = build_array();
    for (unsigned i = 0; !array.failed && i < count; i++)
        append(&array, json_string(list[i]));
    return built(&array);
}

static void add_count(struct builder *builder, const char *key, size_t count)
{
    add(builder, key, json_integer((json_int_t)count));
}

/* "natural", "equal", or the share of each label. */
static json_t *prior_of(const struct engine_info *info)
{
    const struct class_prior *prior = info->class_prior;
    if (prior == NULL || prior->kind != CLASS_PRIOR_COUNTS)
        return json_string_nocheck(prior != NULL ? class_prior_name(prior) : "natural");
    struct builder shares = build();
    for (unsigned i = 0; i < info->label_count; i++)
        add(&shares, info->labels[i], json_real(prior->expected[i]));
    return built(&shares);
}

/* The thresholds of the labels that have one of their own. */
static json_t *ood_thresholds_of(const struct engine_info *info)
{
    if (info->ood_label_thresholds == NULL)
        return json_null();
    struct builder thresholds = build();
    for (unsigned i = 0; i < info->label_count; i++)
        if (!isnan(info->ood_label_thresholds[i]))
            add(&thresholds, info->labels[i], json_real((double)info->ood_label_thresholds[i]));
    return built(&thresholds);
}

static const char *task_name(const struct engine_info *info)
{
    static const char *const names[] = {
        [ENGINE_CLASSIFY] = "classify", [ENGINE_REGRESS] = "regress",  [ENGINE_EMBED] = "embed",
        [ENGINE_TAG] = "tag",           [ENGINE_ANSWER] = "answer",    [ENGINE_FILL] = "fill",
        [ENGINE_SPARSE] = "sparse",     [ENGINE_GENERATE] = "generate"};
    return names[info->task];
}

/* Returns a number for squares, else [height, width], as config.json has them. */
static struct json_t *patch_size(struct extent patch)
{
    if (extent_is_square(patch))
        return json_integer(patch.width);
    return json_pack("[i, i]", (int)patch.height, (int)patch.width);
}

/* The members of a model that depend on what it reads. */
static void add_reading(struct builder *model, const struct engine_info *info)
{
    if (engine_reads(info, ENGINE_IMAGE)) {
        add_count(model, "image_height", info->image_height);
        add_count(model, "image_width", info->image_width);
        add(model, "patch_size", patch_size(info->patch_size));
        add_count(model, "views", info->views);
    }
    if (engine_reads(info, ENGINE_TEXT)) {
        add_count(model, "vocab_size", info->vocab_size);
        add(model, "reads_pairs", json_boolean(info->reads_pairs));
        add(model, "long_text", json_string_nocheck(info->reads_windows ? "windows" : "truncate"));
        add_count(model, "window_stride", info->window_stride);
        add(model, "window_pooling", text_or_null(info->window_pooling));
        add_count(model, "ngram_rows", info->ngram_rows);
    }
}

/* The decoder, and what counts where a request says nothing. */
static json_t *writes_of(const struct engine_writes *writes)
{
    static const char *const stopping[] = {
        [STOPPING_ESTIMATED] = "estimated", [STOPPING_EARLY] = "early", [STOPPING_NEVER] = "never"};
    const struct generation_config *config = writes->config;
    struct builder out = build();
    add(&out, "family", json_string(writes->family));
    add_count(&out, "layers", writes->layers);
    add_count(&out, "heads", writes->heads);
    add_count(&out, "hidden_size", writes->hidden_size);
    add_count(&out, "intermediate_size", writes->intermediate_size);
    add_count(&out, "vocab_size", writes->vocab_size);
    add_count(&out, "new_tokens_max", writes->new_tokens_max);
    add_count(&out, "cache_token_bytes", writes->cache_token_bytes);
    add_count(&out, "max_new_tokens", config->new_max);
    add_count(&out, "min_new_tokens", config->new_min);
    add_count(&out, "num_beams", config->beams);
    add_count(&out, "num_beams_max", GENERATION_BEAMS_MAX);
    add_count(&out, "num_return_sequences", config->sequences);
    add_count(&out, "no_repeat_ngram_size", config->no_repeat);
    add(&out, "length_penalty", json_real(config->length_penalty));
    add(&out, "early_stopping", json_string_nocheck(stopping[config->early_stopping]));
    add(&out, "source_languages", texts(writes->source_languages, writes->source_language_count));
    add(&out, "target_languages", texts(writes->target_languages, writes->target_language_count));
    return built(&out);
}

struct json_t *answer_index(const struct index_info *info)
{
    struct builder index = build();
    add_count(&index, "rows", info->rows);
    add_count(&index, "dimensions", info->dimensions);
    add(&index, "similarity", json_string_nocheck(index_similarity_names[info->similarity]));
    add(&index, "element", json_string_nocheck(index_element_names[info->element]));
    add(&index, "space", json_string_nocheck(index_space_names[info->space]));
    add_count(&index, "bytes", info->bytes);
    add(&index, "model", json_string(info->model));
    add(&index, "digest", json_string(info->digest));
    return built(&index);
}

struct json_t *answer_model(const struct engine_info *info)
{
    bool image = info->kind == ENGINE_IMAGE;
    struct builder model = build();
    add(&model, "kind", json_string_nocheck(image ? "image" : "text"));
    add(&model, "reads",
        info->reads_both ? json_pack("[s,s]", "image", "text")
                         : json_pack("[s]", image ? "image" : "text"));
    add(&model, "family", json_string(info->family));
    add(&model, "version", text_or_null(info->version));
    add(&model, "dtype", json_string(info->dtype));
    add(&model, "dtype_asked", text_or_null(info->dtype_asked));
    add(&model, "dtype_reason", text_or_null(info->dtype_reason));
    add(&model, "linear_backend", text_or_null(info->linear_backend));
    add(&model, "kernels", text_or_null(info->kernels));
    add(&model, "scores", json_string(info->scores));
    add(&model, "target_precision",
        info->target_precision > 0 ? json_real(info->target_precision) : json_null());
    add(&model, "calibrated", json_boolean(info->is_calibrated));
    add(&model, "uncalibrated",
        info->is_calibrated ? json_null()
                            : json_string_nocheck(info->reviews_all ? "review" : "auto"));
    add(&model, "ood_method", text_or_null(info->ood_method));
    add(&model, "ood_threshold",
        info->ood_threshold != NULL ? json_real((double)*info->ood_threshold) : json_null());
    add(&model, "ood_thresholds", ood_thresholds_of(info));
    add(&model, "class_prior", prior_of(info));
    add(&model, "explain_default",
        info->task != ENGINE_CLASSIFY && info->task != ENGINE_REGRESS &&
                info->task != ENGINE_GENERATE
            ? json_null()
            : json_string_nocheck(method_name(info->explain_default)));
    add(&model, "labels", texts(info->labels, info->label_count));
    add(&model, "task", json_string_nocheck(task_name(info)));
    if (info->task == ENGINE_EMBED) {
        add_count(&model, "dimensions", info->vector_size);
        add(&model, "similarity", json_string_nocheck(info->similarity));
        add(&model, "prompts", texts(info->prompts, info->prompt_count));
    }
    if (info->writes != NULL)
        add(&model, "writes", writes_of(info->writes));
    if (info->task == ENGINE_FILL)
        add(&model, "mask_token", text_or_null(info->mask_token));
    add(&model, "zero_shot", json_boolean(info->is_zero_shot));
    if (info->is_zero_shot)
        add(&model, "hypothesis_template", json_string(info->hypothesis));
    add_count(&model, "layers", info->layers);
    add_count(&model, "heads", info->heads);
    add_count(&model, "hidden_size", info->hidden_size);
    add_count(&model, "intermediate_size", info->intermediate_size);
    add_count(&model, "tokens_max", info->tokens_max);
    add(&model, "token_pruning",
        info->full_layers == 0 ? json_null()
                               : json_pack("{s:i,s:f}", "full_layers", (int)info->full_layers,
                                           "share", info->token_share));
    add_reading(&model, info);
    add_count(&model, "parameters", info->parameters);
    add_count(&model, "weight_bytes", info->weight_bytes);
    add(&model, "unbound_tensors", texts(info->unbound, info->unbound_count));
    return built(&model);
}

/* ---- further members, and printing ---- */

bool answer_add_text(struct json_t *answer, const char *key, const char *text)
{
    return json_object_set_new(answer, key, text_or_null(text)) == 0;
}

bool answer_add_origin(json_t *answer, const char *file, unsigned line)
{
    struct builder input = build();
    add(&input, "file", json_string(UTF8_SHOWN(file)));
    if (line > 0)
        add(&input, "line", json_integer(line));
    return json_object_set_new_nocheck(answer, "input", built(&input)) == 0;
}

bool answer_add_reals(struct json_t *answer, const char *key, const float *numbers, unsigned count)
{
    return json_object_set_new(answer, key, reals(numbers, count)) == 0;
}

bool answer_add_rows(struct json_t *answer, const char *key, const float *rows, unsigned count,
                     unsigned size)
{
    struct builder array = build_array();
    for (unsigned i = 0; !array.failed && i < count; i++)
        append(&array, reals(rows + (size_t)i * size, size));
    return json_object_set_new(answer, key, built(&array)) == 0;
}

bool answer_add_integers(struct json_t *answer, const char *key, const int32_t *numbers,
                         unsigned count)
{
    struct builder array = build_array();
    for (unsigned i = 0; !array.failed && i < count; i++)
        append(&array, json_integer(numbers[i]));
    return json_object_set_new(answer, key, built(&array)) == 0;
}

/* jansson 2.14 does not check whether a key was written (doc_edit.c); ferror does. */
bool answer_print(const struct json_t *answer, FILE *file)
{
    return json_dumpf(answer, file, JSON_COMPACT | JSON_REAL_PRECISION(ANSWER_DIGITS)) == 0 &&
           fputc('\n', file) != EOF && !ferror(file);
}
