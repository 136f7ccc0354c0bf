/* team.h - a few threads that run one task together and wait for each other (fork-join).
 *
 *     team_run(team, scale_rows, &args);     calls scale_rows(&args, index, count) for each
 *                                            index = 0 .. count - 1
 *
 * The caller is member 0. Whoever waits spins for up to 80 us, since kernels follow each other
 * closely, and then sleeps: an idle team uses no CPU. While all spin, a fork-join costs 0.1 us (two
 * threads on two cores of an AMD EPYC; with a thread more than cores, 3 us). Threads: a team
 * belongs to one caller.
 */
#ifndef ATTND_ENGINE_BASE_TEAM_H
#define ATTND_ENGINE_BASE_TEAM_H

#include "engine/base/err.h"

struct team;

/* threads >= 1, the caller included. Yours to close. */
enum err_code team_open(struct team **out, unsigned threads, struct err *err);
void team_close(struct team *team);
unsigned team_size(const struct team *team);

void team_run(struct team *team, void (*task)(void *context, unsigned index, unsigned count),
              void *context);

#endif
