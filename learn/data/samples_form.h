/* samples_form.h - between samples.c and its two kinds of item. Threads: a loader is one thread's;
 * struct samples is immutable once open. */
#ifndef ATTND_LEARN_DATA_SAMPLES_FORM_H
#define ATTND_LEARN_DATA_SAMPLES_FORM_H

#include "engine/prepare/pipeline.h"
#include "learn/data/picture.h"
#include "learn/data/samples.h"

/* One item as it is kept: an image's pixels or a text's pieces, or why there are none. */
struct sample {
    const char *problem;
    uint64_t digest;
    struct contrast contrast; /* of an image */
    struct augment_pixels pixels;
    const int32_t *pieces; /* without [CLS] and [SEP] */
    unsigned piece_count;
    const int32_t *pair; /* [pair_count] likewise of a second text; NULL: there is none */
    unsigned pair_count;
    const int32_t *tags;   /* [piece_count] of tag_set.h; NULL: the texts have none */
    const bool *touches;   /* [piece_count] likewise: nothing is between it and the one before */
    unsigned misfits;      /* spans that do not begin and end where tokens do */
    const unsigned *lines; /* [line_count] the first piece of each line that has one; ascending */
    unsigned line_count;
    bool is_cut;            /* the text had more pieces than are kept */
    const int32_t *written; /* [written_count] tokens of a text to write, special ones included */
    unsigned written_count;
};

struct samples {
    struct spec spec; /* sizes and family; its labels are not ours */
    size_t count;
    struct sample *items;
    size_t failed, first_failed;
    const struct tag_set *tags; /* while texts are read; NULL: none */
    size_t misfits, first_misfit;

    struct pipeline pipeline;
    bool writes;                    /* the model writes texts */
    struct samples_writing writing; /* then; the spec is the caller's while texts are read */
    struct tokenizer *target;       /* then; of the texts to write */
    int32_t languages[2];           /* then; of the source and the target, or VOCAB_NONE */
    unsigned longest_written;       /* then */
    unsigned longest_pieces;        /* of any text alone */
    unsigned longest_pair;          /* of any two texts together */

    struct arena *arenas; /* [arena_count], one a thread that loaded */
    unsigned arena_count;
};

/* The workspace of one loading thread. */
struct samples_loader {
    const struct samples *samples;
    size_t pixels_max;
    unsigned pieces_max;
    struct arena *kept;   /* what stays */
    struct arena scratch; /* of one item */
    struct pictures pictures;
    struct err err; /* a failure of the system, after which nothing more is loaded */
};

/* Reads one item into `out`. */
enum err_code samples_load_image(struct samples_loader *loader, const struct dataset_item *item,
                                 struct sample *out, struct err *err);
enum err_code samples_load_text(struct samples_loader *loader, const struct dataset_item *item,
                                struct sample *out, struct err *err);

/* The tokens of a text to write; and, of a model that writes, of the text that it is written from,
 * special ones included. Opens the tokenizer for both. */
enum err_code samples_open_writing(struct samples *samples, const char *dir,
                                   const struct samples_writing *writing, struct err *err);
enum err_code samples_load_target(struct samples_loader *loader, const struct dataset_item *item,
                                  struct sample *out, struct err *err);

/* Prepares one item that has no problem. */
enum err_code samples_prepare_image(const struct samples *samples, const struct sample *sample,
                                    const struct samples_view *view, struct rng *rng,
                                    struct arena *arena, struct engine_input *out, struct err *err);
/* taken: NULL, or of a text alone *taken [pieces of the input's text] <- which of the sample's
 * pieces they are; of windows those that all of them are cut from (window_first). */
enum err_code samples_prepare_text(const struct samples *samples, const struct sample *sample,
                                   const struct samples_view *view, struct rng *rng,
                                   struct arena *arena, struct engine_input *out,
                                   const unsigned **taken, struct err *err);

/* Windows of `count` pieces, which are more than fit one; at most windows_max of them. */
enum err_code samples_cut_windows(const struct samples *samples, const struct windows_shape *shape,
                                  unsigned windows_max, const int32_t *pieces, unsigned count,
                                  struct rng *rng, struct arena *arena, struct engine_input *out,
                                  struct err *err);

/* The windows of a view. */
struct windows_shape samples_windows_shape(const struct samples *samples,
                                           const struct samples_view *view);

/* Pieces that a view of tokens_max (0: the model's) tokens has room for, at least 1, and the
 * windows of so many that cover a text. */
unsigned samples_room(const struct samples *samples, unsigned tokens_max);

/* Tokens of the longest pair of texts in a view; 0: there is none. */
unsigned samples_pair_tokens(const struct samples *samples, const struct samples_view *view);

/* Patches of an image in a view. */
unsigned samples_patches(const struct samples *samples, const struct samples_view *view);

#endif
