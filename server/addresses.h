/* addresses.h - where the server can be reached: the main address and, if there is one, the address
 * for administration, each with sockets, connections and threads of its own, so that a crowd at the
 * one does not keep an operator from the other. The same application answers at both.
 *
 *     if (addresses_start(&addresses, &service, io_threads, &err)) ...
 *     addresses_accept(&addresses);
 *     addresses_drain(&addresses);
 *     addresses_quiesce(&addresses);
 *     while (addresses_busy(&addresses) > 0) ...
 *     addresses_stop(&addresses);
 *
 * A socket that a service manager holds (systemd.h) stands in for a configured one. Who connects
 * there waits for addresses_accept, once the models are warm, instead of being told 503 in between
 * two processes; at others /healthz and /readyz answer from the start. Over TCP both
 * speak TLS, if there is a certificate; a socket in the file system, which only processes of the
 * machine reach, speaks plain HTTP.
 *
 * Threads: the main thread; what serves is http.h's.
 */
#ifndef ATTND_SERVER_ADDRESSES_H
#define ATTND_SERVER_ADDRESSES_H

#include "server/http/http.h"
#include "server/serve/service.h"

struct addresses {
    struct http_app app;
    struct http_server *main, *admin; /* NULL: not started; admin: or none is wanted */
};

/* Checks that the addresses of the configuration can be opened, as far as this is possible while a
 * server has them open. It is called before each reload. ERR_UNUSABLE. */
enum err_code addresses_check(const struct config *config, struct err *err);

/* Threads beside those of the main address. */
unsigned addresses_admin_threads(const struct config *config);

/* Sets service->has_admin_address. ERR_IO: one cannot be bound; ERR_UNUSABLE: an inherited socket
 * is of no use. What was started until then is to be stopped. */
enum err_code addresses_start(struct addresses *out, struct service *service, unsigned io_threads,
                              struct err *err);

/* The models are warm. */
void addresses_accept(const struct addresses *addresses);

/* Says in the log where the admin routes are, and warns of addresses where anybody may ask. */
void addresses_log(const struct addresses *addresses, const struct service *service);

/* http_drain, http_quiesce, http_busy and http_stop of those that there are. */
void addresses_drain(const struct addresses *addresses);
void addresses_quiesce(const struct addresses *addresses);
unsigned addresses_busy(const struct addresses *addresses);
void addresses_stop(struct addresses *addresses);

#endif
