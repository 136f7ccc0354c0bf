/* A checkpoint whose tokenizer.json is run step by step, served by the program beside the same one
 * read as BERT's: one answer; and one whose steps are not all implemented, which is refused. */
#include "engine/base/doc.h"
#include "tests/support/contract.h"
#include "tests/support/outcome.h"
#include "tests/support/server_process.h"
#include "tests/support/tempdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLAIN "tests/data/golden/bert-4"

/* The text with the first `from` replaced by `to`; yours to free. */
static char *replaced(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    ck_assert_ptr_nonnull(at);
    return contract_format("%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

/* The golden checkpoint with another tokenizer.json. */
static void write_checkpoint(struct tempdir *dir, const char *from, const char *to)
{
    static const char *const same[] = {"config.json", "model.safetensors", "tokenizer_config.json"};
    size_t len;
    char path[256];
    tempdir_open(dir);
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        snprintf(path, sizeof path, PLAIN "/%s", same[i]);
        char *bytes = contract_file(path, &len);
        tempdir_write(dir, same[i], bytes, len);
        free(bytes);
    }
    char *json = contract_file(PLAIN "/tokenizer.json", &len);
    char *changed = replaced(json, from, to);
    tempdir_write(dir, "tokenizer.json", changed, strlen(changed));
    free(changed);
    free(json);
}

static double score_of(unsigned port, const char *model, const char *text)
{
    char *body = contract_format("{\"model\": \"%s\", \"text\": \"%s\"}", model, text);
    struct reply reply = reply_of(http_post_json(port, "/predict", body));
    double score = -1;
    ck_assert_int_eq(reply.answer.status, 200);
    ck_assert(doc_as_number(contract_at(reply.json, "score"), &score));
    reply_free(&reply);
    free(body);
    return score;
}

/* A mask that takes the white space before it is not BERT's: the steps are run one by one. */
START_TEST(a_tokenizer_of_steps_is_served_with_the_same_answers)
{
    struct tempdir dir;
    struct server_process server;
    static const char from[] = "\"content\": \"[MASK]\",\n      \"single_word\": false,\n"
                               "      \"lstrip\": false";
    static const char to[] = "\"content\": \"[MASK]\",\n      \"single_word\": false,\n"
                             "      \"lstrip\": true";
    static const char *const texts[] = {"BUG: unable to handle page fault at ffff8880", "  a  b\\n",
                                        "caf\xC3\xA9 [MASK] \xE4\xB8\xAD.", "[SEP] x[MASK]y"};
    char model[128];
    write_checkpoint(&dir, from, to);
    snprintf(model, sizeof model, "steps=%s", dir.path);
    server_process_start(&server,
                         (const char *[]){"--model", "plain=" PLAIN, "--model", model, NULL});
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        ck_assert_double_eq_tol(score_of(server.port, "steps", texts[i]),
                                score_of(server.port, "plain", texts[i]), 1e-6);
    struct reply reply = reply_of(
        http_post_json(server.port, "/predict", "{\"model\": \"steps\", \"text\": \" \"}"));
    reply_expect_problem(&reply, 422, "unusable", "$.text: the text has no token");
    reply_free(&reply);
    ck_assert_int_eq(server_process_stop(&server), 0);
    tempdir_close(&dir);
}
END_TEST

START_TEST(a_tokenizer_with_an_unknown_step_is_refused_by_its_place)
{
    struct tempdir dir;
    write_checkpoint(&dir, "\"type\": \"BertPreTokenizer\"",
                     "\"type\": \"Split\", \"pattern\": {\"Regex\": \"[a-z]+\"}, "
                     "\"behavior\": \"Isolated\"");
    outcome_expect(outcome_of("attnd-inspect", (const char *[]){dir.path, NULL}), 2, "",
                   "tokenizer.json: $.pre_tokenizer.pattern: the regular expression '[a-z]+' is "
                   "not supported");
    tempdir_close(&dir);
}
END_TEST

SUITE("contract_tokenizer", a_tokenizer_of_steps_is_served_with_the_same_answers,
      a_tokenizer_with_an_unknown_step_is_refused_by_its_place)
