/* attnd-predict as a program, in the form that people read. The scores of the tiny model are exact:
 * its classifier reads nothing, so that logits are its biases. */
#include "engine/base/doc.h"
#include "engine/engine.h"
#include "tests/support/checkpoint_writer.h"
#include "tests/support/contract.h"
#include "tests/support/outcome.h"
#include "tests/support/server_process.h"
#include "tests/support/sources.h"
#include "tests/support/stdf_writer.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"
#include "tests/support/writing_fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define RUN(...) outcome_of("attnd-predict", (const char *[]){__VA_ARGS__, NULL})

enum { HIDDEN = 16, LABELS = 4 };

static const char config[] =
    "{\"model_type\": \"bert\", \"hidden_size\": 16, \"num_hidden_layers\": 1, "
    "\"num_attention_heads\": 2, \"intermediate_size\": 24, \"vocab_size\": 40, "
    "\"max_position_embeddings\": 8, \"id2label\": {\"0\": \"none\", \"1\": \"a longer label\", "
    "\"2\": \"never\", \"3\": \"d\"}}";

static struct checkpoint_writer writer;

static void write_model(const char *attnd_json, const float biases[LABELS])
{
    checkpoint_writer_open(&writer);
    checkpoint_writer_file(&writer, "config.json", config);
    if (attnd_json != NULL)
        checkpoint_writer_file(&writer, "attnd.json", attnd_json);
    checkpoint_writer_bert(&writer, HIDDEN, 1, 24, 40, 8, LABELS);
    float *bias = writer.data + writer.count - LABELS;
    memset(bias - LABELS * HIDDEN, 0, LABELS * HIDDEN * sizeof *bias);
    memcpy(bias, biases, LABELS * sizeof *bias);
    checkpoint_writer_finish(&writer);
}

/* The energy of four logits that are 0 is -log 4 = -1.386294361. */
START_TEST(predict_prints_scores_with_bars)
{
    static const char want[] = "text\n"
                               "  none                             0.25  ########\n"
                               "  a longer label                   0.25  ########\n"
                               "  never                            0.25  ########\n"
                               "  d                                0.25  ########\n"
                               "  decision review, ood_score -1.38629";
    write_model(NULL, (float[LABELS]){0, 0, 0, 0});
    struct outcome *found = RUN("--model", writer.dir, "--text", "w7 w8");
    ck_assert_int_eq(found->code, 0);
    ck_assert_str_eq(found->errors, "");
    ck_assert_int_eq(strncmp(found->out, want, strlen(want)), 0);
    free(found);
    outcome_expect(RUN("--model", writer.dir, "--text", "w7", "--top-k", "2", "--text", "w8"), 0,
                   "\ntext\n"
                   "  none                             0.25  ########\n"
                   "  a longer label                   0.25  ########\n"
                   "  decision review, ",
                   "");
    checkpoint_writer_close(&writer);
}
END_TEST

/* softmax of log 8, 0, 0, log 2 is 8, 1, 1 and 2 twelfths: 21, 3, 3 and 5 of 32 cells. */
START_TEST(predict_prints_the_best_label_first)
{
    write_model(NULL, (float[LABELS]){0, logf(8), 0, logf(2)});
    struct outcome *found = RUN("--model", writer.dir, "--text", "w7");
    static const char *const parts[] = {"\n  a longer label ",
                                        " 0.66666",
                                        "  #####################\n",
                                        "  d ",
                                        " 0.16666",
                                        "  #####\n",
                                        "  none ",
                                        " 0.08333",
                                        "  ###\n",
                                        "  never ",
                                        " 0.08333",
                                        "  ###\n",
                                        "  decision"};
    const char *at = found->out;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        at = strstr(at, parts[i]);
        ck_assert_msg(at != NULL, "no '%s' in %s", parts[i], found->out);
        at += strlen(parts[i]);
    }
    free(found);
    checkpoint_writer_close(&writer);
}
END_TEST

START_TEST(predict_prints_what_is_decided_and_why)
{
    static const char decides[] = "{\"thresholds\": {\"none\": 0.75, \"a longer label\": 0.5, "
                                  "\"never\": null, \"d\": 0.5}, \"ood\": {\"method\": \"energy\", "
                                  "\"threshold\": 1, \"quantiles\": [-2, -1.5, 0]}}";
    static const char unknown[] = "{\"ood\": {\"method\": \"energy\", \"threshold\": -9}}";
    write_model(decides, (float[LABELS]){0, 0, 0, 0});
    outcome_expect(RUN("--model", writer.dir, "--text", "w7"), 0,
                   "  decision review, ood_score -1.38629", "");
    outcome_expect(RUN("--model", writer.dir, "--text", "w7"), 0, " (rank 0.5379", "");
    outcome_expect(RUN("--model", writer.dir, "--text", "w7"), 0, "), threshold 0.75\n", "");
    checkpoint_writer_close(&writer);
    write_model(decides, (float[LABELS]){0, 0, 9, 0});
    struct outcome *never = RUN("--model", writer.dir, "--text", "w7");
    ck_assert_ptr_null(strstr(never->out, "threshold"));
    outcome_expect(never, 0, "  decision review, ood_score -9.0", "");
    checkpoint_writer_close(&writer);
    write_model(unknown, (float[LABELS]){0, 0, 0, 0});
    outcome_expect(RUN("--model", writer.dir, "--text", "w7"), 0,
                   "  decision unknown, ood_score -1.38629", "");
    outcome_expect(RUN("--model", writer.dir, "--text", "w7"), 0, ", threshold -9\n", "");
    checkpoint_writer_close(&writer);
}
END_TEST

/* The whole file, ASCII, with blanks for line ends; yours. */
static char *read_text(const char *path)
{
    enum { BYTES = 1 << 16 };
    char *text = calloc(1, BYTES);
    FILE *file = fopen(path, "r");
    ck_assert(text != NULL && file != NULL && fread(text, 1, BYTES - 1, file) > 0);
    fclose(file);
    for (char *c = text; *c != '\0'; c++)
        *c = *c < 0x20 ? ' ' : *c;
    return text;
}

/* The pictures are numbers 2 of clean and 1 of no-mark, seed 1, and 276 of hard, seed 2, of
 * models/wafer-id/make_wafer_ids.py. Of the last one no beam holds: its text is found ahead. */
START_TEST(predict_reads_what_is_scribed_on_a_wafer_and_nothing_where_nothing_is)
{
    struct json_t *found =
        outcome_json(RUN("--model", "models/wafer-id", "tests/data/wafer-id/mark.png", "--json"));
    ck_assert_str_eq(doc_as_string(contract_at(found, "output")), "GOZWX-01BG6.07B2F3");
    ck_assert_double_gt(outcome_number(found, "confidence"), 0.9);
    ck_assert_str_eq(doc_as_string(contract_at(found, "decision")), "auto");
    doc_free(found);
    found =
        outcome_json(RUN("--model", "models/wafer-id", "tests/data/wafer-id/hard.png", "--json"));
    ck_assert_str_eq(doc_as_string(contract_at(found, "output")), "GII16D06EA----P2F2");
    ck_assert_str_eq(doc_as_string(contract_at(found, "decision")), "review");
    ck_assert_ptr_nonnull(
        strstr(doc_as_string(contract_at(found, "reason")), ", below the threshold 0.8"));
    outcome_expect(RUN("--model", "models/wafer-id", "tests/data/wafer-id/hard.png"), 0,
                   ", threshold 0.8\n", "");
    doc_free(found);
    found = outcome_json(
        RUN("--model", "models/wafer-id", "tests/data/wafer-id/nothing.png", "--json"));
    ck_assert_str_eq(doc_as_string(contract_at(found, "broken_rule")), "checksum");
    ck_assert_str_eq(doc_as_string(contract_at(found, "rejected.output")), "");
    ck_assert_str_eq(doc_as_string(contract_at(found, "decision")), "review");
    doc_free(found);
    found = outcome_json(RUN("--model", "models/wafer-id", "--checksum", "none",
                             "tests/data/wafer-id/nothing.png", "--json"));
    ck_assert_str_eq(doc_as_string(contract_at(found, "output")), "");
    doc_free(found);
}
END_TEST

/* The spans that JSON gives as numbers, with their words. */
START_TEST(predict_explains_texts_by_their_spans)
{
    static const char report[] = "tests/data/examples/kernel_report.txt";
    char want[1024] = "  gradient-last:\n";
    char *text = read_text(report);
    struct json_t *found = outcome_json(RUN("--model", "models/kernel-bert", "--text-file", report,
                                            "--explain", "default", "--json"));
    size_t spans = doc_array_count(contract_at(found, "explanation.spans"));
    ck_assert_uint_gt(spans, 0);
    for (size_t i = 0; i < spans; i++) {
        char path[3][64];
        static const char *const names[] = {"start", "end", "relevance"};
        for (unsigned n = 0; n < 3; n++)
            snprintf(path[n], sizeof path[n], "explanation.spans.%zu.%s", i, names[n]);
        size_t len = strlen(want);
        unsigned start = (unsigned)outcome_number(found, path[0]);
        unsigned end = (unsigned)outcome_number(found, path[1]);
        int shown = end - start > 60 ? 60 : (int)(end - start);
        snprintf(want + len, sizeof want - len, "  %3.0f %%  \"%.*s%s\"  characters %u to %u\n",
                 100 * outcome_number(found, path[2]), shown, text + start,
                 end - start > 60 ? "..." : "", start, end);
    }
    free(text);
    doc_free(found);
    outcome_expect(
        RUN("--model", "models/kernel-bert", "--text-file", report, "--explain", "default"), 0,
        want, "");
}
END_TEST

/* Windows saves a text like this; the server reads it as the same text. */
START_TEST(predict_reads_a_text_with_a_byte_order_mark_as_the_text)
{
    static const char text[] = "Kernel panic - not syncing\n";
    char marked[8 + sizeof text] = "\xEF\xBB\xBF", little[2 + 2 * sizeof text] = "\xFF\xFE";
    char path[96];
    struct tempdir dir;
    double score[3];
    tempdir_open(&dir);
    strcat(marked, text);
    for (size_t i = 0; i + 1 < sizeof text; i++)
        little[2 + 2 * i] = text[i];
    tempdir_write(&dir, "0.txt", text, sizeof text - 1);
    tempdir_write(&dir, "1.txt", marked, strlen(marked));
    tempdir_write(&dir, "2.txt", little, 2 * sizeof text);
    for (unsigned i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%u.txt", dir.path, i);
        struct json_t *found =
            outcome_json(RUN("--model", "models/testlog-bert", "--text-file", path, "--json"));
        score[i] = outcome_number(found, "score");
        doc_free(found);
    }
    ck_assert_double_eq(score[1], score[0]);
    ck_assert_double_eq(score[2], score[0]);
    tempdir_close(&dir);
}
END_TEST

/* Eight tokens are [CLS], six words and [SEP]. */
START_TEST(predict_says_that_a_text_was_cut)
{
    char path[96], want[160];
    struct tempdir dir;
    write_model(NULL, (float[LABELS]){0, 0, 0, 0});
    tempdir_open(&dir);
    tempdir_write(&dir, "long.txt", "w7 w7 w7 w7 w7 w7 w7", 20);
    tempdir_write(&dir, "fits.txt", "w7 w7 w7 w7 w7 w7", 17);
    snprintf(path, sizeof path, "%s/long.txt", dir.path);
    snprintf(want, sizeof want, "%s (longer than the model reads: cut)\n", path);
    outcome_expect(RUN("--model", writer.dir, "--text-file", path), 0, want, "");
    snprintf(path, sizeof path, "%s/fits.txt", dir.path);
    snprintf(want, sizeof want, "%s\n  none ", path);
    outcome_expect(RUN("--model", writer.dir, "--text-file", path), 0, want, "");
    tempdir_close(&dir);
    checkpoint_writer_close(&writer);
}
END_TEST

/* The grid that JSON gives as numbers: a patch is two characters, of ten shades up to its largest.
 */
/* Eight positions: six words at once. */
START_TEST(predict_says_in_how_many_windows_a_text_was_read)
{
    static const char text[] = "w7 w8 w9 w10 w11 w12 w13 w14";
    write_model("{\"long_text\": \"windows\"}", (float[LABELS]){0, 0, 0, 0});
    struct outcome *found = RUN("--model", writer.dir, "--text", text);
    ck_assert_str_eq(found->errors, "");
    ck_assert_ptr_nonnull(strstr(found->out, "text (read in 2 windows)\n"));
    free(found);
    found = RUN("--model", writer.dir, "--json", "--text", text);
    ck_assert_ptr_nonnull(strstr(found->out, "\"windows\":2"));
    ck_assert_ptr_null(strstr(found->out, "truncated"));
    free(found);
    checkpoint_writer_close(&writer);
}
END_TEST

START_TEST(predict_draws_where_it_looked)
{
    static const char picture[] = "tests/data/eval/wafer/Donut/defects_11536.png";
    static const char shades[] = " .:-=+*#%@";
    struct json_t *found = outcome_json(
        RUN("--model", "models/wafer-vit", "--image", picture, "--explain", "rollout", "--json"));
    unsigned rows = (unsigned)outcome_number(found, "explanation.grid.0");
    unsigned columns = (unsigned)outcome_number(found, "explanation.grid.1"), borderline = 0;
    double numbers[32][32], largest = 0;
    ck_assert(rows <= 32 && columns <= 32);
    for (unsigned p = 0; p < rows * columns; p++) {
        char path[64];
        snprintf(path, sizeof path, "explanation.relevance.%u", p);
        numbers[p / columns][p % columns] = outcome_number(found, path);
        largest = fmax(largest, outcome_number(found, path));
    }
    doc_free(found);
    struct outcome *drawn =
        RUN("--model", "models/wafer-vit", "--image", picture, "--explain", "rollout");
    const char *at = strstr(drawn->out, "  rollout:\n");
    ck_assert_ptr_nonnull(at);
    at += strlen("  rollout:\n");
    for (unsigned row = 0; row < rows; row++, at += 3 + 2 * columns)
        for (unsigned column = 0; column < columns; column++) {
            double shade = numbers[row][column] / largest * 9;
            bool between = fabs(shade - floor(shade) - 0.5) < 1e-4;
            ck_assert(at[2 + 2 * column] == at[3 + 2 * column]);
            ck_assert(between || at[2 + 2 * column] == shades[(int)(shade + 0.5)]);
            borderline += between;
        }
    ck_assert_uint_lt(borderline, 4);
    ck_assert_int_eq(*at, '\0');
    ck_assert_int_eq(strncmp(drawn->out, picture, strlen(picture)), 0);
    free(drawn);
}
END_TEST

START_TEST(predict_adds_logits_and_ids_if_asked)
{
    write_model(NULL, (float[LABELS]){0, 1.5f, -2, 0});
    struct json_t *found =
        outcome_json(RUN("--model", writer.dir, "--text", "w7 w39", "--raw-logits"));
    static const double logits[] = {0, 1.5, -2, 0}, ids[] = {2, 7, 39, 3};
    for (unsigned i = 0; i < 4; i++) {
        char path[16];
        snprintf(path, sizeof path, "logits.%u", i);
        outcome_expect_number(found, path, logits[i]);
        snprintf(path, sizeof path, "ids.%u", i);
        outcome_expect_number(found, path, ids[i]);
    }
    ck_assert_uint_eq(doc_array_count(contract_at(found, "predictions")), 1);
    ck_assert_str_eq(doc_as_string(contract_at(found, "label")), "a longer label");
    doc_free(found);
    struct outcome *stats = RUN("--model", writer.dir, "--text", "w7", "--json", "--explain",
                                "attention", "--explain-layer", "1", "--attention-stats");
    outcome_expect(stats, 0, "\"attention_stats\":", "");
    checkpoint_writer_close(&writer);
}
END_TEST

START_TEST(predict_goes_on_after_an_input_that_fails_and_exits_with_1)
{
    write_model(NULL, (float[LABELS]){0, 0, 0, 0});
    outcome_expect(RUN("--model", writer.dir, "--text-file", "/no/where", "--text", "w7"), 1,
                   "text\n  none                             0.25  ########\n",
                   "attnd-predict: input 1: /no/where: ");
    outcome_expect(RUN("--model", writer.dir, "--image", "tests/data/eval/wafer/none/none_0.png"),
                   1, "", "input 1: tests/data/eval/wafer/none/none_0.png: the model takes texts");
    checkpoint_writer_close(&writer);
    outcome_expect(RUN("--model", "models/wafer-vit", "--text", "w7"), 1, "",
                   "input 1: the model takes images");
}
END_TEST

START_TEST(predict_on_a_full_disk_exits_with_1)
{
    char path[600], command[700];
    snprintf(command, sizeof command, "%s --version >/dev/full",
             built_program("attnd-predict", path, sizeof path));
    ck_assert_int_eq(WEXITSTATUS(system(command)), 1);
}
END_TEST

START_TEST(predict_prints_its_help_and_version)
{
    struct outcome *help = RUN("--help");
    ck_assert_ptr_nonnull(strstr(help->out, "--explain METHOD"));
    ck_assert_str_eq(help->errors, "");
    outcome_expect(help, 0, "usage: attnd-predict --model DIR (PATH | --text S | --text-file F",
                   "");
    struct outcome *version = RUN("--version");
    ck_assert_str_eq(version->out, "attnd-predict " ATTND_VERSION "\n");
    outcome_expect(version, 0, "", "");
}
END_TEST

/* The server names a model in the same way: by the last part of its path. */
START_TEST(predict_names_the_model_by_its_directory)
{
    write_model("{\"version\": \"3.2\"}", (float[LABELS]){0, 1, 0, 0});
    const char *name = strrchr(writer.dir, '/') + 1;
    static const char *const ends[] = {"", "/", "//"};
    for (unsigned i = 0; i < 3; i++) {
        char dir[96];
        snprintf(dir, sizeof dir, "%s%s", writer.dir, ends[i]);
        struct json_t *found = outcome_json(RUN("--model", dir, "--text", "w7", "--json"));
        ck_assert_str_eq(doc_as_string(contract_at(found, "model.name")), name);
        ck_assert_str_eq(doc_as_string(contract_at(found, "model.version")), "3.2");
        ck_assert_uint_eq(strlen(doc_as_string(contract_at(found, "model.digest"))), 71);
        doc_free(found);
    }
    checkpoint_writer_close(&writer);
}
END_TEST

START_TEST(predict_prints_as_many_labels_as_asked)
{
    static const char *const asked[] = {"1", "3", "4", "9", "all"};
    static const unsigned given[] = {1, 3, 4, 4, 4};
    write_model(NULL, (float[LABELS]){0, 1, 2, 3});
    for (unsigned i = 0; i < 5; i++) {
        struct outcome *found = RUN("--model", writer.dir, "--text", "w7", "--top-k", asked[i]);
        unsigned lines = 0;
        for (const char *at = found->out; (at = strchr(at, '\n')) != NULL; at++)
            lines++;
        ck_assert_uint_eq(lines, given[i] + 2);
        ck_assert_ptr_nonnull(strstr(found->out, "text\n  d "));
        free(found);
        struct json_t *json =
            outcome_json(RUN("--model", writer.dir, "--text", "w7", "--json", "--top-k", asked[i]));
        ck_assert_uint_eq(doc_array_count(contract_at(json, "predictions")), given[i]);
        ck_assert(contract_at(json, "logits") == NULL && contract_at(json, "ids") == NULL);
        doc_free(json);
    }
    outcome_expect(RUN("--top-k", "1000001"), 2, "",
                   "--top-k: must be a whole number from 1 to 1000000");
    checkpoint_writer_close(&writer);
}
END_TEST

/* A failure has its object in the place of its answer with --json. */
START_TEST(predict_prints_a_problem_where_an_answer_would_be)
{
    write_model(NULL, (float[LABELS]){0, 0, 0, 0});
    struct outcome *found =
        RUN("--model", writer.dir, "--json", "--text", "", "--text", "w7", "--image", "none.png");
    ck_assert_int_eq(found->code, 1);
    const char *second = strchr(found->out, '\n');
    ck_assert_ptr_nonnull(second);
    ck_assert_ptr_nonnull(strstr(second, "\"label\":\"none\""));
    ck_assert(strstr(found->out, "\"status\":422") != NULL &&
              strstr(found->out, "\"status\":422") < second);
    const char *third = strchr(second + 1, '\n');
    ck_assert_ptr_nonnull(strstr(third, "none.png"));
    outcome_expect(found, 1, "", "attnd-predict: input 3: none.png: ");
    checkpoint_writer_close(&writer);
}
END_TEST

/* The same in this process: strangeness is measured by the features of the very input. */
START_TEST(predict_judges_as_the_engine_does)
{
    static const char text[] = "site 3 leakage above limit at 1.2 V";
    static const char dir[] = "models/testlog-bert";
    struct engine_model *model;
    struct engine_session *session;
    struct engine_input input;
    struct arena arena;
    struct err err = {0};
    float logits[64], scores[64];
    arena_init(&arena);
    ck_assert_msg(!engine_open(&model, dir, &(struct engine_options){0}, &err), "%s", err.text);
    ck_assert(!engine_session_open(&session, model, 0, 1, &err));
    ck_assert(!engine_prepare(model, text_source(text), NULL, &arena, &input, &err));
    struct engine_result result = {.logits = logits, .scores = scores};
    engine_run(session, (const struct engine_input *[]){&input}, 1,
               (struct engine_result *[]){&result});
    const struct judgement judgement = result.judgement;
    struct json_t *found = outcome_json(RUN("--model", dir, "--text", text, "--json"));
    ck_assert(judgement.has_ood && strcmp(engine_describe(model)->ood_method, "energy") != 0);
    ck_assert_double_eq_tol(outcome_number(found, "ood_score"), (double)judgement.ood_score,
                            1e-3 * fabs((double)judgement.ood_score) + 1e-6);
    ck_assert_str_eq(doc_as_string(contract_at(found, "decision")),
                     decision_name(judgement.decision));
    doc_free(found);
    engine_session_close(session);
    engine_close(model);
    arena_deinit(&arena);
}
END_TEST

/* A wafer of an STDF file is an image, as a text file of any name is a text. */
START_TEST(predict_reads_wafers_and_texts_by_their_option)
{
    struct tempdir dir;
    struct stdf_writer wafer;
    char lot[96], text[96];
    tempdir_open(&dir);
    stdf_writer_open(&wafer, false);
    stdf_writer_wafer(&wafer, 1, "W1");
    for (int die = 0; die < 16; die++)
        stdf_writer_die(&wafer, 1, die % 4, die / 4, die % 3 ? STDF_WRITER_PASS : STDF_WRITER_FAIL,
                        1);
    stdf_writer_wafer_end(&wafer, 1, "W1");
    stdf_writer_close(&wafer);
    tempdir_write(&dir, "lot.stdf", wafer.bytes, wafer.len);
    tempdir_write(&dir, "note.stdf", "w7", 2);
    snprintf(lot, sizeof lot, "%s/lot.stdf#W1", dir.path);
    snprintf(text, sizeof text, "%s/note.stdf", dir.path);
    outcome_expect(RUN("--model", "models/wafer-vit", "--image", lot), 0, "lot.stdf#W1\n  ", "");
    write_model(NULL, (float[LABELS]){0, 0, 0, 0});
    outcome_expect(RUN("--model", writer.dir, "--text-file", text), 0, "note.stdf\n  none ", "");
    checkpoint_writer_close(&writer);
    tempdir_close(&dir);
}
END_TEST

/* Each answer names the file and, of a line, its number; options have no such member. */
START_TEST(predict_takes_files_folders_and_lines_and_names_them)
{
    struct tempdir dir;
    char folder[128], lines[128], first[300];
    tempdir_open(&dir);
    tempdir_write(&dir, "a.log", "w7 w8\n\nw9\n", 10);
    write_model(NULL, (float[LABELS]){0, 0, 0, 0});
    snprintf(folder, sizeof folder, "%s", dir.path);
    snprintf(lines, sizeof lines, "%s/a.log", dir.path);
    struct outcome *outcome =
        RUN("--model", writer.dir, folder, "--lines", lines, "--text", "w7", "--json");
    snprintf(first, sizeof first, ",\"input\":{\"file\":\"%s/a.log\"}}\n", dir.path);
    ck_assert_msg(strstr(outcome->out, first) != NULL, "%s", outcome->out);
    snprintf(first, sizeof first, ",\"input\":{\"file\":\"%s/a.log\",\"line\":1}}\n", dir.path);
    ck_assert_msg(strstr(outcome->out, first) != NULL, "%s", outcome->out);
    ck_assert_ptr_nonnull(strstr(outcome->out, "\"line\":3}}\n"));
    const char *last = strrchr(outcome->out, '{');
    ck_assert_ptr_null(strstr(last, "input"));
    outcome_expect(outcome, 0, "", "");
    outcome_expect(RUN("--model", writer.dir, "--lines", lines), 0, "a.log:1\n  ", "");
    tempdir_write(&dir, "a.log", "ok\n\xFF\n", 5);
    outcome_expect(RUN("--model", writer.dir, "--lines", lines, "--json"), 1, "\"line\":2}}\n",
                   "a.log: line 2: invalid UTF-8 at byte 0 of the text");
    outcome_expect(RUN("--model", writer.dir, "/no/where"), 2, "",
                   "/no/where: there is no such file or folder; a text needs --text");
    checkpoint_writer_close(&writer);
    tempdir_close(&dir);
}
END_TEST

START_TEST(predict_refuses_wrong_use_with_2)
{
    outcome_expect(RUN("--text", "a"), 2, "", "--model DIR is missing; --help shows the usage");
    outcome_expect(RUN("--model", "models/wafer-vit"), 2, "",
                   "no input: give a file, a folder, --text, --text-file, --image or --lines");
    outcome_expect(RUN("--model", "/no/where", "--text", "a"), 2, "", "attnd-predict: /no/where: ");
    outcome_expect(RUN("--model", "models/wafer-vit", "--text", "a", "--explain-layer", "1"), 2, "",
                   "--explain-layer and --attention-stats belong to --explain METHOD");
    outcome_expect(RUN("--model", "models/wafer-vit", "--text", "a", "--attention-stats"), 2, "",
                   "belong to --explain METHOD");
    outcome_expect(RUN("--explain", "guess"), 2, "",
                   "no method 'guess' (known: default, rollout, attention, gradient, "
                   "gradient-last, alignment)");
    outcome_expect(RUN("--top-k", "0"), 2, "", "--top-k");
    outcome_expect(RUN("--model", "models/wafer-vit", "--text", "a", "--dtype", "f8"), 2, "",
                   "dtype 'f8'");
    outcome_expect(RUN("--model", "models/wafer-vit", "--text", "a", "--linear-backend", "x"), 2,
                   "", "'x'");
}
END_TEST

/* bert-3 has token types, so that a second text is another input than the same words in one. */
START_TEST(predict_reads_a_pair_behind_its_text)
{
    struct json_t *pair = outcome_json(RUN("--model", "tests/data/golden/bert-3", "--text", "a b",
                                           "--text-pair", "c d", "--raw-logits"));
    struct json_t *one = outcome_json(
        RUN("--model", "tests/data/golden/bert-3", "--text", "a b c d", "--raw-logits"));
    ck_assert_uint_eq(doc_array_count(contract_at(one, "ids")), 6);
    ck_assert_uint_eq(doc_array_count(contract_at(pair, "ids")), 7); /* one more [SEP] */
    ck_assert_double_ne(outcome_number(one, "score"), outcome_number(pair, "score"));
    doc_free(pair);
    doc_free(one);
    outcome_expect(RUN("--model", "tests/data/golden/bert-3", "--text-pair", "c d"), 2, "",
                   "--text-pair: it belongs behind a --text, one to each");
    outcome_expect(RUN("--model", "tests/data/golden/bert-3", "--text", "a", "--text-pair", "b",
                       "--text-pair", "c"),
                   2, "", "it belongs behind a --text, one to each");
    outcome_expect(RUN("--model", "tests/data/golden/bert-3", "--text", "a", "--text-pair", "\xff"),
                   1, "", "invalid UTF-8 at byte 0 of the second text");
}
END_TEST

START_TEST(predict_reads_a_long_text_as_it_is_told)
{
    enum { WORDS = 200 }; /* bert-4 reads 126 at once */
    char text[2 * WORDS + 1];
    for (unsigned i = 0; i < WORDS; i++)
        memcpy(text + (size_t)2 * i, i % 2 > 0 ? "a " : "b ", 3);
    outcome_expect(RUN("--model", "tests/data/golden/bert-4", "--text", text), 0,
                   "text (longer than the model reads: cut)\n", "");
    outcome_expect(
        RUN("--model", "tests/data/golden/bert-4", "--long-text", "windows", "--text", text), 0,
        "text (read in 2 windows)\n", "");
    outcome_expect(
        RUN("--model", "tests/data/golden/bert-4", "--long-text", "whole", "--text", "a"), 2, "",
        "--long-text: expected truncate or windows");
}
END_TEST

START_TEST(predict_writes_by_rules_or_says_which_is_broken)
{
    struct writing_fixture f = {0};
    char dir[WRITING_PATH_BYTES];
    writing_fixture_gather(&f, "marian-0", dir);
    tempdir_write(&f.dir, "list", "pass\n\nfail\n", 11);
    char list[WRITING_PATH_BYTES + 8], empty[WRITING_PATH_BYTES + 8];
    snprintf(list, sizeof list, "%s/list", f.dir.path);
    tempdir_write(&f.dir, "empty", "\n", 1);
    snprintf(empty, sizeof empty, "%s/empty", f.dir.path);
#define WRITE(...) RUN("--model", dir, "--text", "The die failed at 3.97 V.", __VA_ARGS__)
    outcome_expect(WRITE("--json", "--allowed", list), 0, "\"output\":\"pass\"", "");
    outcome_expect(WRITE("--json", "--allow", "pass"), 0, "\"output\":\"pass\"", "");
    outcome_expect(WRITE("--json", "--pattern", "ok"), 0, "\"output\":\"ok\"", "");
    outcome_expect(WRITE("--json", "--pattern", "[a-z]{1,4} 97", "--copy-numbers"), 0, " 97\"", "");
    outcome_expect(WRITE("--raw-logits", "--allow", "A", "--checksum", "semi-m13"), 0,
                   "\"output\":null,\"broken_rule\":\"checksum\",\"rejected\":{\"output\":\"A\",",
                   "");
    outcome_expect(WRITE("--allow", "A", "--checksum", "semi-m13"), 0,
                   "  no text obeys the rules (checksum)\n", "");
    outcome_expect(WRITE("--pattern", "a)"), 1, "", "input 1: pattern: byte 1");
    outcome_expect(WRITE("--allowed", empty), 2, "", "/empty: has no text");
    outcome_expect(WRITE("--num-beams", "4.5"), 2, "", "--num-beams: expected an integer");
    outcome_expect(WRITE("--checksum", "luhn"), 2, "", "--checksum: expected semi-m13");
#undef WRITE
    tempdir_close(&f.dir);
}
END_TEST

SUITE("predict", predict_prints_scores_with_bars, predict_prints_the_best_label_first,
      predict_reads_a_text_with_a_byte_order_mark_as_the_text, predict_says_that_a_text_was_cut,
      predict_says_in_how_many_windows_a_text_was_read, predict_prints_what_is_decided_and_why,
      predict_reads_what_is_scribed_on_a_wafer_and_nothing_where_nothing_is,
      predict_explains_texts_by_their_spans, predict_draws_where_it_looked,
      predict_adds_logits_and_ids_if_asked,
      predict_goes_on_after_an_input_that_fails_and_exits_with_1,
      predict_on_a_full_disk_exits_with_1, predict_prints_its_help_and_version,
      predict_names_the_model_by_its_directory, predict_prints_as_many_labels_as_asked,
      predict_prints_a_problem_where_an_answer_would_be, predict_judges_as_the_engine_does,
      predict_reads_wafers_and_texts_by_their_option,
      predict_takes_files_folders_and_lines_and_names_them, predict_refuses_wrong_use_with_2,
      predict_reads_a_pair_behind_its_text, predict_reads_a_long_text_as_it_is_told,
      predict_writes_by_rules_or_says_which_is_broken)
