/* The lines that attnd-vocab shows while it reads, and its options. They come from the source of
 * the program, whose functions nobody else can call, by a clock of the test's own. Whole runs are
 * test_vocab.c's. */
#define main vocab_main
int vocab_main(int argc, char **argv);
#include "tools/vocab.c"
#undef main

#include "tests/support/log_capture.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <sys/syscall.h>
#include <time.h>

static uint64_t ms_now; /* 0: the machine's */

/* Instead of the C library's. */
int clock_gettime(clockid_t id, struct timespec *out);

int clock_gettime(clockid_t id, struct timespec *out)
{
    if (id != CLOCK_MONOTONIC || ms_now == 0)
        return (int)syscall(SYS_clock_gettime, id, out);
    *out = (struct timespec){.tv_sec = (time_t)(ms_now / 1000) - CLOCK_AHEAD_S,
                             .tv_nsec = (long)(ms_now % 1000) * 1000000};
    return 0;
}

/* ---- progress ---- */

/* A terminal that was written to at that time. */
static struct screen watched(uint64_t ms)
{
    return (struct screen){
        .is_terminal = true, .terminal_ms = SCREEN_MS, .shown_ns = ms * CLOCK_NS_PER_MS};
}

START_TEST(progress_overwrites_itself_five_times_a_second)
{
    struct vocab vocab = {.screen = watched(1000), .size = 900};
    log_capture_start();
    for (ms_now = 1001; ms_now <= 1601; ms_now++)
        show_pieces(&vocab, ms_now);
    ms_now = 0;
    ck_assert_str_eq(log_capture_end(), "\r\033[K1200 of 900 pieces\r\033[K1400 of 900 pieces"
                                        "\r\033[K1600 of 900 pieces");
    vocab.screen.is_terminal = false;
    log_capture_start();
    show_pieces(&vocab, 5);
    ck_assert_str_eq(log_capture_end(), "");
}
END_TEST

/* A text takes 150 ms; the one that begins with 'x' cannot be used, with '!' nothing can. */
static enum err_code take(void *target, const char *text, size_t len, struct err *err)
{
    unsigned *taken = target;
    ms_now += 150;
    if (text[0] == 'x')
        return err_set(err, ERR_UNUSABLE, "bad");
    if (text[0] == '!')
        return err_set(err, ERR_IO, "worse");
    *taken += (unsigned)len;
    return ERR_OK;
}

static enum err_code take_all(struct vocab *vocab, const char *const *texts, size_t count,
                              unsigned *taken, struct err *err)
{
    struct dataset_item items[8] = {{0}};
    static const char *const names[] = {"line 1", "line 2", "line 3", "line 4",
                                        "line 5", "line 6", "line 7", "line 8"};
    struct dataset dataset = {.items = items, .count = count};
    for (size_t i = 0; i < count; i++)
        items[i] = (struct dataset_item){
            .name = names[i], .input = texts[i], .input_len = strlen(texts[i])};
    ms_now = 1000;
    enum err_code code = take_items(vocab, &dataset, "some.log", take, taken, err);
    ms_now = 0;
    return code;
}

START_TEST(texts_are_counted_as_they_are_read)
{
    static const char *const texts[] = {"a", "bb", "ccc", "dddd", "e"};
    struct vocab vocab = {.screen = watched(1000)};
    struct err err = {0};
    unsigned taken = 0;
    log_capture_start();
    ck_assert_int_eq(take_all(&vocab, texts, 5, &taken, &err), ERR_OK);
    ck_assert_str_eq(log_capture_end(),
                     "\r\033[Ksome.log: 2 of 5 texts\r\033[Ksome.log: 4 of 5 texts");
    ck_assert(vocab.used == 5 && vocab.unusable == 0 && taken == 11);
}
END_TEST

START_TEST(five_texts_that_cannot_be_used_are_named)
{
    static const char *const texts[] = {"x", "a", "x", "x", "x", "x", "x", "b"};
    char want[1024] = "";
    struct vocab vocab = {0};
    struct err err = {0};
    unsigned taken = 0;
    static const unsigned lines[] = {1, 3, 4, 5, 6};
    for (unsigned i = 0; i < 5; i++)
        snprintf(want + strlen(want), 128,
                 "attnd-vocab: some.log: line %u: bad; it is left out%s\n", lines[i],
                 i == 4 ? ", as more may be" : "");
    log_capture_start();
    ck_assert_int_eq(take_all(&vocab, texts, 8, &taken, &err), ERR_OK);
    ck_assert_str_eq(log_capture_end(), want);
    ck_assert(vocab.used == 2 && vocab.unusable == 6 && err.code == ERR_OK);
    vocab = (struct vocab){.screen = watched(9000)};
    log_capture_start(); /* the text on the line is removed first */
    take_all(&vocab, texts, 1, &taken, &err);
    ck_assert_str_eq(log_capture_end(),
                     "\r\033[Kattnd-vocab: some.log: line 1: bad; it is left out\n");
}
END_TEST

START_TEST(vocab_ends_at_any_other_failure)
{
    static const char *const texts[] = {"a", "!", "b"};
    struct vocab vocab = {0};
    struct err err = {0};
    unsigned taken = 0;
    ck_assert_int_eq(take_all(&vocab, texts, 3, &taken, &err), ERR_IO);
    ck_assert_str_eq(err.text, "some.log: line 2: worse");
    ck_assert(vocab.used == 1 && taken == 1);
}
END_TEST

/* ---- what is read ---- */

START_TEST(vocab_reads_each_file_and_ends_at_the_first_unreadable_one)
{
    struct tempdir dir;
    char one[96], two[96];
    unsigned taken = 0;
    struct err err = {0};
    tempdir_open(&dir);
    tempdir_write(&dir, "one.txt", "a\n\nbb\n", 6);
    tempdir_write(&dir, "two.csv", "note,label\nccc,\nx,\n", 19);
    snprintf(one, sizeof one, "%s/one.txt", dir.path);
    snprintf(two, sizeof two, "%s/two.csv", dir.path);
    struct vocab vocab = {.data = {one, two}, .data_count = 2, .fields = {.text_field = "note"}};
    log_capture_start();
    ck_assert_msg(!read_data(&vocab, take, &taken, &err), "%s", err.text);
    ck_assert_ptr_nonnull(strstr(log_capture_end(), "two.csv: line 3: bad; it is left out\n"));
    ck_assert(vocab.used == 3 && vocab.unusable == 1 && taken == 6);
    vocab = (struct vocab){.data = {"/no/where.txt", one}, .data_count = 2};
    taken = 0;
    ck_assert_int_eq(read_data(&vocab, take, &taken, &err), ERR_IO);
    ck_assert(taken == 0 && vocab.used == 0);
    ms_now = 0;
    tempdir_close(&dir);
}
END_TEST

/* ---- options ---- */

static const struct cli_option *option_of(const struct cli *cli, const char *name)
{
    for (size_t i = 0; i < cli->option_count; i++)
        if (strcmp(cli->options[i].name, name) == 0)
            return &cli->options[i];
    ck_abort_msg("no --%s", name);
    return NULL;
}

static enum err_code set(const struct cli *cli, const char *name, struct vocab *vocab,
                         const char *value)
{
    struct err err = {0};
    return cli_option_set(option_of(cli, name), vocab, value, &err);
}

START_TEST(vocab_takes_a_limited_number_of_files)
{
    struct vocab *vocab = calloc(1, sizeof *vocab);
    const struct cli_option *data = option_of(&build_cli, "data");
    struct err err = {0};
    for (unsigned i = 0; i < DATA_MAX; i++)
        ck_assert_int_eq(cli_option_set(data, vocab, "a.txt", &err), ERR_OK);
    ck_assert_int_eq(build_cli.positional(NULL, vocab, "a.txt", &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "more than 4096 files");
    ck_assert_uint_eq(vocab->data_count, DATA_MAX);
    free(vocab);
}
END_TEST

START_TEST(each_option_has_its_field_and_bounds)
{
    struct vocab *vocab = calloc(1, sizeof *vocab);
    static const struct {
        const struct cli *cli;
        const char *name, *low, *below, *high, *above;
        size_t offset;
    } rows[] = {
        {&build_cli, "size", "200", "199", "1048576", "1048577", offsetof(struct vocab, size)},
        {&build_cli, "pair-min", "1", "0", "1000000000", "1000000001",
         offsetof(struct vocab, pair_min)},
        {&build_cli, "character-min", "1", "0", "1000000000", "1000000001",
         offsetof(struct vocab, character_min)},
        {&trim_cli, "keep-min", "1", "0", "1000000000", "1000000001",
         offsetof(struct vocab, keep_min)},
    };
    for (size_t i = 0; i < 4; i++) {
        unsigned value;
        ck_assert_int_eq(set(rows[i].cli, rows[i].name, vocab, rows[i].low), ERR_OK);
        ck_assert_int_eq(set(rows[i].cli, rows[i].name, vocab, rows[i].high), ERR_OK);
        ck_assert_int_eq(set(rows[i].cli, rows[i].name, vocab, rows[i].below), ERR_UNUSABLE);
        ck_assert_int_eq(set(rows[i].cli, rows[i].name, vocab, rows[i].above), ERR_UNUSABLE);
        memcpy(&value, (const char *)vocab + rows[i].offset, sizeof value);
        ck_assert_uint_eq(value, (unsigned)strtoul(rows[i].high, NULL, 10));
    }
    ck_assert(!set(&build_cli, "out", vocab, "o") && !set(&trim_cli, "model", vocab, "./m"));
    ck_assert(!set(&build_cli, "text-field", vocab, "t"));
    ck_assert_str_eq(vocab->output, "o");
    ck_assert_str_eq(vocab->dir, "./m");
    ck_assert_str_eq(vocab->fields.text_field, "t");
    ck_assert(!vocab->cased && !vocab->without_numbers);
    ck_assert(!set(&build_cli, "cased", vocab, NULL) && vocab->cased && !vocab->without_numbers);
    ck_assert(!set(&trim_cli, "without-numbers", vocab, NULL) && vocab->without_numbers);
    free(vocab);
}
END_TEST

START_TEST(vocab_options_have_defaults)
{
    struct vocab vocab = {0};
    struct err err = {0};
    cli_option_set_fallbacks(build_options, build_cli.option_count, &vocab, &err);
    cli_option_set_fallbacks(trim_options, trim_cli.option_count, &vocab, &err);
    ck_assert_uint_eq(vocab.pair_min, 2);
    ck_assert_uint_eq(vocab.character_min, 10);
    ck_assert_uint_eq(vocab.keep_min, 1);
    ck_assert_str_eq(vocab.fields.text_field, "text");
}
END_TEST

SUITE("vocab_screen", progress_overwrites_itself_five_times_a_second,
      texts_are_counted_as_they_are_read, five_texts_that_cannot_be_used_are_named,
      vocab_ends_at_any_other_failure, vocab_reads_each_file_and_ends_at_the_first_unreadable_one,
      vocab_takes_a_limited_number_of_files, each_option_has_its_field_and_bounds,
      vocab_options_have_defaults)
