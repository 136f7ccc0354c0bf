#include "engine/cli/ctrl_c.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static atomic_bool stop; /* set by the handler, read by who works */

static void on_signal(int number)
{
    (void)number;
    if (atomic_exchange(&stop, true))
        _exit(128 + SIGINT);
}

const atomic_bool *ctrl_c_catch(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    return &stop;
}
