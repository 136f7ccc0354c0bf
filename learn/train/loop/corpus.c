/* corpus.c - see corpus.h. Lists are read first, then labels, then the inputs themselves; the split
 * is made last. So errors in a list are reported before the first image is read. */
#include "learn/train/loop/corpus.h"

#include "engine/base/rng.h"
#include "learn/train/network/rng_streams.h"

#include <math.h>
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

static bool is_mlm(const struct train_options *options)
{
    return strcmp(options->task, "mlm") == 0;
}

static bool learns_numbers(const struct train_options *options)
{
    return strcmp(options->task, "regression") == 0;
}

static enum err_code open_list(struct corpus_part *part, const char *path,
                               const struct train_options *options, const struct spec *spec,
                               struct err *err)
{
    struct dataset_options fields = {.kind = spec->family->kind,
                                     .text_field = options->text_field,
                                     .image_field = options->image_field,
                                     .label_field = options->label_field,
                                     .labels_optional = is_mlm(options),
                                     .labels_many = options->multi_label || learns_numbers(options),
                                     .labels_numbers = learns_numbers(options),
                                     .line_documents = true};
    struct stat status;
    if (learns_numbers(options) && stat(path, &status) == 0 && S_ISDIR(status.st_mode))
        return err_set(err, ERR_UNUSABLE,
                       "%s: is a folder of classes; --task regression learns the numbers of a list "
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

/* Lists every usable input of a part. */
static enum err_code list_items(struct corpus *corpus, struct corpus_items *items,
                                const struct corpus_part *part, struct err *err)
{
    if (alloc_items(corpus, items, part, err))
        return err->code;
    for (size_t i = 0; i < part->dataset.count; i++) {
        const struct dataset_item *item = &part->dataset.items[i];
        size_t at = items->count;
        if (match(corpus, item->label, items->targets + at * corpus->outputs, &items->classes[at],
                  err))
            return err_prefix(err, "%.80s: ", item->name);
        if (samples_problem(part->samples, i) == NULL)
            items->item[items->count++] = i;
    }
    return ERR_OK;
}

/* Holds back a share of each class for validation, at least one input of a class that has two.
 * Within a class each input in turn is drawn with the probability that gives the right number in
 * the end (Knuth, The Art of Computer Programming 3.4.2, algorithm S). */
static enum err_code split(struct corpus *corpus, const struct train_options *options,
                           struct err *err)
{
    /* Inputs without a label are one more class. */
    size_t classes = corpus->labels.count + 1;
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

static enum err_code check_items(const struct corpus *corpus, struct err *err)
{
    if (corpus->train.count == 0 || corpus->validation.count == 0)
        return err_set(err, ERR_UNUSABLE, "%zu inputs to learn and %zu to judge by: too few%s",
                       corpus->train.count, corpus->validation.count,
                       labels_measured(&corpus->labels) > 0
                           ? ". Most labels are numbers, and each is a class of its own. If they "
                             "are measured values, give --task regression"
                           : "");
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

static enum err_code open_lists(struct corpus *corpus, const struct train_options *options,
                                const struct spec *spec, struct err *err)
{
    if (open_list(&corpus->parts[0], options->data, options, spec, err))
        return err->code;
    if (options->validation != NULL &&
        open_list(&corpus->parts[1], options->validation, options, spec, err))
        return err->code;
    const struct dataset *dataset = &corpus->parts[0].dataset;
    if (learns_numbers(options))
        numbers_open(&corpus->numbers, dataset, options->label_field, spec, &corpus->arena, err);
    else if (!is_mlm(options))
        labels_learn(&corpus->labels, dataset, options->multi_label, spec, &corpus->arena, err);
    corpus->outputs = corpus->labels.count + corpus->numbers.count;
    return err->code;
}

/* Reads the inputs of both parts again; the samples of an earlier reading are closed. */
static enum err_code read_parts(struct corpus *corpus, const struct spec *spec, const char *dir,
                                unsigned threads, const struct corpus_progress *progress,
                                struct err *err)
{
    for (unsigned i = 0; i < 2; i++) {
        struct corpus_part *part = &corpus->parts[i];
        samples_close(part->samples);
        part->samples = NULL;
        if (!part->is_open)
            continue;
        struct reading reading = {progress, part->dataset.count};
        struct samples_options options = {.threads = threads,
                                          .progress = progress->call != NULL ? pass_on : NULL,
                                          .context = &reading};
        if (samples_open(&part->samples, &part->dataset, spec, dir, &options, err))
            return err->code;
    }
    return ERR_OK;
}

/* Reads inputs, 16-bit grey images as --grey16 says. With auto the choice depends on the images'
 * contrast, which is known only after reading: they are read a second time if it is the other. */
static enum err_code read_as_wanted(struct corpus *corpus, const struct train_options *options,
                                    const struct spec *spec, const char *dir, unsigned threads,
                                    const struct corpus_progress *progress, struct err *err)
{
    struct spec reading = *spec;
    bool is_auto = strcmp(options->grey16, "auto") == 0;
    if (!is_auto)
        reading.grey16_minmax = strcmp(options->grey16, "minmax") == 0;
    if (read_parts(corpus, &reading, dir, threads, progress, err))
        return err->code;
    struct contrast_count count = samples_contrast(corpus->parts[0].samples);
    if (is_auto && !reading.grey16_minmax && contrast_wants_minmax(&count)) {
        corpus->chose_minmax = reading.grey16_minmax = true;
        if (read_parts(corpus, &reading, dir, threads, progress, err))
            return err->code;
    }
    corpus->grey16_minmax = reading.grey16_minmax;
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
                          const struct spec *spec, const char *dir, unsigned threads,
                          const struct corpus_progress *progress, struct err *err)
{
    *out = (struct corpus){0};
    arena_init(&out->arena);
    if (open_lists(out, options, spec, err))
        return err->code;
    if (read_as_wanted(out, options, spec, dir, threads, progress, err))
        return err->code;
    if (list_part(out, 0, &out->train, options->data, err))
        return err->code;
    if (options->validation != NULL)
        list_part(out, 1, &out->validation, options->validation, err);
    else
        split(out, options, err);
    if (err->code != ERR_OK || check_items(out, err))
        return err->code;
    return out->numbers.count > 0 ? scale_numbers(out, err) : ERR_OK;
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
