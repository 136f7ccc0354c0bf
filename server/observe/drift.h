/* drift.h - how far live predictions have moved from those of a model's validation inputs: labels,
 * scores and OOD scores, or the numbers of a regression, each as a population stability index
 * (engine/statistics/statistics.h) of the last predictions (drift_window.h) against attnd.json's
 * "reference".
 *
 *     drift_open(&drift, 200, &err);
 *     observers_add(&observers, drift_observer(drift));            predictions come in
 *     drift_read(drift, "wafer-vit", info, &figures);
 *     if (figures.has_psi) ...                                     figures.psi[DRIFT_OOD]
 *     drift_close(drift);
 *
 * A window belongs to a name, a version and a reference (version_table.h): a version that is
 * calibrated again begins anew. Its memory is taken with its first prediction; a model without a
 * reference has none.
 *
 * Measured (x86-64, one thread): 60 ns a prediction with its lock, 0.3 us a reading; 3 kB a model
 * with a window of 200.
 *
 * Threads: any, but for open and close.
 */
#ifndef ATTND_SERVER_OBSERVE_DRIFT_H
#define ATTND_SERVER_OBSERVE_DRIFT_H

#include "engine/decide/drift_reference.h"
#include "engine/engine.h"
#include "server/observe/record.h"

struct drift;

/* window: predictions of each window, at least 1. ERR_NO_MEMORY. */
enum err_code drift_open(struct drift **out, unsigned window, struct err *err);
void drift_close(struct drift *drift); /* NULL is allowed */

/* Most bytes that it takes, for any number of models: 0.4 MB with a window of 200. */
size_t drift_bytes(unsigned window);

struct observer drift_observer(struct drift *drift);

struct drift_figures {
    unsigned count; /* predictions of the window */
    bool has_psi;   /* they are DRIFT_LEAST at least */
    bool is_number; /* a regression: of the kinds only DRIFT_VALUE is measured; else all others */
    double psi[DRIFT_KINDS];
};

/* True if the figures have the kind. */
static inline bool drift_figures_have(const struct drift_figures *figures, enum drift_kind kind)
{
    return (kind == DRIFT_VALUE) == figures->is_number;
}

/* Figures of a served model, found by its name and its info. False: it has no reference. */
bool drift_read(struct drift *drift, const char *model, const struct engine_info *info,
                struct drift_figures *out);

#endif
