/* ctrl_c.h, in a process of its own, which ends. */
#include "engine/cli/ctrl_c.h"
#include "tests/support/suite.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

START_TEST(the_first_signal_asks_and_the_second_ends)
{
    static const int signals[] = {SIGINT, SIGTERM};
    for (unsigned i = 0; i < 2; i++) {
        int status;
        pid_t pid = fork();
        if (pid == 0) {
            const atomic_bool *stop = ctrl_c_catch();
            if (atomic_load(stop))
                _exit(1);
            raise(signals[i]);
            if (!atomic_load(stop))
                _exit(2);
            raise(signals[i]);
            _exit(3);
        }
        ck_assert_int_gt(pid, 0);
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 128 + SIGINT);
    }
}
END_TEST

SUITE("ctrl_c", the_first_signal_asks_and_the_second_ends)
