#include "tests/support/tcp_pair.h"

#include "tests/support/suite.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct tcp_pair tcp_pair_open(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr *at = (struct sockaddr *)&address;
    socklen_t len = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct tcp_pair pair = {.theirs = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    ck_assert_int_eq(bind(listener, at, len), 0);
    ck_assert_int_eq(listen(listener, 1), 0);
    ck_assert_int_eq(getsockname(listener, at, &len), 0);
    ck_assert_int_eq(connect(pair.theirs, at, len), 0);
    pair.ours = accept(listener, NULL, NULL);
    ck_assert_int_ge(pair.ours, 0);
    close(listener);
    return pair;
}

void tcp_pair_close(struct tcp_pair *pair)
{
    close(pair->ours);
    close(pair->theirs);
}

int tcp_pair_wait(const struct tcp_pair *pair)
{
    return poll(&(struct pollfd){.fd = pair->ours, .events = POLLIN}, 1, suite_patience_ms()) == 1;
}

void tcp_pair_say(const struct tcp_pair *pair, const char *text)
{
    ck_assert_int_eq(send(pair->theirs, text, strlen(text), 0), (int)strlen(text));
    ck_assert(tcp_pair_wait(pair));
}

int tcp_refuser_open(unsigned *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, len), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    *port = ntohs(address.sin_port);
    return fd;
}
