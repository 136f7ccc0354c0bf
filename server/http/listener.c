#include "server/http/listener.h"

#include "server/http/sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 64, MODE = 0660 };

static const char prefix[] = "unix:";

/* The path in "unix:PATH"; NULL for an address of TCP. */
static const char *path_of(const char *address)
{
    const size_t len = sizeof prefix - 1;
    return strncmp(address, prefix, len) == 0 ? address + len : NULL;
}

bool listener_is_local(const struct listener *listener)
{
    return path_of(listener->address) != NULL;
}

/* ---- a socket in the file system ---- */

static enum err_code fill(struct sockaddr_un *out, const char *path, struct err *err)
{
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (path[0] != '/' || strlen(path) >= sizeof out->sun_path)
        return err_set(err, ERR_IO, "listen: unix: needs an absolute path of at most %zu bytes",
                       sizeof out->sun_path - 1);
    memcpy(out->sun_path, path, strlen(path) + 1);
    return ERR_OK;
}

/* A socket's file stays when its process is killed; then nobody accepts there. A file that is no
 * socket is left alone. */
static enum err_code make_way(const struct sockaddr_un *address, struct err *err)
{
    struct stat found;
    if (lstat(address->sun_path, &found) != 0)
        return ERR_OK;
    if (!S_ISSOCK(found.st_mode))
        return err_set(err, ERR_IO, "listen: %s is there, and is no socket", address->sun_path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    bool is_dead = fd >= 0 && connect(fd, (const struct sockaddr *)address, sizeof *address) != 0 &&
                   errno == ECONNREFUSED;
    if (fd >= 0)
        close(fd);
    if (!is_dead)
        return err_set(err, ERR_IO, "listen: %s: a process listens there", address->sun_path);
    unlink(address->sun_path);
    return ERR_OK;
}

/* The mode of the file is that of the descriptor less the umask: never wider than it will be. */
static bool bind_at(struct listener *listener, const struct sockaddr_un *address)
{
    struct stat own;
    if (fchmod(listener->fd, MODE) != 0 ||
        bind(listener->fd, (const struct sockaddr *)address, sizeof *address) != 0 ||
        chmod(address->sun_path, MODE) != 0 || lstat(address->sun_path, &own) != 0)
        return false;
    listener->device = own.st_dev;
    listener->inode = own.st_ino;
    return listen(listener->fd, BACKLOG) == 0;
}

static enum err_code open_file(struct listener *out, const char *path, struct err *err)
{
    struct sockaddr_un address;
    if (fill(&address, path, err) || make_way(&address, err))
        return err->code;
    out->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (out->fd >= 0 && bind_at(out, &address))
        return ERR_OK;
    err_set(err, ERR_IO, "listen: %s: %s", path, strerror(errno));
    listener_close(out);
    return err->code;
}

static void remove_file(const struct listener *listener)
{
    struct stat found;
    const char *path = path_of(listener->address);
    if (path != NULL && !listener->is_inherited && listener->inode != 0 &&
        lstat(path, &found) == 0 && found.st_dev == listener->device &&
        found.st_ino == listener->inode)
        unlink(path);
}

/* ---- any ---- */

enum err_code listener_open(struct listener *out, const char *address, unsigned port,
                            struct err *err)
{
    *out = (struct listener){.fd = -1};
    snprintf(out->address, sizeof out->address, "%s", address);
    const char *path = path_of(address);
    if (path != NULL)
        return open_file(out, path, err);
    if (sockets_listen(&out->fd, address, port, err))
        return err->code;
    out->port = sockets_port(out->fd);
    if (out->port != 0)
        return ERR_OK;
    listener_close(out);
    return err_set(err, ERR_IO, "listen: the system does not tell the port");
}

static bool is_listening(int fd)
{
    int type = 0, listens = 0;
    socklen_t len = sizeof type;
    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_STREAM &&
           getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) == 0 && listens != 0;
}

/* False for a socket of another family than those that listener_open makes. */
static bool name_own(struct listener *listener)
{
    union {
        struct sockaddr any;
        struct sockaddr_storage storage;
        struct sockaddr_un local;
    } own = {.storage = {0}};
    socklen_t len = sizeof own;
    if (getsockname(listener->fd, &own.any, &len) != 0)
        return false;
    if (own.any.sa_family == AF_UNIX) {
        size_t bytes = len - offsetof(struct sockaddr_un, sun_path);
        if (len <= offsetof(struct sockaddr_un, sun_path) || own.local.sun_path[0] != '/')
            return false;
        snprintf(listener->address, sizeof listener->address, "%s%.*s", prefix, (int)bytes,
                 own.local.sun_path);
        return true;
    }
    listener->port = sockets_port(listener->fd);
    return (own.any.sa_family == AF_INET || own.any.sa_family == AF_INET6) && listener->port != 0 &&
           getnameinfo(&own.any, len, listener->address, sizeof listener->address, NULL, 0,
                       NI_NUMERICHOST) == 0;
}

/* The descriptor's file status is shared with other processes that hold the socket. Only one bit is
 * set, the one that systemd sets with NonBlocking=. */
enum err_code listener_adopt(struct listener *out, int fd, struct err *err)
{
    const int on = 1;
    *out = (struct listener){.fd = fd, .is_inherited = true};
    int flags = fcntl(fd, F_GETFL);
    if (flags >= 0 && is_listening(fd) && name_own(out) &&
        fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0 && fcntl(fd, F_SETFD, FD_CLOEXEC) == 0) {
        if (out->port != 0)
            setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        return ERR_OK;
    }
    out->fd = -1;
    return err_set(err, ERR_UNUSABLE,
                   "listen: descriptor %d is no listening stream socket of TCP or of a path", fd);
}

enum err_code listener_check(const char *address, struct err *err)
{
    struct sockaddr_un local;
    struct stat found;
    char folder[LISTENER_ADDRESS_BYTES];
    const char *path = path_of(address);
    if (path == NULL) {
        int fd; /* socket on any port: the port that is meant may be in use */
        if (sockets_listen(&fd, address, 0, err))
            err->code = ERR_UNUSABLE;
        else
            close(fd);
        return err->code;
    }
    if (fill(&local, path, err)) {
        err->code = ERR_UNUSABLE;
        return err->code;
    }
    if (lstat(path, &found) == 0)
        return S_ISSOCK(found.st_mode)
                   ? ERR_OK
                   : err_set(err, ERR_UNUSABLE, "%s is there, and is no socket", path);
    snprintf(folder, sizeof folder, "%s", path);
    const char *parent = dirname(folder);
    if (stat(parent, &found) != 0 || !S_ISDIR(found.st_mode))
        return err_set(err, ERR_UNUSABLE, "%s is no directory", parent);
    return ERR_OK;
}

bool listener_refuse(struct listener *listener)
{
    if (listener->is_inherited)
        return false;
    if (listener_is_local(listener)) {
        remove_file(listener);
        shutdown(listener->fd, SHUT_RD); /* Linux: connect() fails, accept() goes on */
    } else
        sockets_stop_arrivals(listener->fd);
    return true;
}

void listener_close(struct listener *listener)
{
    if (listener->fd < 0)
        return;
    remove_file(listener);
    close(listener->fd);
    listener->fd = -1;
}
