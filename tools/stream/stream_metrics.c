#include "tools/stream/stream_metrics.h"

static const unsigned bounds[STREAM_BUCKETS] = {1, 4, 16, 64, 256, 1024, 4096, 16384};

void stream_metrics_batch(struct stream_metrics *metrics, unsigned messages)
{
    unsigned b = 0;
    while (b < STREAM_BUCKETS && messages > bounds[b])
        b++;
    atomic_fetch_add(&metrics->batch_buckets[b], 1);
    atomic_fetch_add(&metrics->batch_messages, messages);
    atomic_fetch_add(&metrics->commits, 1);
}

static void family(FILE *file, const char *name, const char *type, const char *help)
{
    fprintf(file, "# HELP attnd_stream_%s %s\n# TYPE attnd_stream_%s %s\n", name, help, name, type);
}

static void number(FILE *file, const char *name, const char *labels, double value)
{
    fprintf(file, "attnd_stream_%s%s %.17g\n", name, labels, value);
}

static void write_messages(const struct stream_metrics *metrics, FILE *file)
{
    family(file, "messages_total", "counter", "Messages answered and committed, by outcome.");
    number(file, "messages_total", "{outcome=\"verdict\"}", (double)metrics->verdicts);
    number(file, "messages_total", "{outcome=\"problem\"}", (double)metrics->problems);
    number(file, "messages_total", "{outcome=\"dead_letter\"}", (double)metrics->dead_letters);
    family(file, "message_bytes_total", "counter", "Bytes of their values.");
    number(file, "message_bytes_total", "", (double)metrics->bytes);
    family(file, "dropped_total", "counter",
           "Messages read that went to another member with their partition before they were "
           "committed.");
    number(file, "dropped_total", "", (double)metrics->dropped);
}

static void write_batches(const struct stream_metrics *metrics, FILE *file)
{
    unsigned long long sum = 0;
    char label[40];
    family(file, "batch_messages", "histogram", "Messages of a committed batch.");
    for (unsigned b = 0; b < STREAM_BUCKETS; b++) {
        sum += metrics->batch_buckets[b];
        snprintf(label, sizeof label, "{le=\"%u\"}", bounds[b]);
        number(file, "batch_messages_bucket", label, (double)sum);
    }
    sum += metrics->batch_buckets[STREAM_BUCKETS];
    number(file, "batch_messages_bucket", "{le=\"+Inf\"}", (double)sum);
    number(file, "batch_messages_sum", "", (double)metrics->batch_messages);
    number(file, "batch_messages_count", "", (double)sum);
    family(file, "stage_seconds_total", "counter", "Time of batches, by stage.");
    number(file, "stage_seconds_total", "{stage=\"compute\"}", (double)metrics->compute_us / 1e6);
    number(file, "stage_seconds_total", "{stage=\"commit\"}", (double)metrics->commit_us / 1e6);
    family(file, "transactions_total", "counter", "Transactions, by how they ended.");
    number(file, "transactions_total", "{result=\"commit\"}", (double)metrics->commits);
    number(file, "transactions_total", "{result=\"abort\"}", (double)metrics->aborts);
}

void stream_metrics_write(const struct stream_metrics *metrics, FILE *file)
{
    write_messages(metrics, file);
    write_batches(metrics, file);
    family(file, "lag_messages", "gauge", "Messages of the assigned partitions not read yet.");
    number(file, "lag_messages", "", (double)metrics->kafka.lag);
    family(file, "partitions", "gauge", "Partitions that are assigned.");
    number(file, "partitions", "", (double)metrics->kafka.partitions);
    family(file, "rebalances_total", "counter", "Times that partitions were given or taken away.");
    number(file, "rebalances_total", "", (double)metrics->kafka.rebalances);
    family(file, "ready", "gauge", "Whether it reads: 1, or 0 at the start and while it drains.");
    number(file, "ready", "", metrics->is_ready ? 1 : 0);
    family(file, "build_info", "gauge", "The version.");
    number(file, "build_info", "{version=\"" ATTND_VERSION "\"}", 1);
}
