/* healthcheck.c - attnd-healthcheck: is the attnd in this container ready? An image without a shell
 * or curl needs a program for its HEALTHCHECK.
 *
 * usage: attnd-healthcheck [--ca-file FILE] [PORT | unix:PATH]
 * GETs /readyz on 127.0.0.1, or by the path of admin_listen, and exits 0 if the answer is 200, else
 * 1. Without PORT it takes the one of ATTND_LISTEN, else 8080.
 *
 * Over TLS if there is a FILE, or ATTND_TLS_CERT_FILE, which is the server's own. What answers must
 * then show a certificate of that file, or one that a certificate of the file vouches for: while no
 * reload has followed an exchange of the file yet the chain still does, if it is in the file. The
 * name is not compared, since the certificate is for others than 127.0.0.1; nor are the dates: a
 * restart, which is what a failed check leads to, renews no certificate, and an alert tells. */
#include "engine/base/file.h"
#include "engine/base/versions.h"
#include "tools/client/tls_stream.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum { PORT_DEFAULT = 8080, TIMEOUT_S = 3 };

static const char help[] =
    "usage: attnd-healthcheck [--ca-file FILE] [PORT | unix:PATH]\n\n"
    "Asks the attnd on 127.0.0.1, or at the socket PATH, for /readyz. Without PORT it takes the\n"
    "one of $ATTND_LISTEN, else 8080. PORT is a number, not a URL.\n\n"
    "  attnd-healthcheck 9000\n"
    "  attnd-healthcheck --ca-file tls.pem 8443\n\n"
    "  --ca-file FILE  asks over TLS: PEM certificates of the server, or of who vouches for it\n"
    "                  (default: $ATTND_TLS_CERT_FILE; without either it asks in the clear)\n\n"
    "Exit status: 0 it is ready, 1 it is not.";

struct target {
    const char *path; /* NULL: the port */
    unsigned port;
    const char *ca_file; /* NULL: plain HTTP */
};

static unsigned port_of(const char *argument)
{
    const char *listen = getenv("ATTND_LISTEN");
    const char *colon = listen != NULL ? strrchr(listen, ':') : NULL;
    const char *text = argument != NULL ? argument : colon != NULL ? colon + 1 : NULL;
    if (text == NULL)
        return PORT_DEFAULT;
    char *end;
    unsigned long port = strtoul(text, &end, 10);
    return end != text && *end == '\0' && port <= 65535 ? (unsigned)port : 0;
}

/* Reads the target from the arguments and the environment. False: there are too many arguments. */
static bool find_target(struct target *out, int argc, char **argv)
{
    static const char prefix[] = "unix:";
    const char *argument = NULL, *own = getenv("ATTND_TLS_CERT_FILE");
    *out = (struct target){.ca_file = own != NULL && own[0] != '\0' ? own : NULL};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--ca-file") == 0 && i + 1 < argc)
            out->ca_file = argv[++i];
        else if (argument == NULL)
            argument = argv[i];
        else
            return false;
    }
    if (argument != NULL && strncmp(argument, prefix, sizeof prefix - 1) == 0) {
        out->path = argument + sizeof prefix - 1;
        out->ca_file = NULL;
    } else
        out->port = port_of(argument);
    return true;
}

static bool dial(int fd, const struct target *target)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((unsigned short)target->port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    struct timeval timeout = {.tv_sec = TIMEOUT_S};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
    if (target->path == NULL)
        return connect(fd, (struct sockaddr *)&address, sizeof address) == 0;
    if (strlen(target->path) >= sizeof local.sun_path)
        return false;
    memcpy(local.sun_path, target->path, strlen(target->path) + 1);
    return connect(fd, (struct sockaddr *)&local, sizeof local) == 0;
}

/* stream: NULL without TLS. NULL: the answer is 200, else why it is not. */
static const char *ask(int fd, struct tls_stream *stream)
{
    static const char request[] = "GET /readyz HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                                  "Connection: close\r\n\r\n";
    const ssize_t len = (ssize_t)strlen(request);
    if ((stream != NULL ? tls_stream_send(stream, request, (size_t)len)
                        : send(fd, request, (size_t)len, MSG_NOSIGNAL)) != len)
        return "cannot send";
    char line[13] = ""; /* "HTTP/1.1 200" */
    for (size_t got = 0; got < sizeof line - 1;) {
        size_t room = sizeof line - 1 - got;
        ssize_t n = stream != NULL ? tls_stream_recv(stream, line + got, room)
                                   : recv(fd, line + got, room, 0);
        if (n <= 0)
            return stream != NULL ? "no answer"
                                  : "no answer in plain HTTP; for TLS give --ca-file FILE";
        got += (size_t)n;
    }
    return strcmp(line, "HTTP/1.1 200") == 0 ? NULL : "not ready";
}

/* The text is in err, or static. */
static const char *ask_tls(int fd, const char *ca_file, struct err *err)
{
    const struct tls_stream_trust_options options = {.ca_file = ca_file, .takes_expired = true};
    struct tls_stream_trust *trust;
    struct tls_stream *stream;
    if (tls_stream_trust_open(&trust, &options, err))
        return err->text;
    const char *why = err->text;
    if (tls_stream_open(&stream, trust, fd, NULL, err) == ERR_OK) {
        enum tls_stream_result result = tls_stream_shake_hands(stream, err);
        if (result == TLS_STREAM_DONE)
            why = ask(fd, stream);
        else if (result == TLS_STREAM_WAIT)
            why = "no answer";
        tls_stream_close(stream);
    }
    tls_stream_trust_close(trust);
    return why;
}

static const char *check(const struct target *target, struct err *err)
{
    if (target->path == NULL && target->port == 0)
        return "the port must be a whole number from 1 to 65535";
    int fd = socket(target->path != NULL ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return "no socket";
    const char *why = !dial(fd, target)         ? "cannot connect"
                      : target->ca_file != NULL ? ask_tls(fd, target->ca_file, err)
                                                : ask(fd, NULL);
    close(fd);
    return why;
}

static bool asks(int argc, char **argv, const char *option)
{
    return argc > 1 && strcmp(argv[1], option) == 0;
}

int main(int argc, char **argv)
{
    file_open_standard();
    struct target target;
    struct err err = {0};
    if (asks(argc, argv, "--help") || asks(argc, argv, "-h"))
        return puts(help) < 0;
    if (asks(argc, argv, "--version"))
        return puts("attnd-healthcheck " ATTND_VERSION) < 0;
    if (!find_target(&target, argc, argv)) {
        fputs("attnd-healthcheck: more than one port or path: --help tells the usage\n", stderr);
        return 1;
    }
    const char *why = versions_check(&err) ? err.text : check(&target, &err);
    if (why == NULL)
        return 0;
    if (target.path != NULL)
        fprintf(stderr, "attnd-healthcheck: unix:%s: %s\n", target.path, why);
    else
        fprintf(stderr, "attnd-healthcheck: 127.0.0.1:%u: %s\n", target.port, why);
    return 1;
}
