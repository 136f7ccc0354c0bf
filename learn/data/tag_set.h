/* tag_set.h - labels of tokens that stand for labelled spans of a text (IOB2; Tjong Kim Sang and
 * Veenstra 1999): B-X for the first token of a span X, I-X for its others, O for tokens of none.
 *
 *     tag_set_learn(&set, &dataset, &spec, &arena, &err);
 *     tag_set_mark(&set, spans, span_count, &tokens, tags);
 *
 * A token belongs to the span that it has a character of, of two to the first. Every token has a
 * tag, pieces that continue a word too: in a log a span may end within a word ("3.3V"), and serving
 * reads the label of each token.
 *
 * Threads: immutable after open.
 */
#ifndef ATTND_LEARN_DATA_TAG_SET_H
#define ATTND_LEARN_DATA_TAG_SET_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/model/spec.h"
#include "learn/data/dataset.h"

struct tag_set {
    const char **name; /* [count] labels of spans */
    unsigned count;
    const char **tags; /* [tag_count] labels of tokens, as config.json has them */
    unsigned tag_count;
    unsigned outside;         /* the tag O */
    unsigned *begin, *inside; /* [count] tags of each label */
    unsigned *label_of;       /* [tag_count] label of a tag; count: it is O */
};

/* Collects the labels of a data set's spans, sorted by bytes. If the source has exactly their tags,
 * its order of them is kept, so that its head fits. ERR_UNUSABLE: there is no span, or more than
 * TAG_LABELS_MAX labels. Everything lies in the arena. ERR_NO_MEMORY. */
enum { TAG_LABELS_MAX = 1000 };
enum err_code tag_set_learn(struct tag_set *out, const struct dataset *dataset,
                            const struct spec *source, struct arena *arena, struct err *err);

/* Takes the tags of a model: its labels of spans are in the order of their first tag. A label
 * without B- has the same tag for all of its tokens. A model without O has none outside: outside is
 * tag_count. ERR_NO_MEMORY. */
enum err_code tag_set_of(struct tag_set *out, const char *const *tags, unsigned tag_count,
                         struct arena *arena, struct err *err);

/* Index of a span's label; count: there is none. */
unsigned tag_set_find(const struct tag_set *set, const char *label);

/* ERR_UNUSABLE names the first item with a span whose label is not in the set, and known ones. */
enum err_code tag_set_check(const struct tag_set *set, const struct dataset *dataset,
                            struct err *err);

/* Characters of a text's tokens, in order; a token without characters has start >= end. */
struct tag_tokens {
    const uint32_t *starts, *ends; /* [count] */
    unsigned count;
    bool is_cut; /* the text goes on behind them */
};

enum { TAG_NONE = -1 }; /* of a token without characters */

/* tags [tokens->count] <- the tag of each token. Returns how many spans do not begin and end where
 * tokens do: no model with this tokenizer can answer them exactly. */
unsigned tag_set_mark(const struct tag_set *set, const struct dataset_item *item,
                      const struct tag_tokens *tokens, int32_t *tags);

#endif
