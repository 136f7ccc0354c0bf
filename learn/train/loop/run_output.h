/* run_output.h - a run and the directory it writes into: what an earlier run left there, and what
 * this one leaves. Threads: one at a time. */
#ifndef ATTND_LEARN_TRAIN_LOOP_RUN_OUTPUT_H
#define ATTND_LEARN_TRAIN_LOOP_RUN_OUTPUT_H

#include "learn/train/loop/run.h"

/* Makes the directory and looks what is there, once the data are open: sets fingerprint and lines,
 * `resumed` and `at` by a state, `is_finished` by the record of the same run, `replaced_version`.
 * With --restart state and record go. ERR_UNUSABLE, with what differs: state or record are of a run
 * with other options or data; or there is a checkpoint that nothing is known of. */
enum err_code run_output_open(struct run *run, struct err *err);

/* An attnd.json whose version or class codes this run does not write is kept beside as
 * attnd.json.before. */
enum err_code run_output_keep(const struct run *run, struct err *err);

/* The end of it all: split.jsonl (split.h), unless there is a list to validate by, and the record
 * are written, then the state goes. */
enum err_code run_output_finish(const struct run *run, struct err *err);

/* In what `here`, the lines of this run, differs from those of another, as "--rate 0.1 (there 0.2),
 * the inputs", cut at `size`; true if in anything. A key that `there` lacks is newer than it.
 * `only_weights`: options that do not decide the weights may differ. */
bool run_output_difference(const char *here, const char *there, bool only_weights, char *out,
                           size_t size);

#endif
