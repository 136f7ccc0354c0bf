/* export_sentence.h - writes what makes a checkpoint directory one of sentence-transformers:
 * modules.json, the pooling's config.json, and the options of texts. Threads: one at a time in a
 * directory. */
#ifndef ATTND_LEARN_TRAIN_CHECKPOINT_EXPORT_SENTENCE_H
#define ATTND_LEARN_TRAIN_CHECKPOINT_EXPORT_SENTENCE_H

#include "learn/train/network/parameters.h"

/* The modules of spec->sentence, without Dense, which training refuses. Prompts and similarity are
 * copied from `source`, if it has config_sentence_transformers.json. tokens_max: the longest text;
 * 0: as many tokens as the spec reads. ERR_IO, ERR_NO_MEMORY. */
enum err_code export_sentence(const char *dir, const char *source, const struct spec *spec,
                              unsigned tokens_max, struct err *err);

#endif
