/* An audit log's file. An input is either the file as it stands, or, if its first byte is 0, lines
 * that are put into a chain; the second byte says how much of the end is cut off. A log that
 * verifies before attnd goes on with it verifies after that, and has a line more. */
#include "server/audit/audit.h"
#include "server/audit/audit_files.h"
#include "tests/fuzz/driver/fuzz.h"

#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME "attnd-audit-000000000001.jsonl"
enum { LOG_BYTES = 1 << 16 };

static bool take(void *context, const char *line, size_t len)
{
    FUZZ_CLAIM(line[len] == '\0' && len > 0);
    *(uint64_t *)context += 1;
    return true;
}

/* The lines of the directory that verify; `err` says what is wrong behind them. */
static uint64_t verify(const char *dir, struct err *err)
{
    char **paths;
    size_t count;
    uint64_t visited = 0;
    struct audit_reading reading = {.visit = take, .context = &visited};
    if (audit_files_list(&paths, &count, dir, err))
        return 0;
    audit_read(&reading, paths, count, err);
    FUZZ_CLAIM(visited == reading.lines);
    audit_files_free(paths, count);
    fuzz_check_err(err);
    return visited;
}

/* A sound log of so many members of its lines, without its last bytes. */
static size_t seal(const uint8_t *data, size_t size, char *out)
{
    static const char begin[] = "\"type\":\"begin\",\"format\":1,\"chain\":\"sha256\"";
    struct audit_chain chain;
    audit_chain_init(&chain, (struct audit_key){0});
    size_t cut = size > 0 ? data[0] : 0,
           len = audit_chain_seal(&chain, begin, sizeof begin - 1, out);
    for (size_t at = 1, end; at < size; at = end + 1) {
        for (end = at; end < size && data[end] != '\n';)
            end++;
        if (LOG_BYTES - len < end - at + AUDIT_SEAL_BYTES)
            break;
        len += audit_chain_seal(&chain, (const char *)data + at, end - at, out + len);
    }
    return len > cut ? len - cut : 0;
}

/* attnd goes on with the log, and appends a line. */
static enum err_code go_on(const char *dir, struct err *err)
{
    static const char members[] = "\"type\":\"more\"";
    const struct audit_options options = {.dir = dir, .refuse = true, .rotate_bytes = 1 << 20};
    struct audit *audit;
    if (audit_open(&audit, &options, err) == ERR_OK) {
        FUZZ_CLAIM(audit_append(audit, &(struct audit_members){members, sizeof members - 1}, 1,
                                err) == ERR_OK);
        audit_close(audit);
    }
    fuzz_check_err(err);
    return err->code;
}

/* Removes the log, with the files that rotation added. */
static void remove_all(const char *dir)
{
    char **paths;
    size_t count;
    struct err ignored = {0};
    fuzz_file_remove(NAME);
    if (audit_files_list(&paths, &count, dir, &ignored))
        return;
    for (size_t i = 0; i < count; i++)
        remove(paths[i]);
    audit_files_free(paths, count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char sealed[LOG_BYTES];
    char path[256];
    bool is_sealed = size > 0 && data[0] == 0;
    size_t len = is_sealed ? seal(data + 1, size - 1, sealed) : size;
    snprintf(path, sizeof path, "%s",
             fuzz_file(NAME, is_sealed ? (const uint8_t *)sealed : data, len));
    const char *dir = dirname(path);
    struct err before = {0}, opening = {0}, after = {0};
    uint64_t lines = verify(dir, &before);
    if (go_on(dir, &opening) == ERR_OK) {
        uint64_t more = verify(dir, &after);
        FUZZ_CLAIM(before.code != ERR_OK || (after.code == ERR_OK && more > lines));
    }
    remove_all(dir);
    return 0;
}
