/* The lines that attnd-train shows a person, compared as they are written. They come from the
 * source of the program, whose functions nobody else can call. Whole runs are test_train.c's. */
#define main train_main
int train_main(int argc, char **argv);
#include "tools/train.c"
#undef main

#include "tests/support/log_capture.h"
#include "tests/support/suite.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <time.h>

static time_t seconds_now; /* 0: the machine's */

/* Instead of the C library's. */
int clock_gettime(clockid_t id, struct timespec *out);

int clock_gettime(clockid_t id, struct timespec *out)
{
    if (id != CLOCK_MONOTONIC || seconds_now == 0)
        return (int)syscall(SYS_clock_gettime, id, out);
    *out = (struct timespec){.tv_sec = seconds_now - CLOCK_AHEAD_S};
    return 0;
}

static struct display file_display(void)
{
    return (struct display){.screen.file_ms = SCREEN_FILE_MS};
}

/* ---- lines ---- */

START_TEST(times_are_minutes_and_then_hours)
{
    static const struct {
        double seconds;
        const char *text;
    } rows[] = {{-1, "-:--"},         {-0.001, "-:--"},    {0, "0:00"},
                {0.99, "0:00"},       {1, "0:01"},         {59.9, "0:59"},
                {60, "1:00"},         {3599, "59:59"},     {3600, "1:00:00"},
                {3661, "1:01:01"},    {86399, "23:59:59"}, {35999999, "9999:59:59"},
                {36000000, "0:00:00"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char out[16];
        format_time(out, rows[i].seconds);
        ck_assert_str_eq(out, rows[i].text);
    }
}
END_TEST

static void expect_plan(struct trainer_plan plan, bool is_terminal, const char *text)
{
    struct display display = {.screen.is_terminal = is_terminal};
    plan.family = "bert";
    plan.precision = "bf16";
    plan.parameters = 12345;
    plan.train = 90;
    plan.validation = 10;
    plan.labels = 3;
    plan.epochs = 4;
    log_capture_start();
    show_plan(&display, &plan);
    ck_assert_str_eq(log_capture_end(), text);
}

START_TEST(train_screen_shows_the_plan_with_unusual_settings)
{
    expect_plan((struct trainer_plan){.threads = 1}, false,
                "bert, 12345 weights, bf16, 1 thread\n"
                "90 inputs to learn, 10 to judge by, 3 labels, 4 epochs\n");
    expect_plan((struct trainer_plan){.threads = 2, .tensors_missing = 1}, true,
                "\r\033[Kbert, 12345 weights, bf16, 2 threads\n"
                "90 inputs to learn, 10 to judge by, 3 labels, 4 epochs\n"
                "1 tensors are not in the source and begin at random\n");
    expect_plan((struct trainer_plan){.threads = 0,
                                      .unusable = 1,
                                      .unusable_name = "a.png",
                                      .unusable_reason = "is none",
                                      .resumed = true,
                                      .step = 7,
                                      .steps = 20},
                false,
                "bert, 12345 weights, bf16, 0 threads\n"
                "90 inputs to learn, 10 to judge by, 3 labels, 4 epochs\n"
                "1 inputs cannot be used; the first is a.png: is none\n"
                "goes on after step 7 of 20\n");
    expect_plan((struct trainer_plan){.threads = 1, .remarks = "note: one\n"}, false,
                "bert, 12345 weights, bf16, 1 thread\n"
                "90 inputs to learn, 10 to judge by, 3 labels, 4 epochs\nnote: one\n");
    expect_plan((struct trainer_plan){.threads = 1, .replaced_version = "7b"}, false,
                "bert, 12345 weights, bf16, 1 thread\n"
                "90 inputs to learn, 10 to judge by, 3 labels, 4 epochs\n"
                "attnd.json there has version '7b' or class codes, which this run does not write: "
                "it is kept as attnd.json.before (--model-version sets the version)\n");
}
END_TEST

START_TEST(a_bar_is_as_full_as_the_phase)
{
    static const struct {
        size_t done, total;
        const char *bar;
    } rows[] = {{0, 0, "[>                       ]"},   {0, 48, "[>                       ]"},
                {1, 48, "[>                       ]"},  {2, 48, "[=>                      ]"},
                {24, 48, "[============>           ]"}, {47, 48, "[=======================>]"},
                {48, 48, "[========================]"}, {1, 1, "[========================]"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct trainer_progress progress = {.done = rows[i].done, .total = rows[i].total};
        log_capture_start();
        show_bar(&progress);
        ck_assert_str_eq(log_capture_end(), rows[i].bar);
    }
}
END_TEST

static const struct trainer_progress learning = {.phase = TRAINER_LEARNING,
                                                 .done = 30,
                                                 .total = 120,
                                                 .epoch = 2,
                                                 .epochs = 9,
                                                 .image_size = 48,
                                                 .loss = 0.51239,
                                                 .rate = 1.25e-3,
                                                 .inputs_per_second = 1234.4,
                                                 .seconds_left = 75};

static void expect_progress(struct trainer_progress progress, bool is_terminal, const char *text)
{
    struct display display = {.screen = {.is_terminal = is_terminal, .file_ms = SCREEN_FILE_MS}};
    seconds_now = 1000;
    log_capture_start();
    show_progress(&display, &progress);
    const char *said = log_capture_end();
    seconds_now = 0;
    ck_assert_str_eq(said, text);
}

START_TEST(progress_names_its_phase_and_in_an_epoch_its_figures)
{
    struct trainer_progress progress = learning;
    expect_progress(progress, false,
                    "epoch 2/9 48 px  learning 30/120  loss 0.5124  rate 1.25e-03  1234/s  "
                    "1:15 left\n");
    progress.phase = TRAINER_JUDGING;
    progress.image_size = 0;
    progress.seconds_left = -1;
    expect_progress(progress, true,
                    "\r\033[Kepoch 2/9 [======>                 ] judging 30/120  loss 0.5124  "
                    "rate 1.25e-03  1234/s  -:-- left");
    progress.phase = TRAINER_READING;
    expect_progress(progress, true, "\r\033[K[======>                 ] reading 30/120");
    progress.phase = TRAINER_CONCLUDING;
    progress.image_size = 1;
    expect_progress(progress, false, "1 px  concluding 30/120\n");
}
END_TEST

/* A terminal shows every call; a file gets a line once a minute. */
START_TEST(a_file_gets_a_line_a_minute)
{
    static const struct {
        time_t at;
        bool is_told;
    } rows[] = {{1059, false}, {1060, true}, {1061, false}, {1119, false}, {1120, true}};
    struct display display = file_display();
    display.screen.shown_ns = (uint64_t)1000 * CLOCK_NS_PER_S;
    for (size_t i = 0; i < 5; i++) {
        log_capture_start();
        seconds_now = rows[i].at;
        show_progress(&display, &learning);
        seconds_now = 0;
        ck_assert_int_eq(log_capture_end()[0] != '\0', rows[i].is_told);
    }
}
END_TEST

static void expect_epoch(struct history_epoch epoch, bool is_best, bool is_terminal,
                         const char *text)
{
    struct display display = {.screen.is_terminal = is_terminal};
    epoch.train_loss = 0.25;
    epoch.validation_loss = 1.5;
    epoch.accuracy = 0.875;
    epoch.seconds = 61;
    log_capture_start();
    show_epoch(&display, &epoch, is_best, epoch.epoch == 9);
    ck_assert_str_eq(log_capture_end(), text);
}

/* With one validation input, or equal ones, the mean as answer has no error. */
START_TEST(an_epoch_of_a_regression_has_no_accuracy)
{
    struct display display = {.task = TRAIN_REGRESS};
    const struct history_epoch epoch = {.epoch = 1, .train_loss = 0.25, .rmse = 0.5};
    log_capture_start();
    show_epoch(&display, &epoch, false, false);
    const char *line = log_capture_end();
    ck_assert_ptr_nonnull(strstr(line, "  RMSE 0.5 (the mean as answer: 0)"));
    ck_assert_ptr_null(strstr(line, "accuracy"));
}
END_TEST

START_TEST(an_epoch_is_a_line)
{
    expect_epoch((struct history_epoch){.epoch = 7}, false, false,
                 "epoch   7  loss 0.2500  validation 1.5000  accuracy 0.8750  1:01\n");
    expect_epoch((struct history_epoch){.epoch = 12, .macro_f1 = 0.5, .image_size = 1}, true, true,
                 "\r\033[Kepoch  12  loss 0.2500  validation 1.5000  accuracy 0.8750  macro-F1 "
                 "0.5000  1 px  1:01  *\n");
    expect_epoch((struct history_epoch){.epoch = 100, .skipped = 1}, false, false,
                 "epoch 100  loss 0.2500  validation 1.5000  accuracy 0.8750  1:01  1 steps "
                 "skipped: gradients not finite\n");
    expect_epoch((struct history_epoch){.epoch = 9}, false, false,
                 "epoch   9  loss 0.2500  validation 1.5000  accuracy 0.8750  1:01\n"
                 "note: the validation loss has risen for 3 epochs while the training loss fell: "
                 "these inputs are learnt by heart; fewer --epochs or --patience 3 end it sooner, "
                 "more inputs or --dropout help\n");
}
END_TEST

static void expect_end(struct trainer_result result, const char *text)
{
    struct train_options options = {.out = "models/x"};
    result.best_epoch = 3;
    program_invocation_name = (char[]){"bin/attnd-train"};
    log_capture_start();
    show_end(&options, &result);
    ck_assert_str_eq(log_capture_end(), text);
}

START_TEST(train_screen_ends_with_the_result_and_the_next_step)
{
    static const char served[] =
        "models/x has the weights of epoch 3\n"
        "next: bin/attnd --model x=models/x                  serve it\n"
        "      bin/attnd-eval --model models/x --data FRESH --calibrate    calibrate it\n"
        "      bin/attnd-predict --model models/x --text-file FILE --explain gradient-last    "
        "explain an answer\n";
    char want[1024];
    expect_end((struct trainer_result){0}, served);
    expect_end((struct trainer_result){.interrupted = true},
               "stopped; the same command goes on from models/x\n");
    expect_end((struct trainer_result){.task = TRAIN_MLM},
               "models/x has the weights of epoch 3\nnext, with labels: bin/attnd-train --model "
               "models/x --data LABELLED --out DIR\n");
    snprintf(want, sizeof want, "no better epoch for a while: stopped early; %s", served);
    expect_end((struct trainer_result){.early = true}, want);
    struct trainer_result judged = {.conclusion = {.judged = true,
                                                   .accuracy = 0.9,
                                                   .macro_f1 = 0.8,
                                                   .ece = 0.0123,
                                                   .automatic = 0.755,
                                                   .right = 0.9666}};
    snprintf(want, sizeof want,
             "accuracy 0.9000, macro-F1 0.8000, calibration error 0.0123; automatic 75.5 %%, of "
             "which 96.7 %% right\nreport: models/x/report.html\n%s",
             served);
    expect_end(judged, want);
    static char remarks[] = "note: one\nnote: two\n";
    judged.conclusion.automatic = 0;
    judged.conclusion.remarks = remarks;
    snprintf(want, sizeof want,
             "accuracy 0.9000, macro-F1 0.8000, calibration error 0.0123; no answer is automatic "
             "yet\nreport: models/x/report.html\nnote: one\nnote: two\n%s",
             served);
    expect_end(judged, want);
    struct trainer_result shifted = {
        .conclusion = {.macro_f1_before = 0.5, .macro_f1_crossed = 0.625}};
    snprintf(want, sizeof want,
             "macro-F1 was 0.5000 without class biases, and 0.6250 with biases from other "
             "inputs\n%s",
             served);
    expect_end(shifted, want);
}
END_TEST

START_TEST(train_screen_ends_with_commands_for_data_of_the_same_shape)
{
    struct train_options options = {.out = "my models/x y/",
                                    .text_field = "Fail text",
                                    .image_field = "image",
                                    .label_field = "bin",
                                    .multi_label = true};
    struct trainer_result result = {.best_epoch = 3};
    program_invocation_name = (char[]){"attnd-train"};
    log_capture_start();
    show_end(&options, &result);
    ck_assert_str_eq(
        log_capture_end(),
        "my models/x y/ has the weights of epoch 3\n"
        "next: attnd --model x_y='my models/x y/'                  serve it\n"
        "      attnd-eval --model 'my models/x y/' --data FRESH --text-field 'Fail text' "
        "--label-field bin --multi-label  measure it\n"
        "      attnd-predict --model 'my models/x y/' --text-file FILE --explain gradient-last    "
        "explain an answer\n");
    result.task = TRAIN_MLM;
    options.text_field = "it's";
    log_capture_start();
    show_end(&options, &result);
    ck_assert_str_eq(log_capture_end(),
                     "my models/x y/ has the weights of epoch 3\n"
                     "next, with labels: attnd-train --model 'my models/x y/' --data LABELLED "
                     "--text-field 'it'\\''s' --label-field bin --out DIR\n");
}
END_TEST

static void expect_estimate(double seconds, bool is_image, const char *text)
{
    struct display display = file_display();
    struct trainer_estimate estimate = {
        .is_image = is_image, .parameters = 85800194, .seconds = seconds};
    log_capture_start();
    show_estimate(&display, &estimate);
    ck_assert_str_eq(log_capture_end(), text);
}

START_TEST(train_screen_announces_a_long_run_early)
{
    expect_estimate(59, true, "");
    expect_estimate(90, true, "85.8 M weights, about 2 minutes here\n");
    expect_estimate(3599, true, "85.8 M weights, about 60 minutes here\n");
    expect_estimate(50400, true,
                    "85.8 M weights, about 14 h here; Ctrl-C saves. Did you mean --model vit-small "
                    "or vit-scratch, or fewer --epochs?\n");
    expect_estimate(7199, false,
                    "85.8 M weights, about 120 minutes here; Ctrl-C saves. Did you mean --model "
                    "bert-small or bert-scratch, or fewer --epochs?\n");
}
END_TEST

SUITE("train_screen", times_are_minutes_and_then_hours,
      train_screen_shows_the_plan_with_unusual_settings, a_bar_is_as_full_as_the_phase,
      progress_names_its_phase_and_in_an_epoch_its_figures, a_file_gets_a_line_a_minute,
      an_epoch_is_a_line, an_epoch_of_a_regression_has_no_accuracy,
      train_screen_ends_with_the_result_and_the_next_step,
      train_screen_ends_with_commands_for_data_of_the_same_shape,
      train_screen_announces_a_long_run_early)
