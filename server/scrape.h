/* scrape.h - the collectors of metrics: those of all subsystems, and those of what only the service
 * knows.
 *
 *     scrape_register(service);                       before the first scrape
 *
 * A subsystem's own collector writes the samples of its metrics. A new subsystem adds its line to
 * scrape_register.
 *
 * Threads: registered by the main thread; the collectors run on the I/O thread that answers the
 * scrape.
 */
#ifndef ATTND_SERVER_SCRAPE_H
#define ATTND_SERVER_SCRAPE_H

#include "server/serve/service.h"

/* All that the service has must be open, but for models; it must live as long as there are
 * scrapes. */
void scrape_register(struct service *service);

#endif
