/* feedback_state.h - what feedback.c keeps and feedback_figures.c reads. Private to both. */
#ifndef ATTND_SERVER_FEEDBACK_FEEDBACK_STATE_H
#define ATTND_SERVER_FEEDBACK_FEEDBACK_STATE_H

#include "server/feedback/feedback.h"
#include "server/feedback/outcomes.h"
#include "server/feedback/window.h"

#include <pthread.h>
#include <stdatomic.h>

struct feedback {
    struct audit *audit;
    char *audit_dir; /* NULL: there is no past */
    uint64_t past_seq;
    pthread_mutex_t order;

    pthread_mutex_t lock; /* of what follows */
    struct window window;
    struct window shadows; /* what shadow versions judged; `label` is part of an answer's number */
    struct window given;   /* right labels, which outlive their predictions (feedback_given.h) */
    struct outcomes *outcomes;
    bool is_reading_past;
    uint64_t generation; /* the newest that labels were learnt of */
    uint64_t contested;  /* inputs that came under an id of somebody else */
    uint64_t told_ns;    /* when that was told last; 0: never */
    bool is_full_told;   /* that pairs of labels are no longer counted by themselves */

    pthread_t reader; /* joined by close, if has_reader */
    bool has_reader;
    atomic_bool is_closing; /* partners: feedback_close, feedback_past_read */
};

/* feedback.c: outcomes_version, for which another version and all that is known of it makes room if
 * it must. */
int feedback_version_locked(struct feedback *feedback, const char *model, const char *version,
                            bool is_old);

#endif
