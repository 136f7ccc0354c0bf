/* hf.c - Hugging Face's clients, given an address: POST /, POST /models/{name}, and with a task
 * POST /models/{name}/pipeline/{task}. The model's task gives the form of the answer.
 *
 *     {"inputs": "text" | ["text", ...] | {"text", "text_pair"},
 *      "parameters": {"top_k": 3, "function_to_apply": "none"}}    [[{"label", "score"}, ...], ...]
 *     a picture's file, or {"inputs": "<base64>", "parameters": {"top_k"}}     [{"label", "score"}]
 *     {"inputs": "text" | "<base64>", "parameters": {"candidate_labels": ["scan", ...],
 *      "hypothesis_template": "a log of {}", "multi_label": false}}            [{"label", "score"}]
 *     {"inputs": "text" | ["text", ...], "normalize", "prompt_name", "truncate", "dimensions"}
 *                                                                  [0.1, ...] | [[0.1, ...], ...]
 *     {"inputs": {"source_sentence": "text", "sentences": ["text", ...]}}             [0.83, ...]
 *     {"inputs": "text" | ["text", ...], "parameters": {"aggregation_strategy": "simple",
 *      "ignore_labels": ["O"], "stride"}}                      spans of tags, as parts.h has them
 *     {"inputs": {"question": "text", "context": "text"}, "parameters": {"top_k", "max_answer_len",
 *      "max_seq_len", "max_question_len", "doc_stride", "handle_impossible_answer",
 *      "align_to_words"}}                                                       answers, likewise
 *     {"inputs": "text" | ["text", ...], "parameters": {"top_k": 5, "targets": ["word", ...]}}
 *                                                          words for masked tokens, likewise
 *     {"inputs": "text" | ["text", ...], "parameters": {"src_lang", "tgt_lang", "truncation",
 *      "clean_up_tokenization_spaces", "generate_parameters": {"num_beams", ...}}}, or a picture
 *                                               a text that is written, as written.h has them
 *
 * Candidate labels of a text are hypotheses for a model of pairs that has a label "entailment...":
 * each is an input of its own, and the scores are a softmax over the labels' logits or, with
 * multi_label or one label, of entailment against contradiction. Those of a picture go to a
 * zero-shot model.
 *
 * Source: the clients' providers "hf-inference" (huggingface_hub 1.33 and 2.4, and
 * @huggingface/inference 4.13), and transformers 4.57's pipeline zero-shot-classification. */
#include "server/protocol/content.h"
#include "server/protocol/parts.h"
#include "server/protocol/protocol.h"
#include "server/protocol/texts.h"
#include "server/protocol/writing.h"
#include "server/protocol/written.h"

#include "engine/base/doc.h"
#include "engine/text/decoder.h"
#include "server/serve/rows.h"
#include "wire/limits.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { RAW_BYTES = 4096 }; /* of a call without JSON */

struct hf_task;
enum hf_has { HAS_NOTHING, HAS_LABELS, HAS_SENTENCES };
enum hf_form { HF_ONE, HF_LIST, HF_SIMILARITY, HF_HYPOTHESES };

/* The options of a call; request->state. */
struct hf {
    enum hf_form form;
    struct writing_how how;
    struct parts_how parts;
    struct written_how written;
    bool is_multi_label;
    struct engine_labels labels;      /* of the hypotheses */
    float *scores;                    /* [labels.count] */
    const struct served_model *model; /* that will answer; NULL: none is served */
    const struct engine_info *info;   /* of it */
    const struct hf_task *task;       /* of the path; NULL: it names none */
};

static const char template[] = "This example is {}.";

#define TASK(task) (1U << (task))

/* Names of tasks in a path, the models that have them, and what a call of theirs has. */
static const struct hf_task {
    const char *name;
    enum engine_kind kind;
    unsigned of; /* a bit for each enum engine_task */
    enum written_form form;
    enum hf_has has; /* what a call has beside inputs */
} tasks[] = {
    {"text-classification", ENGINE_TEXT, TASK(ENGINE_CLASSIFY) | TASK(ENGINE_REGRESS),
     WRITTEN_BY_MODEL, HAS_NOTHING},
    {"zero-shot-classification", ENGINE_TEXT, TASK(ENGINE_CLASSIFY), WRITTEN_BY_MODEL, HAS_LABELS},
    {"image-classification", ENGINE_IMAGE, TASK(ENGINE_CLASSIFY), WRITTEN_BY_MODEL, HAS_NOTHING},
    {"zero-shot-image-classification", ENGINE_IMAGE, TASK(ENGINE_CLASSIFY), WRITTEN_BY_MODEL,
     HAS_LABELS},
    {"feature-extraction", ENGINE_TEXT, TASK(ENGINE_EMBED), WRITTEN_BY_MODEL, HAS_NOTHING},
    {"sentence-similarity", ENGINE_TEXT, TASK(ENGINE_EMBED), WRITTEN_BY_MODEL, HAS_SENTENCES},
    {"token-classification", ENGINE_TEXT, TASK(ENGINE_TAG), WRITTEN_BY_MODEL, HAS_NOTHING},
    {"question-answering", ENGINE_TEXT, TASK(ENGINE_ANSWER), WRITTEN_BY_MODEL, HAS_NOTHING},
    {"fill-mask", ENGINE_TEXT, TASK(ENGINE_FILL), WRITTEN_BY_MODEL, HAS_NOTHING},
    {"translation", ENGINE_TEXT, TASK(ENGINE_GENERATE), WRITTEN_TRANSLATION, HAS_NOTHING},
    {"summarization", ENGINE_TEXT, TASK(ENGINE_GENERATE), WRITTEN_SUMMARY, HAS_NOTHING},
    {"text2text-generation", ENGINE_TEXT, TASK(ENGINE_GENERATE), WRITTEN_TEXT, HAS_NOTHING},
    {"text-generation", ENGINE_TEXT, TASK(ENGINE_GENERATE), WRITTEN_TEXT, HAS_NOTHING},
    {"image-to-text", ENGINE_IMAGE, TASK(ENGINE_GENERATE), WRITTEN_TEXT, HAS_NOTHING},
};

/* ---- the call ---- */

static void label_place(const struct predict_call *call, unsigned index, char out[CALL_PLACE_BYTES])
{
    (void)call;
    snprintf(out, CALL_PLACE_BYTES, "candidate_labels[%u]", index);
}

static enum err_code accept_body(struct request *request)
{
    request->call.model_place = "model";
    if (content_accept(request) || request->body == REQUEST_JSON || request->body == REQUEST_IMAGE)
        return request->err.code;
    return err_set(&request->err, ERR_MEDIA_TYPE, "the body must be JSON or a picture");
}

/* With what labels take: their places, and as hypotheses once more. */
static size_t parse_bytes(struct request *request)
{
    const size_t inputs = request->snapshot->config.inputs_max;
    const size_t of_labels =
        memory_sum(memory_product(content_len_max(request), sizeof(const char *) + 1),
                   inputs * (LIMIT_LABEL_BYTES + 2 * ARENA_ALIGNMENT));
    return request->body == REQUEST_IMAGE ? memory_sum(content_bytes(request), RAW_BYTES)
                                          : memory_sum(texts_parse_bytes(request), of_labels);
}

/* The scores that are asked for are the model's, or its logits. */
static enum err_code read_function(struct request *request, const struct json_t *parameters)
{
    struct hf *state = request->state;
    const char *function = NULL;
    if (doc_get_string(parameters, "$.parameters", "function_to_apply", &function, &request->err) ||
        function == NULL)
        return request->err.code;
    if (request->call.labels.count > 0 || request->call.wish == WISH_VECTOR ||
        (state->info != NULL && (parts_are_told(state->info) || state->info->task == ENGINE_EMBED ||
                                 state->info->task == ENGINE_GENERATE)))
        return err_set(&request->err, ERR_UNUSABLE,
                       "function_to_apply: it is of a model's own labels for a whole text or "
                       "picture");
    state->how.wants_logits = strcmp(function, "none") == 0;
    if (state->how.wants_logits || state->info == NULL ||
        strcmp(function, state->info->scores) == 0)
        return ERR_OK;
    return err_set(&request->err, ERR_UNUSABLE,
                   "function_to_apply: the model's scores are by %s: expected that or none",
                   state->info->scores);
}

static enum err_code read_vector_options(struct request *request, const struct json_t *object,
                                         const char *path)
{
    struct predict_call *call = &request->call;
    long long dimensions = call->vector.dimensions;
    const bool has_normalize = doc_member(object, "normalize") != NULL;
    if (doc_get_bool(object, path, "normalize", &call->vector.is_scaled, &request->err) ||
        doc_get_integer(object, path, "dimensions", 1, INT_MAX, &dimensions, &request->err) ||
        texts_name(request, object, path, "prompt_name", LIMIT_ID_BYTES, &call->prompt_name))
        return request->err.code;
    call->vector.dimensions = (unsigned)dimensions;
    call->refuses_unit |= has_normalize && !call->vector.is_scaled;
    if (has_normalize || dimensions > 0 || call->prompt_name != NULL)
        call->wish = WISH_VECTOR;
    return ERR_OK;
}

static enum err_code read_labels(struct request *request, const struct json_t *parameters)
{
    struct hf *state = request->state;
    struct engine_labels *labels = &request->call.labels;
    const struct json_t *list = doc_member(parameters, "candidate_labels");
    const size_t count = doc_array_count(list);
    char where[CALL_PLACE_BYTES];
    size_t len;
    if (doc_get_bool(parameters, "$.parameters", "multi_label", &state->is_multi_label,
                     &request->err))
        return request->err.code;
    if (list == NULL && (state->is_multi_label || doc_member(parameters, "hypothesis_template")))
        return err_set(&request->err, ERR_UNUSABLE, "%s: it goes with candidate_labels",
                       state->is_multi_label ? "multi_label" : "hypothesis_template");
    if (list == NULL)
        return ERR_OK;
    if (count == 0 || count > ENGINE_LABELS_MAX)
        return err_set(&request->err, ERR_UNUSABLE,
                       "candidate_labels: expected a list of 1 to %d texts", ENGINE_LABELS_MAX);
    const char **texts = arena_alloc_array(&request->exchange->arena, count, sizeof *texts);
    if (texts == NULL)
        return err_no_memory(&request->err, count * sizeof *texts);
    for (unsigned i = 0; i < count; i++) {
        label_place(&request->call, i, where);
        if (texts_text(request, doc_array_item(list, i), where, &texts[i], &len))
            return request->err.code;
        if (len != strlen(texts[i]))
            return err_set(&request->err, ERR_UNUSABLE, "%s: must not contain control characters",
                           where);
    }
    labels->texts = texts;
    labels->count = (unsigned)count;
    return texts_name(request, parameters, "$.parameters", "hypothesis_template", LIMIT_LABEL_BYTES,
                      &labels->hypothesis);
}

/* top_k, which has another default for each task. */
static enum err_code read_top(struct request *request, const struct json_t *parameters)
{
    static const char key[] = "top_k";
    struct hf *state = request->state;
    const enum engine_task task = state->info != NULL ? state->info->task : ENGINE_CLASSIFY;
    long long top_k = TOP_K_ALL;
    if (task == ENGINE_GENERATE)
        return written_read_top(request, parameters);
    if (doc_get_integer(parameters, "$.parameters", key, 1, INT_MAX, &top_k, &request->err))
        return request->err.code;
    if (task == ENGINE_TAG && top_k != TOP_K_ALL)
        return err_set(&request->err, ERR_UNUSABLE, "%s: the model answers all spans", key);
    const bool is_text = state->info != NULL && state->info->kind == ENGINE_TEXT;
    if (top_k != TOP_K_ALL && (request->call.wish == WISH_VECTOR || task == ENGINE_EMBED ||
                               (request->call.labels.count > 0 && is_text)))
        return err_set(&request->err, ERR_UNUSABLE,
                       "top_k: a vector, cosines and scores of candidate_labels for a text are "
                       "answered whole");
    if (task == ENGINE_FILL && top_k > PARTS_TOP_MAX)
        return err_set(&request->err, ERR_UNUSABLE, "%s: for masked tokens it must be from 1 to %d",
                       key, PARTS_TOP_MAX);
    state->how.top_k = (unsigned)top_k;
    state->parts.top_k = top_k == TOP_K_ALL ? PARTS_FILL_TOP : (unsigned)top_k;
    request->call.top_k = top_k == TOP_K_ALL ? 1 : (unsigned)top_k;
    return ERR_OK;
}

/* A question and its text. */
static enum err_code read_question(struct request *request, const struct json_t *inputs,
                                   const char *where, struct engine_source *out)
{
    static const char *const names[] = {"context", "question"};
    char at[CALL_PLACE_BYTES + 16];
    struct engine_source parts[2];
    if (doc_object_count(inputs) == 0 ||
        doc_check_members(inputs, where, "question, context", &request->err))
        return request->err.code != ERR_OK
                   ? (request->err.code = ERR_UNUSABLE)
                   : err_set(&request->err, ERR_UNUSABLE,
                             "%s: expected {\"question\": \"...\", \"context\": \"...\"}", where);
    for (int i = 0; i < 2; i++) {
        snprintf(at, sizeof at, "%s.%s", where, names[i]);
        if (texts_source(request, doc_member(inputs, names[i]), at, &parts[i]))
            return request->err.code;
    }
    *out = parts[0];
    out->question.text = parts[1].bytes;
    out->question.len = parts[1].len;
    return ERR_OK;
}

/* ---- inputs ---- */

/* One text for each label: the hypothesis with the label in it, as the pair of the text. */
static enum err_code pose_hypotheses(struct request *request, const struct json_t *inputs)
{
    struct predict_call *call = &request->call;
    struct hf *state = request->state;
    const struct engine_labels labels = call->labels;
    const char *hypothesis = labels.hypothesis != NULL ? labels.hypothesis : template;
    const char *gap = strstr(hypothesis, "{}");
    struct engine_source text;
    if (engine_check_labels(&labels, &request->err) ||
        texts_source(request, inputs, "inputs", &text) ||
        texts_room(request, labels.count, "candidate_labels"))
        return request->err.code;
    call->place = label_place;
    call->wish = WISH_ENTAIL;
    call->labels = (struct engine_labels){.count = 0};
    state->form = HF_HYPOTHESES;
    state->labels = labels;
    state->scores = arena_alloc_array(&request->exchange->arena, labels.count, sizeof(float));
    if (state->scores == NULL)
        return err_no_memory(&request->err, labels.count * sizeof(float));
    for (unsigned i = 0; i < call->item_count; i++) {
        struct predict_item *item = &call->items[i];
        item->source = text;
        item->source.pair =
            arena_format(&request->exchange->arena, "%.*s%s%s", (int)(gap - hypothesis), hypothesis,
                         labels.texts[i], gap + 2);
        if (item->source.pair == NULL)
            return err_no_memory(&request->err, strlen(labels.texts[i]));
        item->source.pair_len = strlen(item->source.pair);
    }
    return ERR_OK;
}

/* {"source_sentence", "sentences"}, {"question", "context"}, {"image"} or {"text", "text_pair"}. */
static enum err_code read_object(struct request *request, const struct json_t *inputs)
{
    struct predict_call *call = &request->call;
    struct hf *state = request->state;
    const struct json_t *pair = doc_member(inputs, "text_pair");
    state->form = doc_member(inputs, "sentences") != NULL ? HF_SIMILARITY : HF_ONE;
    if (state->form == HF_SIMILARITY)
        return texts_similarity(request, inputs);
    if (doc_member(inputs, "question") != NULL) {
        call->wish = WISH_ANSWER;
        return texts_items(request, inputs, "inputs", read_question);
    }
    if (texts_room(request, 1, "inputs"))
        return request->err.code;
    struct engine_source *source = &call->items[0].source;
    if (doc_member(inputs, "image") != NULL)
        return texts_source_or_image(request, inputs, "inputs", source);
    if (doc_check_members(inputs, "$.inputs", "text, text_pair", &request->err))
        return request->err.code = ERR_UNUSABLE;
    if (texts_source(request, doc_member(inputs, "text"), "inputs.text", source) || pair == NULL)
        return request->err.code;
    return texts_text(request, pair, "inputs.text_pair", &source->pair, &source->pair_len);
}

static enum err_code read_inputs(struct request *request, const struct json_t *inputs)
{
    struct predict_call *call = &request->call;
    struct hf *state = request->state;
    const bool is_image = state->info != NULL && state->info->kind == ENGINE_IMAGE;
    if (doc_object_count(inputs) > 0)
        return read_object(request, inputs);
    if (state->is_multi_label && is_image)
        return err_set(&request->err, ERR_UNUSABLE,
                       "multi_label: it goes with candidate_labels of a text");
    if (call->labels.count > 0 && !is_image)
        return pose_hypotheses(request, inputs);
    state->form = texts_is_array(inputs) ? HF_LIST : HF_ONE;
    const bool asks = doc_member(doc_array_item(inputs, 0), "question") != NULL;
    if (asks)
        call->wish = WISH_ANSWER;
    return texts_items(request, inputs, "inputs",
                       asks       ? read_question
                       : is_image ? texts_image
                                  : texts_source);
}

/* The model that the path names, or the one that would answer such inputs. */
static void choose_model(struct request *request, const struct json_t *inputs)
{
    struct hf *state = request->state;
    struct predict_call *call = &request->call;
    const struct json_t *first = texts_is_array(inputs) ? doc_array_item(inputs, 0) : inputs;
    const bool is_text = snapshot_default(request->snapshot, ENGINE_TEXT) != NULL &&
                         doc_member(first, "image") == NULL;
    if (state->written.is_asked)
        call->wish = WISH_TEXT;
    else if (doc_member(first, "question") != NULL)
        call->wish = WISH_ANSWER;
    else if (doc_member(inputs, "sentences") != NULL)
        call->wish = WISH_VECTOR;
    else if (call->labels.count > 0 && call->model == NULL && is_text)
        call->wish = WISH_ENTAIL;
    state->model = call->model != NULL
                       ? snapshot_find(request->snapshot, call->model)
                       : rows_default(request, is_text ? ENGINE_TEXT : ENGINE_IMAGE);
    state->info = state->model != NULL ? state->model->info : NULL;
}

/* The model must have the task of the path, and the call what the task's calls have: a zero-shot
 * model alone may have labels of its own. */
static enum err_code check_task(struct request *request, const struct json_t *inputs)
{
    const struct hf *state = request->state;
    const struct hf_task *task = state->task;
    const bool has_labels = request->call.labels.count > 0;
    const bool has_sentences = doc_member(inputs, "sentences") != NULL;
    if (task == NULL || state->info == NULL)
        return ERR_OK;
    if (!engine_reads(state->info, task->kind) || (task->of & TASK(state->info->task)) == 0)
        return err_set(&request->err, ERR_UNUSABLE, "the model %s has another task than %s",
                       state->model->name, task->name);
    if (has_labels != (task->has == HAS_LABELS) && (has_labels || !state->info->is_zero_shot))
        return err_set(&request->err, ERR_UNUSABLE, "candidate_labels: the task %s %s", task->name,
                       has_labels ? "has none" : "needs them");
    if (has_sentences != (task->has == HAS_SENTENCES))
        return err_set(&request->err, ERR_UNUSABLE, "inputs.sentences: the task %s %s", task->name,
                       has_sentences ? "has none" : "needs them, and source_sentence");
    return ERR_OK;
}

/* Some clients put these beside `inputs`, others into `parameters`. */
static enum err_code read_where_clients_do(struct request *request, const struct json_t *root,
                                           const struct json_t *parameters)
{
    static const char *const keys[] = {"normalize", "prompt_name", "dimensions", "truncate",
                                       "truncation_direction"};
    const char *found[2] = {NULL, NULL};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        found[0] = doc_member(root, keys[i]) != NULL ? keys[i] : found[0];
        found[1] = doc_member(parameters, keys[i]) != NULL ? keys[i] : found[1];
    }
    if (found[0] != NULL && found[1] != NULL)
        return err_set(&request->err, ERR_UNUSABLE,
                       "$.%s stands beside $.parameters.%s: such options go into one of the two "
                       "places",
                       found[0], found[1]);
    const struct json_t *object = found[0] != NULL ? root : parameters;
    const char *path = found[0] != NULL ? "$" : "$.parameters";
    return read_vector_options(request, object, path) ? request->err.code
                                                      : texts_truncation(request, object, path);
}

static enum err_code read_json(struct request *request, const struct json_t *root)
{
    static const char of_parameters[] =
        "top_k, function_to_apply, candidate_labels, hypothesis_template, multi_label, normalize, "
        "prompt_name, dimensions, truncate, truncation_direction, aggregation_strategy, "
        "ignore_labels, stride, align_to_words, doc_stride, handle_impossible_answer, "
        "max_answer_len, max_question_len, max_seq_len, targets, " WRITTEN_TASKS
        ", " WRITTEN_GENERATION ", " WRITTEN_GENERATE;
    struct hf *state = request->state;
    const struct json_t *parameters;
    if (texts_parameters(request, root, "$.parameters", of_parameters, &parameters))
        return request->err.code;
    if (doc_check_members(doc_member(root, "options"), "$.options",
                          "use_cache, wait_for_model, use_gpu, dont_load_model", &request->err))
        return request->err.code = ERR_UNUSABLE;
    state->written.is_generation |= doc_member(root, "stream") != NULL;
    if (read_labels(request, parameters) || read_where_clients_do(request, root, parameters) ||
        written_read(request, parameters, &state->written) ||
        doc_get_bool(root, "$", "stream", &request->call.stream, &request->err))
        return request->err.code;
    choose_model(request, doc_member(root, "inputs"));
    if (check_task(request, doc_member(root, "inputs")) || read_function(request, parameters) ||
        read_top(request, parameters) ||
        parts_read(request, parameters, state->model, &state->parts))
        return request->err.code;
    if (read_inputs(request, doc_member(root, "inputs")) || !request->call.stream ||
        state->form == HF_ONE)
        return request->err.code;
    return err_set(&request->err, ERR_UNUSABLE,
                   "stream: one text or picture is answered as a stream, not a list");
}

/* Finds the task of the path. */
static enum err_code read_task(struct request *request)
{
    struct hf *state = request->state;
    const char *name = request_value(request, "task");
    char names[512] = "";
    if (name == NULL)
        return err_no_memory(&request->err, strlen(request->exchange->path));
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++) {
        if (strcmp(tasks[i].name, name) == 0) {
            state->task = &tasks[i];
            state->written.form = tasks[i].form;
            state->written.is_generation = strcmp(name, "text-generation") == 0;
            return ERR_OK;
        }
        const size_t len = strlen(names);
        snprintf(names + len, sizeof names - len, "%s%s", i > 0 ? ", " : "", tasks[i].name);
    }
    return err_set(&request->err, ERR_NOT_FOUND, "no such task; there are %s", names);
}

static enum err_code open_call(struct request *request)
{
    const bool has_name = strchr(request->pattern, '{') != NULL;
    const bool has_task = strstr(request->pattern, "{task}") != NULL;
    struct hf *state = arena_alloc_array(&request->exchange->arena, 1, sizeof *state);
    request->call = (struct predict_call){.place = texts_place,
                                          .model_place = "model",
                                          .keep = true,
                                          .wish = WISH_PIPELINE,
                                          .top_k = TOP_K_ALL};
    request->state = state;
    if (has_name)
        request->call.model = request_value(request, "name");
    if (state == NULL || (has_name && request->call.model == NULL))
        return err_no_memory(&request->err, sizeof *state);
    return has_task ? read_task(request) : ERR_OK;
}

static enum err_code parse(struct request *request)
{
    static const char known[] = "inputs, parameters, options, normalize, prompt_name, dimensions, "
                                "truncate, truncation_direction, stream";
    struct json_t *root = NULL;
    if (open_call(request) || content_decode(request))
        return request->err.code;
    if (request->body == REQUEST_IMAGE) {
        request->call.refuses_cut = true;
        choose_model(request, NULL);
        if (check_task(request, NULL))
            return request->err.code;
        if (!texts_room(request, 1, "body"))
            request->call.items[0].source = (struct engine_source){
                .kind = ENGINE_IMAGE, .bytes = request->content, .len = request->content_len};
        return request->err.code;
    }
    if (request->body != REQUEST_JSON)
        return err_set(&request->err, ERR_MEDIA_TYPE, "the body must be JSON or a picture");
    if (!texts_parse(request, &root, known, 0))
        read_json(request, root);
    doc_free(root);
    return request->err.code;
}

/* ---- the answer ---- */

static size_t row_bytes(const struct request *request, const struct row *row, size_t *work)
{
    const struct hf *state = request->state;
    const size_t label =
        state->form == HF_HYPOTHESES ? strlen(state->labels.texts[row - request->rows]) : 0;
    if (parts_are_told(row_info(row)))
        return parts_bytes(request, row, &state->parts, work);
    if (row_info(row)->task == ENGINE_GENERATE)
        return written_bytes(request, row, &state->written, work);
    return memory_sum(memory_product(1 + writing_vector_size(request, row), WRITING_NUMBER_BYTES),
                      writing_labels_bytes(row) + 6 * label);
}

/* Softmax over the labels' entailment, or of each label's over its contradiction: that is the first
 * class, or the last if entailment is the first, as in transformers. */
static void score_hypotheses(const struct request *request)
{
    struct hf *state = request->state;
    const unsigned count = request->call.item_count;
    const bool is_multi = state->is_multi_label || count == 1;
    double sum = 0, largest = -INFINITY;
    for (unsigned i = 0; i < count; i++) {
        const struct engine_info *info = row_info(&request->rows[i]);
        const float *logits = request->rows[i].answer.result.logits;
        const unsigned yes = (unsigned)rows_entailment(info),
                       no = yes == 0 ? info->label_count - 1 : 0;
        state->scores[i] = is_multi
                               ? (float)(1 / (1 + exp((double)logits[no] - (double)logits[yes])))
                               : logits[yes];
        largest = fmax(largest, (double)logits[yes]);
    }
    for (unsigned i = 0; !is_multi && i < count; i++)
        sum += exp((double)state->scores[i] - largest);
    for (unsigned i = 0; !is_multi && i < count; i++)
        state->scores[i] = (float)(exp((double)state->scores[i] - largest) / sum);
}

static void write_hypothesis(const struct request *request, struct writing *writing)
{
    const struct hf *state = request->state;
    if (writing->encoded == 0) {
        score_hypotheses(request);
        writing_rank(writing->order, state->scores, request->call.item_count);
    }
    const unsigned index = writing->order[writing->encoded];
    writing_label(&writing->text, state->labels.texts[index], state->scores[index], true);
}

/* Several inputs with one text each have one list, as pipelines have it; pictures, and inputs with
 * more texts, have a list each. */
static void write_texts(const struct request *request, struct writing *writing,
                        const struct row *row)
{
    const struct hf *state = request->state;
    bool has_lists = state->form == HF_LIST && row_info(row)->kind == ENGINE_IMAGE;
    for (unsigned i = 0; state->form == HF_LIST && i < request->call.item_count; i++)
        has_lists |= request->rows[i].answer.result.text_count > 1;
    codec_text_add(&writing->text, has_lists ? "[" : "");
    written_row(&writing->text, request, row, &state->written);
    codec_text_add(&writing->text, has_lists ? "]" : "");
}

static void write_row(const struct request *request, struct writing *writing, struct row *row)
{
    const struct hf *state = request->state;
    if (row_info(row)->task == ENGINE_GENERATE)
        write_texts(request, writing, row);
    else if (state->form == HF_SIMILARITY)
        writing_cosine(&writing->text, request, &request->rows[0], row);
    else if (row_info(row)->task == ENGINE_EMBED) {
        writing_numbers(&writing->text, row->answer.result.vector,
                        writing_vector_size(request, row));
    } else if (parts_are_told(row_info(row)))
        parts_write(&writing->text, request, row, &state->parts);
    else
        writing_labels(writing, row, &state->how);
}

/* Labels of one text stand in a list of lists, as these clients expect; those of a picture do not,
 * nor do one vector, parts of one text and the end of a stream. */
static bool is_bare(const struct request *request)
{
    const struct hf *state = request->state;
    const struct engine_info *info = row_info(&request->rows[0]);
    return request->call.stream ||
           (state->form == HF_ONE && info->task != ENGINE_GENERATE &&
            (info->kind == ENGINE_IMAGE || info->task == ENGINE_EMBED || parts_are_told(info)));
}

static unsigned encode_row(struct request *request)
{
    const struct hf *state = request->state;
    const unsigned first = state->form == HF_SIMILARITY;
    struct writing *writing =
        writing_next(request, is_bare(request) ? "" : "[", request->call.item_count - first);
    if (writing == NULL)
        return 0;
    if (state->form == HF_HYPOTHESES)
        write_hypothesis(request, writing);
    else
        write_row(request, writing, &request->rows[first + writing->encoded]);
    return writing_done(writing, is_bare(request) ? "" : "]");
}

/* Clients of text-generation-inference know their own kinds of errors alone. */
static const char *problem(struct request *request, size_t *len)
{
    const struct hf *state = request->state;
    const bool is_theirs = state != NULL && state->written.is_generation;
    return is_theirs ? texts_tgi_problem(request, len) : texts_tei_problem(request, len);
}

const struct protocol protocol_hf = {
    .name = "hf",
    .accept = accept_body,
    .parse_bytes = parse_bytes,
    .parse = parse,
    .row_bytes = row_bytes,
    .encode_row = encode_row,
    .problem = problem,
    .head = tei_head,
    .event = written_event,
    WRITING_PROTOCOL,
};
