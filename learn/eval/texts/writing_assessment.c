#include "learn/eval/texts/writing_assessment.h"

#include <stdlib.h>
#include <string.h>

enum { SEED = 1 }; /* the same data give the same report */

enum err_code writing_assessment_take(struct writing_assessment *out,
                                      const struct engine_model *model,
                                      const struct dataset *dataset, const char *data_path,
                                      double target_precision, struct err *err)
{
    *out = (struct writing_assessment){.model = model,
                                       .dataset = dataset,
                                       .data_path = data_path,
                                       .findings.target_precision = target_precision};
    arena_init(&out->arena);
    out->counts = calloc(dataset->count + 1, sizeof *out->counts);
    out->answers = calloc(dataset->count + 1, sizeof *out->answers);
    return out->counts != NULL && out->answers != NULL
               ? ERR_OK
               : err_no_memory(err, dataset->count * sizeof *out->counts);
}

void writing_assessment_close(struct writing_assessment *assessment)
{
    evaluation_close(&assessment->evaluation);
    free(assessment->counts);
    free(assessment->answers);
    arena_deinit(&assessment->arena);
    *assessment = (struct writing_assessment){0};
}

static enum err_code note_mistake(struct writing_assessment *assessment, size_t item,
                                  const struct engine_text *text, size_t edits, struct err *err)
{
    if (assessment->mistake_count == WRITING_MISTAKES_MAX)
        return ERR_OK;
    struct writing_mistake *mistake = &assessment->mistakes[assessment->mistake_count++];
    *mistake = (struct writing_mistake){.item = item, .len = text->len, .edits = edits};
    mistake->written = arena_copy(&assessment->arena, text->text, text->len);
    return mistake->written != NULL ? ERR_OK : err_no_memory(err, text->len);
}

static void count_decision(struct selective_decisions *sum, enum decision decision, bool is_right)
{
    sum->count++;
    sum->automatic += decision == DECISION_AUTO;
    sum->right += decision == DECISION_AUTO && is_right;
    sum->review += decision == DECISION_REVIEW;
    sum->unknown += decision == DECISION_UNKNOWN;
}

/* evaluation_options' `answered`. */
static enum err_code take(void *context, size_t item, const struct engine_input *input,
                          const struct engine_result *result, struct err *err)
{
    struct writing_assessment *assessment = context;
    const char *right = assessment->dataset->items[item].label;
    const struct engine_text none = {.text = ""};
    const struct engine_text *text = result->text_count > 0 ? &result->texts[0] : &none;
    struct text_counts *counts = &assessment->counts[assessment->counted];
    struct arena scratch;
    arena_init(&scratch);
    assessment->truncated += input->truncated;
    assessment->unwritten += result->text_count == 0;
    if (!text_counts_take(counts, text->text, text->len, right, strlen(right), &scratch, err)) {
        assessment->counted++;
        count_decision(&assessment->findings.served.decisions, result->judgement.decision,
                       counts->exact > 0);
        if (result->text_count > 0)
            assessment->answers[assessment->answer_count++] =
                (struct text_answer){.log_probability = text->log_probability,
                                     .confidence = text->confidence,
                                     .is_right = counts->exact > 0,
                                     .item = item};
        if (counts->exact == 0)
            note_mistake(assessment, item, text, counts->edits, err);
    }
    arena_deinit(&scratch);
    return err->code;
}

enum err_code writing_assessment_run(struct writing_assessment *assessment,
                                     const struct evaluation_options *options, struct err *err)
{
    struct evaluation_options how = *options;
    struct text_counts sum = {0};
    how.answered = take;
    how.answered_context = assessment;
    if (evaluation_run(&assessment->evaluation, assessment->model, assessment->dataset, &how, err))
        return err->code;
    for (size_t i = 0; i < assessment->counted; i++)
        text_counts_add(&sum, &assessment->counts[i]);
    assessment->scores = text_scores_of(&sum);
    if (text_findings_measure(&assessment->findings, assessment->answers, assessment->answer_count,
                              assessment->unwritten, err))
        return err->code;
    return text_scores_intervals(&assessment->intervals, assessment->counts, assessment->counted,
                                 SEED, err);
}
