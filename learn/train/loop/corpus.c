/* corpus.c - see corpus.h. Lists are read first, then labels, then the inputs themselves; the split
 * is made last. So errors in a list are reported before the first image is read. */
#include "learn/train/loop/corpus.h"

#include "engine/base/rng.h"
#include "learn/data/number_label.h"
#include "learn/train/network/rng_streams.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- a part ---- */

struct reading {
    const struct corpus_progress *progress;
    size_t total;
};

static void pass_on(void *context, size_t done)
{
    const struct reading *reading = context;
    reading->progress->call(reading->progress->context, done, reading->total);
}

static bool learns_numbers(const struct train_options *options)
{
    return train_task(options) == TRAIN_REGRESS || train_task(options) == TRAIN_PAIR;
}

/* The member that stands in place of `label`, unless --label-field names another one. */
static const char *other_of(const struct train_options *options)
{
    const enum train_task task = train_task(options);
    if (strcmp(options->label_field, "label") != 0)
        return NULL;
    return task == TRAIN_MULTI_LABEL                        ? "labels"
           : learns_numbers(options) || task == TRAIN_EMBED ? "value"
                                                            : NULL;
}

static enum err_code open_list(struct corpus_part *part, const char *path,
                               const struct train_options *options, const struct spec *spec,
                               struct err *err)
{
    const enum train_task task = train_task(options);
    struct dataset_options fields = {.kind = spec->family->kind,
                                     .text_field = options->text_field,
                                     .image_field = options->image_field,
                                     .label_field = options->label_field,
                                     .label_other = other_of(options),
                                     .labels_optional = task == TRAIN_MLM || task == TRAIN_EMBED,
                                     .labels_many = options->multi_label || learns_numbers(options),
                                     .labels_numbers = learns_numbers(options),
                                     .reads_spans = task == TRAIN_TAG,
                                     .reads_targets = task == TRAIN_WRITE,
                                     .line_documents = true};
    struct stat status;
    if (learns_numbers(options) && stat(path, &status) == 0 && S_ISDIR(status.st_mode))
        return err_set(err, ERR_UNUSABLE,
                       "%s: is a folder of classes; --task regress learns the numbers of a list "
                       "(.jsonl, .ndjson or .csv)",
                       path);
    part->is_open = true;
    return dataset_open(&part->dataset, path, &fields, err);
}

/* ---- items ---- */

static enum err_code alloc_items(struct corpus *corpus, struct corpus_items *items,
                                 const struct corpus_part *part, struct err *err)
{
    size_t count = part->dataset.count, outputs = corpus->outputs;
    items->part = part;
    items->item = arena_alloc_array(&corpus->arena, count, sizeof *items->item);
    items->classes = arena_alloc_array(&corpus->arena, count, sizeof *items->classes);
    items->targets = arena_alloc_array(&corpus->arena, count * outputs + 1, sizeof(float));
    if (items->item == NULL || items->classes == NULL || items->targets == NULL)
        return err_no_memory(err, count * outputs * sizeof(float));
    return ERR_OK;
}

/* Writes the targets of one input, which has class 0 if they are numbers. */
static enum err_code match(const struct corpus *corpus, const char *label, float *targets,
                           unsigned *class, struct err *err)
{
    if (corpus->numbers.count > 0)
        return numbers_match(&corpus->numbers, label, targets, err);
    if (corpus->labels.count > 0)
        return labels_match(&corpus->labels, label, targets, class, err);
    return ERR_OK;
}

/* True if an input can be used, and, if it is one of a pair, the other too. */
static bool is_usable(const struct corpus *corpus, const struct corpus_part *part, size_t item)
{
    return samples_problem(part->samples, item) == NULL &&
           (!corpus->groups.are_pairs || samples_problem(part->samples, item ^ 1) == NULL);
}

/* Lists every usable input of a part. */
static enum err_code list_items(struct corpus *corpus, struct corpus_items *items,
                                const struct corpus_part *part, struct err *err)
{
    const unsigned *groups = corpus->groups.of[part - corpus->parts];
    if (alloc_items(corpus, items, part, err))
        return err->code;
    for (size_t i = 0; i < part->dataset.count; i++) {
        const struct dataset_item *item = &part->dataset.items[i];
        size_t at = items->count;
        if (match(corpus, item->label, items->targets + at * corpus->outputs, &items->classes[at],
                  err))
            return err_prefix(err, "%.80s: ", item->name);
        if (groups != NULL)
            items->classes[at] = groups[i];
        if (is_usable(corpus, part, i))
            items->item[items->count++] = i;
    }
    return ERR_OK;
}

/* The class of each text is the label of its spans that the fewest texts have; of a text without
 * spans it is tags.count. So no label has all of its texts held back, or only by a rare accident,
 * which check_items finds. */
static enum err_code class_by_rarest(const struct corpus *corpus, struct corpus_items *items,
                                     struct err *err)
{
    const struct tag_set *tags = &corpus->tags;
    const struct dataset_item *from = items->part->dataset.items;
    size_t *texts = calloc(2 * (size_t)tags->count, sizeof *texts), *last = texts + tags->count;
    if (texts == NULL)
        return err_no_memory(err, 2 * tags->count * sizeof *texts);
    for (size_t i = 0; i < items->count; i++) {
        const struct dataset_item *item = &from[items->item[i]];
        for (unsigned s = 0; s < item->span_count; s++) {
            const unsigned label = tag_set_find(tags, item->spans[s].label);
            texts[label] += last[label] != i + 1;
            last[label] = i + 1;
        }
    }
    for (size_t i = 0; i < items->count; i++) {
        const struct dataset_item *item = &from[items->item[i]];
        items->classes[i] = tags->count;
        for (unsigned s = 0; s < item->span_count; s++) {
            const unsigned label = tag_set_find(tags, item->spans[s].label);
            if (items->classes[i] == tags->count || texts[label] < texts[items->classes[i]])
                items->classes[i] = label;
        }
    }
    free(texts);
    return ERR_OK;
}

/* Holds back a share of each class for validation, at least one input of a class that has two.
 * Within a class each input in turn is drawn with the probability that gives the right number in
 * the end (Knuth, The Art of Computer Programming 3.4.2, algorithm S). */
static enum err_code split(struct corpus *corpus, const struct train_options *options,
                           struct err *err)
{
    /* Inputs without a label are one more class. */
    size_t classes = corpus->labels.count + corpus->groups.count + corpus->tags.count + 1;
    const size_t outputs = corpus->outputs;
    struct corpus_items all = corpus->train;
    size_t *left = arena_alloc_array(&corpus->arena, classes, sizeof *left);
    size_t *wanted = arena_alloc_array(&corpus->arena, classes, sizeof *wanted);
    if (left == NULL || wanted == NULL)
        return err_no_memory(err, classes * sizeof *left);
    if (alloc_items(corpus, &corpus->validation, all.part, err))
        return err->code;
    for (size_t i = 0; i < all.count; i++)
        left[all.classes[i]]++;
    for (size_t c = 0; c < classes; c++) {
        wanted[c] = (size_t)lround((double)left[c] * options->validation_share);
        wanted[c] += wanted[c] == 0 && left[c] > 1;
    }
    struct rng rng = rng_for(options->seed, STREAM_SPLIT, 0);
    corpus->train.count = 0;
    for (size_t i = 0; i < all.count; i++) {
        unsigned c = all.classes[i];
        bool held_back = rng_below(&rng, (uint32_t)left[c]--) < wanted[c];
        wanted[c] -= held_back;
        struct corpus_items *to = held_back ? &corpus->validation : &corpus->train;
        to->item[to->count] = all.item[i];
        to->classes[to->count] = c;
        memmove(to->targets + to->count * outputs, all.targets + i * outputs,
                outputs * sizeof *to->targets);
        to->count++;
    }
    return ERR_OK;
}

/* Holds back a share of the groups of pairs, so that no text is on both sides. */
static enum err_code split_pairs(struct corpus *corpus, const struct train_options *options,
                                 struct err *err)
{
    const unsigned groups = corpus->groups.count;
    struct corpus_items all = corpus->train;
    bool *held_back = arena_alloc_array(&corpus->arena, groups, sizeof *held_back);
    bool *is_there = arena_alloc_array(&corpus->arena, groups, sizeof *is_there);
    size_t left = 0;
    if (held_back == NULL || is_there == NULL)
        return err_no_memory(err, groups * sizeof *held_back);
    if (alloc_items(corpus, &corpus->validation, all.part, err))
        return err->code;
    for (size_t i = 0; i < all.count; i++) {
        left += !is_there[all.classes[i]];
        is_there[all.classes[i]] = true;
    }
    size_t wanted = (size_t)lround((double)left * options->validation_share);
    wanted += wanted == 0 && left > 1;
    struct rng rng = rng_for(options->seed, STREAM_SPLIT, 0);
    for (unsigned g = 0; g < groups; g++) {
        held_back[g] = is_there[g] && rng_below(&rng, (uint32_t)left--) < wanted;
        wanted -= held_back[g];
    }
    corpus->train.count = 0;
    for (size_t i = 0; i < all.count; i++) {
        struct corpus_items *to = held_back[all.classes[i]] ? &corpus->validation : &corpus->train;
        to->item[to->count] = all.item[i];
        to->classes[to->count++] = all.classes[i];
    }
    return ERR_OK;
}

/* An embedding learns from two texts that belong together, and is judged by two. */
static enum err_code check_groups(const struct corpus *corpus, const struct corpus_items *items,
                                  const char *what, struct err *err)
{
    bool found = false, differ = false;
    bool *seen = calloc(corpus->groups.count, sizeof *seen);
    if (seen == NULL)
        return err_no_memory(err, corpus->groups.count * sizeof *seen);
    for (size_t i = 0; i < items->count; i++) {
        const unsigned group = items->classes[i];
        found = found || seen[group];
        differ = differ || group != items->classes[0];
        seen[group] = true;
    }
    free(seen);
    if (found && differ)
        return ERR_OK;
    return err_set(err, ERR_UNUSABLE, "the inputs to %s have no two %s", what,
                   found                      ? "groups to tell apart"
                   : corpus->groups.are_pairs ? "texts that belong together"
                                              : "texts with the same label");
}

/* Every label of a span is learnt. */
static enum err_code check_tags(const struct corpus *corpus, struct err *err)
{
    const struct corpus_items *train = &corpus->train;
    for (unsigned c = 0; c < corpus->tags.count; c++) {
        bool found = false;
        for (size_t i = 0; i < train->count && !found; i++) {
            const struct dataset_item *item = &train->part->dataset.items[train->item[i]];
            for (unsigned s = 0; s < item->span_count && !found; s++)
                found = strcmp(item->spans[s].label, corpus->tags.name[c]) == 0;
        }
        if (!found)
            return err_set(err, ERR_UNUSABLE,
                           "no usable text to learn has a span with the label '%.80s'",
                           corpus->tags.name[c]);
    }
    return ERR_OK;
}

static enum err_code check_items(const struct corpus *corpus, struct err *err)
{
    if (corpus->train.count == 0 || corpus->validation.count == 0)
        return err_set(err, ERR_UNUSABLE, "%zu inputs to learn and %zu to judge by: too few%s",
                       corpus->train.count, corpus->validation.count,
                       labels_measured(&corpus->labels) > 0
                           ? ". Most labels are numbers, and each is a class of its own. If they "
                             "are measured values, give --task regress"
                           : "");
    if (corpus->tags.count > 0)
        return check_tags(corpus, err);
    if (corpus->groups.count > 0)
        return check_groups(corpus, &corpus->train, "learn", err)
                   ? err->code
                   : check_groups(corpus, &corpus->validation, "judge by", err);
    for (unsigned c = 0; c < corpus->labels.count; c++) {
        bool found = false;
        for (size_t i = 0; i < corpus->train.count && !found; i++)
            found = corpus->train.targets[i * corpus->labels.count + c] > 0;
        if (!found)
            return err_set(err, ERR_UNUSABLE, "no usable input to learn has the label '%.80s'",
                           corpus->labels.name[c]);
    }
    return ERR_OK;
}

/* Standardises the targets of both parts by those of the inputs to learn. */
static enum err_code scale_numbers(struct corpus *corpus, struct err *err)
{
    struct corpus_items *train = &corpus->train, *validation = &corpus->validation;
    if (numbers_fit(&corpus->numbers, train->targets, train->count, &corpus->arena, err))
        return err->code;
    numbers_standardise(&corpus->numbers, train->targets, train->count);
    numbers_standardise(&corpus->numbers, validation->targets, validation->count);
    return ERR_OK;
}

/* ---- all ---- */

/* Each input is two texts and a number from 0 to 1. */
static enum err_code check_pairs(struct dataset *const datasets[GROUPS_PARTS],
                                 const struct train_options *options, struct err *err)
{
    const char *const paths[] = {options->data, options->validation};
    for (unsigned p = 0; p < GROUPS_PARTS; p++)
        for (size_t i = 0; datasets[p] != NULL && i < datasets[p]->count; i++) {
            const struct dataset_item *item = &datasets[p]->items[i];
            double number;
            if (item->pair == NULL)
                err_set(err, ERR_UNUSABLE, "it has no text_pair, and --task pair learns pairs");
            else if (!number_label_read(item->label, &number, 1, err) &&
                     !(number >= 0 && number <= 1))
                err_set(err, ERR_UNUSABLE, "the number %g is not from 0 to 1", number);
            if (err->code != ERR_OK)
                return err_prefix(err, "%s: %.80s: ", paths[p], item->name);
        }
    return ERR_OK;
}

/* Labels of spans are those of the inputs to learn. */
static enum err_code take_tags(struct corpus *corpus, struct dataset *const datasets[GROUPS_PARTS],
                               const struct train_options *options, const struct spec *spec,
                               struct err *err)
{
    if (tag_set_learn(&corpus->tags, datasets[0], spec, &corpus->arena, err))
        return err_prefix(err, "%s: ", options->data);
    if (datasets[1] != NULL && tag_set_check(&corpus->tags, datasets[1], err))
        return err_prefix(err, "%s: ", options->validation);
    return ERR_OK;
}

static enum err_code open_lists(struct corpus *corpus, const struct train_options *options,
                                const struct spec *spec, struct err *err)
{
    if (open_list(&corpus->parts[0], options->data, options, spec, err))
        return err->code;
    if (options->validation != NULL &&
        open_list(&corpus->parts[1], options->validation, options, spec, err))
        return err->code;
    const struct dataset *dataset = &corpus->parts[0].dataset;
    const enum train_task task = train_task(options);
    struct dataset *const both[GROUPS_PARTS] = {
        &corpus->parts[0].dataset, options->validation != NULL ? &corpus->parts[1].dataset : NULL};
    if (task == TRAIN_EMBED)
        groups_open(&corpus->groups, both, &corpus->arena, err);
    else if (task == TRAIN_REGRESS)
        numbers_open(&corpus->numbers, dataset, options->label_field, spec, &corpus->arena, err);
    else if (task == TRAIN_PAIR && !check_pairs(both, options, err))
        numbers_open(&corpus->numbers, dataset, "score", spec, &corpus->arena, err);
    else if (task == TRAIN_PAIR)
        return err->code;
    else if (task == TRAIN_TAG)
        take_tags(corpus, both, options, spec, err);
    else if (task != TRAIN_MLM && task != TRAIN_WRITE)
        labels_learn(&corpus->labels, dataset, options->multi_label, spec, &corpus->arena, err);
    corpus->outputs = corpus->labels.count + corpus->numbers.count;
    return err->code;
}

/* Reads the inputs of both parts again; the samples of an earlier reading are closed. */
static enum err_code read_parts(struct corpus *corpus, const struct train_options *how,
                                const struct spec *spec, const struct samples_writing *writing,
                                const char *dir, unsigned threads,
                                const struct corpus_progress *progress, struct err *err)
{
    for (unsigned i = 0; i < 2; i++) {
        struct corpus_part *part = &corpus->parts[i];
        samples_close(part->samples);
        part->samples = NULL;
        if (!part->is_open)
            continue;
        struct reading reading = {progress, part->dataset.count};
        struct samples_options options = {.threads = threads,
                                          .usable_min = how->usable_min,
                                          .writing = writing,
                                          .tags = corpus->tags.count > 0 ? &corpus->tags : NULL,
                                          .progress = progress->call != NULL ? pass_on : NULL,
                                          .context = &reading};
        if (samples_open(&part->samples, &part->dataset, spec, dir, &options, err))
            return err->code;
    }
    return ERR_OK;
}

static enum err_code list_part(struct corpus *corpus, unsigned part, struct corpus_items *items,
                               const char *path, struct err *err)
{
    if (list_items(corpus, items, &corpus->parts[part], err))
        return err_prefix(err, "%s: ", path);
    return ERR_OK;
}

enum err_code corpus_open(struct corpus *out, const struct train_options *options,
                          const struct spec *spec, const struct samples_writing *writing,
                          const char *dir, unsigned threads, const struct corpus_progress *progress,
                          struct err *err)
{
    *out = (struct corpus){0};
    arena_init(&out->arena);
    if (open_lists(out, options, spec, err))
        return err->code;
    /* --grey16 says how 16-bit grey images are read. With auto the choice depends on the images'
     * contrast, which is known only after reading: they are read a second time if it is the
     * other. */
    struct spec reading = *spec;
    bool is_auto = strcmp(options->grey16, "auto") == 0 && writing == NULL;
    if (!is_auto)
        reading.grey16_minmax = strcmp(options->grey16, "minmax") == 0;
    if (read_parts(out, options, &reading, writing, dir, threads, progress, err))
        return err->code;
    struct contrast_count count = samples_contrast(out->parts[0].samples);
    if (is_auto && !reading.grey16_minmax && contrast_wants_minmax(&count)) {
        out->chose_minmax = reading.grey16_minmax = true;
        if (read_parts(out, options, &reading, writing, dir, threads, progress, err))
            return err->code;
    }
    out->grey16_minmax = reading.grey16_minmax;
    if (list_part(out, 0, &out->train, options->data, err) ||
        (out->tags.count > 0 && class_by_rarest(out, &out->train, err)))
        return err->code;
    if (options->validation != NULL)
        list_part(out, 1, &out->validation, options->validation, err);
    else if (out->groups.are_pairs)
        split_pairs(out, options, err);
    else
        split(out, options, err);
    if (err->code != ERR_OK || check_items(out, err))
        return err->code;
    return train_task(options) == TRAIN_REGRESS ? scale_numbers(out, err) : ERR_OK;
}

void corpus_close(struct corpus *corpus)
{
    for (unsigned i = 0; i < 2; i++) {
        samples_close(corpus->parts[i].samples);
        if (corpus->parts[i].is_open)
            dataset_close(&corpus->parts[i].dataset);
    }
    arena_deinit(&corpus->arena);
    *corpus = (struct corpus){0};
}

enum err_code corpus_mates(const struct groups *groups, const struct corpus_items *items,
                           size_t *mates, struct err *err)
{
    size_t *next = calloc(groups->count + 1, sizeof *next); /* of a group: its place + 1 */
    size_t *last = calloc(groups->count + 1, sizeof *last);
    if (next == NULL || last == NULL)
        err_no_memory(err, groups->count * sizeof *next);
    for (size_t i = items->count; err->code == ERR_OK && i-- > 0;) {
        const unsigned group = items->classes[i];
        mates[i] = next[group] > 0 ? next[group] - 1 : SIZE_MAX;
        next[group] = i + 1;
        if (last[group] == 0)
            last[group] = i + 1;
    }
    for (size_t i = 0; err->code == ERR_OK && i < items->count; i++) {
        const unsigned group = items->classes[i];
        if (groups->are_pairs)
            mates[i] = i % 2 == 0 ? i + 1 : SIZE_MAX;
        else if (last[group] == i + 1 && next[group] < i + 1)
            mates[i] = next[group] - 1;
    }
    free(next);
    free(last);
    return err->code;
}

enum err_code corpus_view(struct corpus *corpus, const struct corpus_items *items,
                          struct dataset *out, struct err *err)
{
    const struct dataset *dataset = &items->part->dataset;
    *out = (struct dataset){.kind = dataset->kind, .count = items->count};
    out->items = arena_alloc_array(&corpus->arena, items->count, sizeof *out->items);
    if (out->items == NULL)
        return err_no_memory(err, items->count * sizeof *out->items);
    for (size_t i = 0; i < items->count; i++)
        out->items[i] = dataset->items[items->item[i]];
    return ERR_OK;
}
