/* Sockets that are listened at: their files, who may connect, what happens to the file of a process
 * that is gone, and what is taken over from who started this one. */
#include "server/http/listener.h"

#include "server/http/sockets.h"
#include "tests/support/http_client.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static struct tempdir dir;
static char place[96]; /* "unix:PATH" */
static const char *path = place + 5;

static void name_place(void)
{
    tempdir_open(&dir);
    snprintf(place, sizeof place, "unix:%s/admin.sock", dir.path);
}

static void open_place(struct listener *listener)
{
    struct err err = {0};
    ck_assert_msg(listener_open(listener, place, 0, &err) == ERR_OK, "%s", err.text);
}

static void expect_refused(const char *address, unsigned port, const char *text)
{
    struct listener listener;
    struct err err = {0};
    ck_assert_int_eq(listener_open(&listener, address, port, &err), ERR_IO);
    ck_assert_int_eq(listener.fd, -1);
    ck_assert_msg(strstr(err.text, text) != NULL, "%s", err.text);
    listener_close(&listener);
}

START_TEST(listener_of_tcp_gives_its_port_or_an_error)
{
    struct listener listener;
    struct err err = {0};
    ck_assert_int_eq(listener_open(&listener, "127.0.0.1", 0, &err), ERR_OK);
    ck_assert_uint_gt(listener.port, 0);
    ck_assert_str_eq(listener.address, "127.0.0.1");
    ck_assert(!listener_is_local(&listener));
    expect_refused("127.0.0.1", listener.port, "cannot be bound: Address already in use");
    expect_refused("nonsense", 0, "listen: not a numeric IPv4 or IPv6 address and port");
    listener_close(&listener);
    ck_assert_int_eq(listener.fd, -1);
}
END_TEST

START_TEST(a_socket_of_a_path_is_for_owner_and_group_whatever_the_umask_and_goes_with_the_listener)
{
    static const mode_t masks[] = {0, 022, 077, 0777};
    name_place();
    for (size_t i = 0; i < sizeof masks / sizeof masks[0]; i++) {
        struct listener listener;
        struct stat found;
        mode_t before = umask(masks[i]);
        open_place(&listener);
        umask(before);
        ck_assert_int_eq(stat(path, &found), 0);
        ck_assert_uint_eq(found.st_mode & 07777, 0660);
        ck_assert(S_ISSOCK(found.st_mode));
        ck_assert_uint_eq(listener.port, 0);
        ck_assert_str_eq(listener.address, place);
        ck_assert(listener_is_local(&listener));
        listener_close(&listener);
        ck_assert_int_eq(access(path, F_OK), -1);
    }
    tempdir_close(&dir);
}
END_TEST

START_TEST(the_socket_of_a_process_that_is_gone_is_replaced_and_of_one_that_lives_is_not)
{
    struct listener first, second;
    name_place();
    open_place(&first);
    expect_refused(place, 0, ": a process listens there");
    close(first.fd); /* as when a process is killed: the file stays */
    ck_assert_int_eq(access(path, F_OK), 0);
    open_place(&second);
    int fd = http_connect_path(path);
    ck_assert_int_ge(fd, 0);
    close(fd);
    listener_close(&second);
    tempdir_close(&dir);
}
END_TEST

START_TEST(listener_keeps_a_file_that_is_no_socket)
{
    name_place();
    tempdir_write(&dir, "admin.sock", "precious", 8);
    expect_refused(place, 0, "is there, and is no socket");
    ck_assert_int_eq(access(path, F_OK), 0);
    tempdir_close(&dir);
}
END_TEST

START_TEST(a_file_that_another_has_put_there_is_not_removed)
{
    struct listener first, second;
    name_place();
    open_place(&first);
    unlink(path);
    open_place(&second);
    listener_close(&first);
    ck_assert_int_eq(access(path, F_OK), 0);
    listener_close(&second);
    ck_assert_int_eq(access(path, F_OK), -1);
    tempdir_close(&dir);
}
END_TEST

START_TEST(a_path_that_cannot_be_is_refused)
{
    char longest[160] = "unix:/";
    memset(longest + 6, 'a', 120);
    expect_refused("unix:relative", 0, "needs an absolute path of at most 107 bytes");
    expect_refused("unix:", 0, "needs an absolute path");
    expect_refused(longest, 0, "needs an absolute path");
    expect_refused("unix:/nonexistent/admin.sock", 0, "/nonexistent/admin.sock: No such file");
}
END_TEST

START_TEST(a_check_finds_what_can_be_found_beside_a_living_server)
{
    struct listener living;
    struct err err = {0};
    char file[128];
    name_place();
    ck_assert_int_eq(listener_check("127.0.0.1", &err), ERR_OK);
    ck_assert_int_eq(listener_check("192.0.2.1", &err), ERR_UNUSABLE); /* RFC 5737: nobody's */
    ck_assert_str_eq(err.text, "listen: 192.0.2.1 is no address of this machine");
    err = (struct err){0};
    ck_assert_int_eq(listener_check(place, &err), ERR_OK);
    open_place(&living);
    ck_assert_int_eq(listener_check(place, &err), ERR_OK);
    ck_assert_int_eq(access(path, F_OK), 0);
    listener_close(&living);
    tempdir_write(&dir, "file", "", 0);
    snprintf(file, sizeof file, "unix:%s/file", dir.path);
    ck_assert_int_eq(listener_check(file, &err), ERR_UNUSABLE);
    ck_assert_ptr_nonnull(strstr(err.text, "is no socket"));
    err = (struct err){0};
    snprintf(file, sizeof file, "unix:%s/file/admin.sock", dir.path);
    ck_assert_int_eq(listener_check(file, &err), ERR_UNUSABLE);
    ck_assert_ptr_nonnull(strstr(err.text, "/file is no directory"));
    err = (struct err){0};
    ck_assert_int_eq(listener_check("unix:relative", &err), ERR_UNUSABLE);
    tempdir_close(&dir);
}
END_TEST

/* ---- refusing ---- */

START_TEST(listener_accepts_clients_from_before_a_refusal_and_none_after_it)
{
    struct listener listener;
    name_place();
    open_place(&listener);
    int early = http_connect_path(path);
    ck_assert_int_ge(early, 0);
    ck_assert(listener_refuse(&listener));
    ck_assert_int_eq(http_connect_path(path), -1);
    int accepted = accept4(listener.fd, NULL, NULL, SOCK_CLOEXEC);
    ck_assert_int_ge(accepted, 0);
    ck_assert_int_eq(accept4(listener.fd, NULL, NULL, SOCK_CLOEXEC), -1);
    close(accepted);
    close(early);
    listener_close(&listener);
    tempdir_close(&dir);
}
END_TEST

/* ---- inherited ---- */

START_TEST(an_inherited_socket_is_named_and_stays_open_for_the_next_process)
{
    struct listener mine, taken;
    struct err err = {0};
    ck_assert_int_eq(listener_open(&mine, "127.0.0.1", 0, &err), ERR_OK);
    int copy = fcntl(mine.fd, F_DUPFD, 0);
    ck_assert_int_eq(fcntl(copy, F_SETFL, fcntl(copy, F_GETFL) & ~O_NONBLOCK), 0);
    ck_assert_msg(listener_adopt(&taken, copy, &err) == ERR_OK, "%s", err.text);
    ck_assert_uint_eq(taken.port, mine.port);
    ck_assert_str_eq(taken.address, "127.0.0.1");
    ck_assert_int_ne(fcntl(copy, F_GETFL) & O_NONBLOCK, 0);
    ck_assert_int_ne(fcntl(copy, F_GETFD) & FD_CLOEXEC, 0);
    ck_assert(!listener_refuse(&taken));
    listener_close(&taken);
    int client = http_connect(mine.port); /* aborts if that is refused */
    int accepted = accept4(mine.fd, NULL, NULL, SOCK_CLOEXEC);
    ck_assert_int_ge(accepted, 0);
    close(accepted);
    close(client);
    listener_close(&mine);
}
END_TEST

START_TEST(the_file_of_an_inherited_socket_stays)
{
    struct listener mine, taken;
    struct err err = {0};
    name_place();
    open_place(&mine);
    ck_assert_int_eq(listener_adopt(&taken, fcntl(mine.fd, F_DUPFD_CLOEXEC, 0), &err), ERR_OK);
    ck_assert_str_eq(taken.address, place);
    ck_assert(listener_is_local(&taken));
    ck_assert(!listener_refuse(&taken));
    listener_close(&taken);
    int client = http_connect_path(path);
    ck_assert_int_ge(client, 0);
    close(client);
    listener_close(&mine);
    tempdir_close(&dir);
}
END_TEST

static void expect_not_adopted(int fd)
{
    struct listener listener;
    struct err err = {0};
    ck_assert_int_eq(listener_adopt(&listener, fd, &err), ERR_UNUSABLE);
    ck_assert_int_eq(listener.fd, -1);
    ck_assert_ptr_nonnull(strstr(err.text, "is no listening stream socket of TCP or of a path"));
}

START_TEST(listener_adopts_only_a_descriptor_that_listens)
{
    struct sockaddr_un nameless = {.sun_family = AF_UNIX};
    int pair[2];
    ck_assert_int_eq(pipe2(pair, O_CLOEXEC), 0);
    int tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int abstract = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(abstract, (struct sockaddr *)&nameless, sizeof(sa_family_t)), 0);
    ck_assert_int_eq(listen(abstract, 1), 0);
    const int wrong[] = {pair[0], tcp, udp, abstract, 1000};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        expect_not_adopted(wrong[i]);
    close(pair[0]); /* they are still the caller's */
    close(pair[1]);
    ck_assert_int_eq(close(tcp) + close(udp) + close(abstract), 0);
}
END_TEST

SUITE("listener", listener_of_tcp_gives_its_port_or_an_error,
      a_socket_of_a_path_is_for_owner_and_group_whatever_the_umask_and_goes_with_the_listener,
      the_socket_of_a_process_that_is_gone_is_replaced_and_of_one_that_lives_is_not,
      listener_keeps_a_file_that_is_no_socket, a_file_that_another_has_put_there_is_not_removed,
      a_path_that_cannot_be_is_refused, a_check_finds_what_can_be_found_beside_a_living_server,
      listener_accepts_clients_from_before_a_refusal_and_none_after_it,
      an_inherited_socket_is_named_and_stays_open_for_the_next_process,
      the_file_of_an_inherited_socket_stays, listener_adopts_only_a_descriptor_that_listens)
