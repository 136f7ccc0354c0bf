/* Whole lines, byte by byte, with the clock of the test. */
#include "server/observe/log.h"

#include "tests/support/log_capture.h"
#include "tests/support/suite.h"
#include "tests/unit/server/lock_counter.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static struct timespec now;

int clock_gettime(clockid_t clock, struct timespec *time)
{
    if (clock != CLOCK_REALTIME || now.tv_sec == 0)
        return (int)syscall(SYS_clock_gettime, clock, time);
    *time = now;
    return 0;
}

static const char *logged(enum log_level level, const struct log_field *fields, unsigned count)
{
    log_capture_start();
    log_fields(level, "e", fields, count);
    return log_capture_end();
}

START_TEST(the_time_is_the_date_of_the_second)
{
    static const struct {
        time_t seconds;
        long ns;
        const char *text;
    } cases[] = {
        {1, 0, "1970-01-01T00:00:01.000Z"},
        {951782399, 999999999, "2000-02-28T23:59:59.999Z"},
        {951782400, 1000000, "2000-02-29T00:00:00.001Z"},
        {951868800, 999999, "2000-03-01T00:00:00.000Z"},
        {978307199, 500000000, "2000-12-31T23:59:59.500Z"},
        {978307200, 0, "2001-01-01T00:00:00.000Z"},
        {1709164800, 0, "2024-02-29T00:00:00.000Z"},
        {1740700800, 0, "2025-02-28T00:00:00.000Z"},
        {1740787200, 0, "2025-03-01T00:00:00.000Z"},
        {4107542399, 0, "2100-02-28T23:59:59.000Z"},
        {4107542400, 0, "2100-03-01T00:00:00.000Z"},
        {13574563199, 0, "2400-02-28T23:59:59.000Z"},
        {13574563200, 0, "2400-02-29T00:00:00.000Z"},
        {253402300799, 0, "9999-12-31T23:59:59.000Z"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char line[128];
        now = (struct timespec){.tv_sec = cases[i].seconds, .tv_nsec = cases[i].ns};
        snprintf(line, sizeof line, "{\"time\":\"%s\",\"level\":\"info\",\"event\":\"e\"}\n",
                 cases[i].text);
        ck_assert_str_eq(logged(LOG_INFO, NULL, 0), line);
    }
}
END_TEST

/* Every day of four years, against the C library. */
START_TEST(the_time_is_the_date_that_the_library_says)
{
    for (time_t day = 1704067200; day < 1704067200 + 1461 * (time_t)86400; day += 86400 + 3661) {
        char line[128];
        struct tm parts;
        now = (struct timespec){.tv_sec = day};
        gmtime_r(&day, &parts);
        strftime(line, sizeof line, "{\"time\":\"%Y-%m-%dT%H:%M:%S.000Z\",", &parts);
        ck_assert_int_eq(strncmp(logged(LOG_INFO, NULL, 0), line, strlen(line)), 0);
    }
}
END_TEST

START_TEST(each_level_has_its_word_and_is_logged_up_to_the_one_that_is_set)
{
    static const char *const words[] = {"error", "warn", "info", "debug"};
    now = (struct timespec){.tv_sec = 1};
    ck_assert(!log_set_level("loud") && !log_set_level("") && !log_set_level("err"));
    for (int set = LOG_ERROR; set <= LOG_DEBUG; set++) {
        ck_assert(log_set_level(words[set]));
        for (int level = LOG_ERROR; level <= LOG_DEBUG; level++) {
            char line[128] = "";
            if (level <= set)
                snprintf(line, sizeof line,
                         "{\"time\":\"1970-01-01T00:00:01.000Z\",\"level\":\"%s\",\"event\":\"e\"}"
                         "\n",
                         words[level]);
            ck_assert_int_eq(log_enabled((enum log_level)level), level <= set);
            ck_assert_str_eq(logged((enum log_level)level, NULL, 0), line);
        }
    }
}
END_TEST

START_TEST(a_number_is_whole_or_has_nine_digits)
{
    static const struct {
        double number;
        const char *text;
    } cases[] = {{0, "0"},
                 {-3, "-3"},
                 {0.5, "0.5"},
                 {1.0 / 3, "0.333333333"},
                 {-2.5e-7, "-2.5e-07"},
                 {999999999999999, "999999999999999"},
                 {-999999999999999, "-999999999999999"},
                 {1e15, "1e+15"},
                 {-1e15, "-1e+15"},
                 {NAN, "null"},
                 {INFINITY, "null"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char fields[64];
        const struct log_field number = LOG_NUMBER("n", cases[i].number);
        snprintf(fields, sizeof fields, ",\"n\":%s}", cases[i].text);
        ck_assert_str_eq(log_capture_fields(logged(LOG_INFO, &number, 1), "e"), fields);
    }
}
END_TEST

START_TEST(a_character_is_escaped_where_json_or_a_terminal_needs_it)
{
    static const struct {
        const char *text, *json;
    } cases[] = {
        {"", "\"\""},
        {NULL, "null"},
        {"a\"b\\c/", "\"a\\\"b\\\\c/\""},
        {"\x01\x1F\x20\x7E\x7F", "\"\\u0001\\u001f ~\\u007f\""},
        {"\xC2\x80\xC2\x9F\xC2\xA0", "\"\\u0080\\u009f\xC2\xA0\""},
        {"\xC3\x80\xE2\x82\xAC\xF0\x9F\x98\x80", "\"\xC3\x80\xE2\x82\xAC\xF0\x9F\x98\x80\""},
        {"\xC3", "\"\xEF\xBF\xBD\""},
        {"\xC2x", "\"\xEF\xBF\xBDx\""},
        {"\x80\xFF", "\"\xEF\xBF\xBD\xEF\xBF\xBD\""}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char fields[64];
        const struct log_field text = LOG_TEXT("t", cases[i].text);
        snprintf(fields, sizeof fields, ",\"t\":%s}", cases[i].json);
        ck_assert_str_eq(log_capture_fields(logged(LOG_INFO, &text, 1), "e"), fields);
    }
}
END_TEST

enum {
    LINE_BYTES = 4096,
    HEAD_BYTES = sizeof "{\"time\":\"1970-01-01T00:00:01.000Z\","
                        "\"level\":\"info\",\"event\":\"e\"" -
                 1
};

/* The room of a line: a text of so many bytes and the ending of a line that was cut, even if it is
 * not cut. */
enum { ENDING = sizeof ",\"cut\":true}\n", ROOM = LINE_BYTES - HEAD_BYTES - ENDING };

START_TEST(a_line_is_cut_where_it_ends_and_not_before)
{
    static char text[LINE_BYTES];
    enum { MOST = ROOM - (int)sizeof ",\"t\":\"\"" + 1 };
    now = (struct timespec){.tv_sec = 1};
    for (int len = MOST - 2; len <= MOST + 2; len++) {
        memset(text, 'x', (size_t)len);
        text[len] = '\0';
        const struct log_field field = LOG_TEXT("t", text);
        const char *line = logged(LOG_INFO, &field, 1);
        bool is_cut = strstr(line, "\",\"cut\":true}\n") != NULL;
        ck_assert_int_eq(is_cut, len > MOST);
        ck_assert_uint_eq(strspn(strstr(line, "\"t\":\"") + 5, "x"),
                          (size_t)(len < MOST ? len : MOST));
        ck_assert_uint_le(strlen(line), LINE_BYTES);
    }
}
END_TEST

/* The text ends before the character that did not fit, though a shorter one would fit. */
START_TEST(a_text_ends_at_the_character_that_does_not_fit)
{
    static char text[LINE_BYTES];
    enum { MOST = ROOM - (int)sizeof ",\"t\":\"\"" + 1 };
    now = (struct timespec){.tv_sec = 1};
    memset(text, 'x', MOST - 2);
    memcpy(text + MOST - 2, "\xE2\x82\xACyz", 6);
    const struct log_field fields[] = {LOG_TEXT("t", text), LOG_NUMBER("n", 1)};
    const char *line = logged(LOG_INFO, fields, 2);
    ck_assert_str_eq(strstr(line, "\"t\":\"") + 5 + MOST - 2, "\",\"cut\":true}\n");
}
END_TEST

START_TEST(a_field_whose_name_or_number_does_not_fit_is_taken_back)
{
    static char text[LINE_BYTES];
    now = (struct timespec){.tv_sec = 1};
    for (int left = 0; left < 12; left++) {
        size_t len = (size_t)ROOM - (sizeof ",\"t\":\"\"" - 1) - (size_t)left;
        memset(text, 'x', len);
        text[len] = '\0';
        const struct log_field fields[] = {LOG_TEXT("t", text), LOG_NUMBER("n", 12),
                                           LOG_NUMBER("m", 3)};
        const char *rest = strchr(logged(LOG_INFO, fields, 3), 'x');
        const char *end = rest + strspn(rest, "x");
        ck_assert_str_eq(end, left < 7 ? "\",\"cut\":true}\n" : "\",\"n\":12,\"cut\":true}\n");
    }
}
END_TEST

/* The device is always full: errno also stays if the line could not be written. */
START_TEST(errno_is_as_it_was)
{
    int saved = dup(STDERR_FILENO), full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    ck_assert_int_ge(dup2(full, STDERR_FILENO), 0);
    errno = 77;
    log_fields(LOG_ERROR, "e", NULL, 0);
    int after = errno;
    dup2(saved, STDERR_FILENO);
    close(saved);
    close(full);
    ck_assert_int_eq(after, 77);
}
END_TEST

START_TEST(a_line_is_written_under_the_lock)
{
    log_capture_start();
    LOCK_COUNTER_EXPECT_ONE(log_fields(LOG_ERROR, "e", NULL, 0), 0);
    log_capture_end();
}
END_TEST

SUITE("log_exact", the_time_is_the_date_of_the_second, the_time_is_the_date_that_the_library_says,
      each_level_has_its_word_and_is_logged_up_to_the_one_that_is_set,
      a_number_is_whole_or_has_nine_digits,
      a_character_is_escaped_where_json_or_a_terminal_needs_it,
      a_line_is_cut_where_it_ends_and_not_before, a_text_ends_at_the_character_that_does_not_fit,
      a_field_whose_name_or_number_does_not_fit_is_taken_back, errno_is_as_it_was,
      a_line_is_written_under_the_lock)
