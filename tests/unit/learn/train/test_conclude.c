/* conclude.h: the files that a run leaves. The runs here have made no step: their weights are those
 * of the beginning, twenty times as large, so that scores differ. */
#include "engine/base/doc.h"
#include "engine/format/head_file.h"
#include "engine/format/safetensors.h"
#include "learn/eval/fit/logit_adjustment.h"
#include "learn/eval/measure/evaluation.h"
#include "learn/train/checkpoint/export.h"
#include "learn/train/conclude.h"
#include "learn/train/loop/run.h"
#include "learn/train/network/network_state.h"
#include "tests/support/contract.h"
#include "tests/support/outcome.h"
#include "tests/support/suite.h"
#include "tests/support/train_fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct train_fixture f;
static struct run run;
static struct conclusion found;
static struct err err;
static char list[160];

static struct {
    size_t last, total;
    unsigned ends;
} told;

static void note(void *context, size_t done, size_t total)
{
    ck_assert_ptr_eq(context, &told);
    ck_assert_uint_le(done, total);
    told.last = done;
    told.total = total;
    told.ends += done == total;
}

/* Twenty texts of four kinds to judge by, one kind "cold"; one text of each kind has the other
 * label. */
static void judge_by_another_list(void)
{
    static const char *const kinds[4] = {"blue green", "blue grey red", "red green",
                                         "red grey red"};
    char text[2048] = "text,label\n";
    for (unsigned i = 0; i < 20; i++)
        snprintf(text + strlen(text), 64, "%s,%s\n", kinds[i % 4],
                 (i % 4 == 0) ^ (i / 4 == 3) ? "cold" : "hot");
    tempdir_write(&f.data, "judge.csv", text, strlen(text));
    snprintf(list, sizeof list, "%s/judge.csv", f.data.path);
    f.options.validation = list;
}

static void open_run(void)
{
    static const struct corpus_progress nobody;
    err = (struct err){0};
    ck_assert_msg(!run_open(&run, &f.options, &nobody, &err), "%s", err.text);
    for (size_t i = 0; i < run.learner.parameters.numbers; i++)
        run.learner.best[i] *= 20;
    ck_assert(!run_save(&run, &err));
}

static enum err_code try_conclude(void)
{
    struct conclude_progress progress = {note, &told};
    memset(&told, 0, sizeof told);
    err = (struct err){0};
    free(found.remarks);
    ck_assert_int_eq(conclude(&run, &progress, &found, &err), err.code);
    return err.code;
}

static void conclude_run(void)
{
    try_conclude();
    ck_assert_msg(err.code == ERR_OK, "%s", err.text);
}

static void close_run(void)
{
    run_close(&run);
    free(found.remarks);
    found.remarks = NULL;
    train_fixture_close(&f);
}

/* A JSON file of the output; yours to free. */
static struct json_t *output(const char *name)
{
    struct json_t *root;
    char path[160];
    snprintf(path, sizeof path, "%s/%s", f.first.path, name);
    ck_assert_msg(!doc_parse_file(&root, path, 1 << 20, &err), "%s", err.text);
    return root;
}

/* ---- the checkpoint ---- */

START_TEST(the_weights_are_those_that_are_best)
{
    for (unsigned is_half = 0; is_half < 2; is_half++) {
        struct safetensors *file;
        char path[160];
        float bias[2];
        train_fixture_texts(&f);
        f.options.store = is_half ? "f16" : "f32";
        f.options.tokens = 11;
        f.options.multi_label = true;
        tempdir_write(&f.first, "attnd.json", "{", 1); /* an earlier run's says nothing of these */
        open_run();
        const struct parameters_map *map = &run.learner.parameters.map;
        run.learner.best[map->classifier_bias] = 0.5f;
        run.learner.best[map->classifier_bias + 1] = 2;
        conclude_run();
        snprintf(path, sizeof path, "%s/model.safetensors", f.first.path);
        ck_assert(!safetensors_open(&file, path, &err));
        const struct tensor_info *info = safetensors_find(file, "classifier.bias");
        ck_assert_int_eq(info->dtype, is_half ? DTYPE_F16 : DTYPE_F32);
        ck_assert(!safetensors_read_f32(file, info, 0, 2, bias, &err));
        ck_assert(bias[0] == 0.5f && bias[1] == 2);
        safetensors_close(file);
        struct json_t *config = output("tokenizer_config.json");
        outcome_expect_number(config, "model_max_length", 11);
        doc_free(config);
        ck_assert(!train_fixture_has(&f.first, "attnd.json"));
        ck_assert(!train_fixture_has(&f.first, "report.json") && !found.judged);
        ck_assert(!train_fixture_has(&f.first, "training-state.safetensors"));
        close_run();
    }
}
END_TEST

START_TEST(masked_words_leave_only_the_checkpoint)
{
    train_fixture_texts(&f);
    f.options.task = "mlm";
    tempdir_write(&f.first, "attnd.json", "{", 1);
    open_run();
    conclude_run();
    ck_assert(train_fixture_has(&f.first, "model.safetensors") && told.ends == 0);
    ck_assert(!train_fixture_has(&f.first, "attnd.json"));
    ck_assert(!train_fixture_has(&f.first, "report.html") && !found.judged);
    close_run();
}
END_TEST

START_TEST(after_masked_words_attnd_json_has_the_version_asked_for_and_how_inputs_are_read)
{
    static const char old[] =
        "{\"version\": \"7\", \"truncation\": \"accept\", \"temperature\": 3}";
    train_fixture_texts(&f);
    f.options.task = "mlm";
    f.options.version = "v8";
    tempdir_write(&f.model, "attnd.json", old, sizeof old - 1);
    open_run();
    conclude_run();
    struct arena arena;
    struct spec spec;
    arena_init(&arena);
    ck_assert_msg(!spec_read(&spec, f.first.path, &arena, &err), "%s", err.text);
    ck_assert_str_eq(spec.version, "v8");
    ck_assert(spec.policy.accepts_truncated && spec.temperature == 1);
    arena_deinit(&arena);
    close_run();
}
END_TEST

START_TEST(conclude_names_the_file_that_cannot_be_removed)
{
    static const char *const names[] = {"attnd.json", "training-state.safetensors"};
    for (unsigned i = 0; i < 2; i++) {
        char path[160], want[256];
        train_fixture_texts(&f);
        f.options.task = "mlm";
        open_run();
        snprintf(path, sizeof path, "%s/%s", f.first.path, names[i]);
        remove(path);
        ck_assert_int_eq(mkdir(path, 0777), 0);
        snprintf(want, sizeof want, "%s: cannot be removed: Is a directory", path);
        ck_assert_int_eq(try_conclude(), ERR_IO);
        ck_assert_str_eq(err.text, want);
        ck_assert_int_eq(train_fixture_has(&f.first, "model.safetensors"), i == 1);
        ck_assert_int_eq(remove(path), 0);
        close_run();
    }
}
END_TEST

/* ---- the report ---- */

START_TEST(the_report_has_the_curve_and_the_conclusion_its_figures)
{
    static const char *const names[] = {"train_loss", "validation_loss", "macro_f1", "rate"};
    static const double curve[3][4] = {
        {3.5, 2.5, 0.25, 0.125}, {3, 2, 0.5, 0.0625}, {1, 2.25, 0.75, 0.03125}};
    train_fixture_texts(&f);
    judge_by_another_list();
    f.options.target_precision = 0.5f;
    f.options.version = "v8";
    f.options.threads = 2;
    tempdir_write(&f.first, "attnd.json", "{", 1);
    open_run();
    run.history = (struct history){calloc(3, sizeof *run.history.epochs), 3};
    for (unsigned i = 0; i < 3; i++)
        run.history.epochs[i] = (struct history_epoch){.train_loss = curve[i][0],
                                                       .validation_loss = curve[i][1],
                                                       .macro_f1 = curve[i][2],
                                                       .rate = curve[i][3]};
    conclude_run();
    struct json_t *report = output("report.json"), *attnd = output("attnd.json");
    ck_assert_uint_eq(doc_array_count(contract_at(report, "epochs")), 3);
    for (unsigned i = 0; i < 12; i++) {
        char path[48];
        snprintf(path, sizeof path, "epochs.%u.%s", i / 4, names[i % 4]);
        outcome_expect_number(report, path, curve[i / 4][i % 4]);
    }
    ck_assert_str_eq(doc_as_string(contract_at(report, "data")), list);
    ck_assert_str_eq(doc_as_string(contract_at(attnd, "version")), "v8");
    outcome_expect_number(report, "threads", 2);
    outcome_expect_number(report, "inputs", 20);
    outcome_expect_number(report, "accuracy", found.accuracy);
    outcome_expect_number(report, "macro_f1", found.macro_f1);
    outcome_expect_number(report, "ece", found.ece);
    outcome_expect_number(report, "scores.served.temperature", found.temperature);
    outcome_expect_number(report, "risk_coverage.target_precision", 0.5);
    double automatic = outcome_number(report, "decisions.auto");
    outcome_expect_number(report, "decisions.inputs", 20);
    ck_assert_double_eq_tol(found.automatic * 20, automatic, 1e-9);
    outcome_expect_number(report, "decisions.auto_right", found.right * automatic);
    ck_assert(found.judged && automatic > 0 && automatic < 20 && found.right < 1);
    ck_assert(found.macro_f1_before == 0 && found.macro_f1_crossed == 0);
    ck_assert(told.ends == 2 && told.last == 20 && told.total == 20);
    ck_assert(train_fixture_has(&f.first, "report.html"));
    ck_assert(!train_fixture_has(&f.first, "training-state.safetensors"));
    doc_free(report);
    doc_free(attnd);
    close_run();
}
END_TEST

START_TEST(without_another_list_the_reports_data_is_the_one_learnt)
{
    static const struct conclude_progress nobody;
    train_fixture_texts(&f);
    open_run();
    ck_assert_msg(!conclude(&run, &nobody, &found, &err), "%s", err.text);
    struct json_t *report = output("report.json");
    ck_assert_str_eq(doc_as_string(contract_at(report, "data")), f.list);
    outcome_expect_number(report, "inputs", 12);
    ck_assert_uint_eq(doc_array_count(contract_at(report, "epochs")), 0);
    doc_free(report);
    close_run();
}
END_TEST

/* A run that cannot be concluded is not forgotten: the state to go on from stays. */
START_TEST(conclude_keeps_the_state_if_a_file_cannot_be_written)
{
    static const char *const names[] = {"config.json", "model.safetensors", "report.json",
                                        "report.html"};
    for (unsigned i = 0; i < 4; i++) {
        char path[160];
        train_fixture_texts(&f);
        judge_by_another_list();
        open_run();
        snprintf(path, sizeof path, "%s/%s", f.first.path, names[i]);
        ck_assert_int_eq(mkdir(path, 0777), 0);
        ck_assert_int_eq(try_conclude(), ERR_IO);
        ck_assert_msg(strstr(err.text, path) != NULL, "%s", err.text);
        ck_assert(!found.judged && train_fixture_has(&f.first, "training-state.safetensors"));
        ck_assert_int_eq(train_fixture_has(&f.first, "attnd.json"), i > 1);
        ck_assert_int_eq(remove(path), 0);
        close_run();
    }
}
END_TEST

/* ---- how inputs are read ---- */

static void conclude_with(const char *settings, bool grey16, bool accepts)
{
    struct arena arena;
    struct spec spec;
    judge_by_another_list();
    tempdir_write(&f.model, "attnd.json", settings, strlen(settings));
    open_run();
    conclude_run();
    arena_init(&arena);
    ck_assert_msg(!spec_read(&spec, f.first.path, &arena, &err), "%s", err.text);
    ck_assert(spec.grey16_minmax == grey16 && spec.policy.accepts_truncated == accepts);
    ck_assert_str_eq(spec.version, "1");
    ck_assert_int_eq(spec.class_prior.kind, CLASS_PRIOR_NATURAL);
    double fitted = 0;
    for (unsigned c = 0; c < spec.label_count; c++)
        fitted += spec.class_prior.fitted[c];
    ck_assert_double_eq(fitted, 20);
    arena_deinit(&arena);
    close_run();
}

START_TEST(conclude_keeps_only_settings_of_reading)
{
    train_fixture_texts(&f);
    conclude_with("{\"version\": \"7\", \"grey16\": \"minmax\", \"truncation\": \"accept\"}", true,
                  true);
    train_fixture_texts(&f);
    conclude_with("{\"version\": \"7\", \"temperature\": 3, \"dtype\": \"int8\"}", false, false);
}
END_TEST

START_TEST(an_option_says_what_becomes_of_truncated_texts)
{
    train_fixture_texts(&f);
    f.options.truncation = "accept";
    conclude_with("{}", false, true);
    train_fixture_texts(&f);
    f.options.truncation = "review";
    conclude_with("{\"truncation\": \"accept\"}", false, false);
}
END_TEST

/* The model is judged at the end as it will be served. */
START_TEST(views_and_reduction_are_written_kept_and_judged_with)
{
    struct arena arena;
    struct spec spec;
    arena_init(&arena);
    for (unsigned asked = 0; asked < 2; asked++) {
        static const char source[] = "{\"views\": 4, \"reduction\": \"lines\"}";
        train_fixture_images(&f, "right");
        f.options.views = asked ? 8 : 0;
        f.options.reduction = asked ? "filter" : "keep";
        tempdir_write(&f.model, "attnd.json", source, sizeof source - 1);
        open_run();
        conclude_run();
        ck_assert_msg(!spec_read(&spec, f.first.path, &arena, &err), "%s", err.text);
        ck_assert_uint_eq(spec.image_reading.views, asked ? 8 : 4);
        ck_assert_int_eq(spec.image_reading.reduction, asked ? REDUCTION_FILTER : REDUCTION_LINES);
        ck_assert_int_eq(run.spec.image_reading.reduction, spec.image_reading.reduction);
        close_run();
    }
    arena_deinit(&arena);
}
END_TEST

START_TEST(views_that_a_model_cannot_have_are_refused_before_it_learns)
{
    static const struct corpus_progress nobody;
    train_fixture_texts(&f);
    f.options.views = 4;
    err = (struct err){0};
    ck_assert_int_eq(run_open(&run, &f.options, &nobody, &err), ERR_UNSUPPORTED);
    ck_assert_str_eq(err.text, "views and reduction are for images, not for 'bert'");
    run_close(&run);
    train_fixture_close(&f);
}
END_TEST

/* ---- OOD score ---- */

/* 240 texts to learn. */
static void learn_enough_for_a_distance(void)
{
    static char text[240 * 48];
    static char path[160];
    strcpy(text, "text,label\n");
    for (unsigned i = 0; i < 240; i++)
        snprintf(text + strlen(text), 48, "%s %s %s,%s\n", i % 2 ? "red" : "blue",
                 i % 3 ? "green" : "grey", i % 7 ? "red" : "grey blue", i % 2 ? "hot" : "cold");
    tempdir_write(&f.data, "learn.csv", text, strlen(text));
    snprintf(path, sizeof path, "%s/learn.csv", f.data.path);
    f.options.data = path;
}

static struct spec written(struct arena *arena)
{
    struct spec spec;
    arena_init(arena);
    ck_assert_msg(!spec_read(&spec, f.first.path, arena, &err), "%s", err.text);
    return spec;
}

START_TEST(strangeness_is_the_one_that_was_asked_for)
{
    static const char *const names[] = {"none", "energy", "mahalanobis", "relative", "neighbours"};
    static const enum ood_method methods[] = {OOD_NONE, OOD_ENERGY, OOD_MAHALANOBIS, OOD_RELATIVE,
                                              OOD_NEIGHBOURS};
    for (unsigned i = 0; i < 5; i++) {
        struct arena arena;
        train_fixture_texts(&f);
        judge_by_another_list();
        learn_enough_for_a_distance();
        f.options.ood_method = names[i];
        open_run();
        conclude_run();
        struct spec spec = written(&arena);
        if (methods[i] != OOD_NONE)
            ck_assert_int_eq(spec.policy.ood.method, methods[i]);
        ck_assert_int_eq(spec.policy.ood.has_threshold, methods[i] != OOD_NONE);
        ck_assert_int_eq(train_fixture_has(&f.first, HEAD_FILE_NAME), methods[i] == OOD_NEIGHBOURS);
        arena_deinit(&arena);
        close_run();
    }
}
END_TEST

/* Every second one of 20002 inputs is looked at. These are "red" or "blue", the others "grey". */
START_TEST(conclude_fits_ood_on_every_second_input_of_many)
{
    enum { COUNT = 20007 };
    static const char *const words[4] = {"blue", "red", "blue green", "red grey"};
    char *text = malloc(COUNT * 20 + 20), path[160];
    struct arena arena;
    size_t len = (size_t)sprintf(text, "text,label\n");
    train_fixture_texts(&f);
    judge_by_another_list();
    for (unsigned i = 0; i < COUNT; i++)
        len += (size_t)sprintf(text + len, "%s,%s\n", i % 2 ? "grey" : words[i / 2 % 4],
                               i / 2 % 2 ? "hot" : "cold");
    tempdir_write(&f.data, "many.csv", text, len);
    snprintf(path, sizeof path, "%s/many.csv", f.data.path);
    f.options.data = path;
    f.options.ood_method = "mahalanobis";
    open_run();
    conclude_run();
    struct spec spec = written(&arena);
    ck_assert_int_eq(spec.policy.ood.method, OOD_MAHALANOBIS);
    static const size_t items[] = {0, 2, 4, 6}; /* 2501 of each */
    struct data_loader_order order = {.view = &run.plan.judging};
    ck_assert(!data_loader_prepare(&run.loader, network_pool(run.learner.network), items, 4, &order,
                                   &err));
    struct network_batch batch = {.inputs = run.loader.listed, .rows = 4};
    network_repack(run.learner.network, run.learner.best);
    network_forward(run.learner.network, &batch);
    const float *features = run.learner.network->head.features.x;
    for (unsigned d = 0; d < 16; d++)
        ck_assert_double_eq_tol(
            spec.policy.ood.mean[d],
            (features[d] + features[16 + d] + features[32 + d] + features[48 + d]) / 4, 1e-5);
    arena_deinit(&arena);
    free(text);
    close_run();
}
END_TEST

/* ---- class biases ---- */

/* The shifts that logit_adjustment.h finds for the weights that are best now, and the temperature
 * with them.
 */
static struct logit_adjustment fit(float shifts[2], double *temperature)
{
    struct export what = {.parameters = &run.learner.parameters,
                          .values = run.learner.best,
                          .dtype = DTYPE_F32,
                          .source_dir = f.model.path};
    struct engine_model *model;
    struct evaluation evaluation;
    struct evaluation_options how = {.threads = 1};
    struct dataset view;
    struct logit_adjustment biases;
    ck_assert(!export_checkpoint(f.second.path, &what, &err));
    ck_assert(!engine_open(&model, f.second.path, &(struct engine_options){0}, &err));
    ck_assert(!corpus_view(&run.corpus, &run.corpus.validation, &view, &err));
    ck_assert(!evaluation_run(&evaluation, model, &view, &how, &err));
    struct calibration_set set = {.logits = evaluation.logits,
                                  .classes = run.corpus.validation.classes,
                                  .count = evaluation.count,
                                  .label_count = 2};
    ck_assert(!logit_adjustment_fit(&biases, &set, shifts, &err));
    for (size_t i = 0; i < 2 * evaluation.count; i++)
        evaluation.logits[i] += shifts[i % 2];
    double bound;
    *temperature = calibration_temperature_within(&set, 1, &bound);
    evaluation_close(&evaluation);
    engine_close(model);
    return biases;
}

static void expect_folded(void)
{
    const struct parameters_map *map = &run.learner.parameters.map;
    struct arena arena;
    float shifts[2], was[4];
    double temperature;
    struct logit_adjustment biases = fit(shifts, &temperature);
    for (unsigned k = 0; k < 2; k++) {
        was[k] = run.learner.best[map->classifier_bias + k];
        was[2 + k] =
            map->distillation_bias != SIZE_MAX ? run.learner.best[map->distillation_bias + k] : 0;
    }
    ck_assert_float_ne(shifts[0], 0);
    conclude_run();
    for (unsigned k = 0; k < 2; k++) {
        ck_assert_float_eq(run.learner.best[map->classifier_bias + k], was[k] + shifts[k]);
        if (map->distillation_bias != SIZE_MAX)
            ck_assert_float_eq(run.learner.best[map->distillation_bias + k],
                               was[2 + k] + shifts[k]);
    }
    ck_assert_double_eq(found.macro_f1_before, biases.before);
    ck_assert_double_eq(found.macro_f1_crossed, biases.crossed);
    ck_assert_double_eq_tol(found.macro_f1, biases.after, 1e-12);
    struct spec spec = written(&arena);
    ck_assert_double_eq_tol(spec.temperature, temperature, 1e-3 * temperature);
    arena_deinit(&arena);
}

START_TEST(class_biases_are_folded_into_the_classifiers)
{
    static const char distilled[] =
        "{\"model_type\":\"deit\",\"architectures\":[\"DeiTForImageClassificationWithTeacher\"],"
        "\"hidden_size\":24,\"num_hidden_layers\":2,\"num_attention_heads\":2,"
        "\"intermediate_size\":32,\"image_size\":16,\"patch_size\":4}";
    train_fixture_texts(&f);
    judge_by_another_list();
    f.options.class_biases = "fit";
    open_run();
    run.learner.best[run.learner.parameters.map.classifier_bias] += 1;
    expect_folded();
    close_run();
    train_fixture_images(&f, "right");
    tempdir_write(&f.model, "config.json", distilled, strlen(distilled));
    f.options.class_biases = "fit";
    f.options.validation = f.list;
    open_run();
    run.learner.best[run.learner.parameters.map.classifier_bias] += 1;
    expect_folded();
    close_run();
}
END_TEST

START_TEST(a_table_of_ngrams_is_part_of_what_is_judged_and_written)
{
    for (unsigned has_table = 0; has_table < 2; has_table++) {
        struct engine_model *model;
        train_fixture_texts(&f);
        judge_by_another_list();
        f.options.ngrams = has_table > 0 ? 100 : 0;
        f.options.ngram_weight = 3;
        open_run();
        conclude_run();
        ck_assert_double_eq(found.ngrams.weight, has_table > 0 ? 3 : 0);
        ck_assert(!engine_open(&model, f.first.path, &(struct engine_options){0}, &err));
        ck_assert_uint_eq(engine_describe(model)->ngram_rows, has_table > 0 ? NGRAM_ROWS_USUAL : 0);
        engine_close(model);
        if (has_table > 0)
            ck_assert_double_ge(found.accuracy, 0.8); /* weights of no step guess at best half */
        close_run();
    }
}
END_TEST

SUITE("conclude", the_weights_are_those_that_are_best, masked_words_leave_only_the_checkpoint,
      after_masked_words_attnd_json_has_the_version_asked_for_and_how_inputs_are_read,
      conclude_names_the_file_that_cannot_be_removed,
      the_report_has_the_curve_and_the_conclusion_its_figures,
      without_another_list_the_reports_data_is_the_one_learnt,
      conclude_keeps_the_state_if_a_file_cannot_be_written, conclude_keeps_only_settings_of_reading,
      an_option_says_what_becomes_of_truncated_texts,
      views_and_reduction_are_written_kept_and_judged_with,
      views_that_a_model_cannot_have_are_refused_before_it_learns,
      strangeness_is_the_one_that_was_asked_for, conclude_fits_ood_on_every_second_input_of_many,
      class_biases_are_folded_into_the_classifiers,
      a_table_of_ngrams_is_part_of_what_is_judged_and_written)
