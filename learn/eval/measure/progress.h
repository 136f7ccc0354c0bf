/* progress.h - shows the progress of a long run in one line of a terminal, which is overwritten.
 *
 *     struct progress progress;
 *     progress_start(&progress, "f32", total);
 *     options.progress = progress.watched ? progress_show : NULL, options.context = &progress;
 *     ... the run ...
 *     progress_end(&progress);
 *
 * Threads: one at a time.
 */
#ifndef ATTND_LEARN_EVAL_MEASURE_PROGRESS_H
#define ATTND_LEARN_EVAL_MEASURE_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct progress {
    const char *name;
    size_t total;
    uint64_t start_ns, shown_ns;
    bool watched; /* stderr is a terminal */
};

/* `name`, borrowed, is the line's first word; total is the number of inputs. */
void progress_start(struct progress *progress, const char *name, size_t total);
/* `context` must be the struct progress. Writes at most five times a second. */
void progress_show(void *context, size_t done);
void progress_end(const struct progress *progress);

#endif
