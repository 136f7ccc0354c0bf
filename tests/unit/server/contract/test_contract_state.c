/* A process leaves a state to the next one. state_dir belongs to one process at a time, errors name
 * the file, and nothing that is printed lands in a file. */
#include "tests/support/contract.h"
#include "tests/support/server_process.h"
#include "tests/support/tempdir.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MODEL "--model", "logs=models/testlog-bert"

static struct tempdir dir;

static char *path_of(const char *name)
{
    static char paths[8][160];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", dir.path, name);
    return path;
}

static void clear(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'/*", dir.path);
    ck_assert_int_eq(system(command), 0);
    tempdir_close(&dir);
}

/* Runs a shell's lines with the programs in $B and the directory in $D. A SIGTERM that comes while
 * attnd still starts ends it with threads that nobody joins, which ThreadSanitizer would report. */
static void run(const char *lines)
{
    char program[600], *slash, command[2048];
    built_program("attnd", program, sizeof program);
    slash = strrchr(program, '/');
    *slash = '\0';
    snprintf(command, sizeof command,
             "set -eu; B='%s'; D='%s'\n"
             "export TSAN_OPTIONS=\"${TSAN_OPTIONS-}:report_thread_leaks=0\"\n%s",
             program, dir.path, lines);
    unsetenv("ATTND_TEST_BACKEND"); /* ours, not the program's */
    ck_assert_int_eq(system(command), 0);
}

/* ---- one process at a time ---- */

/* The directories that belong to one process, and the event of a start that waits for one. */
static const struct {
    const char *option, *event;
} owned[] = {{"--state-dir", "state_dir_waits"}, {"--audit-dir", "audit_dir_waits"}};
enum { OWNED = sizeof owned / sizeof owned[0] };

/* Ends the old server, in a child, once the new one's log says that it waits. */
static pid_t end_when_awaited(pid_t old, const char *log, const char *event)
{
    const pid_t child = fork();
    char command[256];
    if (child != 0)
        return child;
    snprintf(command, sizeof command, "until grep -q %s '%s'; do sleep 0.02; done; kill %d", event,
             log, (int)old);
    _exit(system(command));
}

START_TEST(a_restart_that_overlaps_takes_over_when_the_old_process_has_ended)
{
    for (size_t i = 0; i < OWNED; i++) {
        struct server_process old, new;
        const char *options[] = {MODEL, owned[i].option, NULL, NULL};
        tempdir_open(&dir);
        options[3] = path_of("owned");
        const char *log = path_of("log");
        server_process_start(&old, options);
        const pid_t helper = end_when_awaited(old.pid, log, owned[i].event);
        server_process_launch(&new, options, &(struct server_launch){.log = log});
        ck_assert_int_eq(server_process_wait(&old), 0);
        ck_assert_int_eq(waitpid(helper, NULL, 0), helper);
        struct reply reply = contract_ask(new.port, "GET", "/readyz", "", NULL);
        reply_expect_status(&reply, 200);
        reply_free(&reply);
        ck_assert_int_eq(server_process_stop(&new), 0);
        clear();
    }
}
END_TEST

START_TEST(one_directory_may_be_state_dir_and_audit_dir)
{
    struct server_process server;
    tempdir_open(&dir);
    server_process_start(
        &server, (const char *[]){MODEL, "--state-dir", dir.path, "--audit-dir", dir.path, NULL});
    ck_assert_int_eq(server_process_stop(&server), 0);
    clear();
}
END_TEST

/* ---- files that are blamed ---- */

START_TEST(a_roll_out_that_cannot_be_served_is_named)
{
    static const char *const now[] = {
        "\"dir\":\"/nonexistent\",\"dtype\":\"f32\",\"split\":0,\"shadow\":0,\"standby\":false",
        "\"dir\":\"models/"
        "testlog-bert\",\"dtype\":\"f99\",\"split\":0,\"shadow\":0,\"standby\":false",
        "\"dir\":\"models/"
        "testlog-bert\",\"dtype\":\"f32\",\"split\":7,\"shadow\":0,\"standby\":false",
    };
    char file[4096], cwd[2048], out[256], errors[4096], want[256];
    ck_assert_ptr_nonnull(getcwd(cwd, sizeof cwd));
    for (size_t i = 0; i < sizeof now / sizeof now[0]; i++) {
        tempdir_open(&dir);
        int len = snprintf(file, sizeof file,
                           "{\"format\":1,\"models\":[{\"name\":\"logs\",\"file\":[{\"dir\":"
                           "\"models/testlog-bert\",\"dtype\":\"f32\",\"split\":0,\"shadow\":0,"
                           "\"standby\":false}],\"now\":[{%s}]}]}",
                           now[i]);
        tempdir_write(&dir, "rollout.json", file, (size_t)len);
        snprintf(want, sizeof want, "%s/rollout.json", dir.path);
        for (unsigned checks = 0; checks < 2; checks++) {
            const char *arguments[] = {MODEL,         "--listen", "127.0.0.1:0",
                                       "--state-dir", dir.path,   checks ? "--check-config" : NULL,
                                       NULL};
            int code = run_program("attnd", arguments, out, sizeof out, errors, sizeof errors);
            ck_assert_msg(code == 2 && strstr(errors, want) != NULL, "%zu %d %s", i, code, errors);
        }
        clear();
    }
}
END_TEST

/* The file loads another version of "logs"; it is "bare" that cannot be used. */
START_TEST(a_roll_out_is_not_blamed_for_a_model_that_it_does_not_change)
{
    static const char kept[] =
        "{\"format\":1,\"models\":[{\"name\":\"logs\",\"file\":[{\"dir\":"
        "\"models/testlog-bert\",\"dtype\":\"f32\",\"split\":0,\"shadow\":0,\"standby\":false}],"
        "\"now\":[{\"dir\":\"models/testlog-bert\",\"dtype\":\"int8\",\"split\":0,\"shadow\":0,"
        "\"standby\":false}]}]}";
    char bare[96], out[256], errors[4096];
    tempdir_open(&dir);
    tempdir_write(&dir, "rollout.json", kept, sizeof kept - 1);
    snprintf(bare, sizeof bare, "bare=%s", dir.path); /* holds no model */
    for (unsigned checks = 0; checks < 2; checks++) {
        const char *arguments[] = {
            MODEL,         "--model",     bare,     "--listen",
            "127.0.0.1:0", "--state-dir", dir.path, checks ? "--check-config" : NULL,
            NULL};
        int code = run_program("attnd", arguments, out, sizeof out, errors, sizeof errors);
        ck_assert_msg(code == 2 && strstr(errors, "model bare: ") != NULL &&
                          strstr(errors, "/rollout.json says") == NULL,
                      "%d %s", code, errors);
    }
    clear();
}
END_TEST

/* The file is of a configuration that has changed since: a start forgets it, a check beside a
 * server that goes on with it does not. */
START_TEST(a_check_of_the_configuration_writes_nothing)
{
    static const char kept[] =
        "{\"format\":1,\"models\":[{\"name\":\"logs\",\"file\":[{\"dir\":\"models/kernel-bert\","
        "\"dtype\":\"f32\",\"split\":0,\"shadow\":0,\"standby\":false}],\"now\":[{\"dir\":"
        "\"models/kernel-bert\",\"dtype\":\"int8\",\"split\":0,\"shadow\":0,\"standby\":false}]}]}";
    char path[256], out[4096], errors[4096];
    tempdir_open(&dir);
    snprintf(path, sizeof path, "%s/rollout.json", dir.path);
    tempdir_write(&dir, "rollout.json", kept, sizeof kept - 1);
    const char *arguments[] = {MODEL, "--state-dir", dir.path, "--check-config", NULL};
    int code = run_program("attnd", arguments, out, sizeof out, errors, sizeof errors);
    ck_assert_msg(code == 0 && strstr(errors, "rollout_overruled") != NULL, "%d %s", code, errors);
    for (unsigned started = 0; started < 2; started++) {
        struct server_process server;
        size_t len;
        char *now = contract_file(path, &len);
        ck_assert_int_eq(len == sizeof kept - 1 && memcmp(now, kept, len) == 0, started == 0);
        free(now);
        server_process_start(&server, (const char *[]){MODEL, "--state-dir", dir.path, NULL});
        ck_assert_int_eq(server_process_stop(&server), 0);
    }
    clear();
}
END_TEST

START_TEST(a_check_says_of_the_audit_key_what_the_start_says)
{
    char out[4096], errors[2][4096], key[256];
    tempdir_open(&dir);
    snprintf(key, sizeof key, "%s/none.key", dir.path);
    for (unsigned checks = 0; checks < 2; checks++) {
        const char *check = checks ? "--check-config" : NULL;
        const char *arguments[] = {MODEL,         "--listen", "127.0.0.1:0",
                                   "--audit-dir", dir.path,   "--audit-key-file",
                                   key,           check,      NULL};
        int code = run_program("attnd", arguments, out, sizeof out, errors[checks], 4096);
        ck_assert_msg(code == 2, "%d %s", code, errors[checks]);
        ck_assert_ptr_nonnull(strstr(errors[checks], "attnd: audit_key_file: "));
    }
    ck_assert_str_eq(strstr(errors[0], "attnd: "), strstr(errors[1], "attnd: "));
    tempdir_close(&dir);
}
END_TEST

/* A directory that a server left or somebody damaged: a check refuses it as a start does, in the
 * same words. Both leave a good directory as it is. */
START_TEST(a_check_refuses_of_a_directory_what_the_start_refuses)
{
    static const struct {
        const char *option, *path, *key, *text;
    } cases[] = {{"--audit-dir", "file", NULL, "audit_dir: "},
                 {"--audit-dir", "keyed", NULL, "written with a key"},
                 {"--audit-dir", "keyed", "other.key", "its end: "},
                 {"--audit-dir", "torn", NULL, "audit_dir: "},
                 {"--state-dir", "file", NULL, "state_dir: "},
                 {"--state-dir", "counted", NULL, "/fits/last: remove it to count fits from 1"}};
    static char errors[2][4096];
    char out[4096], path[128], key[128];
    struct server_process server;
    tempdir_open(&dir);
    run("cd \"$D\"; touch file; mkdir -p torn counted/fits; echo '{' > counted/fits/last\n"
        "head -c 40 /dev/zero | tr '\\0' k > a.key; head -c 40 /dev/zero | tr '\\0' o > other.key\n"
        "chmod 600 a.key other.key; echo no chain > torn/attnd-audit-000000000001.jsonl");
    snprintf(path, sizeof path, "%s/keyed", dir.path);
    snprintf(key, sizeof key, "%s/a.key", dir.path);
    server_process_start(
        &server, (const char *[]){MODEL, "--audit-dir", path, "--audit-key-file", key, NULL});
    ck_assert_int_eq(server_process_stop(&server), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(path, sizeof path, "%s/%s", dir.path, cases[i].path);
        snprintf(key, sizeof key, "%s/%s", dir.path, cases[i].key != NULL ? cases[i].key : "");
        for (unsigned checks = 0; checks < 2; checks++) {
            const char *of_key[2] = {cases[i].key != NULL ? "--audit-key-file" : "--inputs-max",
                                     cases[i].key != NULL ? key : "64"};
            const char *arguments[] = {MODEL,           "--listen", "127.0.0.1:0",
                                       cases[i].option, path,       of_key[0],
                                       of_key[1],       NULL,       NULL};
            if (checks == 1)
                arguments[8] = "--check-config";
            int code = run_program("attnd", arguments, out, sizeof out, errors[checks], 4096);
            ck_assert_msg(code == 2, "%zu %u: %d %s", i, checks, code, errors[checks]);
            ck_assert_msg(strstr(errors[checks], cases[i].text) != NULL, "%zu %u: %s", i, checks,
                          errors[checks]);
        }
        ck_assert_str_eq(strstr(errors[0], "attnd: "), strstr(errors[1], "attnd: "));
    }
    run("cd \"$D\"/keyed; printf half >> attnd-audit-000000000001.jsonl; cp -a . ../copy; cd -\n"
        "\"$B\"/attnd --model logs=models/testlog-bert --audit-dir \"$D\"/keyed --audit-key-file "
        "\"$D\"/a.key --check-config >/dev/null\n"
        "diff -r \"$D\"/keyed \"$D\"/copy"); /* the half line of a kill is cut by a start alone */
    clear();
}
END_TEST

/* ---- versions ---- */

START_TEST(a_version_that_no_path_can_name_is_not_loaded)
{
    static const char *const versions[] = {"2026/11", "../../x", "", "..", "a\\nb"};
    char out[256], errors[4096], command[512], attnd[64];
    struct server_process server;
    tempdir_open(&dir);
    snprintf(command, sizeof command, "cp -r models/testlog-bert '%s'", path_of("v2"));
    ck_assert_int_eq(system(command), 0);
    server_process_start(&server, (const char *[]){MODEL, "--models-root", dir.path, NULL});
    for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++) {
        int len = snprintf(attnd, sizeof attnd, "{\"version\":\"%s\"}", versions[i]);
        tempdir_write(&dir, "v2/attnd.json", attnd, (size_t)len);
        struct reply reply = contract_ask(server.port, "POST", "/admin/models", "",
                                          "{\"name\":\"logs\",\"dir\":\"v2\"}");
        reply_expect_status(&reply, 422);
        ck_assert_msg(strstr(reply_text(&reply, "detail"), "cannot be named in a path") != NULL,
                      "%s", reply_text(&reply, "detail"));
        reply_free(&reply);
    }
    ck_assert_int_eq(server_process_stop(&server), 0);
    snprintf(command, sizeof command, "logs=%s", path_of("v2"));
    ck_assert_int_eq(
        run_program("attnd", (const char *[]){"--listen", "127.0.0.1:0", "--model", command, NULL},
                    out, sizeof out, errors, sizeof errors),
        2);
    clear();
}
END_TEST

/* ---- what is printed ---- */

START_TEST(output_to_a_closed_descriptor_reaches_no_file)
{
    tempdir_open(&dir);
    run("\"$B\"/attnd --model logs=models/testlog-bert --listen 127.0.0.1:0 --audit-dir \"$D\"/a "
        "<&- >&- 2>&- & pid=$!\n"
        "until grep -q '\"type\":\"start\"' \"$D\"/a/*.jsonl; do sleep 0.02; done 2>/dev/null\n"
        "kill $pid; wait $pid\n"
        "\"$B\"/attnd-audit verify \"$D\"/a >/dev/null");
    run("echo '{\"id\":\"a\",\"text\":\"SCAN FAIL\"}' >\"$D\"/in.jsonl\n"
        "\"$B\"/attnd-batch --model models/testlog-bert --out \"$D\"/out \"$D\"/in.jsonl "
        "<&- >&- 2>&- || true\n"
        "test \"$(wc -l <\"$D\"/out)\" = 1; grep -q '^{.*}$' \"$D\"/out");
    clear();
}
END_TEST

START_TEST(a_drain_is_clean_though_nobody_could_read_the_ready_line)
{
    tempdir_open(&dir);
    run("\"$B\"/attnd --model logs=models/testlog-bert --listen 127.0.0.1:0 >/dev/full "
        "2>\"$D\"/log & pid=$!\n"
        "until grep -q '\"event\":\"ready\"' \"$D\"/log; do sleep 0.02; done\n"
        "kill $pid; wait $pid");
    clear();
}
END_TEST

START_TEST(a_start_that_waits_for_the_directory_is_ended_by_sigterm)
{
    for (size_t i = 0; i < OWNED; i++) {
        char lines[1024];
        tempdir_open(&dir);
        snprintf(
            lines, sizeof lines,
            "start() {\n"
            "    \"$B\"/attnd --model logs=models/testlog-bert --listen 127.0.0.1:0 %s "
            "\"$D\"/owned >/dev/null 2>\"$D\"/\"$1\" &\n"
            "    until grep -q \"\\\"event\\\":\\\"$1\\\"\" \"$D\"/\"$1\"; do sleep 0.02; done\n"
            "}\n"
            "start ready; first=$!\n"
            "start %s; second=$!\n"
            "kill $second && wait $second && kill $first && wait $first",
            owned[i].option, owned[i].event);
        run(lines);
        clear();
    }
}
END_TEST

SUITE("contract state", a_restart_that_overlaps_takes_over_when_the_old_process_has_ended,
      a_start_that_waits_for_the_directory_is_ended_by_sigterm,
      one_directory_may_be_state_dir_and_audit_dir, a_roll_out_that_cannot_be_served_is_named,
      a_roll_out_is_not_blamed_for_a_model_that_it_does_not_change,
      a_check_of_the_configuration_writes_nothing,
      a_check_says_of_the_audit_key_what_the_start_says,
      a_check_refuses_of_a_directory_what_the_start_refuses,
      a_version_that_no_path_can_name_is_not_loaded, output_to_a_closed_descriptor_reaches_no_file,
      a_drain_is_clean_though_nobody_could_read_the_ready_line)
