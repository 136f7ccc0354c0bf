/* Files that somebody else may have made, given to the real attnd as FIFOs and as links to devices:
 * it says which one and what it is, and waits for none. */
#include "tests/support/contract.h"
#include "tests/support/server_process.h"
#include "tests/support/tempdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MODEL "--listen", "127.0.0.1:0", "--model", "logs=models/testlog-bert"

static struct tempdir dir;
static char fifo[128];

static void make_fifo(const char *name)
{
    snprintf(fifo, sizeof fifo, "%s/%s", dir.path, name);
    ck_assert_int_eq(mkfifo(fifo, 0600), 0);
}

START_TEST(options_that_name_a_fifo_are_refused)
{
    /* The FIFO takes the place of "". */
    static const char *const options[][4] = {
        {"--keys-file", ""},
        {"--audit-key-file", ""},
        {"--config", ""},
        {"--tls-cert-file", "", "--tls-key-file", "README.md"},
    };
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        char out[1024], errors[4096];
        const char *arguments[] = {MODEL, "--audit-dir", dir.path, NULL, NULL, NULL, NULL, NULL};
        tempdir_open(&dir);
        make_fifo("x");
        for (unsigned k = 0; k < 4 && options[i][k] != NULL; k++)
            arguments[6 + k] = options[i][k][0] != '\0' ? options[i][k] : fifo;
        int code = run_program("attnd", arguments, out, sizeof out, errors, sizeof errors);
        ck_assert_msg(code == 2 && strstr(errors, "is a FIFO; a regular file is needed") != NULL,
                      "%s: %d %s", options[i][0], code, errors);
        tempdir_close(&dir);
    }
}
END_TEST

START_TEST(a_roll_out_that_is_a_fifo_is_refused)
{
    char out[1024], errors[4096];
    tempdir_open(&dir);
    make_fifo("rollout.json");
    int code = run_program("attnd", (const char *[]){MODEL, "--state-dir", dir.path, NULL}, out,
                           sizeof out, errors, sizeof errors);
    ck_assert_msg(code == 2 && strstr(errors, "rollout.json: ") != NULL &&
                      strstr(errors, "is a FIFO; a regular file is needed") != NULL,
                  "%d %s", code, errors);
    tempdir_close(&dir);
}
END_TEST

/* The load is answered, and so is the next one; the server still stops. */
START_TEST(a_model_with_a_fifo_is_refused_and_the_next_load_is_not_held_up)
{
    struct server_process server;
    char path[128];
    tempdir_open(&dir);
    snprintf(path, sizeof path, "%s/v2", dir.path);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    make_fifo("v2/config.json");
    server_process_start(&server, (const char *[]){"--model", "logs=models/testlog-bert",
                                                   "--models-root", dir.path, NULL});
    for (unsigned i = 0; i < 2; i++) {
        struct reply reply = contract_ask(server.port, "POST", "/admin/models", "",
                                          "{\"name\":\"logs\",\"dir\":\"v2\"}");
        reply_expect_status(&reply, 422);
        ck_assert_msg(strstr(reply_text(&reply, "detail"), "config.json: is a FIFO") != NULL, "%s",
                      reply_text(&reply, "detail"));
        reply_free(&reply);
    }
    ck_assert_int_eq(server_process_stop(&server), 0);
    unlink(fifo);
    rmdir(path);
    tempdir_close(&dir);
}
END_TEST

SUITE("contract special files", options_that_name_a_fifo_are_refused,
      a_roll_out_that_is_a_fifo_is_refused,
      a_model_with_a_fifo_is_refused_and_the_next_load_is_not_held_up)
