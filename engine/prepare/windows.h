/* windows.h - a text that is longer than the model, as windows that the model reads one by one.
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
#ifndef ATTND_ENGINE_PREPARE_WINDOWS_H
#define ATTND_ENGINE_PREPARE_WINDOWS_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/model/input.h"
#include "engine/text/tokenizer.h"

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

#endif
