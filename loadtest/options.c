/* options.c - one table row per option: its name, what its value is, where it goes, its bounds and
 * its sentence. The parser and --help both walk the table.
 *
 * The target must be a loopback address: a load generator that can be pointed at the plant's
 * network by a slip of the finger would be a weapon, and measurements through a network say little
 * about the server. For the same reason a run is always bounded in time. */
#include "loadtest/options.h"

#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const double duration_default_s = 10, duration_of_requests_s = 600;

enum option_type { FLAG, COUNT, NUMBER, STRING, SOURCE, WEIGHT, ACCEPT };

struct option_row {
    const char *name;
    enum option_type type;
    const char *value; /* how --help names it */
    size_t offset;     /* in struct options; of a SOURCE, the kind */
    double min, max;
    const char *sentence;
};

#define AT(member) offsetof(struct options, member)

static const struct option_row table[] = {
    {"url", STRING, "URL", AT(url), 0, 0,
     "http://HOST:PORT[/PATH] on a loopback address (http://127.0.0.1:8080/predict)"},
    {"connections", COUNT, "N", AT(connections), 1, 10000, "kept-alive connections (8)"},
    {"requests", COUNT, "N", AT(requests), 1, 1e9, "end after so many requests"},
    {"max-requests", COUNT, "N", AT(requests), 1, 1e9, "the same"},
    {"duration", NUMBER, "S", AT(duration_s), 0.1, 3600,
     "end after so many seconds (10; with --requests 600)"},
    {"rate", NUMBER, "R", AT(rate), 0.01, 1e6,
     "open loop: so many requests a second, whether or not answers come; latency counts from the "
     "intended time. Without it: closed loop, each connection sends when it has its answer"},
    {"poisson", FLAG, NULL, AT(poisson), 0, 0, "with --rate: exponential gaps, not equal ones"},
    {"seed", COUNT, "N", AT(seed), 0, 4294967295.0, "of --poisson (1)"},
    {"backlog", COUNT, "N", AT(backlog), 1, 1e7,
     "with --rate: requests that may wait for a free connection (100000)"},
    {"timeout-ms", COUNT, "MS", AT(timeout_ms), 1, 600000, "for one answer (30000)"},
    {"text", SOURCE, "TEXT", OPTIONS_TEXT, 0, 0, "send this text; sources may be repeated"},
    {"text-file", SOURCE, "FILE", OPTIONS_TEXT_FILE, 0, 0, "send the file as one text"},
    {"texts-jsonl", SOURCE, "FILE", OPTIONS_TEXTS_JSONL, 0, 0,
     "send the \"text\" of each line, one a request, in turn"},
    {"image", SOURCE, "FILE", OPTIONS_IMAGE, 0, 0, "send a PNG or JPEG file"},
    {"get", SOURCE, "PATH", OPTIONS_GET, 0, 0, "GET this path; only the status is judged"},
    {"weight", WEIGHT, "N", 0, 1, 1000, "share of the source before it (1)"},
    {"raw", FLAG, NULL, AT(raw), 0, 0, "raw bodies (image/png, text/plain) instead of JSON"},
    {"model", STRING, "NAME", AT(model), 0, 0, "ask for this model"},
    {"top-k", STRING, "N|all", AT(top_k), 0, 0, "ask for so many predictions"},
    {"expect", STRING, "FILE", AT(expect), 0, 0,
     "lines of attnd-predict --json for the inputs in their order; answers must have the same "
     "label and the same order of predictions, scores within --tolerance"},
    {"tolerance", NUMBER, "T", AT(tolerance), 0, 1, "of scores (1e-5)"},
    {"accept", ACCEPT, "WHAT", 0, 0, 0,
     "a status (such as 422) or an outcome (rejected, refused, unsent, reset, ...) that does not "
     "fail the run; may be repeated"},
    {"json", FLAG, NULL, AT(json), 0, 0, "print one JSON object instead of a table"},
    {"quiet", FLAG, NULL, AT(quiet), 0, 0, "no progress line"},
    {"help", FLAG, NULL, AT(help), 0, 0, "print this and exit"},
    {"version", FLAG, NULL, AT(version), 0, 0, "print the version and exit"},
};

enum { TABLE_ROWS = sizeof table / sizeof table[0] };

static enum err_code set_number(struct options *options, const struct option_row *row,
                                const char *text, struct err *err)
{
    char *end;
    double value = strtod(text, &end);
    bool whole = row->type == NUMBER || value == floor(value);
    if (end == text || *end != '\0' || !(value >= row->min && value <= row->max) || !whole)
        return err_set(err, ERR_UNUSABLE, "--%s: expected %s from %.12g to %.12g", row->name,
                       row->type == NUMBER ? "a number" : "an integer", row->min, row->max);
    char *member = (char *)options + row->offset;
    if (row->type == WEIGHT) {
        if (options->source_count == 0)
            return err_set(err, ERR_UNUSABLE, "--weight: no source stands before it");
        options->source[options->source_count - 1].weight = (unsigned)value;
    } else if (row->type == NUMBER) {
        memcpy(member, &value, sizeof value);
    } else {
        unsigned count = (unsigned)value;
        memcpy(member, &count, sizeof count);
    }
    return ERR_OK;
}

static enum err_code add_source(struct options *options, const struct option_row *row,
                                const char *value, struct err *err)
{
    if (options->source_count == OPTIONS_SOURCES_MAX)
        return err_set(err, ERR_UNUSABLE, "--%s: more than %d sources", row->name,
                       OPTIONS_SOURCES_MAX);
    options->source[options->source_count++] = (struct options_source){
        .kind = (enum options_kind)row->offset, .value = value, .weight = 1};
    return ERR_OK;
}

static enum err_code add_accept(struct options *options, const char *text, struct err *err)
{
    static const char *const names[] = {
#define X(code, name, sentence) name,
        OUTCOMES(X)
#undef X
    };
    for (int i = 0; i < OUTCOME_COUNT; i++)
        if (strcmp(text, names[i]) == 0) {
            options->accept[i] = true;
            return ERR_OK;
        }
    char *end;
    unsigned long status = strtoul(text, &end, 10);
    if (end == text || *end != '\0' || status < 200 || status > OPTIONS_STATUS_MAX)
        return err_set(err, ERR_UNUSABLE,
                       "--accept: neither a status from 200 to 599 nor one of "
                       "the outcomes that --help lists");
    options->accept_status[status] = true;
    return ERR_OK;
}

static enum err_code set(struct options *options, const struct option_row *row, const char *value,
                         struct err *err)
{
    char *member = (char *)options + row->offset;
    switch (row->type) {
    case FLAG:
        memcpy(member, &(bool){true}, sizeof(bool));
        return ERR_OK;
    case STRING:
        memcpy(member, &value, sizeof value);
        return ERR_OK;
    case SOURCE:
        return add_source(options, row, value, err);
    case ACCEPT:
        return add_accept(options, value, err);
    default:
        return set_number(options, row, value, err);
    }
}

/* --name VALUE, --name=VALUE or, for a flag, --name. */
static enum err_code set_argument(struct options *options, int argc, char *const *argv, int *at,
                                  struct err *err)
{
    const char *argument = argv[*at];
    if (strncmp(argument, "--", 2) != 0)
        return err_set(err, ERR_UNUSABLE, "argument %d is not an option (see --help)", *at);
    size_t len = strcspn(argument + 2, "=");
    for (int i = 0; i < TABLE_ROWS; i++) {
        const struct option_row *row = &table[i];
        if (strlen(row->name) != len || strncmp(row->name, argument + 2, len) != 0)
            continue;
        const char *value = argument[2 + len] == '=' ? argument + 3 + len : NULL;
        if (row->type == FLAG && value != NULL)
            return err_set(err, ERR_UNUSABLE, "--%s takes no value", row->name);
        if (row->type != FLAG && value == NULL && ++*at >= argc)
            return err_set(err, ERR_UNUSABLE, "--%s: its value is missing", row->name);
        if (row->type != FLAG && value == NULL)
            value = argv[*at];
        return set(options, row, value, err);
    }
    return err_set(err, ERR_UNUSABLE, "argument %d is an unknown option (see --help)", *at);
}

/* Fills the address if the host is a loopback one. */
static bool loopback(struct options *out, const char *host, unsigned port)
{
    if (strcmp(host, "localhost") == 0)
        host = "127.0.0.1";
    if (inet_pton(AF_INET, host, &out->address.v4.sin_addr) == 1) {
        out->address.v4.sin_family = AF_INET;
        out->address.v4.sin_port = htons((uint16_t)port);
        out->address_len = sizeof out->address.v4;
        return ntohl(out->address.v4.sin_addr.s_addr) >> 24 == 127;
    }
    if (inet_pton(AF_INET6, host, &out->address.v6.sin6_addr) != 1)
        return false;
    out->address.v6.sin6_family = AF_INET6;
    out->address.v6.sin6_port = htons((uint16_t)port);
    out->address_len = sizeof out->address.v6;
    return IN6_IS_ADDR_LOOPBACK(&out->address.v6.sin6_addr);
}

/* "127.0.0.1:8080" or "[::1]:8080", already without scheme and path. */
static enum err_code read_authority(struct options *out, struct err *err)
{
    char host[sizeof out->authority];
    memcpy(host, out->authority, sizeof host);
    char *colon = strrchr(host, ':');
    char *end = NULL;
    unsigned long port = colon != NULL ? strtoul(colon + 1, &end, 10) : 0;
    if (colon == NULL || end == colon + 1 || *end != '\0' || port < 1 || port > 65535)
        return err_set(err, ERR_UNUSABLE, "--url: expected a port from 1 to 65535");
    *colon = '\0';
    char *name = host;
    if (host[0] == '[' && colon > host + 1 && colon[-1] == ']') {
        colon[-1] = '\0';
        name++;
    }
    if (!loopback(out, name, (unsigned)port))
        return err_set(err, ERR_UNUSABLE,
                       "--url: only loopback addresses (127.0.0.0/8, [::1], localhost) are served");
    return ERR_OK;
}

static enum err_code read_url(struct options *out, struct err *err)
{
    const char *scheme = "http://";
    if (strncmp(out->url, scheme, strlen(scheme)) != 0)
        return err_set(err, ERR_UNUSABLE, "--url: expected http://HOST:PORT[/PATH]");
    const char *authority = out->url + strlen(scheme);
    size_t len = strcspn(authority, "/");
    if (len >= sizeof out->authority)
        return err_set(err, ERR_UNUSABLE, "--url: the host is longer than %zu bytes",
                       sizeof out->authority - 1);
    memcpy(out->authority, authority, len);
    out->path = authority[len] == '/' && authority[len + 1] != '\0' ? authority + len : "/predict";
    return read_authority(out, err);
}

static enum err_code check(const struct options *options, struct err *err)
{
    if (options->source_count == 0)
        return err_set(err, ERR_UNUSABLE,
                       "nothing to send: give --text, --text-file, "
                       "--texts-jsonl, --image or --get");
    if (options->poisson && options->rate == 0)
        return err_set(err, ERR_UNUSABLE, "--poisson needs --rate");
    if (strpbrk(options->path, " \t\r\n?#") != NULL)
        return err_set(err, ERR_UNUSABLE, "--url: the path holds a blank, '?' or '#'");
    if (options->top_k != NULL && strcmp(options->top_k, "all") != 0 &&
        (options->top_k[0] == '\0' ||
         strspn(options->top_k, "0123456789") != strlen(options->top_k)))
        return err_set(err, ERR_UNUSABLE, "--top-k: expected an integer or \"all\"");
    for (unsigned i = 0; i < options->source_count; i++) {
        const struct options_source *source = &options->source[i];
        if (source->kind == OPTIONS_GET &&
            (source->value[0] != '/' || strpbrk(source->value, " \t\r\n") != NULL))
            return err_set(err, ERR_UNUSABLE, "--get: expected a path that begins with '/'");
    }
    return ERR_OK;
}

enum err_code options_load(struct options *out, int argc, char *const *argv, struct err *err)
{
    *out = (struct options){.url = "http://127.0.0.1:8080/predict",
                            .connections = 8,
                            .seed = 1,
                            .backlog = 100000,
                            .timeout_ms = 30000,
                            .tolerance = 1e-5};
    out->accept_status[200] = true;
    out->accept[OUTCOME_OK] = true;
    for (int at = 1; at < argc; at++)
        if (set_argument(out, argc, argv, &at, err))
            return err->code;
    if (out->help || out->version)
        return ERR_OK;
    if (out->duration_s == 0)
        out->duration_s = out->requests > 0 ? duration_of_requests_s : duration_default_s;
    if (read_url(out, err))
        return err->code;
    return check(out, err);
}

/* The sentence in lines of at most `width` bytes, each after the first behind `indent` blanks. */
static void print_wrapped(FILE *file, const char *sentence, int indent, int width)
{
    while ((int)strlen(sentence) > width) {
        int cut = width;
        while (cut > 1 && sentence[cut] != ' ')
            cut--;
        fprintf(file, "%.*s\n%*s", cut, sentence, indent, "");
        sentence += cut + 1;
    }
    fprintf(file, "%s\n", sentence);
}

void options_help(FILE *file)
{
    enum { INDENT = 24, WIDTH = 72 };
    fprintf(file,
            "usage: attnd-load [OPTION]... SOURCE...\n"
            "Sends requests to an attnd on this machine, measures and checks the answers.\n\n");
    for (int i = 0; i < TABLE_ROWS; i++) {
        const struct option_row *row = &table[i];
        int len = fprintf(file, "  --%s%s%s", row->name, row->value ? " " : "",
                          row->value ? row->value : "");
        fprintf(file, "%*s", len < INDENT ? INDENT - len : 1, "");
        print_wrapped(file, row->sentence, INDENT, WIDTH);
    }
    fprintf(file, "\nOutcomes:\n");
#define X(code, name, sentence) fprintf(file, "  %-20s  %s\n", name, sentence);
    OUTCOMES(X)
#undef X
    fprintf(file, "\nExit status: 0 all answers were as expected, 1 some were not, 2 wrong use.\n");
}
