/* trainer.c - see trainer.h: the loop over the epochs of a run. Every random number is a function
 * of seed and position, so that a run can be stopped after any step and resumed. */
#include "learn/train/trainer.h"

#include "engine/base/clock.h"
#include "engine/base/memory_file.h"
#include "learn/train/loop/corpus_remarks.h"
#include "learn/train/loop/judge.h"
#include "learn/train/loop/run.h"

#include <stdlib.h>
#include <string.h>

enum { PROGRESS_MS = 200, SAVE_MS = 5 * 60 * 1000 }; /* a kill loses at most SAVE_MS of work */

/* A run, its hooks and its progress. */
struct walk {
    struct run run;
    const struct trainer_hooks *hooks;
    double rate; /* of the last step */
    uint64_t shown_ns, start_ns, saved_ns;
    uint64_t first_ns;   /* when the first step of this process was done */
    uint64_t start_step; /* where this process resumed the run */
    bool interrupted;
    struct conclusion conclusion;
};

/* ---- progress ---- */

/* True if it is time to report progress; always true at the end of a phase. */
static bool is_due(struct walk *walk, size_t done, size_t total)
{
    uint64_t now = clock_now_ns();
    if (walk->hooks->progress == NULL ||
        (done < total && clock_ms_between(walk->shown_ns, now) < PROGRESS_MS))
        return false;
    walk->shown_ns = now;
    return true;
}

static void tell_reading(void *context, size_t done, size_t total)
{
    struct walk *walk = context;
    struct trainer_progress progress = {
        .phase = TRAINER_READING, .done = done, .total = total, .seconds_left = -1};
    if (is_due(walk, done, total))
        walk->hooks->progress(walk->hooks->context, &progress);
}

/* Fills in throughput and time left, from the work this process has done so far. Larger images
 * count as more work (plan_work). */
static void estimate(const struct walk *walk, struct trainer_progress *progress)
{
    const struct run *run = &walk->run;
    uint64_t step = run->at.step;
    double seconds = clock_ms_between(walk->start_ns, clock_now_ns()) / 1e3;
    double done = plan_work(&run->plan, &run->spec, step) -
                  plan_work(&run->plan, &run->spec, walk->start_step);
    double left = plan_work(&run->plan, &run->spec, run->plan.steps) -
                  plan_work(&run->plan, &run->spec, step);
    progress->seconds_left = done > 0 ? seconds * left / done : -1;
    progress->inputs_per_second =
        seconds > 0 ? (double)(step - walk->start_step) * run->plan.batch / seconds : 0;
}

static void tell(struct walk *walk, enum trainer_phase phase, unsigned epoch, size_t done,
                 size_t total)
{
    const struct run *run = &walk->run;
    uint64_t steps = run->at.step - (uint64_t)epoch * run->plan.epoch_steps;
    struct trainer_progress progress = {.phase = phase,
                                        .done = done,
                                        .total = total,
                                        .epoch = epoch + 1,
                                        .epochs = run->plan.epochs,
                                        .image_size = run->plan.learning.image_size.height,
                                        .loss = steps > 0 ? run->at.epoch_loss / (double)steps : 0,
                                        .rate = walk->rate};
    if (!is_due(walk, done, total))
        return;
    estimate(walk, &progress);
    walk->hooks->progress(walk->hooks->context, &progress);
}

static void tell_judging(void *context, size_t done)
{
    struct walk *walk = context;
    const struct run *run = &walk->run;
    unsigned epoch = (unsigned)(run->at.step / run->plan.epoch_steps) - 1;
    tell(walk, TRAINER_JUDGING, epoch, done, run->corpus.validation.count);
}

static void tell_concluding(void *context, size_t done, size_t total)
{
    struct walk *walk = context;
    struct trainer_progress progress = {.phase = TRAINER_CONCLUDING,
                                        .done = done,
                                        .total = total,
                                        .image_size = walk->run.plan.judging.image_size.height};
    if (is_due(walk, done, total))
        walk->hooks->progress(walk->hooks->context, &progress);
}

/* Number of weights, without the padding between tensors. */
static size_t count_weights(const struct parameters *parameters)
{
    size_t count = 0;
    for (unsigned i = 0; i < parameters->count; i++)
        count += parameters->list[i].row.count;
    return count;
}

static enum err_code tell_plan(const struct walk *walk, struct err *err)
{
    const struct run *run = &walk->run;
    const struct corpus_items *train = &run->corpus.train;
    const struct samples *samples = train->part->samples;
    struct memory_file remarks;
    if (walk->hooks->plan == NULL)
        return ERR_OK;
    if (memory_file_open(&remarks, err))
        return err->code;
    bool begins = run->learner.loaded.found == 0 && !run->resumed && run->task != TRAIN_WRITE;
    if (!begins ||
        !corpus_remarks_print_defaults(&run->spec, run->options->model, remarks.stream, err))
        corpus_remarks_print(&run->corpus, remarks.stream, err);
    if (memory_file_close(&remarks, err))
        goto out;
    struct trainer_plan plan = {.family = run->spec.family->name,
                                .precision = precision_name(run->learner.setup.network.precision),
                                .train = train->count,
                                .validation = run->corpus.validation.count,
                                .labels = run->task == TRAIN_TAG ? run->corpus.tags.count
                                                                 : run->corpus.outputs,
                                .task = run->task,
                                .pairs = run->task == TRAIN_EMBED ? run->sampler.options.count : 0,
                                .epochs = run->plan.epochs,
                                .threads = run->threads,
                                .parameters = count_weights(&run->learner.parameters),
                                .tensors_missing = run->learner.loaded.missing,
                                .remarks = remarks.bytes,
                                .resumed = run->resumed,
                                .replaced_version = run->replaced_version,
                                .step = run->at.step,
                                .steps = run->plan.steps};
    size_t first;
    plan.unusable = samples_failed(samples, &first);
    if (plan.unusable > 0) {
        plan.unusable_name = train->part->dataset.items[first].name;
        plan.unusable_reason = samples_problem(samples, first);
    }
    walk->hooks->plan(walk->hooks->context, &plan);
out:
    free(remarks.bytes);
    return err->code;
}

/* Reports the estimate once, after the second step. The first step also allocates memory and fills
 * caches: it took five times as long (ViT-base, two cores). */
static void tell_estimate(struct walk *walk)
{
    const struct run *run = &walk->run;
    uint64_t step = run->at.step, now;
    if (walk->hooks->estimate == NULL || step > walk->start_step + 2)
        return;
    now = clock_now_ns();
    if (step == walk->start_step + 2) {
        double done = plan_work(&run->plan, &run->spec, step);
        double each = done - plan_work(&run->plan, &run->spec, step - 1);
        double left = plan_work(&run->plan, &run->spec, run->plan.steps) - done;
        struct trainer_estimate told = {.is_image = run->spec.family->kind == ENGINE_IMAGE,
                                        .parameters = count_weights(&run->learner.parameters),
                                        .seconds = clock_ms_between(walk->first_ns, now) / 1e3 *
                                                   left / each};
        walk->hooks->estimate(walk->hooks->context, &told);
    }
    walk->first_ns = now;
}

/* ---- a step ---- */

/* The optimiser's part of a step, after the gradients. */
static void end_step(struct walk *walk, unsigned epoch, unsigned done, double loss)
{
    struct run *run = &walk->run;
    run->at.epoch_loss += loss;
    walk->rate = plan_rate(&run->plan.schedule, run->at.step);
    struct optimizer_report report = learner_step(&run->learner, (float)walk->rate);
    run->at.epoch_skipped += report.skipped;
    run->at.step++;
    tell_estimate(walk);
    tell(walk, TRAINER_LEARNING, epoch, done, run->plan.epoch_inputs);
}

/* A step of an embedding: each drawn text with the other of its pair, or another of its label. */
static enum err_code step_pairs(struct walk *walk, unsigned epoch, unsigned first, unsigned count,
                                struct err *err)
{
    struct run *run = &walk->run;
    const struct corpus_items *train = &run->corpus.train;
    const uint64_t position = 2 * ((uint64_t)epoch * run->plan.epoch_inputs + first);
    const struct data_loader_order order = {.view = &run->plan.learning,
                                            .draws = true,
                                            .seed = run->options->seed,
                                            .position = position};
    double loss;
    for (unsigned i = 0; i < count; i++) {
        const size_t place = run->order[first + i];
        const size_t mate =
            run->corpus.groups.are_pairs
                ? place + 1
                : sampler_mate(&run->sampler, train->classes[place], place, position + i);
        run->items[2 * i] = train->item[place];
        run->items[2 * i + 1] = train->item[mate];
        run->groups[i] = train->classes[place];
    }
    if (data_loader_prepare(&run->loader, network_pool(run->learner.network), run->items, 2 * count,
                            &order, err) ||
        learner_pairs(&run->learner, &run->loader, run->groups,
                      (double)run->options->similarity_scale, position, &loss, err))
        return err->code;
    end_step(walk, epoch, first + count, loss);
    return ERR_OK;
}

static enum err_code step(struct walk *walk, unsigned epoch, unsigned number, struct err *err)
{
    struct run *run = &walk->run;
    const struct corpus_items *train = &run->corpus.train;
    struct thread_pool *pool = network_pool(run->learner.network);
    unsigned first = number * run->plan.batch, left = run->plan.epoch_inputs - first;
    unsigned count = left < run->plan.batch ? left : run->plan.batch;
    uint64_t position = (uint64_t)epoch * run->plan.epoch_inputs + first;
    struct data_loader_order order = {.view = &run->plan.learning,
                                      .draws = true,
                                      .masks = run->task == TRAIN_MLM,
                                      .tags = run->task == TRAIN_TAG,
                                      .writes = run->task == TRAIN_WRITE,
                                      .seed = run->options->seed,
                                      .position = position};
    struct learner_targets targets = {.rows = run->targets};
    double loss;
    if (run->task == TRAIN_EMBED)
        return step_pairs(walk, epoch, first, count, err);
    for (unsigned i = 0; i < count; i++) {
        size_t place = run->order[first + i];
        run->items[i] = train->item[place];
        run->targets[i] = train->targets + place * run->corpus.outputs;
    }
    if (data_loader_prepare(&run->loader, pool, run->items, count, &order, err) ||
        teachers_run(&run->teachers, pool, run->items, count, &order, &targets.teacher, err) ||
        learner_batch(&run->learner, &run->loader, &run->loss, &targets, position, &loss, err))
        return err->code;
    end_step(walk, epoch, first + count, loss);
    return ERR_OK;
}

/* ---- an epoch ---- */

/* Saves the state within long epochs, with the epoch's time so far. */
static enum err_code save_now_and_then(struct walk *walk, uint64_t *since_ns, struct err *err)
{
    uint64_t now = clock_now_ns();
    if (clock_ms_between(walk->saved_ns, now) < SAVE_MS)
        return ERR_OK;
    walk->saved_ns = now;
    walk->run.at.epoch_seconds += clock_ms_between(*since_ns, now) / 1e3;
    *since_ns = now;
    return run_save(&walk->run, err);
}

/* Runs steps from the run's position to the end of the epoch, or until it must stop. */
static enum err_code learn(struct walk *walk, unsigned epoch, struct err *err)
{
    struct run *run = &walk->run;
    uint64_t first = (uint64_t)epoch * run->plan.epoch_steps;
    uint64_t start_ns = clock_now_ns();
    sampler_epoch(&run->sampler, epoch, run->order, run->plan.epoch_inputs);
    while (run->at.step - first < run->plan.epoch_steps &&
           !(walk->hooks->stop != NULL && atomic_load(walk->hooks->stop)))
        if (step(walk, epoch, (unsigned)(run->at.step - first), err) ||
            save_now_and_then(walk, &start_ns, err))
            return err->code;
    run->at.epoch_seconds += clock_ms_between(start_ns, clock_now_ns()) / 1e3;
    walk->interrupted = run->at.step - first < run->plan.epoch_steps;
    return ERR_OK;
}

/* The figure by which epochs are compared, larger is better: macro-F1; of an embedding nDCG@10; of
 * tags the spans' F1; of texts the share that is exact; for MLM, pairs and a regression minus the
 * loss. A regression's loss, the mean square of standardised errors, orders epochs as their RMSE
 * does. */
static double figure_of(const struct run *run, const struct judge_result *judged)
{
    const bool by_loss =
        run->task == TRAIN_MLM || run->task == TRAIN_REGRESS || run->task == TRAIN_PAIR;
    return by_loss                    ? -judged->loss
           : run->task == TRAIN_EMBED ? judged->ndcg
           : run->task == TRAIN_TAG   ? judged->span_f1
           : run->task == TRAIN_WRITE ? judged->exact
                                      : judged->macro_f1;
}

static bool keeps_last(const struct run *run)
{
    return strcmp(run->options->keep, "last") == 0;
}

/* Among epochs with equal figures the one with the smaller validation loss is better. With few
 * inputs ties are frequent, most of all at 1, where later epochs have higher scores. */
static bool is_better(const struct run *run, const struct judge_result *judged)
{
    double figure = figure_of(run, judged);
    const struct history_epoch *best = &run->history.epochs[run->at.best_epoch - 1];
    return figure > run->at.best ||
           (figure == run->at.best && judged->loss < best->validation_loss);
}

static enum err_code note_epoch(struct walk *walk, unsigned epoch,
                                const struct judge_result *judged, bool is_best, struct err *err)
{
    struct run *run = &walk->run;
    struct history *history = &run->history;
    size_t count = history->count + 1;
    struct history_epoch *grown = reallocarray(history->epochs, count, sizeof *grown);
    if (grown == NULL)
        return err_no_memory(err, count * sizeof *grown);
    history->epochs = grown;
    grown[history->count++] =
        (struct history_epoch){.epoch = epoch + 1,
                               .image_size = run->plan.learning.image_size.height,
                               .rate = walk->rate,
                               .train_loss = run->at.epoch_loss / run->plan.epoch_steps,
                               .validation_loss = judged->loss,
                               .accuracy = judged->accuracy,
                               .macro_f1 = judged->macro_f1,
                               .rmse = judged->rmse,
                               .rmse_mean = judged->rmse_mean,
                               .ndcg = judged->ndcg,
                               .span_f1 = judged->span_f1,
                               .exact = judged->exact,
                               .seconds = run->at.epoch_seconds,
                               .skipped = (double)run->at.epoch_skipped};
    run->at.epoch_loss = run->at.epoch_seconds = 0;
    run->at.epoch_skipped = 0;
    if (walk->hooks->epoch != NULL)
        walk->hooks->epoch(walk->hooks->context, &grown[history->count - 1], is_best,
                           history_rises(history));
    return ERR_OK;
}

static enum err_code judge(struct walk *walk, unsigned epoch, struct err *err)
{
    struct run *run = &walk->run;
    struct judge judge = {.items = &run->corpus.validation,
                          .loss = &run->loss,
                          .numbers = run->task == TRAIN_REGRESS ? &run->corpus.numbers : NULL,
                          .groups = run->task == TRAIN_EMBED ? &run->corpus.groups : NULL,
                          .tags = run->task == TRAIN_TAG ? &run->corpus.tags : NULL,
                          .texts = run->task == TRAIN_WRITE ? &run->texts : NULL,
                          .scale = (double)run->options->similarity_scale,
                          .view = run->plan.judging,
                          .seed = run->options->seed,
                          .progress = tell_judging,
                          .context = walk};
    struct judge_result judged;
    if (judge_run(&judge, &run->learner, &run->loader, &judged, err))
        return err->code;
    bool is_best = run->at.best_epoch == 0 || keeps_last(run) || is_better(run, &judged);
    if (is_best) {
        run->at.best = figure_of(run, &judged);
        run->at.best_epoch = epoch + 1;
        learner_keep(&run->learner);
    }
    return note_epoch(walk, epoch, &judged, is_best, err);
}

static enum err_code run_epoch(struct walk *walk, unsigned epoch, struct err *err)
{
    struct run *run = &walk->run;
    /* Figures of different image sizes are not comparable: the first epoch of a stage counts as the
     * best so far. */
    if (epoch > 0 && plan_image_size(&run->plan, epoch) != plan_image_size(&run->plan, epoch - 1) &&
        run->at.step == (uint64_t)epoch * run->plan.epoch_steps)
        run->at.best_epoch = 0;
    if (run_shape(run, epoch, err) || learn(walk, epoch, err))
        return err->code;
    if (!walk->interrupted && judge(walk, epoch, err))
        return err->code;
    walk->saved_ns = clock_now_ns();
    return run_save(run, err);
}

/* ---- the run ---- */

/* True if no epoch has been better for --patience epochs, counted from the one that first reached
 * the best one's figure at its image size. A smaller loss alone does not count: it keeps falling
 * long after all answers are right. */
static bool is_early(const struct run *run)
{
    uint64_t done = run->at.step / run->plan.epoch_steps, reached = run->at.best_epoch;
    if (run->options->patience == 0 || reached == 0)
        return false;
    if ((run->task == TRAIN_CLASSIFY || run->task == TRAIN_MULTI_LABEL || run->task == TRAIN_TAG ||
         run->task == TRAIN_WRITE) &&
        !keeps_last(run)) {
        const struct history_epoch *epoch = run->history.epochs, *best = &epoch[reached - 1];
        while (epoch->image_size != best->image_size || epoch->macro_f1 != best->macro_f1 ||
               epoch->span_f1 != best->span_f1 || epoch->exact != best->exact)
            epoch++;
        reached = (uint64_t)(epoch - run->history.epochs) + 1;
    }
    return done - reached >= run->options->patience;
}

static enum err_code walk_through(struct walk *walk, const struct train_options *options,
                                  struct err *err)
{
    struct run *run = &walk->run;
    struct corpus_progress reading = {tell_reading, walk};
    if (run_open(run, options, &reading, err))
        return err->code;
    if (run->is_finished)
        return ERR_OK;
    if (tell_plan(walk, err))
        return err->code;
    walk->start_ns = walk->saved_ns = clock_now_ns();
    walk->start_step = run->at.step;
    while (run->at.step < run->plan.steps && !walk->interrupted && !is_early(run))
        if (run_epoch(walk, (unsigned)(run->at.step / run->plan.epoch_steps), err))
            return err->code;
    struct conclude_progress judging = {tell_concluding, walk};
    return walk->interrupted ? ERR_OK : conclude(run, &judging, &walk->conclusion, err);
}

enum err_code trainer_run(const struct train_options *options, const struct trainer_hooks *hooks,
                          struct trainer_result *result, struct err *err)
{
    struct walk *walk = calloc(1, sizeof *walk);
    *result = (struct trainer_result){0};
    if (walk == NULL)
        return err_no_memory(err, sizeof *walk);
    walk->hooks = hooks;
    if (walk_through(walk, options, err) == ERR_OK) {
        result->is_image = walk->run.spec.family->kind == ENGINE_IMAGE;
        result->task = walk->run.task;
        result->history = walk->run.history;
        walk->run.history = (struct history){0};
        result->best_epoch = (unsigned)walk->run.at.best_epoch;
        result->interrupted = walk->interrupted;
        result->was_finished = walk->run.is_finished;
        result->conclusion = walk->conclusion;
        walk->conclusion.remarks = NULL;
        result->early =
            !walk->interrupted && !result->was_finished && walk->run.at.step < walk->run.plan.steps;
    }
    run_close(&walk->run);
    free(walk->conclusion.remarks);
    free(walk);
    return err->code;
}

void trainer_result_free(struct trainer_result *result)
{
    free(result->history.epochs);
    free(result->conclusion.remarks);
    *result = (struct trainer_result){0};
}
