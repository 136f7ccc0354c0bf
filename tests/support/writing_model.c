#include "tests/support/writing_model.h"

#include "tests/support/suite.h"

#include <stdio.h>
#include <unistd.h>

void writing_model_copy(const struct tempdir *dir, const char *name)
{
    static const struct {
        const char *room, *file;
    } files[] = {{"golden", "config.json"},
                 {"golden", "generation_config.json"},
                 {"golden", "model.safetensors"},
                 {"golden", "preprocessor_config.json"},
                 {"golden", "cases.json"},
                 {"recoding", "tokenizer.json"},
                 {"recoding", "tokenizer_config.json"},
                 {"recoding", "special_tokens_map.json"},
                 {"recoding", "source.spm"},
                 {"recoding", "target.spm"},
                 {"recoding", "vocab.json"},
                 {"recoding", "target_vocab.json"},
                 {"recoding", "sentencepiece.bpe.model"},
                 {"recoding", "spiece.model"}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char from[256];
        snprintf(from, sizeof from, "tests/data/%s/%s/%s", files[i].room, name, files[i].file);
        if (access(from, R_OK) == 0)
            tempdir_copy(dir, files[i].file, from);
    }
}

void writing_model_open(struct tempdir *dir, const char *name)
{
    tempdir_open(dir);
    writing_model_copy(dir, name);
}
