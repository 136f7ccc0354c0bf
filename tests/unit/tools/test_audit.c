/* attnd-audit as a program, on logs that the audit log itself writes. */
#include "engine/base/file.h"
#include "server/audit/audit.h"
#include "server/audit/audit_files.h"
#include "tests/support/server_process.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct tempdir dir;
static struct {
    int code;
    char out[8192], errors[4096];
} outcome;

#define RUN(...)                                                                                   \
    outcome.code = run_program("attnd-audit", (const char *[]){__VA_ARGS__, NULL}, outcome.out,    \
                               sizeof outcome.out, outcome.errors, sizeof outcome.errors)

static void expect(int code, const char *out, const char *errors)
{
    ck_assert_msg(outcome.code == code, "%d: %s%s", outcome.code, outcome.out, outcome.errors);
    ck_assert_msg(strstr(outcome.out, out) != NULL, "no '%s' in:\n%s", out, outcome.out);
    ck_assert_msg(strstr(outcome.errors, errors) != NULL, "no '%s' in:\n%s", errors,
                  outcome.errors);
}

static const char *const lines[] = {
    "\"type\":\"prediction\",\"id\":\"one\",\"index\":0,\"model\":\"wafers\",\"label\":\"Donut\","
    "\"score\":0.5,\"decision\":\"auto\",\"context\":{\"lot\":\"A,1\",\"die_x\":3}",
    "\"type\":\"prediction\",\"id\":\"=two\",\"index\":0,\"model\":\"logs\",\"label\":\"scan\","
    "\"score\":0.25,\"decision\":\"review\"",
    "\"type\":\"reload\",\"generation\":2,\"changed\":[]"};

/* Begins the log of dir, or goes on with it. */
static void append_log(struct audit_key key, size_t rotate_bytes)
{
    struct audit *audit;
    struct err err = {0};
    const struct audit_options options = {
        .dir = dir.path, .refuse = true, .rotate_bytes = rotate_bytes, .key = key};
    ck_assert_msg(audit_open(&audit, &options, &err) == ERR_OK, "%s", err.text);
    for (size_t i = 0; i < 3; i++)
        ck_assert_int_eq(
            audit_append(audit, &(struct audit_members){lines[i], strlen(lines[i])}, 1, &err),
            ERR_OK);
    audit_close(audit);
}

static void write_log(struct audit_key key, size_t rotate_bytes)
{
    tempdir_open(&dir);
    append_log(key, rotate_bytes);
}

/* The newest file of the log; free it. */
static char *newest(void)
{
    char **paths;
    size_t count;
    struct err err = {0};
    ck_assert_int_eq(audit_files_list(&paths, &count, dir.path, &err), ERR_OK);
    char *path = strdup(paths[count - 1]);
    audit_files_free(paths, count);
    return path;
}

/* sed -i, on the newest file. */
static void edit(const char *script)
{
    char command[512], *path = newest();
    snprintf(command, sizeof command, "sed -i '%s' '%s'", script, path);
    ck_assert_int_eq(system(command), 0);
    free(path);
}

START_TEST(a_log_that_is_whole_verifies_as_a_directory_and_as_files)
{
    write_log((struct audit_key){0}, 1 << 20);
    RUN("verify", dir.path);
    expect(0, "ok: 4 lines, 1 to 4, chained, head ", "");
    char *path = newest();
    RUN("verify", path);
    expect(0, "ok: 4 lines", "");
    free(path);
    tempdir_close(&dir);
    write_log((struct audit_key){0}, 200);
    RUN("verify", dir.path);
    expect(0, "ok: 6 lines, 1 to 6", "");
    tempdir_close(&dir);
}
END_TEST

START_TEST(audit_verify_names_the_file_and_line_of_a_change)
{
    static const struct {
        const char *script, *errors;
    } cases[] = {
        {"2s/Donut/Scratch/", ".jsonl:3: its \"prev\" is not the hash of the line before"},
        {"2d", ".jsonl:2: its number is 3, the line before has 1"},
        {"2{h;d};3G", ".jsonl:2: its number is 3, the line before has 1"},
        {"3s/\"prev\":\"./\"prev\":\"x/", ".jsonl:3: this is no line of an audit log"},
        {"1s/\"format\":1/\"format\":9/",
         ".jsonl:1: written by a newer attnd (format 9, known is 2)"},
        {"1d", ".jsonl:1: this is not the first line of an audit log"},
        {"1s/\"prev\":\"0/\"prev\":\"1/", ".jsonl:1: its \"prev\" is not the hash"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_log((struct audit_key){0}, 1 << 20);
        edit(cases[i].script);
        RUN("verify", dir.path);
        expect(1, "", cases[i].errors);
        tempdir_close(&dir);
    }
}
END_TEST

START_TEST(audit_verify_tolerates_an_unfinished_last_line)
{
    write_log((struct audit_key){0}, 1 << 20);
    char *path = newest();
    FILE *file = fopen(path, "a");
    fputs("{\"seq\":5,", file);
    fclose(file);
    RUN("verify", dir.path);
    expect(0, "and an unfinished line of 9 bytes", "");
    free(path);
    tempdir_close(&dir);
}
END_TEST

static const struct audit_key key = {"0123456789abcdef", 16};

/* Writes a key file into a directory of its own. */
static const char *key_file(struct tempdir *keys, const char *bytes)
{
    static char path[128];
    tempdir_open(keys);
    tempdir_write(keys, "key", bytes, strlen(bytes));
    snprintf(path, sizeof path, "%s/key", keys->path);
    return path;
}

/* Forges a log without the key: the newest file ends behind its line `last`, and another file
 * follows whose first line has the right number and the right SHA-256 of that line. */
static void forge(unsigned last, const char *begin)
{
    struct audit_chain chain;
    char line[1024], name[64], script[32], *path = newest();
    struct err err = {0};
    snprintf(script, sizeof script, "%u,$d", last + 1);
    edit(script);
    FILE *file = fopen(path, "r");
    for (unsigned i = 0; i < last; i++)
        ck_assert_ptr_nonnull(fgets(line, sizeof line, file));
    fclose(file);
    audit_chain_init(&chain, (struct audit_key){0});
    chain.way = strstr(line, "\"mac\"") != NULL ? AUDIT_KEYED_MAC : AUDIT_PLAIN;
    ck_assert_int_eq(audit_chain_turn(&chain, AUDIT_PLAIN, (struct audit_key){0}, line,
                                      strcspn(line, "\n"), &err),
                     ERR_OK);
    chain.seq = last;
    const size_t len = audit_chain_seal(&chain, begin, strlen(begin), line);
    snprintf(name, sizeof name, "attnd-audit-%012u.jsonl", last + 1);
    tempdir_write(&dir, name, line, len);
    free(path);
}

START_TEST(a_log_never_goes_on_in_a_weaker_way)
{
    static const struct {
        const char *begin, *errors;
        unsigned last;
    } cases[] = {
        {"\"type\":\"begin\",\"format\":1,\"chain\":\"sha256\"",
         "000005.jsonl:1: the log goes on without a key: somebody without the key can have", 4},
        {"\"type\":\"begin\",\"format\":1,\"chain\":\"sha256\"",
         "000003.jsonl:1: the log goes on without a key: somebody without the key can have "
         "written this in place of other lines; the last line that can be trusted is 2",
         2},
        {"\"type\":\"begin\",\"format\":2,\"chain\":\"sha256\"", "goes on without a key", 4},
        {"\"type\":\"begin\",\"format\":2,\"chain\":\"none\"", "goes on without a key", 4},
        {"\"type\":\"begin\",\"format\":1,\"chain\":\"hmac-sha256\"",
         "goes on in the format of an older attnd", 4},
        {"\"type\":\"begin\",\"format\":2,\"chain\":\"hmac-sha256\"",
         "000005.jsonl:1: its \"prev\" is not the hash of the line before", 4},
    };
    struct tempdir keys;
    const char *file = key_file(&keys, "0123456789abcdef");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_log(key, 1 << 20);
        forge(cases[i].last, cases[i].begin);
        RUN("verify", dir.path, "--key-file", file);
        expect(1, "", cases[i].errors);
        RUN("show", dir.path, "--key-file", file);
        expect(1, "", cases[i].errors);
        tempdir_close(&dir);
    }
    tempdir_close(&keys);
}
END_TEST

START_TEST(audit_verify_with_a_key_proves_the_last_line)
{
    static const struct {
        const char *script, *errors;
    } cases[] = {
        {"4s/reload/rollout/", ".jsonl:4: its \"mac\" does not match this key"},
        {"3s/scan/leakage/;4d", ".jsonl:3: its \"mac\" does not match this key"},
        {"2s/,\"mac\":\"[0-9a-f]*\"//;3,$d", ".jsonl:2: it has no \"mac\""},
        {"1s/hmac-sha256/sha256/;2,$d", ".jsonl:1: it has a \"mac\""},
        {"1s/\"format\":2/\"format\":1/;2,$d", ".jsonl:1: it has a \"mac\""},
    };
    struct tempdir keys;
    const char *file = key_file(&keys, "0123456789abcdef");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_log(key, 1 << 20);
        edit(cases[i].script);
        RUN("verify", dir.path, "--key-file", file);
        expect(1, "", cases[i].errors);
        tempdir_close(&dir);
    }
    tempdir_close(&keys);
}
END_TEST

START_TEST(audit_verify_refuses_a_key_for_a_log_without_one)
{
    struct tempdir keys;
    const char *file = key_file(&keys, "0123456789abcdef");
    write_log((struct audit_key){0}, 1 << 20);
    RUN("verify", dir.path, "--key-file", file);
    expect(1, "", "no line was written with a key, so the key given proves nothing");
    append_log(key, 1 << 20);
    RUN("verify", dir.path, "--key-file", file);
    expect(0, "ok: 8 lines, 1 to 8, chained with a key from line 5 on, head ", "");
    tempdir_close(&dir);
    tempdir_close(&keys);
}
END_TEST

/* tests/data/state/2026-11: five lines without a key, then four with one. */
START_TEST(a_log_of_format_1_verifies_and_goes_on)
{
    static const char old[] = "tests/data/state/2026-11/audit",
                      *const names[] = {"attnd-audit-000000000001.jsonl",
                                        "attnd-audit-000000000006.jsonl"};
    static const char file[] = "tests/data/state/2026-11/audit-key";
    char from[128];
    RUN("verify", old, "--key-file", file);
    expect(0, "ok: 9 lines, 1 to 9, chained with a key from line 6 on, head a5c5dc46b5ba48", "");
    expect(0, "but line 9, the last one, may have been changed", "");
    tempdir_open(&dir);
    for (unsigned i = 0; i < 2; i++) {
        snprintf(from, sizeof from, "%s/%s", old, names[i]);
        tempdir_copy(&dir, names[i], from);
    }
    append_log(key, 1 << 20);
    RUN("verify", dir.path, "--key-file", file);
    expect(0, "ok: 13 lines, 1 to 13, chained with a key from line 6 on, head ", "");
    ck_assert_ptr_null(strstr(outcome.out, "may have been"));
    tempdir_close(&dir);
}
END_TEST

START_TEST(a_log_with_a_key_needs_that_key)
{
    struct tempdir keys;
    char right[96], wrong[96];
    tempdir_open(&keys);
    tempdir_write(&keys, "right", "0123456789abcdef\n", 17);
    tempdir_write(&keys, "wrong", "0123456789abcdeX\n", 17);
    snprintf(right, sizeof right, "%s/right", keys.path);
    snprintf(wrong, sizeof wrong, "%s/wrong", keys.path);
    write_log(key, 1 << 20);
    RUN("verify", dir.path, "--key-file", right);
    expect(0, "4 lines, 1 to 4, chained with a key", "");
    RUN("verify", dir.path, "--key-file", wrong);
    expect(1, "", ".jsonl:1: its \"mac\" does not match this key");
    RUN("verify", dir.path);
    expect(2, "", "this log was written with a key, which is needed");
    tempdir_close(&dir);
    tempdir_close(&keys);
}
END_TEST

START_TEST(lines_are_shown_and_exported_as_asked_for)
{
    write_log((struct audit_key){0}, 1 << 20);
    RUN("show", dir.path);
    expect(0, "prediction one wafers Donut 0.5000 auto\n", "");
    RUN("show", dir.path, "--id", "one", "--type", "reload");
    expect(0, "", "");
    ck_assert_str_eq(outcome.out, "");
    RUN("show", dir.path, "--until", "2000");
    ck_assert_str_eq(outcome.out, "");
    RUN("show", dir.path, "--since", "2000", "--model", "logs");
    expect(0, "=two logs scan 0.2500 review\n", "");
    RUN("export", dir.path, "--type", "reload");
    ck_assert_int_eq(strncmp(outcome.out, "{\"seq\":4,", 9), 0);
    RUN("export", dir.path, "--format", "csv", "--type", "prediction");
    expect(0, ",prediction,one,0,,,wafers,,,Donut,0.5,auto,,\"A,1\",,3,,,,,,,,,\n", "");
    expect(0, ",prediction,\"'=two\",0,,,logs,,,scan,0.25,review,,,,,,,,,,,,,\n", "");
    expect(0, "seq,time,type,id,", "");
    tempdir_close(&dir);
}
END_TEST

START_TEST(the_action_of_a_roll_out_and_of_a_fit_is_shown)
{
    static const char *const told[] = {
        "\"type\":\"rollout\",\"action\":\"promote\",\"model\":\"m\",\"version\":\"2\","
        "\"reason\":\"better\"",
        "\"type\":\"fit\",\"action\":\"requested\",\"fit\":7,\"model\":\"m\",\"version\":\"3\""};
    const struct audit_options options = {.dir = dir.path, .rotate_bytes = 1 << 20};
    struct audit *audit;
    struct err err = {0};
    tempdir_open(&dir);
    ck_assert_int_eq(audit_open(&audit, &options, &err), ERR_OK);
    for (size_t i = 0; i < 2; i++)
        audit_append(audit, &(struct audit_members){told[i], strlen(told[i])}, 1, &err);
    audit_close(audit);
    RUN("show", dir.path, "--type", "rollout");
    expect(0, "  rollout    promote m 2 better\n", "");
    RUN("show", dir.path, "--type", "fit");
    expect(0, "  fit        requested m 3\n", "");
    RUN("show", "--help");
    expect(0, "prediction|repeat|feedback|feedback_removed|reload|rollout|fit|", "");
    tempdir_close(&dir);
}
END_TEST

START_TEST(a_written_text_and_who_asked_are_shown_and_exported)
{
    static const char *const told[] = {
        "\"type\":\"prediction\",\"id\":\"a\",\"index\":0,\"key\":\"mes\",\"model\":\"ids\","
        "\"version\":\"3\",\"output\":\"=Q1P888-13-B4\",\"decision\":\"auto\"",
        "\"type\":\"rollout\",\"action\":\"promote\",\"model\":\"ids\",\"version\":\"4\","
        "\"reason\":\"better\",\"key\":\"boss\""};
    const struct audit_options options = {.dir = dir.path, .rotate_bytes = 1 << 20};
    struct audit *audit;
    struct err err = {0};
    tempdir_open(&dir);
    ck_assert_int_eq(audit_open(&audit, &options, &err), ERR_OK);
    for (size_t i = 0; i < 2; i++)
        audit_append(audit, &(struct audit_members){told[i], strlen(told[i])}, 1, &err);
    audit_close(audit);
    RUN("show", dir.path, "--id", "a");
    expect(0, "  prediction a ids 3 =Q1P888-13-B4 auto\n", "");
    RUN("export", dir.path, "--format", "csv");
    expect(0, ",recipe,step,output,action,reason,key\n", "");
    expect(0, ",ids,3,,,,auto,,,,,,,,,,\"'=Q1P888-13-B4\",,,mes\n", "");
    expect(0, ",rollout,,,,,ids,4,,,,,,,,,,,,,,,promote,better,boss\n", "");
    tempdir_close(&dir);
}
END_TEST

START_TEST(every_type_that_the_documents_tell_can_be_chosen)
{
    char *text, *rest = NULL;
    size_t len, types = 0;
    struct err err = {0};
    ck_assert_int_eq(file_read(&text, &len, "docs/audit.md", 1 << 20, &err), ERR_OK);
    char *table = strstr(text, "| `type` | members |");
    ck_assert_ptr_nonnull(table);
    write_log((struct audit_key){0}, 1 << 20);
    strtok_r(table, "\n", &rest); /* the head of the table */
    for (char *row; (row = strtok_r(NULL, "\n", &rest)) != NULL && *row == '|';) {
        row[1 + strcspn(row + 1, "|")] = '\0'; /* the first cell */
        for (char *name = row; (name = strchr(name, '`')) != NULL; types++) {
            char *end = strchr(++name, '`');
            *end = '\0';
            RUN("show", dir.path, "--type", name);
            ck_assert_msg(outcome.code == 0, "--type %s: %s", name, outcome.errors);
            name = end + 1;
        }
    }
    ck_assert_uint_ge(types, 12);
    tempdir_close(&dir);
    free(text);
}
END_TEST

START_TEST(audit_program_refuses_wrong_calls)
{
    static const struct {
        const char *first, *second, *errors;
        int code;
    } cases[] = {
        {"verfy", "x", "expected verify, show or export; --help shows the usage", 2},
        {"verify", NULL, "DIR or FILE is missing; --help shows the usage", 2},
        {"verify", "/nonexistent", "/nonexistent: cannot be opened: No such file", 1},
        {"verify", "tests/data/json", "there is no file of an audit log in it", 2},
        {"verify", "README.md", "README.md:1: this is not the first line of an audit log", 1},
        {"show", "--tpye=x", "did you mean", 2},
        {"show", "--type=nonsense", "--type: must be one of prediction|repeat|", 2},
        {"export", "--type=Prediction", "--type: ", 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        RUN(cases[i].first, cases[i].second);
        expect(cases[i].code, "", cases[i].errors);
    }
    RUN("--help");
    expect(0, "usage: attnd-audit export", "");
    RUN("--version");
    expect(0, "attnd-audit ", "");
}
END_TEST

SUITE("attnd_audit", a_log_that_is_whole_verifies_as_a_directory_and_as_files,
      audit_verify_names_the_file_and_line_of_a_change,
      audit_verify_tolerates_an_unfinished_last_line, a_log_never_goes_on_in_a_weaker_way,
      audit_verify_with_a_key_proves_the_last_line,
      audit_verify_refuses_a_key_for_a_log_without_one, a_log_of_format_1_verifies_and_goes_on,
      a_log_with_a_key_needs_that_key, lines_are_shown_and_exported_as_asked_for,
      the_action_of_a_roll_out_and_of_a_fit_is_shown,
      a_written_text_and_who_asked_are_shown_and_exported,
      every_type_that_the_documents_tell_can_be_chosen, audit_program_refuses_wrong_calls)
