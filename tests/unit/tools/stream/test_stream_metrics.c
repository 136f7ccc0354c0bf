/* The whole page, byte by byte, after counts of which no two are the same; and that a strict reader
 * takes it. */
#include "tests/support/exposition.h"
#include "tests/support/golden_file.h"
#include "tests/support/suite.h"
#include "tools/stream/stream_metrics.h"

#include <stdlib.h>

static struct stream_metrics metrics;

/* Bucket b is met b + 1 times, at its bound; the last one by what is above all. */
static void count_all(void)
{
    static const unsigned bounds[STREAM_BUCKETS + 1] = {1,    4,    16,    64,   256,
                                                        1024, 4096, 16384, 16385};
    for (unsigned b = 0; b <= STREAM_BUCKETS; b++)
        for (unsigned times = 0; times <= b; times++)
            stream_metrics_batch(&metrics, bounds[b]);
    atomic_store(&metrics.verdicts, 1001);
    atomic_store(&metrics.problems, 1002);
    atomic_store(&metrics.dead_letters, 1003);
    atomic_store(&metrics.bytes, 9007199254740991ULL);
    atomic_store(&metrics.aborts, 3);
    atomic_store(&metrics.dropped, 1004);
    atomic_store(&metrics.compute_us, 1500001);
    atomic_store(&metrics.commit_us, 250000);
    atomic_store(&metrics.kafka.lag, 1005);
    atomic_store(&metrics.kafka.partitions, 8);
    atomic_store(&metrics.kafka.rebalances, 2);
    atomic_store(&metrics.is_ready, true);
}

static struct exposition *parse(void)
{
    char problem[EXPOSITION_PROBLEM_BYTES], *text = NULL;
    size_t len = 0;
    FILE *file = open_memstream(&text, &len);
    stream_metrics_write(&metrics, file);
    ck_assert_int_eq(fclose(file), 0);
    struct exposition *page = exposition_parse(text, len, problem);
    ck_assert_msg(page != NULL, "%s", problem);
    free(text);
    return page;
}

START_TEST(stream_metrics_page_is_what_it_was)
{
    struct golden_file golden;
    count_all();
    golden_file_open(&golden);
    stream_metrics_write(&metrics, golden.file);
    golden_file_mask(&golden, "attnd_stream_build_info{version=\"", "\"");
    golden_file_expect(&golden, "tests/data/metrics/stream.txt");
}
END_TEST

START_TEST(stream_metrics_exist_at_zero_and_are_well_formed)
{
    struct exposition *page = parse();
    size_t samples = exposition_samples(page);
    ck_assert_double_eq(
        exposition_value(page, "attnd_stream_messages_total{outcome=\"dead_letter\"}"), 0);
    ck_assert_double_eq(exposition_value(page, "attnd_stream_ready"), 0);
    exposition_free(page);
    count_all();
    page = parse();
    ck_assert_uint_eq(exposition_samples(page), samples);
    ck_assert_double_eq(exposition_value(page, "attnd_stream_ready"), 1);
    exposition_free(page);
}
END_TEST

START_TEST(stream_metrics_buckets_are_cumulated)
{
    count_all();
    struct exposition *page = parse();
    static const char bucket[] = "attnd_stream_batch_messages_bucket";
    static const struct {
        const char *le;
        double count;
    } expected[] = {{"1", 1}, {"4", 3}, {"16384", 36}, {"+Inf", 45}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        char series[80];
        snprintf(series, sizeof series, "%s{le=\"%s\"}", bucket, expected[i].le);
        ck_assert_double_eq(exposition_value(page, series), expected[i].count);
    }
    ck_assert_double_eq(
        exposition_value(page, "attnd_stream_transactions_total{result=\"commit\"}"), 45);
    exposition_free(page);
}
END_TEST

SUITE("stream_metrics", stream_metrics_page_is_what_it_was,
      stream_metrics_exist_at_zero_and_are_well_formed, stream_metrics_buckets_are_cumulated)
