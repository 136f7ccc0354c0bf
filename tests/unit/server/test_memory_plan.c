#include "server/bounds/memory.h"
#include "server/memory_plan.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

static const size_t gib = (size_t)1 << 30;

static const struct plan plan = {.workers = 2, .threads_per_worker = 3, .batch_tokens = 256, .copies = 1};
static struct config_model models[] = {
    {.name = "kernel-bert", .dir = "models/kernel-bert"},
    {.name = "wafer-vit", .dir = "models/wafer-vit", .dtype = "int8"}};

static struct config config_of(size_t memory_max)
{
    return (struct config){.models = models,
                           .model_count = 2,
                           .queue_limit = 1024,
                           .connections_max = 1000,
                           .memory_max = memory_max};
}

static struct memory_plan made(const struct config *config, const struct plan *threads)
{
    struct memory_plan out;
    struct err err = {0};
    ck_assert_msg(memory_plan_make(&out, config, threads, 5, &err) == ERR_OK, "%s", err.text);
    return out;
}

START_TEST(memory_plan_is_the_sum_of_its_items)
{
    struct config config = config_of(gib);
    struct memory_plan out = made(&config, &plan);
    size_t sum = 0;
    for (int i = 0; i < MEMORY_ITEMS; i++) {
        ck_assert_uint_gt(out.items[i], 0);
        sum += out.items[i];
    }
    ck_assert_uint_eq(out.fixed_bytes, sum);
    ck_assert_uint_eq(out.max_bytes, gib);
    ck_assert_str_eq(out.source, "memory_max");
}
END_TEST

START_TEST(memory_plan_grows_with_workers_connections_and_the_queue)
{
    struct config config = config_of(gib), larger = config_of(gib);
    const struct plan one = {.workers = 1, .threads_per_worker = 3, .batch_tokens = 256, .copies = 1};
    larger.connections_max *= 2;
    larger.queue_limit *= 2;
    struct memory_plan few = made(&config, &one), many = made(&larger, &plan);
    ck_assert_uint_eq(many.items[MEMORY_SESSIONS], 2 * few.items[MEMORY_SESSIONS]);
    ck_assert_uint_eq(many.items[MEMORY_CONNECTIONS], 2 * few.items[MEMORY_CONNECTIONS]);
    ck_assert_uint_eq(many.items[MEMORY_QUEUE], 2 * few.items[MEMORY_QUEUE]);
    ck_assert_uint_eq(many.items[MEMORY_MODELS], few.items[MEMORY_MODELS]);
    ck_assert_uint_gt(many.items[MEMORY_PROCESS], few.items[MEMORY_PROCESS]);
}
END_TEST

START_TEST(memory_plan_without_memory_max_asks_the_system)
{
    struct config config = config_of(0);
    config.connections_max = 2;
    struct memory_plan out = made(&config, &plan);
    ck_assert_str_ne(out.source, "memory_max");
    ck_assert_uint_gt(out.max_bytes, out.fixed_bytes);
}
END_TEST

START_TEST(memory_plan_that_does_not_fit_says_every_item_and_what_to_lower)
{
    static const char *const words[] = {"50000000 bytes (memory_max)",
                                        "process ",
                                        "(models)",
                                        "(workers, threads_per_worker",
                                        "connections_max",
                                        "queue_limit",
                                        "for requests"};
    struct config config = config_of(50 * 1000 * 1000);
    struct memory_plan out;
    struct err err = {0};
    ck_assert_int_eq(memory_plan_make(&out, &config, &plan, 5, &err), ERR_UNUSABLE);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        ck_assert_msg(strstr(err.text, words[i]) != NULL, "%s: %s", words[i], err.text);
}
END_TEST

START_TEST(memory_plan_leaves_something_for_requests_or_fails)
{
    struct config config = config_of(gib);
    size_t fixed = made(&config, &plan).fixed_bytes;
    struct memory_plan out;
    struct err err = {0};
    config.memory_max = fixed + MEMORY_REQUESTS_MIN;
    ck_assert_int_eq(memory_plan_make(&out, &config, &plan, 5, &err), ERR_OK);
    config.memory_max--;
    ck_assert_int_eq(memory_plan_make(&out, &config, &plan, 5, &err), ERR_UNUSABLE);
}
END_TEST

START_TEST(memory_plan_prints_a_table_that_adds_up)
{
    struct config config = config_of(gib);
    struct memory_plan out = made(&config, &plan);
    char *text = NULL;
    size_t len, sum = 0;
    FILE *file = open_memstream(&text, &len);
    memory_plan_print(&out, file);
    fclose(file);
    char *line = strchr(text, '\n');
    for (int i = 0; i < MEMORY_ITEMS + 1; i++, line = strchr(line + 1, '\n'))
        sum += strtoull(strchr(line, ' '), NULL, 10);
    ck_assert_uint_eq(sum, gib);
    ck_assert_ptr_nonnull(strstr(line, "1073741824  memory_max"));
    free(text);
}
END_TEST

SUITE("memory_plan", memory_plan_is_the_sum_of_its_items,
      memory_plan_grows_with_workers_connections_and_the_queue,
      memory_plan_without_memory_max_asks_the_system,
      memory_plan_that_does_not_fit_says_every_item_and_what_to_lower,
      memory_plan_leaves_something_for_requests_or_fails, memory_plan_prints_a_table_that_adds_up)
