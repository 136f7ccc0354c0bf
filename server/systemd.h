/* systemd.h - what a service manager is told, and what sockets it hands over (sd_notify(3) and
 * sd_watchdog_enabled(3): a datagram of NAME=VALUE lines to the socket that $NOTIFY_SOCKET names;
 * sd_listen_fds_with_names(3): descriptors from 3 on, and variables that say how many).
 *
 *     struct systemd_sockets sockets;
 *     if (systemd_inherit(&sockets, &err)) ...
 *     systemd_notify("READY=1\nSTATUS=serving 3 models");
 *
 * Without the variables nothing happens. A failure to send is ignored: systemd then acts by its own
 * timeouts.
 *
 * Threads: any; the environment is only read.
 */
#ifndef ATTND_SERVER_SYSTEMD_H
#define ATTND_SERVER_SYSTEMD_H

#include "engine/base/err.h"

/* Descriptors; 0: none. */
struct systemd_sockets {
    int main;  /* the one named "attnd", else the first that is not named "admin" */
    int admin; /* the one named "admin" */
};

/* The sockets that systemd passes to this process ($LISTEN_PID). ERR_UNUSABLE if there is one too
 * many, since its clients would wait for ever, or if the variables are not as systemd writes them.
 */
enum err_code systemd_inherit(struct systemd_sockets *out, struct err *err);

void systemd_notify(const char *state);

/* How often WATCHDOG=1 is to come, in milliseconds: half of what systemd waits. 0: it does not. */
unsigned systemd_watchdog_ms(void);

#endif
