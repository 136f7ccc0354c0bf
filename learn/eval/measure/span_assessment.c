#include "learn/eval/measure/span_assessment.h"

#include "engine/decide/argmax.h"

#include <stdlib.h>
#include <string.h>

enum err_code span_assessment_take(struct span_assessment *out, const struct engine_model *model,
                                   const struct dataset *dataset, const char *data_path,
                                   struct err *err)
{
    const struct engine_info *info = engine_describe(model);
    *out = (struct span_assessment){
        .model = model, .dataset = dataset, .data_path = data_path, .first_misfit = dataset->count};
    arena_init(&out->arena);
    if (tag_set_of(&out->set, info->labels, info->label_count, &out->arena, err))
        return err->code;
    if (tag_set_check(&out->set, dataset, err))
        return err_prefix(err, "%s: ", data_path);
    return span_counts_open(&out->counts, out->set.count, err);
}

void span_assessment_close(struct span_assessment *assessment)
{
    evaluation_close(&assessment->evaluation);
    span_counts_close(&assessment->counts);
    free(assessment->wanted);
    free(assessment->answered);
    free(assessment->right);
    free(assessment->verdicts);
    free(assessment->tags);
    arena_deinit(&assessment->arena);
    *assessment = (struct span_assessment){0};
}

/* ---- one text ---- */

static enum err_code reserve(struct span_assessment *assessment, size_t spans, size_t tokens,
                             struct err *err)
{
    if (spans > assessment->room) {
        free(assessment->wanted);
        free(assessment->answered);
        free(assessment->right);
        assessment->room = 0;
        assessment->wanted = calloc(spans, sizeof *assessment->wanted);
        assessment->answered = calloc(spans, sizeof *assessment->answered);
        assessment->right = calloc(spans, sizeof *assessment->right);
        if (assessment->wanted == NULL || assessment->answered == NULL || assessment->right == NULL)
            return err_no_memory(err, 2 * spans * sizeof *assessment->wanted);
        assessment->room = spans;
    }
    if (tokens > assessment->tags_room) {
        free(assessment->tags);
        assessment->tags_room = 0;
        assessment->tags = calloc(tokens, sizeof *assessment->tags);
        if (assessment->tags == NULL)
            return err_no_memory(err, tokens * sizeof *assessment->tags);
        assessment->tags_room = tokens;
    }
    return ERR_OK;
}

/* Compares the tag of each token, read where its window reads most around it. */
static enum err_code count_tokens(struct span_assessment *assessment, size_t item,
                                  const struct engine_input *input,
                                  const struct engine_result *result, struct err *err)
{
    const unsigned labels = assessment->set.tag_count, count = input->order_count;
    uint32_t *starts = calloc(2 * (size_t)count + 1, sizeof *starts);
    if (starts == NULL)
        return err_no_memory(err, 2 * (size_t)count * sizeof *starts);
    uint32_t *ends = starts + count;
    for (unsigned t = 0; t < count; t++) {
        starts[t] = input->starts[input->order[t]];
        ends[t] = input->ends[input->order[t]];
    }
    const struct tag_tokens tokens = {
        .starts = starts, .ends = ends, .count = count, .is_cut = input->truncated};
    const unsigned misfits = tag_set_mark(&assessment->set, &assessment->dataset->items[item],
                                          &tokens, assessment->tags);
    if (misfits > 0 && assessment->misfits == 0)
        assessment->first_misfit = item;
    assessment->misfits += misfits;
    for (unsigned t = 0; t < count; t++) {
        if (assessment->tags[t] == TAG_NONE)
            continue;
        const float *row = result->rows + (size_t)input->order[t] * labels;
        assessment->tokens++;
        assessment->tokens_right += argmax(row, labels) == (unsigned)assessment->tags[t];
    }
    free(starts);
    return ERR_OK;
}

static enum err_code add_verdicts(struct span_assessment *assessment, size_t item,
                                  const struct engine_result *result, struct err *err)
{
    const size_t wanted = assessment->verdict_count + result->span_count;
    if (wanted > assessment->verdict_room) {
        const size_t room = wanted + assessment->verdict_room;
        struct verdict *grown =
            reallocarray(assessment->verdicts, room, sizeof *assessment->verdicts);
        if (grown == NULL)
            return err_no_memory(err, room * sizeof *grown);
        assessment->verdicts = grown;
        assessment->verdict_room = room;
    }
    for (unsigned s = 0; s < result->span_count; s++)
        assessment->verdicts[assessment->verdict_count++] =
            (struct verdict){.score = result->spans[s].score,
                             .label = assessment->answered[s].label,
                             .right = assessment->right[s],
                             .item = item};
    return ERR_OK;
}

/* evaluation_options' `answered`. */
static enum err_code take(void *context, size_t item, const struct engine_input *input,
                          const struct engine_result *result, struct err *err)
{
    struct span_assessment *assessment = context;
    const struct dataset_item *from = &assessment->dataset->items[item];
    const size_t most =
        from->span_count > result->span_count ? from->span_count : result->span_count;
    if (reserve(assessment, most, input->order_count, err) ||
        count_tokens(assessment, item, input, result, err))
        return err->code;
    for (unsigned s = 0; s < from->span_count; s++)
        assessment->wanted[s] =
            (struct span_key){.label = tag_set_find(&assessment->set, from->spans[s].label),
                              .start = from->spans[s].start,
                              .end = from->spans[s].end};
    for (unsigned s = 0; s < result->span_count; s++)
        assessment->answered[s] =
            (struct span_key){.label = assessment->set.label_of[result->spans[s].label],
                              .start = result->spans[s].start,
                              .end = result->spans[s].end};
    const size_t right =
        span_counts_add(&assessment->counts, assessment->wanted, from->span_count,
                        assessment->answered, result->span_count, assessment->right);
    assessment->truncated += input->truncated;
    if (add_verdicts(assessment, item, result, err))
        return err->code;
    const size_t answered = result->span_count;
    const size_t wanted = assessment->dataset->items[item].span_count;
    if (right == wanted && right == answered) {
        assessment->exact++;
        return ERR_OK;
    }
    if (assessment->mistake_count == SPAN_MISTAKES_MAX)
        return ERR_OK;
    struct span_mistake *mistake = &assessment->mistakes[assessment->mistake_count++];
    *mistake = (struct span_mistake){.item = item,
                                     .answered_count = answered,
                                     .wrong = answered - right,
                                     .missed = wanted - right};
    mistake->answered = arena_alloc_array(&assessment->arena, answered, sizeof *mistake->answered);
    if (mistake->answered == NULL)
        return err_no_memory(err, answered * sizeof *mistake->answered);
    memcpy(mistake->answered, assessment->answered, answered * sizeof *mistake->answered);
    return ERR_OK;
}

enum err_code span_assessment_run(struct span_assessment *assessment,
                                  const struct evaluation_options *options, struct err *err)
{
    struct evaluation_options how = *options;
    how.answered = take;
    how.answered_context = assessment;
    if (evaluation_run(&assessment->evaluation, assessment->model, assessment->dataset, &how, err))
        return err->code;
    span_counts_finish(&assessment->counts);
    return ERR_OK;
}
