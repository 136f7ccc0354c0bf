/* The placement of pools on made-up machines: the places, the rule that chose them, and machines on
 * which pools are not bound. */
#include "server/placement/placement.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>

static struct topology topology;
static struct placement placement;
static struct plan plan;

/* Machines of so many caches a node and cores a cache; second threads have the numbers behind all
 * first ones, as Linux numbers them. */
struct machine {
    unsigned nodes, caches, cores;
    bool has_second;
};

static void build(const struct machine *machine)
{
    const unsigned all = machine->nodes * machine->caches * machine->cores;
    topology.count = 0;
    for (unsigned cache = 0; cache < machine->nodes * machine->caches; cache++)
        for (unsigned second = 0; second <= machine->has_second; second++)
            for (unsigned i = 0; i < machine->cores; i++) {
                const unsigned core = cache * machine->cores + i;
                topology.cpus[topology.count++] =
                    (struct topology_cpu){.cpu = (unsigned short)(core + second * all),
                                          .core = (unsigned short)core,
                                          .cache = (unsigned short)(cache * machine->cores),
                                          .node = (unsigned short)(cache / machine->caches)};
            }
}

static enum err_code choose(unsigned quota, const char *word, unsigned workers, unsigned threads,
                            struct err *err)
{
    const struct config config = {
        .placement = word, .workers = workers, .threads_per_worker = threads};
    plan = plan_choose(quota, &config);
    return placement_choose(&placement, &plan, &topology, quota, &config, err);
}

static void choose_auto(const struct machine *machine)
{
    struct err err = {0};
    build(machine);
    ck_assert_int_eq(choose(topology.count, "auto", 0, 0, &err), ERR_OK);
}

static const struct topology_cpu *cpu_of(unsigned number)
{
    for (unsigned i = 0; i < topology.count; i++)
        if (topology.cpus[i].cpu == number)
            return &topology.cpus[i];
    ck_abort_msg("no processor %u", number);
}

static void expect(unsigned workers, unsigned threads, unsigned copies)
{
    ck_assert_uint_eq(plan.workers, workers);
    ck_assert_uint_eq(plan.threads_per_worker, threads);
    ck_assert_uint_eq(plan.copies, copies);
    ck_assert_uint_eq(placement.copies, copies);
    placement_free(&placement);
}

START_TEST(pools_are_as_many_cores_of_a_cache_as_fit)
{
    choose_auto(&(struct machine){.nodes = 1, .caches = 8, .cores = 8}); /* 64 cores of a chip */
    expect(8, 8, 1);
    choose_auto(&(struct machine){.nodes = 2, .caches = 12, .cores = 8}); /* 192 */
    expect(24, 8, 2);
    choose_auto(&(struct machine){.nodes = 2, .caches = 1, .cores = 32}); /* one cache a node */
    expect(8, 8, 2);
    choose_auto(&(struct machine){.nodes = 1, .caches = 4, .cores = 4});
    expect(4, 4, 1);
    choose_auto(&(struct machine){.nodes = 1, .caches = 1, .cores = 14}); /* 8 would leave six */
    expect(2, 7, 1);
    choose_auto(&(struct machine){.nodes = 2, .caches = 1, .cores = 26}); /* 3 x 8 of 26: 92 % */
    expect(10, 5, 2);
}
END_TEST

/* Rules for every machine: no pool has two threads of a core, two caches or two nodes, no processor
 * is given twice, at most a sixteenth of the cores is left over. */
START_TEST(no_pool_spans_caches_and_no_core_has_two_threads)
{
    for (unsigned nodes = 1; nodes <= 4; nodes++)
        for (unsigned caches = 1; caches <= 4; caches++)
            for (unsigned cores = 3; cores <= 40; cores++)
                for (int second = 0; second < 2; second++) {
                    const struct machine machine = {nodes, caches, cores, second};
                    bool is_taken[TOPOLOGY_CPUS_MAX] = {false};
                    choose_auto(&machine);
                    if (!placement.is_bound) {
                        ck_assert_uint_le(nodes * caches * cores, PLAN_POOL_MAX);
                        placement_free(&placement);
                        continue;
                    }
                    for (unsigned i = 0; i < plan.workers; i++) {
                        const struct placement_pool *pool = &placement.pools[i];
                        const struct topology_cpu *first = cpu_of(pool->cpus[0]);
                        ck_assert_uint_eq(placement.nodes[pool->copy], first->node);
                        for (unsigned t = 0; t < plan.threads_per_worker; t++) {
                            const struct topology_cpu *cpu = cpu_of(pool->cpus[t]);
                            ck_assert_uint_eq(cpu->cache, first->cache);
                            ck_assert_uint_eq(cpu->node, first->node);
                            ck_assert_uint_eq(cpu->cpu, cpu->core);
                            ck_assert(!is_taken[cpu->cpu]);
                            is_taken[cpu->cpu] = true;
                        }
                    }
                    ck_assert_uint_ge(plan.workers * plan.threads_per_worker * 16,
                                      nodes * caches * cores * 15);
                    ck_assert_uint_eq(plan.copies, nodes);
                    placement_free(&placement);
                }
}
END_TEST

/* A container that may use some processors of each of two nodes. */
START_TEST(a_cpuset_is_placed_as_it_is)
{
    struct err err = {0};
    build(&(struct machine){.nodes = 2, .caches = 1, .cores = 16});
    memmove(topology.cpus + 8, topology.cpus + 16, 4 * sizeof *topology.cpus);
    topology.count = 12; /* 0-7 and 16-19 */
    ck_assert_int_eq(choose(12, "auto", 0, 0, &err), ERR_OK);
    ck_assert_uint_eq(placement.pools[0].cpus[0], 0);
    ck_assert_uint_eq(placement.pools[2].cpus[0], 16);
    ck_assert_uint_eq(placement.pools[2].copy, 1);
    expect(3, 4, 2);
}
END_TEST

START_TEST(auto_binds_nothing_where_it_could_only_harm)
{
    struct err err = {0};
    static const struct {
        unsigned quota, workers, threads;
        const char *word;
    } cases[] = {
        {16, 0, 0, "auto"}, /* a CPU quota below the processors */
        {32, 2, 0, "auto"}, /* the operator's counts */
        {32, 0, 4, "auto"},
        {32, 0, 0, "off"},
    };
    build(&(struct machine){.nodes = 2, .caches = 1, .cores = 16});
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_int_eq(
            choose(cases[i].quota, cases[i].word, cases[i].workers, cases[i].threads, &err),
            ERR_OK);
        ck_assert(!placement.is_bound);
        ck_assert_ptr_null(placement.pools[0].cpus);
        ck_assert_uint_eq(placement.pools[0].copy, 0);
        ck_assert_uint_eq(plan.copies, 1);
        placement_free(&placement);
    }
    build(&(struct machine){.nodes = 1, .caches = 1, .cores = PLAN_POOL_MAX, .has_second = true});
    ck_assert_int_eq(choose(2 * PLAN_POOL_MAX, "auto", 0, 0, &err), ERR_OK);
    ck_assert(!placement.is_bound);
    placement_free(&placement);
    topology.count = 0;
    ck_assert_int_eq(choose(64, "on", 0, 0, &err), ERR_OK); /* nothing is known of them */
    ck_assert(!placement.is_bound);
    placement_free(&placement);
}
END_TEST

START_TEST(on_binds_the_counts_that_are_named)
{
    struct err err = {0};
    build(&(struct machine){.nodes = 1, .caches = 1, .cores = 2});
    ck_assert_int_eq(choose(2, "on", 2, 1, &err), ERR_OK);
    ck_assert_uint_eq(placement.pools[0].cpus[0], 0);
    ck_assert_uint_eq(placement.pools[1].cpus[0], 1);
    expect(2, 1, 1);
    ck_assert_int_eq(choose(2, "on", 0, 0, &err), ERR_OK);
    ck_assert_uint_eq(placement.pools[0].cpus[1], 1);
    expect(1, 2, 1);
    build(&(struct machine){.nodes = 2, .caches = 1, .cores = 2, .has_second = true});
    ck_assert_int_eq(choose(4, "on", 3, 2, &err), ERR_OK); /* second threads when cores are taken */
    static const unsigned short expected[] = {0, 1, 2, 3, 4, 5};
    ck_assert_mem_eq(placement.cpus, expected, sizeof expected);
    expect(3, 2, 2);
}
END_TEST

START_TEST(more_threads_than_processors_cannot_be_bound)
{
    struct err err = {0};
    build(&(struct machine){.nodes = 1, .caches = 1, .cores = 2});
    ck_assert_int_eq(choose(2, "on", 3, 1, &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "placement: 3 workers of 1 threads cannot each have a processor: 2 "
                               "may be used; lower workers or threads_per_worker, or say placement "
                               "off");
    placement_free(&placement);
}
END_TEST

SUITE("placement", pools_are_as_many_cores_of_a_cache_as_fit,
      no_pool_spans_caches_and_no_core_has_two_threads, a_cpuset_is_placed_as_it_is,
      auto_binds_nothing_where_it_could_only_harm, on_binds_the_counts_that_are_named,
      more_threads_than_processors_cannot_be_bound)
