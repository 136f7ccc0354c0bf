#include "engine/base/file.h"
#include "loadtest/answer.h"
#include "loadtest/client.h"
#include "loadtest/options.h"
#include "loadtest/report.h"
#include "loadtest/tally.h"
#include "loadtest/workload.h"

#include "engine/base/clock.h"

#include <stdio.h>

enum { EXIT_EXPECTED = 0, EXIT_UNEXPECTED = 1, EXIT_USAGE = 2 };

static int complain(const struct err *err, int code)
{
    fprintf(stderr, "attnd-load: %s\n", err->text);
    return code;
}

/* A report that could not be written (full disk) is a failure. */
static int printed(int code)
{
    if (cli_printed())
        return code;
    fprintf(stderr, "attnd-load: standard output: cannot be written\n");
    return code == EXIT_EXPECTED ? EXIT_UNEXPECTED : code;
}

static int run(const struct options *options, struct workload *workload,
               const struct answer_book *book, struct tally *tally)
{
    struct err err = {0};
    if (client_run(options, workload, book, tally, &err))
        return complain(&err, err.code == ERR_UNUSABLE ? EXIT_USAGE : EXIT_UNEXPECTED);
    if (!options->json)
        report_text(tally, stdout);
    else if (report_json(tally, stdout, &err))
        return complain(&err, EXIT_UNEXPECTED);
    return tally->requests > 0 && tally->unaccepted == 0 ? EXIT_EXPECTED : EXIT_UNEXPECTED;
}

int main(int argc, char **argv)
{
    file_open_standard();
    struct options options;
    enum cli_action action;
    struct err err = {0};
    if (options_load(&options, &action, argc, argv, &err))
        return complain(&err, EXIT_USAGE);
    if (action == CLI_HELP)
        cli_help(&options_cli, stdout);
    if (action == CLI_VERSION)
        cli_print_version(&options_cli, stdout);
    if (action != CLI_RUN)
        return printed(EXIT_EXPECTED);
    struct workload *workload = NULL;
    struct answer_book *book = NULL;
    struct tally *tally = NULL;
    int code = EXIT_USAGE;
    if (workload_open(&workload, &options, &err) ||
        (options.expect != NULL &&
         answer_book_open(&book, options.expect, workload_items(workload), &err)) ||
        tally_open(&tally, &options, clock_now_ns(), &err))
        complain(&err, EXIT_USAGE);
    else
        code = run(&options, workload, book, tally);
    tally_close(tally);
    answer_book_close(book);
    workload_close(workload);
    return printed(code);
}
