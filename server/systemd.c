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

enum { FIRST_SOCKET = 3, SOCKETS_MAX = 16 };

/* The first socket that has the name, or has not, from 0; -1: there is none. Names are separated by
 * colons. */
static int find_socket(const char *names, int count, const char *name, bool has)
{
    size_t len = strlen(name);
    for (int i = 0; i < count; i++) {
        bool is_it = names != NULL && strcspn(names, ":") == len && strncmp(names, name, len) == 0;
        if (is_it == has)
            return i;
        const char *colon = names != NULL ? strchr(names, ':') : NULL;
        names = colon != NULL ? colon + 1 : NULL;
    }
    return -1;
}

/* How many sockets there are for this process; -1: the variables make no sense. */
static int count_sockets(void)
{
    const char *pid = getenv("LISTEN_PID"), *text = getenv("LISTEN_FDS");
    char *end;
    if (pid == NULL || text == NULL || strtol(pid, NULL, 10) != (long)getpid())
        return 0;
    long count = strtol(text, &end, 10);
    return end != text && *end == '\0' && count >= 0 && count <= SOCKETS_MAX ? (int)count : -1;
}

enum err_code systemd_inherit(struct systemd_sockets *out, struct err *err)
{
    const char *names = getenv("LISTEN_FDNAMES");
    int count = count_sockets();
    *out = (struct systemd_sockets){0};
    if (count < 0)
        return err_set(err, ERR_UNUSABLE, "LISTEN_FDS: expected a number from 0 to %d",
                       SOCKETS_MAX);
    int admin = find_socket(names, count, "admin", true);
    int main = find_socket(names, count, "attnd", true);
    if (main < 0)
        main = find_socket(names, count, "admin", false);
    if (count > (admin >= 0) + (main >= 0))
        return err_set(err, ERR_UNUSABLE,
                       "LISTEN_FDS: %d sockets, but only one named attnd (or any name) and one "
                       "named admin are served; LISTEN_FDNAMES names them",
                       count);
    out->main = main >= 0 ? FIRST_SOCKET + main : 0;
    out->admin = admin >= 0 ? FIRST_SOCKET + admin : 0;
    return ERR_OK;
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
