#include "learn/train/loop/judge.h"

#include "engine/decide/spans.h"
#include "learn/eval/measure/span_counts.h"

#include <string.h>

/* Room for a batch, which grows with it. */
struct room {
    float *logits;                      /* [tokens][tags] of all rows */
    unsigned *numbers;                  /* [tokens + 1] 0, 1, 2, ... */
    bool *continued;                    /* [tokens] none does */
    struct span *spans;                 /* [tokens + 1] of a window */
    struct span_key *wanted, *answered; /* [tokens] likewise */
    const unsigned *insides;            /* [tags] */
    float *scratch;                     /* [tags] */
    size_t tokens;
    struct arena arena, fixed;
};

static enum err_code open_room(struct room *room, const struct tag_set *tags, struct err *err)
{
    *room = (struct room){0};
    arena_init(&room->arena);
    arena_init(&room->fixed);
    room->insides = tag_insides(tags->tags, tags->tag_count, &room->fixed);
    room->scratch = arena_alloc_array(&room->fixed, tags->tag_count, sizeof *room->scratch);
    return room->insides != NULL && room->scratch != NULL
               ? ERR_OK
               : err_no_memory(err, tags->tag_count * sizeof *room->scratch);
}

static void close_room(struct room *room)
{
    arena_deinit(&room->arena);
    arena_deinit(&room->fixed);
}

static enum err_code reserve(struct room *room, const struct data_loader *loader, unsigned tags,
                             struct err *err)
{
    size_t tokens = 0;
    for (unsigned row = 0; row < loader->rows; row++)
        tokens += loader->targets[row].count;
    if (tokens <= room->tokens)
        return ERR_OK;
    arena_deinit(&room->arena);
    arena_init(&room->arena);
    room->tokens = 0;
    room->logits = arena_alloc_array(&room->arena, tokens * tags, sizeof *room->logits);
    room->numbers = arena_alloc_array(&room->arena, tokens + 1, sizeof *room->numbers);
    room->continued = arena_alloc_array(&room->arena, tokens, sizeof *room->continued);
    room->spans = arena_alloc_array(&room->arena, tokens + 1, sizeof *room->spans);
    room->wanted = arena_alloc_array(&room->arena, tokens, sizeof *room->wanted);
    room->answered = arena_alloc_array(&room->arena, tokens, sizeof *room->answered);
    if (room->logits == NULL || room->numbers == NULL || room->continued == NULL ||
        room->spans == NULL || room->wanted == NULL || room->answered == NULL)
        return err_no_memory(err, tokens * tags * sizeof *room->logits);
    for (size_t i = 0; i <= tokens; i++)
        room->numbers[i] = (unsigned)i;
    memset(room->continued, 0, tokens * sizeof *room->continued);
    room->tokens = tokens;
    return ERR_OK;
}

/* Finds the spans that the server answers, with places counted in tokens. */
static size_t answer(const struct tag_set *tags, const float *logits, unsigned count,
                     enum aggregation aggregation, const struct room *room)
{
    const struct tagged_tokens tokens = {.labels = tags->tags,
                                         .label_count = tags->tag_count,
                                         .insides = room->insides,
                                         .temperature = 1,
                                         .logits = logits,
                                         .starts = room->numbers,
                                         .ends = room->numbers + 1,
                                         .continued = room->continued,
                                         .order = room->numbers,
                                         .count = count};
    const unsigned found = spans_make(room->spans, &tokens, aggregation, room->scratch);
    for (unsigned i = 0; i < found; i++)
        room->answered[i] = (struct span_key){.label = tags->label_of[room->spans[i].label],
                                              .start = room->spans[i].start,
                                              .end = room->spans[i].end};
    return found;
}

/* Counts the spans of one input's windows. logits: those of its targets. */
static void count_row(const struct judge *judge, const struct engine_input *input,
                      const struct samples_targets *targets, const float *logits,
                      enum aggregation aggregation, const struct room *room,
                      struct span_counts *counts)
{
    unsigned first = 0;
    for (unsigned w = 0; w < engine_input_windows(input); w++) {
        const unsigned end = input->windows > 0 ? input->window_offset[w + 1] : input->tokens;
        unsigned last = first;
        while (last < targets->count && targets->places[last] < end)
            last++;
        const size_t wanted =
            span_counts_read(room->wanted, judge->tags, targets->ids + first, last - first);
        const size_t answered = answer(judge->tags, logits + (size_t)first * judge->tags->tag_count,
                                       last - first, aggregation, room);
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
    const unsigned tags = judge->tags->tag_count;
    double loss = 0;
    size_t tokens = 0, hits = 0;
    for (size_t first = 0; first < items->count; first += loader->rows) {
        const size_t left = items->count - first;
        const unsigned count = left < loader->rows_max ? (unsigned)left : loader->rows_max;
        if (data_loader_prepare(loader, network_pool(learner->network), items->item + first, count,
                                &order, err) ||
            reserve(room, loader, tags, err) ||
            learner_words(learner, loader, &loss, &tokens, &hits, room->logits, err))
            return err->code;
        const float *logits = room->logits;
        for (unsigned row = 0; row < count; row++) {
            count_row(judge, &loader->inputs[row], &loader->targets[row], logits,
                      learner->setup.spec.aggregation, room, counts);
            logits += (size_t)loader->targets[row].count * tags;
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
    struct room room;
    if (span_counts_open(&counts, judge->tags->count, err))
        return err->code;
    if (!open_room(&room, judge->tags, err) &&
        !run_batches(judge, learner, loader, &room, &counts, out, err)) {
        span_counts_finish(&counts);
        out->span_f1 = counts.micro.rates.f1;
    }
    span_counts_close(&counts);
    close_room(&room);
    return err->code;
}
