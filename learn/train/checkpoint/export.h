/* export.h - writes trained weights as a checkpoint directory that attnd and Hugging Face open.
 *
 *     struct export what = {.parameters = &parameters,
 *                           .values = parameters.values,
 *                           .dtype = DTYPE_F16,
 *                           .source_dir = "models/encoder"};
 *     export_checkpoint("models/kernel-bert", &what, &err);
 *
 * model.safetensors holds the parameters under their names. config.json is the source's, with its
 * unknown members. The members that training and pruning decide are replaced from
 * parameters->spec: model_type, architectures, dtype, vocab_size or image_size, the MLP's width and
 * pruned_heads; for a classifier also id2label, label2id and problem_type. A text model gets the
 * tokenizer's files unchanged (export_files.h); files that the source lacks are removed. An image
 * model gets a preprocessor_config.json for its image size. An embedding is written as a directory
 * of sentence-transformers, with the tensors of the encoder alone. A model that
 * writes texts gets the tokenizer's files and generation_config.json, whatever it reads; of its
 * config.json only dtype is replaced.
 *
 * The directory is made if it is absent; its parent must exist. Other files in it, attnd.json too,
 * are not touched. Each file is whole or absent (base/replace.h). model.safetensors is written
 * last, so a directory without it is unfinished.
 *
 * Threads: one export into a directory at a time.
 */
#ifndef ATTND_LEARN_TRAIN_CHECKPOINT_EXPORT_H
#define ATTND_LEARN_TRAIN_CHECKPOINT_EXPORT_H

#include "engine/base/err.h"
#include "engine/format/safetensors.h"
#include "learn/train/network/parameters.h"

struct export
{
    const struct parameters *parameters; /* the list of tensors and the spec */
    const float *values;                 /* [parameters->numbers]: theirs, or a moving average */
    enum dtype dtype;                    /* F32 or F16; a regression's classifier is always F32 */
    const char *source_dir;              /* has config.json; may be `dir` itself, to save again */
    const char *tokenizer_dir;           /* texts: has the tokenizer's files; NULL: source_dir */
    unsigned tokens_max;                 /* texts: model_max_length; 0: unchanged */
};

/* ERR_IO with the path; ERR_UNSUPPORTED if the source lacks a file, or if dtype cannot hold a value
 * (safetensors_write.h). */
enum err_code export_checkpoint(const char *dir, const struct export *what, struct err *err);

#endif
