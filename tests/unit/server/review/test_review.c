/* Keeping inputs, without a server: inputs dropped without room, and threads that offer and list at
 * once. The contract's test has the rest. */
#include "server/review/review.h"

#include "server/feedback/feedback.h"
#include "server/serve/request.h"
#include "tests/support/results.h"
#include "tests/support/tempdir.h"
#include "tests/unit/server/metrics_samples.h"
#include "tests/unit/server/models.h"

#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { OFFERS = 60, THREADS = 3 };

static struct models models;
static struct served_model *model;
static struct memory memory;
static struct feedback *feedback;
static struct review *review;
static struct tempdir dir;
static struct snapshot snapshot;

static void opened(size_t pool_bytes, size_t bytes_max)
{
    const struct review_options options = {
        .state_dir = dir.path, .bytes_max = bytes_max, .memory = &memory, .feedback = feedback};
    struct err err = {0};
    memory_init(&memory, pool_bytes, 0, 0);
    ck_assert_msg(review_open(&review, &options, &err) == ERR_OK, "%s", err.text);
}

static void begin(void)
{
    models_open(&models, 1);
    model = models_make(&models, "logs", "text", 1);
    tempdir_open(&dir);
    ck_assert_int_eq(feedback_open(&feedback, &(struct feedback_options){0}, &(struct err){0}), 0);
    snapshot.config.keep_inputs_share = 1;
}

static void end(void)
{
    char path[512], inside[128];
    snprintf(inside, sizeof inside, "%s/inputs", dir.path);
    DIR *entries = opendir(inside);
    for (const struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        snprintf(path, sizeof path, "%s/%s", inside, entry->d_name);
        unlink(path);
    }
    closedir(entries);
    rmdir(inside);
    tempdir_close(&dir);
    feedback_close(feedback);
    served_model_release(model);
    models_close(&models);
}

/* A request of one text that was answered. */
static void offer(const char *id, const char *text)
{
    float scores[] = {0.25f, 0.75f};
    struct predict_item item = {
        .source = {.kind = ENGINE_TEXT, .bytes = text, .len = strlen(text), .is_utf8 = true}};
    struct request request = {.id = id, .snapshot = &snapshot, .good_count = 1};
    struct row row = {.request = &request,
                      .model = model,
                      .answer = {.model_name = "logs",
                                 .model_version = "1",
                                 .info = model->info,
                                 .result = result_of(scores, 2)}};
    struct row *good = &row;
    request.call = (struct predict_call){.items = &item, .item_count = 1, .id = id, .keep = true};
    request.rows = &row;
    request.good = &good;
    review_offer(review, &request);
}

static struct {
    uint64_t kept, dropped, bytes;
} counts;

/* The counts that the metrics tell. */
static void read_counts(void)
{
    char text[256] = "";
    unsigned long long kept, dropped, bytes;
    struct metrics *metrics = metrics_samples_open();
    review_register(review, metrics);
    metrics_samples_add(metrics, "attnd_kept_inputs_total", text, sizeof text);
    metrics_samples_add(metrics, "attnd_kept_inputs_bytes", text, sizeof text);
    metrics_close(metrics);
    ck_assert_int_eq(sscanf(text,
                            "attnd_kept_inputs_total{result=\"kept\"} %llu\n"
                            "attnd_kept_inputs_total{result=\"dropped\"} %llu\n"
                            "attnd_kept_inputs_bytes %llu\n",
                            &kept, &dropped, &bytes),
                     3);
    counts.kept = kept;
    counts.dropped = dropped;
    counts.bytes = bytes;
}

static uint64_t settled_now(void)
{
    read_counts();
    return counts.kept + counts.dropped;
}

static void await(uint64_t settled)
{
    while (settled_now() < settled)
        usleep(1000);
}

START_TEST(an_input_is_listed_and_read_as_it_was_answered)
{
    struct review_page page;
    struct review_place place;
    struct kept_input input;
    struct arena arena;
    struct err err = {0};
    const struct review_filter filter = {
        .decision = DECISION_COUNT, .before = UINT64_MAX, .limit = 10};
    begin();
    opened((size_t)64 << 20, 100000);
    arena_init(&arena);
    offer("die-1", "VDD short");
    await(1);
    ck_assert_int_eq(review_list(review, &filter, &arena, &page, &err), ERR_OK);
    ck_assert_uint_eq(page.count, 1);
    ck_assert_uint_eq(page.next, 0);
    ck_assert_str_eq(page.inputs[0].label, "pass");
    ck_assert_double_eq(page.inputs[0].score, 0.75);
    ck_assert(page.inputs[0].is_sampled);
    ck_assert_int_eq(review_look(review, "die-1", 1, &place, &err), ERR_NOT_FOUND);
    err = (struct err){0};
    ck_assert_int_eq(review_look(review, "die-1", 0, &place, &err), ERR_OK);
    ck_assert_int_eq(review_read(review, &place, &arena, &input, &err), ERR_OK);
    ck_assert_str_eq(input.bytes, "VDD short");
    arena_deinit(&arena);
    review_close(review);
    ck_assert_uint_eq(memory_taken(&memory), 0);
    end();
}
END_TEST

START_TEST(review_drops_and_counts_inputs_without_memory)
{
    begin();
    opened(300, 100000);
    offer("die-1", "VDD short");
    ck_assert_uint_eq(settled_now(), 1);
    ck_assert_uint_eq(counts.dropped, 1);
    review_close(review);
    end();
}
END_TEST

START_TEST(review_keeps_only_inputs_of_the_sample)
{
    begin();
    snapshot.config.keep_inputs_share = 0;
    opened((size_t)64 << 20, 100000);
    offer("die-1", "VDD short");
    snapshot.config.keep_inputs_share = 1;
    offer("die-2", "VDD short");
    await(1); /* they are written in order */
    struct review_place place;
    struct err err = {0};
    ck_assert_int_eq(review_look(review, "die-2", 0, &place, &err), ERR_OK);
    ck_assert_int_eq(review_look(review, "die-1", 0, &place, &err), ERR_NOT_FOUND);
    review_close(review);
    end();
}
END_TEST

/* Closing writes the inputs that wait; they are there when it is opened again. */
START_TEST(review_writes_waiting_inputs_when_it_is_closed)
{
    struct review_page page;
    struct arena arena;
    const struct review_filter filter = {
        .decision = DECISION_AUTO, .before = UINT64_MAX, .limit = 3};
    begin();
    opened((size_t)64 << 20, 100000);
    for (int i = 0; i < 5; i++) {
        char id[16];
        snprintf(id, sizeof id, "die-%d", i);
        offer(id, "VDD short");
    }
    review_close(review);
    opened((size_t)64 << 20, 100000);
    arena_init(&arena);
    struct err err = {.code = ERR_NOT_READY};
    while (err.code == ERR_NOT_READY) {
        err = (struct err){0};
        review_list(review, &filter, &arena, &page, &err);
    }
    ck_assert_uint_eq(page.count, 3);
    ck_assert_str_eq(page.inputs[0].id, "die-4");
    ck_assert_uint_eq(page.next, page.inputs[2].number);
    arena_deinit(&arena);
    review_close(review);
    end();
}
END_TEST

static void *offer_main(void *context)
{
    const unsigned thread = *(const unsigned *)context;
    for (int i = 0; i < OFFERS; i++) {
        char id[32];
        snprintf(id, sizeof id, "die-%u-%d", thread, i);
        offer(id, "VDD short");
    }
    return NULL;
}

static void list_once(void)
{
    struct review_page page;
    struct arena arena;
    struct err err = {0};
    const struct review_filter filter = {
        .decision = DECISION_COUNT, .before = UINT64_MAX, .limit = 20};
    arena_init(&arena);
    review_list(review, &filter, &arena, &page, &err);
    ck_assert(err.code == ERR_OK || err.code == ERR_NOT_READY);
    arena_deinit(&arena);
}

static uint64_t bytes_on_disk(void)
{
    char path[128];
    uint64_t bytes = 0;
    struct stat status;
    snprintf(path, sizeof path, "%s/inputs", dir.path);
    DIR *entries = opendir(path);
    ck_assert_ptr_nonnull(entries);
    for (const struct dirent *entry; (entry = readdir(entries)) != NULL;)
        if (entry->d_name[0] != '.' && fstatat(dirfd(entries), entry->d_name, &status, 0) == 0)
            bytes += (uint64_t)status.st_blocks * 512;
    closedir(entries);
    return bytes;
}

/* Room for ten files of a block each, so that they are removed while they are listed. */
START_TEST(threads_offer_while_others_list)
{
    pthread_t threads[THREADS];
    unsigned numbers[THREADS];
    begin();
    opened((size_t)64 << 20, 10 * 4096);
    for (unsigned i = 0; i < THREADS; i++) {
        numbers[i] = i;
        ck_assert_int_eq(pthread_create(&threads[i], NULL, offer_main, &numbers[i]), 0);
    }
    while (settled_now() < THREADS * OFFERS)
        list_once();
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    ck_assert_uint_eq(settled_now(), THREADS * OFFERS);
    ck_assert_uint_le(counts.bytes, 10 * 4096);
    ck_assert_uint_gt(counts.bytes, 5 * 4096);
    ck_assert_uint_le(bytes_on_disk(), 10 * 4096);
    review_close(review);
    ck_assert_uint_eq(memory_taken(&memory), 0);
    end();
}
END_TEST

static unsigned long block_bytes; /* that the disk tells; 0: as it is */

int statvfs(const char *path, struct statvfs *out)
{
    int (*library)(const char *, struct statvfs *);
    *(void **)&library = dlsym(RTLD_NEXT, "statvfs");
    const int code = library(path, out);
    out->f_frsize = block_bytes > 0 ? block_bytes : out->f_frsize;
    return code;
}

START_TEST(a_file_takes_whole_blocks_of_a_disk_and_no_transfer_of_a_network)
{
    static const unsigned long told[] = {1024, 4096, 65536, 262144, 4194304};
    static const uint64_t taken[] = {1024, 4096, 65536, 4096, 4096};
    for (size_t i = 0; i < sizeof told / sizeof told[0]; i++) {
        block_bytes = told[i];
        begin();
        opened(1 << 20, (size_t)1 << 20);
        offer("a", "text");
        while (settled_now() < 1)
            list_once();
        ck_assert_uint_eq(counts.kept, 1);
        ck_assert_uint_eq(counts.bytes, taken[i]);
        review_close(review);
        end();
    }
    block_bytes = 0;
}
END_TEST

START_TEST(a_directory_that_cannot_be_made_is_refused)
{
    const struct review_options options = {
        .state_dir = "/dev/null/state", .bytes_max = 7, .memory = &memory};
    struct err err = {0};
    ck_assert_int_eq(review_open(&review, &options, &err), ERR_UNUSABLE);
    ck_assert_ptr_nonnull(strstr(err.text, "state_dir /dev/null/state: "));
    ck_assert_ptr_null(review);
    review_close(NULL);
}
END_TEST

SUITE("review/review", an_input_is_listed_and_read_as_it_was_answered,
      review_drops_and_counts_inputs_without_memory, review_keeps_only_inputs_of_the_sample,
      review_writes_waiting_inputs_when_it_is_closed, threads_offer_while_others_list,
      a_file_takes_whole_blocks_of_a_disk_and_no_transfer_of_a_network,
      a_directory_that_cannot_be_made_is_refused)
