/* tokenizer_class.h - the properties of transformers' tokenizer classes that the files of a
 * checkpoint do not have: special tokens, the flags of tokenizer_config.json that count, the older
 * files that the class reads. As in transformers 4.57: fast tokenizers, and slow ones converted.
 *
 *     tokenizer_class_find(&class, "BertTokenizerFast", &err);     one that is named in a file
 *     class = tokenizer_class_of_model("roberta");                 else the one of the model's type
 *     class = tokenizer_class_plain();                             else PreTrainedTokenizerFast
 *
 * A class that is not in the table makes other ids, or its ids have not been compared. It is
 * refused by name.
 *
 * Threads: constant tables.
 */
#ifndef ATTND_ENGINE_TEXT_PIPELINE_TOKENIZER_CLASS_H
#define ATTND_ENGINE_TEXT_PIPELINE_TOKENIZER_CLASS_H

#include "engine/base/err.h"

#include <stdbool.h>

/* Files that hold a tokenizer if there is no tokenizer.json. */
enum older_files {
    OLDER_NONE,
    OLDER_VOCAB_TXT, /* BERT's */
    OLDER_BPE,       /* RoBERTa's vocab.json and merges.txt */
};

/* The special tokens around two texts that are made for older files. */
enum class_frame {
    FRAME_BERT,    /* [CLS] A [SEP] B [SEP], types 0 0 0 1 1 */
    FRAME_MPNET,   /* <s> A </s> </s> B </s>, types 0 0 0 0 1 1 */
    FRAME_ROBERTA, /* the same without types; offsets leave out white space */
};

/* Special tokens in the order in which the reference adds them. */
enum special_name { BOS, EOS, UNK, SEP, PAD, CLS, MASK, SPECIAL_NAMES };

struct tokenizer_class {
    const char *name;                    /* without Tokenizer and TokenizerFast */
    const char *specials[SPECIAL_NAMES]; /* defaults if no file names others; NULL: none */
    const char *const *additional;       /* default additional_special_tokens; ended by NULL */
    enum older_files older;
    enum class_frame frame;
    bool mask_takes_space; /* the mask token includes the white space before it */
    bool names_have_flags; /* a special token by name alone includes no white space, whatever
                                 tokenizer.json says */
    bool sets_case;        /* do_lower_case (true) and strip_accents (as the case) win */
    bool sets_chinese;     /* likewise tokenize_chinese_chars (true) */
    bool sets_trimming;    /* likewise trim_offsets (true) and add_prefix_space (false) */
    bool needs_sequence;   /* the pre-tokeniser of tokenizer.json must be a Sequence */
    bool has_no_types;     /* the model gets no token types */
};

/* Their keys in special_tokens_map.json and tokenizer_config.json, "cls_token" and so on. */
extern const char *const special_keys[SPECIAL_NAMES];

/* Finds a class by name, with or without "Fast" at the end. ERR_UNSUPPORTED, with the name, if it
 * is not in the table. */
enum err_code tokenizer_class_find(const struct tokenizer_class **out, const char *name,
                                   struct err *err);

/* Returns the class of a config.json's model_type; NULL if the table has none. */
const struct tokenizer_class *tokenizer_class_of_model(const char *model_type);

/* The class that adds nothing to tokenizer.json. */
const struct tokenizer_class *tokenizer_class_plain(void);

#endif
