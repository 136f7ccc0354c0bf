#include "learn/eval/measure/confusion.h"

#include <assert.h>
#include <stdlib.h>

enum err_code confusion_open(struct confusion *out, unsigned class_count, struct err *err)
{
    *out = (struct confusion){.class_count = class_count};
    size_t cells = (size_t)class_count * class_count;
    out->matrix = calloc(cells, sizeof *out->matrix);
    out->classes = calloc(class_count, sizeof *out->classes);
    if (out->matrix == NULL || out->classes == NULL)
        return err_no_memory(err, cells * sizeof *out->matrix);
    return ERR_OK;
}

void confusion_close(struct confusion *confusion)
{
    free(confusion->matrix);
    free(confusion->classes);
    *confusion = (struct confusion){0};
}

void confusion_add(struct confusion *confusion, unsigned label, unsigned winner)
{
    assert(label < confusion->class_count && winner < confusion->class_count);
    confusion->matrix[(size_t)label * confusion->class_count + winner]++;
}

static double ratio(size_t part, size_t whole)
{
    return whole > 0 ? (double)part / (double)whole : 0.0;
}

void confusion_finish(struct confusion *confusion)
{
    double f1_sum = 0.0;
    unsigned n = confusion->class_count;
    for (unsigned label = 0; label < n; label++) {
        for (unsigned winner = 0; winner < n; winner++) {
            size_t inputs = confusion->matrix[(size_t)label * n + winner];
            confusion->classes[label].support += inputs;
            confusion->classes[winner].predicted += inputs;
            confusion->classes[label].hits += label == winner ? inputs : 0;
        }
    }
    for (unsigned i = 0; i < n; i++) {
        struct confusion_class *class = &confusion->classes[i];
        class->precision = ratio(class->hits, class->predicted);
        class->recall = ratio(class->hits, class->support);
        class->f1 = ratio(2 * class->hits, class->support + class->predicted);
        confusion->count += class->support;
        confusion->hits += class->hits;
        confusion->macro_classes += class->support + class->predicted > 0;
        f1_sum += class->f1;
    }
    confusion->accuracy = ratio(confusion->hits, confusion->count);
    confusion->macro_f1 = confusion->macro_classes > 0 ? f1_sum / confusion->macro_classes : 0.0;
}
