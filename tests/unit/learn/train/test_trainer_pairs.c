/* Pairs of texts from a list to a served checkpoint: learnt, evaluated, and answered alike. Only
 * the second text decides: a program that loses it, or takes it for the first, is right half the
 * time. */
#include "engine/engine.h"
#include "learn/eval/measure/evaluation.h"
#include "tests/support/suite.h"
#include "tests/support/train_fixture.h"

#include <stdio.h>
#include <string.h>

static void write_pairs(const struct train_fixture *f)
{
    static const char *const words[] = {"red", "blue"}, *const filling[] = {"green", "grey"};
    char text[TRAIN_FIXTURE_TEXTS * 96] = "";
    size_t len = 0;
    for (unsigned i = 0; i < TRAIN_FIXTURE_TEXTS; i++)
        len += (size_t)snprintf(text + len, sizeof text - len,
                                "{\"text\":\"%s %s\",\"text_pair\":\"%s %s\",\"label\":\"%s\"}\n",
                                filling[i / 4 % 2], words[i / 2 % 2], words[i % 2],
                                filling[i / 8 % 2], i % 2 == 0 ? "hot" : "cold");
    tempdir_write(&f->data, "list.jsonl", text, len);
}

START_TEST(pairs_are_learnt_evaluated_and_answered_alike)
{
    struct train_fixture f;
    struct err err = {0};
    struct dataset dataset;
    struct evaluation evaluation;
    struct engine_model *model;
    train_fixture_texts(&f);
    write_pairs(&f);
    f.options.epochs = 12;
    struct trainer_result result = train_fixture_run(&f);
    ck_assert_double_eq(result.history.epochs[11].macro_f1, 1);
    trainer_result_free(&result);
    ck_assert_msg(!engine_open(&model, f.first.path, &(struct engine_options){0}, &err), "%s",
                  err.text);
    ck_assert(
        !dataset_open(&dataset, f.list, &(struct dataset_options){.kind = ENGINE_TEXT}, &err));
    ck_assert_msg(!evaluation_run(&evaluation, model, &dataset,
                                  &(struct evaluation_options){.threads = 1}, &err),
                  "%s", err.text);
    for (size_t i = 0; i < dataset.count; i++) {
        const float *logits = evaluation_logits(&evaluation, i);
        const char *label = engine_describe(model)->labels[logits[1] > logits[0]];
        ck_assert_str_eq(label, dataset.items[i].label);
    }
    evaluation_close(&evaluation);
    dataset_close(&dataset);
    engine_close(model);
    train_fixture_close(&f);
}
END_TEST

SUITE("trainer_pairs", pairs_are_learnt_evaluated_and_answered_alike)
