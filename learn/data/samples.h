/* samples.h - a data set in memory, read once and prepared any number of times: each time with
 * other augmentation, at another image size, from another window of a text.
 *
 *     struct samples_options options = {.threads = 2};
 *     samples_open(&samples, &dataset, &spec, "models/wafer-vit", &options, &err);
 *     struct samples_view view = {.image_size = {72, 72}, .augment = {.mirror = 0.5f, .turn = 1}};
 *     struct rng rng = rng_for(seed, epoch, item);
 *     samples_input(samples, item, &view, &rng, &arena, &input, &err);
 *     samples_close(samples);
 *
 * Images are decoded once and kept as 8-bit pixels at their own size, one byte a pixel if they are
 * grey; texts are kept as word pieces, four bytes each, and the places where lines begin. A pair of
 * texts is cut as serving cuts it; windows and left out lines are of single texts. What
 * comes out is what serving prepares (the same code): without an rng, at the model's own size or
 * length and from the head, an input is bit-identical with engine_prepare's, but for
 * character offsets, which are NULL here.
 *
 * Threads: open uses options.threads of its own; then immutable: any number of threads may prepare,
 * each with its own rng and arena.
 */
#ifndef ATTND_LEARN_DATA_SAMPLES_H
#define ATTND_LEARN_DATA_SAMPLES_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/base/rng.h"
#include "engine/model/input.h"
#include "engine/model/spec.h"
#include "learn/data/contrast.h"
#include "learn/data/dataset.h"
#include "learn/data/tag_set.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Data augmentation: random changes of an image that keep its label.
 *
 *     struct augment augment = {.mirror = 0.5f, .turn = 1, .shift = 0.05f, .die_noise = 0.02f};
 *     augment_apply(&augment, &pixels, &rng, room, &changed);
 *
 * It works on 8-bit pixels at their own size, before any resize, so that a die stays one pixel. A
 * wafer map has three grey values: no die (0), pass and fail. die_* change only wafer maps; noise,
 * brightness and contrast change only other images (SEM, photographs). The same rng gives the same
 * result.
 *
 * Threads: pure functions of their arguments.
 */

/* Every rate is from 0 (off: nothing is drawn) to 1. */
struct augment {
    float mirror;    /* probability of exchanging left and right */
    float turn;      /* with this probability one of 0, 1, 2, 3 quarter turns, all as likely */
    float spin;      /* with this probability by any angle, die by die about the middle, all angles
                        as likely; the wafer's outline stays */
    float shift;     /* in x and in y up to this share of the side, in whole pixels, uniform; what
                        comes in is 0 */
    float die_noise; /* a die changes between pass and fail; the image's probability is uniform
                        from 0 to this */
    float die_dropout; /* a fail becomes a pass; drawn in the same way */
    float noise;       /* Gaussian, its deviation uniform from 0 to this share of white */
    float brightness;  /* grey + b x 255, b uniform within plus and minus this */
    float contrast;    /* (grey - mean) x c + mean, c uniform within 1 plus and minus this */
};

/* 8-bit pixels, [height, width, channels]; channels 1 or 3. */
struct augment_pixels {
    unsigned width, height, channels;
    const unsigned char *values;
    unsigned char pass, fail; /* a wafer map's grey values; both 0: it is no wafer map */
};

/* Sets pass and fail. A wafer map has one channel and the value 0 plus exactly two other values, of
 * which the smaller is pass (WM-811K's 0, 127, 255), or just two of WM-811K's three: a map without
 * a fail, without a pass or without a corner. Any other image is no map, also one with one value.
 */
void augment_detect_map(struct augment_pixels *pixels);

/* `room` must have width x height x channels bytes, twice as many if spin is not 0, and must not be
 * the source. `out` lies in it; after a quarter turn width and height are exchanged. The order of
 * random draws, each only if its rate is not 0, is: spin, mirror, turn, shift x and y, then die
 * noise and die dropout, or brightness, contrast and noise. Cost: one pass for the spin, one for
 * the other geometry, one for the rest. */
void augment_apply(const struct augment *augment, const struct augment_pixels *in, struct rng *rng,
                   unsigned char *room, struct augment_pixels *out);

struct samples;

/* How the texts of a model that writes are read. Sources are cut at tokens_max, as serving cuts
 * them. A target that has more tokens than the decoder reads cannot be used: cut, it would teach to
 * end too early. */
struct samples_writing {
    const struct spec *target; /* the decoder's */
    int32_t start;       /* the token that a decoder reads first; -1: a target's last, which is
                                  mBART's */
    unsigned tokens_max; /* of a source, special ones included; 0: the model's */
    const char *source_language, *target_language; /* codes of the tokenizers'; NULL: the usual */
};

struct samples_options {
    unsigned threads;    /* at least 1 */
    size_t pixels_max;   /* a larger image is shrunk to this many pixels, its shape kept, and then
                            is no longer bit-identical; 0: 2^19 (724 x 724) */
    unsigned pieces_max; /* word pieces kept of a text; 0: 8192 */
    double usable_min;   /* dataset_check_usable's */
    const struct samples_writing *writing; /* of a model that writes texts; NULL: it is another */
    const struct tag_set *tags; /* of the texts' spans, which all have a label of it; NULL: none */
    /* Called by the opening thread with the number of items done; NULL: not called. */
    void (*progress)(void *context, size_t done);
    void *context;
};

/* How to prepare an item. All zeros: as serving does. */
struct samples_view {
    struct extent image_size; /* at least a patch; height 0: the model's */
    struct extent patch;      /* height 0: the model's */
    struct augment augment;   /* images, with an rng only */

    unsigned tokens_max; /* [CLS] and [SEP] included; 0 or above the model's: the model's */
    /* A text with more pieces than that: a window drawn at random instead of the first, all as
     * likely; with an rng only. Windows are consecutive and cover the text; the last ends with it,
     * and overlaps with the one before so as to be full. */
    bool any_window;
    /* Several windows of such a text, each `window_stride` pieces (0: as many as fit) behind the
     * one before: all of them, or if there are more than `windows`, so many: with an rng at random,
     * else spread evenly. 0: one alone, as above. */
    unsigned windows, window_stride;
    /* Each line from where reading begins is left out with a probability that is drawn for the
     * text from 0 .. line_dropout; later lines move up. If no line is left, all stay. With an rng
     * only. */
    float line_dropout;
    float word_dropout; /* each piece becomes [MASK] (in a vocabulary without it: [UNK]) with this
                           probability, with an rng only */
};

/* The tokens of an input that are to be predicted, ascending places in it, and what belongs there:
 * ids of words for masked language modelling, tags for a model of tags. In the arena. A text to
 * write has no places: all tokens that the decoder reads are answered. */
struct samples_targets {
    unsigned count; /* masked: at least 1, unless every piece of the window is a special token */
    const unsigned *places;
    const int32_t *ids;
    const bool *touches; /* tags: nothing is between it and the one before */
};

/* Reads every item. `dir` is the model's, for preprocessor_config.json or the tokenizer's files. An
 * item that cannot be used fails alone (samples_problem); ERR_UNUSABLE, with the first one's
 * problem, if all do, or more than usable_min allows. ERR_NO_MEMORY and ERR_IO while an item is
 * read are failures of the system and end the call: a model must not be trained on fewer inputs
 * because of them. The data set and the spec are not needed afterwards, but the spec's `sentence`.
 * An embedding's texts get its default prompt. Yours to close. */
enum err_code samples_open(struct samples **out, const struct dataset *dataset,
                           const struct spec *spec, const char *dir,
                           const struct samples_options *options, struct err *err);
void samples_close(struct samples *samples);

/* How many items cannot be used, and the first of them (the number of items if none). */
size_t samples_failed(const struct samples *samples, size_t *first);
/* Why an item cannot be used; NULL if it can. */
const char *samples_problem(const struct samples *samples, size_t item);

/* digest.h; 0 for an item that cannot be used. */
uint64_t samples_digest(const struct samples *samples, size_t item);

/* How many spans do not begin and end where tokens do (tag_set_mark), and the first item with one
 * (the number of items if none). */
size_t samples_misfits(const struct samples *samples, size_t *first);

/* Counts the images that can be used; zeros for texts. */
struct contrast_count samples_contrast(const struct samples *samples);

/* ERR_UNSUPPORTED if the view's window_stride does not go with the length of its windows. */
enum err_code samples_check_windows(const struct samples *samples, const struct samples_view *view,
                                    struct err *err);

/* Tokens of the longest text in a view, special ones of all its windows included, or of an image at
 * its size. */
unsigned samples_tokens_max(const struct samples *samples, const struct samples_view *view);

/* Tokens of the longest text to write; 0: the model is another. */
unsigned samples_target_tokens(const struct samples *samples);

/* Prepares one item; `rng` NULL: no augmentation, no dropout. Arrays live in the arena.
 * ERR_UNUSABLE for an item with a problem and for an image_size below a patch. */
enum err_code samples_input(const struct samples *samples, size_t item,
                            const struct samples_view *view, struct rng *rng, struct arena *arena,
                            struct engine_input *out, struct err *err);

/* The same for a model of tags, of texts that were read with tags: *targets are all of the input's
 * tokens that have characters. */
enum err_code samples_tagged_input(const struct samples *samples, size_t item,
                                   const struct samples_view *view, struct rng *rng,
                                   struct arena *arena, struct engine_input *out,
                                   struct samples_targets *targets, struct err *err);

/* Adds to counts [TAG_GAPS][tag_count][tag_count], of engine/decide/tag_pairs.h, how often one tag
 * follows another in a text that was read with tags. */
void samples_count_tags(const struct samples *samples, size_t item, unsigned tag_count,
                        double *counts);

/* The same for a model that writes: *read is what its decoder reads, the start and the target's
 * tokens but the last, and *targets are what it should answer to each. */
enum err_code samples_written_input(const struct samples *samples, size_t item,
                                    const struct samples_view *view, struct rng *rng,
                                    struct arena *arena, struct engine_input *out,
                                    struct engine_input *read, struct samples_targets *targets,
                                    struct err *err);

/* The same for masked language modelling (Devlin et al. 2019, 3.1): 15 % of the pieces, never a
 * special token, are chosen (one at least); of these 80 % become [MASK], 10 % another word of the
 * vocabulary, 10 % stay. Texts only, with an rng. ERR_UNSUPPORTED if the vocabulary has no [MASK].
 */
enum err_code samples_masked_input(const struct samples *samples, size_t item,
                                   const struct samples_view *view, struct rng *rng,
                                   struct arena *arena, struct engine_input *out,
                                   struct samples_targets *masked, struct err *err);

#endif
