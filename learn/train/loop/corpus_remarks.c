#include "learn/train/loop/corpus_remarks.h"

#include "engine/base/doc.h"
#include "engine/base/file.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { CLASSES_MAX = 8, FEW = 10, CONFIG_BYTES_MAX = 64 << 20 };

/* ---- inputs ---- */

static void print_left_out(const struct corpus *corpus, FILE *file)
{
    char sentence[DATASET_SENTENCE_BYTES];
    for (unsigned i = 0; i < 2; i++) {
        dataset_describe_left_out(&corpus->parts[i].dataset, sentence);
        if (sentence[0] != '\0')
            fprintf(file, "note: of %s %s\n", i == 0 ? "--data" : "--validation", sentence);
    }
}

static void print_contrast(const struct corpus *corpus, FILE *file)
{
    struct contrast_count count = samples_contrast(corpus->parts[0].samples);
    if (corpus->chose_minmax)
        fprintf(file,
                "note: the 16-bit images use less than a quarter of their range (12 bits in 16?): "
                "each is stretched to its own range, here and when served (\"grey16\": \"minmax\" "
                "in attnd.json); --grey16 range leaves them as they are\n");
    else if (contrast_wants_minmax(&count))
        fprintf(file,
                "note: %zu of %zu 16-bit images use less than a quarter of the range: the model "
                "will see little of them; --grey16 minmax stretches each to its own range\n",
                count.grey16_narrow, count.grey16);
    else if (contrast_is_low(&count))
        fprintf(
            file,
            "note: %zu of %zu images use less than a quarter of the grey levels: the model "
            "will see little of them; stretch their contrast before, the same way for serving\n",
            count.dull, count.images);
}

enum err_code corpus_remarks_print_defaults(const struct spec *spec, const char *dir, FILE *file,
                                            struct err *err)
{
    enum { SIZE_KEYS = 3 };
    const struct family *family = spec->family;
    /* The keys that give a model's sizes; a family has no others. Families with stages have the
     * keys of config/stage_config.c. */
    const char *const keys[SIZE_KEYS] = {family->has_stages ? "embed_dim" : family->key_hidden,
                                         family->has_stages ? "depths" : family->key_layers,
                                         family->key_mlp_ratio != NULL ? family->key_mlp_ratio
                                                                       : family->key_intermediate};
    unsigned missing = 0;
    struct json_t *config;
    char path[PATH_MAX];
    if (file_path(path, dir, "config.json", err) ||
        doc_parse_file(&config, path, CONFIG_BYTES_MAX, err))
        return err->code;
    while (missing < SIZE_KEYS && doc_member(config, keys[missing]) != NULL)
        missing++;
    if (missing < SIZE_KEYS)
        fprintf(file,
                "note: config.json does not say %s: Hugging Face's default is taken, %u blocks %u "
                "wide; --model %s is a small model\n",
                keys[missing], spec->layers, spec->hidden,
                family->kind == ENGINE_IMAGE ? "vit-small" : "bert-small");
    doc_free(config);
    return ERR_OK;
}

/* ---- classes ---- */

/* Prints `before` and the classes with fewer than `few` inputs as "a (3), b (0)", at most
 * CLASSES_MAX. Returns how many such classes there are. */
static unsigned list_classes(const struct corpus *corpus, const struct corpus_items *items,
                             size_t few, const char *before, FILE *file)
{
    unsigned found = 0;
    for (unsigned c = 0; c < corpus->labels.count; c++) {
        size_t count = 0, labels = corpus->labels.count;
        for (size_t i = 0; i < items->count; i++)
            count += items->targets[i * labels + c] > 0;
        if (count >= few)
            continue;
        if (found < CLASSES_MAX)
            fprintf(file, "%s'%s' (%zu)", found == 0 ? before : ", ", corpus->labels.name[c],
                    count);
        found++;
    }
    if (found > CLASSES_MAX)
        fprintf(file, " and %u more", found - CLASSES_MAX);
    return found;
}

static void print_numbers(const struct labels *labels, FILE *file)
{
    const unsigned numbers = labels_measured(labels);
    if (numbers > 0)
        fprintf(
            file,
            "warning: %u of %u labels are numbers, and each is learnt as a class of its own. If "
            "they are measured values, give --task regress\n",
            numbers, labels->count);
}

/* True for labels that differ only in the case of ASCII letters and in blanks. */
static bool is_alike(const char *a, const char *b)
{
    for (;; a++, b++) {
        a += strspn(a, " \t");
        b += strspn(b, " \t");
        if (*a == '\0' || tolower((unsigned char)*a) != tolower((unsigned char)*b))
            return *a == *b;
    }
}

/* Names the first pair of classes that a spreadsheet's reader takes for one. */
static void print_alike(const struct labels *labels, FILE *file)
{
    unsigned pairs = 0, first = 0, second = 0;
    for (unsigned c = 0; c < labels->count; c++)
        for (unsigned d = 0; d < c; d++)
            if (is_alike(labels->name[c], labels->name[d]) && pairs++ == 0) {
                first = d;
                second = c;
            }
    if (pairs > 0)
        fprintf(file,
                "warning: '%s' and '%s' differ only in blanks or case, and are learnt as two "
                "classes (%u such pairs): write them alike if they are one\n",
                labels->name[first], labels->name[second], pairs);
}

static void print_classes(const struct corpus *corpus, FILE *file)
{
    print_alike(&corpus->labels, file);
    if (list_classes(corpus, &corpus->train, FEW, "note: classes with few inputs to learn: ", file))
        fprintf(file, "; label at least %d of each, or make them one class\n", FEW);
    if (list_classes(corpus, &corpus->validation, 1, "note: nothing to judge by: ", file))
        fputs("; how well these are told will not be known: label at least two of each\n", file);
}

/* ---- spans ---- */

static void print_misfits(const struct corpus *corpus, FILE *file)
{
    for (unsigned i = 0; i < 2; i++) {
        const struct corpus_part *part = &corpus->parts[i];
        size_t first, misfits = part->is_open ? samples_misfits(part->samples, &first) : 0;
        if (misfits > 0)
            fprintf(file,
                    "note: %zu spans of %s do not begin and end where the model's tokens do (the "
                    "first: %.80s), and cannot be answered exactly: take white space off their "
                    "ends, or a vocabulary whose pieces are shorter\n",
                    misfits, i == 0 ? "--data" : "--validation", part->dataset.items[first].name);
    }
}

/* ---- inputs on both sides ---- */

struct card {
    uint64_t digest;
    size_t item;
};

static int compare(const void *left, const void *right)
{
    const struct card *a = left, *b = right;
    if (a->digest != b->digest)
        return a->digest < b->digest ? -1 : 1;
    return (a->item > b->item) - (a->item < b->item);
}

static const struct card *find(const struct card *cards, size_t count, uint64_t digest)
{
    size_t low = 0;
    while (count > 0) {
        size_t half = count / 2;
        bool goes_on = cards[low + half].digest < digest;
        low += goes_on ? half + 1 : 0;
        count = goes_on ? count - half - 1 : half;
    }
    return cards + low; /* the first that is not smaller */
}

static const char *name_of(const struct corpus_items *items, size_t item)
{
    return items->part->dataset.items[item].name;
}

static enum err_code print_doubles(const struct corpus *corpus, FILE *file, struct err *err)
{
    const struct corpus_items *train = &corpus->train, *validation = &corpus->validation;
    size_t found = 0, learnt = 0, judged = 0;
    struct card *cards = calloc(train->count, sizeof *cards);
    if (cards == NULL)
        return err_no_memory(err, train->count * sizeof *cards);
    for (size_t i = 0; i < train->count; i++)
        cards[i] =
            (struct card){samples_digest(train->part->samples, train->item[i]), train->item[i]};
    qsort(cards, train->count, sizeof *cards, compare);
    for (size_t i = 0; i < validation->count; i++) {
        uint64_t digest = samples_digest(validation->part->samples, validation->item[i]);
        const struct card *at = find(cards, train->count, digest);
        if (at == cards + train->count || at->digest != digest)
            continue;
        if (found++ == 0) {
            learnt = at->item;
            judged = validation->item[i];
        }
    }
    if (found > 0)
        fprintf(file,
                "note: %zu of %zu inputs to judge by are also learnt (%.80s is the same as %.80s): "
                "figures will flatter; drop what is there twice, or give --validation inputs of "
                "other lots\n",
                found, validation->count, name_of(validation, judged), name_of(train, learnt));
    free(cards);
    return ERR_OK;
}

enum err_code corpus_remarks_print(const struct corpus *corpus, FILE *file, struct err *err)
{
    print_left_out(corpus, file);
    print_contrast(corpus, file);
    if (corpus->tags.count > 0)
        print_misfits(corpus, file);
    if (corpus->numbers.count == 0) {
        print_numbers(&corpus->labels, file);
        print_classes(corpus, file);
    }
    return print_doubles(corpus, file, err);
}
