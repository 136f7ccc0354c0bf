#include "tests/support/outcome.h"

#include "engine/base/json.h"
#include "tests/support/contract.h"
#include "tests/support/server_process.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct outcome *outcome_of(const char *program, const char *const *arguments)
{
    struct outcome *outcome = calloc(1, sizeof *outcome);
    ck_assert_ptr_nonnull(outcome);
    outcome->code = run_program(program, arguments, outcome->out, sizeof outcome->out,
                                outcome->errors, sizeof outcome->errors);
    return outcome;
}

void outcome_expect(struct outcome *outcome, int code, const char *out, const char *errors)
{
    ck_assert_msg(outcome->code == code, "%d: %s", outcome->code, outcome->errors);
    ck_assert_msg(strstr(outcome->out, out) != NULL, "no '%s' in:\n%.3000s", out, outcome->out);
    ck_assert_msg(strstr(outcome->errors, errors) != NULL, "no '%s' in:\n%.3000s", errors,
                  outcome->errors);
    free(outcome);
}

struct json_t *outcome_json(struct outcome *outcome)
{
    struct json_t *root;
    struct err err = {0};
    ck_assert_msg(outcome->code == 0, "%s", outcome->errors);
    ck_assert_msg(json_parse(&root, outcome->out, strlen(outcome->out), &json_limits_file, &err) ==
                      ERR_OK,
                  "%s", err.text);
    free(outcome);
    return root;
}

double outcome_number(const struct json_t *root, const char *path)
{
    double value = NAN;
    ck_assert_msg(json_as_number(contract_at(root, path), &value), "%s", path);
    return value;
}

void outcome_expect_number(const struct json_t *root, const char *path, double expected)
{
    double found = outcome_number(root, path);
    ck_assert_msg(fabs(found - expected) < 1e-8, "%s: %.9g instead of %.9g", path, found, expected);
}
