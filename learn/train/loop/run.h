/* run.h - the open objects of a training run, shared by trainer.c, which runs its epochs, and
 * run.c, which opens, restores and saves it. Threads: one at a time. */
#ifndef ATTND_LEARN_TRAIN_LOOP_RUN_H
#define ATTND_LEARN_TRAIN_LOOP_RUN_H

#include "learn/train/checkpoint/state.h"
#include "learn/train/loop/corpus.h"
#include "learn/train/loop/data_loader.h"
#include "learn/train/loop/judge.h"
#include "learn/train/loop/learner.h"
#include "learn/train/loop/plan.h"
#include "learn/train/loop/sampler.h"
#include "learn/train/loop/teachers.h"
#include "learn/train/network/loss.h"

struct run {
    const struct train_options *options;
    struct spec spec;                 /* the source's, with the labels to learn */
    struct spec target;               /* of a model that writes: its decoder's */
    struct samples_writing writing;   /* likewise */
    struct judge_texts_options texts; /* likewise */
    struct plan plan;
    struct corpus corpus;
    struct sampler sampler;
    struct learner learner;
    struct teachers teachers; /* may be empty */
    struct data_loader loader;
    struct loss loss;
    size_t *order; /* [plan.epoch_inputs] items of the current epoch: indices in corpus.train */
    size_t *items; /* [batch] items of the current batch: indices in the data set; of an embedding
                      [2 batch], pair by pair */
    const float **targets; /* [batch] */
    unsigned *groups;      /* [batch] of an embedding's pairs */
    int output_fd;         /* of --out, locked; -1: none */
    char *state_path;
    char fingerprint[SHA256_HEX_BYTES];
    const char *lines;            /* options and a hash of the inputs, a "key=value" line each */
    const char *replaced_version; /* version of an attnd.json in --out that run_output_keep renames;
                                     NULL: none */
    struct state_counters at;
    struct history history;
    unsigned threads;
    enum train_task task;
    bool resumed;
    bool had_number;  /* the source's classifier answers a number in the data's unit */
    bool is_finished; /* an earlier process finished it: no model is open, nothing is to do */
    struct arena arena;
};

/* Opens data, model and teacher, and restores the state of an earlier run, if there is one. Close
 * it in any case. */
enum err_code run_open(struct run *out, const struct train_options *options,
                       const struct corpus_progress *progress, struct err *err);
void run_close(struct run *run);

/* Writes the state from which a run can be resumed. */
enum err_code run_save(const struct run *run, struct err *err);
/* Changes the model to the image size and frozen depth of `epoch`, counted from 0. */
enum err_code run_shape(struct run *run, unsigned epoch, struct err *err);

#endif
