/* systemd.h - what a service manager is told (sd_notify(3), sd_watchdog_enabled(3); the protocol is
 * a datagram of NAME=VALUE lines to the socket that $NOTIFY_SOCKET names).
 *
 *     systemd_notify("READY=1\nSTATUS=serving 3 models");
 *
 * Without the variables nothing happens. A failure to send is ignored: systemd then acts by its own
 * timeouts.
 *
 * Threads: any; the environment is only read.
 */
#ifndef ATTND_SERVER_SYSTEMD_H
#define ATTND_SERVER_SYSTEMD_H

void systemd_notify(const char *state);

/* How often WATCHDOG=1 is to come, in milliseconds: half of what systemd waits. 0: it does not. */
unsigned systemd_watchdog_ms(void);

#endif
