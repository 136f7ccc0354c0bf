/* exposition.c - see exposition.h. One pass over the lines fills two arrays, families and samples;
 * a second pass over the samples checks what needs several lines: duplicates and histograms. The
 * first problem found is written down and ends the parse. */
#include "tests/support/exposition.h"

#include "engine/base/arena.h"
#include "engine/base/utf8.h"

#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FAMILIES_MAX = 128, LABELS_MAX = 16 };

struct family {
    char *name, *type;
    bool has_help, has_samples;
};

struct sample {
    int family;
    char *series; /* as written: name{labels} */
    char *suffix; /* "", "_bucket", "_sum", "_count" */
    char *group;  /* the labels but for le */
    double le;    /* NaN: none */
    double value;
};

struct exposition {
    struct arena arena;
    struct family families[FAMILIES_MAX];
    int family_count;
    struct sample *samples;
    size_t sample_count, sample_max;
    char *problem;
    size_t line;
};

static bool fail(struct exposition *page, const char *what, const char *which)
{
    snprintf(page->problem, EXPOSITION_PROBLEM_BYTES, "line %zu: %s: %.150s", page->line, what,
             which);
    return false;
}

static size_t name_bytes(const char *text, bool colon)
{
    size_t len = 0;
    while (isalpha((unsigned char)text[len]) || text[len] == '_' || (colon && text[len] == ':') ||
           (len > 0 && isdigit((unsigned char)text[len])))
        len++;
    return len;
}

/* ---- comment lines --------------------------------------------------------- */

static struct family *family_named(struct exposition *page, const char *name, size_t len)
{
    for (int i = 0; i < page->family_count; i++) {
        struct family *family = &page->families[i];
        if (strlen(family->name) == len && memcmp(family->name, name, len) == 0)
            return i == page->family_count - 1 ? family : NULL; /* NULL: in two places */
    }
    if (page->family_count == FAMILIES_MAX)
        return NULL;
    struct family *family = &page->families[page->family_count++];
    family->name = arena_copy(&page->arena, name, len);
    return family;
}

static bool check_type(struct exposition *page, const struct family *family)
{
    size_t len = strlen(family->name);
    bool total = len > 6 && strcmp(family->name + len - 6, "_total") == 0;
    if (strcmp(family->type, "counter") == 0)
        return total || fail(page, "counter without _total", family->name);
    if (total)
        return fail(page, "_total that is no counter", family->name);
    return strcmp(family->type, "gauge") == 0 || strcmp(family->type, "histogram") == 0 ||
           fail(page, "unknown type", family->type);
}

static bool read_comment(struct exposition *page, const char *line)
{
    bool help = strncmp(line, "# HELP ", 7) == 0;
    if (!help && strncmp(line, "# TYPE ", 7) != 0)
        return fail(page, "neither HELP nor TYPE", line);
    size_t len = name_bytes(line + 7, true);
    if (len == 0 || line[7 + len] != ' ')
        return fail(page, "bad metric name", line);
    struct family *family = family_named(page, line + 7, len);
    if (family == NULL)
        return fail(page, "family in two places", line);
    if (family->has_samples || (help ? family->has_help : family->type != NULL))
        return fail(page, "HELP or TYPE again or late", line);
    const char *rest = line + 8 + len;
    if (help) {
        for (const char *at = strchr(rest, '\\'); at != NULL; at = strchr(at + 2, '\\'))
            if (at[1] != '\\' && at[1] != 'n')
                return fail(page, "bad escape in HELP", line);
        family->has_help = true;
        return *rest != '\0' || fail(page, "empty HELP", line);
    }
    family->type = arena_copy(&page->arena, rest, strlen(rest));
    return check_type(page, family);
}

/* ---- sample lines ---------------------------------------------------------- */

/* The value between quotes that begins at *at; moves *at past the closing quote. */
static bool read_label_value(struct exposition *page, const char **at)
{
    for (; **at != '"'; (*at)++) {
        if (**at == '\0')
            return fail(page, "label value without end", "");
        if (**at == '\\' && strchr("\\\"n", *++*at) == NULL)
            return fail(page, "bad escape", *at);
        if (**at == '\0')
            return fail(page, "label value ends in a backslash", "");
    }
    (*at)++;
    return true;
}

static bool read_label(struct exposition *page, struct sample *sample, const char **at)
{
    const char *name = *at;
    size_t len = name_bytes(name, false);
    if (len == 0 || (len > 1 && name[0] == '_' && name[1] == '_'))
        return fail(page, "bad label name", name);
    *at += len;
    if ((*at)[0] != '=' || (*at)[1] != '"')
        return fail(page, "no =\" after a label name", name);
    *at += 2;
    const char *value = *at;
    if (!read_label_value(page, at))
        return false;
    if (len == 2 && memcmp(name, "le", 2) == 0) {
        char *end;
        sample->le = strtod(value, &end);
        return end == *at - 1 || fail(page, "le is no number", value);
    }
    const char *pair = arena_format(&page->arena, ",%.*s", (int)(len + 2), name);
    if (pair == NULL || strstr(sample->group, pair) != NULL)
        return fail(page, "label twice", name);
    sample->group = arena_format(&page->arena, "%s,%.*s", sample->group, (int)(*at - name), name);
    return true;
}

static bool read_labels(struct exposition *page, struct sample *sample, const char **at)
{
    if (**at != '{')
        return true;
    (*at)++;
    for (int i = 0; i < LABELS_MAX; i++) {
        if (!read_label(page, sample, at))
            return false;
        if (*(*at)++ == '}')
            return true;
        if ((*at)[-1] != ',')
            return fail(page, "no comma between labels", *at - 1);
    }
    return fail(page, "too many labels", sample->series);
}

static bool find_family(struct exposition *page, struct sample *sample, const char *name,
                        size_t len)
{
    if (page->family_count == 0)
        return fail(page, "sample before HELP and TYPE", name);
    struct family *family = &page->families[page->family_count - 1];
    if (family->type == NULL || !family->has_help)
        return fail(page, "sample before HELP and TYPE", name);
    size_t family_len = strlen(family->name);
    if (len < family_len || memcmp(family->name, name, family_len) != 0)
        return fail(page, "sample of another family", name);
    sample->suffix = arena_copy(&page->arena, name + family_len, len - family_len);
    bool histogram = strcmp(family->type, "histogram") == 0;
    bool bucket = strcmp(sample->suffix, "_bucket") == 0;
    bool known = histogram ? bucket || strcmp(sample->suffix, "_sum") == 0 ||
                                 strcmp(sample->suffix, "_count") == 0
                           : sample->suffix[0] == '\0';
    sample->family = page->family_count - 1;
    family->has_samples = true;
    return known || fail(page, "wrong suffix", name);
}

static bool read_value(struct exposition *page, struct sample *sample, const char *at)
{
    char *end;
    if (at[0] != ' ' || isspace((unsigned char)at[1]) || at[1] == '\0')
        return fail(page, "one space, then a value", at);
    sample->value = strtod(at + 1, &end);
    if (*end != '\0')
        return fail(page, "bad value, or more after it", at);
    const struct family *family = &page->families[sample->family];
    bool gauge = strcmp(family->type, "gauge") == 0;
    bool bucket = strcmp(sample->suffix, "_bucket") == 0;
    if (!isnan(sample->le) != bucket)
        return fail(page, "le belongs to buckets and nothing else", sample->series);
    bool sum = strcmp(sample->suffix, "_sum") == 0; /* judged with its buckets */
    return gauge || (isfinite(sample->value) && (sum || sample->value >= 0)) ||
           fail(page, "negative or infinite", sample->series);
}

static struct sample *new_sample(struct exposition *page)
{
    if (page->sample_count == page->sample_max) {
        size_t max = page->sample_max * 2 + 256;
        struct sample *more = realloc(page->samples, max * sizeof *more);
        if (more == NULL)
            return NULL;
        page->samples = more;
        page->sample_max = max;
    }
    struct sample *sample = &page->samples[page->sample_count++];
    *sample = (struct sample){.group = arena_copy(&page->arena, "", 0), .le = NAN};
    return sample;
}

static bool read_sample(struct exposition *page, const char *line)
{
    const char *at = line;
    struct sample *sample = new_sample(page);
    size_t len = name_bytes(line, true);
    if (sample == NULL || len == 0)
        return fail(page, "bad metric name", line);
    sample->series = arena_copy(&page->arena, line, len);
    at += len;
    if (!find_family(page, sample, line, len) || !read_labels(page, sample, &at))
        return false;
    sample->series = arena_copy(&page->arena, line, (size_t)(at - line));
    return read_value(page, sample, at);
}

/* ---- across lines ---------------------------------------------------------- */

static int compare_series(const void *left, const void *right)
{
    const struct sample *const *a = left, *const *b = right;
    return strcmp((*a)->series, (*b)->series);
}

static bool check_duplicates(struct exposition *page)
{
    size_t count = page->sample_count;
    const struct sample **order = calloc(count + 1, sizeof *order);
    bool good = order != NULL;
    for (size_t i = 0; good && i < count; i++)
        order[i] = &page->samples[i];
    if (good)
        qsort(order, count, sizeof *order, compare_series);
    for (size_t i = 1; good && i < count; i++)
        if (strcmp(order[i - 1]->series, order[i]->series) == 0)
            good = fail(page, "series twice", order[i]->series);
    free(order);
    return good;
}

/* Buckets, sum and count of one group stand in this order; *at moves past them. */
static bool check_histogram(struct exposition *page, size_t *at)
{
    const struct sample *first = &page->samples[*at];
    double bound = -INFINITY, count = 0;
    for (; *at < page->sample_count; (*at)++) {
        const struct sample *sample = &page->samples[*at];
        if (strcmp(sample->suffix, "_bucket") != 0 || strcmp(sample->group, first->group) != 0)
            break;
        if (sample->le <= bound || sample->value < count)
            return fail(page, "bounds or counts do not rise", sample->series);
        bound = sample->le;
        count = sample->value;
    }
    if (bound != INFINITY || page->sample_count - *at < 2)
        return fail(page, "no +Inf, _sum or _count", first->series);
    const struct sample *sum = &page->samples[(*at)++], *total = &page->samples[(*at)++];
    if (strcmp(sum->suffix, "_sum") != 0 || strcmp(total->suffix, "_count") != 0 ||
        strcmp(sum->group, first->group) != 0 || strcmp(total->group, first->group) != 0)
        return fail(page, "no _sum, then _count", first->series);
    if (sum->value < 0 && first->le >= 0)
        return fail(page, "negative sum of what is not negative", sum->series);
    return total->value == count || fail(page, "+Inf is not _count", total->series);
}

static bool check_samples(struct exposition *page)
{
    for (size_t i = 0; i < page->sample_count;) {
        const struct family *family = &page->families[page->samples[i].family];
        if (strcmp(family->type, "histogram") != 0)
            i++;
        else if (!check_histogram(page, &i))
            return false;
    }
    return check_duplicates(page);
}

static bool read_lines(struct exposition *page, char *text, size_t len)
{
    for (size_t at = 0; at < len; page->line++) {
        char *line = text + at, *end = memchr(line, '\n', len - at);
        if (end == NULL)
            return fail(page, "last line without line feed", line);
        *end = '\0';
        at = (size_t)(end - text) + 1;
        if (strlen(line) != (size_t)(end - line))
            return fail(page, "NUL", line);
        if (line[0] == '#' ? !read_comment(page, line) : !read_sample(page, line))
            return false;
    }
    return true;
}

static bool check_utf8(struct exposition *page, const char *text, size_t len)
{
    for (size_t at = 0, bytes; at < len; at += bytes)
        if ((bytes = utf8_character_bytes(text + at, len - at)) == 0)
            return fail(page, "invalid UTF-8", "");
    return true;
}

struct exposition *exposition_parse(const char *text, size_t len,
                                    char problem[EXPOSITION_PROBLEM_BYTES])
{
    struct exposition *page = calloc(1, sizeof *page);
    if (page == NULL)
        return NULL;
    arena_init(&page->arena);
    page->problem = problem;
    page->line = 1;
    char *copy = arena_copy(&page->arena, text, len);
    if (copy != NULL && check_utf8(page, copy, len) && read_lines(page, copy, len) &&
        check_samples(page))
        return page;
    exposition_free(page);
    return NULL;
}

void exposition_free(struct exposition *page)
{
    arena_deinit(&page->arena);
    free(page->samples);
    free(page);
}

double exposition_value(const struct exposition *page, const char *series)
{
    for (size_t i = 0; i < page->sample_count; i++)
        if (strcmp(page->samples[i].series, series) == 0)
            return page->samples[i].value;
    return -1;
}

size_t exposition_samples(const struct exposition *page)
{
    return page->sample_count;
}

bool exposition_has_family(const struct exposition *page, const char *name)
{
    for (int i = 0; i < page->family_count; i++)
        if (strcmp(page->families[i].name, name) == 0)
            return page->families[i].has_samples;
    return false;
}
