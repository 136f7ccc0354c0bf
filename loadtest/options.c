/* options.c - the rows of the table, the target's address and what excludes what.
 *
 * The target is a loopback address unless --yes-this-is-mine stands beside it: a typing error must
 * not direct load at the plant's network. For the same reason a run is always bounded in time. */
#include "loadtest/options.h"

#include "engine/cli/cli_rows.h"

#include <string.h>

static const double duration_default_s = 10, duration_of_requests_s = 600;

/* ---- the rows ---- */

/* The row's tag is the kind. */
static enum err_code add_source(const struct cli_option *option, void *target, const char *value,
                                struct err *err)
{
    struct options *options = target;
    if (options->source_count == OPTIONS_SOURCES_MAX)
        return err_set(err, ERR_UNUSABLE, "more than %d sources", OPTIONS_SOURCES_MAX);
    options->source[options->source_count++] = (struct options_source){
        .kind = (enum options_kind)option->tag, .value = value, .weight = 1};
    return ERR_OK;
}

static enum err_code weigh(const struct cli_option *option, void *target, const char *value,
                           struct err *err)
{
    struct options *options = target;
    size_t weight;
    if (cli_option_parse_whole(value, option->min, option->max, &weight, err))
        return err->code;
    if (options->source_count == 0)
        return err_set(err, ERR_UNUSABLE, "no source stands before it");
    options->source[options->source_count - 1].weight = (unsigned)weight;
    return ERR_OK;
}

static enum err_code take_accepted(const struct cli_option *option, void *target, const char *value,
                                   struct err *err)
{
    static const char *const names[] = {
#define X(code, name, sentence) name,
        OUTCOMES(X)
#undef X
    };
    struct options *options = target;
    size_t status;
    for (int i = 0; i < OUTCOME_COUNT; i++)
        if (strcmp(value, names[i]) == 0) {
            options->accept[i] = true;
            return ERR_OK;
        }
    if (cli_option_parse_whole(value, option->min, option->max, &status, &(struct err){0}))
        return err_set(err, ERR_UNUSABLE,
                       "neither a status from 200 to 599 nor one of the outcomes that --help "
                       "lists");
    options->accept_status[status] = true;
    return ERR_OK;
}

#define ROW(member, ...) CLI_ROW(struct options, member, __VA_ARGS__)
#define FLAG(member, name, help) CLI_ROW_FLAG(struct options, member, name, help)
#define SOURCE(kind) .type = CLI_OTHER, .apply = add_source, .tag = kind

static const struct cli_option table[] = {
    ROW(url, "url", "URL", .fallback = "http://127.0.0.1:8080/predict",
        .help = "http://HOST:PORT[/PATH] or https://, on a loopback address or with "
                "--yes-this-is-mine."),
    FLAG(is_mine, "yes-this-is-mine", "Allows a --url of another machine."),
    ROW(connections, "connections", "N", .min = 1, .max = 10000, .fallback = "8",
        .help = "Number of connections; they are kept alive."),
    ROW(requests, "requests", "N", .min = 1, .max = 1e9, .help = "Ends after so many requests."),
    {.name = "max-requests", .type = CLI_ALIAS, .value = "requests"},
    ROW(duration_s, "duration", "S", .min = 0.1, .max = 3600,
        .help = "Ends after so many seconds (default: 10; with --requests 600)."),
    ROW(rate, "rate", "R", .min = 0.01, .max = 1e6,
        .help =
            "Open loop: sends so many requests a second, whether or not answers come; latency "
            "counts from the intended time. Without it, closed loop: each connection sends when "
            "it has its answer."),
    FLAG(poisson, "poisson", "With --rate: exponential gaps instead of equal ones."),
    ROW(seed, "seed", "N", .min = 0, .max = 4294967295.0, .fallback = "1",
        .help = "The seed of --poisson."),
    ROW(backlog, "backlog", "N", .min = 1, .max = 1e7, .fallback = "100000",
        .help = "With --rate: largest number of requests that wait for a free connection."),
    ROW(timeout_ms, "timeout-ms", "MS", .min = 1, .max = 600000, .fallback = "30000",
        .help = "Longest time for an answer."),
    CLI_ROW_OTHER("text", "TEXT", add_source, .tag = OPTIONS_TEXT,
                  .help = "Sends this text. Sources may be given several times."),
    CLI_ROW_OTHER("text-file", "FILE", add_source, .tag = OPTIONS_TEXT_FILE, .stream = CLI_STDIN,
                  .help = "Sends the file as one text; - is standard input."),
    CLI_ROW_OTHER("texts-jsonl", "FILE", add_source, .tag = OPTIONS_TEXTS_JSONL,
                  .stream = CLI_STDIN,
                  .help = "Sends the \"text\" of each line, one a request, in turn; - is standard "
                          "input."),
    CLI_ROW_OTHER("image", "FILE", add_source, .tag = OPTIONS_IMAGE, .stream = CLI_STDIN,
                  .help = "Sends a picture's file; - is standard input."),
    CLI_ROW_OTHER("get", "PATH", add_source, .tag = OPTIONS_GET,
                  .help = "Gets this path; only the status is judged."),
    CLI_ROW_OTHER("weight", "N", weigh, .min = 1, .max = 1000,
                  .help = "Share of the source before it (default: 1)."),
    FLAG(raw, "raw", "Raw bodies (image/png, text/plain) instead of JSON."),
    ROW(model, "model", "NAME", .help = "Asks for this model."),
    ROW(top_k, "top-k", "N|all", .help = "Asks for so many predictions."),
    ROW(key_file, "key-file", "FILE", .stream = CLI_STDIN,
        .help = "Sends the key in this file with each request; - is standard input."),
    CLI_ROW_CA_FILE(struct options, ca_file),
    FLAG(insecure, "insecure", "With https: takes any certificate, for any name."),
    ROW(cert_file, "cert-file", "FILE",
        .help = "With https: PEM certificate to show to a server that asks for one."),
    ROW(key_pem_file, "key-pem-file", "FILE",
        .help = "PEM file with the private key of that certificate."),
    ROW(expect, "expect", "FILE", .stream = CLI_STDIN,
        .help = "Lines of attnd-predict --json for the inputs in their order (- is standard "
                "input); answers must have the "
                "same label and the same order of predictions, scores within --tolerance."),
    ROW(tolerance, "tolerance", "T", .min = 0, .max = 1, .fallback = "1e-5",
        .help = "Largest difference between a score and the expected one."),
    CLI_ROW_OTHER(
        "accept", "WHAT", take_accepted, .min = 200, .max = OPTIONS_STATUS_MAX,
        .help = "A status (such as 422) or an outcome (rejected, refused, unsent, reset, ...) that "
                "does not fail the run; may be repeated."),
    FLAG(json, "json", "Prints one JSON object instead of a table."),
    FLAG(quiet, "quiet", "Shows no progress."),
};

const struct cli options_cli = {
    .program = "attnd-load",
    .usage = "attnd-load [OPTION]... SOURCE...",
    .summary = "Sends requests to an attnd on this machine, measures and checks the answers.",
    .examples = "  attnd-load --connections 8 --duration 10 --text-file fail.log",
    .options = table,
    .option_count = sizeof table / sizeof table[0],
#define X(code, name, sentence) "  " name "\n                            " sentence "\n"
    .epilogue = "Outcomes:\n" OUTCOMES(
        X) "\nExit status: 0 all answers were as expected, 1 some were not, 2 wrong use.\n",
#undef X
};

/* ---- the target ---- */

static enum err_code read_target(struct options *out, struct err *err)
{
    if (server_url_read(&out->target, out->url, "/predict", err))
        return err->code;
    if (server_url_take_loopback(&out->target))
        return ERR_OK;
    if (!out->is_mine)
        return err_set(err, ERR_UNUSABLE,
                       "--url: %s is not this machine (127.0.0.0/8, [::1], localhost); add "
                       "--yes-this-is-mine if you may put load on it",
                       out->target.host);
    return server_url_resolve(&out->target, err);
}

/* ---- the whole ---- */

enum err_code options_load(struct options *out, enum cli_action *action, int argc,
                           char *const *argv, struct err *err)
{
    *out = (struct options){0};
    out->accept_status[200] = true;
    out->accept[OUTCOME_OK] = true;
    if (cli_parse(&options_cli, argc, argv, out, action, err) || *action != CLI_RUN)
        return err->code;
    if (out->duration_s == 0)
        out->duration_s = out->requests > 0 ? duration_of_requests_s : duration_default_s;
    if (read_target(out, err))
        return err->code;
    const bool is_meant = out->ca_file != NULL || out->insecure || out->cert_file != NULL ||
                          out->key_pem_file != NULL;
    if (is_meant && !out->target.is_secure)
        return err_set(err, ERR_UNUSABLE,
                       "--ca-file, --insecure, --cert-file and --key-pem-file need a --url with "
                       "https://");
    if (out->insecure && out->ca_file != NULL)
        return err_set(err, ERR_UNUSABLE, "--insecure and --ca-file exclude each other");
    if ((out->cert_file == NULL) != (out->key_pem_file == NULL))
        return err_set(err, ERR_UNUSABLE, "--cert-file and --key-pem-file need each other");
    if (out->source_count == 0)
        return err_set(err, ERR_UNUSABLE,
                       "nothing to send: give --text, --text-file, "
                       "--texts-jsonl, --image or --get");
    if (out->poisson && out->rate == 0)
        return err_set(err, ERR_UNUSABLE, "--poisson needs --rate");
    if (strpbrk(out->target.path, " \t\r\n?#") != NULL)
        return err_set(err, ERR_UNUSABLE, "--url: the path holds a blank, '?' or '#'");
    if (out->top_k != NULL && strcmp(out->top_k, "all") != 0 &&
        (out->top_k[0] == '\0' || strspn(out->top_k, "0123456789") != strlen(out->top_k)))
        return err_set(err, ERR_UNUSABLE, "--top-k: expected an integer or \"all\"");
    for (unsigned i = 0; i < out->source_count; i++) {
        const struct options_source *source = &out->source[i];
        if (source->kind == OPTIONS_GET &&
            (source->value[0] != '/' || strpbrk(source->value, " \t\r\n") != NULL))
            return err_set(err, ERR_UNUSABLE, "--get: expected a path that begins with '/'");
    }
    return ERR_OK;
}
