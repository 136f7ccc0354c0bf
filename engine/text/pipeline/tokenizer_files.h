/* tokenizer_files.h - the files of a checkpoint's tokenizer, and the class of tokenizer that reads
 * them, chosen as transformers 4.57 does (AutoTokenizer.from_pretrained).
 *
 *     tokenizer_files_open(&files, dir, TOKENIZER_JSON_COUNTS, &err);
 *     steps_read(&steps, &files, &arena, &err);
 *     tokenizer_files_close(&files);                                 also after an error
 *
 * tokenizer.json wins over vocab.txt, vocab.json and merges.txt, which count only if it is absent.
 * tokenizer_config.json names the class, else config.json, else config.json's model_type has one;
 * otherwise the files that exist decide.
 *
 * A class of an encoder-decoder is published with a SentencePiece model, which counts if there is
 * no tokenizer.json; then the slow tokenizer is of record. Marian has one for the source and one
 * for the target.
 *
 * RoBERTa and Longformer are published with vocab.json (piece -> id) and merges.txt (a pair of
 * pieces a line, the first to merge first; Sennrich, Haddow and Birch 2016, on bytes as by Radford
 * et al. 2019). They become the tree of the equal tokenizer.json.
 *
 * Threads: one at a time; immutable once open.
 */
#ifndef ATTND_ENGINE_TEXT_PIPELINE_TOKENIZER_FILES_H
#define ATTND_ENGINE_TEXT_PIPELINE_TOKENIZER_FILES_H

#include "engine/base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct json_t;

/* ---- the classes of tokenizers ----
 *
 * The properties of transformers' tokenizer classes that the files of a checkpoint do not have:
 * special tokens, the flags of tokenizer_config.json that count, the older files that the class
 * reads. As in transformers 4.57: fast tokenizers, and slow ones converted.
 *
 *     tokenizer_class_find(&class, "BertTokenizerFast", &err);     one that is named in a file
 *     class = tokenizer_class_of_model("roberta");                 else the one of the model's type
 *     class = tokenizer_class_plain();                             else PreTrainedTokenizerFast
 *
 * A class that is not in the table makes other ids, or its ids have not been compared. It is
 * refused by name. */

/* Files that hold a tokenizer if there is no tokenizer.json. */
enum older_files {
    OLDER_NONE,
    OLDER_VOCAB_TXT, /* BERT's */
    OLDER_BPE,       /* RoBERTa's vocab.json and merges.txt */
    OLDER_PIECES,    /* a SentencePiece model */
};

/* The slow tokenizers whose SentencePiece models are read. */
enum piece_class {
    PIECES_T5 = 1,  /* spiece.model; <extra_id_0> has the highest id */
    PIECES_PEGASUS, /* spiece.model; its ids are shifted by 103 */
    PIECES_MARIAN,  /* source.spm, target.spm; vocab.json, target_vocab.json have the ids */
    PIECES_M2M100,  /* sentencepiece.bpe.model; vocab.json; languages have the ids behind it */
    PIECES_NLLB,    /* sentencepiece.bpe.model; ids are fairseq's: sentencepiece_steps.c */
    PIECES_MBART,   /* likewise; then languages and the mask, of which none is an added token */
    PIECES_MBART50, /* the same ids; decoded as T5's */
};

/* The special tokens around two texts that are made for older files; frames with a language also
 * for tokenizer.json. */
enum class_frame {
    FRAME_BERT,           /* [CLS] A [SEP] B [SEP], types 0 0 0 1 1 */
    FRAME_MPNET,          /* <s> A </s> </s> B </s>, types 0 0 0 0 1 1 */
    FRAME_ROBERTA,        /* the same without types; offsets leave out white space */
    FRAME_END,            /* A </s>; no pair, nor below */
    FRAME_LANGUAGE_FIRST, /* language A </s> */
    FRAME_LANGUAGE_LAST,  /* A </s> language; also NLLB's, with legacy_behaviour */
};

/* Special tokens in the order in which the reference adds them. */
enum special_name { BOS, EOS, UNK, SEP, PAD, CLS, MASK, SPECIAL_NAMES };

struct tokenizer_class {
    const char *name;                    /* without Tokenizer and TokenizerFast */
    const char *specials[SPECIAL_NAMES]; /* defaults if no file names others; NULL: none */
    const char *const *additional;       /* default additional_special_tokens; ended by NULL */
    bool adds_additional;                /* they are added even if a file names others */
    enum older_files older;
    enum piece_class pieces;      /* for OLDER_PIECES */
    const char *const *languages; /* codes of languages; ended by NULL; NULL: none */
    const char *language;         /* default src_lang */
    enum class_frame frame;
    bool mask_takes_space;   /* the mask token includes the white space before it */
    bool mask_is_normalized; /* and is found in the normalised text, if no file says otherwise */
    bool names_have_flags;   /* a special token by name alone includes no white space, whatever
                                 tokenizer.json says */
    bool sets_case;          /* do_lower_case (true) and strip_accents (as the case) win */
    bool sets_chinese;       /* likewise tokenize_chinese_chars (true) */
    bool sets_trimming;      /* likewise trim_offsets (true) and add_prefix_space (false) */
    bool needs_sequence;     /* the pre-tokeniser of tokenizer.json must be a Sequence */
    bool has_no_types;       /* the model gets no token types */
    bool ends_words;         /* in a decoded text the mark of a word's end is a space */
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

/* ---- the files ---- */

enum tokenizer_json_use {
    TOKENIZER_JSON_COUNTS,
    TOKENIZER_JSON_IGNORED,
    TOKENIZER_OF_TARGET, /* it counts; the target's files, not the source's */
};

struct tokenizer_files {
    struct json_t *root;        /* tokenizer.json, or a tree made from the older files; or NULL */
    struct json_t *config;      /* tokenizer_config.json; NULL: there is none */
    struct json_t *special_map; /* special_tokens_map.json; NULL: it does not count */
    struct json_t *added;       /* added_tokens.json; NULL: it does not count */
    char *words;                /* vocab.txt; NULL: it does not count */
    size_t words_len;           /* bytes */
    char *pieces;               /* a SentencePiece model; NULL: it does not count */
    size_t pieces_len;          /* bytes */
    const char *pieces_name;    /* its file */
    struct json_t *ids;         /* the ids of its pieces; NULL: their numbers */
    struct json_t *source_ids;  /* likewise, of the source, if the target has others; or NULL */
    bool is_target;
    enum older_files older; /* files of the vocabulary; OLDER_NONE: tokenizer.json */
    const struct tokenizer_class *class;
};

/* ERR_UNSUPPORTED for a class that is not known, for missing files, and for members of
 * tokenizer_config.json that would make the reference read other files. Error texts begin with a
 * file's name. Close it in any case. */
enum err_code tokenizer_files_open(struct tokenizer_files *out, const char *dir,
                                   enum tokenizer_json_use use, struct err *err);
void tokenizer_files_close(struct tokenizer_files *files);

/* The vocabulary's file, for error texts. */
const char *tokenizer_files_name(const struct tokenizer_files *files);

/* Returns the value that a file gives to a special token: from special_tokens_map.json, else from
 * tokenizer_config.json. Borrowed. *is_said: a file has the member; NULL then means null. */
const struct json_t *tokenizer_files_special(const struct tokenizer_files *files, const char *key,
                                             bool *is_said);

/* Returns the default for a special token that no file names: the class's or, for padding,
 * tokenizer.json's pad_token. Borrowed. */
const char *tokenizer_files_usual(const struct tokenizer_files *files, enum special_name which);

/* Returns the content of a special token, else the default; NULL if there is none, or if the member
 * is neither a string nor an object with a content. Borrowed. */
const char *tokenizer_files_content(const struct tokenizer_files *files, enum special_name which);

#endif
