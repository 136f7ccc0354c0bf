/* kafka_conf.h - the library's configuration of a consumer and of a producer. Private to kafka*.c.
 *
 * Threads: no state. */
#ifndef ATTND_TOOLS_STREAM_KAFKA_CONF_H
#define ATTND_TOOLS_STREAM_KAFKA_CONF_H

#include "engine/base/err.h"
#include "tools/stream/stream_options.h"

struct rd_kafka_conf_s; /* the library's rd_kafka_conf_t */

/* Yours to give to rd_kafka_new, or to destroy. ERR_UNUSABLE names the key that is refused. */
enum err_code kafka_conf_consumer(struct rd_kafka_conf_s **out,
                                  const struct stream_options *options, struct err *err);
enum err_code kafka_conf_producer(struct rd_kafka_conf_s **out,
                                  const struct stream_options *options, struct err *err);

#endif
