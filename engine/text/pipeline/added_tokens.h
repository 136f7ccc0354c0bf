/* added_tokens.h - tokens that are searched for in a text before the model gets it: some in the raw
 * text, others in the normalised text.
 *
 *     added_read(&added, &files, &model, &pieces, &arena, &err);
 *     added_tokens_build(&added, normalizer, &err);
 *     added_cursor_init(&cursor, &added.raw, text, len);
 *     while (added_next(&cursor, &match)) ... text[match.at .. match.end) is match.id
 *
 * Equal to the reference's AddedVocabulary: the leftmost match wins, then the longest. `lstrip`
 * includes the white space before the match, `rstrip` that behind it; `single_word` requires that
 * no word character is beside it.
 *
 * Threads: immutable once built; a cursor belongs to one at a time.
 */
#ifndef ATTND_ENGINE_TEXT_PIPELINE_ADDED_TOKENS_H
#define ATTND_ENGINE_TEXT_PIPELINE_ADDED_TOKENS_H

#include "engine/text/pipeline/normalizer_step.h"
#include "engine/text/vocab.h"

struct added_token {
    const char *content; /* not empty */
    size_t len;
    int32_t id;
    bool single_word, lstrip, rstrip, normalized, is_special;
    bool is_named; /* a file or the class names it as a special token */
    bool is_usual; /* the class of tokenizer adds it; neither a file nor the vocabulary has it */
};

/* The tokens that are searched for in one of the two texts. */
struct added_set {
    struct vocab contents;            /* strings to find; each has the number of its item as id */
    const struct added_token **items; /* [count] the token of each content */
    size_t count;
    bool is_python; /* white space is Python's, which includes U+001C to U+001F */
};

struct added_tokens {
    struct added_token *entries; /* [count], in the order of the files */
    struct added_token **sought; /* for each content, the entry whose flags count in the search */
    size_t count, room, sought_count;
    struct arena *arena;
    struct added_set raw, normalized;
    unsigned vocab_size; /* largest id + 1 */
    bool keep_words; /* no match crosses a space between words, nor depends on what follows it */
};

struct added_match {
    size_t at, end;
    int32_t id;
};

struct added_cursor {
    const struct added_set *set;
    const char *text;
    size_t len;
    size_t at;    /* the search continues here */
    size_t taken; /* end of the last match */
};

struct piece_list;
struct text_model;

/* Reads the tokens that the files of a checkpoint add to the vocabulary, in the order and with the
 * ids of transformers 4.57: the tokens of tokenizer.json, then those of tokenizer_config.json's
 * added_tokens_decoder or, without it, of added_tokens.json, then the special tokens by name,
 * including the class's.
 *
 * Fills `out`, without added_tokens_build. ERR_UNSUPPORTED for a token whose id in a file is not
 * the one that the reference gives it, and for a vocabulary of older files without cls_token or
 * sep_token. Error texts begin with the file's name. */
enum err_code added_read(struct added_tokens *out, const struct tokenizer_files *files,
                         const struct text_model *model, const struct piece_list *pieces,
                         struct arena *arena, struct err *err);

/* Pegasus: how much larger a token's id is than the number of its piece; otherwise 0. */
enum err_code added_offset(long long *out, const struct tokenizer_files *files, struct err *err);

enum err_code added_tokens_init(struct added_tokens *added, size_t room, struct arena *arena,
                                struct err *err);

/* Adds a token, which is copied. It replaces an earlier token with the same id. ERR_INTERNAL beyond
 * the room. */
enum err_code added_tokens_add(struct added_tokens *added, const struct added_token *token,
                               struct err *err);

/* Returns the newest entry of a token; NULL if there is none. Valid until the next is added. */
struct added_token *added_tokens_entry(const struct added_tokens *added, const char *content,
                                       size_t len);

/* Returns the id of a token, or VOCAB_NONE. */
int32_t added_tokens_find(const struct added_tokens *added, const char *content, size_t len);

/* True if a token has the id. */
bool added_tokens_has(const struct added_tokens *added, int32_t id);

/* Builds the two sets; normalises the tokens that are searched for in normalised text. */
enum err_code added_tokens_build(struct added_tokens *added, const struct normalizer_steps *steps,
                                 struct err *err);

/* Stops the search for usual tokens whose id is `rows` or more. */
void added_tokens_fit(struct added_tokens *added, unsigned rows);

void added_cursor_init(struct added_cursor *cursor, const struct added_set *set, const char *text,
                       size_t len);

/* Finds the next match; false if there is none. All matches together cost linear time in the text,
 * times the longest token. */
bool added_next(struct added_cursor *cursor, struct added_match *out);

#endif
