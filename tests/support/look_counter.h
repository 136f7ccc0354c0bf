/* look_counter.h - an interrupt that counts the looks and ends the work at one of them.
 *
 *     struct look_counter counter;
 *     image_decode(..., look_counter_init(&counter, 7), ...);    ends at the seventh look
 *     ck_assert_uint_eq(counter.looks, 7);                       and did not look again
 */
#ifndef ATTND_TESTS_SUPPORT_LOOK_COUNTER_H
#define ATTND_TESTS_SUPPORT_LOOK_COUNTER_H

#include "engine/base/interrupt.h"

struct look_counter {
    struct interrupt interrupt;
    unsigned looks, last;
};

static inline enum err_code look_counter_look(void *context, struct err *err)
{
    struct look_counter *counter = context;
    counter->looks++;
    if (counter->last == 0 || counter->looks < counter->last)
        return ERR_OK;
    return err_set(err, ERR_DEADLINE, "enough");
}

/* `last`: the look that says no, as do all after it; 0: none. */
static inline struct interrupt *look_counter_init(struct look_counter *counter, unsigned last)
{
    *counter = (struct look_counter){.last = last};
    counter->interrupt = (struct interrupt){.look = look_counter_look, .context = counter};
    return &counter->interrupt;
}

#endif
