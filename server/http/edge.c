/* edge.c - see edge.h. Accepting lives here and not in the HTTP library because the library
 * (0.9.75) divides its connection limit among its threads, wakes all of them for each client, and
 * aborts the process if a thread reaches that limit while the listener is being quiesced.
 *
 * At the connection limit, or short of descriptors, the longest idle connection is shut, or the
 * oldest that has never sent anything, and accepting pauses until one is closed; clients wait in
 * the backlog meanwhile. The last few descriptors are not given to connections: lingering closes,
 * models and the process's own files need them.
 *
 * A lingering close (RFC 9112, section 9.6): the answer is sent, our sending side is closed, and
 * what the client still sends is dropped until it closes or LINGER_MS are over. A fixed number of
 * places bounds its cost. Clients can fill them deliberately, so a place is not guaranteed: when
 * half are taken a lingering close ends after CROWDED_MS, more than a client that reads needs, and
 * when all are, or descriptors are short, the oldest ends at once. */
#include "server/http/edge.h"

#include "engine/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    LINGER_MS = 10000,
    CROWDED_MS = 1000,
    LINGERERS_MAX = 256,
    ACCEPT_BATCH = 32, /* then deadlines are checked */
    ACCEPT_REST_MS = 100,
    EVENTS = 64,
    DISCARD_BYTES = 1024 * 1024,
    RESERVED_FILES = 8,
};

/* Subject of an epoll event. MARK_LINGERER + i stands for lingerers[i]. */
enum { MARK_WAKE, MARK_LISTENER, MARK_LINGERER };

struct lingerer {
    int fd; /* -1: a free place */
    uint64_t since_ns;
};

struct edge {
    struct conns *conns;
    edge_admit *admit;
    void *context;
    unsigned connections_max;
    int epoll_fd;
    pthread_t thread;

    pthread_mutex_t lock; /* guards what follows; a leaf: conns' lock is never taken under it */
    bool running, stopping, resting;
    struct listener listener; /* closed: quiesced */
    int highest_fd; /* ever accepted. The kernel gives the lowest free one: so many were open */
    uint64_t rest_until_ns;
    struct lingerer lingerers[LINGERERS_MAX];
    unsigned linger_count;
};

static bool watch(const struct edge *edge, int fd, uint32_t events, uint64_t mark)
{
    struct epoll_event event = {.events = events, .data.u64 = mark};
    return epoll_ctl(edge->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

enum err_code edge_open(struct edge **out, struct listener *listener, struct conns *conns,
                        unsigned connections_max, edge_admit *admit, void *context, struct err *err)
{
    *out = NULL;
    struct edge *edge = calloc(1, sizeof *edge);
    if (edge == NULL) {
        listener_close(listener);
        return err_no_memory(err, sizeof *edge);
    }
    edge->conns = conns;
    edge->admit = admit;
    edge->context = context;
    edge->connections_max = connections_max;
    edge->listener = *listener;
    for (int i = 0; i < LINGERERS_MAX; i++)
        edge->lingerers[i].fd = -1;
    pthread_mutex_init(&edge->lock, NULL);
    edge->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (edge->epoll_fd >= 0 && watch(edge, edge->conns->wake_fd, EPOLLIN, MARK_WAKE) &&
        watch(edge, edge->listener.fd, EPOLLIN, MARK_LISTENER)) {
        *out = edge;
        return ERR_OK;
    }
    err_set(err, ERR_IO,
            edge->epoll_fd < 0 ? "listen: no epoll descriptor"
                               : "listen: the sockets cannot be watched");
    edge_close(edge);
    return err->code;
}

const struct listener *edge_listener(const struct edge *edge)
{
    return &edge->listener;
}

/* Called with the lock held: pauses accepting. */
static void rest_locked(struct edge *edge, uint64_t rest_ms)
{
    epoll_ctl(edge->epoll_fd, EPOLL_CTL_DEL, edge->listener.fd, NULL);
    edge->resting = true;
    edge->rest_until_ns = clock_now_ns() + rest_ms * CLOCK_NS_PER_MS;
}

void edge_hold(struct edge *edge)
{
    pthread_mutex_lock(&edge->lock);
    rest_locked(edge, 0);
    edge->rest_until_ns = UINT64_MAX;
    pthread_mutex_unlock(&edge->lock);
}

static void part_locked(struct edge *edge, struct lingerer *lingerer)
{
    close(lingerer->fd);
    lingerer->fd = -1;
    edge->linger_count--;
}

static void part_oldest_locked(struct edge *edge)
{
    struct lingerer *oldest = NULL;
    for (int i = 0; i < LINGERERS_MAX; i++) {
        struct lingerer *lingerer = &edge->lingerers[i];
        if (lingerer->fd >= 0 && (oldest == NULL || lingerer->since_ns < oldest->since_ns))
            oldest = lingerer;
    }
    if (oldest != NULL)
        part_locked(edge, oldest);
}

/* True if the next descriptor would be one of the reserved ones. The kernel is asked only near the
 * limit. */
static bool is_short_locked(const struct edge *edge)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 ||
        (rlim_t)edge->highest_fd + 2 * RESERVED_FILES < limit.rlim_cur)
        return false;
    int probe = fcntl(edge->epoll_fd, F_DUPFD_CLOEXEC, 0);
    if (probe >= 0)
        close(probe);
    return probe < 0 || (rlim_t)probe + RESERVED_FILES >= limit.rlim_cur;
}

static int accept_locked(struct edge *edge, struct sockaddr_storage *address, socklen_t *len,
                         bool *short_of_files)
{
    int fd =
        accept4(edge->listener.fd, (struct sockaddr *)address, len, SOCK_NONBLOCK | SOCK_CLOEXEC);
    *short_of_files =
        fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM);
    if (fd >= 0)
        conns_accepted(edge->conns, fd);
    if (fd > edge->highest_fd)
        edge->highest_fd = fd;
    return fd;
}

static bool has_client_waiting(int listener_fd)
{
    struct pollfd listener = {.fd = listener_fd, .events = POLLIN};
    return poll(&listener, 1, 0) > 0;
}

/* Accepts one client; -1 if there is none to take now. At the limit, no connection is closed for a
 * client that is not there. */
static int accept_one(struct edge *edge, struct sockaddr_storage *address, socklen_t *len)
{
    unsigned count = conns_count(edge->conns);
    bool full = count >= edge->connections_max;
    bool short_of_files = false;
    int fd = -1;
    pthread_mutex_lock(&edge->lock);
    if (full) {
        full = edge->listener.fd >= 0 && has_client_waiting(edge->listener.fd);
    } else if (edge->listener.fd >= 0) {
        short_of_files = count > 0 && is_short_locked(edge);
        if (!short_of_files)
            fd = accept_locked(edge, address, len, &short_of_files);
    }
    if ((full || short_of_files) && edge->listener.fd >= 0)
        rest_locked(edge, ACCEPT_REST_MS);
    if (short_of_files)
        part_oldest_locked(edge);
    pthread_mutex_unlock(&edge->lock);
    if (full || short_of_files)
        conns_shed(edge->conns);
    return fd;
}

/* Accepts one client; false when there is none to take now. */
static bool admit_one(struct edge *edge)
{
    struct sockaddr_storage address;
    socklen_t len = sizeof address;
    int fd = accept_one(edge, &address, &len);
    if (fd >= 0)
        edge->admit(edge->context, fd, (const struct sockaddr *)&address, len);
    return fd >= 0;
}

/* Resumes accepting when the pause is over. Returns the time of that. */
static uint64_t end_rest(struct edge *edge, uint64_t now_ns)
{
    uint64_t next_ns = UINT64_MAX;
    pthread_mutex_lock(&edge->lock);
    if (edge->resting && edge->listener.fd >= 0) {
        next_ns = edge->rest_until_ns;
        if (next_ns <= now_ns) {
            edge->resting = !watch(edge, edge->listener.fd, EPOLLIN, MARK_LISTENER);
            edge->rest_until_ns = now_ns + ACCEPT_REST_MS * CLOCK_NS_PER_MS;
            next_ns = edge->resting ? edge->rest_until_ns : UINT64_MAX;
        }
    }
    pthread_mutex_unlock(&edge->lock);
    return next_ns;
}

void edge_room(struct edge *edge)
{
    pthread_mutex_lock(&edge->lock);
    bool resting = edge->resting;
    if (resting)
        edge->rest_until_ns = 0;
    pthread_mutex_unlock(&edge->lock);
    if (resting)
        eventfd_write(edge->conns->wake_fd, 1);
}

/* MSG_TRUNC makes TCP drop the bytes without copying them (tcp(7)). */
static void discard(struct edge *edge, struct lingerer *lingerer)
{
    pthread_mutex_lock(&edge->lock);
    if (lingerer->fd >= 0) {
        ssize_t got = recv(lingerer->fd, NULL, DISCARD_BYTES, MSG_TRUNC | MSG_DONTWAIT);
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
            part_locked(edge, lingerer);
    }
    pthread_mutex_unlock(&edge->lock);
}

/* Time for which the process stood still is not the client's (conns.c): its bytes would be answered
 * by a reset, though there was nobody to drop them. */
static uint64_t farewell_end(struct lingerer *lingerer, uint64_t limit_ns, uint64_t now_ns)
{
    const uint64_t late_ns = (uint64_t)(LINGER_MS + CONNS_LATE_MS) * CLOCK_NS_PER_MS;
    if (now_ns >= lingerer->since_ns + late_ns)
        lingerer->since_ns = now_ns;
    return lingerer->since_ns + limit_ns;
}

static uint64_t end_farewells(struct edge *edge, uint64_t now_ns)
{
    uint64_t next_ns = UINT64_MAX;
    pthread_mutex_lock(&edge->lock);
    bool crowded = edge->linger_count > LINGERERS_MAX / 2;
    uint64_t limit_ns = (uint64_t)(crowded ? CROWDED_MS : LINGER_MS) * CLOCK_NS_PER_MS;
    for (int i = 0; edge->linger_count > 0 && i < LINGERERS_MAX; i++) {
        struct lingerer *lingerer = &edge->lingerers[i];
        uint64_t deadline_ns = farewell_end(lingerer, limit_ns, now_ns);
        if (lingerer->fd >= 0 && deadline_ns <= now_ns)
            part_locked(edge, lingerer);
        else if (lingerer->fd >= 0 && deadline_ns < next_ns)
            next_ns = deadline_ns;
    }
    pthread_mutex_unlock(&edge->lock);
    return next_ns;
}

static bool place_locked(struct edge *edge, int fd)
{
    if (!edge->running || edge->stopping)
        return false;
    if (edge->linger_count == LINGERERS_MAX)
        part_oldest_locked(edge);
    unsigned i = 0;
    while (edge->lingerers[i].fd >= 0)
        i++;
    if (!watch(edge, fd, EPOLLIN, MARK_LINGERER + (uint64_t)i))
        return false;
    edge->lingerers[i] = (struct lingerer){.fd = fd, .since_ns = clock_now_ns()};
    edge->linger_count++;
    return true;
}

void edge_linger(struct edge *edge, int fd)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (copy < 0)
        return;
    shutdown(copy, SHUT_WR);
    pthread_mutex_lock(&edge->lock);
    bool placed = place_locked(edge, copy);
    pthread_mutex_unlock(&edge->lock);
    if (placed)
        eventfd_write(edge->conns->wake_fd, 1);
    else
        close(copy);
}

/* Rounds up, so that a deadline has passed when epoll_wait returns for it. */
static int wait_ms(uint64_t until_ns, uint64_t now_ns)
{
    if (until_ns == UINT64_MAX)
        return -1;
    if (until_ns <= now_ns)
        return 0;
    uint64_t wait = (until_ns - now_ns) / CLOCK_NS_PER_MS + 1;
    return wait < 3600000 ? (int)wait : 3600000;
}

static void handle(struct edge *edge, uint64_t mark)
{
    eventfd_t wakes;
    if (mark == MARK_WAKE)
        eventfd_read(edge->conns->wake_fd, &wakes);
    else if (mark == MARK_LISTENER)
        for (int i = 0; i < ACCEPT_BATCH && admit_one(edge); i++)
            continue;
    else
        discard(edge, &edge->lingerers[mark - MARK_LINGERER]);
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static bool is_stopping(struct edge *edge)
{
    pthread_mutex_lock(&edge->lock);
    bool stopping = edge->stopping;
    pthread_mutex_unlock(&edge->lock);
    return stopping;
}

static void *edge_main(void *argument)
{
    struct edge *edge = argument;
    struct epoll_event events[EVENTS];
    while (!is_stopping(edge)) {
        uint64_t now_ns = clock_now_ns();
        uint64_t next_ns = end_rest(edge, now_ns);
        next_ns = earlier(next_ns, end_farewells(edge, now_ns));
        next_ns = earlier(next_ns, conns_sweep(edge->conns, now_ns));
        int count = epoll_wait(edge->epoll_fd, events, EVENTS, wait_ms(next_ns, now_ns));
        for (int i = 0; i < count; i++)
            handle(edge, events[i].data.u64);
    }
    return NULL;
}

/* Signals are handled by the main thread. */
enum err_code edge_run(struct edge *edge, struct err *err)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    edge->running = pthread_create(&edge->thread, NULL, edge_main, edge) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return edge->running ? ERR_OK : err_set(err, ERR_IO, "no thread to accept connections with");
}

static void close_listener(struct edge *edge)
{
    pthread_mutex_lock(&edge->lock);
    if (edge->listener.fd >= 0) {
        epoll_ctl(edge->epoll_fd, EPOLL_CTL_DEL, edge->listener.fd, NULL);
        listener_close(&edge->listener);
    }
    pthread_mutex_unlock(&edge->lock);
}

/* A client whose connection the kernel has completed may have sent its request already; closing the
 * listener would reset it. So new connections are stopped first, and those that have completed are
 * accepted. An inherited socket lives on, and so does what waits there. */
void edge_quiesce(struct edge *edge)
{
    pthread_mutex_lock(&edge->lock);
    bool has_rest = edge->listener.fd >= 0 && listener_refuse(&edge->listener);
    pthread_mutex_unlock(&edge->lock);
    while (has_rest && admit_one(edge))
        continue;
    close_listener(edge);
}

void edge_stop(struct edge *edge)
{
    close_listener(edge);
    pthread_mutex_lock(&edge->lock);
    edge->stopping = true;
    bool running = edge->running;
    pthread_mutex_unlock(&edge->lock);
    if (!running)
        return;
    eventfd_write(edge->conns->wake_fd, 1);
    pthread_join(edge->thread, NULL);
    pthread_mutex_lock(&edge->lock);
    edge->running = false;
    pthread_mutex_unlock(&edge->lock);
}

void edge_close(struct edge *edge)
{
    close_listener(edge);
    for (int i = 0; i < LINGERERS_MAX; i++)
        if (edge->lingerers[i].fd >= 0)
            close(edge->lingerers[i].fd);
    if (edge->epoll_fd >= 0)
        close(edge->epoll_fd);
    pthread_mutex_destroy(&edge->lock);
    free(edge);
}
