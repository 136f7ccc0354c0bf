/* attnd-keys - adds, lists and expires the keys of a keys_file (server/auth/keys.h).
 *
 *     attnd-keys add line1 --file keys.txt --scope predict,metrics >line1.key
 *     attnd-keys list --file keys.txt
 *     attnd-keys expire line1 --file keys.txt
 *
 * The key itself is printed once, on standard output, and stands nowhere else: the file has its
 * hash. A change replaces the file as a whole, keeps its mode and owner, and is made only if the
 * daemon's own reader takes the result. attnd reads the file again at a reload. */
#include "server/auth/keys.h"
#include "engine/base/file.h"
#include "engine/base/replace.h"
#include "engine/base/sha256.h"
#include "engine/cli/cli_main.h"
#include "engine/cli/cli_rows.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { KEY_BYTES = 32, DAY_S = 24 * 60 * 60, NEW_MODE = 0640 };

struct tool {
    const char *name, *file, *scope, *expires, *rate, *concurrency;
    char path[PATH_MAX]; /* the file, behind links */
    char *text;          /* content of the file; "" if it is new */
    size_t len;
    struct keys *keys; /* keys in the text */
    bool is_new;
    int folder; /* folder of the file, for its lock; -1: it cannot be opened */
};

/* ---- options ---- */

static enum err_code set_name(const struct cli_option *option, void *target, const char *value,
                              struct err *err)
{
    struct tool *tool = target;
    (void)option;
    if (tool->name != NULL)
        return err_set(err, ERR_UNUSABLE, "one NAME at a time; '%.64s' is the second", value);
    tool->name = value;
    return ERR_OK;
}

#define FIELD(field) CLI_FIELD(struct tool, field)
#define ROW(member, ...) CLI_ROW(struct tool, member, __VA_ARGS__)
#define FILE_ROW                                                                                   \
    .name = "file", FIELD(file), .value = "FILE", .is_required = true,                             \
    .help = "The keys_file of attnd."

static const struct cli_option add_options[] = {
    {FILE_ROW},
    ROW(scope, "scope", "SCOPES", .is_required = true,
        .help = "What the key may do: predict, feedback, metrics, admin, joined by commas."),
    ROW(expires, "expires", "YYYY-MM-DD",
        .help = "The last day on which the key is accepted, in UTC (default: none)."),
    ROW(rate, "rate", "N", .help = "Requests a second (default: no limit)."),
    ROW(concurrency, "concurrency", "N",
        .help = "Requests at a time that wait for their answer (default: no limit)."),
};
static const struct cli_option list_options[] = {{FILE_ROW}};
static const struct cli_option expire_options[] = {
    {FILE_ROW},
    ROW(expires, "expires", "YYYY-MM-DD",
        .help = "The last day on which the key is accepted, in UTC (default: yesterday)."),
};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
static const struct cli add_cli = {
    .program = "attnd-keys",
    .usage = "attnd-keys add NAME --file FILE --scope SCOPES [OPTION]...",
    .summary =
        "Makes a key of 32 random bytes, adds its hash to the file and prints the key, once.\n"
        "Logs show NAME. Two keys may have the same name: an old key and the one that replaces it.",
    .examples = "  attnd-keys add line1 --file keys.txt --scope predict,metrics >line1.key",
    .options = add_options,
    .option_count = COUNT(add_options),
    .positional = set_name,
};
static const struct cli list_cli = {
    .program = "attnd-keys",
    .usage = "attnd-keys list --file FILE",
    .summary = "Prints a line for each key: name, scopes, last day, limits.",
    .examples = "  attnd-keys list --file /etc/attnd/keys.txt",
    .options = list_options,
    .option_count = COUNT(list_options),
};
static const struct cli expire_cli = {
    .program = "attnd-keys",
    .usage = "attnd-keys expire NAME --file FILE [--expires YYYY-MM-DD]",
    .summary = "Gives all keys called NAME a last day; without --expires they end at once.",
    .examples = "  attnd-keys expire line1 --file keys.txt",
    .options = expire_options,
    .option_count = COUNT(expire_options),
    .positional = set_name,
};

/* ---- the file ---- */

/* A value is one word of its line. */
static enum err_code check_words(const struct tool *tool, struct err *err)
{
    const char *const words[] = {tool->name, tool->scope, tool->expires, tool->rate,
                                 tool->concurrency};
    if (tool->name == NULL)
        return err_set(err, ERR_UNUSABLE, "NAME is missing; --help shows the usage");
    for (size_t i = 0; i < COUNT(words); i++)
        if (words[i] != NULL && (words[i][0] == '\0' || strpbrk(words[i], " \t\r\n#") != NULL))
            return err_set(err, ERR_UNUSABLE, "'%.64s': expected a word without blanks and '#'",
                           words[i]);
    return ERR_OK;
}

/* The second of two programs that change the file waits until the first has ended. */
static void lock_folder(struct tool *tool)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s", tool->file);
    tool->folder = open(dirname(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (tool->folder >= 0)
        flock(tool->folder, LOCK_EX);
}

/* A file that is not there is an empty one if it may be new. */
static enum err_code open_file(struct tool *tool, bool may_be_new, struct err *err)
{
    if (may_be_new && access(tool->file, F_OK) != 0 && errno == ENOENT) {
        tool->is_new = true;
        tool->text = calloc(1, 1);
        if (tool->text == NULL)
            return err_no_memory(err, 1);
        return (size_t)snprintf(tool->path, sizeof tool->path, "%s", tool->file) < sizeof tool->path
                   ? ERR_OK
                   : err_set(err, ERR_UNUSABLE, "--file: the path is too long");
    }
    if (realpath(tool->file, tool->path) == NULL)
        return err_set(err, ERR_UNUSABLE, "%s: cannot be opened: %s", tool->file, strerror(errno));
    if (file_read(&tool->text, &tool->len, tool->path, KEYS_FILE_BYTES_MAX, err))
        return err_prefix(err, "%s: ", tool->file);
    return keys_parse(&tool->keys, tool->text, tool->len, tool->file, NULL, err);
}

/* Replaces the file by this text if the daemon's reader takes it. */
static enum err_code write_file(const struct tool *tool, const char *text, size_t len,
                                struct err *err)
{
    struct keys *keys = NULL;
    struct replacement file = {.fd = -1};
    struct stat old = {.st_mode = NEW_MODE, .st_uid = (uid_t)-1, .st_gid = (gid_t)-1};
    if (keys_parse(&keys, text, len, tool->file, NULL, err))
        return err->code;
    keys_close(keys);
    if (!tool->is_new && stat(tool->path, &old) != 0)
        return err_set(err, ERR_IO, "%s: %s", tool->file, strerror(errno));
    if (replace_open(&file, tool->path, err))
        goto out;
    if (fchmod(file.fd, old.st_mode & 07777) != 0 || fchown(file.fd, old.st_uid, old.st_gid) != 0) {
        err_set(err, ERR_IO, "%s: mode and owner cannot be kept: %s", tool->file, strerror(errno));
        goto out;
    }
    if (!replace_write(&file, text, len, err))
        return replace_commit(&file, err);
out:
    replace_abandon(&file);
    return err->code;
}

static void tell_next(void)
{
    fputs("next: reload attnd (systemctl reload attnd, or SIGHUP)\n", stderr);
}

/* ---- add ---- */

static enum err_code add(struct cli_run *run, struct err *err)
{
    struct tool *tool = run->target;
    unsigned char bytes[KEY_BYTES];
    char key[2 * KEY_BYTES + 1], digest[SHA256_HEX_BYTES], *text = NULL;
    if (check_words(tool, err))
        return err->code;
    lock_folder(tool);
    if (open_file(tool, true, err))
        return err->code;
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return err_set(err, ERR_IO, "no random bytes: %s", strerror(errno));
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(key + 2 * i, 3, "%02x", bytes[i]);
    sha256_hex(key, strlen(key), digest);
    bool is_line_open = tool->len > 0 && tool->text[tool->len - 1] != '\n';
    int len =
        asprintf(&text, "%s%ssha256:%s %s %s%s%s%s%s%s%s%s\n", tool->text, is_line_open ? "\n" : "",
                 digest, tool->name, tool->scope, tool->expires != NULL ? " expires=" : "",
                 tool->expires != NULL ? tool->expires : "", tool->rate != NULL ? " rate=" : "",
                 tool->rate != NULL ? tool->rate : "", tool->rate != NULL ? "/s" : "",
                 tool->concurrency != NULL ? " concurrency=" : "",
                 tool->concurrency != NULL ? tool->concurrency : "");
    if (len < 0)
        return err_no_memory(err, tool->len);
    /* The key is printed before the file is written: if printing fails, nobody knows the key. */
    struct keys *checked = NULL;
    if (keys_parse(&checked, text, (size_t)len, tool->file, NULL, err))
        err_prefix(err, "no key was made: ");
    else if (puts(key) < 0 || fflush(stdout) != 0)
        err_set(err, ERR_IO, "the key cannot be printed (%s); %s is as it was", strerror(errno),
                tool->file);
    else if (write_file(tool, text, (size_t)len, err))
        err_prefix(err, "the key that was printed is not in the file: ");
    keys_close(checked);
    free(text);
    if (err->code != ERR_OK)
        return err->code;
    fprintf(stderr, "attnd-keys: %s: key '%s' is added; it is not shown again\n", tool->file,
            tool->name);
    tell_next();
    return ERR_OK;
}

/* ---- list ---- */

static void last_day(int64_t expires_s, char out[16])
{
    time_t day = (time_t)(expires_s - DAY_S);
    struct tm when;
    snprintf(out, 16, "-");
    if (expires_s != INT64_MAX && gmtime_r(&day, &when) != NULL)
        strftime(out, 16, "%Y-%m-%d", &when);
}

static enum err_code list(struct cli_run *run, struct err *err)
{
    struct tool *tool = run->target;
    if (open_file(tool, false, err))
        return err->code;
    printf("%-24s %-32s %-10s  %s\n", "name", "scopes", "last day", "limits");
    for (unsigned i = 0; i < keys_count(tool->keys); i++) {
        const struct key *key = keys_at(tool->keys, i);
        char scopes[64] = "", day[16];
        for (enum scope scope = SCOPE_OPEN + 1; scope < SCOPE_COUNT; scope++)
            if ((key->scopes & 1U << scope) != 0)
                snprintf(scopes + strlen(scopes), sizeof scopes - strlen(scopes), "%s%s",
                         scopes[0] != '\0' ? "," : "", scope_name(scope));
        last_day(key->expires_s, day);
        printf("%-24s %-32s %-10s", key->name, scopes, day);
        if (key->limits.rate > 0)
            printf("  rate=%g/s", key->limits.rate);
        if (key->limits.concurrency > 0)
            printf("  concurrency=%u", key->limits.concurrency);
        printf("%s%s%s\n", key->expires_s <= (int64_t)time(NULL) ? "  expired" : "",
               key->certificate != NULL ? "  cert:" : "",
               key->certificate != NULL ? key->certificate : "");
    }
    return ERR_OK;
}

/* ---- expire ---- */

static bool is_line_of(const struct keys *keys, unsigned line, const char *name)
{
    for (unsigned i = 0; i < keys_count(keys); i++)
        if (keys_at(keys, i)->line == line && strcmp(keys_at(keys, i)->name, name) == 0)
            return true;
    return false;
}

/* A line's words but for its expires=, then the new one, then its comment. */
static void write_expired(FILE *out, const char *line, size_t len, const char *day)
{
    size_t words = 0, at = 0;
    while (at < len) {
        while (at < len && strchr(" \t\r", line[at]) != NULL)
            at++;
        if (at == len || line[at] == '#')
            break;
        size_t end = at;
        while (end < len && strchr(" \t\r", line[end]) == NULL)
            end++;
        if (strncmp(line + at, "expires=", 8) != 0)
            fprintf(out, "%s%.*s", words++ > 0 ? " " : "", (int)(end - at), line + at);
        at = end;
    }
    fprintf(out, " expires=%s%s%.*s\n", day, at < len ? " " : "", (int)(len - at), line + at);
}

static enum err_code expire(struct cli_run *run, struct err *err)
{
    struct tool *tool = run->target;
    char yesterday[16], *text = NULL;
    size_t len = 0;
    unsigned number = 1, changed = 0;
    last_day((int64_t)time(NULL), yesterday);
    const char *day = tool->expires != NULL ? tool->expires : yesterday;
    if (check_words(tool, err))
        return err->code;
    lock_folder(tool);
    if (open_file(tool, false, err))
        return err->code;
    FILE *out = open_memstream(&text, &len);
    if (out == NULL)
        return err_no_memory(err, tool->len);
    for (size_t at = 0; at < tool->len; number++) {
        const char *line = tool->text + at, *end = memchr(line, '\n', tool->len - at);
        size_t bytes = end != NULL ? (size_t)(end - line) : tool->len - at;
        bool is_wanted = is_line_of(tool->keys, number, tool->name);
        if (is_wanted)
            write_expired(out, line, bytes, day);
        else
            fprintf(out, "%.*s\n", (int)bytes, line);
        changed += is_wanted;
        at += bytes + 1;
    }
    if (fclose(out) != 0)
        err_no_memory(err, tool->len);
    else if (changed == 0)
        err_set(err, ERR_UNUSABLE, "%s: no key is called '%.64s'", tool->file, tool->name);
    else if (!write_file(tool, text, len, err))
        fprintf(stderr, "attnd-keys: %s: '%s': the last day of %u key%s is %s\n", tool->file,
                tool->name, changed, changed == 1 ? "" : "s", day);
    free(text);
    if (err->code == ERR_OK)
        tell_next();
    return err->code;
}

/* ---- main ---- */

static void close_all(void *target)
{
    struct tool *tool = target;
    free(tool->text);
    keys_close(tool->keys);
    if (tool->folder >= 0)
        close(tool->folder);
}

static const struct cli_program commands[] = {
    {.command = "add", .cli = &add_cli, .run = add, .close = close_all},
    {.command = "list", .cli = &list_cli, .run = list, .close = close_all},
    {.command = "expire", .cli = &expire_cli, .run = expire, .close = close_all},
};

int main(int argc, char **argv)
{
    struct tool tool = {.folder = -1};
    return cli_main(commands, COUNT(commands), argc, argv, &tool);
}
