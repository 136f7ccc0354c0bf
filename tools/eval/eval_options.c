#include "tools/eval/eval.h"

#include "engine/base/cpu.h"
#include "engine/cli/cli_rows.h"
#include "engine/selftest.h"

#include <stdlib.h>
#include <string.h>

static enum err_code set_fill(const struct cli_option *option, void *target, const char *value,
                              struct err *err)
{
    struct eval *eval = target;
    (void)option;
    eval->fill = value;
    return perturbation_find_fill(value, &eval->explain.fill, err);
}

static enum err_code add_unseen(const struct cli_option *option, void *target, const char *value,
                                struct err *err)
{
    struct eval *eval = target;
    if (eval->unseen_count == STRANGENESS_LABELS_MAX)
        return err_set(err, ERR_UNUSABLE, "--%s: at most %d labels", option->name,
                       STRANGENESS_LABELS_MAX);
    eval->unseen[eval->unseen_count++] = value;
    return ERR_OK;
}

static enum err_code add_fold(const struct cli_option *option, void *target, const char *value,
                              struct err *err)
{
    struct eval *eval = target;
    if (eval->out_of_fold_count == EVAL_FOLDS_MAX)
        return err_set(err, ERR_UNUSABLE, "--%s: at most %d files", option->name, EVAL_FOLDS_MAX);
    eval->out_of_fold[eval->out_of_fold_count++] = value;
    return ERR_OK;
}

static enum err_code set_writing(const struct cli_option *option, void *target, const char *value,
                                 struct err *err)
{
    struct eval *eval = target;
    return writing_options_set(&eval->write, option->name, value, err);
}

#define ROW(field, name, value, ...) CLI_ROW(struct eval, field, name, value, __VA_ARGS__)

static const struct cli_option options[] = {
    CLI_ROW_MODEL(struct eval, how.dir),
    ROW(data, "data", "PATH", .is_required = true,
        .help = "The labelled inputs: .jsonl, .csv or a folder. Images may be wafers of STDF lots: "
                "LOT.stdf#WAFER in a list, LOT.stdf in a class's folder."),
    CLI_ROW_DTYPE(struct eval, how.engine.dtype),
    ROW(against, "against", "NAME",
        .help = "Runs a second time in this precision, with all tokens, and compares."),
    ROW(agree_min, "agree-min", "PERCENT", .max = 100,
        .help = "Exits 1 if fewer winners agree with --against."),
    ROW(how.engine.linear_backend, "linear-backend", "NAME",
        .help = "As attnd's linear_backend; --against runs with its default."),
    CLI_ROW_THREADS(struct eval, how.evaluation.threads),
    CLI_ROW_LIMIT(struct eval, fields.items_max),
    CLI_ROWS_FIELDS(struct eval, fields),
    ROW(how.evaluation.usable_min, "usable-min", "SHARE", .fallback = DATASET_USABLE_MIN, .max = 1,
        .help = DATASET_USABLE_HELP),
    CLI_ROW_FLAG(
        struct eval, multi_label, "multi-label",
        "For a multi-label model. An input has several labels or none, as a|b or an array. "
        "Shows figures of each label, micro and macro means, exact matches and Hamming loss."),
    CLI_ROW_TARGET_PRECISION(struct eval, how.target_precision),
    {.name = "purity", .type = CLI_ALIAS, .value = "target-precision"},
    ROW(how.engine.class_prior, "class-prior", "PRIOR",
        .help = "Measures with another class_prior than attnd.json's: natural, equal, or a file of "
                "{label: count}; and what to expect of a stream with these shares."),
    ROW(how.engine.token_pruning, "token-pruning", "SETTING",
        .help =
            "Measures with another token_pruning than attnd.json's: none, or LAYERS:SHARE, as "
            "2:0.28, so many full layers and the share of tokens that go on; --calibrate writes "
            "it, too."),
    ROW(stream, "estimate-prior", "PATH",
        .help = "Estimates how often each label occurs among these inputs, which need no labels; "
                "with --out also as class_prior.json."),
    CLI_ROW_OTHER(
        "unseen", "LABEL", add_unseen,
        .help =
            "Inputs of this label, which the model has not learnt, tell how well such stand out "
            "and how many pass as automatic; may be given again."),
    ROW(out, "out", "DIR",
        .help = "Also writes report.json, and report.html, a page that needs no other file."),
    ROW(logits, "logits", "FILE",
        .help = "Writes the logits of every input, a JSON line each, for attnd-train "
                "--teacher-logits and for --out-of-fold."),
    CLI_ROW_OTHER(
        "out-of-fold", "FILE", add_fold,
        .help =
            "Judges these logits and OOD scores in place of the model's own: files that --logits "
            "of cross-validation wrote, of models that had not learnt the inputs; may be given "
            "again."),
    CLI_ROW_FLAG(
        struct eval, calibrates, "calibrate",
        "Writes the model's attnd.json: temperature, thresholds for --target-precision, OOD "
        "score, the counts of the labels, and what live predictions are compared with; all "
        "without class_prior, which stays. Of a model that writes: the scaling and the "
        "threshold of its confidence."),
    CLI_ROW_FLAG(struct eval, forces, "force",
                 "With --calibrate or --write-agreement: takes inputs that the model learnt, too."),
    ROW(examples, "examples", "PATH",
        .help = "With --calibrate: labelled inputs that the model learnt. Some are kept in it, to "
                "compare new inputs with (default: those that it has, else the data)."),
    ROW(foreign, "foreign", "PATH",
        .help = "With --calibrate: inputs of none of the model's labels, without a label. Each "
                "automatic answer to one counts as a mistake when thresholds are chosen, so that "
                "--target-precision holds where such inputs come as often."),
    ROW(ngrams.characters, "ngrams", "N", .min = 1, .max = NGRAM_CHARACTERS_MAX,
        .help =
            "With --calibrate and --examples, of a model that reads texts: fits a table of word "
            "n-grams of the first N characters of the examples, which stands beside the encoder; "
            "how much it weighs is fitted on --data."),
    ROW(ngrams.key_lines, "ngram-lines", "N", .min = 1, .max = NGRAM_LINES_MAX,
        .help = "With --ngrams: also of the first N lines that have one of --ngram-words in them."),
    ROW(ngrams.key_words, "ngram-words", "LIST", .fallback = "",
        .help = "The words, as they are written in the texts, separated by '|'."),
    ROW(ngrams.weight, "ngram-weight", "WEIGHT", .max = 100,
        .help = "What the table weighs against the encoder, in place of fitting it."),
    CLI_ROW_FLAG(
        struct eval, refers, "reference",
        "Writes only what live predictions are compared with; the rest of attnd.json stays."),
    CLI_ROW_FLAG(
        struct eval, agrees, "write-agreement",
        "With --dtype int8 or bf16 and --against f32: writes only how far they agree. dtype "
        "auto takes int8 only with this figure."),
    ROW(selftest_cases, "write-selftest", "N", .min = 1, .max = SELFTEST_CASES_MAX,
        .help =
            "Writes the model's " SELFTEST_FILE ": N inputs of different labels that it answers "
            "right, with their scores. attnd serves the model only if it gives them again."),
    ROW(ood_data, "ood-data", "PATH",
        .help = "Inputs unlike those of --data: measures how well ood_score separates both."),
    {.name = "strange", .type = CLI_ALIAS, .value = "ood-data"},
    WRITING_ROWS("-", set_writing),
    WRITING_ROW_ALLOW(set_writing),
    WRITING_ROW_COPY_NUMBERS(set_writing),
    CLI_ROW_FLAG(
        struct eval, explains, "explain",
        "Also measures how faithful each method's explanations are; with --out, as a page, "
        "too."),
    ROW(explain.inputs_max, "explain-inputs", "N", .min = 1, .max = CLI_LIMIT_MAX,
        .help = "Explains so many inputs, drawn from the data (default: 500)."),
    CLI_ROW_OTHER(
        "explain-fill", "NAME", set_fill,
        .help = "What removed patches become: median (default), clip (to the median) or mean."),
    CLI_ROW_FLAG(struct eval, json, "json", "Prints the report as one JSON object."),
};

const struct cli eval_cli = {
    .program = "attnd-eval",
    .usage = "attnd-eval --model DIR --data FILE.jsonl|FILE.csv|FOLDER [OPTION]...",
    .summary =
        "Runs labelled inputs through a Hugging Face checkpoint directory and reports how\n"
        "well it classifies them: accuracy and F1 with intervals, each class, the confusion\n"
        "matrix, calibration before and after fitting a temperature, the share that can go out\n"
        "without a person and from which scores on, and the surest mistakes. A list has\n"
        "{\"text\", \"label\"} or {\"image\", \"label\"}, an image being a path relative to the\n"
        "list; a folder has <class>/NAME.png or .jpg. Of a model that answers a number,\n"
        "labels are numbers, and the report has the errors; an embedding is measured by search,\n"
        "a model that scores pairs by the order in which it puts them, a model of tags by spans:\n"
        "{\"text\", \"spans\": [{\"label\", \"start\", \"end\"}]}, in characters, and a model "
        "that\n"
        "writes by the texts: {\"text\" or \"image\", \"target\"}; exact matches, edits, chrF, "
        "BLEU.",
    .examples = "  attnd-eval --model testlog-bert --data labelled.csv --out report\n"
                "  attnd-eval --model models/wafers --data fresh/ --calibrate",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
};

static bool compares_with_f32(const struct eval *eval)
{
    const char *dtype = eval->how.engine.dtype;
    return dtype != NULL && (strcmp(dtype, "int8") == 0 || strcmp(dtype, "bf16") == 0) &&
           eval->against != NULL && strcmp(eval->against, "f32") == 0;
}

enum err_code eval_settle(struct eval *eval, struct err *err)
{
    if (eval->agree_min >= 0 && eval->against == NULL)
        return err_set(err, ERR_UNUSABLE, "--agree-min needs --against, which it judges by");
    if (eval->against != NULL && strcmp(eval->against, "auto") == 0)
        return err_set(err, ERR_UNUSABLE,
                       "--against wants one precision by name: f32, bf16 or int8");
    if (eval->agrees && !compares_with_f32(eval))
        return err_set(err, ERR_UNUSABLE,
                       "--write-agreement needs --dtype int8 or bf16, and --against f32");
    if (eval->agrees && (eval->calibrates || eval->refers || eval->selftest_cases > 0))
        return err_set(err, ERR_UNUSABLE,
                       "--write-agreement needs a run of its own, after --calibrate");
    if (eval->calibrates && eval->refers)
        return err_set(err, ERR_UNUSABLE,
                       "--calibrate and --reference exclude each other: --calibrate writes the "
                       "reference, too");
    if (eval->out_of_fold_count > 0 && (eval->against != NULL || eval->ngrams.characters > 0))
        return err_set(err, ERR_UNUSABLE, "--out-of-fold and --%s exclude each other",
                       eval->against != NULL ? "against" : "ngrams");
    if (eval->forces && !eval->calibrates && !eval->agrees)
        return err_set(err, ERR_UNUSABLE,
                       "--force works only with --calibrate and --write-agreement");
    if (eval->examples != NULL && !eval->calibrates)
        return err_set(err, ERR_UNUSABLE, "--examples needs --calibrate, which chooses them");
    if (eval->foreign != NULL && !eval->calibrates)
        return err_set(err, ERR_UNUSABLE,
                       "--foreign needs --calibrate, which chooses thresholds; --ood-data "
                       "measures");
    if (eval->ngrams.characters > 0 && eval->examples == NULL)
        return err_set(err, ERR_UNUSABLE,
                       "--ngrams needs --calibrate and --examples, whose texts it is fitted on");
    if (eval->ngrams.characters > 0 && ngram_settings_check(&eval->ngrams, err))
        return err->code;
    if (eval->calibrates && eval->how.engine.class_prior != NULL)
        return err_set(err, ERR_UNUSABLE,
                       "--calibrate is without --class-prior: temperature and thresholds hold for "
                       "the labels as the data have them");
    if (!eval->explains && (eval->explain.inputs_max > 0 || eval->fill != NULL))
        return err_set(err, ERR_UNUSABLE, "--explain-%s needs --explain",
                       eval->fill != NULL ? "fill" : "inputs");
    if (eval->selftest_cases > 0 && eval->calibrates)
        return err_set(err, ERR_UNUSABLE,
                       "--write-selftest needs a run of its own: --calibrate changes the scores");
    eval->how.tells_expected = eval->how.engine.class_prior != NULL;
    eval->how.chooses_thresholds = eval->calibrates;
    if (eval->calibrates)
        eval->how.engine.class_prior = "natural";
    if (eval->how.evaluation.threads == 0)
        eval->how.evaluation.threads = cpu_quota_threads("");
    return ERR_OK;
}
