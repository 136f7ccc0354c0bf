/* tokenizer_files.h - the files of a checkpoint's tokenizer, and the class of tokenizer that reads
 * them, chosen as transformers 4.57 does (AutoTokenizer.from_pretrained).
 *
 *     tokenizer_files_open(&files, dir, TOKENIZER_JSON_COUNTS, &err);
 *     steps_read(&steps, &files, &arena, &err);
 *     tokenizer_files_close(&files);                                 also after an error
 *
 * tokenizer.json wins over vocab.txt, vocab.json and merges.txt, which count only if it is absent.
 * tokenizer_config.json names the class, else config.json, else config.json's model_type has one;
 * otherwise the files that exist decide. Files of sentencepiece are not read.
 *
 * RoBERTa and Longformer are published with vocab.json (piece -> id) and merges.txt (a pair of
 * pieces a line, the first to merge first; Sennrich, Haddow and Birch 2016, on bytes as by Radford
 * et al. 2019). They become the tree of the equal tokenizer.json.
 *
 * Threads: one at a time; immutable once open.
 */
#ifndef ATTND_ENGINE_TEXT_PIPELINE_TOKENIZER_FILES_H
#define ATTND_ENGINE_TEXT_PIPELINE_TOKENIZER_FILES_H

#include "engine/text/pipeline/tokenizer_class.h"

#include <stddef.h>

struct json_t;

enum tokenizer_json_use { TOKENIZER_JSON_COUNTS, TOKENIZER_JSON_IGNORED };

struct tokenizer_files {
    struct json_t *root;        /* tokenizer.json, or a tree made from the older files */
    struct json_t *config;      /* tokenizer_config.json; NULL: there is none */
    struct json_t *special_map; /* special_tokens_map.json; NULL: it does not count */
    struct json_t *added;       /* added_tokens.json; NULL: it does not count */
    char *words;                /* vocab.txt; NULL: it does not count */
    size_t words_len;           /* bytes */
    enum older_files older;     /* files of the vocabulary; OLDER_NONE: tokenizer.json */
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
