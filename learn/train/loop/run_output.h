/* run_output.h - the output directory of a run: finds what an earlier run left there, and writes
 * the files that tell a later run about this one. Threads: one at a time. */
#ifndef ATTND_LEARN_TRAIN_LOOP_RUN_OUTPUT_H
#define ATTND_LEARN_TRAIN_LOOP_RUN_OUTPUT_H

#include "learn/train/loop/run.h"

/* Makes the directory and looks at its files; the data must be open. Sets fingerprint, lines and
 * replaced_version; `resumed` and `at` if there is a state; `is_finished` if there is a record of
 * the same run. With --restart state and record are removed. ERR_UNUSABLE if state or record are of
 * a run with other options or data (the error names them), or if a checkpoint has no record.
 * ERR_CONFLICT while another run has the directory. */
enum err_code run_output_open(struct run *run, struct err *err);

/* Renames an attnd.json whose version or class codes this run does not write to attnd.json.before.
 */
enum err_code run_output_keep(const struct run *run, struct err *err);

/* Ends a run: writes split.jsonl (split_write), unless there is a validation list, and the record,
 * then removes the state. */
enum err_code run_output_finish(const struct run *run, struct err *err);

/* Writes to `out` in what `here`, the lines of this run, differ from `there`, those of another, as
 * "--rate 0.1 (there 0.2), the inputs", cut at `size` bytes. True if they differ. A key that
 * `there` lacks is an option added later and is ignored. `only_weights`: options that do not decide
 * the weights are ignored too. */
bool run_output_difference(const char *here, const char *there, bool only_weights, char *out,
                           size_t size);

#endif
