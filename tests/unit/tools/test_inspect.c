/* attnd-inspect as a program: its lines on a checkpoint, and on one that attnd cannot serve. */
#include "engine/base/doc.h"
#include "engine/tensor/tile_state.h"
#include "tests/support/checkpoint_writer.h"
#include "tests/support/contract.h"
#include "tests/support/outcome.h"
#include "tests/support/server_process.h"
#include "tests/support/suite.h"
#include "tests/support/writing_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define RUN(...) outcome_of("attnd-inspect", (const char *[]){__VA_ARGS__, NULL})

static const char config[] =
    "{\"model_type\": \"bert\", \"hidden_size\": 16, \"num_hidden_layers\": 2, "
    "\"num_attention_heads\": 4, \"intermediate_size\": 24, \"vocab_size\": 40, "
    "\"max_position_embeddings\": 32, \"id2label\": {\"0\": \"good\", \"1\": \"b d\", \"2\": "
    "\"c\"}}";

static struct checkpoint_writer writer;

static void write_model(const char *settings, const char *attnd_json)
{
    checkpoint_writer_open(&writer);
    checkpoint_writer_file(&writer, "config.json", settings);
    if (attnd_json != NULL)
        checkpoint_writer_file(&writer, "attnd.json", attnd_json);
    checkpoint_writer_bert(&writer, 16, 2, 24, 40, 32, 3);
    checkpoint_writer_add(&writer, "stray.one", 3, 0);
    checkpoint_writer_add(&writer, "stray.two", 2, 2);
    checkpoint_writer_finish(&writer);
}

/* The parameters at D = 16: 40 words, 32 places, 2 types and a norm: 1216; two blocks of 4 x 272,
 * two norms, 408 and 400: 1960 each; the pooler 272 and the classifier 51: 5459, of four bytes. */
START_TEST(inspect_says_what_a_checkpoint_is)
{
    write_model(config, "{\"version\": \"2.1\"}");
    struct outcome *found = RUN(writer.dir);
    ck_assert_int_eq(found->code, 0);
    ck_assert_str_eq(found->errors, "");
    static const char before[] = "family         bert\n"
                                 "input          text, up to 32 tokens of a vocabulary of 40\n"
                                 "preprocessing  WordPiece\n"
                                 "encoder        2 layers, hidden size 16, 4 heads, intermediate "
                                 "size 24\n"
                                 "parameters     5459 (0.";
    static const char between[] = " MB as f32, stored as F32)\n" /* tiles pad rows to 32 */
                                  "version        2.1\n"
                                  "digest         sha256:";
    static const char behind[] = "\ncalibrated     no: every answer goes to review; attnd-eval "
                                 "--calibrate chooses thresholds\n"
                                 "ood_score      energy\n"
                                 "scores         softmax\n"
                                 "labels         3\n"
                                 "  0            good\n"
                                 "  1            b d\n"
                                 "  2            c\n"
                                 "unused tensors 2\n"
                                 "               stray.one\n"
                                 "               stray.two\n";
    ck_assert_int_eq(strncmp(found->out, before, strlen(before)), 0);
    const char *rest = found->out + strlen(before) + 1;
    ck_assert_int_eq(rest[-1], tile_state_permitted() ? '1' : '0');
    ck_assert_int_eq(strncmp(rest, between, strlen(between)), 0);
    ck_assert_uint_eq(strspn(rest + strlen(between), "0123456789abcdef"), 64);
    ck_assert_str_eq(rest + strlen(between) + 64, behind);
    free(found);
    checkpoint_writer_close(&writer);
}
END_TEST

START_TEST(inspect_says_how_a_checkpoint_decides)
{
    write_model(
        config,
        "{\"target_precision\": 0.9, \"thresholds\": {\"good\": 0.5, \"b d\": 0.5, \"c\": 0.5}, "
        "\"ood\": {\"method\": \"energy\", \"threshold\": 1.5, "
        "\"thresholds\": {\"good\": null, \"b d\": 2.25, \"c\": -3}}}");
    outcome_expect(
        RUN(writer.dir), 0,
        "\nprecision      0.9 of automatic answers\nood_score      energy, unknown above 1.5\n"
        "               above 2.25       b d\n"
        "               above -3         c\n",
        "");
    checkpoint_writer_close(&writer);
    outcome_expect(RUN("models/wafer-vit"), 0,
                   "preprocessing  resized to 48 x 48 (bilinear), times 0.00392157, less 0.5 0.5 "
                   "0.5, over 0.5 0.5 0.5; greys of 16 bits by their full range\n",
                   "");
    outcome_expect(RUN("models/wafer-vit"), 0, "(4.9 MB as f32, stored as F16)\n", "");
    outcome_expect(RUN("models/wafer-vit"), 0, "input          image, 48 x 48 pixels in patches of",
                   "");
}
END_TEST

/* A regression tells no strangeness. */
START_TEST(inspect_of_a_regression_has_no_ood_score)
{
    static const char regression[] =
        "{\"model_type\": \"bert\", \"hidden_size\": 16, \"num_hidden_layers\": 2, "
        "\"num_attention_heads\": 4, \"intermediate_size\": 24, \"vocab_size\": 40, "
        "\"max_position_embeddings\": 32, \"problem_type\": \"regression\", "
        "\"id2label\": {\"0\": \"yield\"}}";
    checkpoint_writer_open(&writer);
    checkpoint_writer_file(&writer, "config.json", regression);
    checkpoint_writer_bert(&writer, 16, 2, 24, 40, 32, 1);
    checkpoint_writer_finish(&writer);
    struct outcome *found = RUN(writer.dir);
    ck_assert_ptr_null(strstr(found->out, "ood_score"));
    ck_assert_ptr_null(strstr(found->out, "(null)"));
    outcome_expect(found, 0, "labels         1\n  0            yield\nunused tensors 0\n", "");
    checkpoint_writer_close(&writer);
}
END_TEST

/* marian-1: one decoder layer of four heads of 8 takes 2 x 32 numbers of four bytes for a token. */
START_TEST(inspect_says_how_a_checkpoint_writes)
{
    struct tempdir dir;
    writing_model_open(&dir, "marian-1");
    outcome_expect(
        RUN(dir.path), 0,
        "\nwrites         up to 63 tokens with 4 beams; texts answered: 1\n"
        "               scores are divided by length^1.3; it ends when as many texts are "
        "whole as beams\n"
        "               no sequence of 3 tokens twice\n"
        "               token 0 is the last of a text of full length\n"
        "               banned sequences of tokens: 1\n"
        "limits         64 tokens in, 64 out, 8 beams\n"
        "cache          256 bytes for a token of the input, and for one of a beam: up to "
        "0.1 MB for a text\n"
        "languages      written:\n               deu fra\n"
        "unused tensors 0\n",
        "");
    outcome_expect(RUN(dir.path), 0,
                   "\ndecoder        1 layers, hidden size 32, 4 heads, intermediate size 64, a "
                   "vocabulary of 262\n",
                   "");
    struct json_t *found = outcome_json(RUN(dir.path, "--json"));
    outcome_expect_number(found, "writes.cache_token_bytes", 256);
    outcome_expect_number(found, "writes.num_beams", 4);
    ck_assert_str_eq(doc_as_string(contract_at(found, "writes.target_languages.1")), "fra");
    ck_assert_uint_eq(doc_array_count(contract_at(found, "writes.source_languages")), 0);
    doc_free(found);
    tempdir_close(&dir);
    writing_model_open(&dir, "m2m100-0");
    found = outcome_json(RUN(dir.path, "--json"));
    ck_assert_uint_gt(doc_array_count(contract_at(found, "writes.source_languages")), 50);
    ck_assert_uint_eq(doc_array_count(contract_at(found, "writes.source_languages")),
                      doc_array_count(contract_at(found, "writes.target_languages")));
    doc_free(found);
    tempdir_close(&dir);
    writing_model_open(&dir, "trocr-0");
    outcome_expect(RUN(dir.path), 0, "\nlimits         10 tokens in, 40 out, 8 beams\n", "");
    tempdir_close(&dir);
}
END_TEST

/* A report that cannot be written is a failure. */
START_TEST(inspect_on_a_full_disk_exits_with_1)
{
    char path[600], command[700];
    snprintf(command, sizeof command, "%s --version >/dev/full",
             built_program("attnd-inspect", path, sizeof path));
    ck_assert_int_eq(WEXITSTATUS(system(command)), 1);
}
END_TEST

START_TEST(inspect_prints_the_same_as_json)
{
    write_model(config, NULL);
    struct json_t *found = outcome_json(RUN(writer.dir, "--json"));
    outcome_expect_number(found, "parameters", 5459);
    outcome_expect_number(found, "layers", 2);
    ck_assert_str_eq(doc_as_string(contract_at(found, "labels.1")), "b d");
    ck_assert_uint_eq(strlen(doc_as_string(contract_at(found, "digest"))), strlen("sha256:") + 64);
    doc_free(found);
    checkpoint_writer_close(&writer);
}
END_TEST

START_TEST(inspect_says_why_a_checkpoint_cannot_be_served)
{
    char want[256];
    write_model("{\"model_type\": \"gpt2\"}", NULL);
    snprintf(want, sizeof want, "attnd-inspect: %s: ", writer.dir);
    outcome_expect(RUN(writer.dir), 2, "", want);
    outcome_expect(RUN(writer.dir), 2, "", "gpt2");
    checkpoint_writer_close(&writer);
    write_model("{\"model_type\": \"bert\", \"hidden_size\": 16, \"num_hidden_layers\": 3, "
                "\"num_attention_heads\": 4, \"intermediate_size\": 24, \"vocab_size\": 40, "
                "\"max_position_embeddings\": 32}",
                NULL);
    outcome_expect(RUN(writer.dir), 2, "", "layer.2.");
    checkpoint_writer_close(&writer);
}
END_TEST

START_TEST(inspect_refuses_wrong_use_with_2)
{
    outcome_expect(RUN("--json"), 2, "", "attnd-inspect: DIR is missing; --help shows the usage\n");
    outcome_expect(RUN("models", "b"), 2, "", "one directory at a time; 'b' is the second");
    outcome_expect(RUN("/no/where"), 2, "", "attnd-inspect: /no/where: ");
    outcome_expect(RUN("--help"), 0, "usage: attnd-inspect DIR [--json]\n", "");
    outcome_expect(RUN("--version"), 0, "attnd-inspect " ATTND_VERSION "\n", "");
}
END_TEST

SUITE("inspect", inspect_says_what_a_checkpoint_is, inspect_says_how_a_checkpoint_decides,
      inspect_says_how_a_checkpoint_writes, inspect_of_a_regression_has_no_ood_score,
      inspect_on_a_full_disk_exits_with_1, inspect_prints_the_same_as_json,
      inspect_says_why_a_checkpoint_cannot_be_served, inspect_refuses_wrong_use_with_2)
