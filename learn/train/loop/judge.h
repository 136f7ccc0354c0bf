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
    double ndcg; /* nDCG@10 of an embedding (judge_vectors.h), else 0; its accuracy is the share of
                    pairs that are closer than any negative of their batch */
    double span_f1; /* micro-F1 of spans of a model of tags (judge_tags.h), else 0; its accuracy is
                       that of tokens */
    double exact;   /* share of the texts that are written as they are wanted (judge_texts.h), else
                       0; its accuracy is that of tokens */
};

/* Evaluates the learner's moving average, if it has one, else its weights. */
enum err_code judge_run(const struct judge *judge, struct learner *learner,
                        struct data_loader *loader, struct judge_result *out, struct err *err);

#endif
