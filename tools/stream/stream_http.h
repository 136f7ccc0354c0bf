/* stream_http.h - /metrics, /healthz and /readyz of attnd-stream, over the house's HTTP server.
 *
 *     stream_http_start(&http, "127.0.0.1", 8091, &metrics, &err);
 *     stream_http_stop(http);
 *
 * Threads: it has one of its own.
 */
#ifndef ATTND_TOOLS_STREAM_STREAM_HTTP_H
#define ATTND_TOOLS_STREAM_STREAM_HTTP_H

#include "engine/base/err.h"
#include "tools/stream/stream_metrics.h"

struct stream_http;

/* The metrics must outlive it. Port 0: any free one. Stop it in any case. */
enum err_code stream_http_start(struct stream_http **out, const char *address, unsigned port,
                                const struct stream_metrics *metrics, struct err *err);
unsigned stream_http_port(const struct stream_http *http);
void stream_http_stop(struct stream_http *http);

#endif
