#include "tests/support/batch_fixture.h"

#include "engine/base/doc.h"
#include "tests/support/server_process.h"
#include "tests/support/suite.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ARGUMENTS_MAX = 24 };

static const char config[] =
    "{\"model_type\": \"bert\", \"hidden_size\": 16, \"num_hidden_layers\": 1, "
    "\"num_attention_heads\": 2, \"intermediate_size\": 24, \"vocab_size\": 40, "
    "\"max_position_embeddings\": 8, \"id2label\": {\"0\": \"open\", \"1\": \"short\", "
    "\"2\": \"leak\"}}";

/* Words of the model's vocabulary, w5 to w39, so that texts differ and lengths too. */
void batch_fixture_write_log(const struct batch_fixture *fixture, unsigned lines)
{
    FILE *file = fopen(fixture->log, "we");
    ck_assert_ptr_nonnull(file);
    for (unsigned i = 0; i < lines; i++) {
        for (unsigned w = 0; w <= i % 5; w++)
            fprintf(file, "w%u ", 5 + (i * 7 + w * 3) % 35);
        fputc('\n', file);
    }
    ck_assert_int_eq(fclose(file), 0);
}

void batch_fixture_open(struct batch_fixture *fixture, unsigned lines)
{
    checkpoint_writer_open(&fixture->model);
    checkpoint_writer_file(&fixture->model, "config.json", config);
    checkpoint_writer_bert(&fixture->model, 16, 1, 24, 40, 8, 3);
    checkpoint_writer_finish(&fixture->model);
    tempdir_open(&fixture->dir);
    snprintf(fixture->log, sizeof fixture->log, "%s/log.txt", fixture->dir.path);
    snprintf(fixture->out, sizeof fixture->out, "%s/out", fixture->dir.path);
    snprintf(fixture->state, sizeof fixture->state, "%s.state", fixture->out);
    batch_fixture_write_log(fixture, lines);
}

void batch_fixture_close(struct batch_fixture *fixture)
{
    tempdir_close(&fixture->dir);
    checkpoint_writer_close(&fixture->model);
}

pid_t batch_start(const struct batch_fixture *fixture, const char *const *more)
{
    char program[600];
    const char *argv[ARGUMENTS_MAX] = {built_program("attnd-batch", program, sizeof program),
                                       "--model",
                                       fixture->model.dir,
                                       "--lines",
                                       fixture->log,
                                       "--out",
                                       fixture->out};
    for (unsigned count = 7; *more != NULL && count < ARGUMENTS_MAX - 1; more++)
        argv[count++] = *more;
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid > 0)
        return pid;
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    execv(program, (char *const *)(uintptr_t)argv); /* execv changes none of them */
    _exit(127);
}

int batch_wait(pid_t pid, long *kilobytes)
{
    int status;
    struct rusage used;
    ck_assert_int_eq(wait4(pid, &status, 0, &used), pid);
    if (kilobytes != NULL)
        *kilobytes = used.ru_maxrss;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

unsigned batch_done(const struct batch_fixture *fixture)
{
    struct json_t *root;
    double done = 0;
    struct err err = {0};
    if (doc_parse_file(&root, fixture->state, 65536, &err) != ERR_OK)
        return 0;
    ck_assert(doc_as_number(doc_member(root, "done"), &done));
    doc_free(root);
    return (unsigned)done;
}
