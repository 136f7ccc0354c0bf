/* Each test sends descriptor 2 into a temporary file, logs, and reads the lines back with a JSON
 * parser. */
#include "server/observe/log.h"
#include "tests/support/suite.h"

#include <jansson.h>

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int saved_stderr;
static char captured[4 * 1024 * 1024];

static void capture_start(void)
{
    FILE *file = tmpfile();
    ck_assert_ptr_nonnull(file);
    saved_stderr = dup(STDERR_FILENO);
    ck_assert_int_ge(dup2(fileno(file), STDERR_FILENO), 0);
    fclose(file);
}

/* The text written since the capture began, NUL-terminated. */
static const char *capture_end(size_t *len)
{
    ssize_t got = pread(STDERR_FILENO, captured, sizeof captured - 1, 0);
    ck_assert_int_ge(got, 0);
    captured[got] = '\0';
    *len = (size_t)got;
    dup2(saved_stderr, STDERR_FILENO);
    close(saved_stderr);
    return captured;
}

/* The one line that was captured, parsed. */
static json_t *captured_line(void)
{
    size_t len;
    const char *text = capture_end(&len);
    json_error_t error;
    ck_assert_uint_gt(len, 0);
    ck_assert_ptr_eq(strchr(text, '\n'), text + len - 1);
    json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    ck_assert_msg(root != NULL, "%s in %s", error.text, text);
    return root;
}

static const char *member(const json_t *root, const char *name)
{
    const char *text = json_string_value(json_object_get(root, name));
    ck_assert_msg(text != NULL, "no string %s", name);
    return text;
}

START_TEST(log_writes_one_json_object_with_time_level_and_event)
{
    capture_start();
    log_event(LOG_INFO, "listening", LOG_TEXT("address", "127.0.0.1"), LOG_NUMBER("port", 8080),
              LOG_NUMBER("ms", 0.125), LOG_NUMBER("bytes", 33554432UL));
    json_t *root = captured_line();
    ck_assert_str_eq(member(root, "level"), "info");
    ck_assert_str_eq(member(root, "event"), "listening");
    ck_assert_str_eq(member(root, "address"), "127.0.0.1");
    ck_assert_ptr_nonnull(strstr(captured, "\"port\":8080,\"ms\":0.125,\"bytes\":33554432}"));
    json_decref(root);
}
END_TEST

START_TEST(log_accepts_an_event_without_fields)
{
    capture_start();
    log_fields(LOG_WARN, "draining", NULL, 0);
    json_t *root = captured_line();
    ck_assert_uint_eq(json_object_size(root), 3);
    json_decref(root);
}
END_TEST

START_TEST(log_tells_the_time_as_the_c_library_does)
{
    time_t before = time(NULL);
    capture_start();
    log_fields(LOG_INFO, "tick", NULL, 0);
    json_t *root = captured_line();
    struct tm tm = {0};
    const char *rest = strptime(member(root, "time"), "%Y-%m-%dT%H:%M:%S", &tm);
    ck_assert_ptr_nonnull(rest);
    ck_assert_uint_eq(strlen(rest), strlen(".000Z"));
    ck_assert_int_eq(rest[4], 'Z');
    time_t logged = timegm(&tm);
    ck_assert_int_ge(logged, before);
    ck_assert_int_le(logged, time(NULL));
    json_decref(root);
}
END_TEST

START_TEST(log_escapes_quotes_controls_and_invalid_utf8)
{
    capture_start();
    log_event(LOG_ERROR, "odd", LOG_TEXT("a", "\"\\\n\x01\x7F"),
              LOG_TEXT("b", "\xC3\xBC\xFF\xE2\x82"), LOG_TEXT("c", "\xC2\x9B\x31m"),
              LOG_TEXT("na\"me", "x"), LOG_TEXT("none", NULL));
    json_t *root = captured_line();
    ck_assert_str_eq(member(root, "a"), "\"\\\n\x01\x7F");
    ck_assert_str_eq(member(root, "b"), "\xC3\xBC\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
    ck_assert_str_eq(member(root, "c"), "\xC2\x9B\x31m");
    ck_assert_str_eq(member(root, "na\"me"), "x");
    ck_assert(json_is_null(json_object_get(root, "none")));
    ck_assert_ptr_null(strchr(captured, 0x7F));
    ck_assert_ptr_null(strchr(captured, 0x9B - 256));
    json_decref(root);
}
END_TEST

/* U+009F and U+00A0 are neighbours of which one is a control; the characters behind them do not
 * matter. */
START_TEST(log_escapes_c1_controls_by_their_own_bytes)
{
    capture_start();
    log_event(LOG_INFO, "c1", LOG_TEXT("a", "\xC2\x9F\xC3\xBC"), LOG_TEXT("b", "\xC2\xA0 1"));
    json_t *root = captured_line();
    ck_assert_str_eq(member(root, "a"), "\xC2\x9F\xC3\xBC");
    ck_assert_str_eq(member(root, "b"), "\xC2\xA0 1");
    ck_assert_ptr_nonnull(strstr(captured, "\\u009f\xC3\xBC"));
    ck_assert_ptr_nonnull(strstr(captured, "\xC2\xA0 1"));
    json_decref(root);
}
END_TEST

/* Lines that come out of the pipe until it is empty, the last of them into out. */
static unsigned drain(int fd, char *out, size_t size)
{
    unsigned lines = 0;
    ssize_t got;
    fcntl(fd, F_SETFL, O_NONBLOCK);
    while ((got = read(fd, out, size - 1)) > 0) {
        out[got] = '\0';
        for (const char *at = out; (at = strchr(at, '\n')) != NULL; at++)
            lines++;
    }
    return lines;
}

START_TEST(log_never_waits_for_a_pipe_that_nobody_reads_and_tells_what_was_lost)
{
    enum { UNREAD = 2000 };
    int ends[2];
    char text[64], bytes[8192];
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_ge(fcntl(ends[1], F_SETPIPE_SZ, 8192), 0);
    saved_stderr = dup(STDERR_FILENO);
    dup2(ends[1], STDERR_FILENO);
    for (int i = 0; i < UNREAD; i++)
        log_event(LOG_INFO, "unread", LOG_NUMBER("i", i));
    ck_assert_int_eq(fcntl(STDERR_FILENO, F_GETFL) & O_NONBLOCK, 0);
    unsigned taken = drain(ends[0], bytes, sizeof bytes);
    ck_assert(taken > 0 && taken < UNREAD);
    log_fields(LOG_INFO, "read", NULL, 0);
    ck_assert_uint_eq(drain(ends[0], bytes, sizeof bytes), 2);
    snprintf(text, sizeof text, "\"event\":\"log_lines_lost\",\"lines\":%u}", UNREAD - taken);
    ck_assert_ptr_nonnull(strstr(bytes, text));
    ck_assert_ptr_nonnull(strstr(bytes, "\"event\":\"read\"}"));
    log_fields(LOG_INFO, "again", NULL, 0);
    ck_assert_uint_eq(drain(ends[0], bytes, sizeof bytes), 1);
    dup2(saved_stderr, STDERR_FILENO);
    close(saved_stderr), close(ends[0]), close(ends[1]);
}
END_TEST

START_TEST(log_writes_numbers_that_json_lacks_as_null)
{
    capture_start();
    log_event(LOG_INFO, "n", LOG_NUMBER("nan", NAN), LOG_NUMBER("inf", -INFINITY),
              LOG_NUMBER("huge", 1e300));
    json_t *root = captured_line();
    ck_assert(json_is_null(json_object_get(root, "nan")));
    ck_assert(json_is_null(json_object_get(root, "inf")));
    ck_assert(json_is_real(json_object_get(root, "huge")));
    json_decref(root);
}
END_TEST

START_TEST(log_cuts_long_lines_at_any_length_and_stays_valid)
{
    char text[4200];
    for (size_t len = 3900; len < 4100; len++) {
        for (size_t i = 0; i < len; i++) /* two-byte characters, then one quote in eight */
            text[i] = i % 8 == 7 ? '"' : i % 2 ? "\xC3\xBC"[1] : "\xC3\xBC"[0];
        text[len] = '\0';
        text[len / 2] = '\0';
        capture_start();
        log_event(LOG_INFO, "long", LOG_TEXT("first", text), LOG_TEXT("second", text),
                  LOG_TEXT("third", text), LOG_NUMBER("fourth", 4));
        json_t *root = captured_line();
        ck_assert_uint_le(strlen(captured), 4096);
        ck_assert_uint_gt(strlen(captured), 4000);
        ck_assert(json_is_true(json_object_get(root, "cut")));
        ck_assert_ptr_null(json_object_get(root, "fourth"));
        json_decref(root);
    }
}
END_TEST

START_TEST(log_fills_a_line_to_the_last_byte_before_it_cuts)
{
    char text[4200];
    bool was_cut = false;
    for (size_t len = 3950; len < 4100; len++) {
        memset(text, 'x', len);
        text[len] = '\0';
        capture_start();
        log_event(LOG_INFO, "e", LOG_TEXT("t", text));
        json_t *root = captured_line();
        bool cut = json_object_get(root, "cut") != NULL;
        ck_assert_uint_le(strlen(captured), 4096);
        ck_assert_int_eq(cut, strlen(member(root, "t")) < len);
        ck_assert(cut || !was_cut);
        was_cut = cut;
        json_decref(root);
    }
    ck_assert(was_cut);
}
END_TEST

/* A number fits or is left out with its name; the fields before it stay. */
START_TEST(log_leaves_out_a_field_whose_value_does_not_fit)
{
    char text[4200];
    unsigned kept = 0, left_out = 0;
    for (size_t len = 3900; len < 4000; len++) {
        memset(text, 'x', len);
        text[len] = '\0';
        capture_start();
        log_event(LOG_INFO, "e", LOG_TEXT("t", text), LOG_NUMBER("number", 123456789),
                  LOG_TEXT("none", NULL));
        json_t *root = captured_line();
        json_t *number = json_object_get(root, "number");
        bool cut = json_is_true(json_object_get(root, "cut"));
        ck_assert_uint_eq(strlen(member(root, "t")), len);
        ck_assert(number == NULL || json_integer_value(number) == 123456789);
        ck_assert(number != NULL || cut);
        ck_assert(json_object_get(root, "none") == NULL ? cut : !cut);
        ck_assert(cut || json_is_null(json_object_get(root, "none")));
        kept += number != NULL;
        left_out += number == NULL;
        json_decref(root);
    }
    ck_assert(kept > 0 && left_out > 0);
}
END_TEST

START_TEST(log_keeps_quiet_below_its_level)
{
    size_t len;
    ck_assert(log_set_level("warn"));
    ck_assert(!log_set_level("loud"));
    ck_assert(log_enabled(LOG_ERROR) && log_enabled(LOG_WARN));
    ck_assert(!log_enabled(LOG_INFO) && !log_enabled(LOG_DEBUG));
    capture_start();
    log_fields(LOG_INFO, "unseen", NULL, 0);
    log_fields(LOG_WARN, "seen", NULL, 0);
    const char *text = capture_end(&len);
    ck_assert_ptr_null(strstr(text, "unseen"));
    ck_assert_ptr_nonnull(strstr(text, "seen"));
    ck_assert(log_set_level("info"));
}
END_TEST

START_TEST(log_loses_a_line_rather_than_stopping)
{
    capture_start();
    int closed = open("/dev/full", O_WRONLY | O_CLOEXEC);
    int file = dup(STDERR_FILENO);
    dup2(closed, STDERR_FILENO);
    errno = 42;
    log_fields(LOG_INFO, "lost", NULL, 0);
    ck_assert_int_eq(errno, 42);
    dup2(file, STDERR_FILENO);
    close(file);
    close(closed);
    log_fields(LOG_INFO, "kept", NULL, 0);
    size_t len;
    const char *text = capture_end(&len), *second = strchr(text, '\n');
    ck_assert_ptr_nonnull(strstr(text, "\"event\":\"log_lines_lost\",\"lines\":1}\n"));
    ck_assert_ptr_nonnull(second);
    ck_assert_ptr_nonnull(strstr(second, "\"event\":\"kept\"}\n"));
}
END_TEST

enum { WRITERS = 4, LINES = 500 };

static void *write_lines(void *argument)
{
    char text[600];
    memset(text, 'a' + *(int *)argument, sizeof text);
    text[sizeof text - 1] = '\0';
    for (int i = 0; i < LINES; i++)
        log_event(LOG_INFO, "threads", LOG_NUMBER("thread", *(int *)argument), LOG_TEXT("t", text));
    return NULL;
}

START_TEST(log_lines_of_several_threads_never_mix)
{
    pthread_t threads[WRITERS];
    int numbers[WRITERS];
    capture_start();
    for (int i = 0; i < WRITERS; i++) {
        numbers[i] = i;
        pthread_create(&threads[i], NULL, write_lines, &numbers[i]);
    }
    for (int i = 0; i < WRITERS; i++)
        pthread_join(threads[i], NULL);
    size_t len, lines = 0;
    char *rest = NULL;
    capture_end(&len);
    for (char *line = strtok_r(captured, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        json_t *root = json_loads(line, 0, NULL);
        ck_assert_ptr_nonnull(root);
        int thread = (int)json_integer_value(json_object_get(root, "thread"));
        const char *text = member(root, "t");
        ck_assert_uint_eq(strlen(text), 599);
        ck_assert_uint_eq(strspn(text, (char[]){(char)('a' + thread), '\0'}), 599);
        json_decref(root);
        lines++;
    }
    ck_assert_uint_eq(lines, WRITERS * LINES);
}
END_TEST

SUITE("log", log_writes_one_json_object_with_time_level_and_event,
      log_accepts_an_event_without_fields, log_tells_the_time_as_the_c_library_does,
      log_escapes_quotes_controls_and_invalid_utf8, log_escapes_c1_controls_by_their_own_bytes,
      log_never_waits_for_a_pipe_that_nobody_reads_and_tells_what_was_lost,
      log_writes_numbers_that_json_lacks_as_null, log_cuts_long_lines_at_any_length_and_stays_valid,
      log_fills_a_line_to_the_last_byte_before_it_cuts, log_keeps_quiet_below_its_level,
      log_loses_a_line_rather_than_stopping, log_lines_of_several_threads_never_mix,
      log_leaves_out_a_field_whose_value_does_not_fit)
