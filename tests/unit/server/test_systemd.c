/* Messages to a service manager, over sockets of the test's own: by the functions, and by the
 * program. */
#include "server/systemd.h"
#include "tests/support/server_process.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static struct tempdir dir;
static char name[96];

/* A socket of the manager's, at a path or, with '@', at an abstract name. */
static int listen_at(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
    if (path[0] == '@')
        address.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, len), 0);
    setenv("NOTIFY_SOCKET", path, 1);
    return fd;
}

/* The next message; "": none comes. */
static const char *told(int fd)
{
    static char message[256];
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    ssize_t len =
        poll(&wait, 1, suite_patience_ms()) == 1 ? recv(fd, message, sizeof message - 1, 0) : 0;
    message[len > 0 ? len : 0] = '\0';
    return message;
}

START_TEST(a_state_goes_to_a_path_or_an_abstract_name)
{
    tempdir_open(&dir);
    snprintf(name, sizeof name, "%s/notify", dir.path);
    int fd = listen_at(name);
    systemd_notify("READY=1");
    ck_assert_str_eq(told(fd), "READY=1");
    close(fd);
    snprintf(name, sizeof name, "@attnd-test-%d", getpid());
    fd = listen_at(name);
    systemd_notify("STOPPING=1");
    ck_assert_str_eq(told(fd), "STOPPING=1");
    close(fd);
    tempdir_close(&dir);
}
END_TEST

START_TEST(systemd_without_a_reachable_socket_is_told_nothing)
{
    static char longest[200];
    memset(longest, '/', sizeof longest - 1);
    const char *const names[] = {"", "@", "relative", "/nonexistent/socket", longest, NULL};
    unsetenv("NOTIFY_SOCKET");
    systemd_notify("READY=1");
    for (size_t i = 0; names[i] != NULL; i++) {
        setenv("NOTIFY_SOCKET", names[i], 1);
        systemd_notify("READY=1");
    }
}
END_TEST

START_TEST(systemd_watchdog_is_told_twice_in_its_time_if_it_names_this_process)
{
    static const struct {
        const char *us;
        bool is_ours;
        unsigned ms;
    } cases[] = {{NULL, true, 0},        {"60000000", true, 30000},
                 {"60000000", false, 0}, {"x", true, 0},
                 {"1000x", true, 0},     {"0", true, 0},
                 {"1000", true, 1},      {"99999999999999999", true, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char pid[32];
        snprintf(pid, sizeof pid, "%d", cases[i].is_ours ? getpid() : getpid() + 1);
        setenv("WATCHDOG_PID", pid, 1);
        unsetenv("WATCHDOG_USEC");
        if (cases[i].us != NULL)
            setenv("WATCHDOG_USEC", cases[i].us, 1);
        ck_assert_uint_eq(systemd_watchdog_ms(), cases[i].ms);
    }
    unsetenv("WATCHDOG_PID");
    setenv("WATCHDOG_USEC", "2000000", 1);
    ck_assert_uint_eq(systemd_watchdog_ms(), 1000);
    unsetenv("WATCHDOG_USEC");
}
END_TEST

START_TEST(the_program_tells_that_it_is_ready_alive_and_stopping)
{
    struct server_process server;
    snprintf(name, sizeof name, "@attnd-test-%d", getpid());
    int fd = listen_at(name);
    setenv("WATCHDOG_USEC", "100000", 1);
    unsetenv("WATCHDOG_PID");
    server_process_start(&server,
                         (const char *[]){"--model", "text=tests/data/golden/bert-3", NULL});
    ck_assert_str_eq(told(fd), "READY=1");
    for (unsigned i = 0; i < 3; i++)
        ck_assert_str_eq(told(fd), "WATCHDOG=1");
    kill(server.pid, SIGTERM);
    const char *last = told(fd); /* at once: only so many messages wait */
    while (strcmp(last, "WATCHDOG=1") == 0)
        last = told(fd);
    ck_assert_str_eq(last, "STOPPING=1");
    ck_assert_int_eq(server_process_wait(&server), 0);
    close(fd);
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
}
END_TEST

START_TEST(sockets_are_taken_by_their_names_and_one_too_many_is_refused)
{
    static const struct {
        const char *count, *names;
        bool is_ours;
        int main, admin; /* -1: refused */
    } cases[] = {
        {NULL, NULL, true, 0, 0},          {"0", NULL, true, 0, 0},
        {"1", NULL, true, 3, 0},           {"1", "attnd.socket", true, 3, 0},
        {"1", "attnd", true, 3, 0},        {"1", "admin", true, 0, 3},
        {"1", "attnd", false, 0, 0},       {"2", "attnd:admin", true, 3, 4},
        {"2", "admin:attnd", true, 4, 3},  {"2", "admin:any", true, 4, 3},
        {"2", "any:admin", true, 3, 4},    {"2", ":admin", true, 3, 4},
        {"2", "any:attnd", true, -1, 0},   {"2", "attnd:attnd", true, -1, 0},
        {"2", "admin:admin", true, -1, 0}, {"2", "adminx:attndx", true, -1, 0},
        {"2", NULL, true, -1, 0},          {"3", "attnd:admin:any", true, -1, 0},
        {"17", NULL, true, -1, 0},         {"-1", NULL, true, -1, 0},
        {"", NULL, true, -1, 0},           {"1x", NULL, true, -1, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct systemd_sockets sockets;
        struct err err = {0};
        char pid[32];
        snprintf(pid, sizeof pid, "%d", cases[i].is_ours ? getpid() : getpid() + 1);
        setenv("LISTEN_PID", pid, 1);
        unsetenv("LISTEN_FDS");
        unsetenv("LISTEN_FDNAMES");
        if (cases[i].count != NULL)
            setenv("LISTEN_FDS", cases[i].count, 1);
        if (cases[i].names != NULL)
            setenv("LISTEN_FDNAMES", cases[i].names, 1);
        enum err_code code = systemd_inherit(&sockets, &err);
        ck_assert_msg(code == (cases[i].main < 0 ? ERR_UNUSABLE : ERR_OK), "%zu: %s", i, err.text);
        ck_assert_msg(code != ERR_OK ||
                          (sockets.main == cases[i].main && sockets.admin == cases[i].admin),
                      "%zu: %d %d", i, sockets.main, sockets.admin);
    }
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
}
END_TEST

SUITE("systemd", sockets_are_taken_by_their_names_and_one_too_many_is_refused,
      a_state_goes_to_a_path_or_an_abstract_name,
      systemd_without_a_reachable_socket_is_told_nothing,
      systemd_watchdog_is_told_twice_in_its_time_if_it_names_this_process,
      the_program_tells_that_it_is_ready_alive_and_stopping)
