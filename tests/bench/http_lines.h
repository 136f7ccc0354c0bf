/* http_lines.h - what HTTP, JSON, base64 and the queue add to the engine: attnd and attnd-load of
 * the same build, on loopback, beside the engine's own offline rate. */
#ifndef ATTND_TESTS_BENCH_HTTP_LINES_H
#define ATTND_TESTS_BENCH_HTTP_LINES_H

#include "engine/base/err.h"

#include <stdio.h>

struct http_options {
    const char *bert, *vit; /* checkpoint directories */
    const char *work;       /* for the workload files and the servers' logs */
    const char *texts;      /* JSON lines, the first of SAMPLES_TOKENS tokens; NULL: made */
    unsigned threads;       /* of the offline rate; the server decides for itself */
    double seconds;         /* of each load */
    double ort_ms;          /* ONNX Runtime's fp32 time of BERT 1 x 128 now; 0: unknown */
};

/* A dtype that the engine refuses is a line with its reason. */
enum err_code http_lines_print(const struct http_options *options, FILE *file, struct err *err);

#endif
