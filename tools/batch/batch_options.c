#include "tools/batch/batch_run.h"

#include "engine/base/cpu.h"
#include "engine/base/file.h"
#include "engine/base/utf8.h"
#include "engine/cli/cli_rows.h"
#include "tools/answers/answer_words.h"
#include "tools/batch/output.h"
#include "tools/batch/sources.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CSV_LABELS_MAX = 100 };

/* ---- the table ---- */

/* The row's tag is the kind. */
static enum err_code add_source(const struct cli_option *option, void *target, const char *value,
                                struct err *err)
{
    struct batch_options *options = target;
    enum source_kind kind = option != NULL ? (enum source_kind)option->tag : SOURCE_PATH;
    return sources_add(&options->sources, kind, value, err);
}

static enum err_code set_top_k(const struct cli_option *option, void *target, const char *value,
                               struct err *err)
{
    struct batch_options *options = target;
    (void)option;
    return answer_words_top_k(value, &options->local.format.top_k, err);
}

static enum err_code set_asked(const struct cli_option *option, void *target, const char *value,
                               struct err *err)
{
    struct batch_options *options = target;
    return asking_set(&options->local.answers.asking, option->name, value, err);
}

static enum err_code set_explain(const struct cli_option *option, void *target, const char *value,
                                 struct err *err)
{
    struct batch_options *options = target;
    (void)option;
    options->explain = value;
    options->local.answers.explain = true;
    return answer_words_method(value, &options->local.answers.how.method, err);
}

static enum err_code set_out(const struct cli_option *option, void *target, const char *value,
                             struct err *err)
{
    (void)option;
    if (value[0] == '\0')
        return err_set(err, ERR_UNUSABLE, "must not be empty");
    ((struct batch_options *)target)->out = strcmp(value, "-") != 0 ? value : NULL;
    return ERR_OK;
}

#define ROW(member, ...) CLI_ROW(struct batch_options, member, __VA_ARGS__)
#define FLAG(member, name, help) CLI_ROW_FLAG(struct batch_options, member, name, help)

static const struct cli_option table[] = {
    ROW(model, "model", "DIR",
        .help =
            "The checkpoint directory, or the name of a shipped model; with --url the name of a "
            "model that is served there "
            "(default: the server's)."),
    CLI_ROW_OTHER("lines", "FILE", add_source, .tag = SOURCE_LINES, .stream = CLI_STDIN,
                  .help = "Answers each line of the file that is not blank; - is standard input."),
    CLI_ROW_OTHER(
        "data", "FILE", add_source, .tag = SOURCE_DATA, .stream = CLI_STDIN,
        .help =
            "Answers each line of a .jsonl or .ndjson file, or each record of a .csv file, which "
            "may be .gz; - is JSON lines of standard input. Images are relative to the file; id is "
            "kept."),
    ROW(text_field, "text-field", "NAME", .fallback = "text",
        .help = "The member or column of --data that holds the text."),
    ROW(image_field, "image-field", "NAME", .fallback = "image",
        .help = "The member or column of --data that names the image."),
    ROW(id_field, "id-field", "NAME",
        .help = "The member or column of --data whose value is the id of the answer (default id)."),
    ROW(out, "out", "FILE", .apply = set_out, .stream = CLI_STDOUT,
        .help = "Where the results go (default, and -: standard output). The same command "
                "continues a file "
                "that it began, by FILE.state."),
    ROW(format, "format", "NAME", .choices = "jsonl|csv", .fallback = "jsonl",
        .help = "One JSON object a line, as POST /predict answers, or a flat table."),
    CLI_ROW_OTHER(
        "top-k", "N|all", set_top_k,
        .help = "How many labels to tell, or answers, or words for each masked token, best first "
                "(default: 1)."),
    CLI_ROW_OTHER("explain", "METHOD", set_explain,
                  .help =
                      "Also tells where the model looked: default, rollout, attention, gradient, "
                      "gradient-last, or of a text that is written alignment."),
    ROW(local.answers.prompt_name, "prompt-name", "NAME",
        .help =
            "Embedding: the model's prompt that is put before each text (default: the model's)."),
    ASKING_ROW_AGGREGATION(set_asked),
    CLI_ROW_OTHER(
        "question", "S", set_asked,
        .help = "Question answering: what is asked of each text. A member or column question of "
                "--data comes first."),
    ASKING_ROWS_WINDOW("-", set_asked),
    FLAG(local.answers.asking.question.may_be_empty, "handle-impossible-answer",
         "Question answering: the answer may be empty."),
    ASKING_ROW_WORDS("-", set_asked),
    ASKING_ROW_DIMENSIONS(set_asked),
    FLAG(local.answers.asking.vector.is_scaled, "normalize",
         "Embedding: scales what is left to length 1."),
    ASKING_ROWS_VECTOR(set_asked),
    WRITING_ROWS("-", set_asked),
    WRITING_ROW_COPY_NUMBERS(set_asked),
    CLI_ROW_DTYPE(struct batch_options, local.answers.engine.dtype),
    CLI_ROW_LINEAR_BACKEND(struct batch_options, local.answers.engine.linear_backend),
    ROW(threads, "threads", "N", .min = 1, .max = CLI_THREADS_MAX,
        .help = "How many batches are worked on at once (default: the cores that may be used)."),
    ROW(rate, "rate", "R", .min = 0.001, .max = 1e9, .help = "At most so many inputs a second."),
    ROW(remote.url, "url", "URL",
        .help =
            "Asks a running attnd, http://HOST:PORT or https://, instead of opening a model. A run "
            "is resumed if the served model has the same name, version, dtype and weights. "
            "attnd.json is not compared: give a new calibration a new version."),
    ROW(remote.key_file, "key-file", "FILE", .stream = CLI_STDIN,
        .help = "With --url: sends the key in this file with each request; - is standard input."),
    CLI_ROW_CA_FILE(struct batch_options, remote.ca_file),
};

const struct cli batch_options_cli = {
    .program = "attnd-batch",
    .usage = "attnd-batch --model DIR (--lines FILE | --data FILE | PATH)... [--out FILE] "
             "[OPTION]...",
    .summary =
        "Classifies files of any length: lines of text, JSON lines, CSV, and images, texts and\n"
        "STDF lots by their PATH, a file, a folder or a pattern. One result a line in the order\n"
        "of the inputs; an input that fails has its problem in its place. Ctrl-C or a kill lose\n"
        "nothing: with --out the same command goes on.",
    .examples =
        "  attnd-batch --model testlog-bert --lines fails.log --out verdicts.jsonl\n"
        "  attnd-batch --model wafer-vit lot7.stdf --format csv\n"
        "  attnd-batch --url http://127.0.0.1:8080 --data inputs.jsonl --out verdicts.jsonl",
    .options = table,
    .option_count = sizeof table / sizeof table[0],
    .positional = add_source,
};

/* ---- what excludes what ---- */

static enum err_code check_csv(const struct batch_options *options, struct err *err)
{
    unsigned top_k = options->local.format.top_k;
    if (!options->local.format.is_csv)
        return ERR_OK;
    if (options->explain != NULL)
        return err_set(err, ERR_UNUSABLE,
                       "--explain needs --format jsonl: an explanation is no cell of a table");
    if (top_k == 0 || top_k > CSV_LABELS_MAX)
        return err_set(err, ERR_UNUSABLE,
                       "--top-k: with --format csv a number from 1 to %d, two columns for each",
                       CSV_LABELS_MAX);
    return ERR_OK;
}

static enum err_code check_url(const struct batch_options *options, struct err *err)
{
    const struct remote_options *remote = &options->remote;
    if (remote->url == NULL && (remote->key_file != NULL || remote->ca_file != NULL))
        return err_set(err, ERR_UNUSABLE, "--key-file and --ca-file belong to --url");
    if (remote->url != NULL && (options->local.answers.engine.dtype != NULL ||
                                options->local.answers.engine.linear_backend != NULL))
        return err_set(err, ERR_UNUSABLE,
                       "--dtype and --linear-backend are the server's with --url");
    return ERR_OK;
}

enum err_code batch_options_settle(struct batch_options *out, struct err *err)
{
    out->local.format.is_csv = strcmp(out->format, "csv") == 0;
    if (out->model != NULL && out->remote.url == NULL && shipped_dir(&out->model, err))
        return err->code;
    out->local.answers.dir = out->model;
    out->remote.model = out->model;
    out->remote.explain = out->explain;
    out->remote.prompt_name = out->local.answers.prompt_name;
    out->local.answers.top_k = out->local.format.top_k;
    out->remote.asking = out->local.answers.asking;
    out->remote.format = out->local.format;
    out->remote.pause_ms = REMOTE_PAUSE_MS;
    if (out->threads == 0)
        out->threads = cpu_quota_threads("");
    if (out->model == NULL && out->remote.url == NULL)
        return err_set(err, ERR_UNUSABLE, "--model DIR is missing; --help shows the usage");
    if (out->sources.count == 0)
        return err_set(err, ERR_UNUSABLE,
                       "no input: give a file, a folder, --lines or --data; - is standard input");
    return check_csv(out, err) || check_url(out, err) ? err->code : ERR_OK;
}

/* ---- what a run is ---- */

/* A path may be no UTF-8, which the state's JSON is. */
static char *copy(const char *text)
{
    char hash[SHA256_HEX_BYTES];
    text = text != NULL ? text : "";
    if (utf8_is_valid(text, strlen(text)))
        return strdup(text);
    sha256_hex(text, strlen(text), hash);
    return strdup(hash);
}

static char *list_inputs(const struct sources *sources)
{
    static const char *const kinds[] = {
        [SOURCE_LINES] = "--lines ", [SOURCE_DATA] = "--data ", [SOURCE_PATH] = ""};
    char *text = NULL;
    size_t len;
    FILE *file = open_memstream(&text, &len);
    if (file == NULL)
        return NULL;
    for (unsigned i = 0; i < sources->count; i++)
        fprintf(file, "%s%s%s", i > 0 ? " " : "", kinds[sources->items[i].kind],
                sources->items[i].form.path);
    if (fclose(file) != 0) {
        free(text);
        return NULL;
    }
    char *out = copy(text);
    free(text);
    return out;
}

/* "" where nothing is asked; a question of any length as its digest. */
static char *describe_asking(const struct asking *asking, struct err *err)
{
    char *members, hash[SHA256_HEX_BYTES];
    if (asking_write(&members, asking, err) || asking->question.text == NULL)
        return members;
    sha256_hex(asking->question.text, asking->question.len, hash);
    const size_t bytes = strlen(members) + sizeof "question " + sizeof hash;
    char *text = malloc(bytes);
    if (text != NULL)
        snprintf(text, bytes, "%squestion %s", members, hash);
    free(members);
    return text;
}

/* Digest of the listed files that exist: of their names and digests, in this order; "none" if none
 * exists. */
static enum err_code digest_files(char **out, const char *dir, const char *const *names,
                                  struct err *err)
{
    char all[2048] = "", hash[SHA256_HEX_BYTES] = "none";
    for (; *names != NULL; names++) {
        char path[PATH_MAX], one[SHA256_HEX_BYTES];
        bool exists;
        if (file_path(path, dir, *names, err) || file_exists(path, &exists, err))
            return err->code;
        if (!exists)
            continue;
        if (sha256_files((const char *const[]){path}, 1, NULL, one, err))
            return err_prefix(err, "%s: ", dir);
        const size_t len = strlen(all);
        const int added = snprintf(all + len, sizeof all - len, "%s %s\n", *names, one);
        if (added < 0 || (size_t)added >= sizeof all - len)
            return err_set(err, ERR_INTERNAL, "%s: too many files to compare", dir);
    }
    if (all[0] != '\0')
        sha256_hex(all, strlen(all), hash);
    *out = strdup(hash);
    return *out != NULL ? ERR_OK : err_no_memory(err, sizeof hash);
}

/* Files other than the weights that decide an answer. attnd_head.safetensors is in the model's
 * digest. */
static enum err_code digest_model(struct output_state *out, const char *dir, struct err *err)
{
    static const char *const calibration[] = {"attnd.json", NULL};
    static const char *const reading[] = {"config.json",
                                          "preprocessor_config.json",
                                          "processor_config.json",
                                          "tokenizer.json",
                                          "tokenizer_config.json",
                                          "generation_config.json",
                                          "special_tokens_map.json",
                                          "added_tokens.json",
                                          "vocab.txt",
                                          "vocab.json",
                                          "merges.txt",
                                          "target_vocab.json",
                                          "source.spm",
                                          "target.spm",
                                          "spiece.model",
                                          "sentencepiece.bpe.model",
                                          "modules.json",
                                          "config_sentence_transformers.json",
                                          "sentence_bert_config.json",
                                          "1_Pooling/config.json",
                                          NULL};
    out->dir = dir;
    if (digest_files(&out->attnd_json, dir, calibration, err))
        return err->code;
    return digest_files(&out->reading, dir, reading, err);
}

enum err_code batch_options_state(struct output_state *out, const struct batch_options *options,
                                  const char *model, const char *dtype, struct err *err)
{
    const char *prompt = options->local.answers.prompt_name;
    const char *id = options->id_field;
    char top_k[16], fields[512];
    snprintf(top_k, sizeof top_k, "%u", options->local.format.top_k);
    snprintf(fields, sizeof fields, "%.100s, %.100s%s%.100s%s%.100s", options->text_field,
             options->image_field, id != NULL ? ", id " : "", id != NULL ? id : "",
             prompt != NULL ? ", prompt " : "", prompt != NULL ? prompt : "");
    *out = (struct output_state){0};
    out->model = copy(model);
    out->inputs = list_inputs(&options->sources);
    out->format = copy(options->format);
    out->dtype = copy(dtype);
    out->top_k = copy(options->local.format.top_k > 0 ? top_k : "all");
    out->explain = copy(options->explain);
    out->fields = copy(fields);
    out->asked = describe_asking(&options->local.answers.asking, err);
    out->url = copy(options->remote.url);
    bool ok = true;
#define X(key, name) ok = ok && out->key != NULL;
    OUTPUT_STATE_PARTS(X)
#undef X
    if (!ok)
        return err_no_memory(err, 0);
    return options->remote.url == NULL ? digest_model(out, options->model, err) : ERR_OK;
}
