/* train_fixture.h - tiny data and models to train: a language of two words for a BERT, and pictures
 * with one bright half for a ViT. An epoch takes milliseconds.
 *
 *     struct train_fixture f;
 *     train_fixture_texts(&f);
 *     struct trainer_result result = train_fixture_run(&f);
 *     ... f.first.path ...
 *     train_fixture_close(&f);
 *
 * Any failure fails the test. Threads: one.
 */
#ifndef ATTND_TESTS_SUPPORT_TRAIN_FIXTURE_H
#define ATTND_TESTS_SUPPORT_TRAIN_FIXTURE_H

#include "learn/train/trainer.h"
#include "tests/support/tempdir.h"

/* Texts "cold" and "hot" by their words; images "left" and the other by the half that is bright. */
enum { TRAIN_FIXTURE_TEXTS = 120, TRAIN_FIXTURE_IMAGES = 48, TRAIN_FIXTURE_SIDE = 16 };

struct train_fixture {
    struct tempdir model, data, first, second; /* two outputs */
    char list[128];
    struct train_options options; /* into first; six epochs, one thread, fp32 throughout */
    atomic_bool stop;
    unsigned learning_calls, stop_after; /* stops at that call of progress; 0: never */
    struct trainer_plan plan;            /* of the last run */
    char remarks[2048];                  /* of its data */
    char unusable[160];                  /* "NAME: REASON" of its first unusable input */
    unsigned plan_calls;
};

void train_fixture_texts(struct train_fixture *f);
/* other: "right" or "top". */
void train_fixture_images(struct train_fixture *f, const char *other);
void train_fixture_close(struct train_fixture *f);

struct trainer_result train_fixture_run(struct train_fixture *f);
/* The same where the result does not matter. */
void train_fixture_learn(struct train_fixture *f);

/* model.safetensors of an output; yours to free. */
char *train_fixture_weights(const struct tempdir *dir, size_t *len);
void train_fixture_expect_same(const struct tempdir *a, const struct tempdir *b);
void train_fixture_expect_other(const struct tempdir *a, const struct tempdir *b);
bool train_fixture_has(const struct tempdir *dir, const char *name);

#endif
