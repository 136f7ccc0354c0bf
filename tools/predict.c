/* attnd-predict - labels of files, without a server; also the oracle that the server's answers are
 * compared with. */
#include "engine/answer.h"
#include "engine/base/cpu.h"
#include "engine/base/doc.h"
#include "engine/base/file.h"
#include "engine/base/openblas.h"
#include "engine/cli/cli.h"
#include "engine/decide/argmax.h"
#include "engine/engine.h"
#include "learn/data/input_list.h"
#include "learn/data/picture.h"
#include "learn/eval/candidate_list.h"
#include "server/protocol/problem.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_RUNTIME = 1, EXIT_USAGE = 2 };
enum { FILE_BYTES_MAX = 256 * 1024 * 1024, PIXELS_MAX = 64 * 1024 * 1024 };

struct predict {
    struct engine_options options;
    const char *dir;
    struct input_list inputs;
    unsigned top_k;               /* 0: all */
    struct candidate_list labels; /* of a zero-shot model; none: its own */
    bool json, raw_logits;
    bool explain;
    struct explain_options how;

    struct engine_model *model;
    struct engine_model *labelled; /* with these labels; NULL: the model answers in its own */
    struct engine_session *session;
    float *logits, *scores;
    struct judgement judgement; /* of the current input */
    char name[NAME_MAX + 1];    /* the model's, as its directory is called */
    char digest[72];
    struct pictures pictures;
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
    struct predict *predict = target;
    size_t top_k = 0;
    if (strcmp(value, "all") != 0 &&
        cli_option_parse_whole(value, option->min, option->max, &top_k, err))
        return err->code;
    predict->top_k = (unsigned)top_k;
    return ERR_OK;
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

static enum err_code set_explain(const struct cli_option *option, void *target, const char *value,
                                 struct err *err)
{
    struct predict *predict = target;
    (void)option;
    predict->explain = true;
    predict->how.method = EXPLAIN_DEFAULT;
    if (strcmp(value, "default") == 0 || method_find(value, &predict->how.method))
        return ERR_OK;
    return err_set(err, ERR_UNUSABLE, "no method '%s' (known: default, %s)", value, method_names());
}

#define FIELD(field) CLI_FIELD(struct predict, field)
#define INPUT(tag_) .type = CLI_OTHER, .apply = add_value, .tag = tag_

static const struct cli_option options[] = {
    {.name = "model",
     FIELD(dir),
     .value = "DIR",
     .is_required = true,
     .help = "The checkpoint directory."},
    {.name = "text", INPUT(VALUE_TEXT), .value = "S", .help = "Predicts this text."},
    {.name = "text-file",
     INPUT(VALUE_TEXT_FILE),
     .value = "F",
     .help = "Predicts the whole file as one text; - is standard input."},
    {.name = "image",
     INPUT(VALUE_IMAGE),
     .value = "F",
     .help = "Predicts this PNG or JPEG file, or a wafer: F.stdf or F.stdf#WAFER_ID."},
    {.name = "lines",
     .type = CLI_OTHER,
     .value = "F",
     .apply = add_lines,
     .help = "Predicts each line of the file that is not blank; - is standard input."},
    {.name = "candidate-labels",
     .type = CLI_OTHER,
     .value = "JSON",
     .apply = add_labels,
     .help = "Zero-shot: answers in these labels, a JSON array of strings."},
    {.name = "candidate-label",
     .type = CLI_OTHER,
     .value = "S",
     .apply = add_label,
     .help = "Zero-shot: one more label to answer in."},
    {.name = "hypothesis-template",
     FIELD(labels.hypothesis),
     .value = "S",
     .help = "Zero-shot: what each of them is put into, at its {} (default: the model's)."},
    {.name = "top-k",
     .type = CLI_OTHER,
     .value = "N|all",
     .min = 1,
     .max = 1000000,
     .apply = set_top_k,
     .help = "How many labels to print, best first (default: all; with --json: 1)."},
    {.name = "explain",
     .type = CLI_OTHER,
     .value = "METHOD",
     .apply = set_explain,
     .help = "Also tells where the model looked: default, rollout, attention, or, for the best "
             "label, gradient or gradient-last."},
    {.name = "explain-layer",
     FIELD(how.layer),
     .value = "N",
     .min = 1,
     .max = 1000,
     .help = "The layer of rollout or attention; 1 is the lowest (default: the last)."},
    {.name = "attention-stats",
     FIELD(how.statistics),
     .help = "With --explain and --json, numbers on the attention of each head."},
    {.name = "json",
     FIELD(json),
     .help = "Prints one JSON object a line, as POST /predict answers."},
    {.name = "raw-logits",
     FIELD(raw_logits),
     .help = "As --json, and adds the logits and, for a text, the token ids."},
    {.name = "dtype",
     FIELD(options.dtype),
     .value = "NAME",
     .help = "The precision of the linear layers: f32 (default), bf16 or int8."},
    {.name = "linear-backend",
     FIELD(options.linear_backend),
     .value = "NAME",
     .help = "auto, native, onednn, openblas or reference."},
};

static const struct cli cli = {
    .program = "attnd-predict",
    .usage =
        "attnd-predict --model DIR (PATH | --text S | --text-file F | --image F | --lines F)... "
        "[OPTION]...",
    .summary =
        "Classifies texts or images with a Hugging Face checkpoint directory. A PATH is a file,\n"
        "a folder with all that lies below it, or a pattern; PNG, JPEG and STDF files are known\n"
        "by their content, all others are texts.",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .positional = add_path,
};

/* ---- one input ---- */

/* What answers: the model, with the labels that were given, if any were. */
static const struct engine_model *answering(const struct predict *predict)
{
    return predict->labelled != NULL ? predict->labelled : predict->model;
}

static enum err_code check_kind(const struct predict *predict, const struct listed_input *source,
                                struct err *err)
{
    bool is_image = engine_describe(predict->model)->kind == ENGINE_IMAGE;
    if (is_image == source->is_image)
        return ERR_OK;
    return err_set(err, ERR_UNUSABLE, "the model takes %s", is_image ? "images" : "texts");
}

static enum err_code prepare_picture(struct predict *predict, const char *path, struct arena *arena,
                                     struct engine_input *input, struct err *err)
{
    const struct image_options how = {
        .pixels_max = PIXELS_MAX, .grey16_minmax = engine_describe(predict->model)->grey16_minmax};
    struct image image;
    struct arena scratch;
    arena_init(&scratch);
    if (!picture_read(&predict->pictures, path, &how, &scratch, &image, err))
        engine_prepare_pixels(answering(predict), &image, NULL, arena, input, err);
    arena_deinit(&scratch);
    return err->code;
}

static enum err_code prepare_file(const struct predict *predict, const char *path,
                                  struct arena *arena, struct engine_input *input, struct err *err)
{
    char *bytes;
    size_t len;
    if (file_read(&bytes, &len, path, FILE_BYTES_MAX, err))
        return err->code;
    engine_prepare_text(predict->model, bytes, len, NULL, arena, input, err);
    free(bytes);
    return err->code;
}

static enum err_code prepare(struct predict *predict, const struct listed_input *source,
                             struct arena *arena, struct engine_input *input, struct err *err)
{
    if (check_kind(predict, source, err))
        return err->code;
    if (source->is_image)
        return prepare_picture(predict, source->path, arena, input, err);
    if (source->path != NULL)
        return prepare_file(predict, source->path, arena, input, err);
    return engine_prepare_text(predict->model, source->text, source->text_len, NULL, arena, input,
                               err);
}

/* The error names the file. */
static enum err_code prepare_source(struct predict *predict, const struct listed_input *source,
                                    struct arena *arena, struct engine_input *input,
                                    struct err *err)
{
    if (prepare(predict, source, arena, input, err) == ERR_OK)
        return ERR_OK;
    if (source->line > 0)
        return err_prefix(err, "%s: line %u: ", source->file, source->line);
    return source->path != NULL ? err_prefix(err, "%s: ", source->path) : err->code;
}

/* ---- output ---- */

static struct answer make_answer(const struct predict *predict, const struct engine_input *input)
{
    const struct engine_info *info = engine_describe(answering(predict));
    return (struct answer){.model_name = predict->name,
                           .model_version = info->version,
                           .model_digest = predict->digest,
                           .info = info,
                           .scores = predict->scores,
                           .judgement = predict->judgement,
                           .truncated = input->truncated,
                           .windows = input->windows};
}

static enum err_code print_json(const struct predict *predict, const struct listed_input *source,
                                const struct engine_input *input,
                                const struct explanation *explanation, struct err *err)
{
    const struct engine_info *info = engine_describe(answering(predict));
    struct answer answer = make_answer(predict, input);
    answer.explanation = explanation;
    struct json_t *object = answer_prediction(&answer, predict->top_k);
    bool ok = object != NULL;
    if (ok && predict->raw_logits)
        ok = answer_add_reals(object, "logits", predict->logits, info->label_count);
    if (ok && predict->raw_logits && input->kind == ENGINE_TEXT)
        ok = answer_add_integers(object, "ids", input->ids, input->tokens);
    if (ok && source->file != NULL)
        ok = answer_add_origin(object, source->file, source->line);
    ok = ok && answer_print(object, stdout);
    doc_free(object);
    return ok ? ERR_OK : err_set(err, ERR_IO, "the answer cannot be printed");
}

static unsigned best_after(const float *scores, unsigned count, const bool *shown)
{
    unsigned best = count;
    for (unsigned i = 0; i < count; i++)
        if (!shown[i] && (best == count || scores[i] > scores[best]))
            best = i;
    return best;
}

/* A bar of 32 cells beside each score. */
static void print_row(const char *label, float score)
{
    static const char cells[] = "################################";
    int filled = score > 0 && score <= 1 ? (int)(score * 32 + 0.5f) : 0;
    printf("  %-24s %12.9g  %.*s\n", label, (double)score, filled, cells);
}

/* "decision auto, ood_score -4.1 (rank 0.93)" */
static void print_judgement(const struct judgement *judgement)
{
    printf("  decision %s", decision_name(judgement->decision));
    if (judgement->has_ood)
        printf(", ood_score %.9g", (double)judgement->ood_score);
    if (judgement->has_rank)
        printf(" (rank %.9g)", (double)judgement->ood_rank);
    if (judgement->truncated)
        printf(", its end was not read");
    else if (judgement->decision != DECISION_AUTO && !judgement->never)
        printf(", threshold %.9g", (double)judgement->threshold);
    putchar('\n');
}

/* The patch grid, two characters a patch, the darker the less relevant. */
static void print_grid(const struct explanation *explanation)
{
    static const char shades[] = " .:-=+*#%@";
    const struct patches_view *view = &explanation->view;
    float largest = 0;
    for (unsigned p = 0; p < view->rows * view->columns; p++)
        largest = explanation->patches[p] > largest ? explanation->patches[p] : largest;
    for (unsigned row = 0; row < view->rows; row++) {
        printf("  ");
        for (unsigned column = 0; column < view->columns; column++) {
            float relevance = explanation->patches[row * view->columns + column];
            char shade = shades[(int)(relevance / largest * 9 + 0.5f)];
            printf("%c%c", shade, shade);
        }
        putchar('\n');
    }
}

static void print_explanation(const struct explanation *explanation)
{
    printf("  %s:\n", method_name(explanation->method));
    if (explanation->words == NULL)
        print_grid(explanation);
    for (unsigned i = 0; i < explanation->span_count; i++)
        printf("  characters %u to %u: %.0f %%\n", explanation->spans[i].start,
               explanation->spans[i].end, 100 * (double)explanation->spans[i].relevance);
}

static enum err_code print_table(const struct predict *predict, const struct listed_input *source,
                                 const struct engine_input *input, struct err *err)
{
    const struct engine_info *info = engine_describe(answering(predict));
    bool *shown = calloc(info->label_count, sizeof *shown);
    if (shown == NULL)
        return err_no_memory(err, info->label_count);
    unsigned rows = predict->top_k == 0 || predict->top_k > info->label_count ? info->label_count
                                                                              : predict->top_k;
    printf("%s", source->path != NULL ? source->path : source->line > 0 ? source->file : "text");
    if (source->line > 0)
        printf(":%u", source->line);
    if (input->windows > 0)
        printf(" (read in %u windows)", input->windows);
    puts(input->truncated ? " (longer than the model reads: cut)" : "");
    for (unsigned i = 0; i < rows; i++) {
        unsigned best = best_after(predict->scores, info->label_count, shown);
        shown[best] = true;
        print_row(info->labels[best], predict->scores[best]);
    }
    print_judgement(&predict->judgement);
    free(shown);
    return ERR_OK;
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

static enum err_code predict_input(struct predict *predict, struct engine_input *input,
                                   struct arena *arena, struct explanation *explanation,
                                   struct err *err)
{
    const struct engine_model *model = answering(predict);
    if (predict->explain && engine_capture(model, input, &predict->how, arena, err))
        return err->code;
    engine_run(predict->session, &(const struct engine_input *){input}, 1, &predict->logits);
    if (!engine_scores(model, predict->logits, predict->scores))
        return err_set(err, ERR_INTERNAL, "the model gave a score that is not a finite number");
    engine_judge(model, predict->logits, predict->scores, engine_features(predict->session, 0),
                 input->truncated, &predict->judgement);
    if (!predict->explain)
        return ERR_OK;
    unsigned best = argmax(predict->scores, engine_describe(model)->label_count);
    return engine_explain(model, input, &predict->how, best, arena, explanation, err);
}

static bool predict_one(struct predict *predict, unsigned index)
{
    const struct listed_input *source = &predict->inputs.items[index];
    struct engine_input input = {0};
    struct explanation explanation;
    struct arena arena;
    struct err err = {0};
    arena_init(&arena);
    if (!prepare_source(predict, source, &arena, &input, &err) &&
        !predict_input(predict, &input, &arena, &explanation, &err)) {
        const struct explanation *why = predict->explain ? &explanation : NULL;
        if (predict->json)
            print_json(predict, source, &input, why, &err);
        else if (!print_table(predict, source, &input, &err) && why != NULL)
            print_explanation(why);
    }
    if (err.code != ERR_OK)
        report(predict, index, &err);
    arena_deinit(&arena);
    return err.code == ERR_OK;
}

/* ---- main ---- */

/* The last part of the directory's path. */
static void take_name(struct predict *predict)
{
    size_t len = strlen(predict->dir);
    while (len > 1 && predict->dir[len - 1] == '/')
        len--;
    size_t start = len;
    while (start > 0 && predict->dir[start - 1] != '/')
        start--;
    snprintf(predict->name, sizeof predict->name, "%.*s", (int)(len - start), predict->dir + start);
}

static enum err_code open_all(struct predict *predict, struct err *err)
{
    take_name(predict);
    if (engine_open(&predict->model, predict->dir, &predict->options, err) ||
        engine_session_open(&predict->session, predict->model, 0, cpu_quota_threads(""), err))
        return err_prefix(err, "%s: ", predict->dir);
    if (candidate_list_open(&predict->labelled, predict->model, &predict->labels,
                            cpu_quota_threads(""), err))
        return err_prefix(err, "%s: ", predict->dir);
    if (predict->json && engine_digest(predict->model, NULL, predict->digest, err))
        return err->code;
    unsigned labels = engine_describe(answering(predict))->label_count;
    predict->logits = calloc(labels, sizeof *predict->logits);
    predict->scores = calloc(labels, sizeof *predict->scores);
    if (predict->logits == NULL || predict->scores == NULL)
        return err_no_memory(err, labels * sizeof *predict->scores);
    return ERR_OK;
}

static void close_all(struct predict *predict)
{
    pictures_close(&predict->pictures);
    engine_session_close(predict->session);
    engine_close(predict->labelled);
    engine_close(predict->model);
    candidate_list_close(&predict->labels);
    free(predict->logits);
    free(predict->scores);
    input_list_close(&predict->inputs);
}

static enum err_code parse(struct predict *predict, int argc, char **argv, enum cli_action *action,
                           struct err *err)
{
    enum { UNSET = ~0u };
    predict->top_k = UNSET;
    if (cli_parse(&cli, argc, argv, predict, action, err) || *action != CLI_RUN)
        return err->code;
    predict->json = predict->json || predict->raw_logits;
    if (predict->top_k == UNSET)
        predict->top_k = predict->json ? 1 : 0;
    if (predict->dir == NULL)
        return err_set(err, ERR_UNUSABLE, "--model DIR is missing; --help shows the usage");
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

static int run(struct predict *predict, int argc, char **argv)
{
    enum cli_action action;
    struct err err = {0};
    if (!parse(predict, argc, argv, &action, &err) && action == CLI_RUN)
        open_all(predict, &err);
    if (err.code != ERR_OK) {
        fprintf(stderr, "attnd-predict: %s\n", err.text);
        return EXIT_USAGE;
    }
    if (action == CLI_HELP)
        cli_help(&cli, stdout);
    if (action == CLI_VERSION)
        cli_print_version(&cli, stdout);
    int status = EXIT_SUCCESS;
    for (unsigned i = 0; action == CLI_RUN && i < predict->inputs.count; i++)
        if (!predict_one(predict, i))
            status = EXIT_RUNTIME;
    return cli_printed() ? status : EXIT_RUNTIME;
}

int main(int argc, char **argv)
{
    openblas_set_environment();
    struct predict predict = {0};
    int status = run(&predict, argc, argv);
    close_all(&predict);
    return status;
}
