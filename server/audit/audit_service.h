/* audit_service.h - the audit log of a server: opened as the configuration says, with a line and a
 * log event at its start and its end. Threads: open and close by one. */
#ifndef ATTND_SERVER_AUDIT_AUDIT_SERVICE_H
#define ATTND_SERVER_AUDIT_AUDIT_SERVICE_H

#include "config/config.h"
#include "server/audit/audit.h"

struct metrics;

enum { AUDIT_HEAD_DIGITS = 12 }; /* of the hash, as attnd_audit_head tells them */

/* NULL in *out without audit_dir. ERR_UNUSABLE also for a key that cannot be read, or is too short
 * or too long; otherwise as audit_open. */
enum err_code audit_service_open(struct audit **out, const struct config *config, struct err *err);
/* The errors of audit_service_open, without opening: a server may be writing the log. */
enum err_code audit_service_check(const struct config *config, struct err *err);
void audit_service_close(struct audit *audit); /* NULL is allowed */

/* The state of the log that the metrics of a scrape tell: number and head are of one line. */
struct audit_scrape {
    struct audit *audit; /* NULL: all metrics are 0 */
    struct audit_state state;
};

/* Its collector of metrics: metrics_register. The scrape must live as long as the metrics. */
void audit_service_register(struct audit_scrape *scrape, struct metrics *metrics);

#endif
