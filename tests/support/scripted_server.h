/* scripted_server.h - a server on a loopback port that does what each request asks of it, right or
 * wrong: what a client must be tested against and the real server never does.
 *
 *     struct scripted_server *server = scripted_server_start();
 *     ... http://127.0.0.1:scripted_server_port(server) ...
 *     scripted_server_stop(server);
 *
 * A request names its deed anywhere in its head or body:
 *
 *     do-ok         200 and the answer SCRIPTED_OK_BODY
 *     do-other      200 and an answer with another label
 *     do-garbage    200 and a body that is no JSON
 *     do-reject     429 with Retry-After
 *     do-429        429 without it
 *     do-503        503 without it
 *     do-500        500
 *     do-recover    503 to the first two requests, then as do-ok
 *     do-close      200 with Connection: close, and closes
 *     do-leave      200 that promises to stay, and closes
 *     do-lose       reads the request and closes without a byte of an answer
 *     do-cut        closes in the middle of the answer
 *     do-noise      bytes that are no HTTP, and closes
 *     do-nothing    never answers
 *     do-slowly     200 after 200 ms
 *
 * Threads: each connection has one of its own; the counters may be read at any time.
 */
#ifndef ATTND_TESTS_SUPPORT_SCRIPTED_SERVER_H
#define ATTND_TESTS_SUPPORT_SCRIPTED_SERVER_H

struct scripted_server;

/* A label, two predictions and all four times: inference 2 ms, total 5 ms. */
#define SCRIPTED_OK_BODY                                                                           \
    "{\"label\":\"a\",\"score\":0.75,\"predictions\":[{\"label\":\"a\",\"score\":0.75},"           \
    "{\"label\":\"b\",\"score\":0.25}],\"timing_ms\":{\"queue\":1,\"prepare\":0.5,"                \
    "\"inference\":2,\"total\":5}}"

struct scripted_server *scripted_server_start(void);
unsigned scripted_server_port(const struct scripted_server *server);
unsigned scripted_server_connections(const struct scripted_server *server); /* accepted so far */
unsigned scripted_server_requests(const struct scripted_server *server);    /* read whole so far */
void scripted_server_stop(struct scripted_server *server);

#endif
