#include "server/fits/fits_state.h"

#include <string.h>

bool fits_is_over(const struct fit_job *job)
{
    return job->state != FITS_QUEUED && job->state != FITS_RUNNING;
}

void fits_take_out_locked(struct fits *fits, unsigned at)
{
    fits->count--;
    memmove(&fits->jobs[at], &fits->jobs[at + 1], (fits->count - at) * sizeof fits->jobs[0]);
}

unsigned fits_waiting_locked(const struct fits *fits)
{
    unsigned count = 0;
    for (unsigned i = 0; i < fits->count; i++)
        count += fits->jobs[i]->state == FITS_QUEUED;
    return count;
}

enum err_code fits_find_locked(const struct fits *fits, uint64_t number, unsigned *at,
                               struct err *err)
{
    for (*at = 0; *at < fits->count; (*at)++)
        if (fits->jobs[*at]->number == number && !fits->jobs[*at]->is_held)
            return ERR_OK;
    return err_set(err, ERR_NOT_FOUND,
                   "there is no fit of this number; the last %d since the start are remembered",
                   FITS_KEPT);
}
