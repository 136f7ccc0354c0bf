/* kafka_writer.h - the transactional producer: replies, and the offsets behind their inputs, as one
 * transaction. Private to kafka.c.
 *
 *     kafka_writer_open(&writer, &options, stop, &err);
 *     kafka_writer_commit(writer, replies, count, next, member, &outcome, &err);
 *     kafka_writer_close(writer);
 *
 * Threads: one at a time; the library has its own.
 */
#ifndef ATTND_TOOLS_STREAM_KAFKA_WRITER_H
#define ATTND_TOOLS_STREAM_KAFKA_WRITER_H

#include "engine/base/err.h"
#include "tools/stream/kafka.h"
#include "tools/stream/stream_options.h"

struct kafka_writer;
struct rd_kafka_topic_partition_list_s;    /* the library's rd_kafka_topic_partition_list_t */
struct rd_kafka_consumer_group_metadata_s; /* and rd_kafka_consumer_group_metadata_t */

/* Reaches the brokers, aborts what this member left open, and knows how many partitions the topics
 * have that are written. Errors are kafka_open's. Close it in any case. */
enum err_code kafka_writer_open(struct kafka_writer **out, const struct stream_options *options,
                                const atomic_bool *stop, struct err *err);
void kafka_writer_close(struct kafka_writer *writer);

/* next: of each partition the offset behind its last input; member: of the group's generation that
 * gave us the inputs. Outcomes and errors are kafka_commit's, but for going back. */
enum err_code kafka_writer_commit(struct kafka_writer *writer, struct kafka_reply *replies,
                                  size_t count, const struct rd_kafka_topic_partition_list_s *next,
                                  const struct rd_kafka_consumer_group_metadata_s *member,
                                  enum kafka_outcome *outcome, struct err *err);

/* ---- the library's configuration ---- */

/* The library's configuration of a consumer and of a producer. No state. */

struct rd_kafka_conf_s; /* the library's rd_kafka_conf_t */

/* Yours to give to rd_kafka_new, or to destroy. ERR_UNUSABLE names the key that is refused. */
enum err_code kafka_conf_consumer(struct rd_kafka_conf_s **out,
                                  const struct stream_options *options, struct err *err);
enum err_code kafka_conf_producer(struct rd_kafka_conf_s **out,
                                  const struct stream_options *options, struct err *err);

#endif
