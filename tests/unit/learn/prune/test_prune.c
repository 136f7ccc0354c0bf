/* prune.h: whole runs from a tiny trained model to a smaller one that is served, stopped and taken
 * up again, and what is refused. */
#include "learn/prune/prune.h"

#include "engine/engine.h"
#include "engine/model/head_parts.h"
#include "engine/model/spec.h"
#include "tests/support/suite.h"
#include "tests/support/train_fixture.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A model that was trained into f.first, and how it is to be pruned into `out`. */
struct pruned {
    struct train_fixture f;
    struct prune_options options;
    struct tempdir out;
    atomic_bool stop;
    unsigned phase_calls, learning_calls;           /* of progress */
    unsigned stop_after_phase, stop_after_learning; /* so many; 0: never */
    struct prune_result result;
    struct err err;
};

/* characters: that a table of n-grams beside the encoder reads; 0: there is none. */
static void open_with(struct pruned *p, bool is_text, unsigned characters)
{
    *p = (struct pruned){0};
    if (is_text)
        train_fixture_texts(&p->f);
    else
        train_fixture_images(&p->f, "right");
    p->f.options.epochs = is_text ? 6 : 12;
    p->f.options.ngrams = characters;
    p->f.options.ngram_lines = characters > 0 ? 2 : 0;
    p->f.options.ngram_words = "red|FAIL";
    train_fixture_learn(&p->f);
    tempdir_open(&p->out);
    prune_options_default(&p->options);
    p->options.train.model = p->f.first.path;
    p->options.train.data = p->f.list;
    p->options.train.out = p->out.path;
    p->options.train.batch = 8;
    p->options.train.rate = 1e-3f;
    p->options.train.threads = 1;
    p->options.train.precision = "f32";
    p->options.train.store = "f32";
    p->options.heads = 0.25;
    p->options.mlp = 0.5;
}

static void pruned_open(struct pruned *p, bool is_text)
{
    open_with(p, is_text, 0);
}

/* The models before their fine-tuning. */
static void remove_cuts(const char *path)
{
    DIR *dir = opendir(path);
    ck_assert_ptr_nonnull(dir);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        struct tempdir cut;
        if (strncmp(entry->d_name, "cut-", 4) != 0)
            continue;
        ck_assert_int_lt(snprintf(cut.path, sizeof cut.path, "%s/%s", path, entry->d_name),
                         (int)sizeof cut.path);
        tempdir_close(&cut);
    }
    closedir(dir);
}

static void close_out(struct tempdir *out)
{
    remove_cuts(out->path);
    tempdir_close(out);
}

static void pruned_close(struct pruned *p)
{
    close_out(&p->out);
    train_fixture_close(&p->f);
}

static void watch_phase(void *context, enum prune_phase phase, size_t done, size_t total)
{
    struct pruned *p = context;
    (void)phase;
    ck_assert_uint_le(done, total);
    if (++p->phase_calls == p->stop_after_phase)
        atomic_store(&p->stop, true);
}

static void watch_learning(void *context, const struct trainer_progress *progress)
{
    struct pruned *p = context;
    if (progress->phase == TRAINER_LEARNING && ++p->learning_calls == p->stop_after_learning)
        atomic_store(&p->stop, true);
}

static enum err_code run(struct pruned *p)
{
    const struct prune_hooks hooks = {
        .progress = watch_phase,
        .context = p,
        .trainer = {.progress = watch_learning, .context = p, .stop = &p->stop}};
    p->err = (struct err){0};
    if (prune_options_check(&p->options, &p->err) == ERR_OK)
        prune_run(&p->options, &hooks, &p->result, &p->err);
    return p->err.code;
}

static void ck_run(struct pruned *p)
{
    ck_assert_msg(run(p) == ERR_OK, "%s", p->err.text);
}

/* The error, with nothing computed. */
static void ck_refused(struct pruned *p, enum err_code code, const char *words)
{
    ck_assert_msg(run(p) == code, "%d: %s", (int)p->err.code, p->err.text);
    ck_assert_msg(strstr(p->err.text, words) != NULL, "'%s' does not say '%s'", p->err.text, words);
    ck_assert(!train_fixture_has(&p->out, "model.safetensors"));
    prune_result_free(&p->result);
}

static const struct engine_info *open_model(struct engine_model **model, const char *dir)
{
    struct err err = {0};
    ck_assert_msg(engine_open(model, dir, &(struct engine_options){0}, &err) == ERR_OK, "%s",
                  err.text);
    return engine_describe(*model);
}

static char *read_config(const struct tempdir *dir)
{
    static char text[8192];
    char path[128];
    snprintf(path, sizeof path, "%s/config.json", dir->path);
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

START_TEST(a_text_model_is_smaller_and_as_good)
{
    struct pruned p;
    struct engine_model *model;
    pruned_open(&p, true);
    ck_run(&p);
    const struct prune_result *result = &p.result;
    ck_assert_uint_eq(result->heads, 4);
    ck_assert_uint_eq(result->heads_gone, 1);
    ck_assert_uint_eq(result->columns, 32);
    ck_assert_uint_eq(result->columns_gone, 16);
    ck_assert_uint_eq(result->inputs, 108); /* nine in ten of 120 */
    ck_assert_double_eq(result->before.accuracy, 1);
    ck_assert_double_ge(result->tuned.accuracy, 0.9);
    ck_assert_double_le(result->tuned.accuracy_interval.low, result->tuned.accuracy);
    /* A head of 8: 3 x (8 x 16 + 8) + 16 x 8; a column: 16 + 1 + 16, in both layers. */
    const size_t gone = 3 * (8 * 16 + 8) + 16 * 8 + 2 * 16 * 33;
    ck_assert_uint_eq(result->before.parameters - result->cut.parameters, gone);
    ck_assert_uint_eq(result->tuned.parameters, result->cut.parameters);
    ck_assert(result->tuned.ms > 0);
    const struct engine_info *info = open_model(&model, p.out.path);
    ck_assert_uint_eq(info->parameters, result->tuned.parameters);
    ck_assert_uint_eq(info->intermediate_size, 16);
    ck_assert_str_eq(info->version, "2");
    engine_close(model);
    ck_assert_ptr_nonnull(strstr(read_config(&p.out), "\"pruned_heads\""));
    prune_result_free(&p.result);
    pruned_close(&p);
}
END_TEST

START_TEST(a_table_of_ngrams_is_fitted_again_of_what_it_read)
{
    struct pruned p;
    struct spec spec;
    struct head_parts parts;
    struct arena arena;
    open_with(&p, true, 40);
    arena_init(&arena);
    ck_run(&p);
    ck_assert(!spec_read(&spec, p.out.path, &arena, &p.err));
    ck_assert_msg(!head_parts_open(&spec, p.out.path, &parts, &arena, &p.err), "%s", p.err.text);
    ck_assert_ptr_nonnull(parts.ngrams.halves);
    ck_assert_uint_eq(parts.ngrams.reading.characters, 40);
    ck_assert_uint_eq(parts.ngrams.reading.key_lines, 2);
    ck_assert_uint_eq(parts.ngrams.reading.key_word_count, 2);
    ck_assert_str_eq(parts.ngrams.reading.key_words[1], "FAIL");
    arena_deinit(&arena);
    prune_result_free(&p.result);
    pruned_close(&p);
}
END_TEST

START_TEST(an_image_model_is_smaller_and_as_good)
{
    struct pruned p;
    pruned_open(&p, false);
    p.options.heads = 0;
    p.options.train.mirror = false;
    ck_run(&p);
    ck_assert_uint_eq(p.result.heads_gone, 0);
    ck_assert_uint_eq(p.result.columns_gone, 16);
    ck_assert_ptr_null(strstr(read_config(&p.out), "pruned_heads"));
    ck_assert_double_ge(p.result.tuned.accuracy + 0.3, p.result.before.accuracy);
    prune_result_free(&p.result);
    pruned_close(&p);
}
END_TEST

/* The second time the numbers of heads are those of the model as it was made. */
START_TEST(a_pruned_model_is_pruned_again)
{
    struct pruned p;
    struct tempdir again;
    pruned_open(&p, true);
    ck_run(&p);
    prune_result_free(&p.result);
    tempdir_open(&again);
    p.options.train.model = p.out.path;
    p.options.train.out = again.path;
    p.options.heads = 0.34;
    p.options.mlp = 0;
    ck_run(&p);
    ck_assert_uint_eq(p.result.heads, 3);
    ck_assert_uint_eq(p.result.heads_gone, 1);
    ck_assert_uint_eq(p.result.columns, 16);
    const char *config = read_config(&again);
    ck_assert_ptr_nonnull(strstr(config, "\"0\": ["));
    ck_assert_ptr_nonnull(strstr(config, "\"1\": ["));
    prune_result_free(&p.result);
    p.options.train.out = p.f.second.path;
    p.options.train.model = again.path;
    ck_assert_int_eq(run(&p), ERR_UNUSABLE);
    ck_assert_ptr_nonnull(strstr(p.err.text, "1 of 2 heads cannot go"));
    close_out(&again);
    pruned_close(&p);
}
END_TEST

START_TEST(a_run_that_was_stopped_ends_with_the_same_weights)
{
    struct pruned p;
    struct tempdir whole;
    unsigned stops = 0;
    pruned_open(&p, true);
    tempdir_open(&whole);
    p.options.train.out = whole.path;
    ck_run(&p);
    prune_result_free(&p.result);
    p.options.train.out = p.out.path;
    /* The stop comes while importance is measured, and then during the fine-tuning. */
    for (;; stops++) {
        p.phase_calls = p.learning_calls = 0;
        p.stop_after_phase = stops == 0 ? 60 : 0;
        p.stop_after_learning = stops == 1 ? 2 : 0;
        atomic_store(&p.stop, false);
        ck_run(&p);
        bool interrupted = p.result.interrupted;
        prune_result_free(&p.result);
        ck_assert_int_eq(train_fixture_has(&p.out, "model.safetensors"), !interrupted);
        if (!interrupted)
            break;
    }
    ck_assert_uint_eq(stops, 2);
    train_fixture_expect_same(&whole, &p.out);
    close_out(&whole);
    pruned_close(&p);
}
END_TEST

START_TEST(prune_refuses_to_resume_a_run_with_another_cut)
{
    struct pruned p;
    pruned_open(&p, true);
    ck_run(&p);
    prune_result_free(&p.result);
    p.options.mlp = 0.25;
    ck_assert_int_ne(run(&p), ERR_OK);
    ck_assert_msg(strstr(p.err.text, "--model") != NULL, "%s", p.err.text);
    prune_result_free(&p.result);
    pruned_close(&p);
}
END_TEST

/* Temperature and thresholds of the whole model say nothing of the smaller one. */
START_TEST(prune_keeps_only_decisions_that_were_written_by_hand)
{
    static const char attnd[] = "{\"version\": \"2024.9\", \"temperature\": 31.5, "
                                "\"truncation\": \"accept\", \"uncalibrated\": \"auto\", "
                                "\"thresholds\": {\"hot\": 0.123, \"cold\": 0.4}, "
                                "\"class_codes\": {\"hot\": \"H7\", \"cold\": \"C1\"}}";
    struct pruned p;
    struct engine_model *model;
    struct spec spec;
    struct arena arena;
    pruned_open(&p, true);
    tempdir_write(&p.f.first, "attnd.json", attnd, strlen(attnd));
    ck_run(&p);
    arena_init(&arena);
    ck_assert_msg(!spec_read(&spec, p.out.path, &arena, &p.err), "%s", p.err.text);
    ck_assert(spec.policy.accepts_truncated && spec.policy.says_uncalibrated &&
              spec.policy.takes_uncalibrated);
    arena_deinit(&arena);
    prune_result_free(&p.result);
    const struct engine_info *info = open_model(&model, p.out.path);
    ck_assert_str_eq(info->version, "2024.10");
    ck_assert_ptr_nonnull(info->class_codes);
    ck_assert_double_ne(info->temperature, 31.5);
    engine_close(model);
    pruned_close(&p);
}
END_TEST

START_TEST(shares_that_take_nothing_or_all_are_refused)
{
    struct pruned p;
    pruned_open(&p, true);
    p.options.heads = p.options.mlp = 0;
    ck_refused(&p, ERR_UNUSABLE, "nothing is to go: --heads SHARE");
    p.options.heads = 1;
    ck_refused(&p, ERR_UNUSABLE, "must be at least 0 and below 1");
    p.options.heads = 0;
    p.options.mlp = -0.5;
    ck_refused(&p, ERR_UNUSABLE, "must be at least 0 and below 1");
    p.options.mlp = NAN;
    ck_refused(&p, ERR_UNUSABLE, "must be at least 0 and below 1");
    p.options.mlp = 0;
    p.options.heads = 0.75;
    ck_refused(&p, ERR_UNUSABLE, "3 of 4 heads cannot go: each of 2 layers keeps one, so 2 can");
    p.options.heads = 0.25;
    p.options.train.out = p.options.train.model;
    ck_assert_int_eq(run(&p), ERR_UNUSABLE);
    pruned_close(&p);
}
END_TEST

START_TEST(data_of_other_labels_are_refused)
{
    static const char extra[] = "{\"text\": \"red\", \"label\": \"hot\"}\n"
                                "{\"text\": \"blue\", \"label\": \"cold\"}\n"
                                "{\"text\": \"green\", \"label\": \"mild\"}\n";
    static const char renamed[] = "{\"text\": \"red red\", \"label\": \"hot\"}\n";
    char many[2048] = "", path[160];
    struct pruned p;
    pruned_open(&p, true);
    snprintf(path, sizeof path, "%s/other.jsonl", p.f.data.path);
    p.options.train.data = path;
    for (int i = 0; i < 8; i++)
        strcat(many, extra);
    tempdir_write(&p.f.data, "other.jsonl", many, strlen(many));
    ck_refused(&p, ERR_UNUSABLE, "the model has no label 'mild'");
    many[0] = '\0';
    for (int i = 0; i < 12; i++)
        strcat(many, renamed);
    tempdir_write(&p.f.data, "other.jsonl", many, strlen(many));
    ck_refused(&p, ERR_UNUSABLE, "every input has the label 'hot'");
    tempdir_write(&p.f.data, "other.jsonl", "{\"text\": \"red\"}\n", 16);
    ck_refused(&p, ERR_UNUSABLE, "label");
    p.options.train.data = "/nonexistent/list.jsonl";
    ck_refused(&p, ERR_IO, "/nonexistent/list.jsonl");
    pruned_close(&p);
}
END_TEST

START_TEST(families_that_cannot_lack_heads_are_refused_before_anything_is_read)
{
    static const struct {
        const char *model_type;
        double heads, mlp;
        const char *words;
    } cases[] = {
        {"albert", 0.25, 0, "heads of 'albert' cannot be cut out of its layers"},
        {"longformer", 0.25, 0, "heads of 'longformer' cannot"},
        {"modernbert", 0.25, 0.5, "heads of 'modernbert' cannot"},
        {"dinov2", 0, 0.25, "the MLP of 'dinov2' is as wide as mlp_ratio"},
        {"swin", 0, 0.25, "the MLP of 'swin' is as wide as mlp_ratio"},
        {"clip", 0, 0.25, "only classifiers that give one of several fixed labels"},
    };
    struct pruned p;
    pruned_open(&p, true);
    p.options.train.data = "/nonexistent/list.jsonl";
    p.options.train.model = p.f.second.path;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char config[256];
        snprintf(config, sizeof config,
                 "{\"model_type\": \"%s\", \"attention_window\": 4, \"id2label\": {\"0\": \"a\", "
                 "\"1\": \"b\"}}",
                 cases[i].model_type);
        tempdir_write(&p.f.second, "config.json", config, strlen(config));
        tempdir_write(&p.f.second, "preprocessor_config.json",
                      "{\"image_processor_type\": \"ViTImageProcessor\", \"size\": 224}", 58);
        p.options.heads = cases[i].heads;
        p.options.mlp = cases[i].mlp;
        ck_refused(&p, ERR_UNSUPPORTED, cases[i].words);
    }
    pruned_close(&p);
}
END_TEST

SUITE("prune", a_text_model_is_smaller_and_as_good,
      a_table_of_ngrams_is_fitted_again_of_what_it_read, an_image_model_is_smaller_and_as_good,
      a_pruned_model_is_pruned_again, a_run_that_was_stopped_ends_with_the_same_weights,
      prune_refuses_to_resume_a_run_with_another_cut,
      prune_keeps_only_decisions_that_were_written_by_hand,
      shares_that_take_nothing_or_all_are_refused, data_of_other_labels_are_refused,
      families_that_cannot_lack_heads_are_refused_before_anything_is_read)
