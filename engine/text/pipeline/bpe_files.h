/* bpe_files.h - the tokenizer of a checkpoint that has no tokenizer.json but the older files:
 * vocab.json (piece -> id) and merges.txt (a pair of pieces a line, the first to merge first;
 * Sennrich, Haddow and Birch 2016, on bytes as by Radford et al. 2019), as RoBERTa and Longformer
 * are published. They become the tree of the equal tokenizer.json.
 *
 *     bpe_files_read(&root, dir, &err);
 *
 * Threads: no state.
 */
#ifndef ATTND_ENGINE_TEXT_PIPELINE_BPE_FILES_H
#define ATTND_ENGINE_TEXT_PIPELINE_BPE_FILES_H

#include "engine/base/err.h"

struct json_t;

/* Makes a tree like that of tokenizer.json, without special tokens: the class of tokenizer adds
 * those (tokenizer_class.h). As in the reference, the first line of merges.txt, a comment with the
 * version, and all after its last line end are ignored. Error texts begin with the file's name.
 * Yours to doc_free. */
enum err_code bpe_files_read(struct json_t **out, const char *dir, struct err *err);

#endif
