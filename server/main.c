#include "config/config_load.h"
#include "config/config_print.h"
#include "engine/base/err.h"
#include "engine/base/file.h"
#include "engine/base/openblas.h"
#include "server/observe/log.h"
#include "server/server.h"

#include <stdio.h>
#include <unistd.h>

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_UNUSABLE = 2 };

static int fail(const struct err *err)
{
    fprintf(stderr, "attnd: %s\n", err->text);
    return err->code == ERR_UNUSABLE ? EXIT_UNUSABLE : EXIT_FAILED;
}

static int act(const struct config *config, enum config_action action,
               const struct reload_source *source, struct err *err)
{
    switch (action) {
    case CONFIG_HELP:
        config_help(stdout);
        return EXIT_OK;
    case CONFIG_VERSION:
        puts("attnd " ATTND_VERSION);
        return EXIT_OK;
    case CONFIG_PRINT:
        config_print(config, stdout);
        return EXIT_OK;
    case CONFIG_CHECK:
        return server_check(config, stdout, err) == ERR_OK ? EXIT_OK : fail(err);
    case CONFIG_SERVE:
        break;
    }
    return server_run(config, source, stdout, err) == ERR_OK ? EXIT_OK : fail(err);
}

int main(int argc, char **argv)
{
    file_open_standard();
    openblas_set_environment();
    struct err err = {0};
    struct config config;
    enum config_action action;
    if (config_load(&config, &action, argc, argv, environ, &err)) {
        if (action == CONFIG_SERVE) /* for who collects the log; the text is for who reads it */
            log_event(LOG_ERROR, "stopped", LOG_TEXT("result", err_name(err.code)),
                      LOG_TEXT("reason", err.text));
        return fail(&err);
    }
    const struct reload_source source = {.argc = argc, .argv = argv, .environment = environ};
    int code = act(&config, action, &source, &err);
    config_deinit(&config);
    /* Also of what went out before. Who serves says in the log that it is ready, too. */
    if ((fflush(stdout) != 0 || ferror(stdout)) && code == EXIT_OK && action != CONFIG_SERVE) {
        err_set(&err, ERR_IO, "standard output: cannot be written");
        code = fail(&err);
    }
    return code;
}
