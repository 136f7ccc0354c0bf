#include "tests/support/suite.h"
#include "tests/support/tempdir.h"
#include "tools/stream/stream_options.h"

#include <stdio.h>
#include <string.h>

static struct stream_options options;
static struct err err;

/* Reads --config with this text, and one more flag (NULL: none). */
static enum err_code read_with(const char *json, const char *flag)
{
    struct tempdir dir;
    enum cli_action action;
    char config[128], path[100];
    char *argv[] = {(char *)"attnd-stream", config, (char *)(uintptr_t)flag, NULL};
    tempdir_open(&dir);
    tempdir_write(&dir, "s.json", json, strlen(json));
    snprintf(path, sizeof path, "%s/s.json", dir.path);
    snprintf(config, sizeof config, "--config=%s", path);
    err = (struct err){0};
    stream_options_free(&options);
    stream_options_read(&options, &action, flag != NULL ? 3 : 2, argv, &err);
    tempdir_close(&dir);
    return err.code;
}

static void refused(const char *json, const char *flag, const char *why)
{
    ck_assert_int_eq(read_with(json, flag), ERR_UNUSABLE);
    ck_assert_msg(strstr(err.text, why) != NULL, "%s", err.text);
    stream_options_free(&options);
    options = (struct stream_options){0};
}

#define NEEDED                                                                                     \
    "\"model\": \"./m\", \"brokers\": \"b:1\", \"topics\": \"logs, maps\", \"output_topic\": "     \
    "\"o\""

START_TEST(options_come_from_the_file_and_flags_override_it)
{
    ck_assert_msg(read_with("{" NEEDED ", \"batch_messages\": 7, \"member\": \"a\"}", NULL) ==
                      ERR_OK,
                  "%s", err.text);
    ck_assert_uint_eq(options.batch_messages, 7);
    ck_assert_uint_eq(options.batch_wait_ms, 100);
    ck_assert_uint_eq(options.topic_count, 2);
    ck_assert_str_eq(options.topic_names[1], "maps");
    ck_assert_str_eq(options.member, "a");
    ck_assert_str_eq(options.metrics_host, "127.0.0.1");
    ck_assert_uint_eq(options.metrics_port, 8091);
    ck_assert_int_eq(read_with("{" NEEDED ", \"batch_messages\": 7}", "--batch-messages=9"),
                     ERR_OK);
    ck_assert_uint_eq(options.batch_messages, 9);
    ck_assert(options.member[0] != '\0');
    ck_assert_str_eq(options.dead_letter_topic, "");
    stream_options_free(&options);
}
END_TEST

START_TEST(options_that_are_wrong_are_refused_with_their_key)
{
    refused("{" NEEDED ", \"batch_mesages\": 1}", NULL, "did you mean \"batch_messages\"");
    refused("{" NEEDED ", \"batch_messages\": \"1\"}", NULL,
            "$.batch_messages: expected an integer");
    refused("{" NEEDED ", \"batch_messages\": 0}", NULL, "$.batch_messages: ");
    refused("{" NEEDED ", \"group\": 1}", NULL, "$.group: expected a string, found a number");
    refused("{" NEEDED ", \"dead_letter_topic\": \"maps\"}", NULL, "'maps' is read and written");
    refused("{\"model\": \"./m\"}", NULL, "brokers is missing");
    refused("{" NEEDED "}", "--metrics-listen=8091", "metrics_listen: expected ADDRESS:PORT");
    refused("{" NEEDED "}", "--top-k=0", "top_k: ");
    refused("{" NEEDED "}", "--explain=magic", "explain: no method 'magic'");
    refused("{" NEEDED ", \"sasl_password\": \"x\"}", NULL, "unknown key");
    refused("{" NEEDED "}", "logs", "unexpected argument 'logs'");
}
END_TEST

START_TEST(what_is_asked_of_a_task_comes_as_in_a_request)
{
    ck_assert_msg(read_with("{" NEEDED ", \"question\": \"Which pin?\", \"doc_stride\": 3, "
                            "\"align_to_words\": false, \"normalize\": \"true\", "
                            "\"aggregation\": \"max\", \"dimensions\": 8, \"chunks\": \"tokens\"}",
                            "--dimensions=9") == ERR_OK,
                  "%s", err.text);
    const struct asking *asking = &options.answers.asking;
    ck_assert_str_eq(asking->question.text, "Which pin?");
    ck_assert_uint_eq(asking->question.overlap, 4);
    ck_assert(asking->question.keeps_tokens && asking->vector.is_scaled);
    ck_assert_int_eq(asking->aggregation, AGGREGATION_MAX);
    ck_assert_uint_eq(asking->vector.dimensions, 9);
    ck_assert_int_eq(asking->vector.chunks, VECTORS_TOKENS);
    ck_assert_msg(read_with("{" NEEDED ", \"num_beams\": 3, \"length_penalty\": 0.25, "
                            "\"target_language\": \"de\", \"question\": 17}",
                            "--num-beams=4") == ERR_OK,
                  "%s", err.text);
    ck_assert(asking->write.is_given && asking->write.writing.asked.num_beams == 4);
    ck_assert(asking->write.writing.asked.length_penalty == 0.25);
    ck_assert_str_eq(asking->write.writing.target_language, "de");
    ck_assert_str_eq(asking->question.text, "17"); /* a number is a text, too */
    refused("{" NEEDED ", \"num_beams\": 0.5}", NULL, "$.num_beams: expected an integer");
    refused("{" NEEDED ", \"aggregation\": \"last\"}", NULL, "$.aggregation: expected none");
    refused("{" NEEDED ", \"question\": []}", NULL, "$.question: expected a string");
    refused("{" NEEDED "}", "--encoding=int4", "--encoding");
    refused("{" NEEDED "}", "--chunks=words", "--chunks");
}
END_TEST

START_TEST(allowed_texts_of_a_flag_replace_those_of_the_file)
{
    struct tempdir dir;
    char json[512], flag[128];
    tempdir_open(&dir);
    tempdir_write(&dir, "one", "pass\nfail\n", 10);
    tempdir_write(&dir, "other", "leak\n", 5);
    snprintf(json, sizeof json, "{" NEEDED ", \"allowed\": \"%s/one\"}", dir.path);
    snprintf(flag, sizeof flag, "--allowed=%s/other", dir.path);
    const struct engine_writing *writing = &options.answers.asking.write.writing;
    ck_assert_msg(read_with(json, NULL) == ERR_OK, "%s", err.text);
    ck_assert_uint_eq(writing->allowed_count, 2);
    ck_assert_msg(read_with(json, flag) == ERR_OK, "%s", err.text);
    ck_assert_uint_eq(writing->allowed_count, 1);
    ck_assert_str_eq(writing->allowed[0], "leak");
    stream_options_free(&options);
    options = (struct stream_options){0};
    tempdir_close(&dir);
}
END_TEST

START_TEST(a_session_may_not_outlast_the_poll_interval)
{
    refused("{" NEEDED ", \"session_timeout_ms\": 5000, \"max_poll_interval_ms\": 4000}", NULL,
            "session_timeout_ms: 5000, but max_poll_interval_ms is 4000");
}
END_TEST

START_TEST(the_example_can_be_read)
{
    enum cli_action action;
    char *argv[] = {(char *)"attnd-stream", (char *)"--config=config/stream.json", NULL};
    err = (struct err){0};
    ck_assert_msg(stream_options_read(&options, &action, 2, argv, &err) == ERR_OK, "%s", err.text);
    ck_assert_str_eq(options.dead_letter_topic, "test-floor.dead");
    ck_assert_uint_eq(options.metrics_port, 8091);
    stream_options_free(&options);
    options = (struct stream_options){0};
}
END_TEST

SUITE("stream_options", allowed_texts_of_a_flag_replace_those_of_the_file,
      what_is_asked_of_a_task_comes_as_in_a_request, the_example_can_be_read,
      options_come_from_the_file_and_flags_override_it,
      options_that_are_wrong_are_refused_with_their_key,
      a_session_may_not_outlast_the_poll_interval)
