/* pattern.h - the pattern of a step of tokenizer.json: a literal string, a class of characters, or
 * one of the regular expressions of published tokenizers, each written by hand. Any other
 * expression is refused.
 *
 *     pattern_read(&pattern, json, "$.pre_tokenizer.pattern", &arena, &err);
 *     for (size_t at = 0; pattern_next(&pattern, text, len, at, &match); at = match.end)
 *         ... text[match.at .. match.end)
 *
 * Threads: immutable once read.
 */
#ifndef ATTND_ENGINE_TEXT_PIPELINE_PATTERN_H
#define ATTND_ENGINE_TEXT_PIPELINE_PATTERN_H

#include "engine/base/arena.h"
#include "engine/base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct json_t;

enum pattern_kind {
    PATTERN_STRING,
    PATTERN_SPACE,       /* each character of White_Space by itself; likewise the next two */
    PATTERN_DIGIT,       /* numbers (Nd, Nl, No) */
    PATTERN_PUNCTUATION, /* P*, and every ASCII symbol */
    PATTERN_GPT2,        /* the expression of "ByteLevel" */
    PATTERN_CLIP,        /* words, single numbers and runs of symbols, without white space */
    PATTERN_CLIP_NAMED,  /* the same, and CLIP's two special tokens: of transformers 5 */
    PATTERN_WORDS,       /* \w+|[^\w\s]+ */
    PATTERN_SPACES,      /* \s+ */
    PATTERN_BLANKS,      /* " {2,}": two spaces or more */
    PATTERN_BREAKS,      /* \s{2,}|[\n\r\t]: DeBERTa-v2's of transformers 5 */
};

struct pattern {
    enum pattern_kind kind;
    const char *text; /* the literal string; not empty */
    size_t len;
};

struct pattern_match {
    size_t at, end;
};

/* {"String": text} or {"Regex": expression}. ERR_UNSUPPORTED, with the expression, for one that is
 * not known, and for an empty string; ERR_UNUSABLE for other types. The text is copied. */
enum err_code pattern_read(struct pattern *out, const struct json_t *json, const char *path,
                           struct arena *arena, struct err *err);

/* Finds the first match that begins at `at` or later; false if there is none. Matches are not
 * empty. Linear in the distance to its end. */
bool pattern_next(const struct pattern *pattern, const char *text, size_t len, size_t at,
                  struct pattern_match *out);

#endif
