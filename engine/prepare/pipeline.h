/* pipeline.h - turns texts and images of a client or a data set into the encoder's inputs, by a
 * checkpoint's own files: the same code for serving and for training.
 *
 *     pipeline_fit(&spec, dir, &err);
 *     pipeline_open(&pipeline, &spec, dir, &err);
 *     pipeline_encode(&pipeline, 0, &text, NULL, &arena, &encoding, &err);
 *
 *     pipeline_decode(&pipeline, bytes, len, pixels_max, NULL, &scratch, &image, &err);
 *     pipeline_patches(&pipeline, &image, NULL, NULL, &scratch, &arena, &input, &err);
 *     pipeline_close(&pipeline);
 *
 * Threads: immutable after open; any number may prepare.
 */
#ifndef ATTND_ENGINE_PREPARE_PIPELINE_H
#define ATTND_ENGINE_PREPARE_PIPELINE_H

#include "engine/model/input.h"
#include "engine/model/spec.h"
#include "engine/prepare/windows.h"
#include "engine/text/tokenizer.h"
#include "engine/vision/preprocess.h"

struct pipeline {
    const struct spec *spec;       /* the caller's */
    struct tokenizer *tokenizer;   /* of texts, else NULL */
    struct windows_shape windows;  /* of texts that are read in windows */
    const uint32_t *piece_lengths; /* tags: [vocab_size] tokenizer_piece_lengths; may be NULL */
    struct preprocess preprocess;  /* of images */
};

/* A family that takes images of any size, by interpolating its positions, sees them in the size
 * that its preprocessor's file makes: tells the spec, before anything else is opened with it.
 * Of other families, and without the file, nothing changes. ERR_UNSUPPORTED for a shape that is not
 * square, or a size that spec_fit_image_size refuses. */
enum err_code pipeline_fit(struct spec *spec, const char *dir, struct err *err);

/* Reads the tokenizer's files or preprocessor_config.json, and compares them with the spec, which
 * has to live as long. ERR_UNSUPPORTED, ERR_UNUSABLE, ERR_MALFORMED, ERR_IO. Close it in any case.
 */
enum err_code pipeline_open(struct pipeline *out, const struct spec *spec, const char *dir,
                            struct err *err);
void pipeline_close(struct pipeline *pipeline);

/* Describes in one sentence for a person what is done to an input; in the arena. NULL: no
 * memory. */
const char *pipeline_describe(const struct pipeline *pipeline, struct arena *arena);

/* A text's bytes, which may hold NUL, and a second one that is read with it. */
struct pipeline_text {
    const char *bytes;
    size_t len;
    bool is_utf8; /* both are known to be valid; else they are checked */
    const char *pair;
    size_t pair_len; /* 0: there is none */
    /* characters of a prompt in front of the client's text, less those of its own that are gone */
    int64_t shift;
};

/* The tokenizer has a place for a second text, and the model the types of its tokens. */
bool pipeline_reads_pairs(const struct pipeline *pipeline);

/* Encodes as tokenizer_encode and tokenizer_encode_pair do; ERR_UNUSABLE also for a text without a
 * token, and for a pair that the model does not take. */
enum err_code pipeline_encode(const struct pipeline *pipeline, unsigned limit,
                              const struct pipeline_text *text, struct interrupt *interrupt,
                              struct arena *arena, struct encoding *out, struct err *err);

/* Puts the prompt of an embedding model before a text, and takes white space off both ends, as
 * sentence-transformers does (prompt.c). The text then lies in the arena and is known to be UTF-8.
 * name NULL: the model's default prompt, if it has one. *skipped: the encoding's first tokens,
 * those of the prompt, that are not pooled; 0 if they are. ERR_UNUSABLE: an unknown name, a pair, a
 * text that is not UTF-8. ERR_NO_MEMORY. */
enum err_code prompt_add(struct pipeline_text *text, unsigned *skipped,
                         const struct pipeline *pipeline, const char *name, struct arena *arena,
                         struct err *err);

/* Upper bound of what that and the encoding of the text take of the arena; 0: it is refused before
 * it takes any. */
size_t prompt_bytes(const struct pipeline *pipeline, const char *text, size_t len,
                    const char *name);
/* Upper bound of the tokens of both, special ones included. */
size_t prompt_tokens(const struct pipeline *pipeline, const char *text, size_t len,
                     const char *name);

/* Decodes as image_decode does, with the model's option for 16-bit greys. */
enum err_code pipeline_decode(const struct pipeline *pipeline, const void *bytes, size_t len,
                              size_t pixels_max, struct interrupt *interrupt, struct arena *arena,
                              struct image *out, struct err *err);

/* Another size than the model's own: what it resizes to and what it crops keep their proportion.
 * patch <= image_size <= IMAGE_SIDE_MAX. The first `views` of views.h, at least one; more than one
 * are of squares. */
struct pipeline_size {
    struct extent image_size, patch;
    unsigned views;
};

/* Pixels -> patches and all else of an input. size NULL: the model's, in all its views. Resized
 * pixels are left in `scratch`, the patches in `arena`. ERR_UNUSABLE as preprocess_geometry. */
enum err_code pipeline_patches(const struct pipeline *pipeline, const struct image *image,
                               const struct pipeline_size *size, struct interrupt *interrupt,
                               struct arena *scratch, struct arena *arena, struct engine_input *out,
                               struct err *err);
/* Upper bound of what that takes of `arena`, at the model's own size and in its views. */
size_t pipeline_patches_bytes(const struct pipeline *pipeline);

#endif
