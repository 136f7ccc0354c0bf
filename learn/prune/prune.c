/* prune.c - see prune.h. Cheap checks come first: options, the model's family, its labels against
 * those of the data. Then follow the evaluation of the model as it is, the importance, the cut and
 * the fine-tuning, which is an ordinary training run from the directory of the cut. */
#include "learn/prune/prune.h"

#include "engine/base/cpu.h"
#include "engine/base/sha256.h"
#include "engine/model/head_parts.h"
#include "engine/prepare/pipeline.h"
#include "learn/eval/assessment.h"
#include "learn/eval/fit/attnd_json.h"
#include "learn/fit/fit_write.h"
#include "learn/prune/choice.h"
#include "learn/prune/importance.h"
#include "learn/train/checkpoint/export.h"
#include "learn/train/checkpoint/export_files.h"
#include "learn/train/loop/corpus.h"
#include "learn/train/loop/learner.h"
#include "learn/train/loop/plan.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { CUT_DIGITS = 8 }; /* hex digits of the digest in the cut's directory name */

struct pruning {
    const struct prune_options *options;
    const struct prune_hooks *hooks;
    struct prune_result *result;
    struct spec spec;    /* the source's */
    const char *version; /* the new model's */
    unsigned threads;
    struct corpus corpus;
    struct dataset validation;
    char cut_dir[PATH_MAX];
    struct arena arena;
};

static bool must_stop(const struct pruning *pruning)
{
    const atomic_bool *stop = pruning->hooks->trainer.stop;
    return stop != NULL && atomic_load(stop);
}

/* ---- checks ---- */

static enum err_code check_family(const struct spec *spec, const struct prune_options *options,
                                  struct err *err)
{
    const struct family *family = spec->family;
    if (family->is_zero_shot || spec->scores != SCORES_SOFTMAX)
        return err_set(err, ERR_UNSUPPORTED,
                       "only classifiers that give one of several fixed labels are pruned");
    if (options->heads > 0 && !family->prunes_heads)
        return err_set(err, ERR_UNSUPPORTED,
                       "heads of '%s' cannot be cut out of its layers (they can of bert, "
                       "distilbert, roberta, xlm-roberta, electra, vit and deit); --heads 0",
                       family->name);
    if (options->mlp > 0 && (family->key_intermediate == NULL || spec->stages != NULL))
        return err_set(err, ERR_UNSUPPORTED,
                       "the MLP of '%s' is as wide as %s of its config.json makes it, which says "
                       "no other width exactly; --mlp 0",
                       family->name,
                       family->key_mlp_ratio != NULL ? family->key_mlp_ratio : "a ratio");
    return ERR_OK;
}

static enum err_code read_source(struct pruning *pruning, struct err *err)
{
    const char *dir = pruning->options->train.model;
    if (spec_read(&pruning->spec, dir, &pruning->arena, err) ||
        pipeline_fit(&pruning->spec, dir, err) ||
        check_family(&pruning->spec, pruning->options, err))
        return err_prefix(err, "%s: ", dir);
    pruning->version = pruning->options->train.version;
    if (pruning->version == NULL || pruning->version[0] == '\0')
        pruning->version = fit_next_version(pruning->spec.version, &pruning->arena);
    return pruning->version != NULL ? ERR_OK : err_no_memory(err, 1);
}

static bool has_label(const char *const *labels, unsigned count, const char *wanted)
{
    for (unsigned i = 0; i < count; i++)
        if (strcmp(labels[i], wanted) == 0)
            return true;
    return false;
}

static void tell_reading(void *context, size_t done, size_t total)
{
    const struct pruning *pruning = context;
    const struct trainer_hooks *hooks = &pruning->hooks->trainer;
    const struct trainer_progress progress = {
        .phase = TRAINER_READING, .done = done, .total = total, .seconds_left = -1};
    if (hooks->progress != NULL)
        hooks->progress(hooks->context, &progress);
}

/* Opens data and model, which must have the same labels; the corpus then has them in the model's
 * order. */
static enum err_code open_data(struct pruning *pruning, struct err *err)
{
    const struct corpus_progress progress = {tell_reading, pruning};
    const struct train_options *options = &pruning->options->train;
    const struct labels *found = &pruning->corpus.labels;
    const struct spec *spec = &pruning->spec;
    if (corpus_open(&pruning->corpus, options, spec, NULL, options->model, pruning->threads,
                    &progress, err))
        return err->code;
    for (unsigned i = 0; i < found->count; i++)
        if (!has_label(spec->labels, spec->label_count, found->name[i]))
            return err_set(err, ERR_UNUSABLE, "%s: the model has no label '%.80s'", options->data,
                           found->name[i]);
    for (unsigned i = 0; i < spec->label_count; i++)
        if (!has_label(found->name, found->count, spec->labels[i]))
            return err_set(err, ERR_UNUSABLE,
                           "%s: no input has the model's label '%.80s', which nothing would "
                           "speak for",
                           options->data, spec->labels[i]);
    return corpus_view(&pruning->corpus, &pruning->corpus.validation, &pruning->validation, err);
}

/* ---- figures ---- */

struct telling {
    const struct pruning *pruning;
    enum prune_phase phase;
};

static void tell_total(void *context, size_t done, size_t total)
{
    const struct telling *telling = context;
    const struct prune_hooks *hooks = telling->pruning->hooks;
    if (hooks->progress != NULL)
        hooks->progress(hooks->context, telling->phase, done, total);
}

static void tell(void *context, size_t done)
{
    const struct telling *telling = context;
    tell_total(context, done, telling->pruning->validation.count);
}

/* Processor time of all threads of this process; other processes' time is not counted. */
static double processor_ms(void)
{
    return (double)clock() * 1e3 / CLOCKS_PER_SEC;
}

/* Evaluates a model directory on the validation part. */
static enum err_code assess(const struct pruning *pruning, const char *dir, enum prune_phase phase,
                            struct prune_figures *out, struct err *err)
{
    const struct train_options *options = &pruning->options->train;
    const char *path = options->validation != NULL ? options->validation : options->data;
    struct telling telling = {pruning, phase};
    struct assessment_options how = {
        .dir = dir,
        .target_precision = options->target_precision,
        .evaluation = {.threads = pruning->threads, .progress = tell, .context = &telling}};
    struct assessment assessment = {0};
    const struct evaluation *evaluation = &assessment.evaluation;
    if (assessment_open(&assessment, &how, err) ||
        assessment_take(&assessment, &pruning->validation, path, err))
        goto out;
    double start = processor_ms();
    if (!assessment_run(&assessment, err))
        *out = (struct prune_figures){.accuracy = assessment.confusion.accuracy,
                                      .macro_f1 = assessment.confusion.macro_f1,
                                      .accuracy_interval = assessment.findings.accuracy,
                                      .macro_f1_interval = assessment.findings.macro_f1,
                                      .inputs = evaluation->count - evaluation->failed,
                                      .parameters = engine_describe(assessment.model)->parameters};
    out->ms = out->inputs > 0 ? (processor_ms() - start) / (double)out->inputs : 0;
out:
    assessment_close(&assessment);
    return err->code;
}

/* ---- importance ---- */

/* Opens a learner with the weights of the model. Close it in any case. */
static enum err_code open_learner(struct learner *out, const struct pruning *pruning,
                                  const struct samples_view *view, struct err *err)
{
    const struct samples *samples = pruning->corpus.train.part->samples;
    const struct learner_setup setup = {
        .spec = pruning->spec,
        .network = {.threads = pruning->threads, .tokens_max = samples_tokens_max(samples, view)}};
    const char *dir = pruning->options->train.model;
    struct checkpoint *checkpoint;
    if (checkpoint_open(&checkpoint, dir, err))
        return err_prefix(err, "%s: ", dir);
    learner_open(out, &setup, checkpoint, err);
    checkpoint_close(checkpoint);
    if (err->code == ERR_OK && out->loaded.missing > 0)
        err_set(err, ERR_UNSUPPORTED, "tensor '%s' is missing: train the model first",
                out->loaded.first_missing);
    return err->code != ERR_OK ? err_prefix(err, "%s: ", dir) : ERR_OK;
}

/* Adds every n-th training input, in fp32, until the run must stop. */
static enum err_code add_inputs(const struct pruning *pruning, struct learner *learner,
                                struct data_loader *loader, const struct samples_view *view,
                                struct importance *out, struct err *err)
{
    const struct corpus_items *train = &pruning->corpus.train;
    const struct spec *spec = &learner->parameters.spec;
    const size_t most = pruning->options->inputs;
    const size_t total = train->count < most ? train->count : most;
    const struct data_loader_order order = {.view = view};
    const struct loss loss = {.scores = spec->scores, .labels = spec->label_count};
    struct telling telling = {pruning, PRUNE_IMPORTANCE};
    for (size_t i = 0; i < total && !must_stop(pruning); i++) {
        const size_t place = i * train->count / total;
        const float *target = train->targets + place * spec->label_count;
        const struct learner_targets targets = {.rows = &target};
        float *gradient = network_gradient(learner->network);
        double value;
        if (data_loader_prepare(loader, network_pool(learner->network), &train->item[place], 1,
                                &order, err))
            return err->code;
        memset(gradient, 0, learner->parameters.numbers * sizeof *gradient);
        if (learner_batch(learner, loader, &loss, &targets, 0, &value, err))
            return err->code;
        importance_add(out, &learner->parameters, gradient);
        tell_total(&telling, i + 1, total);
    }
    return ERR_OK;
}

/* ---- the cut ---- */

/* Writes the cut model. Its directory is named after a digest of its weights: the trainer
 * recognises a run by its options, so a model that is cut differently must have another path. Its
 * attnd.json is without temperature, thresholds, OOD score, reference and examples, which were
 * fitted on the answers of another model. */
static enum err_code write_cut(struct pruning *pruning, const struct parameters *small,
                               struct err *err)
{
    const struct train_options *options = &pruning->options->train;
    const struct export what = {.parameters = small,
                                .values = small->values,
                                .dtype = strcmp(options->store, "f16") == 0 ? DTYPE_F16 : DTYPE_F32,
                                .source_dir = options->model};
    struct spec kept = small->spec;
    char digest[SHA256_HEX_BYTES];
    sha256_hex(small->values, small->numbers * sizeof *small->values, digest);
    if (snprintf(pruning->cut_dir, sizeof pruning->cut_dir, "%s/cut-%.*s", options->out, CUT_DIGITS,
                 digest) >= (int)sizeof pruning->cut_dir)
        return err_set(err, ERR_TOO_LARGE, "the path of the output is too long");
    if (export_files_make_dir(options->out, err) || export_checkpoint(pruning->cut_dir, &what, err))
        return err->code;
    kept.version = pruning->version;
    kept.temperature = 1;
    kept.class_prior = (struct class_prior){0};
    kept.reference = NULL;
    kept.precisions = (struct precision_record){0};
    kept.head_file = NULL;
    kept.policy = policy_unfitted(&kept.policy);
    return attnd_json_write(pruning->cut_dir, &kept, err);
}

static enum err_code cut(struct pruning *pruning, const struct parameters *whole,
                         const struct importance *importance, struct err *err)
{
    const struct prune_options *options = pruning->options;
    struct prune_result *result = pruning->result;
    struct parameters small = {0};
    struct choice choice;
    if (!choice_make(&choice, &whole->spec, importance, options->heads, options->mlp, err) &&
        !choice_cut(&small, whole, &choice, &pruning->arena, err)) {
        result->layers = whole->spec.layers;
        result->heads = choice.head_count;
        result->heads_gone = choice.heads_gone;
        result->columns = choice.columns;
        result->columns_gone = choice.columns_gone;
        result->inputs = importance->inputs;
        write_cut(pruning, &small, err);
    }
    parameters_close(&small);
    choice_close(&choice);
    return err->code;
}

static enum err_code measure_and_cut(struct pruning *pruning, struct err *err)
{
    const char *dir = pruning->options->train.model;
    struct learner learner = {0};
    struct importance importance = {0};
    struct data_loader loader = {0};
    struct plan plan;
    if (plan_make(&plan, &pruning->options->train, &pruning->spec, pruning->corpus.train.count,
                  err))
        return err_prefix(err, "%s: ", dir);
    struct samples_view view = plan.judging; /* inputs without augmentation */
    view.image_size = extent_square(plan_image_size(&plan, 0));
    if (!open_learner(&learner, pruning, &view, err) &&
        !importance_open(&importance, &pruning->spec, err) &&
        !data_loader_open(&loader, pruning->corpus.train.part->samples, 1, err) &&
        !add_inputs(pruning, &learner, &loader, &view, &importance, err) && !must_stop(pruning))
        cut(pruning, &learner.parameters, &importance, err);
    data_loader_close(&loader);
    importance_close(&importance);
    learner_close(&learner);
    return err->code;
}

/* ---- the fine-tuning ---- */

/* If the model has a table of n-grams, sets options so that a table that reads the same is fitted
 * again: its weight is relative to the encoder. */
static enum err_code keep_ngrams(struct pruning *pruning, struct train_options *options,
                                 struct err *err)
{
    struct head_parts parts;
    const struct ngram_reading *reading = &parts.ngrams.reading;
    if (options->ngrams > 0 || pruning->spec.head_file == NULL)
        return ERR_OK;
    if (head_parts_open(&pruning->spec, pruning->options->train.model, &parts, &pruning->arena,
                        err))
        return err->code;
    if (parts.ngrams.bias == NULL)
        return ERR_OK;
    options->ngrams = reading->characters;
    options->ngram_lines = reading->key_lines;
    options->ngram_words = ngrams_join_key_words(reading, &pruning->arena);
    return options->ngram_words != NULL ? ERR_OK : err_no_memory(err, reading->key_word_count);
}

/* Gives the attnd.json of a trained directory the class codes of `source`, if that has any: its
 * labels are the same. */
static enum err_code write_codes(const char *dir, const struct spec *source, struct err *err)
{
    struct arena arena;
    struct spec spec;
    if (source->class_codes == NULL)
        return ERR_OK;
    arena_init(&arena);
    if (!spec_read(&spec, dir, &arena, err)) {
        spec.class_codes = source->class_codes;
        attnd_json_write(dir, &spec, err);
    }
    arena_deinit(&arena);
    return err->code;
}

static enum err_code tune(struct pruning *pruning, struct err *err)
{
    struct train_options options = pruning->options->train;
    struct prune_result *result = pruning->result;
    options.model = pruning->cut_dir;
    options.version = pruning->version;
    if (options.teacher.count + options.teacher_logits.count == 0)
        options.teacher.path[options.teacher.count++] = pruning->options->train.model;
    if (keep_ngrams(pruning, &options, err) ||
        trainer_run(&options, &pruning->hooks->trainer, &result->trainer, err))
        return err->code;
    result->has_trained = true;
    result->interrupted = result->trainer.interrupted;
    if (result->interrupted || write_codes(options.out, &pruning->spec, err))
        return err->code;
    return assess(pruning, options.out, PRUNE_AFTER, &result->tuned, err);
}

enum err_code prune_run(const struct prune_options *options, const struct prune_hooks *hooks,
                        struct prune_result *result, struct err *err)
{
    struct pruning pruning = {.options = options, .hooks = hooks, .result = result};
    *result = (struct prune_result){0};
    arena_init(&pruning.arena);
    pruning.threads = options->train.threads > 0 ? options->train.threads : cpu_quota_threads("");
    if (read_source(&pruning, err) || open_data(&pruning, err) ||
        assess(&pruning, options->train.model, PRUNE_BEFORE, &result->before, err) ||
        measure_and_cut(&pruning, err))
        goto out;
    result->interrupted = must_stop(&pruning);
    if (result->interrupted || assess(&pruning, pruning.cut_dir, PRUNE_CUT, &result->cut, err))
        goto out;
    tune(&pruning, err);
out:
    corpus_close(&pruning.corpus);
    arena_deinit(&pruning.arena);
    return err->code;
}

void prune_result_free(struct prune_result *result)
{
    if (result->has_trained)
        trainer_result_free(&result->trainer);
}
