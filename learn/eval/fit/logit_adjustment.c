/* logit_adjustment.c - see logit_adjustment.h. For a class c an input's margin is the number that
 * must be added to c's logit for c to win. As the shift rises, inputs change to c in the order of
 * their margins, and each changes the counts of two classes. So a sweep costs a sort. */
#include "learn/eval/fit/logit_adjustment.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Counts of a class: inputs that have it, inputs that are answered with it, and both. */
struct tally {
    size_t support, given, hits;
};

/* The shift at which an input changes to class c. */
struct crossing {
    float margin;
    unsigned rival; /* the class that it changes from */
    unsigned label;
};

struct search {
    const struct calibration_set *set;
    float *shifts;
    struct tally *tallies;      /* [labels] */
    struct crossing *crossings; /* [count] */
};

static size_t row_of(const struct calibration_set *set, size_t i)
{
    return set->items != NULL ? set->items[i] : i;
}

/* The best label except `left_out` (label_count: none is left out). */
static unsigned winner(const struct search *search, size_t row, unsigned left_out)
{
    unsigned labels = search->set->label_count, best = left_out == 0 ? 1 : 0;
    const float *logits = search->set->logits + row * labels;
    for (unsigned k = best + 1; k < labels; k++)
        if (k != left_out && logits[k] + search->shifts[k] > logits[best] + search->shifts[best])
            best = k;
    return best;
}

/* Macro-F1 over the classes that occur as a label or as a winner (confusion.h). */
static double macro_f1(const struct tally *tallies, unsigned labels)
{
    double sum = 0, classes = 0;
    for (unsigned k = 0; k < labels; k++) {
        const size_t both = tallies[k].support + tallies[k].given;
        sum += both > 0 ? 2.0 * (double)tallies[k].hits / (double)both : 0;
        classes += both > 0;
    }
    return classes > 0 ? sum / classes : 0;
}

static void count(struct tally *tallies, unsigned label, unsigned given)
{
    tallies[label].support++;
    tallies[given].given++;
    tallies[given].hits += given == label;
}

static int by_margin(const void *a, const void *b)
{
    float x = ((const struct crossing *)a)->margin, y = ((const struct crossing *)b)->margin;
    return (x > y) - (x < y);
}

/* Computes the crossings of all inputs to class c, and the tallies if c never won. */
static void leave_out(struct search *search, unsigned c)
{
    const struct calibration_set *set = search->set;
    memset(search->tallies, 0, set->label_count * sizeof *search->tallies);
    for (size_t i = 0; i < set->count; i++) {
        size_t row = row_of(set, i);
        const float *logits = set->logits + row * set->label_count;
        unsigned rival = winner(search, row, c);
        float margin = logits[rival] + search->shifts[rival] - logits[c];
        search->crossings[i] = (struct crossing){margin, rival, set->classes[row]};
        count(search->tallies, set->classes[row], rival);
    }
    qsort(search->crossings, set->count, sizeof *search->crossings, by_margin);
}

/* Returns the best shift of class c; the current one unless another is better by more than
 * rounding.
 */
static double sweep(struct search *search, unsigned c, double current)
{
    const struct crossing *inputs = search->crossings;
    struct tally *tallies = search->tallies;
    size_t n = search->set->count;
    double best = current;
    float shift = search->shifts[c];
    leave_out(search, c);
    for (size_t i = 0; i < n; i++) {
        const unsigned rival = inputs[i].rival, label = inputs[i].label;
        tallies[rival].given--;
        tallies[rival].hits -= rival == label;
        tallies[c].given++;
        tallies[c].hits += c == label;
        float next = i + 1 < n ? inputs[i + 1].margin : inputs[i].margin + 1;
        float between = inputs[i].margin + (next - inputs[i].margin) / 2;
        if (!(between > inputs[i].margin) || fabsf(between) > LOGIT_ADJUSTMENT_MAX)
            continue;
        double value = macro_f1(tallies, search->set->label_count);
        if (value > best + 1e-9) {
            best = value;
            shift = between;
        }
    }
    search->shifts[c] = shift;
    return best;
}

static double measure(struct search *search)
{
    const struct calibration_set *set = search->set;
    memset(search->tallies, 0, set->label_count * sizeof *search->tallies);
    for (size_t i = 0; i < set->count; i++) {
        size_t row = row_of(set, i);
        count(search->tallies, set->classes[row], winner(search, row, set->label_count));
    }
    return macro_f1(search->tallies, set->label_count);
}

static double ascend(struct search *search)
{
    unsigned labels = search->set->label_count;
    memset(search->shifts, 0, labels * sizeof *search->shifts);
    double value = measure(search), before;
    for (unsigned round = 0; round < LOGIT_ADJUSTMENT_ROUNDS; round++) {
        before = value;
        for (unsigned c = 0; c < labels; c++)
            value = sweep(search, c, value);
        if (value <= before)
            break;
    }
    return value;
}

/* Counts every second input's winner by the shifts that were fitted on the other half. */
static double cross(struct search *search, size_t *half, struct tally *tallies)
{
    const struct calibration_set *set = search->set;
    for (size_t fold = 0; fold < 2; fold++) {
        struct calibration_set part = *set;
        part.items = half;
        part.count = 0;
        for (size_t i = 1 - fold; i < set->count; i += 2)
            half[part.count++] = row_of(set, i);
        search->set = &part;
        ascend(search);
        search->set = set;
        for (size_t i = fold; i < set->count; i += 2) {
            size_t row = row_of(set, i);
            count(tallies, set->classes[row], winner(search, row, set->label_count));
        }
    }
    return macro_f1(tallies, set->label_count);
}

enum err_code logit_adjustment_fit(struct logit_adjustment *out, const struct calibration_set *set,
                                   float *shifts, struct err *err)
{
    unsigned labels = set->label_count;
    struct search search = {.set = set,
                            .shifts = shifts,
                            .tallies = calloc(2 * labels, sizeof(struct tally)),
                            .crossings = calloc(set->count + 1, sizeof(struct crossing))};
    size_t *half = calloc(set->count + 1, sizeof *half);
    double sum = 0;
    *out = (struct logit_adjustment){0};
    if (search.tallies == NULL || search.crossings == NULL || half == NULL) {
        err_no_memory(err, set->count * sizeof(struct crossing));
        goto out;
    }
    out->crossed = cross(&search, half, search.tallies + labels);
    memset(shifts, 0, labels * sizeof *shifts);
    out->before = measure(&search);
    out->after = ascend(&search);
    for (unsigned k = 0; k < labels; k++)
        sum += shifts[k];
    for (unsigned k = 0; k < labels; k++)
        shifts[k] -= (float)(sum / labels);
out:
    free(half);
    free(search.crossings);
    free(search.tallies);
    return err->code;
}
