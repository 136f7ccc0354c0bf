#include "tests/support/server_log.h"

#include "engine/base/utf8.h"
#include "tests/support/suite.h"

#include <jansson.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void server_log_start(struct server_log *log, const char *const *arguments)
{
    *log = (struct server_log){.count = 0};
    FILE *file = tmpfile();
    ck_assert_ptr_nonnull(file);
    log->fd = dup(fileno(file));
    fclose(file);
    int saved = dup(STDERR_FILENO);
    ck_assert(log->fd >= 0 && saved >= 0);
    fflush(stderr);
    dup2(log->fd, STDERR_FILENO);
    setenv("ATTND_TEST_LOG", "1", 1);
    server_process_start(&log->server, arguments);
    unsetenv("ATTND_TEST_LOG");
    dup2(saved, STDERR_FILENO);
    close(saved);
}

/* Line ends of any reader (Unicode, section 5.8), and what terminals act on. */
static void expect_harmless(const char *line, size_t len)
{
    for (size_t at = 0; at < len;) {
        const unsigned char *byte = (const unsigned char *)line + at;
        size_t bytes = utf8_character_bytes(line + at, len - at);
        ck_assert_msg(bytes > 0, "not UTF-8: %s", line);
        ck_assert_msg(byte[0] >= 0x20 && byte[0] != 0x7F, "a control: %s", line);
        ck_assert_msg(byte[0] != 0xC2 || byte[1] >= 0xA0, "a C1 control: %s", line);
        ck_assert_msg(bytes != 3 || memcmp(byte, "\xE2\x80", 2) != 0 || byte[2] < 0xA8 ||
                          byte[2] > 0xAE,
                      "a separator, or a turn: %s", line);
        at += bytes;
    }
}

static struct server_log_line read_line(const char *text, const char *begins)
{
    json_error_t error;
    struct server_log_line line = {.text = text};
    ck_assert_msg(strncmp(text, begins, strlen(begins)) == 0, "%s", text);
    expect_harmless(text, strlen(text));
    line.json = json_loads(text, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    ck_assert_msg(json_is_object(line.json), "%s: %s", error.text, text);
    line.event = json_string_value(json_object_get(line.json, "event"));
    return line;
}

unsigned server_log_read(struct server_log_line **lines, char *text, size_t len, const char *begins)
{
    unsigned count = 0;
    ck_assert_ptr_null(memchr(text, '\0', len));
    ck_assert(len == 0 || text[len - 1] == '\n');
    *lines = calloc(len / 2 + 1, sizeof **lines);
    ck_assert_ptr_nonnull(*lines);
    for (char *at = text, *end; at < text + len; at = end + 1) {
        end = memchr(at, '\n', (size_t)(text + len - at));
        *end = '\0';
        (*lines)[count++] = read_line(at, begins);
    }
    return count;
}

void server_log_stop(struct server_log *log)
{
    enum { LOG_BYTES_MAX = 32 * 1024 * 1024 };
    ck_assert_int_eq(server_process_stop(&log->server), 0);
    log->text = malloc(LOG_BYTES_MAX);
    ck_assert_ptr_nonnull(log->text);
    ssize_t len = pread(log->fd, log->text, LOG_BYTES_MAX, 0);
    close(log->fd);
    ck_assert(len >= 0 && len < LOG_BYTES_MAX);
    log->count = server_log_read(&log->lines, log->text, (size_t)len, "{\"time\":\"20");
    for (unsigned i = 0; i < log->count; i++)
        ck_assert_msg(log->lines[i].event != NULL, "%s", log->lines[i].text);
}

void server_log_free(struct server_log *log)
{
    for (unsigned i = 0; i < log->count; i++)
        json_decref(log->lines[i].json);
    free(log->lines);
    free(log->text);
}

unsigned server_log_count(const struct server_log *log, const char *event)
{
    unsigned count = 0;
    for (unsigned i = 0; i < log->count; i++)
        count += strcmp(log->lines[i].event, event) == 0;
    return count;
}
