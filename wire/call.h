/* call.h - a client's prediction request, independent of the protocol: plain data that a protocol
 * fills in and that no part of serving changes. Threads: plain data, in the arena of the request.
 */
#ifndef ATTND_WIRE_CALL_H
#define ATTND_WIRE_CALL_H

#include "engine/base/err.h"
#include "engine/engine.h"
#include "wire/vector_form.h"

#include <stdbool.h>
#include <stddef.h>

enum { TOP_K_ALL = 0 };

/* One text or image of a call. err.code != ERR_OK: this item cannot be used, the others can. */
struct predict_item {
    struct engine_source source; /* its texts are UTF-8 (is_utf8), its pair NULL or not empty;
                                    request_source adds how it is read */
    const char *id;              /* the item's own; NULL: none */
    const char *context;         /* of this item alone; as the call's */
    const char *lot;             /* the member of the context; NULL: none */
    struct err err;
};

enum { CALL_PLACE_BYTES = 64 };

/* The models that may answer a call: any; those that answer an input as a whole; those of vectors;
 * those that score how well a second text fits a first one; those of labels and numbers; those that
 * tell whether a second text follows from a first one; those that Hugging Face's clients know;
 * those that answer questions; those of sparse vectors; those that read texts, whose tokens alone
 * are told (WISH_TOKENS), or that are not asked at all (WISH_NOTHING); those with past inputs,
 * which alone are told; those that write texts. */
enum predict_wish {
    WISH_ANY,
    WISH_WHOLE,
    WISH_VECTOR,
    WISH_RANK,
    WISH_SCORES,
    WISH_ENTAIL,
    WISH_PIPELINE,
    WISH_ANSWER,
    WISH_SPARSE,
    WISH_TOKENS,
    WISH_NOTHING,
    WISH_SIMILAR,
    WISH_TEXT
};

struct predict_call {
    const char *model_place; /* where `model` stands in the call, for error texts */
    /* The JSON path of an item: "$.inputs[3].text". */
    void (*place)(const struct predict_call *call, unsigned index, char out[CALL_PLACE_BYTES]);
    const char *model;    /* NULL: the default of each item's kind */
    const char *version;  /* of the model; NULL: the one that its shares choose */
    unsigned top_k;       /* TOP_K_ALL, or at least 1; default 1 */
    unsigned deadline_ms; /* 0: none named */
    const char *id;       /* NULL: none named (an empty one counts as none) */
    bool explain;
    struct explain_options how;
    bool overlay; /* of images; a text has none */
    bool keep;    /* an input may be kept for a review; default true */
    enum engine_long_text long_text;
    enum aggregation aggregation;
    bool keeps_outside;         /* spans with the label "O", too */
    const char *const *targets; /* [target_count] as engine_source has them */
    unsigned target_count;
    struct engine_question asking; /* its options; the questions are the items' */
    bool stream; /* each token of a text is answered as it comes (text/event-stream) */
    struct engine_writing *writing; /* options of a model that writes; NULL: none came */
    const char *prompt_name;       /* of an embedding model's prompts; NULL: its default one */
    struct engine_labels labels;   /* candidate_labels, checked; count 0: none came with the call */
    const char *context;           /* a checked object as JSON text; NULL: none */
    const char *lot;               /* its member, a number as its text; NULL: none */
    enum predict_wish wish;
    bool refuses_cut;          /* a text of which not all is read, unless the model accepts that */
    const char *cut_advice;    /* what its refusal says beside the limit; NULL: of truncate */
    struct vector_form vector; /* the form of the answer, if it is a vector */
    bool refuses_unit;         /* a vector whose length the model's modules have set to 1 */
    unsigned similar;          /* so many near inputs are told of each; 0: none */
    bool envelope; /* the call had "inputs": answer with "results", failed items among them. Without
                      it a failed item is the failure of the call */
    bool is_lines; /* answer each item with a line of its own (NDJSON) */
    unsigned first; /* index of the first item among those of a list that is answered in portions */
    unsigned item_count;
    struct predict_item *items;
};

#endif
