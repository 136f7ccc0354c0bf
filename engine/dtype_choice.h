/* dtype_choice.h - how a model computes, chosen when it is opened: the precision of the encoder's
 * linear layers, and what multiplies.
 *
 *     dtype_choice_make(&choice, "auto", backend, &err);          by name; of auto it is fp32
 *     dtype_choice_pin(&choice, backend, &spec, &err);            auto: what attnd.json pins
 *     dtype_choice_measure(&choice, backend, &spec, files, count, &err);  auto: else the fastest
 *
 * Auto takes the fastest on this CPU of fp32, bf16 where the CPU multiplies it natively, and int8
 * where the checkpoint's agreement with fp32 was measured and is good enough:
 *
 *     the same winner for at least 99.5 % of the inputs, and macro-F1 within 0.5 points
 *     on so many inputs that the share among all is 95 % sure to be at least 99 % (the lower end of
 *     Wilson's interval): 268 if no winner differs, 446 if one does, 602 if two do
 *
 * bf16 needs no measurement, since it has the exponents of fp32 and so no scale that one large
 * number can spoil: it rounds each number to 1 part in 512, whatever its neighbours are, and
 * changed no winner of 731 crash reports and 4000 test logs, and 3 of 25 937 wafer maps. A measured
 * agreement that is not good enough bars it, too.
 *
 * Threads: plain data; a measurement is of the calling thread.
 */
#ifndef ATTND_ENGINE_DTYPE_CHOICE_H
#define ATTND_ENGINE_DTYPE_CHOICE_H

#include "engine/model/spec.h"
#include "engine/tensor/linear/linear.h"

enum { DTYPE_REASON_BYTES = 512 };

struct dtype_choice {
    enum precision precision;             /* of the encoder's linear layers */
    const struct linear_backend *encoder; /* in that precision */
    const struct linear_backend *other;   /* in fp32: patch embedding, pooler, classifier */
    const struct kernels *kernels;
    bool is_auto;                    /* dtype auto */
    char reason[DTYPE_REASON_BYTES]; /* of the precision, for a person; "": it was asked for */
};

/* `backend` is engine_options.linear_backend. ERR_UNSUPPORTED for names that are not known, and for
 * a precision that is not served well here: tensor/linear/precision_speed.h. */
enum err_code dtype_choice_make(struct dtype_choice *out, const char *dtype, const char *backend,
                                struct err *err);

/* Takes the spec's pinned precision; the errors of dtype_choice_make for it. Nothing to do unless
 * the choice is auto. */
enum err_code dtype_choice_pin(struct dtype_choice *choice, const char *backend,
                               const struct spec *spec, struct err *err);

/* Measures, for at most 0.3 s of processor time, products in the shapes of a layer, and decides.
 * Where the answer hangs on a measured agreement the weight files are read to compare their digest.
 * Nothing to do unless the choice is auto and nothing is pinned. ERR_NO_MEMORY, ERR_IO. */
enum err_code dtype_choice_measure(struct dtype_choice *choice, const char *backend,
                                   const struct spec *spec, const char *const *weight_files,
                                   unsigned file_count, struct err *err);

/* ---- the decision alone ---- */

enum dtype_trust {
    TRUST_UNMEASURED,
    TRUST_OTHER_WEIGHTS, /* measured with others */
    TRUST_FEW,           /* inputs */
    TRUST_WINNERS,       /* too many differ */
    TRUST_F1,            /* moves too far */
    TRUST_GOOD,
    TRUST_COUNT
};

enum dtype_trust dtype_choice_judge(const struct precision_agreement *agreement);

/* The facts that the decision needs, for each precision. */
struct dtype_facts {
    struct {
        bool is_served;         /* this CPU and backend multiply it fast */
        enum dtype_trust trust; /* of fp32: nothing */
        double gain;            /* over fp32; 0: not measured */
    } of[PRECISION_COUNT];
};

bool dtype_choice_is_candidate(const struct dtype_facts *facts, enum precision precision);
enum precision dtype_choice_decide(const struct dtype_facts *facts);
/* "int8: 2.9 x f32; agreement 99.97 % of 25937 inputs; bf16 1.9 x". */
void dtype_choice_explain(char out[DTYPE_REASON_BYTES], const struct dtype_facts *facts,
                          const struct precision_record *record);

#endif
