/* bpe_files.h - the tokenizer of a checkpoint that has no tokenizer.json but the files that came
 * before it: vocab.json (piece -> id) and merges.txt (a pair of pieces a line, the first to merge
 * first; Sennrich, Haddow and Birch 2016, on bytes as by Radford et al. 2019), as RoBERTa and
 * Longformer are published. What is made of them is what tokenizer.json would say.
 *
 *     bpe_files_read(&root, dir, &err);
 *
 * Threads: no state.
 */
#ifndef ATTND_ENGINE_TEXT_PIPELINE_BPE_FILES_H
#define ATTND_ENGINE_TEXT_PIPELINE_BPE_FILES_H

#include "engine/base/err.h"

struct json_t;

/* A tree as of tokenizer.json, without special tokens: those are added as the class of tokenizer
 * says (tokenizer_class.h). As the reference reads merges.txt, its first line, a comment with the
 * version, and what follows its last line end do not count. Error texts begin with the file's name.
 * Yours to doc_free. */
enum err_code bpe_files_read(struct json_t **out, const char *dir, struct err *err);

#endif
