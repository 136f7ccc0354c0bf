/* outcome.h - a program of the build directory run to its end, and what it left.
 *
 *     #define RUN(...) outcome_of("attnd-eval", (const char *[]){__VA_ARGS__, NULL})
 *     outcome_expect(RUN("--help"), 0, "--agree-min PERCENT", "");
 *     struct json_t *report = outcome_json(RUN("--model", dir, "--data", list, "--json"));
 *     outcome_expect_number(report, "run.accuracy", 1);
 *
 * Whatever is not as expected fails the test. Threads: one.
 */
#ifndef ATTND_TESTS_SUPPORT_OUTCOME_H
#define ATTND_TESTS_SUPPORT_OUTCOME_H

struct json_t;

enum { OUTCOME_BYTES = 65536 };

struct outcome {
    int code;
    char out[OUTCOME_BYTES], errors[OUTCOME_BYTES];
};

/* Yours to free. */
struct outcome *outcome_of(const char *program, const char *const *arguments);
/* Checks that it ended with this code, and that its outputs hold these texts. */
void outcome_holds(const struct outcome *outcome, int code, const char *out, const char *errors);
/* The same, and frees it. */
void outcome_expect(struct outcome *outcome, int code, const char *out, const char *errors);
/* Checks that it ended well and printed one JSON value, which the caller frees by doc_free. Frees
 * the outcome. */
struct json_t *outcome_json(struct outcome *outcome);

/* Runs a program whose standard error is a terminal. said: its output there, at most OUTCOME_BYTES.
 * Returns its exit code, -1 if a signal ended it. Standard output goes nowhere. */
int outcome_on_terminal(const char *program, const char *const *arguments, char *said);

/* The number at a path, in the form of contract_at; it is expected within 1e-8. */
double outcome_number(const struct json_t *root, const char *path);
void outcome_expect_number(const struct json_t *root, const char *path, double expected);

#endif
