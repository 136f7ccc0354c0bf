/* report.c - see tally.h. Throughput counts every answer, goodput only those that were OK; both
 * over the time from the first request to the last answer. The JSON object's members are named with
 * their units; counts that are zero are printed too, so that a reader need not test for presence.
 */
#include "loadtest/tally.h"

#include "engine/base/clock.h"
#include "tools/client/buffer.h"

#include <sys/resource.h>

static const struct {
    const char *name;
    double fraction;
} quantiles[] = {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}, {"max", 1.0}};

enum { QUANTILES = sizeof quantiles / sizeof quantiles[0] };

static double seconds(const struct tally *tally)
{
    double spent = clock_ms_between(tally->start_ns, tally->end_ns) / 1000;
    return spent > 0 ? spent : 1e-9;
}

/* CPU time of this process: on the server's cores it is time that the server did not have.
 */
static double cpu_seconds(void)
{
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0)
        return 0;
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

static uint64_t answers(const struct tally *tally)
{
    return tally->requests - tally->status[0];
}

static double ms(uint64_t ns)
{
    return (double)ns / CLOCK_NS_PER_MS;
}

static void print_quantiles(const char *title, const struct histogram *histogram, FILE *file)
{
    if (histogram->count == 0)
        return;
    fprintf(file, "%-20s", title);
    for (int i = 0; i < QUANTILES; i++)
        fprintf(file, " %10.3f", ms(histogram_quantile(histogram, quantiles[i].fraction)));
    fprintf(file, "\n");
}

void report_text(const struct tally *tally, FILE *file)
{
    double spent_s = seconds(tally);
    fprintf(file, "%-20s %10llu  in %.2f s\n", "requests", (unsigned long long)tally->requests,
            spent_s);
    for (int i = 0; i < OUTCOME_COUNT; i++)
        if (tally->outcome[i] > 0 || i == OUTCOME_OK)
            fprintf(file, "  %-18s %10llu  %s\n", tally_outcome_name((enum outcome)i),
                    (unsigned long long)tally->outcome[i], tally_outcome_sentence((enum outcome)i));
    for (unsigned status = 200; status <= OPTIONS_STATUS_MAX; status++)
        if (tally->status[status] > 0)
            fprintf(file, "  status %-11u %10llu\n", status,
                    (unsigned long long)tally->status[status]);
    fprintf(file, "%-20s %10.1f  answers/s\n", "throughput", (double)answers(tally) / spent_s);
    fprintf(file, "%-20s %10.1f  ok/s\n", "goodput", (double)tally->outcome[OUTCOME_OK] / spent_s);
    fprintf(file, "%-20s %10.3f  s of this generator's own\n", "cpu", cpu_seconds());
    fprintf(file, "%-20s %10llu  %llu repeated\n", "connections",
            (unsigned long long)tally->connects, (unsigned long long)tally->retries);
    fprintf(file, "%-20s %10.3f  MB sent, %.3f MB received\n", "bytes",
            (double)tally->bytes_out / 1e6, (double)tally->bytes_in / 1e6);
    fprintf(file, "%-20s", "milliseconds");
    for (int i = 0; i < QUANTILES; i++)
        fprintf(file, " %10s", quantiles[i].name);
    fprintf(file, "\n");
    print_quantiles("latency of ok", &tally->latency, file);
    print_quantiles("latency of rejected", &tally->rejection, file);
#define X(name) print_quantiles("server's " #name, &tally->name, file);
    ANSWER_TIMES(X)
#undef X
    print_quantiles("all but inference", &tally->overhead, file);
    for (unsigned i = 0; i < tally->examples; i++)
        fprintf(file, "not as expected: %s\n", tally->example[i]);
}

static void json_quantiles(struct buffer *out, const char *name, const struct histogram *histogram)
{
    buffer_format(out, ",\"%s\":{\"count\":%llu,\"mean\":%.6f", name,
                  (unsigned long long)histogram->count,
                  histogram_mean(histogram) / CLOCK_NS_PER_MS);
    for (int i = 0; i < QUANTILES; i++)
        buffer_format(out, ",\"%s\":%.6f", quantiles[i].name,
                      ms(histogram_quantile(histogram, quantiles[i].fraction)));
    buffer_text(out, "}");
}

static void json_counts(struct buffer *out, const struct tally *tally)
{
    buffer_text(out, ",\"outcomes\":{");
    for (int i = 0; i < OUTCOME_COUNT; i++)
        buffer_format(out, "%s\"%s\":%llu", i > 0 ? "," : "", tally_outcome_name((enum outcome)i),
                      (unsigned long long)tally->outcome[i]);
    buffer_text(out, "},\"statuses\":{");
    const char *comma = "";
    for (unsigned status = 1; status <= OPTIONS_STATUS_MAX; status++) {
        if (tally->status[status] == 0)
            continue;
        buffer_format(out, "%s\"%u\":%llu", comma, status,
                      (unsigned long long)tally->status[status]);
        comma = ",";
    }
    buffer_text(out, "}");
}

enum err_code report_json(const struct tally *tally, FILE *file, struct err *err)
{
    struct buffer out = {0};
    double spent_s = seconds(tally);
    buffer_format(&out, "{\"requests\":%llu,\"unaccepted\":%llu,\"seconds\":%.6f",
                  (unsigned long long)tally->requests, (unsigned long long)tally->unaccepted,
                  spent_s);
    buffer_format(&out, ",\"cpu_seconds\":%.6f", cpu_seconds());
    buffer_format(&out, ",\"throughput_per_s\":%.3f,\"goodput_per_s\":%.3f",
                  (double)answers(tally) / spent_s, (double)tally->outcome[OUTCOME_OK] / spent_s);
    buffer_format(&out,
                  ",\"connections\":%llu,\"retries\":%llu,\"bytes_out\":%llu,\"bytes_in\":%llu",
                  (unsigned long long)tally->connects, (unsigned long long)tally->retries,
                  (unsigned long long)tally->bytes_out, (unsigned long long)tally->bytes_in);
    json_counts(&out, tally);
    json_quantiles(&out, "latency_ms", &tally->latency);
    json_quantiles(&out, "rejection_ms", &tally->rejection);
#define X(name) json_quantiles(&out, "server_" #name "_ms", &tally->name);
    ANSWER_TIMES(X)
#undef X
    json_quantiles(&out, "overhead_ms", &tally->overhead);
    buffer_format(&out, ",\"latency_p50_less_inference_p50_ms\":%.6f",
                  ms(histogram_quantile(&tally->latency, 0.5)) -
                      ms(histogram_quantile(&tally->inference, 0.5)));
    buffer_format(&out, ",\"timeline\":{\"bucket_ms\":%d", TALLY_BUCKET_MS);
    static const char *const names[] = {"ok", "rejected", "failed"};
    for (int row = 0; row < 3; row++) {
        buffer_format(&out, ",\"%s\":[", names[row]);
        for (uint32_t i = 0; i < tally->timeline_len; i++) {
            const struct tally_bucket *bucket = &tally->timeline[i];
            uint32_t count = row == 0 ? bucket->ok : row == 1 ? bucket->rejected : bucket->failed;
            buffer_format(&out, "%s%u", i > 0 ? "," : "", count);
        }
        buffer_text(&out, "]");
    }
    buffer_text(&out, "}");
    buffer_text(&out, ",\"examples\":[");
    for (unsigned i = 0; i < tally->examples; i++) {
        buffer_text(&out, i > 0 ? "," : "");
        const char *text = tally->example[i];
        size_t len = 0;
        while (text[len] != '\0')
            len++;
        buffer_json_string(&out, text, len);
    }
    buffer_text(&out, "]");
    buffer_text(&out, "}\n");
    if (out.failed)
        err_no_memory(err, out.len);
    else
        fwrite(out.bytes, 1, out.len, file);
    buffer_deinit(&out);
    return err->code;
}
