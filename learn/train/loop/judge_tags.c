#include "learn/train/loop/judge_tags.h"

#include "learn/eval/measure/span_counts.h"

#include <stdlib.h>

/* Room for a batch, which grows with it. */
struct room {
    int32_t *answers;                   /* [tokens] of all rows */
    struct span_key *wanted, *answered; /* [tokens] of a window */
    size_t tokens;
};

static enum err_code reserve(struct room *room, const struct data_loader *loader, struct err *err)
{
    size_t tokens = 0;
    for (unsigned row = 0; row < loader->rows; row++)
        tokens += loader->targets[row].count;
    if (tokens <= room->tokens)
        return ERR_OK;
    free(room->answers);
    free(room->wanted);
    *room = (struct room){.answers = calloc(tokens, sizeof *room->answers),
                          .wanted = calloc(2 * tokens, sizeof *room->wanted)};
    if (room->answers == NULL || room->wanted == NULL)
        return err_no_memory(err, 2 * tokens * sizeof *room->wanted);
    room->answered = room->wanted + tokens;
    room->tokens = tokens;
    return ERR_OK;
}

/* Counts the spans of one input's windows. answers: those of its targets. */
static void count_row(const struct judge *judge, const struct engine_input *input,
                      const struct samples_targets *targets, const int32_t *answers,
                      const struct room *room, struct span_counts *counts)
{
    unsigned first = 0;
    for (unsigned w = 0; w < engine_input_windows(input); w++) {
        const unsigned end = input->windows > 0 ? input->window_offset[w + 1] : input->tokens;
        unsigned last = first;
        while (last < targets->count && targets->places[last] < end)
            last++;
        const size_t wanted =
            span_counts_read(room->wanted, judge->tags, targets->ids + first, last - first);
        const size_t answered =
            span_counts_read(room->answered, judge->tags, answers + first, last - first);
        span_counts_add(counts, room->wanted, wanted, room->answered, answered, NULL);
        first = last;
    }
}

static enum err_code run_batches(const struct judge *judge, struct learner *learner,
                                 struct data_loader *loader, struct room *room,
                                 struct span_counts *counts, struct judge_result *out,
                                 struct err *err)
{
    const struct corpus_items *items = judge->items;
    const struct data_loader_order order = {.view = &judge->view, .tags = true};
    double loss = 0;
    size_t tokens = 0, hits = 0;
    for (size_t first = 0; first < items->count; first += loader->rows) {
        const size_t left = items->count - first;
        const unsigned count = left < loader->rows_max ? (unsigned)left : loader->rows_max;
        if (data_loader_prepare(loader, network_pool(learner->network), items->item + first, count,
                                &order, err) ||
            reserve(room, loader, err) ||
            learner_words(learner, loader, &loss, &tokens, &hits, room->answers, err))
            return err->code;
        const int32_t *answers = room->answers;
        for (unsigned row = 0; row < count; row++) {
            count_row(judge, &loader->inputs[row], &loader->targets[row], answers, room, counts);
            answers += loader->targets[row].count;
        }
        if (judge->progress != NULL)
            judge->progress(judge->context, first + count);
    }
    out->loss = tokens > 0 ? loss / (double)tokens : 0;
    out->accuracy = tokens > 0 ? (double)hits / (double)tokens : 0;
    return ERR_OK;
}

enum err_code judge_tags(const struct judge *judge, struct learner *learner,
                         struct data_loader *loader, struct judge_result *out, struct err *err)
{
    struct span_counts counts;
    struct room room = {0};
    if (span_counts_open(&counts, judge->tags->count, err))
        return err->code;
    if (!run_batches(judge, learner, loader, &room, &counts, out, err)) {
        span_counts_finish(&counts);
        out->span_f1 = counts.micro.rates.f1;
    }
    span_counts_close(&counts);
    free(room.answers);
    free(room.wanted);
    return err->code;
}
