/* localisation.h - measures whether an explanation points to a defect's known position.
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
#ifndef ATTND_LEARN_EVAL_EXPLAIN_LOCALISATION_H
#define ATTND_LEARN_EVAL_EXPLAIN_LOCALISATION_H

#include "engine/engine.h"

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
