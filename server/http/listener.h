/* listener.h - the socket that an edge accepts from: one of TCP, one in the file system, or one
 * that who started the process has opened and goes on holding.
 *
 *     struct listener listener;
 *     if (listener_open(&listener, "unix:/run/attnd/admin.sock", 0, &err)) ...
 *     int fd = accept4(listener.fd, NULL, NULL, SOCK_NONBLOCK);
 *     if (listener_refuse(&listener)) ...   accept what has come: it would be reset
 *     listener_close(&listener);
 *
 * A socket in the file system has mode 0660 from its first moment on: who may connect is who may
 * write to the file. The file is removed with the listener, if it is still the same.
 *
 * Threads: a listener belongs to its owner, who locks.
 */
#ifndef ATTND_SERVER_HTTP_LISTENER_H
#define ATTND_SERVER_HTTP_LISTENER_H

#include "engine/base/err.h"

#include <stdbool.h>
#include <sys/types.h>

/* "unix:" and the longest path of a socket; any numeric address is shorter. */
enum { LISTENER_ADDRESS_BYTES = 128 };

struct listener {
    int fd;                               /* non-blocking; -1: closed */
    unsigned port;                        /* 0: it is none of TCP */
    char address[LISTENER_ADDRESS_BYTES]; /* "127.0.0.1", "::1", "unix:/run/attnd/admin.sock" */
    bool is_inherited;
    dev_t device; /* device of the socket's file */
    ino_t inode;
};

/* A numeric address, or "unix:" and the absolute path of a file that is absent, or was the socket
 * of a process that is gone. ERR_IO: it cannot be had, or a process listens there; fd is then -1.
 */
enum err_code listener_open(struct listener *out, const char *address, unsigned port,
                            struct err *err);

/* A stream socket that listens already, of TCP or in the file system; the descriptor becomes the
 * listener's. ERR_UNUSABLE for another one, which stays the caller's. */
enum err_code listener_adopt(struct listener *out, int fd, struct err *err);

/* Checks what listener_open needs, while a running server may have the address open: the address
 * belongs to this machine; the folder of a socket's file exists, and a file of its name is a
 * socket. ERR_UNUSABLE. */
enum err_code listener_check(const char *address, struct err *err);

bool listener_is_local(const struct listener *listener); /* a socket in the file system */

/* From now on no client can connect. True: accept the clients that wait before closing it, since
 * closing would reset them. False: they are left to the next process, which has the same socket. */
bool listener_refuse(struct listener *listener);

/* May be called again on a closed one. */
void listener_close(struct listener *listener);

#endif
