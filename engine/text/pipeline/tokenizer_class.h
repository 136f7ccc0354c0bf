/* tokenizer_class.h - what a class of transformers' tokenizers decides beside the files of a
 * checkpoint: its special tokens, which flags of tokenizer_config.json count, the older files that
 * it reads. As in transformers 4.57, its fast tokenizers and how it makes them of slow ones.
 *
 *     tokenizer_class_find(&class, "BertTokenizerFast", &err);     one that is named in a file
 *     class = tokenizer_class_of_model("roberta");                 else the one of the model's type
 *     class = tokenizer_class_plain();                             else PreTrainedTokenizerFast
 *
 * A class that is not in the table makes other ids, or its ids have not been compared: it is
 * refused by name.
 *
 * Threads: constant tables.
 */
#ifndef ATTND_ENGINE_TEXT_PIPELINE_TOKENIZER_CLASS_H
#define ATTND_ENGINE_TEXT_PIPELINE_TOKENIZER_CLASS_H

#include "engine/base/err.h"

#include <stdbool.h>

/* Files that hold a tokenizer where there is no tokenizer.json. */
enum older_files {
    OLDER_NONE,
    OLDER_VOCAB_TXT, /* BERT's */
    OLDER_BPE,       /* RoBERTa's vocab.json and merges.txt */
};

/* The special tokens round two texts that are made for older files. */
enum class_frame {
    FRAME_BERT,    /* [CLS] A [SEP] B [SEP], types 0 0 0 1 1 */
    FRAME_MPNET,   /* <s> A </s> </s> B </s>, types 0 0 0 0 1 1 */
    FRAME_ROBERTA, /* the same without types; offsets leave out white space */
};

/* In the order in which the reference adds them. */
enum special_name { BOS, EOS, UNK, SEP, PAD, CLS, MASK, SPECIAL_NAMES };

struct tokenizer_class {
    const char *name;                    /* without Tokenizer and TokenizerFast */
    const char *specials[SPECIAL_NAMES]; /* where no file names others; NULL: none */
    const char *const *additional;       /* likewise additional_special_tokens; ended by NULL */
    enum older_files older;
    enum class_frame frame;
    bool mask_takes_space; /* the white space before it belongs to it */
    bool names_have_flags; /* a special token by name alone belongs to no white space, whatever
                                 tokenizer.json says */
    bool sets_case;        /* do_lower_case (true) and strip_accents (as the case) win */
    bool sets_chinese;     /* likewise tokenize_chinese_chars (true) */
    bool sets_trimming;    /* likewise trim_offsets (true) and add_prefix_space (false) */
    bool needs_sequence;   /* as the pre-tokeniser of tokenizer.json */
    bool has_no_types;     /* token types are not told to the model */
};

/* special_tokens_map.json's and tokenizer_config.json's names of them, "cls_token" and so on. */
extern const char *const special_keys[SPECIAL_NAMES];

/* With or without "Fast" at its end. ERR_UNSUPPORTED, with its name, if it is not in the table. */
enum err_code tokenizer_class_find(const struct tokenizer_class **out, const char *name,
                                   struct err *err);

/* The class of a config.json's model_type; NULL if the table has none. */
const struct tokenizer_class *tokenizer_class_of_model(const char *model_type);

/* The class that adds nothing to tokenizer.json. */
const struct tokenizer_class *tokenizer_class_plain(void);

#endif
