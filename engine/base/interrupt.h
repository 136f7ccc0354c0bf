/* interrupt.h - cancels long work whose result is no longer needed.
 *
 * The caller supplies a function and the interval of its calls. The work calls it between rows,
 * pieces and passes, and ends with the error code that it returns:
 *
 *     struct interrupt interrupt = {.look = look, .context = request, .interval_ns = 2000000};
 *     for (size_t y = 0; y < height; y++) {
 *         if (interrupt_look(&interrupt, err))
 *             return err->code;
 *         ... one row ...
 *     }
 *
 * A call costs a reading of the clock (some 25 ns), so a loop whose iterations are shorter than
 * about a microsecond calls it once in several iterations. NULL stands for work that is never
 * cancelled.
 *
 * Threads: one at a time, like the work itself.
 */
#ifndef ATTND_ENGINE_BASE_INTERRUPT_H
#define ATTND_ENGINE_BASE_INTERRUPT_H

#include "engine/base/clock.h"
#include "engine/base/err.h"

#include <stddef.h>
#include <stdint.h>

struct interrupt {
    /* ERR_OK: go on. Else the work ends with this code, which is also set in err. */
    enum err_code (*look)(void *context, struct err *err);
    void *context;
    uint64_t interval_ns; /* shortest time between two calls of `look`; 0: call it every time */
    uint64_t next_ns;     /* time of the next call; initially 0 */
};

static inline enum err_code interrupt_look(struct interrupt *interrupt, struct err *err)
{
    uint64_t now_ns = interrupt != NULL ? clock_now_ns() : 0;
    if (interrupt == NULL || now_ns < interrupt->next_ns)
        return ERR_OK;
    enum err_code code = interrupt->look(interrupt->context, err);
    if (code == ERR_OK)
        interrupt->next_ns = now_ns + interrupt->interval_ns;
    return code;
}

#endif
