/* judge.h - evaluates the current weights on the validation inputs. Threads: one at a time. */
#ifndef ATTND_LEARN_TRAIN_LOOP_JUDGE_H
#define ATTND_LEARN_TRAIN_LOOP_JUDGE_H

#include "learn/train/loop/corpus.h"
#include "learn/train/loop/learner.h"

/* How the texts of a model that writes are judged. */
struct judge_texts_options {
    const char *source_dir;                        /* of the run */
    const char *scratch_dir;                       /* is made, and removed again */
    const char *source_language, *target_language; /* NULL: the usual ones */
    unsigned tokens_max;                           /* of a source; 0: the model's */
};

struct judge {
    const struct corpus_items *items;
    const struct loss *loss;                 /* unused for MLM */
    const struct numbers *numbers;           /* of a regression; NULL: not one */
    const struct groups *groups;             /* of an embedding; NULL: not one */
    const struct tag_set *tags;              /* of a model of tags; NULL: not one */
    const struct judge_texts_options *texts; /* of a model that writes; NULL: not one */
    double scale;                            /* of an embedding: ranking_loss.h's */
    struct samples_view view;
    uint64_t seed; /* chooses the masked words: the same ones each time */
    /* Called with the number of inputs done; NULL: not called. */
    void (*progress)(void *context, size_t done);
    void *context;
};

struct judge_result {
    double loss;     /* mean, with the loss's own smoothing, weights and adjustment but without a
                        teacher */
    double accuracy; /* of the winners by the logits without adjustment; with several labels an
                        input, of each label at score 0.5 */
    double macro_f1; /* confusion.h; 0 for MLM */
    /* These two are of a regression, which has no accuracy and no macro_f1; 0 for others. With
     * several outputs they are of all numbers together, each in deviations of those to learn. */
    double rmse;      /* root mean square error in the data's unit */
    double rmse_mean; /* that of always answering the validation part's mean */
    double ndcg;    /* nDCG@10 of an embedding (judge_vectors), else 0; its accuracy is the share of
                    pairs that are closer than any negative of their batch */
    double span_f1; /* micro-F1 of spans of a model of tags (judge_tags), else 0; its accuracy is
                       that of tokens */
    double exact;   /* share of the texts that are written as they are wanted (judge_texts), else
                       0; its accuracy is that of tokens */
};

/* Evaluates the learner's moving average, if it has one, else its weights. */
enum err_code judge_run(const struct judge *judge, struct learner *learner,
                        struct data_loader *loader, struct judge_result *out, struct err *err);

/* ---- judge vectors ---- */

/* The evaluation of an embedding: the loss over pairs of the validation part, and nDCG@10 of
 * searching in it. Threads: one at a time. */

/* Part of judge_run: the learner is paused, the loader reads the part's samples. Of pairs the first
 * texts search among the second ones; of labels each text among all others. With more than
 * JUDGE_QUERIES_MAX texts that search, so many of them, spread evenly, do. */
enum { JUDGE_QUERIES_MAX = 2000 };
enum err_code judge_vectors(const struct judge *judge, struct learner *learner,
                            struct data_loader *loader, struct judge_result *out, struct err *err);

/* ---- judge tags ---- */

/* The evaluation of a model of tags: the loss and the accuracy over tokens, and the F1 of spans.
 * Threads: one at a time. */

/* Part of judge_run: the learner is paused, the loader reads the part's samples. Spans are those
 * that the server answers, by the aggregation of the learner's spec, but they are counted in each
 * window by itself, in tokens; the report of the finished directory counts those of whole texts. */
enum err_code judge_tags(const struct judge *judge, struct learner *learner,
                         struct data_loader *loader, struct judge_result *out, struct err *err);

/* ---- judge texts ---- */

/* Judges a model that writes: its loss by the network, and the texts that it writes through the
 * engine's door, as they will be served. Threads: one at a time. */

/* A checkpoint whose greedy texts are compared with those that are wanted. */
struct judge_writer {
    const char *dir;
    const char *source_language, *target_language; /* NULL: the usual ones */
    unsigned threads, tokens;                      /* tokens: of the longest text to write */
    /* Called with each item's text, in order, and the number of items done; NULL: not called. */
    void (*written)(void *context, const struct dataset_item *item, const char *text);
    void (*progress)(void *context, size_t done);
    void *context;
};

/* *exact <- the share of the items whose text is written as it is wanted, to the byte; an item that
 * the engine does not take counts as written otherwise. Errors of engine_open begin with the
 * directory's name; ERR_IO and ERR_NO_MEMORY name the item. */
enum err_code judge_writer_run(const struct judge_writer *writer, const struct corpus_items *items,
                               double *exact, struct err *err);

/* Sets loss, accuracy (of tokens, each behind the right ones) and exact of out. The weights are
 * written to judge->texts->scratch_dir for the engine, and removed again. */
enum err_code judge_texts(const struct judge *judge, struct learner *learner,
                          struct data_loader *loader, struct judge_result *out, struct err *err);

#endif
