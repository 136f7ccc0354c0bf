/* attnd-vocab as a program. */
#include "engine/text/tokenizer.h"
#include "tests/support/server_process.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVAL "tests/data/eval/kernel.jsonl"

struct outcome {
    int code;
    char out[8192], errors[4096];
};

static void run(struct outcome *outcome, const char *const *arguments)
{
    outcome->code = run_program("attnd-vocab", arguments, outcome->out, sizeof outcome->out,
                                outcome->errors, sizeof outcome->errors);
}

#define RUN(outcome, ...) run(outcome, (const char *[]){__VA_ARGS__, NULL})

static void expect(const struct outcome *outcome, int code, const char *out, const char *errors)
{
    ck_assert_msg(outcome->code == code, "%d: %s", outcome->code, outcome->errors);
    ck_assert_msg(strstr(outcome->out, out) != NULL, "no '%s' in:\n%s", out, outcome->out);
    ck_assert_msg(strstr(outcome->errors, errors) != NULL, "no '%s' in:\n%s", errors,
                  outcome->errors);
}

/* Tokens of a text, [CLS] and [SEP] included. */
static unsigned tokens_of(const char *dir, const char *text)
{
    struct tokenizer *tokenizer;
    struct encoding encoding;
    struct arena arena;
    struct err err = {0};
    ck_assert_msg(!tokenizer_open(&tokenizer, dir, 64, &err), "%s", err.text);
    arena_init(&arena);
    ck_assert_int_eq(
        tokenizer_encode(tokenizer, 0, text, strlen(text), NULL, &arena, &encoding, &err), ERR_OK);
    arena_deinit(&arena);
    tokenizer_close(tokenizer);
    return encoding.count;
}

START_TEST(vocab_builds_a_tokenizer_from_several_files)
{
    struct tempdir data, dir;
    struct outcome outcome;
    char path[2][128];
    tempdir_open(&data);
    tempdir_open(&dir);
    tempdir_write(&data, "a.log", "zorp fail\n\nzorp pass\n", 21);
    tempdir_write(&data, "b.csv", "id,text\n1,\"quux zorp\"\n2,quux\n", 29);
    snprintf(path[0], sizeof path[0], "%s/a.log", data.path);
    snprintf(path[1], sizeof path[1], "%s/b.csv", data.path);
    RUN(&outcome, "build", "--data", path[0], path[1], "--size", "300", "--out", dir.path);
    expect(&outcome, 0, "pieces, from 4 texts with 4 different words\n", "");
    expect(&outcome, 0, "fewer than the 300 asked for", "");
    ck_assert_uint_eq(tokens_of(dir.path, "Zorp quux"), 4);
    ck_assert_uint_eq(tokens_of(dir.path, "fbqz"), 6);
    tempdir_close(&data);
    tempdir_close(&dir);
}
END_TEST

START_TEST(vocab_builds_cased_if_asked)
{
    struct tempdir dir;
    struct outcome outcome;
    tempdir_open(&dir);
    RUN(&outcome, "build", "--data", EVAL, "--size", "300", "--cased", "--out", dir.path);
    expect(&outcome, 0, "300 pieces, from 8 texts", "");
    ck_assert_uint_eq(tokens_of(dir.path, "BUG"), 3);
    ck_assert_uint_gt(tokens_of(dir.path, "bUg"), 3);
    tempdir_close(&dir);
}
END_TEST

START_TEST(vocab_trims_a_model)
{
    struct tempdir dir;
    struct outcome outcome;
    tempdir_open(&dir);
    RUN(&outcome, "trim", "--model", "models/kernel-bert", "--data", EVAL, "--out", dir.path);
    expect(&outcome, 0, " of 3569 pieces, ", "");
    expect(&outcome, 0, " of 12367114 weights, from 8 texts\n", "");
    ck_assert_uint_eq(tokens_of(dir.path, "KASAN: use-after-free"),
                      tokens_of("models/kernel-bert", "KASAN: use-after-free"));
    tempdir_close(&dir);
}
END_TEST

START_TEST(vocab_names_a_text_that_is_not_utf8_and_goes_on)
{
    struct tempdir data, dir;
    struct outcome outcome;
    char path[128];
    tempdir_open(&data);
    tempdir_open(&dir);
    tempdir_write(&data, "a.txt", "good\nb\xFF\n", 8);
    snprintf(path, sizeof path, "%s/a.txt", data.path);
    RUN(&outcome, "build", "--data", path, "--size", "300", "--out", dir.path);
    expect(&outcome, 0, "from 1 texts",
           "a.txt: line 2: invalid UTF-8 at byte 1 of the text (iconv -f windows-1252 -t UTF-8 "
           "converts a file); it is left out");
    tempdir_write(&data, "a.txt", "b\xFF\n", 3);
    RUN(&outcome, "build", "--data", path, "--size", "300", "--out", dir.path);
    expect(&outcome, 1, "", "none of the 1 texts can be used");
    tempdir_close(&data);
    tempdir_close(&dir);
}
END_TEST

START_TEST(vocab_says_what_is_missing_or_wrong)
{
    struct outcome outcome;
    RUN(&outcome, "build", "--size", "300", "--out", "/tmp");
    expect(&outcome, 2, "", "--data FILE is missing; --help shows the usage");
    RUN(&outcome, "build", "--data", EVAL, "--out", "/tmp");
    expect(&outcome, 2, "", "--size N is missing");
    RUN(&outcome, "trim", "--data", EVAL, "--out", "/tmp");
    expect(&outcome, 2, "", "--model DIR is missing");
    RUN(&outcome, "trim", "--data", EVAL, "--model", "models/kernel-bert");
    expect(&outcome, 2, "", "--out DIR is missing");
    RUN(&outcome, "build", "--size", "10");
    expect(&outcome, 2, "", "--size: must be a whole number from 200 to 1048576");
    RUN(&outcome, "build", "--character-min", "0");
    expect(&outcome, 2, "", "--character-min: must be a whole number from 1 to ");
    RUN(&outcome, "build", "--pair-min", "0");
    expect(&outcome, 2, "", "--pair-min: must be a whole number from 1 to ");
    RUN(&outcome, "trim", "--keep-min", "0");
    expect(&outcome, 2, "", "--keep-min: must be a whole number from 1 to ");
    RUN(&outcome, "build", "--data", "/nowhere", "--size", "300", "--out", "/tmp");
    expect(&outcome, 2, "", "/nowhere: cannot be read: No such file or directory");
    RUN(&outcome, "build", "--data", EVAL, "--size", "300", "--out", "/nowhere/at/all");
    expect(&outcome, 2, "", "/nowhere/at/all: cannot be made a directory");
    RUN(&outcome, "prune");
    expect(&outcome, 2, "", "expected build or trim");
    RUN(&outcome, "trim", "--model", "models/wafer-vit", "--data", EVAL, "--out", "/tmp");
    expect(&outcome, 1, "", "models/wafer-vit: vocab.txt: there is none");
}
END_TEST

START_TEST(vocab_help_shows_both_commands)
{
    struct outcome outcome;
    RUN(&outcome, "--help");
    expect(&outcome, 0, "usage: attnd-vocab build", "");
    expect(&outcome, 0, "usage: attnd-vocab trim", "");
    RUN(&outcome, "trim", "--help");
    expect(&outcome, 0, "--keep-min N", "");
    expect(&outcome, 0, "--without-numbers", "");
    ck_assert_ptr_null(strstr(outcome.out, "--size"));
    RUN(&outcome, "--version");
    expect(&outcome, 0, "attnd-vocab ", "");
}
END_TEST

/* Exactly as many as were asked for, or why there are not. */
START_TEST(vocab_says_how_many_pieces_it_found)
{
    struct tempdir data, dir;
    struct outcome outcome;
    char path[128], want[256];
    tempdir_open(&data);
    tempdir_open(&dir);
    tempdir_write(&data, "a.log", "zorp zorp zorp quux quux\n\xc3\xa4\n", 28);
    snprintf(path, sizeof path, "%s/a.log", data.path);
    RUN(&outcome, "build", "--data", EVAL, "--size", "250", "--out", dir.path);
    snprintf(want, sizeof want, "%s: 250 pieces, from 8 texts with ", dir.path);
    expect(&outcome, 0, want, "");
    ck_assert_ptr_null(strstr(outcome.out, "fewer than"));
    ck_assert_str_eq(outcome.errors, "");
    RUN(&outcome, "build", path, "--size", "1000", "--pair-min", "3", "--out", dir.path);
    expect(&outcome, 0,
           " texts with 3 different words\n"
           "fewer than the 1000 asked for: nothing else is in the texts 3 times\n",
           "");
    ck_assert_uint_eq(tokens_of(dir.path, "zorp"), 3); /* merged, as quux is not */
    ck_assert_uint_gt(tokens_of(dir.path, "quux"), 3);
    RUN(&outcome, "build", path, "--size", "1000", "--out", dir.path);
    expect(&outcome, 0, "in the texts 2 times\n", "");
    ck_assert_uint_eq(tokens_of(dir.path, "quux"), 3);
    tempdir_close(&data);
    tempdir_close(&dir);
}
END_TEST

static unsigned long pieces_kept(const struct outcome *outcome)
{
    const char *at = strstr(outcome->out, ": ");
    ck_assert_msg(outcome->code == 0 && at != NULL, "%s", outcome->errors);
    return strtoul(at + 2, NULL, 10);
}

START_TEST(vocab_trims_to_what_is_used_so_often)
{
    struct tempdir dir;
    struct outcome outcome;
    char path[128];
    tempdir_open(&dir);
    const char *const model = "models/kernel-bert";
    RUN(&outcome, "trim", "--model", model, "--data", EVAL, "--out", dir.path);
    unsigned long once = pieces_kept(&outcome);
    RUN(&outcome, "trim", "--model", model, "--data", EVAL, "--out", dir.path, "--keep-min", "1");
    ck_assert_uint_eq(pieces_kept(&outcome), once);
    RUN(&outcome, "trim", "--model", model, "--data", EVAL, "--out", dir.path, "--keep-min", "2");
    ck_assert_uint_lt(pieces_kept(&outcome), once);
    tempdir_write(&dir, "a.log", "site 12 bin 7\n", 14);
    snprintf(path, sizeof path, "%s/a.log", dir.path);
    const char *const log = "models/testlog-bert";
    RUN(&outcome, "trim", "--model", log, "--data", path, "--out", dir.path);
    expect(&outcome, 0, ": 112 of 4000 pieces, 1889866 of 2636362 weights, from 1 texts\n", "");
    RUN(&outcome, "trim", "--model", log, "--data", path, "--out", dir.path, "--without-numbers");
    expect(&outcome, 0, ": 91 of 4000 pieces, 1885834 of 2636362 weights, from 1 texts\n", "");
    tempdir_close(&dir);
}
END_TEST

START_TEST(vocab_without_a_command_says_which_there_are)
{
    struct outcome outcome;
    RUN(&outcome, NULL);
    expect(&outcome, 2, "", "attnd-vocab: expected build or trim; --help shows the usage\n");
    RUN(&outcome, "-h");
    expect(&outcome, 0, "usage: attnd-vocab build", "");
    expect(&outcome, 0, "\n\nusage: attnd-vocab trim", "");
    ck_assert_str_ne(outcome.out + strlen(outcome.out) - 2, "\n\n");
    RUN(&outcome, "build", "--help");
    expect(&outcome, 0, "--pair-min N", "");
    ck_assert_ptr_null(strstr(outcome.out, "--keep-min"));
    ck_assert_str_eq(outcome.errors, "");
    RUN(&outcome, "trim", "--version");
    expect(&outcome, 0, "attnd-vocab " ATTND_VERSION "\n", "");
    ck_assert_ptr_null(strstr(outcome.out, "usage"));
    RUN(&outcome, "--version");
    ck_assert_str_eq(outcome.out, "attnd-vocab " ATTND_VERSION "\n");
}
END_TEST

SUITE("vocab", vocab_builds_a_tokenizer_from_several_files, vocab_builds_cased_if_asked,
      vocab_trims_a_model, vocab_names_a_text_that_is_not_utf8_and_goes_on,
      vocab_says_what_is_missing_or_wrong, vocab_help_shows_both_commands,
      vocab_says_how_many_pieces_it_found, vocab_trims_to_what_is_used_so_often,
      vocab_without_a_command_says_which_there_are)
