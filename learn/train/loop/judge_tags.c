#include "learn/train/loop/judge.h"

#include "engine/decide/spans.h"
#include "learn/eval/measure/span_counts.h"

#include <string.h>

/* Room for a batch, which grows with it. */
struct room {
    float *logits;                      /* [tokens][tags] of all rows */
    unsigned *numbers;                  /* [tokens + 1] 0, 1, 2, ... */
    uint32_t *starts, *ends;            /* [tokens] of a window, each a character long */
    bool *continued;                    /* [tokens] none does */
    struct span *spans;                 /* [tokens + 1] of a window */
    struct span_key *wanted, *answered; /* [tokens] likewise */
    float *scratch;                     /* of spans_make */
    size_t tokens;
    struct arena arena;
};

static enum err_code reserve(struct room *room, const struct data_loader *loader,
                             const struct spec *spec, struct err *err)
{
    const unsigned tags = spec->label_count;
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
    room->starts = arena_alloc_array(&room->arena, tokens, sizeof *room->starts);
    room->ends = arena_alloc_array(&room->arena, tokens, sizeof *room->ends);
    room->spans = arena_alloc_array(&room->arena, tokens + 1, sizeof *room->spans);
    room->wanted = arena_alloc_array(&room->arena, tokens, sizeof *room->wanted);
    room->answered = arena_alloc_array(&room->arena, tokens, sizeof *room->answered);
    room->scratch =
        arena_alloc_array(&room->arena, spans_scratch_rows(spec->pairs.weights, tokens) * tags,
                          sizeof *room->scratch);
    if (room->scratch == NULL || room->logits == NULL || room->numbers == NULL ||
        room->continued == NULL || room->starts == NULL || room->ends == NULL ||
        room->spans == NULL || room->wanted == NULL || room->answered == NULL)
        return err_no_memory(err, tokens * tags * sizeof *room->logits);
    for (size_t i = 0; i <= tokens; i++)
        room->numbers[i] = (unsigned)i;
    memset(room->continued, 0, tokens * sizeof *room->continued);
    room->tokens = tokens;
    return ERR_OK;
}

/* Finds the spans that the server answers, with places counted in tokens. touches [count]. */
static size_t answer(const struct tag_set *tags, const struct spec *spec, const float *logits,
                     const bool *touches, unsigned count, const struct room *room)
{
    for (unsigned i = 0; i < count; i++) {
        room->starts[i] = (i > 0 ? room->ends[i - 1] : 0) + (touches[i] ? 0 : 1);
        room->ends[i] = room->starts[i] + 1;
    }
    const struct tagged_tokens tokens = {.labels = tags->tags,
                                         .label_count = tags->tag_count,
                                         .insides = spec->insides,
                                         .pairs = spec->pairs.weights,
                                         .temperature = 1,
                                         .logits = logits,
                                         .starts = room->starts,
                                         .ends = room->ends,
                                         .continued = room->continued,
                                         .order = room->numbers,
                                         .count = count};
    const unsigned found = spans_make(room->spans, &tokens, spec->aggregation, room->scratch);
    for (unsigned i = 0; i < found; i++)
        room->answered[i] = (struct span_key){.label = tags->label_of[room->spans[i].label],
                                              .start = room->spans[i].first,
                                              .end = room->spans[i].first + room->spans[i].count};
    return found;
}

/* Counts the spans of one input's windows. logits: those of its targets. */
static void count_row(const struct judge *judge, const struct engine_input *input,
                      const struct samples_targets *targets, const float *logits,
                      const struct spec *spec, const struct room *room, struct span_counts *counts)
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
            answer(judge->tags, spec, logits + (size_t)first * judge->tags->tag_count,
                   targets->touches + first, last - first, room);
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
    const struct spec *spec = &learner->setup.spec;
    double loss = 0;
    size_t tokens = 0, hits = 0;
    for (size_t first = 0; first < items->count; first += loader->rows) {
        const size_t left = items->count - first;
        const unsigned count = left < loader->rows_max ? (unsigned)left : loader->rows_max;
        if (data_loader_prepare(loader, network_pool(learner->network), items->item + first, count,
                                &order, err) ||
            reserve(room, loader, spec, err) ||
            learner_words(learner, loader, &loss, &tokens, &hits, room->logits, err))
            return err->code;
        const float *logits = room->logits;
        for (unsigned row = 0; row < count; row++) {
            count_row(judge, &loader->inputs[row], &loader->targets[row], logits, spec, room,
                      counts);
            logits += (size_t)loader->targets[row].count * spec->label_count;
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
    arena_init(&room.arena);
    if (!run_batches(judge, learner, loader, &room, &counts, out, err)) {
        span_counts_finish(&counts);
        out->span_f1 = counts.micro.rates.f1;
    }
    span_counts_close(&counts);
    arena_deinit(&room.arena);
    return err->code;
}
