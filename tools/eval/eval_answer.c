#include "tools/eval/eval.h"

#include "engine/base/file.h"
#include "engine/base/memory_file.h"
#include "engine/selftest.h"
#include "learn/data/logit_list.h"
#include "learn/eval/calibrate.h"
#include "learn/eval/prior_estimate.h"
#include "learn/eval/report/explanations_report.h"
#include "learn/eval/report/report_strange.h"
#include "learn/eval/selftest_write.h"
#include "learn/eval/unlike.h"
#include "learn/train/checkpoint/record.h"

#include <stdlib.h>

enum { EXPLAIN_INPUTS = 500, EXPLAIN_SEED = 1 };

struct evaluation_options eval_watched(const struct eval *eval, struct screen_counter *counter,
                                       const char *name, size_t total)
{
    struct evaluation_options how = eval->how.evaluation;
    screen_counter_open(counter, name, total);
    how.progress = screen_counter_show;
    how.context = counter;
    return how;
}

enum err_code eval_inputs_run(struct eval_inputs *out, const struct eval *eval, const char *path,
                              const char *name, struct err *err)
{
    struct dataset_options fields = eval->fields;
    struct screen_counter progress;
    fields.labels_optional = true;
    *out = (struct eval_inputs){0};
    if (dataset_open(&out->dataset, path, &fields, err))
        return err->code;
    struct evaluation_options how = eval_watched(eval, &progress, name, out->dataset.count);
    how.features = true;
    evaluation_run(&out->evaluation, eval->assessment.model, &out->dataset, &how, err);
    screen_clear(&progress.screen);
    return err->code;
}

void eval_inputs_close(struct eval_inputs *inputs)
{
    evaluation_close(&inputs->evaluation);
    dataset_close(&inputs->dataset);
}

/* ---- out-of-distribution inputs ---- */

static enum err_code run_ood_data(struct eval *eval, struct err *err)
{
    struct dataset dataset;
    struct strangeness strangeness = {0};
    struct dataset_options fields = eval->fields;
    struct screen_counter progress;
    fields.labels_optional = true;
    if (!dataset_open(&dataset, eval->ood_data, &fields, err)) {
        struct evaluation_options how = eval_watched(eval, &progress, "OOD data", dataset.count);
        unlike_measure(&strangeness, &eval->assessment, &dataset, &how, err);
        screen_clear(&progress.screen);
        if (err->code == ERR_OK) {
            const struct engine_info *info = engine_describe(eval->assessment.model);
            const struct separation *all = &strangeness.groups[0].all;
            FILE *file = eval->json ? stderr : stdout;
            report_strange_print(&strangeness, info, file);
            fprintf(file,
                    "\nOOD data  %s: %zu inputs, told apart by %s with AUROC %.4f, FPR95 %.4f\n",
                    eval->ood_data, all->strange, info->ood_method, all->auroc, all->fpr95);
        }
    }
    strangeness_close(&strangeness);
    dataset_close(&dataset);
    return err->code;
}

/* ---- how often labels occur ---- */

static enum err_code run_stream(const struct eval *eval, struct err *err)
{
    struct eval_inputs inputs;
    struct prior_estimate estimate;
    const struct assessment *assessment = &eval->assessment;
    if (eval_inputs_run(&inputs, eval, eval->stream, "stream", err))
        goto out;
    if (!prior_estimate_measure(&estimate, assessment, &inputs.evaluation, err)) {
        prior_estimate_print(&estimate, assessment, eval->stream, eval->json ? stderr : stdout);
        if (eval->out != NULL)
            prior_estimate_write(&estimate, assessment, eval->out, err);
    }
    prior_estimate_close(&estimate);
out:
    eval_inputs_close(&inputs);
    return err->code != ERR_OK ? err_prefix(err, "--estimate-prior: ") : ERR_OK;
}

/* ---- explanations ---- */

static enum err_code run_explanations(struct eval *eval, struct err *err)
{
    const struct assessment *assessment = &eval->assessment;
    const struct explanations_source source = {.model = assessment->model,
                                               .dataset = &eval->dataset,
                                               .evaluation = &assessment->evaluation,
                                               .classes = assessment->classes};
    struct explanations explanations;
    struct screen_counter progress;
    struct explanations_options how = eval->explain;
    how.inputs_max = how.inputs_max > 0 ? how.inputs_max : EXPLAIN_INPUTS;
    how.threads = eval->how.evaluation.threads;
    how.seed = EXPLAIN_SEED;
    screen_counter_open(&progress, "explaining",
                        how.inputs_max < eval->dataset.count ? how.inputs_max
                                                             : eval->dataset.count);
    how.progress = screen_counter_show;
    how.context = &progress;
    explanations_run(&explanations, &source, &how, err);
    screen_clear(&progress.screen);
    struct explanations_report out = {.model_name = report_model_name(&assessment->report),
                                      .data_path = eval->data,
                                      .explanations = &explanations};
    if (err->code == ERR_OK && !explanations_print(&out, eval->json ? stderr : stdout, err) &&
        eval->out != NULL)
        explanations_write(&out, eval->out, err);
    explanations_close(&explanations);
    return err->code;
}

/* ---- inputs that were learnt ---- */

enum {
    KNOWN_BYTES = 640,
    KNOWN_LIST_BYTES = 200,
    KNOWN_NAMED = 4,
    KNOWN_SHARE = 20
}; /* one in so many may be there by chance: blank wafers, empty logs */

/* "line 2, line 3, line 5, line 8 and 12 more" */
static void list_known(const struct eval *eval, const struct record *record, size_t known,
                       char out[KNOWN_LIST_BYTES])
{
    const struct evaluation *evaluation = eval_evaluation(eval);
    size_t used = 0, named = 0;
    out[0] = '\0';
    for (size_t i = 0; i < evaluation->count && named < KNOWN_NAMED; i++)
        if (record_knows(record, evaluation->digests[i]))
            used += (size_t)snprintf(out + used, KNOWN_LIST_BYTES - used, "%s%.32s",
                                     named++ > 0 ? ", " : "", eval->dataset.items[i].name);
    if (known > named)
        snprintf(out + used, KNOWN_LIST_BYTES - used, " and %zu more", known - named);
}

/* Figures on them flatter, and thresholds chosen on them trust too much: *text says so, and is
 * empty if they are few. */
static enum err_code describe_known(const struct eval *eval, char text[KNOWN_BYTES],
                                    struct err *err)
{
    const struct evaluation *evaluation = eval_evaluation(eval);
    struct err cause = {0};
    struct record record;
    char list[KNOWN_LIST_BYTES], split[PATH_MAX];
    bool found, has_split = false;
    text[0] = '\0';
    if (eval->out_of_fold_count > 0)
        return ERR_OK; /* judged by models that had not learnt them */
    record_read(eval->how.dir, &found, &record, &cause); /* a damaged one tells nothing */
    const size_t known = record_count_known(&record, evaluation->digests, evaluation->count);
    if (known > evaluation->count / KNOWN_SHARE) {
        list_known(eval, &record, known, list);
        if (!file_path(split, eval->how.dir, "split.jsonl", &(struct err){0}))
            file_exists(split, &has_split, &(struct err){0});
        snprintf(text, KNOWN_BYTES,
                 "%s%zu of %zu inputs are among those that this model learnt (%s): %s; take them "
                 "out, or take inputs that it has not seen%s%.120s",
                 record.is_sample ? "about " : "", known, evaluation->count, list,
                 eval->calibrates && evaluation != &eval->numbers.evaluation
                     ? "a temperature and thresholds fitted on them promise too much for new inputs"
                     : "the figures are better than on new inputs",
                 has_split ? ", such as those that training held back, --data " : "",
                 has_split ? split : "");
    }
    record_close(&record);
    return err_is_of_system(cause.code) ? err_set(err, cause.code, "%s", cause.text) : ERR_OK;
}

enum err_code eval_warn_learnt(const struct eval *eval, struct err *err)
{
    char text[KNOWN_BYTES];
    if (!describe_known(eval, text, err) && text[0] != '\0')
        fprintf(stderr, "attnd-eval: warning: %s\n", text);
    return err->code;
}

enum err_code eval_check_learnt(const struct eval *eval, struct err *err)
{
    char text[KNOWN_BYTES];
    const bool writes = eval->calibrates || eval->agrees;
    if (!writes || eval->forces || describe_known(eval, text, err) || text[0] == '\0')
        return err->code;
    return err_set(err, ERR_UNUSABLE, "--%s: %s, or give --force",
                   eval->calibrates ? "calibrate" : "write-agreement", text);
}

/* ---- logits ---- */

static enum err_code write_logits(const struct eval *eval, struct err *err)
{
    struct memory_file file;
    if (memory_file_open(&file, err))
        return err->code;
    const struct engine_info *info = engine_describe(eval->assessment.model);
    const struct evaluation *evaluation = &eval->assessment.evaluation;
    size_t written = 0;
    for (size_t i = 0; i < evaluation->count; i++) {
        struct judgement judgement;
        if (evaluation->problems[i] != NULL)
            continue;
        evaluation_judge(evaluation, eval->assessment.model, i, eval->assessment.scratch,
                         &judgement);
        const struct logit_list_line line = {.name = eval->assessment.dataset->items[i].name,
                                             .digest = evaluation->digests[i],
                                             .logits = evaluation_logits(evaluation, i),
                                             .ood_method = info->ood_method,
                                             .ood = judgement.ood_score};
        written += logit_list_write(file.stream, &line, info->labels, info->label_count);
    }
    if (!memory_file_save(&file, eval->logits, err))
        fprintf(stderr, "attnd-eval: %s: %zu of %zu inputs\n", eval->logits, written,
                eval->dataset.count);
    return err->code != ERR_OK ? err_prefix(err, "--logits: ") : ERR_OK;
}

/* ---- the self-test ---- */

/* ---- all of it ---- */

enum err_code eval_answer(struct eval *eval, struct err *err)
{
    if ((eval->ood_data != NULL && run_ood_data(eval, err)) ||
        (eval->stream != NULL && run_stream(eval, err)))
        return err->code;
    /* pictures that are nearly black or nearly flat for the model */
    const struct contrast_count *count = &eval->assessment.evaluation.contrast;
    if (contrast_wants_minmax(count))
        fprintf(stderr,
                "attnd-eval: warning: of %zu 16-bit images %zu use less than a quarter of the "
                "grey levels: if the model learnt them stretched, its attnd.json lacks \"grey16\": "
                "\"minmax\"; if not, train it with --grey16 minmax\n",
                count->grey16, count->grey16_narrow);
    else if (contrast_is_low(count))
        fprintf(stderr,
                "attnd-eval: warning: %zu of %zu images use less than a quarter of the grey "
                "levels: the model sees little of them\n",
                count->dull, count->images);
    if (eval->logits != NULL && write_logits(eval, err))
        return err->code;
    if (eval->explains && run_explanations(eval, err))
        return err->code;
    if (eval_warn_learnt(eval, err))
        return err->code;
    if (eval->agrees)
        return calibrate_write_agreement(&eval->assessment, err);
    if (eval->refers)
        return calibrate_write_reference(&eval->assessment, err);
    if (eval->selftest_cases > 0) {
        unsigned written;
        if (selftest_write(&eval->assessment, eval->selftest_cases, &written, err))
            return err_prefix(err, "--write-selftest: ");
        fprintf(stderr, "attnd-eval: %s/%s: %u cases\n", eval->how.dir, SELFTEST_FILE, written);
        return ERR_OK;
    }
    return eval->calibrates ? eval_calibrate(eval, err) : ERR_OK;
}
