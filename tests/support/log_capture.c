#include "tests/support/log_capture.h"

#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int saved_stderr;
static char captured[64 * 1024];

void log_capture_start(void)
{
    FILE *file = tmpfile();
    ck_assert_ptr_nonnull(file);
    saved_stderr = dup(STDERR_FILENO);
    ck_assert_int_ge(dup2(fileno(file), STDERR_FILENO), 0);
    fclose(file);
}

const char *log_capture_end(void)
{
    ssize_t got = pread(STDERR_FILENO, captured, sizeof captured - 1, 0);
    ck_assert_int_ge(got, 0);
    captured[got] = '\0';
    dup2(saved_stderr, STDERR_FILENO);
    close(saved_stderr);
    return captured;
}

const char *log_capture_fields(const char *text, const char *event)
{
    static char line[8 * 1024];
    char name[128];
    snprintf(name, sizeof name, "\"event\":\"%s\"", event);
    const char *at = strstr(text, name);
    ck_assert_msg(at != NULL, "no %s in %s", event, text);
    at += strlen(name);
    ck_assert_msg(strstr(at, name) == NULL, "%s twice in %s", event, text);
    snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
    return line;
}
