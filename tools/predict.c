/* attnd-predict - labels of files, without a server; also the oracle that the server's answers are
 * compared with. */
#include "engine/base/cpu.h"
#include "engine/base/doc.h"
#include "engine/base/file.h"
#include "engine/cli/cli_main.h"
#include "engine/cli/cli_rows.h"
#include "engine/decide/argmax.h"
#include "engine/engine.h"
#include "engine/vision/input_formats.h"
#include "learn/data/input_list.h"
#include "learn/eval/answer_table.h"
#include "learn/eval/candidate_list.h"
#include "learn/eval/measure/input_reader.h"
#include "tools/answers/answer_words.h"
#include "tools/answers/writing_options.h"
#include "wire/answer.h"
#include "wire/problem.h"

#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOP_K_UNSET = ~0u };

struct predict {
    struct engine_options options;
    const char *dir;
    struct input_list inputs;
    unsigned top_k;               /* 0: all */
    struct candidate_list labels; /* labels for a zero-shot model; none: its own */
    struct vector_form vector;
    struct writing_options write;
    bool has_top_k; /* --top-k is given */
    bool json, raw_logits;
    int32_t *target_ids; /* [target_count] the text whose logits are asked for; NULL: none */
    unsigned target_count;
    bool explain;
    struct explain_options how;

    struct engine_model *model;
    struct engine_model *labelled; /* with these labels; NULL: the model answers in its own */
    struct engine_session *session;
    struct engine_result result; /* result of the current input */
    struct arena arena;          /* room of the result */
    char name[NAME_MAX + 1];     /* the model's, as its directory is called */
    char digest[72];
    struct input_reader reader;
};

/* ---- options ---- */

/* The row's tag says what the value is. */
enum { VALUE_TEXT, VALUE_TEXT_FILE, VALUE_IMAGE };

static enum err_code add_value(const struct cli_option *option, void *target, const char *value,
                               struct err *err)
{
    struct predict *predict = target;
    struct listed_input input = {.is_image = option->tag == VALUE_IMAGE};
    if (option->tag == VALUE_TEXT) {
        input.text = value;
        input.text_len = strlen(value);
    } else {
        input.path = value;
    }
    return input_list_add(&predict->inputs, &input, err);
}

static enum err_code add_pair(const struct cli_option *option, void *target, const char *value,
                              struct err *err)
{
    struct input_list *inputs = &((struct predict *)target)->inputs;
    struct listed_input *last = inputs->count > 0 ? &inputs->items[inputs->count - 1] : NULL;
    (void)option;
    if (last == NULL || last->is_image || last->text == NULL || last->file != NULL ||
        last->pair != NULL)
        return err_set(err, ERR_UNUSABLE, "it belongs behind a --text, one to each");
    last->pair = value;
    return ERR_OK;
}

static enum err_code set_long_text(const struct cli_option *option, void *target, const char *value,
                                   struct err *err)
{
    static const char *const words[] = {
        [LONG_TEXT_TRUNCATE] = "truncate", [LONG_TEXT_WINDOWS] = "windows"};
    struct predict *predict = target;
    (void)option;
    for (int i = LONG_TEXT_TRUNCATE; i <= LONG_TEXT_WINDOWS; i++)
        if (strcmp(value, words[i]) == 0) {
            predict->reader.reading.long_text = (enum engine_long_text)i;
            return ERR_OK;
        }
    return err_set(err, ERR_UNUSABLE, "expected truncate or windows");
}

static enum err_code set_aggregation(const struct cli_option *option, void *target,
                                     const char *value, struct err *err)
{
    enum aggregation *aggregation = &((struct predict *)target)->reader.reading.aggregation;
    (void)option;
    return aggregation_find(value, strlen(value), aggregation)
               ? ERR_OK
               : err_set(err, ERR_UNUSABLE, "expected " AGGREGATION_NAMES);
}

static enum err_code set_question(const struct cli_option *option, void *target, const char *value,
                                  struct err *err)
{
    struct engine_question *question = &((struct predict *)target)->reader.question;
    (void)option, (void)err;
    question->text = value;
    question->len = strlen(value);
    return ERR_OK;
}

static enum err_code set_stride(const struct cli_option *option, void *target, const char *value,
                                struct err *err)
{
    const size_t digits = strspn(value, "0123456789");
    (void)option;
    if (digits == 0 || digits > 5 || value[digits] != '\0')
        return err_set(err, ERR_UNUSABLE, "expected a number of tokens");
    ((struct predict *)target)->reader.question.overlap = 1 + (unsigned)atoi(value);
    return ERR_OK;
}

static enum err_code add_lines(const struct cli_option *option, void *target, const char *value,
                               struct err *err)
{
    (void)option;
    return input_list_add_lines(&((struct predict *)target)->inputs, value, err);
}

static enum err_code add_path(const struct cli_option *option, void *target, const char *value,
                              struct err *err)
{
    (void)option;
    return input_list_add_path(&((struct predict *)target)->inputs, value, err);
}

static enum err_code set_top_k(const struct cli_option *option, void *target, const char *value,
                               struct err *err)
{
    (void)option;
    ((struct predict *)target)->has_top_k = true;
    return answer_words_top_k(value, &((struct predict *)target)->top_k, err);
}

static enum err_code add_label(const struct cli_option *option, void *target, const char *value,
                               struct err *err)
{
    (void)option;
    return candidate_list_add(&((struct predict *)target)->labels, value, err);
}

static enum err_code add_labels(const struct cli_option *option, void *target, const char *value,
                                struct err *err)
{
    (void)option;
    return candidate_list_add_json(&((struct predict *)target)->labels, value, err);
}

static enum err_code set_encoding(const struct cli_option *option, void *target, const char *value,
                                  struct err *err)
{
    (void)option;
    if (vector_encoding_find(value, strlen(value), &((struct predict *)target)->vector.encoding))
        return ERR_OK;
    return err_set(err, ERR_UNUSABLE, "expected " VECTOR_ENCODING_NAMES);
}

static enum err_code set_chunks(const struct cli_option *option, void *target, const char *value,
                                struct err *err)
{
    struct predict *predict = target;
    (void)option;
    if (!vector_chunks_find(value, strlen(value), &predict->vector.chunks))
        return err_set(err, ERR_UNUSABLE, "expected " VECTOR_CHUNKS_NAMES);
    predict->reader.reading.vectors = predict->vector.chunks;
    return ERR_OK;
}

static enum err_code set_explain(const struct cli_option *option, void *target, const char *value,
                                 struct err *err)
{
    struct predict *predict = target;
    (void)option;
    predict->explain = true;
    return answer_words_method(value, &predict->how.method, err);
}

/* A JSON array of ids. */
static enum err_code set_target(const struct cli_option *option, void *target, const char *value,
                                struct err *err)
{
    const struct doc_limits limits = {.depth_max = 1, .tokens_max = GENERATION_NEW_MAX + 2};
    struct predict *predict = target;
    struct json_t *list;
    (void)option;
    if (doc_parse(&list, value, strlen(value), &limits, err))
        return err->code;
    const size_t count = doc_array_count(list);
    predict->target_ids = arena_alloc_array(&predict->arena, count + 1, sizeof(int32_t));
    if (count == 0)
        err_set(err, ERR_UNUSABLE, "expected a JSON array of token ids");
    else if (predict->target_ids == NULL)
        err_no_memory(err, count * sizeof(int32_t));
    for (size_t i = 0; i < count && err->code == ERR_OK; i++) {
        double id;
        if (!doc_as_number(doc_array_item(list, i), &id) || id < 0 || id > INT32_MAX ||
            id != floor(id))
            err_set(err, ERR_UNUSABLE, "[%zu]: expected a token id", i);
        else
            predict->target_ids[i] = (int32_t)id;
    }
    predict->target_count = (unsigned)count;
    writing_options_give(&predict->write);
    doc_free(list);
    return err->code;
}

static enum err_code set_writing(const struct cli_option *option, void *target, const char *value,
                                 struct err *err)
{
    struct predict *predict = target;
    return writing_options_set(&predict->write, option->name, value, err);
}

#define ROW(member, ...) CLI_ROW(struct predict, member, __VA_ARGS__)
#define FLAG(member, name, help) CLI_ROW_FLAG(struct predict, member, name, help)

static const struct cli_option options[] = {
    CLI_ROW_MODEL(struct predict, dir),
    CLI_ROW_OTHER("text", "S", add_value, .tag = VALUE_TEXT, .help = "Predicts this text."),
    CLI_ROW_OTHER(
        "text-pair", "S", add_pair,
        .help = "The second text of the --text before it, for a model that reads two together."),
    CLI_ROW_OTHER("text-file", "F", add_value, .tag = VALUE_TEXT_FILE, .stream = CLI_STDIN,
                  .help = "Predicts the whole file as one text; - is standard input."),
    CLI_ROW_OTHER("image", "F", add_value, .tag = VALUE_IMAGE,
                  .help = "Predicts this " INPUT_FORMATS_OR
                          " file, or a wafer: F.stdf or F.stdf#WAFER_ID."),
    CLI_ROW_OTHER("lines", "F", add_lines, .stream = CLI_STDIN,
                  .help = "Predicts each line of the file that is not blank; - is standard input."),
    CLI_ROW_OTHER(
        "long-text", "HOW", set_long_text,
        .help =
            "Of texts longer than the model reads: truncate, or windows over all of it (default: "
            "the model's own way)."),
    ROW(reader.prompt_name, "prompt-name", "NAME",
        .help =
            "Embedding: the model's prompt that is put before each text (default: the model's)."),
    CLI_ROW_OTHER(
        "aggregation", "HOW", set_aggregation,
        .help = "Tags: how labels of tokens become spans: none, simple, first, max or average, as "
                "in transformers, or path (default: the model's, else simple)."),
    ROW(vector.dimensions, "dimensions", "N", .min = 1, .max = INT_MAX,
        .help = "Embedding: only the first N numbers of a vector."),
    FLAG(vector.is_scaled, "normalize", "Embedding: scales what is left to length 1."),
    CLI_ROW_OTHER("encoding", "NAME", set_encoding,
                  .help = "Embedding, with --json: " VECTOR_ENCODING_NAMES " (default: float)."),
    CLI_ROW_OTHER("chunks", "WHAT", set_chunks,
                  .help =
                      "Embedding, with --json: also vectors of a text's " VECTOR_CHUNKS_NAMES "."),
    CLI_ROW_OTHER("question", "S", set_question,
                  .help = "Question answering: what is asked of each text."),
    CLI_ROW_OTHER("doc-stride", "N", set_stride,
                  .help = "With --question: tokens that two windows of a long text share."),
    ROW(reader.question.tokens_max, "max-seq-len", "N", .min = 1, .max = 100000,
        .help = "With --question: tokens of a window (default: 384, or what the model reads)."),
    ROW(reader.question.length_max, "max-answer-len", "N", .min = 1, .max = 100000,
        .help = "With --question: tokens of an answer (default: 15)."),
    FLAG(reader.question.may_be_empty, "handle-impossible-answer",
         "With --question: the answer may be empty."),
    FLAG(reader.question.keeps_tokens, "keep-tokens",
         "With --question: answers need not be whole words (align_to_words false)."),
    WRITING_ROWS("-", set_writing),
    WRITING_ROW_ALLOW(set_writing),
    WRITING_ROW_COPY_NUMBERS(set_writing),
    CLI_ROW_OTHER("candidate-labels", "JSON", add_labels,
                  .help = "Zero-shot: answers in these labels, a JSON array of strings."),
    CLI_ROW_OTHER("candidate-label", "S", add_label,
                  .help = "Zero-shot: one more label to answer in."),
    ROW(labels.hypothesis, "hypothesis-template", "S",
        .help = "Zero-shot: what each of them is put into, at its {} (default: the model's)."),
    CLI_ROW_OTHER("top-k", "N|all", set_top_k,
                  .help = "How many labels to print, best first (default: all; with --json: 1)."),
    CLI_ROW_OTHER(
        "explain", "METHOD", set_explain,
        .help = "Also tells where the model looked: default, rollout, attention, or, for the best "
                "label, gradient or gradient-last; of a model that writes: alignment."),
    ROW(how.layer, "explain-layer", "N", .min = 1, .max = 1000,
        .help = "The layer of rollout or attention; 1 is the lowest (default: the last)."),
    FLAG(how.statistics, "attention-stats",
         "With --explain and --json, numbers on the attention of each head."),
    FLAG(json, "json", "Prints one JSON object a line, as POST /predict answers."),
    FLAG(raw_logits, "raw-logits",
         "As --json, and adds the logits and, for a text, the token ids."),
    CLI_ROW_OTHER(
        "target-ids", "JSON", set_target,
        .help = "Writing, with --raw-logits: adds target_logits, those of this text's token ids (a "
                "JSON array, without the start)."),
    CLI_ROW_DTYPE(struct predict, options.dtype),
    CLI_ROW_LINEAR_BACKEND(struct predict, options.linear_backend),
};

static const struct cli cli = {
    .program = "attnd-predict",
    .usage =
        "attnd-predict --model DIR (PATH | --text S | --text-file F | --image F | --lines F)... "
        "[OPTION]...",
    .summary =
        "Answers texts or images with a Hugging Face checkpoint directory. A PATH is a file,\n"
        "a folder with all that lies below it, or a pattern; " INPUT_FORMATS_LIST
        " and STDF files\nare known by their content, all others are texts.",
    .examples = "  attnd-predict --model wafer-vit lot7/*.png --explain rollout\n"
                "  attnd-predict --model testlog-bert --text-file fail.log --json",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .positional = add_path,
};

/* ---- who answers ---- */

/* The model that answers: the one with the given labels, if there are any. */
static const struct engine_model *answering(const struct predict *predict)
{
    return predict->labelled != NULL ? predict->labelled : predict->model;
}

/* ---- output ---- */

/* target_logits of the text whose ids are given. */
static bool add_target(const struct predict *predict, const struct engine_input *input,
                       struct json_t *object, struct err *err)
{
    struct arena arena;
    const float *logits;
    unsigned vocabulary;
    bool ok = true;
    arena_init(&arena);
    if (!engine_teach(predict->session, input, predict->target_ids, predict->target_count, &arena,
                      &logits, &vocabulary, err))
        ok = answer_add_rows(object, "target_logits", logits, predict->target_count, vocabulary);
    arena_deinit(&arena);
    return ok;
}

static enum err_code print_json(const struct predict *predict, const struct listed_input *source,
                                const struct engine_input *input,
                                const struct explanation *explanation, struct err *err)
{
    const struct engine_info *info = engine_describe(answering(predict));
    const struct answer answer = {.model_name = predict->name,
                                  .model_version = info->version,
                                  .model_digest = predict->digest,
                                  .info = info,
                                  .result = predict->result,
                                  .vector = predict->vector,
                                  .input = input,
                                  .explanation = explanation,
                                  .text = predict->reader.text,
                                  .text_len = predict->reader.text_len};
    struct json_t *object = answer_prediction(&answer, predict->top_k);
    bool ok = object != NULL;
    if (ok && predict->raw_logits && info->task == ENGINE_GENERATE)
        ok = predict->result.text_count == 0 ||
             answer_add_integers(object, "output_ids", predict->result.texts[0].ids,
                                 predict->result.texts[0].count);
    else if (ok && predict->raw_logits && predict->result.rows != NULL)
        ok = answer_add_rows(object, "logits", predict->result.rows,
                             engine_rows(answering(predict), input), info->row_size);
    else if (ok && predict->raw_logits && predict->result.logits != NULL)
        ok = answer_add_reals(object, "logits", predict->result.logits, info->label_count);
    if (ok && predict->raw_logits && input->kind == ENGINE_TEXT)
        ok = answer_add_integers(object, "ids", input->ids, input->tokens);
    if (ok && predict->raw_logits && predict->target_ids != NULL)
        ok = add_target(predict, input, object, err);
    if (ok && source->file != NULL)
        ok = answer_add_origin(object, source->file, source->line);
    ok = ok && (err->code != ERR_OK || answer_print(object, stdout));
    doc_free(object);
    if (err->code != ERR_OK)
        return err_prefix(err, "target-ids: ");
    return ok ? ERR_OK : err_set(err, ERR_IO, "the answer cannot be printed");
}

static enum err_code print_table(const struct predict *predict, const struct listed_input *source,
                                 struct err *err)
{
    printf("%s", source->path != NULL ? source->path : source->line > 0 ? source->file : "text");
    if (source->line > 0)
        printf(":%u", source->line);
    return answer_table_print(engine_describe(answering(predict)), &predict->result,
                              predict->reader.text, predict->reader.text_len, predict->top_k,
                              stdout, err);
}

/* An input that failed: on stderr, and with --json its problem object in its place. */
static void report(const struct predict *predict, unsigned index, const struct err *err)
{
    const struct listed_input *source = &predict->inputs.items[index];
    fprintf(stderr, "attnd-predict: input %u: %s\n", index + 1, err->text);
    if (!predict->json)
        return;
    struct json_t *problem = problem_document(err, NULL);
    if (problem != NULL &&
        (source->file == NULL || answer_add_origin(problem, source->file, source->line)))
        answer_print(problem, stdout);
    doc_free(problem);
}

/* No text that obeys the rules: nothing is explained. */
static bool is_explained(const struct predict *predict)
{
    const struct engine_result *result = &predict->result;
    return predict->explain && (result->task != ENGINE_GENERATE || result->text_count > 0);
}

static enum err_code predict_input(struct predict *predict, struct engine_input *input,
                                   struct arena *arena, struct explanation *explanation,
                                   struct err *err)
{
    const struct engine_model *model = answering(predict);
    if (engine_result_rows(&predict->result, model, input, arena, err))
        return err->code;
    if (predict->explain && engine_capture(model, input, &predict->how, arena, err))
        return err->code;
    engine_run(predict->session, &(const struct engine_input *){input}, 1,
               &(struct engine_result *){&predict->result});
    if (!predict->result.is_finite)
        return err_set(err, ERR_INTERNAL, "the model gave a score that is not a finite number");
    if (predict->result.task == ENGINE_GENERATE &&
        engine_result_texts(&predict->result, arena, err))
        return err->code;
    vector_form_scale(&predict->vector, engine_describe(model), input, &predict->result);
    if (!is_explained(predict))
        return ERR_OK;
    if (predict->result.task == ENGINE_GENERATE)
        return engine_align(model, input, predict->result.texts, arena, explanation, err);
    const struct engine_source text = {
        .kind = ENGINE_TEXT, .bytes = predict->reader.text, .len = predict->reader.text_len};
    return engine_explain(model, &text, input, &predict->how, predict->result.label, arena,
                          explanation, err);
}

static bool predict_one(struct predict *predict, unsigned index)
{
    const struct listed_input *source = &predict->inputs.items[index];
    struct engine_input input = {0};
    struct explanation explanation;
    struct arena arena;
    struct err err = {0};
    arena_init(&arena);
    if (!input_reader_prepare(&predict->reader, source, &arena, &input, &err) &&
        !predict_input(predict, &input, &arena, &explanation, &err)) {
        const struct explanation *why = is_explained(predict) ? &explanation : NULL;
        if (predict->json)
            print_json(predict, source, &input, why, &err);
        else if (!print_table(predict, source, &err) && why != NULL)
            answer_table_explain(why, predict->reader.text, predict->reader.text_len, source->pair,
                                 stdout);
    }
    if (err.code != ERR_OK)
        report(predict, index, &err);
    arena_deinit(&arena);
    return err.code == ERR_OK;
}

/* ---- main ---- */

static enum err_code check(struct predict *predict, struct err *err)
{
    const bool asks = predict->reader.question.text != NULL;
    predict->json = predict->json || predict->raw_logits;
    predict->options.writes_texts = true;
    if (predict->target_ids != NULL && !predict->raw_logits)
        return err_set(err, ERR_UNUSABLE, "--target-ids belongs to --raw-logits");
    if (predict->write.is_given)
        predict->reader.writing = &predict->write.writing;
    if (predict->top_k == 0 && asks)
        return err_set(err, ERR_UNUSABLE, "--top-k all: with --question it is a number");
    if (predict->top_k == TOP_K_UNSET)
        predict->top_k = predict->json || asks ? 1 : 0;
    if (asks)
        predict->reader.question.top = predict->top_k;
    if (predict->inputs.notes != NULL)
        fprintf(stderr, "attnd-predict: %s\n", predict->inputs.notes);
    if (predict->inputs.count == 0)
        return err_set(err, ERR_UNUSABLE,
                       "no input: give a file, a folder, --text, --text-file, --image or --lines");
    if (predict->labels.hypothesis != NULL && predict->labels.count == 0)
        return err_set(err, ERR_UNUSABLE,
                       "--hypothesis-template belongs to --candidate-labels or --candidate-label");
    if (!predict->explain && (predict->how.layer > 0 || predict->how.statistics))
        return err_set(err, ERR_UNUSABLE,
                       "--explain-layer and --attention-stats belong to --explain METHOD");
    return ERR_OK;
}

static enum err_code open_all(void *target, struct err *err)
{
    struct predict *predict = target;
    if (check(predict, err))
        return err->code;
    file_last_part(predict->dir, predict->name);
    if (engine_open(&predict->model, predict->dir, &predict->options, err) ||
        engine_session_open(&predict->session, predict->model, 0, cpu_quota_threads(""), err))
        return err_prefix(err, "%s: ", predict->dir);
    if (candidate_list_open(&predict->labelled, predict->model, &predict->labels,
                            cpu_quota_threads(""), err))
        return err_prefix(err, "%s: ", predict->dir);
    if (predict->json && engine_digest(predict->model, NULL, predict->digest, err))
        return err->code;
    const struct engine_info *info = engine_describe(predict->model);
    if (info->dtype_reason != NULL)
        fprintf(stderr, "attnd-predict: dtype %s\n", info->dtype_reason);
    if (info->task == ENGINE_GENERATE && predict->has_top_k)
        return err_set(
            err, ERR_UNUSABLE,
            "--top-k: a model that writes has no labels; --num-return-sequences says how "
            "many texts are answered");
    if (info->task == ENGINE_GENERATE && predict->explain) {
        writing_options_give(&predict->write)->aligns = true;
        predict->reader.writing = &predict->write.writing;
    }
    if (vector_form_check(&predict->vector, info, err))
        return err_prefix(err, "%s: ", predict->dir);
    predict->reader.model = answering(predict);
    return engine_result_init(&predict->result, answering(predict), &predict->arena, err);
}

static enum err_code predict_all(struct cli_run *run, struct err *err)
{
    struct predict *predict = run->target;
    (void)err; /* each input reports its own */
    for (unsigned i = 0; i < predict->inputs.count; i++)
        if (!predict_one(predict, i))
            run->status = CLI_FAILURE;
    return ERR_OK;
}

static void close_all(void *target)
{
    struct predict *predict = target;
    input_reader_close(&predict->reader);
    engine_session_close(predict->session);
    engine_close(predict->labelled);
    engine_close(predict->model);
    candidate_list_close(&predict->labels);
    arena_deinit(&predict->arena);
    input_list_close(&predict->inputs);
    writing_options_close(&predict->write);
}

static const struct cli_program programs[] = {
    {.cli = &cli, .prepare = open_all, .run = predict_all, .close = close_all}};

int main(int argc, char **argv)
{
    struct predict predict = {.inputs = {.text_option = "--text"}, .top_k = TOP_K_UNSET};
    return cli_main(programs, 1, argc, argv, &predict);
}
