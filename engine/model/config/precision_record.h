/* precision_record.h - a checkpoint's record of the precisions that it may be served in:
 * attnd.json's "dtype", which fixes the one that dtype auto takes, and "agreement", which
 * attnd-eval --write-agreement measures.
 *
 *     {"dtype": "int8",
 *      "agreement": {"int8": {"inputs": 25937, "same_winner": 25915, "macro_f1_points": -0.02,
 *                             "digest": "sha256:..."}}}
 *
 * Threads: plain data.
 */
#ifndef ATTND_ENGINE_MODEL_CONFIG_PRECISION_RECORD_H
#define ATTND_ENGINE_MODEL_CONFIG_PRECISION_RECORD_H

#include "engine/base/doc.h"
#include "engine/base/err.h"
#include "engine/tensor/gemm/operand.h"

#include <stdbool.h>

enum { PRECISION_DIGEST_BYTES = 72 }; /* "sha256:", 64 digits and a NUL */

/* Answers of a precision to labelled inputs, compared with fp32. */
struct precision_agreement {
    unsigned inputs;                     /* inputs that either answered; 0: not measured */
    unsigned same_winner;                /* inputs with the same winner */
    double f1_points;                    /* macro-F1 in percent, minus that of fp32 */
    char digest[PRECISION_DIGEST_BYTES]; /* engine_digest of the measured weights */
};

struct precision_record {
    bool is_pinned;
    enum precision pinned;
    struct precision_agreement agreement[PRECISION_COUNT]; /* fp32's is empty */
};

enum { PRECISION_INPUTS_MAX = 1000 * 1000 * 1000 };

/* Reads the members of attnd.json's object; absent ones leave *out unchanged. ERR_UNSUPPORTED names
 * the member. */
enum err_code precision_record_read(struct precision_record *out, const struct json_t *object,
                                    struct err *err);

#endif
