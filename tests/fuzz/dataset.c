/* Lists of labelled inputs. The first byte chooses the form and the questions. A list that can be
 * read also teaches labels. */
#include "learn/data/dataset.h"

#include "engine/base/utf8.h"
#include "learn/data/tag_set.h"
#include "learn/train/loop/corpus.h"
#include "tests/fuzz/driver/fuzz.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[] = {"list.jsonl", "list.csv", "list.txt"};

static void check_label(const char *label, bool may_be_none)
{
    size_t len = strlen(label), bytes;
    FUZZ_CLAIM(len > 0 || may_be_none);
    for (size_t at = 0; at < len; at += bytes) {
        bytes = utf8_character_bytes(label + at, len - at);
        FUZZ_CLAIM(bytes > 0);
    }
}

static void check_spans(const struct dataset_item *item)
{
    const size_t characters = utf8_count(item->input, item->input_len);
    FUZZ_CLAIM(item->label == NULL && item->pair == NULL);
    for (unsigned s = 0; s < item->span_count; s++) {
        const struct dataset_span *span = &item->spans[s];
        check_label(span->label, false);
        FUZZ_CLAIM(strcmp(span->label, "O") != 0);
        FUZZ_CLAIM(span->start < span->end && span->end <= characters);
        FUZZ_CLAIM(s == 0 || span[-1].end <= span->start);
    }
}

static void check_items(const struct dataset *dataset, const struct dataset_options *options)
{
    volatile unsigned char sum = 0;
    FUZZ_CLAIM(dataset->count >= 1);
    FUZZ_CLAIM(options->items_max == 0 || dataset->count <= options->items_max);
    for (size_t i = 0; i < dataset->count; i++) {
        const struct dataset_item *item = &dataset->items[i];
        FUZZ_CLAIM(item->name != NULL && item->input != NULL);
        FUZZ_CLAIM(options->labels_optional || options->reads_spans || item->label != NULL);
        if (options->reads_spans)
            check_spans(item);
        if (item->label != NULL)
            check_label(item->label, options->labels_many);
        if (dataset->kind == ENGINE_IMAGE)
            FUZZ_CLAIM(item->input_len > 0 && strlen(item->input) == item->input_len);
        for (size_t j = 0; j < item->input_len; j++)
            sum = (unsigned char)(sum + (unsigned char)item->input[j]);
    }
}

static void learn(const struct dataset *dataset, bool several)
{
    static const struct spec spec = {.label_count = 0};
    static float targets[SPEC_LABELS_MAX];
    struct labels labels;
    struct arena arena;
    struct err err = {0};
    unsigned first = 0;
    arena_init(&arena);
    bool learnt = labels_learn(&labels, dataset, several, &spec, &arena, &err) == ERR_OK;
    for (size_t i = 0; learnt && i < dataset->count; i++) {
        const char *label = dataset->items[i].label;
        FUZZ_CLAIM(labels_match(&labels, label, targets, &first, &err) == ERR_OK);
        FUZZ_CLAIM(first == labels.count ? several && label[0] == '\0' : targets[first] == 1);
    }
    bool is_there = false; /* an input may have it, too */
    for (unsigned i = 0; learnt && i < labels.count; i++)
        is_there = is_there || strcmp(labels.name[i], "no such label") == 0;
    if (learnt && !is_there)
        FUZZ_CLAIM(labels_match(&labels, "no such label", targets, &first, &err) != ERR_OK);
    for (unsigned i = 1; learnt && i < labels.count; i++)
        FUZZ_CLAIM(strcmp(labels.name[i - 1], labels.name[i]) < 0);
    fuzz_check_err(&err);
    arena_deinit(&arena);
}

/* Each of the first characters is a token: no span within them is a misfit, and all its tokens are
 * marked. */
static void mark(const struct tag_set *set, const struct dataset_item *item)
{
    enum { TOKENS = 64 };
    uint32_t starts[TOKENS], ends[TOKENS];
    int32_t tags[TOKENS];
    const size_t characters = utf8_count(item->input, item->input_len);
    const struct tag_tokens tokens = {.starts = starts,
                                      .ends = ends,
                                      .count = characters < TOKENS ? (unsigned)characters : TOKENS,
                                      .is_cut = characters > TOKENS};
    for (unsigned t = 0; t < TOKENS; t++) {
        starts[t] = t;
        ends[t] = t + 1;
    }
    const unsigned misfits = tag_set_mark(set, item, &tokens, tags);
    FUZZ_CLAIM(misfits <= (characters > TOKENS)); /* one may go beyond the last token */
    for (unsigned s = 0; s < item->span_count; s++)
        for (uint32_t t = item->spans[s].start; t < item->spans[s].end && t < tokens.count; t++)
            FUZZ_CLAIM(strcmp(set->name[set->label_of[tags[t]]], item->spans[s].label) == 0);
}

static void learn_spans(const struct dataset *dataset)
{
    static const struct spec spec = {.label_count = 0};
    struct tag_set set, again;
    struct arena arena;
    struct err err = {0};
    arena_init(&arena);
    if (tag_set_learn(&set, dataset, &spec, &arena, &err) == ERR_OK) {
        FUZZ_CLAIM(tag_set_check(&set, dataset, &err) == ERR_OK);
        FUZZ_CLAIM(tag_set_of(&again, set.tags, set.tag_count, &arena, &err) == ERR_OK);
        FUZZ_CLAIM(again.count == set.count);
        for (size_t i = 0; i < dataset->count; i++)
            mark(&set, &dataset->items[i]);
    }
    fuzz_check_err(&err);
    arena_deinit(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    unsigned choice = fuzz_byte(&input);
    struct dataset_options options = {.kind = (choice & 4) != 0 ? ENGINE_IMAGE : ENGINE_TEXT,
                                      .labels_optional = (choice & 8) != 0,
                                      .labels_many = (choice & 64) != 0,
                                      .reads_spans = (choice & 4) == 0 && (choice & 128) != 0,
                                      .line_documents = (choice & 16) != 0,
                                      .items_max = (choice & 32) != 0 ? 2 : 0};
    struct dataset dataset;
    struct err err = {0};
    const char *path = fuzz_file(names[choice % 4 % 3], input.at, input.left);
    if (dataset_open(&dataset, path, &options, &err) == ERR_OK) {
        check_items(&dataset, &options);
        if (options.reads_spans)
            learn_spans(&dataset);
        else if (!options.labels_optional)
            learn(&dataset, (choice & 64) != 0);
    }
    fuzz_check_err(&err);
    dataset_close(&dataset);
    return 0;
}
