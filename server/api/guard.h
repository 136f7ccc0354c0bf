/* guard.h - who may send a request that changes the server's state. routes.c asks it for every POST
 * and DELETE whose row does not say that it changes nothing.
 *
 * Without keys only clients of this machine are answered, on a loopback address. With keys the
 * request has shown one with the route's scope before it comes here (routes.c), and may come from
 * anywhere, also through a proxy; what follows of browsers' pages holds for it as well.
 *
 * A page in a browser of this machine is refused: the Host header must be that address itself,
 * since any name may resolve to it (DNS rebinding), and an Origin header, which a browser adds to
 * every POST of a page, must be the same. A page's form is refused whatever its origin: no page has
 * use for one here. Without keys, requests that a proxy of this machine forwards, as its headers
 * tell, are refused too.
 *
 * Pages that cors_origins names are no exception (cors.c).
 *
 * Threads: the owner of the request.
 */
#ifndef ATTND_SERVER_API_GUARD_H
#define ATTND_SERVER_API_GUARD_H

#include "server/serve/request.h"

/* From the head alone. ERR_FORBIDDEN; ERR_MEDIA_TYPE for a form. */
enum err_code guard_check(struct request *request);
/* The same for a request that only reads what is kept: its body may have any type. */
enum err_code guard_check_reader(struct request *request);

#endif
