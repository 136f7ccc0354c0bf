/* Every program notices when its output is not taken, however long it is: stdio may have lost it
 * long before the last flush, which then has nothing to do. */
#include "tests/support/server_process.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

START_TEST(programs_end_with_1_if_output_cannot_be_written)
{
    static const char *const programs[] = {
        "attnd",         "attnd-audit", "attnd-eval",   "attnd-inspect", "attnd-load",
        "attnd-predict", "attnd-train", "attnd-vocab",  "attnd-fit",     "attnd-prune",
        "attnd-batch",   "attnd-keys",  "attnd-stream", "attnd-index"};
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++)
        for (unsigned version = 0; version < 2; version++) {
            char path[600], command[700];
            built_program(programs[i], path, sizeof path);
            if (access(path, X_OK) != 0 && strcmp(programs[i], "attnd-stream") == 0)
                continue; /* built without librdkafka */
            snprintf(command, sizeof command, "%s --%s >/dev/full 2>/dev/null", path,
                     version ? "version" : "help");
            int status = system(command);
            ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 1, "%s: %d", command, status);
        }
}
END_TEST

SUITE("full_output", programs_end_with_1_if_output_cannot_be_written)
