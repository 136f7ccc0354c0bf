/* machine.c - see machine.h. A peak is the best of several short timings: whatever else runs on the
 * machine can only take away from it. Each bandwidth is taken over half of its cache, so that the
 * loop's own data fits beside what others keep there; memory over at least four times the last
 * cache, each thread in its own part, as the engine streams weights. */
#include "tests/bench/machine.h"

#include "engine/base/cpu.h"
#include "engine/base/thread_pool.h"
#include "tests/bench/stopwatch.h"
#include "tests/bench/stream.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MEMORY_BYTES_MIN = 256 << 20, MEMORY_BYTES_MAX = 1 << 30, PEAK_ROUNDS = 200000 };

static const struct stopwatch_plan plan = {
    .budget_ms = 300, .timing_ms = 1, .timings_min = 7, .untimed = 1};

/* ---- peaks ---- */

static void run_alone(void *context)
{
    const struct peak_loop *loop = context;
    loop->run(PEAK_ROUNDS);
}

struct together {
    struct thread_pool *pool;
    const struct peak_loop *loop;
};

static void member(void *context, unsigned index, unsigned count)
{
    const struct together *together = context;
    (void)index, (void)count;
    together->loop->run(PEAK_ROUNDS);
}

static void run_together(void *context)
{
    struct together *together = context;
    thread_pool_run(together->pool, member, together);
}

static void measure_peak(struct machine *machine, enum peak_type type, struct thread_pool *pool)
{
    const struct peak_loop *loop = peak_best(type);
    if (loop == NULL)
        return;
    double giga = (double)loop->operations * PEAK_ROUNDS * 1e-9;
    struct peak_loop copy = *loop;
    struct together together = {pool, loop};
    struct stopwatch one = stopwatch_take(run_alone, &copy, plan);
    struct stopwatch all = stopwatch_take(run_together, &together, plan);
    machine->peak[type].name = loop->name;
    machine->peak[type].one = giga / one.minimum_ms * 1e3;
    machine->peak[type].all = giga / all.minimum_ms * 1e3 * thread_pool_size(pool);
}

/* ---- bandwidths ---- */

/* The first line of a file, without its end. */
static bool read_line(const char *path, char *out, size_t size)
{
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return false;
    bool ok = fgets(out, (int)size, file) != NULL;
    fclose(file);
    if (ok)
        out[strcspn(out, "\n")] = '\0';
    return ok;
}

struct sweep {
    void (*loop)(float *data, size_t bytes);
    struct thread_pool *pool; /* NULL: the calling thread alone */
    float *data;
    size_t bytes;
};

static void sweep_part(void *context, unsigned index, unsigned count)
{
    const struct sweep *sweep = context;
    size_t bytes = sweep->bytes / count / STREAM_STEP_BYTES * STREAM_STEP_BYTES;
    sweep->loop(sweep->data + index * (bytes / sizeof *sweep->data), bytes);
}

static void sweep_once(void *context)
{
    struct sweep *sweep = context;
    if (sweep->pool == NULL)
        sweep_part(sweep, 0, 1);
    else
        thread_pool_run(sweep->pool, sweep_part, sweep);
}

static double gigabytes_per_s(struct sweep *sweep)
{
    struct stopwatch time = stopwatch_take(sweep_once, sweep, plan);
    return (double)sweep->bytes * 1e-6 / time.minimum_ms;
}

static void measure_level(struct machine *machine, enum machine_level level, struct sweep sweep,
                          struct thread_pool *pool)
{
    const struct stream_loops *loops = stream_best();
    sweep.loop = loops->read;
    machine->level[level].read = gigabytes_per_s(&sweep);
    sweep.loop = loops->update;
    machine->level[level].update = 2 * gigabytes_per_s(&sweep);
    if (level != MACHINE_MEMORY)
        return;
    sweep.pool = pool;
    machine->level[level].update_all = 2 * gigabytes_per_s(&sweep);
    sweep.loop = loops->read;
    machine->level[level].read_all = gigabytes_per_s(&sweep);
}

/* Size of a cache of the first processor, as the kernel tells it in KiB: glibc counts the last
 * cache of some virtual machines many times over. If the kernel tells none, glibc's figure. */
static size_t cache_bytes(unsigned level)
{
    size_t kib = 0;
    for (unsigned index = 0; index < 5; index++) {
        char path[96], type[32] = "", words[32] = "";
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%u/level", index);
        if (!read_line(path, words, sizeof words) || strtoul(words, NULL, 10) != level)
            continue;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%u/type", index);
        if (!read_line(path, type, sizeof type) || strcmp(type, "Instruction") == 0)
            continue;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%u/size", index);
        if (read_line(path, words, sizeof words))
            kib = strtoul(words, NULL, 10);
    }
    static const int names[] = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE,
                                _SC_LEVEL3_CACHE_SIZE};
    const long bytes = sysconf(names[level - 1]);
    return kib > 0 ? kib * 1024 : bytes > 0 ? (size_t)bytes : 0;
}

static size_t memory_bytes(size_t last_cache)
{
    size_t bytes = last_cache < MEMORY_BYTES_MAX / 4 ? 4 * last_cache : MEMORY_BYTES_MAX;
    return bytes > MEMORY_BYTES_MIN ? bytes : MEMORY_BYTES_MIN;
}

static enum err_code measure_levels(struct machine *machine, struct thread_pool *pool,
                                    struct err *err)
{
    for (unsigned i = 0; i < MACHINE_MEMORY; i++)
        machine->level[i].bytes = cache_bytes(i + 1);
    size_t bytes = memory_bytes(machine->level[MACHINE_L3].bytes);
    float *data = aligned_alloc(64, bytes);
    if (data == NULL)
        return err_no_memory(err, bytes);
    memset(data, 0, bytes);
    for (unsigned i = 0; i < MACHINE_LEVELS; i++) {
        size_t part = i == MACHINE_MEMORY ? bytes : machine->level[i].bytes / 2;
        part = part / STREAM_STEP_BYTES * STREAM_STEP_BYTES;
        if (part > 0 && part <= bytes)
            measure_level(machine, i, (struct sweep){.data = data, .bytes = part}, pool);
    }
    free(data);
    return ERR_OK;
}

/* ---- the whole ---- */

static void read_cpu_name(char *out, size_t size)
{
    char line[256];
    snprintf(out, size, "unknown CPU");
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, "model name", 10) == 0 && strchr(line, ':') != NULL) {
            line[strcspn(line, "\n")] = '\0';
            snprintf(out, size, "%s", strchr(line, ':') + 2);
            break;
        }
    if (file != NULL)
        fclose(file);
}

enum err_code machine_measure(struct machine *out, unsigned threads, struct err *err)
{
    struct thread_pool *pool;
    *out = (struct machine){.threads = threads};
    read_cpu_name(out->cpu, sizeof out->cpu);
    if (getloadavg(&out->load, 1) != 1)
        out->load = 0;
    if (thread_pool_open(&pool, threads, err))
        return err->code;
    for (unsigned type = 0; type < PEAK_LOOPS; type++)
        measure_peak(out, type, pool);
    measure_levels(out, pool, err);
    thread_pool_close(pool);
    return err->code;
}

void machine_print(const struct machine *machine, FILE *file)
{
    static const char *const isas[] = {"sse2", "avx2", "avx512", "avx512-vnni"};
    fprintf(file, "## Machine\n%s, %s, %u threads, load average before: %.1f\n", machine->cpu,
            isas[cpu_level()], machine->threads, machine->load);
    for (unsigned type = 0; type < PEAK_LOOPS; type++)
        if (machine->peak[type].name != NULL)
            fprintf(file, "peak %-4s  %-15s %8.1f Gop/s a thread  %8.1f together\n",
                    peak_type_name(type), machine->peak[type].name, machine->peak[type].one,
                    machine->peak[type].all);
        else
            fprintf(file, "peak %-4s  no instruction for it\n", peak_type_name(type));
    for (unsigned i = 0; i < MACHINE_LEVELS; i++)
        fprintf(file, "%-6s %9zu KiB  read %7.1f GB/s  update in place %7.1f GB/s a thread\n",
                machine_level_name(i), machine->level[i].bytes / 1024, machine->level[i].read,
                machine->level[i].update);
    fprintf(file, "memory, all threads    read %7.1f GB/s  update in place %7.1f GB/s\n\n",
            machine->level[MACHINE_MEMORY].read_all, machine->level[MACHINE_MEMORY].update_all);
}

enum machine_level machine_level_of(const struct machine *machine, size_t bytes)
{
    unsigned level = MACHINE_L1;
    while (level < MACHINE_MEMORY && bytes > machine->level[level].bytes)
        level++;
    return level;
}

const char *machine_level_name(enum machine_level level)
{
    static const char *const names[] = {"L1", "L2", "L3", "memory"};
    return names[level];
}
