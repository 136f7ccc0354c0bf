/* attnd-train as a program, on data that take milliseconds an epoch: its files and output. A stop,
 * in either way, costs nothing. */
#include "engine/base/doc.h"
#include "engine/engine.h"
#include "tests/support/contract.h"
#include "tests/support/outcome.h"
#include "tests/support/server_process.h"
#include "tests/support/suite.h"
#include "tests/support/train_fixture.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define FP32 "--precision", "f32", "--store", "f32", "--threads", "1", "--seed", "3"
#define STATE "training-state.safetensors"

static struct train_fixture f;

#define RUN(program, ...) outcome_of(program, (const char *[]){__VA_ARGS__, NULL})

/* The names that every report.json has, of a model that is always right. */
static void expect_report(const struct tempdir *dir, const char *const *labels, unsigned support)
{
    struct json_t *root;
    struct err err = {0};
    char path[128];
    snprintf(path, sizeof path, "%s/report.json", dir->path);
    ck_assert_msg(!doc_parse_file(&root, path, 1 << 20, &err), "%s", err.text);
    ck_assert_double_eq(outcome_number(root, "accuracy"), 1);
    ck_assert_double_eq(outcome_number(root, "macro_f1"), 1);
    ck_assert(outcome_number(root, "ece") >= 0 && outcome_number(root, "ece") < 0.2);
    for (unsigned i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "per_class.%s.support", labels[i]);
        ck_assert_double_eq(outcome_number(root, path), support);
        snprintf(path, sizeof path, "per_class.%s.f1", labels[i]);
        ck_assert_double_eq(outcome_number(root, path), 1);
        snprintf(path, sizeof path, "confusion.%u.%u", i, i);
        ck_assert_double_eq(outcome_number(root, path), support);
    }
    ck_assert_uint_eq(doc_array_count(contract_at(root, "epochs")), 8);
    doc_free(root);
}

/* The parameters at D = 16: 9 words, 16 places, 2 types and a norm: 464; a block 4 x 272, two
 * norms, 544 and 528: 2224; the pooler 272 and the classifier 34. */
START_TEST(train_writes_a_checkpoint_of_texts_that_other_programs_open)
{
    static const char *const labels[] = {"cold", "hot"};
    struct outcome *outcome;
    char want[160];
    train_fixture_texts(&f);
    outcome = RUN("attnd-train", "--model", f.model.path, "--data", f.list, "--out", f.first.path,
                  "--epochs", "8", "--batch", "8", "--rate", "5e-3", "--keep", "last", FP32);
    outcome_holds(outcome, 0, "", "bert, 5218 weights, f32, 1 thread\n");
    outcome_holds(outcome, 0, "", "108 inputs to learn, 12 to judge by, 2 labels, 8 epochs\n");
    outcome_holds(outcome, 0, "", "epoch   8  loss 0.0");
    outcome_holds(outcome, 0, "", "  accuracy 1.0000  macro-F1 1.0000  0:00  *\n");
    outcome_holds(outcome, 0, "", "accuracy 1.0000, macro-F1 1.0000, calibration error 0.0");
    outcome_holds(outcome, 0, "", "; no answer is automatic yet\n");
    outcome_holds(
        outcome, 0, "",
        "note: 2 of 2 classes are never automatic: 'cold' (6 of 6 answers right), 'hot' "
        "(6 of 6 answers right); it takes 32 right answers to inputs that were not learnt");
    snprintf(want, sizeof want, "report: %s/report.html\n", f.first.path);
    outcome_holds(outcome, 0, "", want);
    snprintf(want, sizeof want, "/attnd --model %s=%s ", strrchr(f.first.path, '/') + 1,
             f.first.path);
    outcome_holds(outcome, 0, "", want);
    outcome_expect(outcome, 0, "", " --text-file FILE --explain gradient-last ");
    ck_assert(!train_fixture_has(&f.first, STATE));
    expect_report(&f.first, labels, 6);
    outcome = RUN("attnd-train", "--model", f.model.path, "--data", f.list, "--out", f.first.path,
                  "--epochs", "8", "--batch", "8", "--rate", "5e-3", "--keep", "last", FP32);
    snprintf(want, sizeof want, "%s is finished: ", f.first.path);
    outcome_holds(outcome, 0, "", want);
    outcome_expect(outcome, 0, "", "nothing was changed; --restart trains it anew\n");
    outcome = RUN("attnd-train", "--model", f.model.path, "--data", f.list, "--out", f.first.path,
                  "--epochs", "8", "--batch", "4", "--rate", "5e-3", "--keep", "last", FP32);
    outcome_expect(outcome, 2, "", "finished run with other options or data: --batch 4 (there 8)");
    outcome = RUN("attnd-inspect", f.first.path);
    outcome_holds(outcome, 0, "parameters     5218 (", "");
    outcome_expect(outcome, 0, "labels         2\n  0            cold\n  1            hot\n", "");
    outcome =
        RUN("attnd-predict", "--model", f.first.path, "--text", "grey red green red", "--json");
    outcome_expect(outcome, 0, "\"label\":\"hot\"", "");
    train_fixture_close(&f);
}
END_TEST

START_TEST(train_writes_a_checkpoint_of_images_that_other_programs_open)
{
    static const char *const labels[] = {"left", "right"};
    struct outcome *outcome;
    char picture[128];
    train_fixture_images(&f, "right");
    outcome = RUN("attnd-train", "--model", f.model.path, "--data", f.list, "--out", f.first.path,
                  "--stages", "8:4,16:4", "--epochs", "8", "--batch", "8", "--rate", "5e-3",
                  "--init", "structured", FP32);
    outcome_holds(outcome, 0, "", "44 inputs to learn, 4 to judge by, 2 labels, 8 epochs\n");
    outcome_holds(outcome, 0, "", "  8 px  0:0");
    outcome_expect(outcome, 0, "", "  16 px  0:0");
    expect_report(&f.first, labels, 2);
    snprintf(picture, sizeof picture, "%s/01.png", f.data.path);
    outcome = RUN("attnd-predict", "--model", f.first.path, "--image", picture, "--json");
    outcome_expect(outcome, 0, "\"label\":\"right\"", "");
    outcome = RUN("attnd-inspect", f.first.path);
    outcome_expect(outcome, 0, "image, 16 x 16 pixels in patches of 4: 17 tokens\n", "");
    train_fixture_close(&f);
}
END_TEST

/* ---- stopped ---- */

/* The arguments of a run into a directory that takes a second or two: twelve epochs of 400 steps.
 */
static void fill_arguments(const char *argv[32], const char *program, const char *out)
{
    const char *const all[] = {
        program, "--model",        f.model.path, "--data",   f.list, "--out",  out,    "--epochs",
        "12",    "--epoch-inputs", "800",        "--batch",  "2",    "--rate", "1e-3", "--keep",
        "last",  "--average",      "0.9",        "--mirror", FP32,   NULL};
    memcpy(argv, all, sizeof all);
}

/* Runs it to its end; or signals it once it has said that `line` many epochs are behind it,
 * whatever it does at that moment. Its exit code, or minus the signal that ended it. */
static int run_and_signal(const char *out, unsigned lines, int number, char *said, size_t size)
{
    const char *argv[32];
    char program[600];
    int fds[2], status;
    size_t len = 0;
    unsigned epochs = 0;
    built_program("attnd-train", program, sizeof program);
    fill_arguments(argv, program, out);
    ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(fds[1], STDERR_FILENO);
        execv(program, (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    ck_assert_int_gt(pid, 0);
    close(fds[1]);
    while (len + 1 < size && read(fds[0], said + len, 1) == 1) {
        said[++len] = '\0';
        bool ends = said[len - 1] == '\n' && len > 1;
        const char *line = ends ? memrchr(said, '\n', len - 1) : NULL;
        if (line != NULL && strncmp(line + 1, "epoch ", 6) == 0 && ++epochs == lines)
            kill(pid, number);
    }
    close(fds[0]);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* Stopped twice by a signal, and taken up by the same command each time. */
static void check_signal(int number, int code)
{
    static char said[65536];
    train_fixture_images(&f, "top");
    ck_assert_int_eq(run_and_signal(f.first.path, 0, 0, said, sizeof said), 0);
    for (unsigned i = 0; i < 2; i++) {
        ck_assert_int_eq(run_and_signal(f.second.path, 2, number, said, sizeof said), code);
        ck_assert_msg((strstr(said, "goes on after step ") != NULL) == (i > 0), "%s", said);
        ck_assert_msg(code < 0 || strstr(said, "stopped; the same command goes on from ") != NULL,
                      "%s", said);
        ck_assert(train_fixture_has(&f.second, STATE));
        ck_assert(!train_fixture_has(&f.second, "model.safetensors"));
    }
    ck_assert_int_eq(run_and_signal(f.second.path, 0, 0, said, sizeof said), 0);
    ck_assert_ptr_nonnull(strstr(said, "goes on after step "));
    ck_assert(!train_fixture_has(&f.second, STATE));
    train_fixture_expect_same(&f.first, &f.second);
    train_fixture_close(&f);
}

START_TEST(train_saves_at_ctrl_c_and_goes_on_to_the_same_weights)
{
    check_signal(SIGINT, 128 + SIGINT);
}
END_TEST

START_TEST(train_saves_when_it_is_terminated)
{
    check_signal(SIGTERM, 128 + SIGINT);
}
END_TEST

START_TEST(train_goes_on_to_the_same_weights_after_a_kill)
{
    check_signal(SIGKILL, -SIGKILL);
}
END_TEST

/* ---- wrong use ---- */

START_TEST(train_names_what_is_wrong_and_exits_with_2)
{
    struct outcome *outcome;
    train_fixture_texts(&f);
    outcome = RUN("attnd-train", "--model", f.model.path, "--data", f.list);
    outcome_expect(outcome, 2, "", "attnd-train: --out");
    outcome = RUN("attnd-train", "--epochs", "0");
    outcome_expect(outcome, 2, "", "--epochs");
    outcome = RUN("attnd-train", "--no-such-option");
    outcome_expect(outcome, 2, "", "no-such-option");
    outcome = RUN("attnd-train", "--model", f.model.path, "--data", f.list, "--out", f.first.path,
                  "--stages", "8:1");
    outcome_expect(outcome, 2, "", "--stages is for images; the model reads texts");
    outcome = RUN("attnd-train", "--model", f.model.path, "--data", f.list, "--out", f.first.path,
                  "--teacher", "models/wafer-vit");
    outcome_expect(outcome, 2, "", "teacher models/wafer-vit: it does not read this kind of input");
    ck_assert(!train_fixture_has(&f.first, "config.json"));
    train_fixture_close(&f);
}
END_TEST

START_TEST(train_tells_what_cannot_be_read_and_exits_with_1)
{
    struct outcome *outcome;
    train_fixture_texts(&f);
    outcome = RUN("attnd-train", "--model", f.model.path, "--data", "/no/where.jsonl", "--out",
                  f.first.path);
    outcome_expect(outcome, 1, "", "/no/where.jsonl");
    train_fixture_close(&f);
}
END_TEST

START_TEST(train_prints_its_help_and_version)
{
    struct outcome *outcome;
    outcome = RUN("attnd-train", "--help");
    outcome_holds(outcome, 0, "usage: attnd-train --model DIR --data PATH --out DIR [OPTION]...\n",
                  "");
    outcome_holds(outcome, 0, "Ctrl-C saves; the same command goes on where it stopped.\n", "");
    outcome_expect(outcome, 0, "--stages SIZE:EPOCHS,...", "");
    outcome = RUN("attnd-train", "--version");
    outcome_expect(outcome, 0, "attnd-train " ATTND_VERSION "\n", "");
}
END_TEST

/* ---- a terminal ---- */

/* The end of every phase is shown, and taken off the line again. */
START_TEST(train_shows_a_bar_on_a_terminal)
{
    static char said[OUTCOME_BYTES];
    train_fixture_images(&f, "right");
    const char *const arguments[] = {"--model",    f.model.path, "--data", f.list, "--out",
                                     f.first.path, "--epochs",   "2",      FP32,   NULL};
    ck_assert_int_eq(outcome_on_terminal("attnd-train", arguments, said), 0);
    static const char *const shown[] = {
        "\r\033[K[========================] reading 48/48",
        "\r\033[Kepoch 1/2 16 px [========================] learning 44/44  loss ",
        "\r\033[Kepoch 2/2 16 px [========================] judging 4/4  loss ",
        "\r\033[K16 px [========================] concluding 4/4",
        "\r\033[Kepoch   1  loss ",
        "  0:00 left"};
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        ck_assert_msg(strstr(said, shown[i]) != NULL, "no '%s' in '%s'", shown[i], said);
    train_fixture_close(&f);
}
END_TEST

SUITE("train", train_writes_a_checkpoint_of_texts_that_other_programs_open,
      train_writes_a_checkpoint_of_images_that_other_programs_open,
      train_saves_at_ctrl_c_and_goes_on_to_the_same_weights, train_saves_when_it_is_terminated,
      train_goes_on_to_the_same_weights_after_a_kill, train_names_what_is_wrong_and_exits_with_2,
      train_tells_what_cannot_be_read_and_exits_with_1, train_prints_its_help_and_version,
      train_shows_a_bar_on_a_terminal)
