/* tile_state.h - the tile registers of a thread (AMX): eight of 16 rows of 64 bytes. They exist
 * after Linux has given the process permission (arch_prctl, ARCH_REQ_XCOMP_PERM; Linux 5.16) and
 * the thread has configured the rows of each (Intel SDM, LDTILECFG).
 *
 * A thread that sleeps with configured tiles has 8 KB more to save at each switch, and keeps its
 * core in a higher power state: call tile_state_release before it sleeps.
 *
 * Threads: the permission is the process's, the rest each thread's own.
 */
#ifndef ATTND_ENGINE_TENSOR_TILE_STATE_H
#define ATTND_ENGINE_TENSOR_TILE_STATE_H

#include <stdbool.h>

enum { TILE_ROWS_MAX = 16, TILE_ROW_BYTES = 64 };

/* True if this CPU multiplies bytes and bf16 by tiles and Linux lets this process do so. The first
 * call asks Linux. An older kernel, a container's filter or a signal stack that is too small may
 * refuse. */
bool tile_state_permitted(void);

/* Configures tiles 0, 1 and 4 with `rows` rows, 1 to 16, the others with 16, all of 64 bytes. Does
 * nothing if they have them; else it takes some hundred cycles, and all tiles become zero. */
void tile_state_use(unsigned rows);

/* Does nothing in a thread that used no tiles. */
void tile_state_release(void);

#endif
