/* Programs that do nothing with models that write refuse them before any work, and say what does or
 * what to take instead. */
#include "tests/support/outcome.h"
#include "tests/support/suite.h"
#include "tests/support/writing_model.h"

#include <stdio.h>
#include <string.h>

static const char cases[] = "text,label\nfail a,x\nfail b,y\nfail c,x\n";

static const struct {
    const char *program, *said, *arguments[9];
    int code;
} rows[] = {
    {"attnd-index",
     "writes texts: an index needs vectors; take a model of embeddings or of labels",
     {"build", "--model", "@", "--data", "#", "--out", "%"},
     2},
    {"attnd-fit",
     "writes texts: there is no classifier to fit; attnd-train --task seq2seq trains it",
     {"--model", "@", "--data", "#", "--out", "%"},
     2},
    {"attnd-prune",
     "is an encoder with a decoder that writes text, where an encoder alone is needed: attnd, ",
     {"--model", "@", "--data", "#", "--out", "%", "--mlp", "0.5"},
     2},
    {"attnd-vocab",
     "vocab.txt: there is none; only a vocabulary of WordPiece is trimmed",
     {"trim", "--model", "@", "--data", "#", "--out", "%"},
     1},
    {"attnd-train",
     "a teacher gives scores of the labels that are learnt",
     {"--model", "models/testlog-bert", "--teacher", "@", "--data", "#", "--out", "%"},
     2},
};

START_TEST(programs_say_what_to_take_in_place_of_a_model_that_writes)
{
    static const char *const names[] = {"marian-1", "trocr-0"};
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        struct tempdir model, dir;
        char data[128], out[128];
        writing_model_open(&model, names[n]);
        tempdir_open(&dir);
        tempdir_write(&dir, "cases.csv", cases, sizeof cases - 1);
        snprintf(data, sizeof data, "%s/cases.csv", dir.path);
        snprintf(out, sizeof out, "%s/out", dir.path);
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            const char *arguments[10] = {NULL};
            for (unsigned a = 0; rows[i].arguments[a] != NULL; a++)
                arguments[a] = rows[i].arguments[a][0] == '@'   ? model.path
                               : rows[i].arguments[a][0] == '#' ? data
                               : rows[i].arguments[a][0] == '%' ? out
                                                                : rows[i].arguments[a];
            outcome_expect(outcome_of(rows[i].program, arguments), rows[i].code, "", rows[i].said);
        }
        tempdir_close(&dir);
        tempdir_close(&model);
    }
}
END_TEST

SUITE("writing_refused", programs_say_what_to_take_in_place_of_a_model_that_writes)
