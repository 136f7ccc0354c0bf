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

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/model/input.h"
#include "engine/model/spec.h"
#include "engine/text/tokenizer.h"
#include "engine/vision/preprocess.h"

/* A text that is longer than the model, as windows that the model reads one by one.
 *
 *     [CLS] 1 2 3 4 5 6 7 8 [SEP]     with windows of 6 and a stride of 3 becomes
 *     [CLS] 1 2 3 4 [SEP]   [CLS] 4 5 6 7 [SEP]   [CLS] 5 6 7 8 [SEP]
 *
 *     windows_cut(&encoding, &shape, &arena, &input, &err);
 *
 * The last window ends with the text and is full like the others: it may overlap more with the one
 * before. A text that fits is one window, the encoding itself.
 *
 * Threads: pure functions.
 */

/* Each window has at most `room` tokens of the text, and one special token at each end. */
struct windows_shape {
    unsigned room, stride; /* 1 <= stride <= room */
};

/* A smaller stride is refused: the same text would be read more often than this. */
enum { WINDOWS_OVERLAP_MAX = 4 };

/* A stride of 0: windows without overlap. ERR_UNSUPPORTED for one that room does not allow. */
enum err_code windows_shape_make(struct windows_shape *out, unsigned room, unsigned stride,
                                 struct err *err);

/* Returns the number of windows of a text with so many tokens, special ones not counted. */
unsigned windows_count(const struct windows_shape *shape, unsigned tokens);

/* The first token of window `window` of `count`, counted as above. */
unsigned windows_first(const struct windows_shape *shape, unsigned tokens, unsigned window,
                       unsigned count);

/* All of an encoding as one window; the input shares its arrays. */
struct engine_input windows_whole(const struct encoding *whole);

/* `whole` begins and ends with a special token. The input shares its arrays if one window is
 * enough; else they are in the arena, at most windows_bytes of it. ERR_NO_MEMORY. */
enum err_code windows_cut(const struct encoding *whole, const struct windows_shape *shape,
                          struct arena *arena, struct engine_input *out, struct err *err);
size_t windows_bytes(const struct windows_shape *shape, unsigned tokens);

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

/* The lines of a text that is embedded as a whole, each with a vector of its own (late
 * chunking; Gunther et al. 2024, arXiv 2409.04701): every token has attended to the whole text, and
 * a line's vector is pooled from its tokens alone.
 *
 *     lines_cut(text, len, shift, most, &arena, &input, &err);
 *
 * A line ends before a line feed, and before a carriage return that stands in front of it. A token
 * belongs to the line where its last character is; one that ends with the line break, the tokens of
 * the prompt, and the special ones around the text belong to none. A line may have no token.
 *
 * Threads: pure functions.
 */

/* Lines of a text; `most` + 1 if there are more than that. */
size_t lines_count(const char *text, size_t len, size_t most);

/* Fills input->parts, for an input without windows. text [len] is the client's, valid UTF-8; shift:
 * pipeline_text's. ERR_TOO_LARGE if not all of the text was read, or it has more than `most` lines;
 * ERR_NO_MEMORY. */
enum err_code lines_cut(const char *text, size_t len, int64_t shift, unsigned most,
                        struct arena *arena, struct engine_input *input, struct err *err);

/* Prepares a text for a model that tags each token: where each token of the text is read,
 * and which tokens are one word.
 *
 *     tags_order(&pipeline, text, len, &arena, &input, &err);     behind windows_cut
 *
 * Words are those of transformers' TokenClassificationPipeline. If pieces that continue a word
 * begin with a mark ("##"), a token continues one if its string has another length than its part of
 * the text; the unknown token never does. Else it does if there is no space at or just before its
 * start.
 *
 * Threads: pure functions.
 */

/* Fills input->order and input->continued; they lie in the arena, at most tags_bytes of it. text
 * [len] is the UTF-8 that was encoded. ERR_NO_MEMORY. */
enum err_code tags_order(const struct pipeline *pipeline, const char *text, size_t len,
                         struct arena *arena, struct engine_input *input, struct err *err);
/* Upper bound, for an input with so many tokens in all windows together. */
size_t tags_bytes(size_t tokens);

#endif
