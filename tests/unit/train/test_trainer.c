/* trainer.h: whole runs of a tiny BERT over a language of two words, from config.json to a served
 * checkpoint, stopped and taken up again. */
#include "engine/base/file.h"
#include "engine/engine.h"
#include "engine/train/trainer.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { INPUTS = 120 };

struct fixture {
    struct tempdir model, data, first, second; /* outputs are made by the runs */
    char list[128];
    struct train_options options;
    atomic_bool stop;
    unsigned learning_calls, stop_after; /* 0: never */
};

static const char config[] = "{\"model_type\":\"bert\",\"hidden_size\":16,\"num_hidden_layers\":2,"
                             "\"num_attention_heads\":2,\"intermediate_size\":32,\"vocab_size\":9,"
                             "\"max_position_embeddings\":16,\"type_vocab_size\":2}";
static const char vocabulary[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nred\ngreen\nblue\ngrey\n";

/* "hot" if a text has more reds than blues: order and filling do not matter. */
static void write_data(struct fixture *f)
{
    static const char *const words[] = {"red", "blue", "green", "grey"};
    char text[INPUTS * 80] = "";
    size_t len = 0;
    for (unsigned i = 0; i < INPUTS; i++) {
        bool hot = i % 2 == 0;
        len +=
            (size_t)snprintf(text + len, sizeof text - len,
                             "{\"text\":\"%s %s %s %s\",\"label\":\"%s\"}\n", words[2 + i / 2 % 2],
                             words[!hot], words[2 + i / 4 % 2], words[!hot], hot ? "hot" : "cold");
    }
    tempdir_write(&f->data, "list.jsonl", text, len);
    snprintf(f->list, sizeof f->list, "%s/list.jsonl", f->data.path);
}

static void open_fixture(struct fixture *f)
{
    *f = (struct fixture){0};
    tempdir_open(&f->model);
    tempdir_open(&f->data);
    tempdir_open(&f->first);
    tempdir_open(&f->second);
    tempdir_write(&f->model, "config.json", config, strlen(config));
    tempdir_write(&f->model, "vocab.txt", vocabulary, strlen(vocabulary));
    write_data(f);
    train_options_default(&f->options);
    f->options.model = f->model.path;
    f->options.data = f->list;
    f->options.out = f->first.path;
    f->options.epochs = 6;
    f->options.batch = 8;
    f->options.rate = 5e-3f;
    f->options.dropout = 0.1f;
    f->options.attention_dropout = 0.1f;
    f->options.average = 0.9f;
    f->options.threads = 1;
    f->options.precision = "f32";
    f->options.store = "f32";
    f->options.keep = "last";
}

static void close_fixture(struct fixture *f)
{
    tempdir_close(&f->model);
    tempdir_close(&f->data);
    tempdir_close(&f->first);
    tempdir_close(&f->second);
}

static void watch(void *context, const struct trainer_progress *progress)
{
    struct fixture *f = context;
    if (progress->phase == TRAINER_LEARNING && ++f->learning_calls == f->stop_after)
        atomic_store(&f->stop, true);
}

static struct trainer_result run(struct fixture *f)
{
    struct trainer_hooks hooks = {.progress = watch, .context = f, .stop = &f->stop};
    struct trainer_result result;
    struct err err = {0};
    trainer_run(&f->options, &hooks, &result, &err);
    ck_assert_msg(err.code == ERR_OK, "%s", err.text);
    return result;
}

static char *weights_of(const struct tempdir *dir, size_t *len)
{
    char path[128], *bytes;
    struct err err = {0};
    snprintf(path, sizeof path, "%s/model.safetensors", dir->path);
    ck_assert_msg(file_read(&bytes, len, path, 1 << 24, &err) == ERR_OK, "%s", err.text);
    return bytes;
}

static void expect_same_weights(const struct tempdir *a, const struct tempdir *b)
{
    size_t a_len, b_len;
    char *a_bytes = weights_of(a, &a_len), *b_bytes = weights_of(b, &b_len);
    ck_assert_uint_eq(a_len, b_len);
    ck_assert_mem_eq(a_bytes, b_bytes, a_len);
    free(a_bytes);
    free(b_bytes);
}

static bool has_state(const struct tempdir *dir)
{
    char path[128];
    struct stat info;
    snprintf(path, sizeof path, "%s/training-state.safetensors", dir->path);
    return stat(path, &info) == 0;
}

START_TEST(a_run_learns_and_its_checkpoint_is_served)
{
    struct fixture f;
    struct err err = {0};
    struct engine_model *model;
    struct engine_session *session;
    struct engine_input input;
    struct arena arena;
    float logits[2], *rows[] = {logits};
    open_fixture(&f);
    struct trainer_result result = run(&f);
    ck_assert_uint_eq(result.history.count, 6);
    ck_assert_double_ge(result.history.epochs[5].macro_f1, 0.99);
    ck_assert_double_lt(result.history.epochs[5].train_loss, 0.3);
    ck_assert(!has_state(&f.first));
    trainer_result_free(&result);
    ck_assert_msg(!engine_open(&model, f.first.path, &(struct engine_options){0}, &err), "%s",
                  err.text);
    ck_assert_str_eq(engine_describe(model)->labels[1], "hot");
    ck_assert_int_eq(engine_session_open(&session, model, 16, 1, &err), ERR_OK);
    arena_init(&arena);
    engine_prepare_text(model, "grey red green red", 18, NULL, &arena, &input, &err);
    engine_run(session, (const struct engine_input *[]){&input}, 1, rows);
    ck_assert(logits[1] > logits[0]);
    arena_deinit(&arena);
    engine_session_close(session);
    engine_close(model);
    close_fixture(&f);
}
END_TEST

START_TEST(threads_do_not_change_the_weights)
{
    struct fixture f;
    open_fixture(&f);
    struct trainer_result result = run(&f);
    trainer_result_free(&result);
    f.options.threads = 3;
    f.options.out = f.second.path;
    result = run(&f);
    trainer_result_free(&result);
    expect_same_weights(&f.first, &f.second);
    close_fixture(&f);
}
END_TEST

START_TEST(another_seed_gives_other_weights)
{
    struct fixture f;
    size_t a_len, b_len;
    open_fixture(&f);
    f.options.epochs = 1;
    struct trainer_result result = run(&f);
    trainer_result_free(&result);
    f.options.seed = 1;
    f.options.out = f.second.path;
    result = run(&f);
    trainer_result_free(&result);
    char *a = weights_of(&f.first, &a_len), *b = weights_of(&f.second, &b_len);
    ck_assert_uint_eq(a_len, b_len);
    ck_assert_mem_ne(a, b, a_len);
    free(a);
    free(b);
    close_fixture(&f);
}
END_TEST

/* Stopped in the middle of an epoch, twice, and taken up again by the same call. */
START_TEST(a_run_that_was_stopped_ends_with_the_same_weights)
{
    struct fixture f;
    open_fixture(&f);
    struct trainer_result result = run(&f);
    trainer_result_free(&result);
    f.options.out = f.second.path;
    f.options.restart = false;
    f.learning_calls = 0;
    f.stop_after = 2;
    unsigned stops = 0;
    for (;; stops++) {
        result = run(&f);
        bool interrupted = result.interrupted;
        trainer_result_free(&result);
        ck_assert_int_eq(has_state(&f.second), interrupted);
        if (!interrupted)
            break;
        atomic_store(&f.stop, false);
        f.learning_calls = 0;
        f.stop_after = stops == 0 ? 3 : 0;
    }
    ck_assert_uint_ge(stops, 1);
    expect_same_weights(&f.first, &f.second);
    close_fixture(&f);
}
END_TEST

START_TEST(words_that_are_masked_are_learnt)
{
    struct fixture f;
    open_fixture(&f);
    f.options.task = "mlm";
    f.options.epochs = 12;
    struct trainer_result result = run(&f);
    const struct history_epoch *first = &result.history.epochs[0],
                               *last = &result.history.epochs[result.history.count - 1];
    ck_assert_double_lt(last->validation_loss, first->validation_loss);
    ck_assert_double_gt(last->accuracy, 0.5);
    trainer_result_free(&result);
    /* What was pre-trained is where fine-tuning starts. */
    f.options.task = "classify";
    f.options.model = f.first.path;
    f.options.out = f.second.path;
    f.options.freeze_epochs = 1;
    f.options.epochs = 4;
    result = run(&f);
    ck_assert_double_ge(result.history.epochs[3].macro_f1, 0.99);
    trainer_result_free(&result);
    close_fixture(&f);
}
END_TEST

START_TEST(patience_ends_a_run_that_stands_still)
{
    struct fixture f;
    open_fixture(&f);
    f.options.keep = "best";
    f.options.rate = 1e-8f;
    f.options.epochs = 9;
    f.options.patience = 2;
    struct trainer_result result = run(&f);
    ck_assert(result.early);
    ck_assert_uint_eq(result.history.count, 3);
    ck_assert_uint_eq(result.best_epoch, 1);
    trainer_result_free(&result);
    close_fixture(&f);
}
END_TEST

START_TEST(several_labels_are_learnt_side_by_side)
{
    struct fixture f;
    char text[INPUTS * 80] = "";
    size_t len = 0;
    open_fixture(&f);
    for (unsigned i = 0; i < INPUTS; i++)
        len += (size_t)snprintf(text + len, sizeof text - len,
                                "{\"text\":\"grey %s %s\",\"label\":\"%s\"}\n",
                                i % 3 > 0 ? "red" : "grey", i % 3 < 2 ? "blue" : "grey",
                                i % 3 == 0   ? "cold"
                                : i % 3 == 1 ? "hot|cold"
                                             : "hot");
    tempdir_write(&f.data, "list.jsonl", text, len);
    f.options.multi_label = true;
    f.options.epochs = 40;
    struct trainer_result result = run(&f);
    ck_assert_double_ge(result.history.epochs[39].macro_f1, 0.95);
    trainer_result_free(&result);
    close_fixture(&f);
}
END_TEST

START_TEST(a_run_ends_with_a_report_and_thresholds)
{
    static const char *const names[] = {"report.json", "report.html", "attnd.json",
                                        "tokenizer_config.json"};
    static const char *const holds[] = {"\"macro_f1\"", "</html>", "\"version\": \"7\"",
                                        "\"model_max_length\": 10"};
    struct fixture f;
    open_fixture(&f);
    f.options.class_biases = "fit";
    f.options.version = "7";
    f.options.tokens = 10;
    struct trainer_result result = run(&f);
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
    close_fixture(&f);
}
END_TEST

START_TEST(a_teacher_that_knows_other_labels_is_refused)
{
    struct fixture f;
    struct trainer_hooks hooks = {0};
    struct trainer_result result;
    struct err err = {0};
    open_fixture(&f);
    f.options.teacher = "models/kernel-bert";
    ck_assert_int_eq(trainer_run(&f.options, &hooks, &result, &err), ERR_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(err.text, "teacher models/kernel-bert"));
    close_fixture(&f);
}
END_TEST

START_TEST(a_student_learns_from_its_teacher)
{
    struct fixture f;
    open_fixture(&f);
    struct trainer_result result = run(&f);
    trainer_result_free(&result);
    f.options.teacher = f.first.path;
    f.options.teacher_share = 1;
    f.options.out = f.second.path;
    f.options.seed = 3;
    result = run(&f);
    ck_assert_double_ge(result.history.epochs[5].macro_f1, 0.99);
    trainer_result_free(&result);
    close_fixture(&f);
}
END_TEST

SUITE("trainer", a_run_learns_and_its_checkpoint_is_served, threads_do_not_change_the_weights,
      another_seed_gives_other_weights, a_run_that_was_stopped_ends_with_the_same_weights,
      words_that_are_masked_are_learnt, several_labels_are_learnt_side_by_side,
      patience_ends_a_run_that_stands_still, a_run_ends_with_a_report_and_thresholds,
      a_teacher_that_knows_other_labels_is_refused, a_student_learns_from_its_teacher)
