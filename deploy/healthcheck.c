/* healthcheck.c - attnd-healthcheck: is the attnd in this container ready? An image without a shell
 * or curl needs a program for its HEALTHCHECK.
 *
 * usage: attnd-healthcheck [PORT]
 * GETs /readyz on 127.0.0.1 and exits 0 if the answer is 200, else 1. Without PORT it takes the one
 * of ATTND_LISTEN, else 8080.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { PORT_DEFAULT = 8080, TIMEOUT_S = 3 };

static unsigned port_of(int argc, char **argv)
{
    const char *listen = getenv("ATTND_LISTEN");
    const char *colon = listen != NULL ? strrchr(listen, ':') : NULL;
    const char *text = argc > 1 ? argv[1] : colon != NULL ? colon + 1 : NULL;
    if (text == NULL)
        return PORT_DEFAULT;
    char *end;
    unsigned long port = strtoul(text, &end, 10);
    return end != text && *end == '\0' && port <= 65535 ? (unsigned)port : 0;
}

static const char *check(int fd, unsigned port)
{
    static const char request[] = "GET /readyz HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                                  "Connection: close\r\n\r\n";
    struct timeval timeout = {.tv_sec = TIMEOUT_S};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((unsigned short)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (connect(fd, (struct sockaddr *)&address, sizeof address))
        return "cannot connect";
    if (send(fd, request, strlen(request), MSG_NOSIGNAL) != (ssize_t)strlen(request))
        return "cannot send";
    char line[13] = ""; /* "HTTP/1.1 200" */
    for (size_t got = 0; got < sizeof line - 1;) {
        ssize_t n = recv(fd, line + got, sizeof line - 1 - got, 0);
        if (n <= 0)
            return "no answer";
        got += (size_t)n;
    }
    return strcmp(line, "HTTP/1.1 200") == 0 ? NULL : "not ready";
}

static bool asks(int argc, char **argv, const char *option)
{
    return argc > 1 && strcmp(argv[1], option) == 0;
}

int main(int argc, char **argv)
{
    if (asks(argc, argv, "--help") || asks(argc, argv, "-h"))
        return puts("usage: attnd-healthcheck [PORT]\n\n"
                    "Asks the attnd on 127.0.0.1 for /readyz. Without PORT it takes the one of\n"
                    "$ATTND_LISTEN, else 8080.\n\n"
                    "Exit status: 0 it is ready, 1 it is not.") < 0;
    if (asks(argc, argv, "--version"))
        return puts("attnd-healthcheck " ATTND_VERSION) < 0;
    unsigned port = port_of(argc, argv);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const char *why = port == 0 ? "no such port" : fd < 0 ? "no socket" : check(fd, port);
    if (fd >= 0)
        close(fd);
    if (why == NULL)
        return 0;
    fprintf(stderr, "attnd-healthcheck: 127.0.0.1:%u: %s\n", port, why);
    return 1;
}
