#include "tests/support/outcome.h"

#include "engine/base/doc.h"
#include "tests/support/contract.h"
#include "tests/support/server_process.h"

#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ARGUMENTS_MAX = 40 };

struct outcome *outcome_of(const char *program, const char *const *arguments)
{
    struct outcome *outcome = calloc(1, sizeof *outcome);
    ck_assert_ptr_nonnull(outcome);
    outcome->code = run_program(program, arguments, outcome->out, sizeof outcome->out,
                                outcome->errors, sizeof outcome->errors);
    return outcome;
}

void outcome_holds(const struct outcome *outcome, int code, const char *out, const char *errors)
{
    ck_assert_msg(outcome->code == code, "%d: %s", outcome->code, outcome->errors);
    ck_assert_msg(strstr(outcome->out, out) != NULL, "no '%s' in:\n%.3000s", out, outcome->out);
    ck_assert_msg(strstr(outcome->errors, errors) != NULL, "no '%s' in:\n%.3000s", errors,
                  outcome->errors);
}

void outcome_expect(struct outcome *outcome, int code, const char *out, const char *errors)
{
    outcome_holds(outcome, code, out, errors);
    free(outcome);
}

struct json_t *outcome_json(struct outcome *outcome)
{
    struct json_t *root;
    struct err err = {0};
    ck_assert_msg(outcome->code == 0, "%s", outcome->errors);
    ck_assert_msg(doc_parse(&root, outcome->out, strlen(outcome->out), &doc_limits_file, &err) ==
                      ERR_OK,
                  "%s", err.text);
    free(outcome);
    return root;
}

static int open_terminal(int *slave)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    ck_assert(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
    *slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
    ck_assert_int_ge(*slave, 0);
    return master;
}

int outcome_on_terminal(const char *program, const char *const *arguments, char *said)
{
    const char *argv[ARGUMENTS_MAX + 2];
    char path[600];
    int slave, master = open_terminal(&slave), status;
    size_t len = 0, count = 0;
    argv[count++] = built_program(program, path, sizeof path);
    while (*arguments != NULL && count <= ARGUMENTS_MAX)
        argv[count++] = *arguments++;
    argv[count] = NULL;
    pid_t pid = fork();
    if (pid == 0) {
        dup2(slave, STDERR_FILENO);
        dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDOUT_FILENO);
        execv(path, (char *const *)(uintptr_t)argv); /* execv changes none of them */
        _exit(127);
    }
    ck_assert_int_gt(pid, 0);
    close(slave);
    for (ssize_t got; (got = read(master, said + len, OUTCOME_BYTES - 1 - len)) > 0;)
        len += (size_t)got; /* EIO: nobody holds the other end any more */
    said[len] = '\0';
    close(master);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

double outcome_number(const struct json_t *root, const char *path)
{
    double value = NAN;
    ck_assert_msg(doc_as_number(contract_at(root, path), &value), "%s", path);
    return value;
}

void outcome_expect_number(const struct json_t *root, const char *path, double expected)
{
    double found = outcome_number(root, path);
    ck_assert_msg(fabs(found - expected) < 1e-8, "%s: %.9g instead of %.9g", path, found, expected);
}
