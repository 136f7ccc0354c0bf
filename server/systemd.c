#include "server/systemd.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* A path, or with '@' a name of Linux' abstract sockets; false: neither. */
static bool address_of(const char *name, struct sockaddr_un *address, socklen_t *len)
{
    size_t bytes = strlen(name);
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if ((name[0] != '/' && name[0] != '@') || bytes < 2 || bytes >= sizeof address->sun_path)
        return false;
    memcpy(address->sun_path, name, bytes);
    if (name[0] == '@')
        address->sun_path[0] = '\0';
    *len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + bytes);
    return true;
}

void systemd_notify(const char *state)
{
    const char *name = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address;
    socklen_t len;
    if (name == NULL || !address_of(name, &address, &len))
        return;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    (void)!sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&address, len);
    close(fd);
}

/* $WATCHDOG_PID names the process that is meant, if it is there. */
unsigned systemd_watchdog_ms(void)
{
    const char *pid = getenv("WATCHDOG_PID"), *text = getenv("WATCHDOG_USEC");
    char *end;
    if (text == NULL || (pid != NULL && strtol(pid, NULL, 10) != (long)getpid()))
        return 0;
    unsigned long long us = strtoull(text, &end, 10);
    unsigned long long ms = us / 2000;
    return end == text || *end != '\0' || ms > UINT_MAX ? 0
                                                        : (unsigned)(ms > 0 || us == 0 ? ms : 1);
}
