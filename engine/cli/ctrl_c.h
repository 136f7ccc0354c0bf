/* ctrl_c.h - Ctrl-C and SIGTERM for a program that saves before it ends: the first one asks, the
 * second ends the process at once. Threads: call it once, before others start; the flag is atomic.
 */
#ifndef ATTND_ENGINE_CLI_CTRL_C_H
#define ATTND_ENGINE_CLI_CTRL_C_H

#include <stdatomic.h>
#include <stdbool.h>

/* From now on. The flag becomes true when the program is asked to stop; it lasts. */
const atomic_bool *ctrl_c_catch(void);

#endif
