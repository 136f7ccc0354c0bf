/* bpe_files.h - the tokenizer of a checkpoint that has no tokenizer.json but the files that came
 * before it: vocab.json (piece -> id) and merges.txt (a pair of pieces a line, the first to merge
 * first; Sennrich, Haddow and Birch 2016, on bytes as by Radford et al. 2019), as RoBERTa and
 * Longformer are published. What is made of them is what tokenizer.json would say.
 *
 *     bool exist;
 *     if (bpe_files_exist(dir, &exist, &err) || !exist) ...
 *     bpe_files_read(&root, dir, config, &err);       steps_read(&steps, root, config, ...)
 *
 * Threads: no state.
 */
#ifndef ATTND_ENGINE_TEXT_PIPELINE_BPE_FILES_H
#define ATTND_ENGINE_TEXT_PIPELINE_BPE_FILES_H

#include "engine/base/err.h"

#include <stdbool.h>

struct json_t;

/* Whether DIR has both files. */
enum err_code bpe_files_exist(const char *dir, bool *out, struct err *err);

/* A tree as of tokenizer.json. config: tokenizer_config.json, or NULL; its add_prefix_space, trim
 * of offsets and special tokens count. ERR_UNSUPPORTED, with what to do, for a tokenizer_class of
 * which the two files do not say all (CLIP's normaliser, GPT-2 without a template). Error texts
 * begin with the file's name. Yours to doc_free. */
enum err_code bpe_files_read(struct json_t **out, const char *dir, const struct json_t *config,
                             struct err *err);

#endif
