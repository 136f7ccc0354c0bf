/* Calls to a server that does wrong on purpose: requests that are repeated, how often, and requests
 * that are not. */
#include "engine/base/doc.h"
#include "tests/support/scripted_server.h"
#include "tests/support/suite.h"
#include "tools/batch/remote_call.h"

#include <stdio.h>
#include <string.h>

static struct scripted_server *scripted;
static struct remote_options options;
static struct remote_server server;
static struct connection connection;
static struct remote_reply reply;
static struct err err;
static atomic_bool stop;

static void begin(void)
{
    static char url[64];
    scripted = scripted_server_start();
    snprintf(url, sizeof url, "http://127.0.0.1:%u", scripted_server_port(scripted));
    options = (struct remote_options){.url = url, .pause_ms = 1, .stop = &stop};
    server = (struct remote_server){.options = &options};
    err = (struct err){0};
    ck_assert_int_eq(server_url_read(&server.url, url, "/predict", &err), ERR_OK);
    ck_assert_int_eq(server_url_resolve(&server.url, &err), ERR_OK);
    connection_init(&connection);
}

static void end(void)
{
    doc_free(reply.body);
    reply.body = NULL;
    connection_deinit(&connection);
    scripted_server_stop(scripted);
}

static enum err_code call(const char *deed)
{
    struct buffer body = {0};
    buffer_text(&body, deed);
    remote_call(&server, &connection, "/predict", &body, &reply, &err);
    buffer_deinit(&body);
    return err.code;
}

START_TEST(call_reads_an_answer)
{
    begin();
    ck_assert_int_eq(call("do-ok"), ERR_OK);
    ck_assert_uint_eq(reply.status, 200);
    ck_assert_str_eq(doc_as_string(doc_member(reply.body, "label")), "a");
    ck_assert_uint_eq(scripted_server_requests(scripted), 1);
    end();
}
END_TEST

START_TEST(call_is_repeated_until_the_server_is_ready)
{
    begin();
    ck_assert_msg(call("do-recover") == ERR_OK, "%s", err.text);
    ck_assert_uint_eq(reply.status, 200);
    ck_assert_uint_eq(scripted_server_requests(scripted), 3);
    end();
}
END_TEST

START_TEST(call_is_given_up_after_a_bounded_number_of_attempts)
{
    static const struct {
        const char *deed, *why;
    } rows[] = {{"do-503", "answers with status 503, after 8 attempts"},
                {"do-reject", "answers with status 429, after 8 attempts"},
                {"do-lose", "connection closed without an answer, after 8 attempts"},
                {"do-cut", "closed in the middle of the reply, after 8 attempts"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        begin();
        ck_assert_int_eq(call(rows[i].deed), ERR_IO);
        ck_assert_msg(strstr(err.text, rows[i].why) != NULL, "%s", err.text);
        ck_assert_uint_eq(scripted_server_requests(scripted), REMOTE_ATTEMPTS);
        end();
    }
}
END_TEST

START_TEST(call_that_was_refused_is_not_repeated)
{
    begin();
    ck_assert_int_eq(call("do-500"), ERR_OK);
    ck_assert_uint_eq(reply.status, 500);
    ck_assert_uint_eq(scripted_server_requests(scripted), 1);
    ck_assert_int_eq(remote_call_refused(&server, &reply, &err), ERR_UNUSABLE);
    ck_assert_ptr_nonnull(strstr(err.text, "answers with status 500"));
    end();
}
END_TEST

START_TEST(remote_call_ends_on_request)
{
    begin();
    atomic_store(&stop, true);
    ck_assert_int_eq(call("do-503"), ERR_IO);
    ck_assert_uint_eq(scripted_server_requests(scripted), 1);
    atomic_store(&stop, false);
    end();
}
END_TEST

START_TEST(remote_call_without_a_server_fails)
{
    begin();
    scripted_server_stop(scripted);
    ck_assert_int_eq(call("do-ok"), ERR_IO);
    ck_assert_ptr_nonnull(strstr(err.text, "after 8 attempts"));
    connection_deinit(&connection);
}
END_TEST

SUITE("remote_call", call_reads_an_answer, call_is_repeated_until_the_server_is_ready,
      call_is_given_up_after_a_bounded_number_of_attempts, call_that_was_refused_is_not_repeated,
      remote_call_ends_on_request, remote_call_without_a_server_fails)
