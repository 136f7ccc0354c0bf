/* explanations.h - measures on a data set how faithful a model's explanations are, for each method:
 * the run, and the figures that follow from it.
 *
 *     explanations_run(&explanations, &source, &options, &err);
 *     explanations_figures(&explanations, method, EXPLANATIONS_RIGHT, SCORE_PROBABILITY, &figures,
 *                          &err);
 *     explanations_close(&explanations);
 *
 * Each input is explained for the class that won, by every method of the server and by the two
 * references (faithfulness_*). Each explanation is judged by deletion and insertion, and by a mask
 * if the data set has one (localisation_*). Reports are made by explanations_report.h.
 *
 * Threads: the run uses options.threads of its own; the result is plain data.
 */
#ifndef ATTND_LEARN_EVAL_EXPLAIN_EXPLANATIONS_H
#define ATTND_LEARN_EVAL_EXPLAIN_EXPLANATIONS_H

#include "engine/engine.h"
#include "learn/data/dataset.h"
#include "learn/eval/explain/probe.h"
#include "learn/eval/measure/evaluation.h"
#include "learn/eval/measure/interval.h"

#include <stdint.h>

/* Measures whether an explanation names the parts that the answer depends on:
 * deletion and insertion (Petsiuk, Das and Saenko 2018, "RISE"; for words DeYoung et al. 2020,
 * "ERASER").
 *
 *     faithfulness_order(relevance, parts, seed, order);
 *     faithfulness_ask(&scorer, order, parts, kept, &curves);
 *     scorer.flush(scorer.context);
 *     faithfulness_end(&curves, whole, empty);
 *     faithfulness_area(curves.deletion, SCORE_PROBABILITY);
 *
 * Parts are ranked by relevance. Deletion removes the most relevant parts first; a faithful ranking
 * makes the score fall early, so the area under the curve is small. Insertion starts without any
 * part and adds the most relevant first; a faithful ranking gives a large area. Each area alone
 * depends on what replaces removed parts, so methods are compared by insertion minus deletion.
 *
 * There are two references. A random order explains nothing. Occlusion (Zeiler and Fergus 2014)
 * removes each part alone, and the fall of the score is its relevance. It needs as many runs of the
 * model as there are parts, a cost that attention avoids.
 *
 * Threads: pure functions; a scorer is one thread's.
 */

/* The score at 0, 5, 10 ... 100 % of the parts. */
enum { FAITHFULNESS_STEPS = 20, FAITHFULNESS_POINTS = FAITHFULNESS_STEPS + 1 };

struct faithfulness_curves {
    struct score deletion[FAITHFULNESS_POINTS], insertion[FAITHFULNESS_POINTS];
};

/* order [parts]: the most relevant part first; equal parts in a random order from the seed, so that
 * their positions do not matter. relevance [parts], finite. */
void faithfulness_order(const float *relevance, unsigned parts, uint64_t seed, unsigned *order);
/* order [parts]: a random order; all are equally likely. */
void faithfulness_random_order(unsigned parts, uint64_t seed, unsigned *order);

/* Asks for all points but the first and the last, which are the same for every order. kept [parts]
 * is scratch. */
void faithfulness_ask(const struct scorer *scorer, const unsigned *order, unsigned parts,
                      bool *kept, struct faithfulness_curves *out);
/* Sets the first and the last points: the scores of the whole input and of the empty one. */
void faithfulness_end(struct faithfulness_curves *curves, struct score whole, struct score empty);

/* Asks for the input without each of its parts: without [parts]. kept [parts] is scratch. */
void faithfulness_ask_occlusion(const struct scorer *scorer, unsigned parts, bool *kept,
                                struct score *without);
/* relevance [parts]: the fall of the log-odds. It ranks parts as the fall of the probability does,
 * and distinguishes parts that the probability's rounding makes equal. */
void faithfulness_occlusion(struct score whole, const struct score *without, unsigned parts,
                            float *relevance);

/* The area under points[FAITHFULNESS_POINTS] over 0 .. 1, by trapezoids. */
double faithfulness_area(const struct score *points, enum score_scale scale);

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

/* Measures whether an explanation points to a defect's known position.
 *
 *     localisation_read_mask(path, image_width, image_height, &arena, &mask, &err);
 *     count = localisation_patches(&mask, &view, marked);
 *     found = localisation_measure(order, marked, count);
 *
 * Pointing game (Zhang et al. 2018, "Excitation backprop"): 1 if the most relevant patch touches
 * the mask. IoU: intersection over union of the mask's patches and the same number of most relevant
 * patches, so that no threshold must be chosen.
 *
 * Threads: pure functions.
 */

struct localisation_mask {
    unsigned width, height;
    const bool *marked; /* [height][width] */
};

/* Reads a picture of exactly the image's size; pixels that are at least half white are marked.
 * The mask lies in the arena. ERR_UNUSABLE if it has another size or marks nothing; ERR_IO; the
 * error begins with the path. */
enum err_code localisation_read_mask(const char *path, unsigned width, unsigned height,
                                     struct arena *arena, struct localisation_mask *out,
                                     struct err *err);

/* marked [rows][columns]: a patch is marked if it contains the centre of a marked pixel, or if its
 * own centre lies in a marked pixel (for maps so small that a pixel is wider than a patch). Returns
 * the number of marked patches. */
unsigned localisation_patches(const struct localisation_mask *mask, const struct patches_view *view,
                              bool *marked);

struct localisation {
    bool pointed;
    double iou;
};

/* order [patches] by relevance; marked_count >= 1 of marked [patches]. */
struct localisation localisation_measure(const unsigned *order, const bool *marked,
                                         unsigned marked_count);

#endif
