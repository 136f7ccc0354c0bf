/* trainer.h: whole runs of a tiny BERT over a language of two words, from config.json to a served
 * checkpoint, stopped and taken up again.
 *
 * A run is the same on every machine but for the order in which its instruction set sums. Losses
 * are compared within 0.002: the same run with bf16 products, which round 2^15 times as coarsely,
 * ends within 0.0006 of them. */
#include "engine/base/doc.h"
#include "engine/base/file.h"
#include "engine/engine.h"
#include "engine/model/spec.h"
#include "learn/eval/measure/evaluation.h"
#include "tests/support/outcome.h"
#include "tests/support/run_logits.h"
#include "tests/support/sources.h"
#include "tests/support/suite.h"
#include "tests/support/train_fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* losses [epochs]: the training loss and the validation loss. */
static void expect_losses(const struct history *history, const double losses[][2], unsigned epochs)
{
    ck_assert_uint_eq(history->count, epochs);
    for (unsigned i = 0; i < epochs; i++) {
        ck_assert_double_eq_tol(history->epochs[i].train_loss, losses[i][0], 0.003);
        ck_assert_double_eq_tol(history->epochs[i].validation_loss, losses[i][1], 0.003);
    }
}

START_TEST(a_run_learns_and_its_checkpoint_is_served)
{
    struct train_fixture f;
    struct err err = {0};
    struct engine_model *model;
    struct engine_session *session;
    struct engine_input input;
    struct arena arena;
    float logits[2];
    train_fixture_texts(&f);
    struct trainer_result result = train_fixture_run(&f);
    static const double losses[][2] = {{0.69705, 0.69229}, {0.66082, 0.60447}, {0.30670, 0.19385},
                                       {0.06450, 0.05636}, {0.03249, 0.03374}, {0.02871, 0.02895}};
    expect_losses(&result.history, losses, 6);
    ck_assert_double_eq(result.history.epochs[5].macro_f1, 1);
    ck_assert(!train_fixture_has(&f.first, "training-state.safetensors"));
    trainer_result_free(&result);
    ck_assert_msg(!engine_open(&model, f.first.path, &(struct engine_options){0}, &err), "%s",
                  err.text);
    ck_assert_str_eq(engine_describe(model)->labels[1], "hot");
    ck_assert_int_eq(engine_session_open(&session, model, 16, 1, &err), ERR_OK);
    arena_init(&arena);
    engine_prepare(model, text_source("grey red green red"), NULL, &arena, &input, &err);
    run_logits_one(session, &input, logits);
    ck_assert(logits[1] > logits[0]);
    arena_deinit(&arena);
    engine_session_close(session);
    engine_close(model);
    train_fixture_close(&f);
}
END_TEST

START_TEST(threads_do_not_change_the_weights)
{
    struct train_fixture f;
    train_fixture_texts(&f);
    train_fixture_learn(&f);
    f.options.threads = 3;
    f.options.out = f.second.path;
    train_fixture_learn(&f);
    train_fixture_expect_same(&f.first, &f.second);
    train_fixture_close(&f);
}
END_TEST

/* Forty texts of six tokens go in four parts of 64 tokens. Without dropout that is the same batch;
 * with it, every part draws its own. */
START_TEST(a_batch_in_parts_is_the_same_batch)
{
    static const double whole[][2] = {{0.69614, 0.69294}, {0.69407, 0.69139}, {0.66882, 0.62604}};
    static const double dropped[][2] = {{0.69669, 0.69213}, {0.67201, 0.60362}, {0.43661, 0.33161}};
    struct train_fixture f;
    for (unsigned i = 0; i < 3; i++) {
        train_fixture_texts(&f);
        f.options.batch = 40;
        f.options.rate = 2e-2f;
        f.options.micro_tokens = i == 0 ? f.options.micro_tokens : 64;
        if (i < 2)
            f.options.dropout = f.options.attention_dropout = 0;
        struct trainer_result result = train_fixture_run(&f);
        result.history.count = 3; /* of six: later ones differ more by machine */
        expect_losses(&result.history, i < 2 ? whole : dropped, 3);
        trainer_result_free(&result);
        train_fixture_close(&f);
    }
}
END_TEST

START_TEST(another_seed_gives_other_weights)
{
    struct train_fixture f;
    train_fixture_texts(&f);
    f.options.epochs = 1;
    train_fixture_learn(&f);
    f.options.seed = 1;
    f.options.out = f.second.path;
    train_fixture_learn(&f);
    train_fixture_expect_other(&f.first, &f.second);
    train_fixture_close(&f);
}
END_TEST

/* Stopped in the middle of an epoch, twice, and taken up again by the same call. */
START_TEST(a_run_that_was_stopped_ends_with_the_same_weights)
{
    struct train_fixture f;
    train_fixture_texts(&f);
    train_fixture_learn(&f);
    f.options.out = f.second.path;
    f.options.restart = false;
    f.learning_calls = 0;
    f.stop_after = 2;
    unsigned stops = 0;
    for (;; stops++) {
        struct trainer_result result = train_fixture_run(&f);
        bool interrupted = result.interrupted;
        trainer_result_free(&result);
        ck_assert_int_eq(train_fixture_has(&f.second, "training-state.safetensors"), interrupted);
        if (!interrupted)
            break;
        atomic_store(&f.stop, false);
        f.learning_calls = 0;
        f.stop_after = stops == 0 ? 3 : 0;
    }
    ck_assert_uint_ge(stops, 1);
    train_fixture_expect_same(&f.first, &f.second);
    train_fixture_close(&f);
}
END_TEST

START_TEST(words_that_are_masked_are_learnt)
{
    struct train_fixture f;
    train_fixture_texts(&f);
    f.options.task = "mlm";
    f.options.epochs = 12;
    struct trainer_result result = train_fixture_run(&f);
    ck_assert_uint_eq(result.history.count, 12);
    const struct history_epoch *first = result.history.epochs, *last = first + 11;
    ck_assert_double_eq_tol(first->train_loss, 1.92388, 0.003);
    ck_assert_double_eq_tol(first->validation_loss, 1.57226, 0.003);
    ck_assert_double_eq_tol(last->train_loss, 0.71684, 0.003);
    ck_assert_double_eq_tol(last->validation_loss, 0.69939, 0.003);
    ck_assert_double_eq_tol(first->accuracy, 9 / 14.0, 1e-9); /* of fourteen masked words */
    ck_assert_double_eq_tol(last->accuracy, 8 / 14.0, 1e-9);
    trainer_result_free(&result);
    /* Fine-tuning starts from the pre-trained weights. */
    f.options.task = "classify";
    f.options.model = f.first.path;
    f.options.out = f.second.path;
    f.options.freeze_epochs = 1;
    f.options.epochs = 4;
    result = train_fixture_run(&f);
    static const double losses[][2] = {
        {0.69796, 0.69312}, {0.69416, 0.69289}, {0.69179, 0.68908}, {0.67972, 0.67794}};
    expect_losses(&result.history, losses, 4);
    ck_assert_double_eq(result.history.epochs[3].macro_f1, 1);
    trainer_result_free(&result);
    train_fixture_close(&f);
}
END_TEST

START_TEST(patience_ends_a_run_that_stands_still)
{
    struct train_fixture f;
    train_fixture_texts(&f);
    f.options.keep = "best";
    f.options.rate = 0;
    f.options.epochs = 9;
    f.options.patience = 2;
    struct trainer_result result = train_fixture_run(&f);
    ck_assert(result.early);
    ck_assert_uint_eq(result.history.count, 3);
    ck_assert_uint_eq(result.best_epoch, 1);
    trainer_result_free(&result);
    train_fixture_close(&f);
}
END_TEST

START_TEST(several_labels_are_learnt_side_by_side)
{
    struct train_fixture f;
    char text[TRAIN_FIXTURE_TEXTS * 80] = "";
    size_t len = 0;
    train_fixture_texts(&f);
    for (unsigned i = 0; i < TRAIN_FIXTURE_TEXTS; i++)
        len += (size_t)snprintf(text + len, sizeof text - len,
                                "{\"text\":\"grey %s %s\",\"label\":\"%s\"}\n",
                                i % 3 > 0 ? "red" : "grey", i % 3 < 2 ? "blue" : "grey",
                                i % 3 == 0   ? "cold"
                                : i % 3 == 1 ? "hot|cold"
                                             : "hot");
    tempdir_write(&f.data, "list.jsonl", text, len);
    f.options.multi_label = true;
    f.options.epochs = 40;
    struct trainer_result result = train_fixture_run(&f);
    ck_assert_double_ge(result.history.epochs[39].macro_f1, 0.95);
    trainer_result_free(&result);
    train_fixture_close(&f);
}
END_TEST

START_TEST(a_run_ends_with_a_report_and_thresholds)
{
    static const char *const names[] = {"report.json", "report.html", "attnd.json",
                                        "tokenizer_config.json"};
    static const char *const holds[] = {"\"macro_f1\"", "</html>", "\"version\": \"7\"",
                                        "\"model_max_length\": 10"};
    struct train_fixture f;
    train_fixture_texts(&f);
    f.options.class_biases = "fit";
    f.options.version = "7";
    f.options.tokens = 10;
    struct trainer_result result = train_fixture_run(&f);
    ck_assert(result.conclusion.judged);
    ck_assert_double_ge(result.conclusion.macro_f1, 0.99);
    for (size_t i = 0; i < 4; i++) {
        char path[128], *bytes;
        size_t len;
        struct err err = {0};
        snprintf(path, sizeof path, "%s/%s", f.first.path, names[i]);
        ck_assert_msg(file_read(&bytes, &len, path, 1 << 24, &err) == ERR_OK, "%s", err.text);
        ck_assert_msg(strstr(bytes, holds[i]) != NULL, "no %s in %s", holds[i], names[i]);
        free(bytes);
    }
    trainer_result_free(&result);
    train_fixture_close(&f);
}
END_TEST

/* Forty inputs to judge by, of which four have the wrong label: a conclusion says what the report
 * does. */
START_TEST(a_conclusion_is_that_of_the_report)
{
    struct train_fixture f;
    struct json_t *report;
    struct err err = {0};
    char list[40 * 48] = "", path[128];
    train_fixture_texts(&f);
    for (unsigned i = 0; i < 40; i++)
        snprintf(list + strlen(list), 48, "{\"text\":\"%s\",\"label\":\"%s\"}\n",
                 i % 2 ? "red red" : "blue blue", (i % 2) ^ (i % 10 == 3) ? "hot" : "cold");
    tempdir_write(&f.data, "judge.jsonl", list, strlen(list));
    snprintf(path, sizeof path, "%s/judge.jsonl", f.data.path);
    f.options.validation = path;
    f.options.target_precision = 0.7;
    struct trainer_result result = train_fixture_run(&f);
    const struct conclusion *found = &result.conclusion;
    char written[128];
    snprintf(written, sizeof written, "%s/report.json", f.first.path);
    ck_assert(!doc_parse_file(&report, written, 1 << 20, &err));
    double automatic = outcome_number(report, "decisions.auto");
    outcome_expect_number(report, "decisions.inputs", 40);
    outcome_expect_number(report, "accuracy", 0.9);
    outcome_expect_number(report, "accuracy", found->accuracy);
    outcome_expect_number(report, "macro_f1", found->macro_f1);
    outcome_expect_number(report, "ece", found->ece);
    outcome_expect_number(report, "scores.served.temperature", found->temperature);
    outcome_expect_number(report, "risk_coverage.target_precision", 0.7);
    ck_assert(automatic > 0 && fabs(found->automatic - automatic / 40) < 1e-9);
    outcome_expect_number(report, "decisions.auto_right", found->right * automatic);
    ck_assert(found->judged && found->temperature != 1);
    doc_free(report);
    trainer_result_free(&result);
    train_fixture_close(&f);
}
END_TEST

/* Rare classes given a handicap get it back: the biases are in the weights that are written, and in
 * the figures of the report. */
START_TEST(class_biases_are_written_and_measured)
{
    struct train_fixture f;
    struct json_t *report;
    struct err err = {0};
    char list[40 * 48] = "", path[128];
    train_fixture_texts(&f);
    for (unsigned i = 0; i < 40; i++)
        snprintf(list + strlen(list), 48, "{\"text\":\"%s\",\"label\":\"hot\"}\n",
                 i % 4 ? "red red" : "blue blue");
    snprintf(list + strlen(list), 48, "{\"text\":\"grey\",\"label\":\"cold\"}\n");
    tempdir_write(&f.data, "judge.jsonl", list, strlen(list));
    snprintf(path, sizeof path, "%s/judge.jsonl", f.data.path);
    f.options.validation = path;
    f.options.epochs = 2;
    train_fixture_learn(&f);
    f.options.out = f.second.path;
    f.options.class_biases = "fit";
    struct trainer_result result = train_fixture_run(&f);
    char written[128];
    snprintf(written, sizeof written, "%s/report.json", f.second.path);
    ck_assert(!doc_parse_file(&report, written, 1 << 20, &err));
    ck_assert_double_gt(result.conclusion.macro_f1, result.conclusion.macro_f1_before + 0.01);
    outcome_expect_number(report, "macro_f1", result.conclusion.macro_f1);
    train_fixture_expect_other(&f.first, &f.second);
    doc_free(report);
    trainer_result_free(&result);
    train_fixture_close(&f);
}
END_TEST

/* Three times the texts, so that there are enough for a distance. Its mean is that of the features
 * of every input learnt, both classes alike: each has 180. */
START_TEST(strangeness_is_fitted_to_every_input_learnt)
{
    struct train_fixture f;
    struct spec spec;
    struct engine_model *model;
    struct dataset dataset;
    struct evaluation evaluation;
    struct dataset_options fields = {.kind = ENGINE_TEXT};
    struct evaluation_options how = {.threads = 1, .features = true};
    struct arena arena;
    struct err err = {0};
    char *once, path[128];
    size_t len;
    train_fixture_texts(&f);
    ck_assert(!file_read(&once, &len, f.list, 1 << 20, &err));
    char *thrice = malloc(3 * len);
    for (unsigned i = 0; i < 3; i++)
        memcpy(thrice + i * len, once, len);
    tempdir_write(&f.data, "thrice.jsonl", thrice, 3 * len);
    snprintf(path, sizeof path, "%s/thrice.jsonl", f.data.path);
    f.options.validation = f.list;
    f.options.data = path;
    f.options.epochs = 1;
    f.options.rate = 1e-5f; /* so that features still differ within a class */
    f.options.ood_method = "mahalanobis";
    train_fixture_learn(&f);
    arena_init(&arena);
    ck_assert_msg(!spec_read(&spec, f.first.path, &arena, &err) &&
                      !engine_open(&model, f.first.path, &(struct engine_options){0}, &err) &&
                      !dataset_open(&dataset, path, &fields, &err) &&
                      !evaluation_run(&evaluation, model, &dataset, &how, &err),
                  "%s", err.text);
    ck_assert_int_eq(spec.policy.ood.method, OOD_MAHALANOBIS);
    for (unsigned d = 0; d < spec_features(&spec); d++) {
        double sum = 0;
        for (size_t i = 0; i < evaluation.count; i++)
            sum += (double)evaluation_features(&evaluation, i)[d];
        ck_assert_double_eq_tol((double)spec.policy.ood.mean[d], sum / (double)evaluation.count,
                                1e-6);
    }
    evaluation_close(&evaluation);
    dataset_close(&dataset);
    engine_close(model);
    arena_deinit(&arena);
    free(once);
    free(thrice);
    train_fixture_close(&f);
}
END_TEST

START_TEST(a_label_that_is_not_learnt_is_named_with_its_list_and_line)
{
    struct train_fixture f;
    struct trainer_hooks hooks = {0};
    struct trainer_result result;
    struct err err = {0};
    char list[128], want[256];
    train_fixture_texts(&f);
    tempdir_write(&f.data, "judge.csv", "text,label\nred,hot\nred,warm\n", 28);
    snprintf(list, sizeof list, "%s/judge.csv", f.data.path);
    snprintf(want, sizeof want, "%s: line 3: ", list);
    f.options.validation = list;
    ck_assert_int_eq(trainer_run(&f.options, &hooks, &result, &err), ERR_UNUSABLE);
    ck_assert_msg(strncmp(err.text, want, strlen(want)) == 0, "%s", err.text);
    ck_assert_ptr_nonnull(strstr(err.text, "'warm'"));
    train_fixture_close(&f);
}
END_TEST

START_TEST(a_teacher_that_knows_other_labels_is_refused)
{
    struct train_fixture f;
    struct trainer_hooks hooks = {0};
    struct trainer_result result;
    struct err err = {0};
    train_fixture_texts(&f);
    f.options.teacher = (struct train_paths){{"models/kernel-bert"}, 1};
    ck_assert_int_eq(trainer_run(&f.options, &hooks, &result, &err), ERR_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(err.text, "teacher models/kernel-bert"));
    train_fixture_close(&f);
}
END_TEST

START_TEST(a_student_learns_from_its_teacher)
{
    struct train_fixture f;
    train_fixture_texts(&f);
    train_fixture_learn(&f);
    f.options.teacher = (struct train_paths){{f.first.path}, 1};
    f.options.teacher_share = 1;
    f.options.out = f.second.path;
    f.options.seed = 3;
    struct trainer_result result = train_fixture_run(&f);
    static const double losses[][2] = {{2.77189, 0.68276}, {2.45197, 0.28798}, {1.76747, 0.04695},
                                       {1.67704, 0.02237}, {1.67602, 0.02176}, {1.67314, 0.02266}};
    expect_losses(&result.history, losses, 6);
    ck_assert_double_eq(result.history.epochs[5].macro_f1, 1);
    trainer_result_free(&result);
    train_fixture_close(&f);
}
END_TEST

/* The file says the opposite of every label: the student learns the file and no label. */
START_TEST(a_student_learns_from_logits_of_a_file)
{
    struct train_fixture f;
    char text[TRAIN_FIXTURE_TEXTS * 64], path[128];
    size_t len = 0;
    train_fixture_texts(&f);
    for (unsigned i = 0; i < TRAIN_FIXTURE_TEXTS; i++)
        len += (size_t)snprintf(text + len, sizeof text - len,
                                "{\"input\":\"line %u\",\"logits\":{\"hot\":%d,\"cold\":0}}\n",
                                i + 1, i % 2 == 0 ? -8 : 8);
    tempdir_write(&f.data, "logits.jsonl", text, len);
    snprintf(path, sizeof path, "%s/logits.jsonl", f.data.path);
    f.options.teacher_logits = (struct train_paths){{path}, 1};
    f.options.teacher_share = 1;
    f.options.keep = "last";
    struct trainer_result result = train_fixture_run(&f);
    ck_assert_double_lt(result.history.epochs[0].macro_f1, 0.5);
    ck_assert_double_eq(result.history.epochs[5].macro_f1, 0);
    trainer_result_free(&result);
    train_fixture_close(&f);
}
END_TEST

SUITE("trainer", a_run_learns_and_its_checkpoint_is_served, threads_do_not_change_the_weights,
      another_seed_gives_other_weights, a_batch_in_parts_is_the_same_batch,
      a_run_that_was_stopped_ends_with_the_same_weights, words_that_are_masked_are_learnt,
      several_labels_are_learnt_side_by_side, patience_ends_a_run_that_stands_still,
      a_run_ends_with_a_report_and_thresholds, a_conclusion_is_that_of_the_report,
      class_biases_are_written_and_measured, strangeness_is_fitted_to_every_input_learnt,
      a_label_that_is_not_learnt_is_named_with_its_list_and_line,
      a_teacher_that_knows_other_labels_is_refused, a_student_learns_from_its_teacher,
      a_student_learns_from_logits_of_a_file)
