#include "server/http/conns.h"

#include "engine/base/clock.h"
#include "server/http/sockets.h"

#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    SILENT_MS = 100,  /* a new connection may be shed if it has sent nothing for that long */
    ASKED_MAX = 1024, /* sockets that are asked for one to shed, at a microsecond each */
    ARRIVAL_MS = 100, /* a socket that is not a conn after that long may be closed */
};

bool conns_init(struct conns *conns, const unsigned limit_ms[CONN_STATES])
{
    *conns = (struct conns){.sweep_ns = UINT64_MAX};
    conns->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (conns->wake_fd < 0)
        return false;
    for (int state = 0; state < CONN_STATES; state++)
        conns->limit_ns[state] = (uint64_t)limit_ms[state] * CLOCK_NS_PER_MS;
    pthread_mutex_init(&conns->lock, NULL);
    return true;
}

void conns_deinit(struct conns *conns)
{
    pthread_mutex_destroy(&conns->lock);
    free(conns->arrivals);
    close(conns->wake_fd);
}

static void unlink_locked(struct conns *conns, struct conn *conn)
{
    struct conn_list *list = &conns->lists[conn->state];
    *(conn->prev != NULL ? &conn->prev->next : &list->first) = conn->next;
    *(conn->next != NULL ? &conn->next->prev : &list->last) = conn->prev;
    list->count--;
}

/* The sweeper is woken only if its next sweep would be too late, which is rare while there are
 * connections. */
static void enter_locked(struct conns *conns, struct conn *conn, enum conn_state state)
{
    struct conn_list *list = &conns->lists[state];
    uint64_t limit_ns = conns->limit_ns[state];
    conn->state = state;
    conn->spared = false;
    conn->since_ns = clock_now_ns();
    conn->deadline_ns = limit_ns > 0 ? conn->since_ns + limit_ns : UINT64_MAX;
    conn->prev = list->last;
    conn->next = NULL;
    *(list->last != NULL ? &list->last->next : &list->first) = conn;
    list->last = conn;
    list->count++;
    if (conn->deadline_ns < conns->sweep_ns) {
        conns->sweep_ns = conn->deadline_ns;
        eventfd_write(conns->wake_fd, 1);
    }
}

/* True if the connection waits for its I/O thread, not for the client: the thread has not read
 * bytes that have arrived, or has not sent bytes for which the client has room. */
static bool has_work(const struct conn *conn)
{
    return conn->state == CONN_REPLY ? sockets_takes_more(conn->fd) : sockets_unread(conn->fd);
}

/* Time that the server itself has spent is not the client's: a connection whose I/O thread has work
 * gets one more round, and so does one whose deadline passed while the process stood still. Only
 * one, because the bytes of a client that sends a few at a time may lie unread by chance. */
static bool spare_locked(struct conns *conns, struct conn *conn, uint64_t now_ns)
{
    const bool is_late = now_ns >= conn->deadline_ns + (uint64_t)CONNS_LATE_MS * CLOCK_NS_PER_MS;
    if (conn->state == CONN_OVERDUE || conn->spared || (!is_late && !has_work(conn)))
        return false;
    unlink_locked(conns, conn);
    enter_locked(conns, conn, conn->state);
    conn->spared = true;
    return true;
}

/* A connection that was receiving has its receiving side shut, which wakes the I/O thread with an
 * end of file and still allows a 408 to be sent. The others are shut on both sides.
 *
 * An end of file that comes together with bytes is missed by the library, and bytes that still come
 * after it are read as ever. So overdue connections are shut repeatedly: each time wakes the I/O
 * thread, until it reads only the end of file. */
static void expire_locked(struct conns *conns, struct conn *conn)
{
    if (conn->state != CONN_OVERDUE)
        conn->overdue_in = conn->state;
    enum conn_state in = conn->overdue_in;
    bool arriving = in == CONN_NEW || in == CONN_HEAD || in == CONN_BODY;
    unlink_locked(conns, conn);
    enter_locked(conns, conn, CONN_OVERDUE);
    shutdown(conn->fd, arriving ? SHUT_RD : SHUT_RDWR);
}

/* 0: there is no such file. */
static uint64_t inode_of(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 ? (uint64_t)status.st_ino : 0;
}

/* The oldest stay in front: it is they who are taken out. */
static void take_arrival_locked(struct conns *conns, int fd)
{
    unsigned at = 0;
    while (at < conns->arrival_count && conns->arrivals[at].fd != fd)
        at++;
    if (at == conns->arrival_count)
        return;
    conns->arrival_count--;
    memmove(&conns->arrivals[at], &conns->arrivals[at + 1],
            (conns->arrival_count - at) * sizeof *conns->arrivals);
}

static void forget_lost_locked(struct conns *conns, uint64_t now_ns)
{
    const uint64_t patience_ns = (uint64_t)ARRIVAL_MS * CLOCK_NS_PER_MS;
    unsigned kept = 0;
    for (unsigned i = 0; i < conns->arrival_count; i++) {
        const struct arrival arrival = conns->arrivals[i];
        if (now_ns < arrival.since_ns + patience_ns || inode_of(arrival.fd) == arrival.inode)
            conns->arrivals[kept++] = arrival;
    }
    conns->arrival_count = kept;
}

/* Without memory the client is not counted before it is a conn. */
void conns_accepted(struct conns *conns, int fd)
{
    const struct arrival arrival = {.fd = fd, .inode = inode_of(fd), .since_ns = clock_now_ns()};
    pthread_mutex_lock(&conns->lock);
    take_arrival_locked(conns, fd); /* one that was lost */
    if (conns->arrival_count == conns->arrival_room) {
        const unsigned room = conns->arrival_room == 0 ? 64 : 2 * conns->arrival_room;
        struct arrival *arrivals = reallocarray(conns->arrivals, room, sizeof *arrivals);
        conns->arrivals = arrivals != NULL ? arrivals : conns->arrivals;
        conns->arrival_room = arrivals != NULL ? room : conns->arrival_room;
    }
    if (conns->arrival_count < conns->arrival_room)
        conns->arrivals[conns->arrival_count++] = arrival;
    pthread_mutex_unlock(&conns->lock);
}

void conns_turned_away(struct conns *conns, int fd)
{
    pthread_mutex_lock(&conns->lock);
    take_arrival_locked(conns, fd);
    pthread_mutex_unlock(&conns->lock);
}

void conns_add(struct conns *conns, struct conn *conn, int fd)
{
    pthread_mutex_lock(&conns->lock);
    take_arrival_locked(conns, fd);
    conn->fd = fd;
    conn->has_sent = false;
    conns->count++;
    enter_locked(conns, conn, CONN_NEW);
    pthread_mutex_unlock(&conns->lock);
}

void conns_remove(struct conns *conns, struct conn *conn)
{
    pthread_mutex_lock(&conns->lock);
    unlink_locked(conns, conn);
    conns->count--;
    pthread_mutex_unlock(&conns->lock);
}

bool conns_move(struct conns *conns, struct conn *conn, enum conn_state state)
{
    bool waits = state == CONN_IDLE || state == CONN_HEAD || state == CONN_BODY;
    if (waits && sockets_peer_gone(conn->fd))
        state = CONN_PARTING;
    pthread_mutex_lock(&conns->lock);
    bool in_time = conn->state != CONN_OVERDUE;
    if (in_time) {
        unlink_locked(conns, conn);
        enter_locked(conns, conn, state);
    }
    pthread_mutex_unlock(&conns->lock);
    return in_time;
}

enum conn_state conns_state(struct conns *conns, const struct conn *conn,
                            enum conn_state *overdue_in)
{
    pthread_mutex_lock(&conns->lock);
    enum conn_state state = conn->state;
    *overdue_in = conn->overdue_in;
    pthread_mutex_unlock(&conns->lock);
    return state;
}

uint64_t conns_sweep(struct conns *conns, uint64_t now_ns)
{
    uint64_t next_ns = UINT64_MAX;
    pthread_mutex_lock(&conns->lock);
    for (int state = 0; state < CONN_STATES; state++) {
        struct conn_list *list = &conns->lists[state];
        if (conns->limit_ns[state] == 0)
            continue;
        while (list->first != NULL && list->first->deadline_ns <= now_ns)
            if (!spare_locked(conns, list->first, now_ns))
                expire_locked(conns, list->first);
        if (list->first != NULL && list->first->deadline_ns < next_ns)
            next_ns = list->first->deadline_ns;
    }
    conns->sweep_ns = next_ns;
    pthread_mutex_unlock(&conns->lock);
    return next_ns;
}

void conns_drain(struct conns *conns)
{
    struct conn_list *idle = &conns->lists[CONN_IDLE];
    pthread_mutex_lock(&conns->lock);
    conns->drain_ns = clock_now_ns();
    conns->limit_ns[CONN_IDLE] = (uint64_t)CONNS_PARTING_MS * CLOCK_NS_PER_MS;
    for (unsigned left = idle->count; left > 0; left--) {
        struct conn *conn = idle->first;
        unlink_locked(conns, conn);
        enter_locked(conns, conn, CONN_IDLE);
    }
    pthread_mutex_unlock(&conns->lock);
}

/* Nothing has come on a new connection; with handshakes, nothing that is still to be read. */
static bool is_silent_locked(const struct conns *conns, struct conn *conn)
{
    if (conns->has_handshakes)
        return !sockets_unread(conn->fd);
    conn->has_sent = sockets_traffic(conn->fd).received > 0;
    return !conn->has_sent;
}

/* Called with the lock held: the oldest new connection on which nothing has come, though it had the
 * time; with handshakes, on which no request has come. */
static struct conn *find_silent_locked(struct conns *conns)
{
    uint64_t now_ns = clock_now_ns();
    struct conn *conn = conns->lists[CONN_NEW].first;
    for (int left = ASKED_MAX; conn != NULL && left > 0; conn = conn->next) {
        if (conn->has_sent)
            continue;
        if (now_ns < conn->since_ns + (uint64_t)SILENT_MS * CLOCK_NS_PER_MS)
            return NULL;
        if (is_silent_locked(conns, conn))
            return conn;
        left--;
    }
    return NULL;
}

/* Called with the lock held: the longest idle connection on which no request lies unread. */
static struct conn *find_idle_locked(const struct conns *conns)
{
    struct conn *conn = conns->lists[CONN_IDLE].first;
    for (int left = ASKED_MAX; conn != NULL && left > 0; left--, conn = conn->next)
        if (!sockets_unread(conn->fd))
            return conn;
    return NULL;
}

void conns_shed(struct conns *conns)
{
    pthread_mutex_lock(&conns->lock);
    struct conn *conn = find_idle_locked(conns);
    if (conn == NULL)
        conn = find_silent_locked(conns);
    if (conn != NULL)
        expire_locked(conns, conn);
    pthread_mutex_unlock(&conns->lock);
}

unsigned conns_count(struct conns *conns)
{
    pthread_mutex_lock(&conns->lock);
    forget_lost_locked(conns, clock_now_ns());
    const unsigned count = conns->count + conns->arrival_count;
    pthread_mutex_unlock(&conns->lock);
    return count;
}

/* A new connection whose request has begun to arrive or, while draining, may yet. */
static bool is_expected_locked(const struct conns *conns, const struct conn *conn, uint64_t now_ns)
{
    uint64_t patience_ms = conns->has_handshakes ? CONNS_HANDSHAKE_MS : CONNS_PARTING_MS;
    if (conns->has_handshakes ? sockets_unread(conn->fd) : sockets_traffic(conn->fd).received > 0)
        return true;
    uint64_t since_ns = conn->since_ns;
    if (since_ns < conns->drain_ns)
        since_ns = conns->drain_ns;
    return conns->drain_ns > 0 && now_ns < since_ns + patience_ms * CLOCK_NS_PER_MS;
}

unsigned conns_busy(struct conns *conns)
{
    uint64_t now_ns = clock_now_ns();
    pthread_mutex_lock(&conns->lock);
    forget_lost_locked(conns, now_ns);
    unsigned busy = conns->arrival_count + conns->lists[CONN_HEAD].count +
                    conns->lists[CONN_BODY].count + conns->lists[CONN_HELD].count +
                    conns->lists[CONN_REPLY].count + conns->lists[CONN_PARTING].count;
    if (conns->drain_ns > 0)
        busy += conns->lists[CONN_IDLE].count;
    for (const struct conn *conn = conns->lists[CONN_NEW].first; conn; conn = conn->next)
        busy += is_expected_locked(conns, conn, now_ns);
    pthread_mutex_unlock(&conns->lock);
    return busy;
}
