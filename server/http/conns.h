/* conns.h - every open connection, its state, and the deadline of that state.
 *
 * The HTTP library's own timeout is for silence only: a byte a second evades it. Here each state
 * has one total time, so the connections in a state stand in order of their deadlines and a sweep
 * looks at the first of each list.
 *
 *     conns_add(&conns, conn, fd);                       a client connected: CONN_NEW
 *     if (!conns_move(&conns, conn, CONN_BODY)) ...      too late, its socket is already shut
 *     next_ns = conns_sweep(&conns, clock_now_ns());     shuts what is overdue
 *
 * Threads: internally locked, a leaf. Sockets are shut and polled, never read, written or closed
 * here, and a conn must be removed before its socket is closed.
 */
#ifndef ATTND_SERVER_HTTP_CONNS_H
#define ATTND_SERVER_HTTP_CONNS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* CONNS_LATE_MS: if a sweep comes so long after a deadline, the process did not run meanwhile. */
enum { CONNS_PARTING_MS = 250, CONNS_HANDSHAKE_MS = 1000, CONNS_LATE_MS = 1000 };

enum conn_state {
    CONN_NEW,     /* connected; the first request line is not whole */
    CONN_IDLE,    /* between two requests of a keep-alive connection */
    CONN_HEAD,    /* request line seen, headers arriving */
    CONN_BODY,    /* body arriving */
    CONN_REPLY,   /* reply leaving */
    CONN_PARTING, /* the client has closed its side: bytes sent before may still be read */
    CONN_HELD,    /* in the server's hands, to be answered: no deadline */
    CONN_OVERDUE, /* past its deadline: its socket is shut, again each time its limit is over */
    CONN_STATES,
};

struct conn {
    int fd;
    enum conn_state state;
    enum conn_state overdue_in; /* CONN_OVERDUE: the state whose time was up */
    bool has_sent;              /* CONN_NEW: bytes have been seen, as conns_shed found */
    bool spared;                /* was given one more round of its state */
    uint64_t since_ns, deadline_ns;
    struct conn *prev, *next; /* connections of the same state, oldest first */
};

struct conn_list {
    struct conn *first, *last;
    unsigned count;
};

/* A socket that was accepted and is not yet a conn. */
struct arrival {
    int fd;
    uint64_t inode; /* tells it from a later file with the same descriptor */
    uint64_t since_ns;
};

struct conns {
    pthread_mutex_t lock;
    struct conn_list lists[CONN_STATES];
    unsigned count;
    struct arrival *arrivals; /* [arrival_count] */
    unsigned arrival_count, arrival_room;
    uint64_t drain_ns;              /* when draining began; 0: not yet */
    uint64_t sweep_ns;              /* when the sweeper means to look next; UINT64_MAX: never */
    uint64_t limit_ns[CONN_STATES]; /* 0: no deadline; changed by conns_drain alone */
    int wake_fd;                    /* constant; an eventfd that wakes the sweeper */
    bool has_handshakes;            /* constant: what a new connection sends first is one of TLS */
};

/* limit_ms[state], 0 for none. False if there is no eventfd. */
bool conns_init(struct conns *conns, const unsigned limit_ms[CONN_STATES]);
void conns_deinit(struct conns *conns);

/* The HTTP library hands an accepted socket to an I/O thread, and only that thread makes a conn of
 * it. Meanwhile the socket counts in conns_count and conns_busy: from conns_accepted, by the thread
 * that accepts, to conns_add, or to conns_turned_away if nothing becomes of it. A library without
 * memory closes the socket and tells nobody: counting then finds that the descriptor is another
 * file, or none. */
void conns_accepted(struct conns *conns, int fd);
void conns_turned_away(struct conns *conns, int fd);

void conns_add(struct conns *conns, struct conn *conn, int fd);
void conns_remove(struct conns *conns, struct conn *conn);

/* Restarts the clock for a new state; one that waits for bytes (idle, head, body) is CONN_PARTING
 * instead if the client has closed its side, since none can come. False, and nothing changes, if
 * the connection is overdue. */
bool conns_move(struct conns *conns, struct conn *conn, enum conn_state state);

/* The state and, for CONN_OVERDUE, overdue_in. */
enum conn_state conns_state(struct conns *conns, const struct conn *conn,
                            enum conn_state *overdue_in);

/* Shuts overdue connections; those that were receiving can still be answered (only their receiving
 * side is shut). One more round have those for whom the server itself was too slow: it has not read
 * what arrived, not sent on what the client has room for, or did not run when their time was up.
 * Returns the time of the next sweep. */
uint64_t conns_sweep(struct conns *conns, uint64_t now_ns);

/* From now on an idle connection is shut when it has been silent for CONNS_PARTING_MS: a client
 * that sends just as the server begins to stop still gets its answer. */
void conns_drain(struct conns *conns);

/* Shuts the connection that has been idle the longest, else the oldest new one that has sent
 * nothing for a while, if there is one; none on which bytes lie unread. It asks a bounded number of
 * sockets, and no new one again that has sent something: the next call goes on behind those. */
void conns_shed(struct conns *conns);

/* Number of connections, with those that are arriving, so that a limit holds for them, too. */
unsigned conns_count(struct conns *conns);

/* The number of connections that are arriving, hold a request, are CONN_PARTING, or are new with
 * some bytes arrived. While draining also idle and new ones that have been silent for less than
 * CONNS_PARTING_MS: their request may be on its way. Bytes of a handshake are no request, so with
 * has_handshakes a new connection counts for CONNS_HANDSHAKE_MS while draining, and else only while
 * bytes lie unread. */
unsigned conns_busy(struct conns *conns);

#endif
