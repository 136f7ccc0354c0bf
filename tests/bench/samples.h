/* samples.h - what the HTTP lines send: texts whose length in tokens is known, and a picture. */
#ifndef ATTND_TESTS_BENCH_SAMPLES_H
#define ATTND_TESTS_BENCH_SAMPLES_H

#include "engine/engine.h"

enum { SAMPLES_TEXTS_MAX = 4096, SAMPLES_TOKENS = 126 };

/* A JSON-lines file of texts, as attnd-load reads it. */
struct samples {
    unsigned count;
    unsigned tokens[SAMPLES_TEXTS_MAX]; /* of each text */
};

/* Writes 129 texts of words from DIR/vocab.txt, each word one token: first one of SAMPLES_TOKENS,
 * then lengths from 8 to 256. */
enum err_code samples_write(const char *path, const char *dir, struct err *err);

/* Counts the tokens of the file's texts with the model's own tokenizer. */
enum err_code samples_read(struct samples *out, const char *path, const struct engine_model *model,
                           struct err *err);

/* Copies the file's first line. */
enum err_code samples_first(const char *from, const char *to, struct err *err);

/* Tokens of the first `answers` texts, begun again after the last one. */
double samples_tokens(const struct samples *samples, double answers);

/* A picture like a wafer map: RGB, 224 x 224. */
enum err_code samples_png(const char *path, struct err *err);

#endif
