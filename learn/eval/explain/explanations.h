/* explanations.h - measures on a data set how faithful a model's explanations are, for each method:
 * the run, and the figures that follow from it.
 *
 *     explanations_run(&explanations, &source, &options, &err);
 *     explanations_figures(&explanations, method, EXPLANATIONS_RIGHT, SCORE_PROBABILITY, &figures,
 *                          &err);
 *     explanations_close(&explanations);
 *
 * Each input is explained for the class that won, by every method of the server and by the two
 * references (faithfulness.h). Each explanation is judged by deletion and insertion, and by a mask
 * if the data set has one (localisation.h). Reports are made by explanations_report.h.
 *
 * Threads: the run uses options.threads of its own; the result is plain data.
 */
#ifndef ATTND_LEARN_EVAL_EXPLAIN_EXPLANATIONS_H
#define ATTND_LEARN_EVAL_EXPLAIN_EXPLANATIONS_H

#include "engine/engine.h"
#include "learn/data/dataset.h"
#include "learn/eval/explain/faithfulness.h"
#include "learn/eval/explain/localisation.h"
#include "learn/eval/measure/evaluation.h"
#include "learn/eval/measure/interval.h"

/* Ways to rank the parts of an input: enum explain_method, then the references. */
enum { METHOD_RANDOM = EXPLAIN_LABEL_METHODS, METHOD_OCCLUSION, EXPLANATIONS_METHODS };

const char *explanations_method_name(unsigned method);

enum { EXPLANATIONS_GALLERY_MAX = 12 };

struct explanations_options {
    unsigned inputs_max; /* at least 1 */
    enum perturbation_fill fill;
    uint64_t seed; /* for the choice of inputs, random orders and the order of equal parts */
    unsigned threads;
    /* Called between inputs with the number of inputs done; NULL: not called. */
    void (*progress)(void *context, size_t done);
    void *context;
};

/* The model and the inputs to explain; borrowed. */
struct explanations_source {
    const struct engine_model *model;
    const struct dataset *dataset;
    const struct evaluation *evaluation; /* tells which inputs can be used */
    const unsigned *classes;             /* [dataset->count] */
};

struct explanations_areas {
    double deletion[SCORE_SCALES], insertion[SCORE_SCALES];
    double iou;    /* with a mask */
    double points; /* 1 if the most relevant patch touches the mask; random orders: the mean */
};

/* One input, explained by every method. */
struct explained {
    size_t item;
    unsigned label, winner, parts;
    double marked; /* share of patches in the mask; 0: there is no mask */
    struct explanations_areas methods[EXPLANATIONS_METHODS];
};

/* An input to be shown: relevance [parts] of each method but the random one. */
struct explanations_exhibit {
    const struct explained *explained;
    struct explanation shape; /* view or words: where the parts lie */
    const float *relevance[EXPLANATIONS_METHODS];
};

struct explanations {
    struct explanations_source source;
    struct explanations_options options;
    struct explained *inputs; /* [count] in the data set's order */
    size_t count;
    /* Sums over inputs, and the time of each method and of the inference. */
    struct faithfulness_curves curves[EXPLANATIONS_METHODS];
    double ms[EXPLANATIONS_METHODS]; /* after the inference; attnd-bench measures what keeping
                                      * attention adds to that */
    double inference_ms;             /* with all attention kept */
    struct explanations_exhibit gallery[EXPLANATIONS_GALLERY_MAX];
    unsigned gallery_count;
    struct arena arena;
};

/* ERR_UNUSABLE if a mask does not fit its image, before anything is computed; ERR_IO,
 * ERR_NO_MEMORY. Close it in any case. */
enum err_code explanations_run(struct explanations *out, const struct explanations_source *source,
                               const struct explanations_options *options, struct err *err);
void explanations_close(struct explanations *explanations);

/* The inputs that a figure is over: all; those that the model got right; those of them that have a
 * mask; or those of one class: EXPLANATIONS_CLASS + label. */
enum { EXPLANATIONS_ALL, EXPLANATIONS_RIGHT, EXPLANATIONS_MASKED, EXPLANATIONS_CLASS };

struct explanations_figure {
    double mean;
    struct interval interval; /* 95 %, over inputs */
};

struct explanations_figures {
    size_t count; /* inputs */
    struct explanations_figure deletion, insertion, difference;
    struct explanations_figure gain; /* the difference minus that of random, input by input */
    struct explanations_figure points, iou; /* for EXPLANATIONS_MASKED: with a mask and right */
};

enum err_code explanations_figures(const struct explanations *explanations, unsigned method,
                                   unsigned over, enum score_scale scale,
                                   struct explanations_figures *out, struct err *err);
/* Returns the number of inputs with a mask, right or not. *marked is the mean share of patches in
 * the masks of the right ones, which a random point reaches. */
size_t explanations_masked(const struct explanations *explanations, double *marked);
/* Number of inputs that the model got right; mean over inputs of a sum of milliseconds. */
size_t explanations_right(const struct explanations *explanations);
double explanations_mean_ms(const struct explanations *explanations, double sum);

#endif
