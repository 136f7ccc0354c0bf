/* process.h - another program of the build, started beside the benchmark.
 *
 *     process_start(&server, "attnd", arguments, "build/bench/attnd.log", &err);
 *     process_line(&server, line, sizeof line, &err);
 *     process_stop(&server);
 *
 * Threads: one at a time.
 */
#ifndef ATTND_TESTS_BENCH_PROCESS_H
#define ATTND_TESTS_BENCH_PROCESS_H

#include "engine/base/err.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct process {
    pid_t pid;
    int output;        /* its standard output */
    uint64_t start_ns; /* just before exec */
    char name[64];
};

/* Starts `name` from the directory of this very program; arguments end with NULL and do not count
 * the name. Standard error goes to the file. ERR_IO. */
enum err_code process_start(struct process *out, const char *name, const char *const *arguments,
                            const char *error_file, struct err *err);

/* The first line that it prints, without its end. ERR_IO if it ends before. */
enum err_code process_line(struct process *process, char *out, size_t size, struct err *err);

/* Everything it prints until it ends; NUL-terminated, cut at size. ERR_IO if it fails. */
enum err_code process_output(struct process *process, char *out, size_t size, struct err *err);

/* Resident bytes now; 0 if unknown. */
size_t process_resident_bytes(const struct process *process);

/* SIGTERM, and waits for the end. Idempotent. */
void process_stop(struct process *process);

#endif
