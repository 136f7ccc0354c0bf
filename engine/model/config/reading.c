/* reading.c - how a model reads its inputs beyond what its own files say: the members of attnd.json
 * that struct image_reading, long_text and token_pruning of reading.h hold. */
#include "engine/model/config/reading.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* ---- images ---- */

static const char *const reductions[] = {
    [REDUCTION_FILTER] = "filter", [REDUCTION_LINES] = "lines"};

const struct image_reading image_reading_default = {.views = 1};

bool image_reading_is_default(const struct image_reading *reading)
{
    return reading->views == 1 && reading->reduction == REDUCTION_FILTER;
}

const char *image_reduction_name(enum image_reduction reduction)
{
    return reductions[reduction];
}

bool image_reduction_find(const char *name, enum image_reduction *out)
{
    for (unsigned i = 0; i < sizeof reductions / sizeof reductions[0]; i++)
        if (strcmp(reductions[i], name) == 0) {
            *out = (enum image_reduction)i;
            return true;
        }
    return false;
}

enum err_code image_reading_read(struct image_reading *out, const struct json_t *object,
                                 struct err *err)
{
    const char *word = reductions[out->reduction];
    double views = out->views;
    if (doc_get_number(object, "$", "views", &views, err) ||
        doc_get_string(object, "$", "reduction", &word, err))
        return err->code;
    if (views != 1 && views != 2 && views != 4 && views != 8)
        return err_set(err, ERR_UNSUPPORTED, "$.views must be 1, 2, 4 or 8");
    out->views = (unsigned)views;
    if (!image_reduction_find(word, &out->reduction))
        return err_set(err, ERR_UNSUPPORTED, "$.reduction must be \"filter\" or \"lines\"");
    return ERR_OK;
}

/* ---- long texts ---- */

static const char *const poolings[] = {[WINDOW_MEAN] = "mean", [WINDOW_MAX] = "max"};

const char *window_pooling_name(enum window_pooling pooling)
{
    return poolings[pooling];
}

static enum err_code read_pooling(struct long_text *out, const struct json_t *object,
                                  struct err *err)
{
    const char *word = poolings[out->pooling];
    if (doc_get_string(object, "$", "window_pooling", &word, err))
        return err->code;
    for (unsigned i = 0; i < sizeof poolings / sizeof poolings[0]; i++)
        if (strcmp(poolings[i], word) == 0) {
            out->pooling = (enum window_pooling)i;
            return ERR_OK;
        }
    return err_set(err, ERR_UNSUPPORTED, "$.window_pooling must be \"mean\" or \"max\"");
}

enum err_code long_text_read(struct long_text *out, const struct json_t *object, struct err *err)
{
    const char *word = out->in_windows ? "windows" : "truncate";
    double stride = out->stride;
    if (doc_get_string(object, "$", "long_text", &word, err) ||
        doc_get_number(object, "$", "window_stride", &stride, err) ||
        read_pooling(out, object, err))
        return err->code;
    out->in_windows = strcmp(word, "windows") == 0;
    if (!out->in_windows && strcmp(word, "truncate") != 0)
        return err_set(err, ERR_UNSUPPORTED, "$.long_text must be \"truncate\" or \"windows\"");
    if (!(stride >= 0 && stride <= 1 << 20) || stride != (double)(unsigned)stride)
        return err_set(err, ERR_UNSUPPORTED, "$.window_stride must be a number of tokens");
    out->stride = (unsigned)stride;
    return ERR_OK;
}

/* ---- fewer tokens ---- */

static enum err_code check(const struct token_pruning *pruning, const char *path, struct err *err)
{
    if (pruning->full_layers == 0)
        return err_set(err, ERR_UNSUPPORTED, "%sfull_layers must be at least 1", path);
    if (!(pruning->share > 0 && pruning->share <= 1))
        return err_set(err, ERR_UNSUPPORTED, "%sshare must be above 0 and at most 1", path);
    return ERR_OK;
}

enum err_code token_pruning_read(struct token_pruning *out, const struct json_t *object,
                                 struct err *err)
{
    const struct json_t *member = doc_member(object, "token_pruning");
    long long layers = 0;
    if (member == NULL)
        return ERR_OK;
    if (strcmp(doc_type_name(member), "an object") != 0)
        return err_set(err, ERR_UNSUPPORTED, "$.token_pruning: expected an object, found %s",
                       doc_type_name(member));
    out->share = 0;
    if (doc_check_members(member, "$.token_pruning", "full_layers, share", err) ||
        doc_get_integer(member, "$.token_pruning", "full_layers", 1, 1 << 20, &layers, err) ||
        doc_get_number(member, "$.token_pruning", "share", &out->share, err))
        return err->code;
    out->full_layers = (unsigned)layers;
    return check(out, "$.token_pruning.", err);
}

enum err_code token_pruning_parse(struct token_pruning *out, const char *word, struct err *err)
{
    struct token_pruning read = {0};
    int end = 0;
    if (strcmp(word, "none") != 0 &&
        (strspn(word, "0123456789:.") != strlen(word) ||
         sscanf(word, "%9u:%lf%n", &read.full_layers, &read.share, &end) != 2 || word[end] != '\0'))
        return err_set(err, ERR_UNSUPPORTED,
                       "token_pruning: expected none or LAYERS:SHARE, as 2:0.28, not '%.40s'",
                       word);
    *out = read;
    return strcmp(word, "none") == 0 ? ERR_OK : check(out, "token_pruning: ", err);
}

/* Returns the bits of a float. Floats that are not negative have the order of their bits; a NaN is
 * above all. */
static uint32_t bits_of(float number)
{
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits & INT32_MAX;
}

static unsigned count_from(const float *numbers, unsigned count, uint32_t least)
{
    unsigned found = 0;
    for (unsigned i = 0; i < count; i++)
        found += bits_of(numbers[i]) >= least;
    return found;
}

void token_pruning_choose(unsigned *out, const float *received, unsigned tokens, unsigned always,
                          unsigned count)
{
    const float *others = received + always;
    const unsigned wanted = count - always;
    uint32_t least = 0; /* bits of the smallest number chosen, found from the highest bit on */
    for (uint32_t bit = UINT32_C(1) << 30; bit > 0; bit >>= 1)
        if (count_from(others, tokens - always, least | bit) >= wanted)
            least |= bit;
    unsigned equal = wanted - count_from(others, tokens - always, least + 1);
    for (unsigned t = 0; t < tokens; t++) {
        const uint32_t bits = bits_of(received[t]);
        const bool is_equal = t >= always && bits == least && equal > 0;
        if (t < always || bits > least || is_equal)
            *out++ = t;
        equal -= is_equal;
    }
}
