#include "tools/stream/stream_options.h"

#include "engine/base/cpu.h"
#include "engine/base/doc.h"
#include "engine/base/nearest.h"
#include "engine/cli/cli_rows.h"
#include "engine/vision/input_formats.h"
#include "tools/answers/answer_words.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILE_BYTES_MAX = 1024 * 1024 };

/* ---- the table ---- */

static enum err_code set_asked(const struct cli_option *option, void *target, const char *value,
                               struct err *err)
{
    struct stream_options *options = target;
    if (strcmp(option->name, "allowed") == 0) /* a list that a flag names replaces the file's */
        options->answers.asking.write.writing.allowed_count = 0;
    return asking_set(&options->answers.asking, option->name, value, err);
}

#define ROW(member, ...) CLI_ROW(struct stream_options, member, #member, __VA_ARGS__)

static const struct cli_option table[] = {
    ROW(config, "FILE",
        .help =
            "A file with the options below as a JSON object, with underscores instead of dashes. "
            "Options of the command line come first."),
    {.type = CLI_HEADING, .help = "Model"},
    ROW(model, "DIR",
        .help =
            "The checkpoint directory, or the name of a shipped model. A text model reads logs, "
            "an image model " INPUT_FORMATS_OR "."),
    ROW(dtype, "NAME", .choices = "f32|bf16|int8|auto", .fallback = "f32",
        .help = "The precision of the linear layers."),
    ROW(linear_backend, "NAME", .fallback = "auto", .help = "auto, native, openblas or reference."),
    ROW(threads, "N", .min = 1, .max = CLI_THREADS_MAX,
        .help =
            "Number of packed batches that are computed at once (default: the cores that may be "
            "used)."),
    ROW(top_k, "N|all", .fallback = "1",
        .help =
            "Number of labels in an answer, of answers to a question, or of words for each masked "
            "token, best first."),
    ROW(explain, "METHOD", .fallback = "",
        .help = "Also tells where the model looked: default, rollout, attention, gradient, "
                "gradient-last, or of a text that is written alignment."),
    ROW(prompt_name, "NAME", .fallback = "",
        .help =
            "Embedding: the model's prompt that is put before each text (default: the model's)."),
    ASKING_ROW_AGGREGATION(set_asked),
    CLI_ROW_OTHER(
        "question", "TEXT", set_asked,
        .help = "Question answering: what is asked of each text. A question of the message comes "
                "first."),
    ASKING_ROWS_WINDOW("_", set_asked),
    CLI_ROW_OTHER("handle_impossible_answer", "true|false", set_asked,
                  .help = "Question answering: whether the answer may be empty (default: false)."),
    ASKING_ROW_WORDS("_", set_asked),
    ASKING_ROW_DIMENSIONS(set_asked),
    CLI_ROW_OTHER("normalize", "true|false", set_asked,
                  .help =
                      "Embedding: whether what is left is scaled to length 1 (default: false)."),
    ASKING_ROWS_VECTOR(set_asked),
    WRITING_ROWS("_", set_asked),
    CLI_ROW_OTHER(
        "copy_numbers", "true|false", set_asked,
        .help =
            "Writing: whether each number of the text stands in the source text (default: false)."),
    {.type = CLI_HEADING, .help = "Kafka"},
    ROW(brokers, "HOST:PORT,...", .help = "The first brokers to ask; they name the others."),
    ROW(topics, "NAME,...",
        .help = "The topics to read. A name that begins with ^ is a regular expression."),
    ROW(group, "NAME", .fallback = "attnd-stream",
        .help = "The consumer group. Its members share the partitions."),
    ROW(member, "NAME",
        .help =
            "The name of this process in the group; it must be the same after a restart (default: "
            "the host name). A second process of the same name ends the first."),
    ROW(output_topic, "NAME",
        .help = "The topic for verdicts. A verdict has the key and the partition of its input."),
    ROW(dead_letter_topic, "NAME", .fallback = "",
        .help =
            "The topic for inputs that cannot be read: the message as it came, with the problem "
            "as a header. Without it problems go to the output topic."),
    ROW(start, "PLACE", .choices = "earliest|latest", .fallback = "earliest",
        .help = "The place where a group without committed offsets begins."),
    ROW(input, "KIND", .choices = "raw|json", .fallback = "raw",
        .help = "The content of a message without a content-type header. raw: a text or an image. "
                "json: the JSON body of POST /predict with one input."),
    {.type = CLI_HEADING, .help = "Batches: one transaction each"},
    ROW(batch_messages, "N", .min = 1, .max = 100000, .fallback = "4096",
        .help = "Largest number of messages in a batch."),
    ROW(batch_bytes, "BYTES", .min = 1024, .max = 1024.0 * 1024 * 1024, .fallback = "33554432",
        .help = "A batch that has so many bytes takes no further message."),
    ROW(batch_wait_ms, "MS", .min = 1, .max = 60000, .fallback = "100",
        .help = "Longest time that a message waits for others."),
    ROW(batch_compute_ms, "MS", .min = 10, .max = 60000, .fallback = "1000",
        .help =
            "Time that a batch should take to compute. The next batch gets as many inputs as the "
            "speed of the last ones allows. A transaction between batches takes some "
            "milliseconds."),
    ROW(message_bytes_max, "BYTES", .min = 1024, .max = 256.0 * 1024 * 1024, .fallback = "16777216",
        .help = "Largest message in bytes. A larger one is answered with a problem, 413."),
    ROW(transaction_timeout_ms, "MS", .min = 1000, .max = 900000, .fallback = "15000",
        .help = "Time after which the broker aborts the transaction of a process that was killed. "
                "Until then, or until the member is back, readers of committed messages wait."),
    ROW(session_timeout_ms, "MS", .min = 1000, .max = 3600000, .fallback = "10000",
        .help = "Time after which the partitions of a silent member go to others."),
    ROW(max_poll_interval_ms, "MS", .min = 1000, .max = 86400000, .fallback = "300000",
        .help = "Longest time for a batch. After it the group gives the partitions to others."),
    {.type = CLI_HEADING, .help = "Security"},
    ROW(security_protocol, "NAME", .choices = "plaintext|ssl|sasl_plaintext|sasl_ssl",
        .fallback = "plaintext", .help = "The protocol between this client and the brokers."),
    ROW(ssl_ca_file, "FILE", .fallback = "",
        .help = "PEM certificates of the authorities that the brokers are checked by (default: the "
                "system's)."),
    ROW(ssl_certificate_file, "FILE", .fallback = "", .help = "PEM certificate of this client."),
    ROW(ssl_key_file, "FILE", .fallback = "",
        .help = "PEM file with the private key of that certificate."),
    ROW(sasl_mechanism, "NAME", .choices = "PLAIN|SCRAM-SHA-256|SCRAM-SHA-512",
        .fallback = "SCRAM-SHA-512",
        .help = "The SASL mechanism, for sasl_plaintext and sasl_ssl."),
    ROW(sasl_username, "NAME", .fallback = "",
        .help = "The user name, for sasl_plaintext and sasl_ssl."),
    ROW(sasl_password_file, "FILE", .fallback = "", .stream = CLI_STDIN,
        .help = "A file with the password in its first line; - is standard input."),
    {.type = CLI_HEADING, .help = "Observation"},
    ROW(metrics_listen, "ADDRESS:PORT", .fallback = "127.0.0.1:8091",
        .help = "Where /metrics, /healthz and /readyz are served, or none."),
};

enum { OPTIONS = sizeof table / sizeof table[0] };

const struct cli stream_options_cli = {
    .program = "attnd-stream",
    .usage = "attnd-stream --config FILE [OPTION]...",
    .summary =
        "Answers the messages of Kafka topics with a model: each becomes a verdict, the object "
        "that\n"
        "POST /predict answers, in an output topic. Verdicts and the offsets of their inputs are\n"
        "committed in one transaction, so each message is answered exactly once for readers of\n"
        "committed messages. SIGTERM finishes what is begun and leaves the group.",
    .examples = "  attnd-stream --config stream.json\n"
                "  attnd-stream --model testlog-bert --brokers kafka:9092 --topics fails "
                "--output-topic verdicts",
    .options = table,
    .option_count = OPTIONS,
    .epilogue = "Exit status: 0 after SIGTERM or Ctrl-C, 1 on a failure that a restart may mend,\n"
                "2 on wrong use or an unusable model.\n",
};

/* ---- the file ---- */

static const struct cli_option *find(const char *key)
{
    for (size_t i = 0; i < OPTIONS; i++)
        if (table[i].name != NULL && strcmp(table[i].name, key) == 0)
            return &table[i];
    return NULL;
}

static enum err_code set_text(const struct cli_option *option, struct stream_options *options,
                              const struct json_t *value, struct err *err)
{
    const char *text = doc_as_string(value);
    if (text == NULL)
        err_set(err, ERR_UNUSABLE, "expected a string, found %s", doc_type_name(value));
    else
        cli_option_set(option, options, text, err);
    return err->code ? err_prefix(err, "$.%s: ", option->name) : ERR_OK;
}

/* An option of a task: a string, a number or a boolean, as it stands in a request. */
static enum err_code set_word(const struct cli_option *option, struct stream_options *options,
                              const struct json_t *value, struct err *err)
{
    char digits[DOC_NUMBER_BYTES];
    const char *word = doc_as_string(value);
    bool is_true = false;
    if (word == NULL && doc_number_text(value, digits)) {
        word = arena_copy(&options->words, digits, strlen(digits)); /* texts are borrowed */
        if (word == NULL)
            return err_no_memory(err, strlen(digits));
    } else if (word == NULL &&
               doc_get_bool(options->file, "$", option->name, &is_true, &(struct err){0}) == ERR_OK)
        word = is_true ? "true" : "false";
    if (word == NULL)
        err_set(err, ERR_UNUSABLE, "expected a string, a number or a boolean, found %s",
                doc_type_name(value));
    else
        cli_option_set(option, options, word, err);
    return err->code ? err_prefix(err, "$.%s: ", option->name) : ERR_OK;
}

static enum err_code set_number(const struct cli_option *option, struct stream_options *options,
                                struct err *err)
{
    long long number = (long long)cli_option_whole(option, options);
    if (doc_get_integer(options->file, "$", option->name, (long long)option->min,
                        (long long)option->max, &number, err))
        return err->code;
    return cli_option_set_whole(option, options, (size_t)number, err);
}

static enum err_code take_member(void *context, const char *key, const struct json_t *value,
                                 struct err *err)
{
    const struct cli_option *option = find(key);
    if (option == NULL || strcmp(key, "config") == 0) {
        const char *keys[OPTIONS];
        char printable[CLI_NAME_BYTES + 1];
        size_t count = 0;
        for (size_t i = 0; i < OPTIONS; i++)
            if (table[i].name != NULL)
                keys[count++] = table[i].name;
        const char *nearest = nearest_name(key, keys, count);
        cli_printable(key, printable);
        if (nearest == NULL)
            return err_set(err, ERR_UNUSABLE, "$.%s: unknown key", printable);
        return err_set(err, ERR_UNUSABLE, "$.%s: unknown key; did you mean \"%s\"?", printable,
                       nearest);
    }
    return option->type == CLI_TEXT    ? set_text(option, context, value, err)
           : option->type == CLI_OTHER ? set_word(option, context, value, err)
                                       : set_number(option, context, err);
}

static enum err_code read_file(struct stream_options *options, struct err *err)
{
    if (options->config == NULL)
        return ERR_OK;
    if (doc_read_object(&options->file, options->config, FILE_BYTES_MAX, err) == ERR_OK)
        doc_each_member(options->file, take_member, options, err);
    return err->code ? err_prefix(err, "%s: ", options->config) : ERR_OK;
}

/* ---- the command line ---- */

/* Reads the flags twice: before the file only --config counts, after it all of them. */
static enum err_code read_flags(struct stream_options *options, bool only_config,
                                enum cli_action *action, int argc, char *const *argv,
                                struct err *err)
{
    struct cli_argument argument;
    for (int at = 1; at < argc;) {
        const char *name = argv[at];
        if (cli_next(&stream_options_cli, argc, argv, &at, &argument, err))
            return err->code;
        *action = argument.action;
        if (argument.action != CLI_RUN)
            return ERR_OK;
        if (only_config && strcmp(argument.option->name, "config") != 0)
            continue;
        if (cli_option_set(argument.option, options, argument.value, err))
            return err_prefix(err, "%.64s: ", name);
    }
    return ERR_OK;
}

/* ---- what follows ---- */

static enum err_code split_topics(struct stream_options *options, struct err *err)
{
    char *rest = options->topic_bytes = strdup(options->topics), *state = NULL;
    if (rest == NULL)
        return err_no_memory(err, strlen(options->topics));
    for (char *name = strtok_r(rest, ", ", &state); name != NULL;
         name = strtok_r(NULL, ", ", &state)) {
        if (options->topic_count == STREAM_TOPICS_MAX)
            return err_set(err, ERR_UNUSABLE, "topics: more than %d", STREAM_TOPICS_MAX);
        if (strcmp(name, options->output_topic) == 0 ||
            strcmp(name, options->dead_letter_topic) == 0)
            return err_set(err, ERR_UNUSABLE, "topics: '%s' is read and written", name);
        options->topic_names[options->topic_count++] = name;
    }
    return options->topic_count > 0 ? ERR_OK : err_set(err, ERR_UNUSABLE, "topics: none is named");
}

static enum err_code split_listen(struct stream_options *options, struct err *err)
{
    unsigned char address[sizeof(struct in6_addr)];
    const char *text = options->metrics_listen, *colon = strrchr(text, ':');
    size_t port = 0, len = colon != NULL ? (size_t)(colon - text) : 0;
    bool is_bracketed = len >= 2 && text[0] == '[' && text[len - 1] == ']';
    if (strcmp(text, "none") == 0)
        return ERR_OK;
    if (len < sizeof options->metrics_host)
        snprintf(options->metrics_host, sizeof options->metrics_host, "%.*s",
                 (int)(is_bracketed ? len - 2 : len), text + is_bracketed);
    if (colon == NULL || cli_option_parse_whole(colon + 1, 0, 65535, &port, &(struct err){0}) ||
        inet_pton(is_bracketed ? AF_INET6 : AF_INET, options->metrics_host, address) != 1)
        return err_set(err, ERR_UNUSABLE,
                       "metrics_listen: expected ADDRESS:PORT, such as 127.0.0.1:8091, with a "
                       "numeric address and a port from 0 to 65535");
    options->metrics_port = (unsigned)port;
    return ERR_OK;
}

enum err_code stream_options_read(struct stream_options *out, enum cli_action *action, int argc,
                                  char *const *argv, struct err *err)
{
    *out = (struct stream_options){0};
    arena_init(&out->words);
    *action = CLI_RUN;
    for (size_t i = 0; i < OPTIONS; i++)
        if (table[i].type == CLI_TEXT && table[i].fallback != NULL && table[i].fallback[0] == '\0')
            *(const char **)((char *)out + table[i].offset) = "";
    if (cli_option_set_fallbacks(table, OPTIONS, out, err))
        return err->code;
    if (read_flags(out, true, action, argc, argv, err) || *action != CLI_RUN ||
        read_file(out, err) || read_flags(out, false, action, argc, argv, err))
        return err->code;
    const struct {
        const char *name, *value;
    } needed[] = {{"model", out->model},
                  {"brokers", out->brokers},
                  {"topics", out->topics},
                  {"output_topic", out->output_topic}};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (needed[i].value == NULL || needed[i].value[0] == '\0')
            return err_set(err, ERR_UNUSABLE, "%s is missing; --help shows the options",
                           needed[i].name);
    if (out->session_timeout_ms > out->max_poll_interval_ms)
        return err_set(err, ERR_UNUSABLE,
                       "session_timeout_ms: %u, but max_poll_interval_ms is %u, the limit",
                       out->session_timeout_ms, out->max_poll_interval_ms);
    if (gethostname(out->host, sizeof out->host - 1) != 0)
        return err_set(err, ERR_IO, "the name of this host cannot be read");
    if (out->member == NULL || out->member[0] == '\0')
        out->member = out->host;
    if (out->threads == 0)
        out->threads = cpu_quota_threads("");
    if (split_topics(out, err) || split_listen(out, err))
        return err->code;
    struct answers_options *answers = &out->answers;
    if (shipped_dir(&out->model, err))
        return err_prefix(err, "model: ");
    answers->dir = out->model;
    answers->engine.dtype = out->dtype;
    answers->engine.linear_backend = out->linear_backend;
    answers->explain = out->explain[0] != '\0';
    answers->prompt_name = out->prompt_name[0] != '\0' ? out->prompt_name : NULL;
    if (answer_words_top_k(out->top_k, &answers->top_k, err))
        return err_prefix(err, "top_k: ");
    if (answers->explain && answer_words_method(out->explain, &answers->how.method, err))
        return err_prefix(err, "explain: ");
    return ERR_OK;
}

void stream_options_free(struct stream_options *options)
{
    free(options->topic_bytes);
    writing_options_close(&options->answers.asking.write);
    arena_deinit(&options->words);
    doc_free(options->file);
}
