/* The audit log: appended lines are there, in a chain, also after refusals of the disk and
 * kills. */
#include "engine/base/file.h"
#include "server/audit/audit.h"
#include "server/audit/audit_files.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct tempdir dir;
static struct err err;

static struct audit_options plain(void)
{
    return (struct audit_options){.dir = dir.path, .refuse = true, .rotate_bytes = 1 << 20};
}

static struct audit *opened(const struct audit_options *options)
{
    struct audit *audit;
    err = (struct err){0};
    ck_assert_msg(audit_open(&audit, options, &err) == ERR_OK, "%s", err.text);
    return audit;
}

static enum err_code append(struct audit *audit, const char *members)
{
    err = (struct err){0};
    return audit_append(audit, &(struct audit_members){members, strlen(members)}, 1, &err);
}

/* Follows the chain through all files; returns its lines, and how often "text" stands in them. */
static uint64_t follow(struct audit_key key, const char *text, unsigned *hits)
{
    char **paths;
    size_t count;
    struct audit_chain chain;
    struct err broken = {0};
    audit_chain_init(&chain, key);
    *hits = 0;
    ck_assert_int_eq(audit_files_list(&paths, &count, dir.path, &broken), ERR_OK);
    for (size_t i = 0; i < count; i++) {
        char *bytes;
        size_t len;
        ck_assert_int_eq(file_read(&bytes, &len, paths[i], 1 << 26, &broken), ERR_OK);
        for (char *line = bytes, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
            *end = '\0';
            audit_chain_follow(&chain, line, (size_t)(end - line), &broken);
            ck_assert_msg(broken.code == ERR_OK, "%s: %s", broken.text, line);
            *hits += strstr(line, text) != NULL;
            len -= (size_t)(end - line) + 1;
        }
        ck_assert_uint_eq(len, 0);
        free(bytes);
    }
    audit_files_free(paths, count);
    return chain.seq;
}

static void close_all(void)
{
    tempdir_close(&dir);
}

static const struct audit_key no_key = {0};

START_TEST(lines_are_a_chain_that_goes_on_after_a_restart)
{
    tempdir_open(&dir);
    unsigned hits;
    struct audit_options options = plain();
    for (unsigned start = 0; start < 3; start++) {
        struct audit *audit = opened(&options);
        ck_assert_int_eq(append(audit, "\"type\":\"test\",\"a\":1"), ERR_OK);
        ck_assert_int_eq(append(audit, "\"type\":\"test\",\"a\":2"), ERR_OK);
        struct audit_state state = audit_state(audit);
        ck_assert_uint_eq(state.seq, 1 + 2 * (start + 1));
        ck_assert_uint_eq(state.written, 2);
        audit_close(audit);
    }
    ck_assert_uint_eq(follow(no_key, "\"type\":\"test\"", &hits), 7);
    ck_assert_uint_eq(hits, 6);
    close_all();
}
END_TEST

START_TEST(files_rotate_with_the_chain_unbroken)
{
    tempdir_open(&dir);
    unsigned hits;
    char **paths;
    size_t count;
    struct audit_options options = plain();
    options.rotate_bytes = 1000;
    struct audit *audit = opened(&options);
    for (unsigned i = 0; i < 20; i++)
        ck_assert_int_eq(append(audit, "\"type\":\"test\""), ERR_OK);
    audit_close(audit);
    ck_assert_int_eq(audit_files_list(&paths, &count, dir.path, &err), ERR_OK);
    ck_assert_uint_eq(count, 3);
    audit_files_free(paths, count);
    ck_assert_uint_eq(follow(no_key, "\"type\":\"test\"", &hits), 23);
    ck_assert_uint_eq(hits, 20);
    close_all();
}
END_TEST

struct appender {
    struct audit *audit;
    unsigned lines;
};

static void *append_many(void *context)
{
    static const struct audit_members line = {"\"type\":\"many\"", 13};
    const struct audit_members lines[3] = {line, line, line};
    struct appender *appender = context;
    struct err failure = {0};
    for (unsigned i = 0; i < appender->lines; i++)
        audit_append(appender->audit, lines, 1 + i % 3, &failure);
    return failure.code == ERR_OK ? NULL : context;
}

START_TEST(many_threads_append_to_one_chain)
{
    static const enum audit_sync modes[] = {AUDIT_NONE, AUDIT_GROUP, AUDIT_EACH};
    for (unsigned m = 0; m < 3; m++) {
        tempdir_open(&dir);
        unsigned hits;
        struct audit_options options = plain();
        options.rotate_bytes = 20000;
        options.sync = modes[m];
        struct appender appender = {opened(&options), modes[m] == AUDIT_EACH ? 48 : 999};
        pthread_t threads[8];
        void *failed;
        for (unsigned i = 0; i < 8; i++)
            ck_assert_int_eq(pthread_create(&threads[i], NULL, append_many, &appender), 0);
        for (unsigned i = 0; i < 8; i++) {
            pthread_join(threads[i], &failed);
            ck_assert_ptr_null(failed);
        }
        audit_close(appender.audit);
        follow(no_key, "\"many\"", &hits);
        ck_assert_uint_eq(hits, 8 * 2 * appender.lines);
        close_all();
    }
}
END_TEST

/* The newest file, with so many bytes more or less. */
static void change_end(const char *more, size_t less)
{
    char **paths;
    size_t count;
    struct stat status;
    ck_assert_int_eq(audit_files_list(&paths, &count, dir.path, &err), ERR_OK);
    int fd = open(paths[count - 1], O_WRONLY | O_APPEND);
    ck_assert_int_eq(fstat(fd, &status), 0);
    ck_assert_int_eq(ftruncate(fd, status.st_size - (off_t)less), 0);
    ck_assert_int_eq(write(fd, more, strlen(more)), (ssize_t)strlen(more));
    close(fd);
    audit_files_free(paths, count);
}

START_TEST(an_unfinished_line_is_cut_and_the_chain_goes_on)
{
    static const struct {
        const char *more;
        size_t less, cut;
        uint64_t lines; /* that are left, with the "begin" */
    } cases[] = {{"{\"seq\":4,\"ti", 0, 12, 3}, {"", 5, 141, 2}, {"\0", 0, 0, 3}};
    for (unsigned i = 0; i < 2; i++) {
        tempdir_open(&dir);
        unsigned hits;
        struct audit_options options = plain();
        struct audit *audit = opened(&options);
        append(audit, "\"type\":\"test\"");
        append(audit, "\"type\":\"test\"");
        audit_close(audit);
        change_end(cases[i].more, cases[i].less);
        audit = opened(&options);
        ck_assert_uint_gt(audit_state(audit).cut_bytes, 0);
        ck_assert_uint_eq(audit_state(audit).seq, cases[i].lines);
        append(audit, "\"type\":\"after\"");
        audit_close(audit);
        ck_assert_uint_eq(follow(no_key, "\"after\"", &hits), cases[i].lines + 1);
        ck_assert_uint_eq(hits, 1);
        close_all();
    }
}
END_TEST

START_TEST(a_file_without_one_whole_line_is_removed)
{
    tempdir_open(&dir);
    unsigned hits;
    struct audit_options options = plain();
    struct audit *audit = opened(&options);
    append(audit, "\"type\":\"test\"");
    audit_close(audit);
    tempdir_write(&dir, "attnd-audit-000000000003.jsonl", "{\"seq\":3", 8);
    audit = opened(&options);
    append(audit, "\"type\":\"after\"");
    audit_close(audit);
    ck_assert_uint_eq(follow(no_key, "\"after\"", &hits), 3);
    close_all();
}
END_TEST

START_TEST(audit_refuses_a_log_of_another_format)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"nonsense\n", "this is not the first line of an audit log's file"},
        {"{\"seq\":1,\"time\":\"t\",\"type\":\"begin\",\"format\":3,\"prev\":"
         "\"0000000000000000000000000000000000000000000000000000000000000000\"}\n",
         "written by a newer attnd (format 3, known is 2)"},
        {"{\"seq\":1,\"time\":\"t\",\"type\":\"other\",\"prev\":"
         "\"0000000000000000000000000000000000000000000000000000000000000000\"}\n",
         "this is not the first line of an audit log's file"},
    };
    struct audit_options options = plain();
    struct audit *audit, *other;
    for (unsigned i = 0; i < 3; i++) {
        tempdir_open(&dir);
        tempdir_write(&dir, "attnd-audit-000000000001.jsonl", cases[i].text, strlen(cases[i].text));
        err = (struct err){0};
        ck_assert_int_ne(audit_open(&audit, &options, &err), ERR_OK);
        ck_assert_msg(strstr(err.text, cases[i].why) != NULL, "%s", err.text);
        close_all();
    }
    tempdir_open(&dir);
    audit = opened(&options);
    err = (struct err){0};
    ck_assert_int_eq(audit_open(&other, &options, &err), ERR_CONFLICT);
    ck_assert_ptr_nonnull(strstr(err.text, "another process writes this audit log"));
    audit_close(audit);
    close_all();
}
END_TEST

START_TEST(a_key_makes_the_chain_anothers_cannot_write)
{
    tempdir_open(&dir);
    unsigned hits;
    struct audit_options keyed = plain();
    keyed.key = (struct audit_key){"secret", 6};
    struct audit *audit = opened(&keyed);
    append(audit, "\"type\":\"test\"");
    append(audit, "\"type\":\"test\"");
    audit_close(audit);
    ck_assert_uint_eq(follow(keyed.key, "hmac-sha256", &hits), 3);
    ck_assert_uint_eq(hits, 1);
    tempdir_close(&dir);
}
END_TEST

static void expect_refused(const struct audit_options *options, const char *why)
{
    struct audit *audit;
    err = (struct err){0};
    ck_assert_int_eq(audit_open(&audit, options, &err), ERR_UNUSABLE);
    ck_assert_msg(strstr(err.text, why) != NULL, "%s", err.text);
}

START_TEST(a_log_goes_on_only_with_its_key_and_never_in_a_weaker_way)
{
    static const char begin[] = "\"type\":\"begin\",\"format\":1,\"chain\":\"sha256\"";
    struct audit_options options = plain(), keyed = plain(), other = plain();
    struct audit_chain forged;
    char line[512];
    keyed.key = (struct audit_key){"secret", 6};
    other.key = (struct audit_key){"sekret", 6};
    tempdir_open(&dir);
    struct audit *audit = opened(&keyed);
    append(audit, "\"type\":\"test\"");
    audit_close(audit);
    expect_refused(&options, "000001.jsonl: this log was written with a key; name it in");
    expect_refused(&other, "000001.jsonl: its end: its \"mac\" does not match this key");
    audit_chain_init(&forged, (struct audit_key){0});
    forged.seq = 1;
    size_t len = audit_chain_seal(&forged, begin, strlen(begin), line);
    tempdir_write(&dir, "attnd-audit-000000000002.jsonl", line, len);
    static const char why[] = "000002.jsonl: was written without a key, but the older "
                              "attnd-audit-000000000001.jsonl with one";
    expect_refused(&keyed, why);
    expect_refused(&options, why);
    expect_refused(&other, why);
    tempdir_close(&dir);
}
END_TEST

START_TEST(an_end_that_was_changed_is_no_log_to_go_on_with)
{
    static const char *const why[] = {"its \"mac\" does not match", "its \"prev\" is not the hash"};
    struct audit_options keyed = plain();
    keyed.key = (struct audit_key){"0123456789abcdef", 16};
    for (unsigned i = 0; i < 2; i++) {
        tempdir_open(&dir);
        if (i == 0) {
            struct audit *audit = opened(&keyed);
            append(audit, "\"type\":\"test\"");
            audit_close(audit);
            change_end("", 40);
            change_end("0000000000000000000000000000000000000\"}\n", 0);
        } else {
            tempdir_copy(&dir, "attnd-audit-000000000006.jsonl",
                         "tests/data/state/2026-11/audit/attnd-audit-000000000006.jsonl");
            change_end("", 6);
            change_end("000\"}\n", 0);
        }
        expect_refused(&keyed, why[i]);
        tempdir_close(&dir);
    }
}
END_TEST

/* A limit on the size of files stands for a disk that is full. Returns how many of five lines were
 * refused; no check is made meanwhile, since the test's own messages go through a file. */
static unsigned append_to_full_disk(struct audit *audit)
{
    struct rlimit limit, before;
    unsigned refused = 0;
    getrlimit(RLIMIT_FSIZE, &before);
    limit = (struct rlimit){400, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
    for (unsigned i = 0; i < 5; i++)
        refused += append(audit, "\"type\":\"full\"") == ERR_NOT_READY;
    setrlimit(RLIMIT_FSIZE, &before);
    return refused;
}

START_TEST(a_full_disk_refuses_or_counts_and_the_chain_holds)
{
    signal(SIGXFSZ, SIG_IGN);
    for (unsigned refuse = 0; refuse < 2; refuse++) {
        tempdir_open(&dir);
        unsigned hits;
        struct audit_options options = plain();
        options.refuse = refuse;
        struct audit *audit = opened(&options);
        ck_assert_int_eq(append(audit, "\"type\":\"test\""), ERR_OK);
        ck_assert_uint_eq(append_to_full_disk(audit), refuse ? 5 : 0);
        ck_assert_str_eq(err.text, refuse ? "the audit log cannot be written: File too large" : "");
        ck_assert_int_eq(append(audit, "\"type\":\"after\""), ERR_OK);
        struct audit_state state = audit_state(audit);
        ck_assert_uint_eq(refuse ? state.refused : state.lost, 5);
        ck_assert_uint_eq(refuse ? state.lost : state.refused, 0);
        audit_close(audit);
        follow(no_key, "\"type\":\"lost\",\"lines\":5", &hits);
        ck_assert_uint_eq(hits, refuse ? 0 : 1);
        follow(no_key, "\"type\":\"full\"", &hits);
        ck_assert_uint_eq(hits, 0);
        close_all();
    }
}
END_TEST

static size_t file_count(void)
{
    char **paths;
    size_t count;
    err = (struct err){0};
    ck_assert_int_eq(audit_files_list(&paths, &count, dir.path, &err), ERR_OK);
    audit_files_free(paths, count);
    return count;
}

/* A file for each line or two; all but one are as old as 1970. */
static void write_old(unsigned lines, size_t young)
{
    char **paths;
    size_t count;
    struct audit_options options = plain();
    options.rotate_bytes = 300;
    struct audit *audit = opened(&options);
    for (unsigned i = 0; i < lines; i++)
        append(audit, "\"type\":\"test\"");
    audit_close(audit);
    ck_assert_int_eq(audit_files_list(&paths, &count, dir.path, &err), ERR_OK);
    ck_assert_uint_gt(count, 1);
    for (size_t i = 0; i < count; i++) {
        const struct timespec at = {.tv_sec = i == young ? time(NULL) : 1};
        ck_assert_int_eq(utimensat(AT_FDCWD, paths[i], (struct timespec[2]){at, at}, 0), 0);
    }
    audit_files_free(paths, count);
}

static struct audit_expiry expire(unsigned days)
{
    struct audit_files files = {.fd = -1};
    snprintf(files.dir, sizeof files.dir, "%s", dir.path);
    return audit_files_expire(&files, days);
}

/* The clock of one start was wrong: all files seem old. */
START_TEST(in_a_day_few_files_go_whatever_the_clock_says)
{
    static const char yesterday[] = "{\"format\":1,\"day\":3,\"removed\":9}";
    tempdir_open(&dir);
    write_old(120, 1000000);
    const size_t count = file_count();
    ck_assert_uint_gt(count, 50);
    const unsigned most = 2 * ((unsigned)(count + 29) / 30);
    for (unsigned start = 0; start < 3; start++) { /* also over restarts of that day */
        const struct audit_expiry expiry = expire(30);
        ck_assert_uint_eq(expiry.removed, start == 0 ? most : 0);
        ck_assert_uint_eq(expiry.later, count - 1 - most);
    }
    ck_assert_uint_eq(file_count(), count - most);
    tempdir_write(&dir, "expired", yesterday, sizeof yesterday - 1);
    ck_assert_uint_gt(expire(30).removed, 0);
    tempdir_write(&dir, "expired", "?", 1);
    ck_assert_uint_le(expire(1).removed, count / 2);
    tempdir_close(&dir);
}
END_TEST

START_TEST(only_the_oldest_in_a_row_go_and_never_the_newest)
{
    tempdir_open(&dir);
    write_old(12, 2);
    const size_t count = file_count();
    ck_assert_uint_eq(expire(1).removed, 2);
    ck_assert_uint_eq(file_count(), count - 2);
    tempdir_close(&dir);
    tempdir_open(&dir);
    write_old(2, 1000000);
    for (unsigned i = 0; i < 9; i++) {
        tempdir_write(&dir, "expired", "{}", 2);
        expire(1);
    }
    ck_assert_uint_eq(file_count(), 1);
    tempdir_close(&dir);
}
END_TEST

START_TEST(audit_log_records_the_files_that_expired)
{
    struct audit_options options = plain();
    char **paths, *bytes;
    size_t count, len;
    tempdir_open(&dir);
    write_old(12, 1000000);
    options.keep_days = 30;
    struct audit *audit = opened(&options);
    while (audit_state(audit).written == 0)
        usleep(1000);
    audit_close(audit);
    ck_assert_int_eq(audit_files_list(&paths, &count, dir.path, &err), ERR_OK);
    ck_assert_int_eq(file_read(&bytes, &len, paths[count - 1], 1 << 20, &err), ERR_OK);
    ck_assert_ptr_nonnull(strstr(bytes, "\"type\":\"expired\",\"files\":2,"));
    free(bytes);
    audit_files_free(paths, count);
    tempdir_close(&dir);
}
END_TEST

SUITE("audit", lines_are_a_chain_that_goes_on_after_a_restart, files_rotate_with_the_chain_unbroken,
      many_threads_append_to_one_chain, an_unfinished_line_is_cut_and_the_chain_goes_on,
      a_file_without_one_whole_line_is_removed, audit_refuses_a_log_of_another_format,
      a_key_makes_the_chain_anothers_cannot_write,
      a_log_goes_on_only_with_its_key_and_never_in_a_weaker_way,
      an_end_that_was_changed_is_no_log_to_go_on_with,
      a_full_disk_refuses_or_counts_and_the_chain_holds,
      in_a_day_few_files_go_whatever_the_clock_says,
      only_the_oldest_in_a_row_go_and_never_the_newest, audit_log_records_the_files_that_expired)
