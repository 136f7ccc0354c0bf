/* Right texts of answers that are texts: judged to the last character, counted by the characters
 * that differ, and given back by the audit log after a restart. */
#include "server/feedback/feedback_state.h"

#include "server/audit/audit_files.h"
#include "server/audit/audit_record.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"
#include "tests/unit/server/metrics_samples.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static const char *const labels[] = {"Center", "Donut"};
static const struct engine_info writer = {.task = ENGINE_GENERATE, .version = "1"},
                                classifier = {.task = ENGINE_CLASSIFY,
                                              .version = "1",
                                              .labels = labels,
                                              .label_count = 2};

static struct feedback *feedback;
static struct audit *audit;
static struct tempdir dir;
static struct arena arena;
static struct err err;

static void opened(unsigned window)
{
    const struct feedback_options options = {window, audit, dir.path, true};
    err = (struct err){0};
    arena_init(&arena);
    ck_assert_msg(feedback_open(&feedback, &options, &err) == ERR_OK, "%s", err.text);
    feedback_learn(feedback, "marks", "1", NULL, 0, 1);
}

static void closed(void)
{
    feedback_close(feedback);
    arena_deinit(&arena);
}

static void predicted_by(const struct engine_info *info, const struct engine_result *result,
                         const char *id)
{
    const struct answer answer = {
        .model_name = "marks", .model_version = "1", .info = info, .result = *result};
    const struct prediction_record record = {.id = id, .answer = &answer};
    const struct observer observer = feedback_observer(feedback);
    observer.prediction(observer.context, &record);
    if (audit != NULL)
        ck_assert_int_eq(audit_predictions(audit, &record, 1, &err), ERR_OK);
}

/* text: NULL: none was found that obeys the rules. */
static void wrote(const char *id, const char *text, enum decision decision)
{
    const struct engine_text best = {
        .text = text, .len = text != NULL ? strlen(text) : 0, .confidence = 0.5F};
    const struct engine_result result = {.task = ENGINE_GENERATE,
                                         .texts = &best,
                                         .text_count = text != NULL,
                                         .broken_rule = "pattern",
                                         .judgement.decision = decision};
    predicted_by(&writer, &result, id);
}

static struct feedback_item give(const char *id, const char *output)
{
    struct feedback_item item = {.id = id, .output = output};
    err = (struct err){0};
    feedback_give(feedback, &item, 1, &arena, &err);
    return item;
}

static struct feedback_accuracy accuracy(void)
{
    struct feedback_accuracy out;
    struct err failed = {0};
    ck_assert_int_eq(feedback_accuracy(feedback, "marks", "1", true, &arena, &out, &failed),
                     ERR_OK);
    return out;
}

static void expect(const struct feedback_share *share, uint64_t right, uint64_t count,
                   uint64_t edits, uint64_t characters)
{
    ck_assert_uint_eq(share->right, right);
    ck_assert_uint_eq(share->count, count);
    ck_assert_uint_eq(share->edits, edits);
    ck_assert_uint_eq(share->characters, characters);
}

/* ---- one text ---- */

START_TEST(a_right_text_is_compared_to_the_last_character)
{
    opened(10);
    wrote("a", "W12-07", DECISION_REVIEW);
    wrote("b", "W12-08", DECISION_AUTO);
    struct feedback_item right = give("a", "W12-07"), wrong = give("b", "W12-06 x");
    ck_assert(right.err.code == ERR_OK && right.is_correct && right.is_text && right.edits == 0);
    ck_assert_str_eq(right.predicted, "W12-07");
    ck_assert_ptr_null(right.replaced);
    ck_assert(wrong.err.code == ERR_OK && !wrong.is_correct);
    ck_assert_uint_eq(wrong.edits, 3);
    const struct feedback_accuracy now = accuracy();
    ck_assert(now.has_texts && now.class_count == 0 && now.pair_count == 0);
    expect(&now.all, 1, 2, 3, 14);
    expect(&now.by_decision[DECISION_REVIEW], 1, 1, 0, 6);
    expect(&now.by_decision[DECISION_AUTO], 0, 1, 3, 8);
    closed();
}
END_TEST

START_TEST(a_second_text_replaces_the_first_and_one_is_taken_back)
{
    opened(10);
    wrote("a", "W12", DECISION_REVIEW);
    give("a", "W13");
    struct feedback_item second = give("a", "W12");
    ck_assert_str_eq(second.replaced, "W13");
    ck_assert(second.is_correct);
    struct feedback_accuracy now = accuracy();
    expect(&now.all, 1, 1, 0, 3);
    struct feedback_item removed = give("a", NULL);
    ck_assert_int_eq(removed.err.code, ERR_OK);
    ck_assert(removed.is_text);
    ck_assert_str_eq(removed.replaced, "W12");
    ck_assert_str_eq(removed.predicted, "W12");
    now = accuracy();
    expect(&now.all, 0, 0, 0, 0);
    ck_assert_int_eq(give("a", NULL).err.code, ERR_NOT_FOUND);
    closed();
}
END_TEST

START_TEST(a_text_that_was_not_written_is_never_right)
{
    opened(10);
    wrote("a", NULL, DECISION_UNKNOWN);
    struct feedback_item item = give("a", "W12");
    ck_assert(item.err.code == ERR_OK && !item.is_correct && item.predicted == NULL);
    ck_assert_uint_eq(item.edits, 3);
    item = give("a", "");
    ck_assert(item.err.code == ERR_OK && !item.is_correct && item.edits == 0);
    wrote("b", "", DECISION_REVIEW); /* an empty text was */
    ck_assert(give("b", "").is_correct);
    closed();
}
END_TEST

START_TEST(a_text_of_the_same_call_replaces_the_one_before)
{
    struct feedback_item items[] = {{.id = "a", .output = "W13"}, {.id = "a", .output = "W14"}};
    opened(10);
    wrote("a", "W12", DECISION_REVIEW);
    ck_assert_int_eq(feedback_give(feedback, items, 2, &arena, &err), ERR_OK);
    ck_assert_str_eq(items[1].replaced, "W13");
    const struct feedback_accuracy now = accuracy();
    expect(&now.all, 0, 1, 1, 3);
    closed();
}
END_TEST

START_TEST(an_id_that_is_written_under_again_has_no_text_yet)
{
    opened(10);
    wrote("a", "W12", DECISION_REVIEW);
    give("a", "W12");
    wrote("a", "W99", DECISION_REVIEW);
    struct feedback_item item = give("a", "W98");
    ck_assert_ptr_null(item.replaced);
    ck_assert_str_eq(item.predicted, "W99");
    const struct feedback_accuracy now = accuracy();
    expect(&now.all, 1, 2, 1, 6);
    closed();
}
END_TEST

/* ---- what is refused ---- */

START_TEST(a_right_answer_of_the_wrong_kind_is_refused_by_name)
{
    const char *set[] = {"Center"};
    struct feedback_item one = {.id = "text", .label = "Center"},
                         many = {.id = "text", .labels = {set, 1}},
                         fresh = {.id = "text", .output = "W12", .is_new = true};
    opened(10);
    wrote("text", "W12", DECISION_REVIEW);
    predicted_by(&classifier, &(struct engine_result){.judgement.decision = DECISION_REVIEW},
                 "label");
    feedback_give(feedback, &one, 1, &arena, &err);
    ck_assert_str_eq(one.err.text, "label: the answer is a text: send the right one as \"output\"");
    feedback_give(feedback, &many, 1, &arena, &err);
    ck_assert_str_eq(many.err.text,
                     "labels: the answer is a text: send the right one as \"output\"");
    feedback_give(feedback, &fresh, 1, &arena, &err);
    ck_assert_str_eq(fresh.err.text, "new: a right text is always one of its own");
    ck_assert_str_eq(give("label", "W12").err.text,
                     "output: the answer is no text: send \"label\"");
    ck_assert_int_eq(one.err.code, ERR_UNUSABLE);
    closed();
}
END_TEST

START_TEST(a_text_that_is_too_long_is_not_remembered)
{
    static char text[LIMIT_OUTPUT_BYTES + 2];
    opened(10);
    memset(text, 'x', LIMIT_OUTPUT_BYTES + 1);
    wrote("long", text, DECISION_REVIEW);
    ck_assert_int_eq(give("long", "x").err.code, ERR_NOT_FOUND);
    text[LIMIT_OUTPUT_BYTES] = '\0';
    wrote("longest", text, DECISION_REVIEW);
    ck_assert(give("longest", text).is_correct);
    closed();
}
END_TEST

/* ---- memory ---- */

START_TEST(the_oldest_texts_are_forgotten_where_all_take_too_much)
{
    enum { EACH = 4096, COUNT = 100 };
    static char text[EACH + 1];
    unsigned known = 0;
    char id[16];
    opened(COUNT);
    memset(text, 'x', EACH);
    for (unsigned i = 0; i < COUNT; i++) {
        snprintf(id, sizeof id, "%u", i);
        wrote(id, text, DECISION_REVIEW);
    }
    ck_assert_uint_le(feedback->text_bytes[FEEDBACK_WINDOW], feedback_text_bytes(COUNT));
    for (unsigned i = 0; i < COUNT; i++) {
        snprintf(id, sizeof id, "%u", i);
        known += give(id, "x").err.code == ERR_OK;
    }
    ck_assert_uint_eq(known,
                      feedback_text_bytes(COUNT) / (sizeof(struct feedback_text) + EACH + 1));
    ck_assert_int_eq(give("0", "x").err.code, ERR_NOT_FOUND);
    ck_assert_int_eq(give("99", "x").err.code, ERR_OK);
    closed();
}
END_TEST

/* A text that nobody holds any more is freed: AddressSanitizer sees what is not. */
START_TEST(texts_go_with_their_last_holder)
{
    char id[16];
    opened(4);
    for (unsigned i = 0; i < 40; i++) {
        snprintf(id, sizeof id, "%u", i % 7);
        wrote(id, i % 5 == 0 ? NULL : "W12", DECISION_REVIEW);
        give(id, i % 3 == 0 ? "W12" : "W13");
        if (i % 4 == 0)
            give(id, NULL);
    }
    ck_assert_uint_eq(feedback->text_bytes[FEEDBACK_CALL], 0);
    window_drop_version(&feedback->window, 0);
    window_drop_version(&feedback->given, 0);
    ck_assert_uint_eq(feedback->text_bytes[FEEDBACK_WINDOW], 0);
    ck_assert_uint_eq(feedback->text_bytes[FEEDBACK_GIVEN_LABELS], 0);
    closed();
}
END_TEST

START_TEST(a_right_text_outlives_its_prediction)
{
    struct feedback_given given;
    const char *label;
    uint64_t key[2];
    opened(2);
    wrote("a", "W12", DECISION_REVIEW);
    give("a", "W13");
    wrote("b", "x", DECISION_REVIEW);
    wrote("c", "x", DECISION_REVIEW);
    ck_assert_int_eq(give("a", "W14").err.code, ERR_NOT_FOUND);
    feedback_key(feedback, "a", 0, key);
    ck_assert(feedback_given(feedback, key, &arena, &given, &err));
    ck_assert(given.is_text);
    ck_assert_str_eq(given.label, "W13");
    ck_assert_int_eq(feedback_label_of(feedback, "a", 0, &arena, &label), FEEDBACK_LABELLED);
    ck_assert_str_eq(label, "W13");
    closed();
}
END_TEST

/* ---- metrics ---- */

START_TEST(texts_have_an_exact_share_and_an_error_rate)
{
    char text[1024] = "";
    struct metrics *metrics = metrics_samples_open();
    opened(10);
    wrote("a", "W12", DECISION_REVIEW);
    wrote("b", "W34", DECISION_REVIEW);
    give("a", "W12");
    give("b", "W35 ");
    feedback_register(feedback, metrics);
    metrics_samples_add(metrics, "attnd_feedback_total", text, sizeof text);
    metrics_samples_add(metrics, "attnd_accuracy_ratio", text, sizeof text);
    metrics_samples_add(metrics, "attnd_character_error_ratio", text, sizeof text);
    metrics_close(metrics);
    ck_assert_ptr_nonnull(strstr(text, "attnd_feedback_total{model=\"marks\",version=\"1\","
                                       "label=\"texts\",predicted=\"texts\"} 1\n"));
    ck_assert_ptr_nonnull(strstr(text, "attnd_feedback_total{model=\"marks\",version=\"1\","
                                       "label=\"other\",predicted=\"texts\"} 1\n"));
    ck_assert_msg(strstr(text, "attnd_accuracy_ratio{model=\"marks\",version=\"1\"} 0.5\n"
                               "attnd_character_error_ratio{model=\"marks\",version=\"1\"} "
                               "0.285714285714286\n") != NULL,
                  "%s", text);
    closed();
}
END_TEST

/* ---- the audit log ---- */

static void audit_begun(bool is_first)
{
    if (is_first)
        tempdir_open(&dir);
    err = (struct err){0};
    ck_assert_msg(audit_open(&audit,
                             &(struct audit_options){
                                 .dir = dir.path, .refuse = true, .rotate_bytes = 1 << 20},
                             &err) == ERR_OK,
                  "%s", err.text);
}

static void audit_ended(bool is_last)
{
    audit_close(audit);
    audit = NULL;
    if (is_last)
        tempdir_close(&dir);
}

static void reopened(unsigned window)
{
    closed();
    audit_ended(false);
    audit_begun(false);
    opened(window);
    pthread_join(feedback->reader, NULL);
    feedback->has_reader = false;
}

START_TEST(texts_and_right_texts_come_back_after_a_restart)
{
    audit_begun(true);
    opened(10);
    wrote("right", "D\xC3\xBCse \"1\"\n\tend", DECISION_AUTO);
    wrote("wrong", "W34", DECISION_REVIEW);
    wrote("none", NULL, DECISION_UNKNOWN);
    wrote("back", "W56", DECISION_REVIEW);
    wrote("open", "W78", DECISION_REVIEW);
    ck_assert(give("right", "D\xC3\xBCse \"1\"\n\tend").is_correct);
    give("wrong", "W35 ");
    give("none", "W9");
    give("back", "W56");
    give("back", NULL);
    reopened(10);
    struct feedback_accuracy now = accuracy();
    ck_assert(now.has_texts);
    expect(&now.all, 1, 3, 4, 19);
    expect(&now.by_decision[DECISION_AUTO], 1, 1, 0, 13);
    expect(&now.by_decision[DECISION_UNKNOWN], 0, 1, 2, 2);
    struct feedback_item item = give("wrong", "W34");
    ck_assert_str_eq(item.replaced, "W35 ");
    ck_assert(item.is_correct);
    ck_assert(give("open", "W78").is_correct);
    ck_assert_ptr_null(give("back", "W56").replaced);
    now = accuracy();
    expect(&now.all, 4, 5, 2, 24);
    closed();
    audit_ended(true);
}
END_TEST

/* A label of the log is remembered longer than its prediction. */
START_TEST(a_right_text_comes_back_though_its_prediction_left_the_window)
{
    struct feedback_given given;
    uint64_t key[2];
    audit_begun(true);
    opened(10);
    wrote("a", "W12", DECISION_REVIEW);
    wrote("b", "x", DECISION_REVIEW);
    give("a", "W13");
    wrote("c", "x", DECISION_REVIEW);
    reopened(1);
    feedback_key(feedback, "a", 0, key);
    ck_assert(feedback_given(feedback, key, &arena, &given, &err));
    ck_assert(given.is_text);
    ck_assert_str_eq(given.label, "W13");
    closed();
    audit_ended(true);
}
END_TEST

/* The limit holds while the log is read, too, whose last lines may be labels alone. */
START_TEST(right_texts_of_the_log_take_no_more_than_those_that_are_given)
{
    enum { EACH = 4096, COUNT = 30 };
    static char text[EACH + 1];
    char id[COUNT][4];
    struct feedback_accuracy before, after;
    audit_begun(true);
    opened(COUNT);
    memset(text, 'x', EACH);
    for (unsigned i = 0; i < COUNT; i++) {
        snprintf(id[i], sizeof id[i], "%u", i);
        wrote(id[i], "x", DECISION_REVIEW);
    }
    for (unsigned i = 0; i < COUNT; i++)
        ck_assert_int_eq(give(id[i], text).err.code, ERR_OK);
    const size_t bytes = feedback->text_bytes[FEEDBACK_WINDOW];
    ck_assert_uint_le(bytes, feedback_text_bytes(COUNT));
    before = accuracy();
    reopened(COUNT);
    ck_assert_uint_eq(feedback->text_bytes[FEEDBACK_WINDOW], bytes);
    after = accuracy();
    expect(&after.all, 0, COUNT, before.all.edits, before.all.characters);
    ck_assert_int_eq(give(id[0], "x").err.code, ERR_NOT_FOUND);
    ck_assert_int_eq(give(id[COUNT - 1], "x").err.code, ERR_OK);
    closed();
    audit_ended(true);
}
END_TEST

/* Lines of texts that a version before wrote have no "output", and their ids are unknown. */
START_TEST(lines_of_before_are_read_as_they_were)
{
    static const char *const lines[] = {
        "\"type\":\"prediction\",\"id\":\"old\",\"index\":0,\"model\":\"marks\",\"version\":\"1\","
        "\"decision\":\"review\"",
        "\"type\":\"prediction\",\"id\":\"cut\",\"index\":0,\"model\":\"marks\",\"version\":\"1\","
        "\"output\":\"W1\",\"decision\":\"review\",\"cut\":true",
        "\"type\":\"prediction\",\"id\":\"label\",\"index\":0,\"model\":\"marks\",\"version\":"
        "\"1\",\"label\":\"Donut\",\"decision\":\"review\"",
        "\"type\":\"feedback\",\"id\":\"label\",\"index\":0,\"model\":\"marks\",\"version\":\"1\","
        "\"predicted\":\"Donut\",\"label\":\"Donut\",\"decision\":\"review\"",
        /* no program writes a text and a set */
        "\"type\":\"prediction\",\"id\":\"both\",\"index\":0,\"model\":\"marks\",\"version\":\"1\","
        "\"output\":\"W1\",\"labels\":[\"Donut\"],\"decision\":\"review\""};
    audit_begun(true);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        audit_append(audit, &(struct audit_members){lines[i], strlen(lines[i])}, 1, &err);
    audit_ended(false);
    audit_begun(false);
    opened(10);
    pthread_join(feedback->reader, NULL);
    feedback->has_reader = false;
    ck_assert_int_eq(give("old", "W12").err.code, ERR_NOT_FOUND);
    ck_assert_int_eq(give("cut", "W12").err.code, ERR_NOT_FOUND);
    ck_assert_str_eq(give("both", "W2").predicted, "W1");
    struct feedback_item removed = give("label", NULL);
    ck_assert_str_eq(removed.replaced, "Donut");
    ck_assert(!removed.is_text);
    closed();
    audit_ended(true);
}
END_TEST

START_TEST(texts_that_the_audit_log_refuses_leave_what_was_before)
{
    struct feedback_item items[] = {
        {.id = "a", .output = "W13"}, {.id = "b", .output = "W34"}, {.id = "a", .output = "W14"}};
    struct rlimit before, limit;
    audit_begun(true);
    opened(10);
    wrote("a", "W12", DECISION_REVIEW);
    wrote("b", "W34", DECISION_REVIEW);
    give("a", "W12 ");
    getrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, SIG_IGN);
    limit = before;
    limit.rlim_cur = 1;
    setrlimit(RLIMIT_FSIZE, &limit);
    const enum err_code code = feedback_give(feedback, items, 3, &arena, &err);
    const enum err_code removing =
        feedback_give(feedback, &(struct feedback_item){.id = "a"}, 1, &arena, &(struct err){0});
    setrlimit(RLIMIT_FSIZE, &before);
    ck_assert(code == ERR_NOT_READY && removing == ERR_NOT_READY);
    const struct feedback_accuracy now = accuracy();
    expect(&now.all, 0, 1, 1, 4);
    ck_assert_uint_eq(feedback->text_bytes[FEEDBACK_CALL], 0);
    ck_assert_str_eq(give("a", "W12").replaced, "W12 ");
    ck_assert_ptr_null(give("b", "W34").replaced);
    closed();
    audit_ended(true);
}
END_TEST

START_TEST(the_log_has_the_digest_of_a_text_that_is_too_long)
{
    static char text[LIMIT_OUTPUT_BYTES + 2], line[1024];
    char **paths;
    size_t count;
    audit_begun(true);
    opened(10);
    memset(text, 'x', LIMIT_OUTPUT_BYTES + 1);
    wrote("long", text, DECISION_REVIEW);
    closed();
    audit_ended(false);
    ck_assert_int_eq(audit_files_list(&paths, &count, dir.path, &err), ERR_OK);
    FILE *file = fopen(paths[0], "r");
    while (fgets(line, sizeof line, file) != NULL && strstr(line, "\"long\"") == NULL)
        continue;
    fclose(file);
    ck_assert_msg(strstr(line, ",\"output_digest\":\"sha256:") != NULL, "%s", line);
    ck_assert_ptr_null(strstr(line, "\"output\""));
    audit_files_free(paths, count);
    tempdir_close(&dir);
}
END_TEST

/* Every byte of three texts is escaped, as far as it may. */
START_TEST(the_longest_texts_fit_into_their_line)
{
    static char written[LIMIT_OUTPUT_BYTES + 1], right[LIMIT_OUTPUT_BYTES + 1];
    static const char tag[] = "\xF3\xA0\x80\x81"; /* U+E0001, which is escaped as two */
    memset(written, 1, LIMIT_OUTPUT_BYTES);
    for (unsigned i = 0; i < LIMIT_OUTPUT_BYTES; i++)
        right[i] = tag[i % 4];
    audit_begun(true);
    opened(10);
    wrote("a", written, DECISION_REVIEW);
    ck_assert_int_eq(give("a", right).err.code, ERR_OK);
    struct feedback_item again = give("a", right);
    ck_assert_int_eq(again.err.code, ERR_OK);
    ck_assert_str_eq(again.replaced, right);
    reopened(10);
    again = give("a", written + 1);
    ck_assert_str_eq(again.predicted, written);
    ck_assert_str_eq(again.replaced, right);
    closed();
    audit_ended(true);
}
END_TEST

SUITE("feedback_texts", a_right_text_is_compared_to_the_last_character,
      a_second_text_replaces_the_first_and_one_is_taken_back,
      a_text_that_was_not_written_is_never_right, a_text_of_the_same_call_replaces_the_one_before,
      an_id_that_is_written_under_again_has_no_text_yet,
      a_right_answer_of_the_wrong_kind_is_refused_by_name,
      a_text_that_is_too_long_is_not_remembered,
      the_oldest_texts_are_forgotten_where_all_take_too_much, texts_go_with_their_last_holder,
      a_right_text_outlives_its_prediction, texts_have_an_exact_share_and_an_error_rate,
      texts_and_right_texts_come_back_after_a_restart,
      right_texts_of_the_log_take_no_more_than_those_that_are_given,
      a_right_text_comes_back_though_its_prediction_left_the_window,
      texts_that_the_audit_log_refuses_leave_what_was_before,
      the_log_has_the_digest_of_a_text_that_is_too_long, lines_of_before_are_read_as_they_were,
      the_longest_texts_fit_into_their_line)
