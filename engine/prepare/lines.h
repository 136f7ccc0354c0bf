/* lines.h - the lines of a text that is embedded as a whole, each with a vector of its own (late
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
#ifndef ATTND_ENGINE_PREPARE_LINES_H
#define ATTND_ENGINE_PREPARE_LINES_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/model/input.h"

/* Lines of a text; `most` + 1 if there are more than that. */
size_t lines_count(const char *text, size_t len, size_t most);

/* Fills input->parts, for an input without windows. text [len] is the client's, valid UTF-8; shift:
 * pipeline_text's. ERR_TOO_LARGE if not all of the text was read, or it has more than `most` lines;
 * ERR_NO_MEMORY. */
enum err_code lines_cut(const char *text, size_t len, int64_t shift, unsigned most,
                        struct arena *arena, struct engine_input *input, struct err *err);

#endif
