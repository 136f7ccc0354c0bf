/* post_processor.h - the member "post_processor" of tokenizer.json: the special tokens around one
 * text and around two, and the trimming of white space from offsets.
 *
 *     post_processor_read(&post, json, &err);
 *     ... post.single, post.pair; post.trims
 *
 * Threads: plain data, immutable once read.
 */
#ifndef ATTND_ENGINE_TEXT_PIPELINE_POST_PROCESSOR_H
#define ATTND_ENGINE_TEXT_PIPELINE_POST_PROCESSOR_H

#include "engine/text/pipeline/tokenizer_files.h"
#include "engine/text/tokenizer_kind.h"

struct json_t;

struct post_processor {
    struct tokenizer_template single, pair;
    bool trims;       /* spaces at a token's ends are not in its offsets */
    bool adds_prefix; /* one space before the first token was added, so it is not trimmed */
};

/* `json`: the member; NULL: no special tokens. ERR_UNSUPPORTED for a type or a member that is not
 * implemented, for a template without the text, or with more than TEMPLATE_ITEMS_MAX tokens. */
enum err_code post_processor_read(struct post_processor *out, const struct json_t *json,
                                  struct err *err);

/* Makes the frame of the class, which older files imply. cls, sep: ids of its first and last
 * token. */
void post_processor_frame(struct post_processor *out, enum class_frame frame, int32_t cls,
                          int32_t sep);

/* Applies trim_offsets and add_prefix_space of tokenizer_config.json, if the class of tokenizer
 * lets them win over a RobertaProcessing or a ByteLevel, or over older files. */
enum err_code post_processor_override(struct post_processor *post, const struct json_t *json,
                                      const struct tokenizer_files *files, struct err *err);

#endif
