/* dtype_choice.c - see dtype_choice.h. What is chosen by measuring is one pure decision
 * (dtype_choice_decide) about facts that are gathered first: which precisions this CPU multiplies
 * fast, how far their agreement with fp32 can be trusted, and how fast they are. The weights'
 * digest is the dearest of them, since all of their bytes are read, and asked for only of a
 * precision that would win. */
#include "engine/dtype_choice.h"

#include "engine/base/sha256.h"
#include "engine/statistics/statistics.h"
#include "engine/tensor/linear/precision_speed.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_ROWS = 128, SHAPES = 4 };

#define SAME_PERCENT_MIN 99.5 /* of the inputs that were measured */
#define SAME_SURE_MIN 0.99    /* of all, as far as those tell */
#define ONE_SIDED_95 1.6449
#define F1_POINTS_MAX 0.5

#define HOW_TO "attnd-eval --against f32 --write-agreement"

static const char auto_name[] = "auto";

/* ---- from the options ---- */

static enum err_code take_precision(struct dtype_choice *choice, enum precision precision,
                                    const char *backend, struct err *err)
{
    choice->precision = precision;
    if (precision == PRECISION_BF16)
        return precision_speed_choose_bf16(&choice->encoder, backend, err);
    choice->encoder = linear_backend_find(backend, precision);
    if (choice->encoder == NULL)
        return err_set(err, ERR_UNSUPPORTED, "the linear backend '%s' cannot multiply in %s",
                       backend, precision_name(precision));
    return ERR_OK;
}

enum err_code dtype_choice_make(struct dtype_choice *out, const char *dtype, const char *backend,
                                struct err *err)
{
    enum precision precision = PRECISION_F32;
    *out = (struct dtype_choice){.is_auto = strcmp(dtype, auto_name) == 0};
    if (!out->is_auto && !precision_find(dtype, &precision))
        return err_set(err, ERR_UNSUPPORTED,
                       "dtype '%s' is not known (known: f32, bf16, int8, auto)", dtype);
    out->other = linear_backend_find_plain(backend);
    if (out->other == NULL)
        return err_set(err, ERR_UNSUPPORTED, "linear backend '%s' is not known (known: %s)",
                       backend, linear_backend_names());
    out->kernels = out->other == &linear_reference ? &kernels_reference : kernels_best();
    return take_precision(out, precision, backend, err);
}

enum err_code dtype_choice_pin(struct dtype_choice *choice, const char *backend,
                               const struct spec *spec, struct err *err)
{
    if (!choice->is_auto || !spec->precisions.is_pinned)
        return ERR_OK;
    if (take_precision(choice, spec->precisions.pinned, backend, err))
        return err_prefix(err,
                          "attnd.json pins dtype %s: ", precision_name(spec->precisions.pinned));
    snprintf(choice->reason, sizeof choice->reason, "%s: attnd.json pins it",
             precision_name(choice->precision));
    return ERR_OK;
}

/* ---- the decision ---- */

enum dtype_trust dtype_choice_judge(const struct precision_agreement *agreement)
{
    if (agreement->inputs == 0)
        return TRUST_UNMEASURED;
    if (100.0 * agreement->same_winner < SAME_PERCENT_MIN * agreement->inputs)
        return TRUST_WINNERS;
    if (!(fabs(agreement->f1_points) <= F1_POINTS_MAX))
        return TRUST_F1;
    const struct interval among_all =
        wilson_interval_at(agreement->same_winner, agreement->inputs, ONE_SIDED_95);
    return among_all.low >= SAME_SURE_MIN ? TRUST_GOOD : TRUST_FEW;
}

bool dtype_choice_is_candidate(const struct dtype_facts *facts, enum precision precision)
{
    const enum dtype_trust trust = facts->of[precision].trust;
    if (precision == PRECISION_F32)
        return true;
    if (!facts->of[precision].is_served)
        return false;
    if (precision == PRECISION_BF16)
        return trust == TRUST_GOOD || trust == TRUST_UNMEASURED || trust == TRUST_OTHER_WEIGHTS ||
               trust == TRUST_FEW;
    return trust == TRUST_GOOD;
}

enum precision dtype_choice_decide(const struct dtype_facts *facts)
{
    enum precision best = PRECISION_F32;
    double best_gain = PRECISION_GAIN_MIN;
    for (enum precision p = PRECISION_BF16; p < PRECISION_COUNT; p++) {
        const double gain = facts->of[p].gain;
        if (dtype_choice_is_candidate(facts, p) && isfinite(gain) && gain >= best_gain) {
            best = p;
            best_gain = gain;
        }
    }
    return best;
}

/* ---- and why ---- */

__attribute__((format(printf, 2, 3))) static void add(char out[DTYPE_REASON_BYTES],
                                                      const char *format, ...)
{
    const size_t len = strlen(out);
    va_list args;
    va_start(args, format);
    vsnprintf(out + len, DTYPE_REASON_BYTES - len, format, args);
    va_end(args);
}

static void add_agreement(char out[DTYPE_REASON_BYTES], const struct precision_agreement *agreement)
{
    add(out, "agreement %.2f %% of %u inputs", 100.0 * agreement->same_winner / agreement->inputs,
        agreement->inputs);
}

/* Why a precision was not taken. */
static void add_other(char out[DTYPE_REASON_BYTES], const struct dtype_facts *facts,
                      enum precision precision, const struct precision_agreement *agreement)
{
    const char *name = precision_name(precision);
    if (!facts->of[precision].is_served) {
        add(out, "%s is not fast on this CPU with this linear backend", name);
        return;
    }
    if (dtype_choice_is_candidate(facts, precision)) {
        add(out, "%s %.1f x f32", name, facts->of[precision].gain);
        return;
    }
    add(out, "%s ", name);
    if (facts->of[precision].trust == TRUST_UNMEASURED)
        add(out, "was not measured on this model (" HOW_TO " --dtype %s)", name);
    else if (facts->of[precision].trust == TRUST_OTHER_WEIGHTS)
        add(out, "was measured with other weights (" HOW_TO " --dtype %s)", name);
    else
        add_agreement(out, agreement);
    if (facts->of[precision].trust == TRUST_FEW)
        add(out, ", too few");
    if (facts->of[precision].trust == TRUST_WINNERS)
        add(out, ", less than %.1f %%", SAME_PERCENT_MIN);
    if (facts->of[precision].trust == TRUST_F1)
        add(out, ", but macro-F1 differs by %+.2f points, more than %.1f", agreement->f1_points,
            F1_POINTS_MAX);
}

void dtype_choice_explain(char out[DTYPE_REASON_BYTES], const struct dtype_facts *facts,
                          const struct precision_record *record)
{
    const enum precision chosen = dtype_choice_decide(facts);
    out[0] = '\0';
    add(out, "%s: ", precision_name(chosen));
    if (chosen != PRECISION_F32)
        add(out, "%.1f x f32", facts->of[chosen].gain);
    if (chosen != PRECISION_F32 && facts->of[chosen].trust == TRUST_GOOD) {
        add(out, "; ");
        add_agreement(out, &record->agreement[chosen]);
    }
    for (enum precision p = PRECISION_COUNT; p-- > PRECISION_BF16;)
        if (p != chosen) {
            if (out[strlen(out) - 2] != ':')
                add(out, "; ");
            add_other(out, facts, p, &record->agreement[p]);
        }
}

/* ---- the facts ---- */

/* Images: the patches; texts: of a usual length. */
static size_t usual_rows(const struct spec *stage)
{
    if (stage->family->kind == ENGINE_IMAGE)
        return stage->patches;
    const unsigned longest = spec_text_tokens(stage);
    return longest < TEXT_ROWS ? longest : TEXT_ROWS;
}

/* Lists the products of one layer: the last one of the stage that has the most layers. */
static void list_shapes(struct product_shape out[SHAPES], const struct spec *spec)
{
    struct spec stage = spec_at(spec, 0);
    for (unsigned i = 1; i < spec_stages(spec); i++) {
        const struct spec next = spec_at(spec, i);
        if (spec_end_layer(&next) - spec_first_layer(&next) >
            spec_end_layer(&stage) - spec_first_layer(&stage))
            stage = next;
    }
    const size_t rows = usual_rows(&stage), hidden = stage.hidden, inner = stage.intermediate;
    const size_t attended = spec_attended(&stage, spec_end_layer(&stage) - 1);
    out[0] = (struct product_shape){rows, hidden, 3 * attended};
    out[1] = (struct product_shape){rows, attended, hidden};
    out[2] = (struct product_shape){rows, hidden, stage.is_gated ? 2 * inner : inner};
    out[3] = (struct product_shape){rows, inner, hidden};
}

/* The backends of the candidates, fp32's first, and which precision each one is of. */
struct runners {
    const struct linear_backend *backends[PRECISION_COUNT];
    enum precision precisions[PRECISION_COUNT];
    unsigned count;
};

static const struct linear_backend *find_fast(const char *name, enum precision precision)
{
    const struct linear_backend *backend = linear_backend_find(name, precision);
    if (backend == NULL || strcmp(backend->name, "reference") == 0 ||
        (precision == PRECISION_BF16 && !precision_speed_bf16_is_native()))
        return NULL;
    return backend;
}

static enum err_code gather(struct dtype_facts *facts, struct runners *runners,
                            const struct spec *spec, const char *backend_name, struct err *err)
{
    struct product_shape shapes[SHAPES];
    double gains[PRECISION_COUNT];
    for (enum precision p = PRECISION_F32; p < PRECISION_COUNT; p++) {
        const struct linear_backend *backend =
            p == PRECISION_F32 ? linear_backend_find(backend_name, p) : find_fast(backend_name, p);
        facts->of[p].is_served = backend != NULL;
        facts->of[p].trust = dtype_choice_judge(&spec->precisions.agreement[p]);
        if (!dtype_choice_is_candidate(facts, p))
            continue;
        runners->precisions[runners->count] = p;
        runners->backends[runners->count++] = backend;
    }
    if (runners->count == 1)
        return ERR_OK;
    list_shapes(shapes, spec);
    if (precision_speed_gains(gains, runners->backends, runners->count, shapes, SHAPES, err))
        return err->code;
    for (unsigned i = 0; i < runners->count; i++)
        facts->of[runners->precisions[i]].gain = gains[i];
    return ERR_OK;
}

/* A measured agreement holds for the weights that it was measured with. */
static enum err_code check_weights(struct dtype_facts *facts, const struct precision_record *record,
                                   const char *const *weight_files, unsigned file_count,
                                   struct err *err)
{
    const enum precision winner = dtype_choice_decide(facts);
    char hex[SHA256_HEX_BYTES];
    if (winner == PRECISION_F32 || facts->of[winner].trust == TRUST_UNMEASURED)
        return ERR_OK;
    if (sha256_files(weight_files, file_count, NULL, hex, err))
        return err->code;
    for (enum precision p = PRECISION_BF16; p < PRECISION_COUNT; p++)
        if (record->agreement[p].inputs > 0 &&
            strcmp(record->agreement[p].digest + strlen("sha256:"), hex) != 0)
            facts->of[p].trust = TRUST_OTHER_WEIGHTS;
    return ERR_OK;
}

enum err_code dtype_choice_measure(struct dtype_choice *choice, const char *backend,
                                   const struct spec *spec, const char *const *weight_files,
                                   unsigned file_count, struct err *err)
{
    struct dtype_facts facts = {0};
    struct runners runners = {0};
    if (!choice->is_auto || spec->precisions.is_pinned)
        return ERR_OK;
    if (gather(&facts, &runners, spec, backend, err) ||
        check_weights(&facts, &spec->precisions, weight_files, file_count, err))
        return err->code;
    choice->precision = dtype_choice_decide(&facts);
    for (unsigned i = 0; i < runners.count; i++)
        if (runners.precisions[i] == choice->precision)
            choice->encoder = runners.backends[i];
    dtype_choice_explain(choice->reason, &facts, &spec->precisions);
    return ERR_OK;
}
