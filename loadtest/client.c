/* client.c - see client.h.
 *
 * Each connection sits in a slot; free slots are a stack, so an open loop below capacity reuses few
 * warm connections. In a closed loop a free slot sends at once; in an open loop due times queue in
 * a ring, and free slots take from it. A request that waits there ages from its intended time.
 *
 * After the run's end nothing new is started, in-flight requests (and, in an open loop, those
 * already due) have one more timeout to end. After a refused connection the closed loop waits for
 * 10 ms: otherwise it would become a busy loop when the server is stopped. */
#include "loadtest/client.h"

#include "engine/base/clock.h"
#include "engine/cli/screen.h"
#include "tools/client/connection.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum {
    TICK_MS = 50, /* interval at which timeouts and progress are checked */
    PROGRESS_MS = 1000,
    REFUSED_REST_MS = 10,
    EVENTS = 256,     /* taken from epoll at a time */
    TIMER_EVENT = -1, /* in epoll's data, where slots have their index */
    SIGNAL_EVENT = -2,
};

struct slot {
    struct connection connection;
    const struct workload_item *item; /* NULL: free */
    uint64_t intended_ns, sent_ns;
    uint32_t polled; /* events asked of epoll */
};

struct client {
    const struct options *options;
    struct workload *workload;
    const struct answer_book *book;
    struct tally *tally;
    struct tls_stream_trust *trust; /* NULL: plain HTTP */
    int epoll, timer, signals;
    struct slot *slots;
    unsigned *idle; /* stack of free slots */
    unsigned idle_count;

    struct pacer pacer;
    uint64_t *due; /* ring of intended times */
    size_t due_first, due_count;

    uint64_t started;       /* requests begun or queued */
    uint64_t stop_ns;       /* nothing new from here on */
    uint64_t rest_until_ns; /* closed loop, after a refusal */
    uint64_t tick_ns;
    struct screen screen;
};

static bool more_wanted(const struct client *client, uint64_t now_ns)
{
    return now_ns < client->stop_ns &&
           (client->options->requests == 0 || client->started < client->options->requests);
}

static void watch(struct client *client, struct slot *slot, bool opened)
{
    uint32_t wants = connection_wants(&slot->connection);
    if (!opened && wants == slot->polled)
        return;
    struct epoll_event event = {.events = wants, .data.fd = (int)(slot - client->slots)};
    epoll_ctl(client->epoll, opened ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, slot->connection.fd, &event);
    slot->polled = wants;
}

static void end_request(struct client *client, struct slot *slot, struct tally_sample *sample)
{
    sample->item = slot->item->index;
    sample->intended_ns = slot->intended_ns;
    sample->sent_ns = slot->sent_ns;
    tally_record(client->tally, sample);
    client->tally->bytes_in += slot->connection.bytes_in;
    client->tally->bytes_out += slot->connection.bytes_out;
    slot->connection.bytes_in = slot->connection.bytes_out = 0;
    slot->item = NULL;
    client->idle[client->idle_count++] = (unsigned)(slot - client->slots);
}

static void end_failed(struct client *client, struct slot *slot, enum outcome outcome,
                       const char *why)
{
    uint64_t now_ns = clock_now_ns();
    struct tally_sample sample = {.outcome = outcome, .done_ns = now_ns, .why = why};
    connection_close(&slot->connection);
    end_request(client, slot, &sample);
    if (outcome == OUTCOME_REFUSED)
        client->rest_until_ns = now_ns + (uint64_t)REFUSED_REST_MS * CLOCK_NS_PER_MS;
}

static enum outcome judge(const struct client *client, const struct slot *slot,
                          struct answer *answer)
{
    const struct http_parse *reply = &slot->connection.reply;
    if (reply->status == 429 && reply->retry_after)
        return OUTCOME_REJECTED;
    if ((reply->status == 429 || reply->status == 503) && !reply->retry_after)
        return OUTCOME_NO_RETRY_AFTER;
    if (!slot->item->judged)
        return reply->status == 200 ? OUTCOME_OK : OUTCOME_STATUS;
    return answer_judge(client->book, slot->item->index, reply->status, reply->body.bytes,
                        reply->body.len, client->options->tolerance, answer);
}

static void end_replied(struct client *client, struct slot *slot)
{
    struct answer answer = {0};
    struct tally_sample sample = {.done_ns = clock_now_ns(), .answer = &answer};
    sample.status = slot->connection.reply.status;
    sample.outcome = judge(client, slot, &answer);
    sample.why = answer.why[0] != '\0' ? answer.why : NULL;
    end_request(client, slot, &sample);
}

static bool send_item(struct client *client, struct slot *slot)
{
    bool opened = slot->connection.fd < 0;
    const struct options *options = client->options;
    if (!connection_send(&slot->connection, &options->target.address.any,
                         options->target.address_len, slot->item->request.bytes,
                         slot->item->request.len)) {
        end_failed(client, slot, OUTCOME_REFUSED, strerror(errno));
        return false;
    }
    client->tally->connects += opened;
    if (opened)
        watch(client, slot, true);
    return true;
}

static void advance(struct client *client, struct slot *slot)
{
    switch (connection_event(&slot->connection)) {
    case CONNECTION_WAITING:
        watch(client, slot, false);
        break;
    case CONNECTION_REPLIED:
        end_replied(client, slot);
        break;
    case CONNECTION_CLOSED:
        connection_close(&slot->connection);
        break;
    case CONNECTION_FAILED:
        if (!slot->connection.retryable) {
            end_failed(client, slot, slot->connection.failure, slot->connection.reply.why);
            break;
        }
        connection_close(&slot->connection); /* so a request is repeated only once */
        client->tally->retries++;
        send_item(client, slot);
        break;
    }
}

static void start(struct client *client, uint64_t intended_ns, uint64_t now_ns)
{
    struct slot *slot = &client->slots[client->idle[--client->idle_count]];
    slot->item = workload_next(client->workload);
    slot->intended_ns = intended_ns;
    slot->sent_ns = now_ns;
    if (send_item(client, slot))
        advance(client, slot);
}

/* Moves what has become due into the ring. */
static void admit(struct client *client, uint64_t now_ns)
{
    struct pacer *pacer = &client->pacer;
    for (; pacer->due_ns <= now_ns && more_wanted(client, pacer->due_ns); pacer_advance(pacer)) {
        client->started++;
        if (client->due_count == client->options->backlog) {
            struct tally_sample sample = {.outcome = OUTCOME_DROPPED,
                                          .intended_ns = pacer->due_ns,
                                          .sent_ns = now_ns,
                                          .done_ns = now_ns};
            tally_record(client->tally, &sample);
            continue;
        }
        size_t last = (client->due_first + client->due_count++) % client->options->backlog;
        client->due[last] = pacer->due_ns;
    }
}

static void set_timer(struct client *client, uint64_t at_ns)
{
    const time_t at_s = (time_t)(at_ns / CLOCK_NS_PER_S) - CLOCK_AHEAD_S;
    struct itimerspec when = {
        .it_value = {.tv_sec = at_s, .tv_nsec = (long)(at_ns % CLOCK_NS_PER_S)}};
    timerfd_settime(client->timer, TFD_TIMER_ABSTIME, &when, NULL);
}

static void dispatch(struct client *client, uint64_t now_ns)
{
    if (client->options->rate > 0) {
        admit(client, now_ns);
        while (client->due_count > 0 && client->idle_count > 0) {
            uint64_t intended_ns = client->due[client->due_first];
            client->due_first = (client->due_first + 1) % client->options->backlog;
            client->due_count--;
            start(client, intended_ns, now_ns);
        }
        if (more_wanted(client, client->pacer.due_ns))
            set_timer(client, client->pacer.due_ns);
    } else {
        /* once over the free slots: one that is free again at once waits for the next call */
        for (unsigned free_slots = client->idle_count;
             free_slots > 0 && more_wanted(client, now_ns) && now_ns >= client->rest_until_ns;
             free_slots--) {
            client->started++;
            start(client, now_ns, now_ns);
        }
        if (now_ns < client->rest_until_ns)
            set_timer(client, client->rest_until_ns);
    }
}

static void tick(struct client *client, uint64_t now_ns)
{
    if (now_ns < client->tick_ns)
        return;
    client->tick_ns = now_ns + (uint64_t)TICK_MS * CLOCK_NS_PER_MS;
    for (unsigned i = 0; i < client->options->connections; i++) {
        struct slot *slot = &client->slots[i];
        if (slot->item != NULL &&
            clock_ms_between(slot->sent_ns, now_ns) > client->options->timeout_ms)
            end_failed(client, slot, OUTCOME_TIMEOUT, NULL);
    }
    const struct tally *tally = client->tally;
    if (!screen_begin(&client->screen))
        return;
    uint64_t ok = tally->outcome[OUTCOME_OK], rejected = tally->outcome[OUTCOME_REJECTED];
    fprintf(stderr, "%5.0f s  %llu ok  %llu rejected  %llu failed  p99 %.2f ms",
            clock_ms_between(tally->start_ns, now_ns) / 1000, (unsigned long long)ok,
            (unsigned long long)rejected, (unsigned long long)(tally->requests - ok - rejected),
            (double)histogram_quantile(&tally->latency, 0.99) / CLOCK_NS_PER_MS);
}

static void handle_event(struct client *client, int source)
{
    uint64_t expirations;
    struct signalfd_siginfo signal_info;
    if (source == TIMER_EVENT) {
        if (read(client->timer, &expirations, sizeof expirations) < 0)
            return;
    } else if (source == SIGNAL_EVENT) {
        if (read(client->signals, &signal_info, sizeof signal_info) > 0)
            client->stop_ns = clock_now_ns();
    } else if (client->slots[source].connection.fd >= 0) {
        advance(client, &client->slots[source]);
    }
}

static void loop(struct client *client)
{
    struct epoll_event events[EVENTS];
    for (;;) {
        uint64_t now_ns = clock_now_ns();
        dispatch(client, now_ns);
        tick(client, now_ns);
        bool nothing = client->idle_count == client->options->connections && client->due_count == 0;
        if ((nothing && !more_wanted(client, now_ns)) ||
            now_ns >= client->stop_ns + (uint64_t)client->options->timeout_ms * CLOCK_NS_PER_MS)
            return;
        /* A slot whose request ended at once is free: use it before sleeping. */
        bool again = client->options->rate == 0 && client->idle_count > 0 &&
                     more_wanted(client, now_ns) && now_ns >= client->rest_until_ns;
        int count = epoll_wait(client->epoll, events, EVENTS, again ? 0 : TICK_MS);
        for (int i = 0; i < count; i++)
            handle_event(client, events[i].data.fd);
    }
}

/* Records requests that are still open when the time is over. */
static void abandon(struct client *client)
{
    uint64_t now_ns = clock_now_ns();
    for (unsigned i = 0; i < client->options->connections; i++)
        if (client->slots[i].item != NULL)
            end_failed(client, &client->slots[i], OUTCOME_TIMEOUT, NULL);
    for (; client->due_count > 0; client->due_count--) {
        struct tally_sample sample = {.outcome = OUTCOME_DROPPED,
                                      .intended_ns = client->due[client->due_first],
                                      .sent_ns = now_ns,
                                      .done_ns = now_ns};
        client->due_first = (client->due_first + 1) % client->options->backlog;
        tally_record(client->tally, &sample);
    }
}

static enum err_code open_descriptors(struct client *client, struct err *err)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
        if (limit.rlim_cur < client->options->connections + 32UL)
            return err_set(err, ERR_IO, "--connections: only %llu descriptors may be open",
                           (unsigned long long)limit.rlim_cur);
    }
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    client->signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    client->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    client->epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event timer = {.events = EPOLLIN, .data.fd = TIMER_EVENT};
    struct epoll_event signals = {.events = EPOLLIN, .data.fd = SIGNAL_EVENT};
    if (client->signals < 0 || client->timer < 0 || client->epoll < 0 ||
        epoll_ctl(client->epoll, EPOLL_CTL_ADD, client->timer, &timer) ||
        epoll_ctl(client->epoll, EPOLL_CTL_ADD, client->signals, &signals))
        return err_set(err, ERR_IO, "epoll: %s", strerror(errno));
    return ERR_OK;
}

static enum err_code open_slots(struct client *client, struct err *err)
{
    unsigned count = client->options->connections;
    client->slots = calloc(count, sizeof *client->slots);
    client->idle = calloc(count, sizeof *client->idle);
    client->due = calloc(client->options->backlog, sizeof *client->due);
    if (client->slots == NULL || client->idle == NULL || client->due == NULL)
        return err_no_memory(err, count * sizeof *client->slots);
    for (unsigned i = 0; i < count; i++) {
        connection_init(&client->slots[i].connection);
        client->slots[i].connection.trust = client->trust;
        client->slots[i].connection.host = client->options->target.host;
        client->idle[client->idle_count++] = count - 1 - i;
    }
    return ERR_OK;
}

enum err_code client_run(const struct options *options, struct workload *workload,
                         const struct answer_book *book, struct tally *tally, struct err *err)
{
    struct client client = {.options = options,
                            .workload = workload,
                            .book = book,
                            .tally = tally,
                            .epoll = -1,
                            .timer = -1,
                            .signals = -1};
    const struct tls_stream_trust_options trust = {.ca_file = options->ca_file,
                                                   .cert_file = options->cert_file,
                                                   .key_file = options->key_pem_file,
                                                   .takes_any = options->insecure};
    if ((options->target.is_secure && tls_stream_trust_open(&client.trust, &trust, err)) ||
        open_slots(&client, err) || open_descriptors(&client, err))
        goto out;
    tally->start_ns = tally->end_ns = clock_now_ns();
    screen_open(&client.screen, PROGRESS_MS, 0);
    client.screen.is_terminal = client.screen.is_terminal && !options->quiet;
    client.stop_ns = tally->start_ns + (uint64_t)(options->duration_s * CLOCK_NS_PER_S);
    if (options->rate > 0)
        pacer_init(&client.pacer, tally->start_ns, options->rate, options->poisson, options->seed);
    loop(&client);
    abandon(&client);
    screen_clear(&client.screen);
out:
    for (unsigned i = 0; client.slots != NULL && i < options->connections; i++)
        connection_deinit(&client.slots[i].connection);
    tls_stream_trust_close(client.trust);
    free(client.slots);
    free(client.idle);
    free(client.due);
    const int descriptors[] = {client.epoll, client.timer, client.signals};
    for (int i = 0; i < 3; i++)
        if (descriptors[i] >= 0)
            close(descriptors[i]);
    return err->code;
}
