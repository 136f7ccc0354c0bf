/* tcp_pair.h - two ends of a TCP connection on the loopback, without a server: for what asks TCP
 * itself (bytes carried, an end of file), which a socketpair cannot tell. */
#ifndef ATTND_TESTS_SUPPORT_TCP_PAIR_H
#define ATTND_TESTS_SUPPORT_TCP_PAIR_H

struct tcp_pair {
    int ours;   /* the accepted end */
    int theirs; /* the connected end, blocking */
};

/* Fails the running test if there is no connection to be had. */
struct tcp_pair tcp_pair_open(void);
void tcp_pair_close(struct tcp_pair *pair);

/* Sends the text from their end and waits until it has arrived at ours. */
void tcp_pair_say(const struct tcp_pair *pair, const char *text);

/* Waits until our end has something to read, or an end of file; false after suite_patience_s
 * of suite.h. */
int tcp_pair_wait(const struct tcp_pair *pair);

/* A socket with a port of its own that does not listen: whoever connects is refused, and nobody else
 * gets the port meanwhile. Yours to close. */
int tcp_refuser_open(unsigned *port);

#endif
