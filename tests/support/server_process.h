/* server_process.h - starts the real attnd beside the test and stops it again.
 *
 *     struct server_process server;
 *     server_process_start(&server, (const char *[]){"--model", "a=models/kernel-bert", NULL});
 *     ... server.port ...
 *     ck_assert_int_eq(server_process_stop(&server), 0);
 */
#ifndef ATTND_TESTS_SUPPORT_SERVER_PROCESS_H
#define ATTND_TESTS_SUPPORT_SERVER_PROCESS_H

#include <sys/types.h>

struct server_process {
    pid_t pid;
    unsigned port;
    char ready_line[512];
};

/* The path of a program in the build directory that this test is in. */
const char *built_program(const char *name, char *out, size_t size);

/* Starts attnd on a free port and waits until it prints its ready line; aborts if it does not. Its
 * log goes to /dev/null unless ATTND_TEST_LOG is set. ATTND_TEST_BACKEND names a linear backend. */
void server_process_start(struct server_process *server, const char *const *arguments);

/* Sockets that the program inherits as from systemd, and where its log goes. */
struct server_launch {
    const int *sockets; /* [count]; become its descriptors from 3 on */
    int count;
    const char *names; /* "attnd:admin"; NULL: they have none */
    const char *log;   /* a file; NULL: as server_process_start does */
};
void server_process_launch(struct server_process *server, const char *const *arguments,
                           const struct server_launch *launch);
/* The same for a start that may fail: then the ready line is "" and the port 0. */
void server_process_try(struct server_process *server, const char *const *arguments,
                        const struct server_launch *launch);

/* SIGTERM, then the exit code (-1 if it was killed by a signal). */
int server_process_stop(struct server_process *server);

/* Waits for a server that was told to stop; its exit code. */
int server_process_wait(struct server_process *server);

/* Runs a program of the build directory to its end: exit code, and what it printed. */
int run_program(const char *name, const char *const *arguments, char *out, size_t out_size,
                char *errors, size_t errors_size);

#endif
