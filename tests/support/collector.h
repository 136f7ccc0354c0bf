/* collector.h - a collector of spans on a loopback port, for tests: it keeps the requests that come
 * and answers each as it is told beforehand.
 *
 *     struct collector *collector = collector_start((const char *[]){COLLECTOR_OK, NULL});
 *     ... http://127.0.0.1:collector_port(collector)/v1/traces ...
 *     collector_await(collector, 1);
 *     const void *body = collector_body(collector, 0, &len);
 *     collector_stop(collector);
 *
 * Threads: one of its own; the functions are the test's.
 */
#ifndef ATTND_TESTS_SUPPORT_COLLECTOR_H
#define ATTND_TESTS_SUPPORT_COLLECTOR_H

#include <stddef.h>

#define COLLECTOR_OK "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
#define COLLECTOR_CLOSES ""        /* after the request, without a word */
#define COLLECTOR_IS_SILENT "\x01" /* says nothing until it is stopped */

struct collector;

/* The connection number n gets the nth answer, and those behind the last one get that one too. Any
 * answer is followed by an end of the connection. */
struct collector *collector_start(const char *const *answers);
unsigned collector_port(const struct collector *collector);
/* The option of attnd: "http://127.0.0.1:PORT/v1/traces". */
const char *collector_url(const struct collector *collector);

/* Waits until so many whole requests have arrived; fails after suite_patience_s. */
void collector_await(struct collector *collector, unsigned count);
unsigned collector_count(struct collector *collector);
/* Head and body of a request that has arrived. */
const char *collector_head(struct collector *collector, unsigned index);
const void *collector_body(struct collector *collector, unsigned index, size_t *len);

void collector_stop(struct collector *collector);

#endif
