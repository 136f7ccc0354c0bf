/* audit_record.h - what happened, as the members of an audit line.
 *
 *     {"type":"prediction","id","index","item_id"?,"trace_id"?,"input":"sha256:...","model",
 *      "version","digest","label","score","decision","ood_score"?,"truncated"?,"cached"?,
 *      "context"?}; of a text "output", or where it is long "output_digest", and "confidence"
 *      in place of "label" and "score", and "broken_rule" where "output" is null
 *     {"type":"repeat","id","key"?,"idempotency_key"}
 *     {"type":"start","attnd":"0.1.0"}, {"type":"stop"}
 *     {"type":"reload","generation","changed":["models.wafer-vit"]} or {"type":"reload","failed"}
 *
 * Never an input: its SHA-256 tells whether a given one was meant.
 *
 * Threads: as audit.h.
 */
#ifndef ATTND_SERVER_AUDIT_AUDIT_RECORD_H
#define ATTND_SERVER_AUDIT_AUDIT_RECORD_H

#include "server/audit/audit.h"
#include "server/observe/record.h"

/* One line for each record without an error, all or none. ERR_NOT_READY as audit_append;
 * ERR_NO_MEMORY. */
enum err_code audit_predictions(struct audit *audit, const struct prediction_record *records,
                                unsigned count, struct err *err);

/* An answer was given once more, to a request with the Idempotency-Key of the first. */
struct audit_repeat {
    const char *id;  /* of the first answer, whose lines have it too */
    const char *key; /* name of the key that asked; NULL: none was needed */
    const char *idempotency_key;
};
/* ERR_NOT_READY as audit_append. */
enum err_code audit_repeat(struct audit *audit, const struct audit_repeat *repeat, struct err *err);

/* A line that cannot be written is counted by audit_state. */
void audit_start(struct audit *audit);
void audit_stop(struct audit *audit);

/* Observer of changes only. Predictions go through audit_predictions: a prediction is answered only
 * if its line was accepted. */
struct observer audit_observer(struct audit *audit);

#endif
