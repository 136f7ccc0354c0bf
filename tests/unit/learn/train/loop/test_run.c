/* run.h: the contents of a run after run_open, from each option to its place; its beginning, and
 * going on from where it was saved. No step is made here. */
#include "engine/base/cpu.h"
#include "learn/train/checkpoint/export.h"
#include "learn/train/loop/run.h"
#include "learn/train/network/structured.h"
#include "tests/support/suite.h"
#include "tests/unit/learn/train/loop/run_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char path[256];

static void take_list(const char *name, const char *text)
{
    tempdir_write(&f.data, name, text, strlen(text));
    snprintf(f.list, sizeof f.list, "%s/%s", f.data.path, name);
    f.options.validation = f.list;
}

START_TEST(each_option_reaches_its_place)
{
    struct train_options *o = &f.options;
    train_fixture_texts(&f);
    tempdir_write(&f.model, "attnd.json", "{\"temperature\": 2}", 18);
    o->threads = 2;
    o->seed = 77;
    o->batch = 5;
    o->micro_tokens = 300;
    o->dropout = 0.125f;
    o->attention_dropout = 0.25f;
    o->entropy = 0.375f;
    o->sparsity = 0.5f;
    o->beta1 = 0.75f;
    o->beta2 = 0.875f;
    o->weight_decay = 0.0625f;
    o->layer_decay = 0.625f;
    o->clip = 3;
    o->average = 0.5f;
    o->label_smoothing = 0.15f;
    o->teacher_share = 0.35f;
    o->teacher_temperature = 5;
    o->balance = 0.45f;
    open_run();
    const struct learner_setup *setup = &run.learner.setup;
    const struct network_options *network = &setup->network;
    const struct optimizer_options *optimizer = &setup->optimizer;
    ck_assert(run.threads == 2 && network->threads == 2 && network->tokens_max == 300);
    ck_assert(network->precision == PRECISION_F32 && network->frozen_depth == 0);
    ck_assert(network->hidden_dropout == 0.125f && network->attention_dropout == 0.25f);
    ck_assert(network->entropy == 0.375f && network->sparsity == 0.5f);
    ck_assert(optimizer->beta1 == 0.75f && optimizer->beta2 == 0.875f && optimizer->eps == 1e-8f);
    ck_assert(optimizer->weight_decay == 0.0625f && optimizer->layer_decay == 0.625f);
    ck_assert(optimizer->clip == 3 && optimizer->average_decay == 0.5f);
    ck_assert(setup->seed == 77 && !setup->structured && setup->head == HEAD_CLASSIFIER);
    ck_assert(setup->spec.label_count == 2 && setup->spec.temperature == 1);
    ck_assert_str_eq(setup->spec.labels[0], "cold");
    ck_assert(run.loss.scores == SCORES_SOFTMAX && setup->spec.scores == SCORES_SOFTMAX);
    ck_assert(run.loss.labels == 2 && run.loss.smoothing == 0.15f && run.loss.weights == NULL);
    ck_assert(run.loss.teacher_share == 0.35f && run.loss.teacher_temperature == 5);
    const struct sampler_options *sampler = &run.sampler.options;
    ck_assert(sampler->count == 108 && sampler->class_count == 2 && sampler->seed == 77);
    ck_assert(sampler->balance == 0.45f);
    for (size_t i = 0; i < sampler->count; i++)
        ck_assert(sampler->items[i] == i && sampler->classes[i] == run.corpus.train.classes[i]);
    ck_assert(run.loader.rows_max == 5 && run.plan.batch == 5);
    ck_assert_ptr_eq(run.loader.samples, run.corpus.parts[0].samples);
    ck_assert(run.at.step == 0 && !run.resumed && run.task != TRAIN_MLM &&
              run.teachers.model_count == 0);
    run_close(&run);
    o->threads = 0;
    o->multi_label = true;
    o->balance = 0;
    open_run();
    ck_assert_uint_eq(run.threads, cpu_quota_threads(""));
    ck_assert(run.loss.scores == SCORES_SIGMOID && run.spec.scores == SCORES_SIGMOID);
    run_close(&run);
    train_fixture_close(&f);
}
END_TEST

/* One "a" and four "b": count^-1/2 is 1 and 1/2, and the five losses weigh 5 together. */
START_TEST(class_weights_are_one_in_the_mean)
{
    train_fixture_texts(&f);
    take_list("few.csv", "text,label\nred,b\nred,b\nblue,a\nred,b\nred,b\n");
    f.options.data = f.list;
    f.options.class_weight = 0.5f;
    open_run();
    ck_assert_float_eq_tol(run.loss.weights[0], 5 / 3.0f, 1e-6f);
    ck_assert_float_eq_tol(run.loss.weights[1], 5 / 6.0f, 1e-6f);
    run_close(&run);
    f.options.class_weight = 1;
    open_run();
    ck_assert_float_eq_tol(run.loss.weights[0], 2.5f, 1e-6f);
    ck_assert_float_eq_tol(run.loss.weights[1], 0.625f, 1e-6f);
    run_close(&run);
    take_list("few.csv", "text,label\nred,b|a\nred,b\nred,b\nred,b\n");
    f.options.multi_label = true;
    open_run(); /* labels are counted, not inputs */
    ck_assert_float_eq_tol(run.loss.weights[0], 2.5f, 1e-6f);
    ck_assert_float_eq_tol(run.loss.weights[1], 0.625f, 1e-6f);
    run_close(&run);
    f.options.multi_label = false;
    f.options.task = "mlm";
    open_run();
    ck_assert(run.loss.weights == NULL);
    run_close(&run);
    train_fixture_close(&f);
}
END_TEST

START_TEST(an_embedding_models_encoder_learns_labels)
{
    train_fixture_texts(&f);
    f.options.model = "tests/data/embedding/st-bert-0";
    open_run();
    ck_assert(run.spec.head == HEAD_CLASSIFIER && run.spec.sentence == NULL);
    ck_assert(run.spec.scores == SCORES_SOFTMAX && !run.had_number);
    ck_assert(run.spec.policy.scores == SCORES_SOFTMAX && run.spec.policy.ood.method == OOD_ENERGY);
    run_close(&run);
    train_fixture_close(&f);
}
END_TEST

START_TEST(masked_words_have_no_labels_and_no_classes)
{
    train_fixture_texts(&f);
    f.options.task = "mlm";
    f.options.balance = 0.5f;
    open_run();
    ck_assert(run.task == TRAIN_MLM && run.learner.setup.head == HEAD_MLM);
    ck_assert(run.sampler.options.classes == NULL && run.corpus.labels.count == 0);
    ck_assert_uint_eq(run.spec.label_count, 2); /* the source's: nothing of them is learnt */
    ck_assert_uint_eq(run.threads, 1);
    run_close(&run);
    train_fixture_close(&f);
    train_fixture_images(&f, "right");
    f.options.task = "mlm";
    expect_refused(ERR_UNSUPPORTED, " is 'vit'",
                   (snprintf(path, sizeof path, "--task mlm learns BERT; %s", f.model.path), path));
    train_fixture_close(&f);
}
END_TEST

/* The longest of both parts has seven words: nine tokens. */
START_TEST(a_micro_batch_has_room_for_the_longest_input)
{
    train_fixture_texts(&f);
    take_list("long.csv", "text,label\nred red red red red red red,hot\nred,cold\n");
    f.options.micro_tokens = 8;
    char data[128];
    snprintf(data, sizeof data, "%s/list.jsonl", f.data.path);
    f.options.data = data;
    open_run();
    ck_assert_uint_eq(run.learner.setup.network.tokens_max, 9);
    run_close(&run);
    f.options.micro_tokens = 9;
    f.options.tokens = 5; /* texts are cut: nine is what was asked for */
    open_run();
    ck_assert_uint_eq(run.learner.setup.network.tokens_max, 9);
    run_close(&run);
    f.options.validation = NULL;
    f.options.tokens = 0;
    f.options.micro_tokens = 1;
    open_run();
    ck_assert_uint_eq(run.learner.setup.network.tokens_max, 6);
    run_close(&run);
    train_fixture_close(&f);
    train_fixture_images(&f, "right"); /* 1 + 3 x 3, 1 + 6 x 6, 1 + 4 x 4 tokens */
    f.options.micro_tokens = 1;
    f.options.stages = (struct train_stages){{{12, 1}, {24, 1}, {16, 1}}, 3};
    open_run();
    ck_assert_uint_eq(run.learner.setup.network.tokens_max, 37);
    ck_assert_uint_eq(run.learner.setup.spec.image_size.width, 12);
    run_close(&run);
    train_fixture_close(&f);
}
END_TEST

START_TEST(the_precision_is_the_one_that_was_asked_for)
{
    train_fixture_texts(&f);
    f.options.precision = "bf16";
    open_run();
    ck_assert_int_eq(run.learner.setup.network.precision, PRECISION_BF16);
    run_close(&run);
    f.options.precision = "auto"; /* the choice is this machine's */
    open_run();
    ck_assert(run.learner.setup.network.precision == PRECISION_BF16 ||
              run.learner.setup.network.precision == PRECISION_F32);
    run_close(&run);
    train_fixture_close(&f);
}
END_TEST

/* The options as they are printed, then name and label of each input of both parts. */
START_TEST(a_fingerprint_is_of_options_names_and_labels)
{
    char *text, expected[SHA256_HEX_BYTES];
    size_t len;
    train_fixture_texts(&f);
    take_list("own.csv", "text,label\nred,hot\nblue,cold\n");
    f.options.data = f.list;
    open_run();
    FILE *file = open_memstream(&text, &len);
    train_options_print(&f.options, file);
    for (unsigned i = 0; i < 2; i++)
        fputs("line 2\nhot\nline 3\ncold\n", file);
    fclose(file);
    sha256_hex(text, len, expected);
    ck_assert_str_eq(run.fingerprint, expected);
    free(text);
    run_close(&run);
    train_fixture_close(&f);
}
END_TEST

/* ---- the beginning ---- */

/* Writes the model of the run's beginning into f.second, its first number set to `mark`. */
static void export_source(float mark)
{
    struct export what = {.parameters = &run.learner.parameters,
                          .values = run.learner.parameters.values,
                          .dtype = DTYPE_F32,
                          .source_dir = f.model.path};
    run.learner.parameters.values[run.learner.parameters.map.word] = mark;
    ck_assert_msg(!export_checkpoint(f.second.path, &what, &err), "%s", err.text);
}

static float first_number(void)
{
    return run.learner.parameters.values[run.learner.parameters.map.word];
}

START_TEST(weights_are_the_sources_unless_none_are_wanted)
{
    train_fixture_texts(&f);
    open_run();
    float random = first_number();
    ck_assert_uint_eq(run.learner.loaded.found, 0);
    export_source(3.5f);
    run_close(&run);
    f.options.model = f.second.path;
    open_run();
    ck_assert_float_eq(first_number(), 3.5f);
    ck_assert_float_eq(run.learner.best[run.learner.parameters.map.word], 3.5f);
    ck_assert(run.learner.loaded.found == run.learner.parameters.count &&
              run.learner.loaded.missing == 0);
    run_close(&run);
    f.options.from_scratch = true;
    open_run();
    ck_assert_float_eq(first_number(), random);
    run_close(&run);
    train_fixture_close(&f);
}
END_TEST

START_TEST(run_errors_begin_with_the_path_of_the_source)
{
    train_fixture_texts(&f);
    tempdir_write(&f.model, "model.safetensors", "no", 2);
    snprintf(path, sizeof path, "%s: ", f.model.path);
    expect_refused(ERR_UNSUPPORTED, "", path);
    tempdir_write(&f.model, "config.json", "{", 1);
    expect_refused(ERR_UNSUPPORTED, "config.json: ", path);
    train_fixture_close(&f);
    train_fixture_texts(&f); /* an index counts as weights: it is opened, and names what lacks */
    tempdir_write(&f.model, "model.safetensors.index.json", "{}", 2);
    snprintf(path, sizeof path, "%s: ", f.model.path);
    ck_assert_int_ne(try_open(), ERR_OK);
    ck_assert_int_eq(strncmp(err.text, path, strlen(path)), 0);
    run_close(&run);
    train_fixture_close(&f);
    train_fixture_texts(&f); /* weights of another shape */
    open_run();
    export_source(0);
    run_close(&run);
    static const char wider[] =
        "{\"model_type\":\"bert\",\"hidden_size\":24,\"num_hidden_layers\":2,"
        "\"num_attention_heads\":2,\"intermediate_size\":32,"
        "\"vocab_size\":9,\"max_position_embeddings\":16}";
    tempdir_write(&f.second, "config.json", wider, strlen(wider));
    f.options.model = f.second.path;
    snprintf(path, sizeof path, "%s: tensor ", f.second.path);
    expect_refused(ERR_UNSUPPORTED, "'bert.embeddings.word_embeddings.weight' has shape [9, 16]",
                   path);
    train_fixture_close(&f);
}
END_TEST

/* Weights of a regression are a start for masked words, which have no labels. */
START_TEST(run_refuses_to_learn_labels_on_a_regression)
{
    static const char regression[] =
        "{\"model_type\":\"bert\",\"hidden_size\":16,\"num_hidden_layers\":2,"
        "\"num_attention_heads\":2,\"intermediate_size\":32,\"vocab_size\":9,"
        "\"max_position_embeddings\":16,\"num_labels\":1,\"problem_type\":\"regression\"}";
    train_fixture_texts(&f);
    tempdir_write(&f.model, "config.json", regression, strlen(regression));
    snprintf(path, sizeof path, "%s: config.json has problem_type", f.model.path);
    expect_refused(ERR_UNSUPPORTED, " 'regression': --task regress learns numbers", path);
    f.options.task = "mlm";
    open_run();
    run_close(&run);
    train_fixture_close(&f);
}
END_TEST

static void write_image_config(unsigned hidden)
{
    char config[320];
    snprintf(config, sizeof config,
             "{\"model_type\":\"vit\",\"hidden_size\":%u,\"num_hidden_layers\":2,"
             "\"num_attention_heads\":2,\"intermediate_size\":32,\"image_size\":16,"
             "\"patch_size\":4,\"num_channels\":3}",
             hidden);
    tempdir_write(&f.model, "config.json", config, strlen(config));
}

/* The beginning is fitted to inputs from all over the data: eight of 44, namely 0, 5, 11, ... */
START_TEST(a_structured_beginning_is_for_images_whose_heads_have_quarters)
{
    static const char refusal[] =
        "--init structured is for images and heads that are a multiple of 4 wide";
    train_fixture_texts(&f);
    f.options.init = "structured";
    expect_refused(ERR_UNUSABLE, refusal, "");
    train_fixture_close(&f);
    train_fixture_images(&f, "right");
    f.options.init = "structured";
    write_image_config(20);
    expect_refused(ERR_UNUSABLE, refusal, "");
    write_image_config(24);
    open_run();
    ck_assert(run.learner.setup.structured && run.plan.judging.image_size.width == 16);
    for (size_t i = 0; i < 8; i++)
        ck_assert_uint_eq(run.items[i], run.corpus.train.item[i * run.corpus.train.count / 8]);
    ck_assert_mem_eq(run.learner.best, run.learner.parameters.values,
                     run.learner.parameters.numbers * sizeof(float));
    struct parameters unfitted; /* the parameters without inputs */
    size_t query = run.learner.parameters.map.layers[1].qkv_weight;
    ck_assert(!parameters_open(&unfitted, &run.learner.setup.spec, HEAD_CLASSIFIER, &err));
    structured_init(&unfitted, f.options.seed);
    ck_assert_float_eq(unfitted.values[unfitted.map.patch_weight],
                       run.learner.parameters.values[unfitted.map.patch_weight]);
    ck_assert_float_ne(unfitted.values[query], run.learner.parameters.values[query]);
    parameters_close(&unfitted);
    float gained = run.learner.parameters.values[run.learner.parameters.map.layers[0].qkv_weight];
    export_source(0); /* with weights there is nothing to begin */
    run_close(&run);
    f.options.model = f.second.path;
    open_run();
    ck_assert_float_eq(
        run.learner.parameters.values[run.learner.parameters.map.layers[0].qkv_weight], gained);
    ck_assert_uint_eq(run.plan.judging.image_size.width, 0);
    run_close(&run);
    train_fixture_close(&f);
}
END_TEST

START_TEST(a_teacher_is_opened_with_the_runs_own_view)
{
    train_fixture_texts(&f);
    open_run();
    export_source(1);
    run_close(&run);
    f.options.teacher = (struct train_paths){{f.second.path}, 1};
    f.options.tokens = 7;
    f.options.batch = 3;
    open_run();
    ck_assert(run.teachers.model_count == 1 && run.teachers.list_count == 0);
    const struct teacher *teacher = &run.teachers.models[0];
    ck_assert(teacher->model != NULL && teacher->view.tokens_max == 7);
    ck_assert(teacher->loader.rows_max == 3 && teacher->labels == 2);
    run_close(&run);
    f.options.teacher.path[0] = "/no/where";
    expect_refused(ERR_IO, "teacher /no/where: ", "");
    f.options.stages = (struct train_stages){{{16, 1}}, 1};
    expect_refused(ERR_UNUSABLE, "--stages is for images; the model reads texts", "");
    train_fixture_close(&f);
}
END_TEST

SUITE("run", each_option_reaches_its_place, class_weights_are_one_in_the_mean,
      run_refuses_to_learn_labels_on_a_regression, an_embedding_models_encoder_learns_labels,
      masked_words_have_no_labels_and_no_classes, a_micro_batch_has_room_for_the_longest_input,
      the_precision_is_the_one_that_was_asked_for, a_fingerprint_is_of_options_names_and_labels,
      weights_are_the_sources_unless_none_are_wanted, run_errors_begin_with_the_path_of_the_source,
      a_structured_beginning_is_for_images_whose_heads_have_quarters,
      a_teacher_is_opened_with_the_runs_own_view)
