#include "tests/support/samples_fixture.h"

#include "tests/support/suite.h"

void samples_fixture_open_with(struct samples_fixture *fixture, const char *dir, const char *data,
                               const struct samples_options *options)
{
    *fixture = (struct samples_fixture){0};
    struct err *err = &fixture->err;
    arena_init(&fixture->arena);
    ck_assert_msg(!spec_read(&fixture->spec, dir, &fixture->arena, err), "%s", err->text);
    struct dataset_options kind = {.kind = fixture->spec.family->kind};
    ck_assert_msg(!dataset_open(&fixture->dataset, data, &kind, err), "%s", err->text);
    ck_assert_msg(!engine_open(&fixture->model, dir, &(struct engine_options){0}, err), "%s",
                  err->text);
    samples_open(&fixture->samples, &fixture->dataset, &fixture->spec, dir, options, err);
}

void samples_fixture_open(struct samples_fixture *fixture, const char *dir, const char *data)
{
    samples_fixture_open_with(fixture, dir, data, &(struct samples_options){.threads = 2});
    ck_assert_msg(fixture->err.code == ERR_OK, "%s", fixture->err.text);
}

void samples_fixture_close(struct samples_fixture *fixture)
{
    samples_close(fixture->samples);
    dataset_close(&fixture->dataset);
    engine_close(fixture->model);
    arena_deinit(&fixture->arena);
}

struct engine_input samples_fixture_input(struct samples_fixture *fixture, size_t item,
                                          const struct samples_view *view, struct rng *rng)
{
    struct engine_input input;
    ck_assert_msg(
        !samples_input(fixture->samples, item, view, rng, &fixture->arena, &input, &fixture->err),
        "%s", fixture->err.text);
    return input;
}
