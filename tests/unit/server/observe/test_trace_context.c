/* traceparent and tracestate, as W3C Trace Context has them. */
#include "server/observe/trace_context.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRACE "0af7651916cd43dd8448eb211c80319c"
#define SPAN "b7ad6b7169203331"

START_TEST(a_valid_header_gives_trace_parent_and_flag)
{
    static const struct {
        const char *header;
        bool is_sampled;
    } cases[] = {
        {"00-" TRACE "-" SPAN "-01", true},
        {"00-" TRACE "-" SPAN "-00", false},
        {"00-" TRACE "-" SPAN "-02", false}, /* a flag of level 2 */
        {"00-" TRACE "-" SPAN "-ff", true},
        {"00-" TRACE "-" SPAN "-fe", false},
        {" \t00-" TRACE "-" SPAN "-01 \t", true},
        {"01-" TRACE "-" SPAN "-01", true}, /* later versions */
        {"cc-" TRACE "-" SPAN "-01-what the future will be like", true},
        {"cc-" TRACE "-" SPAN "-01-", true},
        {"fe-" TRACE "-" SPAN "-00-0", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct trace_context trace;
        ck_assert_msg(trace_context_parse(&trace, cases[i].header), "%s", cases[i].header);
        ck_assert_str_eq(trace.trace_id, TRACE);
        ck_assert_str_eq(trace.parent_id, SPAN);
        ck_assert_str_eq(trace.span_id, "");
        ck_assert_msg(trace.is_sampled == cases[i].is_sampled, "%s", cases[i].header);
        ck_assert_ptr_null(trace.state);
    }
}
END_TEST

START_TEST(any_other_header_is_ignored)
{
    static const char *const headers[] = {
        "",
        " ",
        "00",
        "00-" TRACE "-" SPAN,
        "00-" TRACE "-" SPAN "-",
        "00-" TRACE "-" SPAN "-1",
        "00-" TRACE "-" SPAN "-011",
        "00-" TRACE "-" SPAN "-01-", /* version 00 has no more */
        "00-" TRACE "-" SPAN "-01-more",
        "cc-" TRACE "-" SPAN "-01.more",
        "cc-" TRACE "-" SPAN "-011",
        "ff-" TRACE "-" SPAN "-01",
        "FF-" TRACE "-" SPAN "-01",
        "0-" TRACE "-" SPAN "-01",
        ".0-" TRACE "-" SPAN "-01",
        "000-" TRACE "-" SPAN "-01",
        "00_" TRACE "-" SPAN "-01",
        "00-" TRACE "_" SPAN "-01",
        "00-" TRACE "-" SPAN "_01",
        "00-00000000000000000000000000000000-" SPAN "-01",
        "00-" TRACE "-0000000000000000-01",
        "00-0AF7651916CD43DD8448EB211C80319C-" SPAN "-01",
        "00-" TRACE "-B7AD6B7169203331-01",
        "00-" TRACE "-" SPAN "-0A",
        "00-" TRACE "-" SPAN "-0x",
        "00-.af7651916cd43dd8448eb211c80319c-" SPAN "-01",
        "00-" TRACE "-b7ad6b716920333.-01",
        "00-0af7651916cd43dd8448eb211c80319-" SPAN "-01",
        "00-" TRACE "0-" SPAN "-01",
        "00-" TRACE "-b7ad6b716920333-01",
        "00-" TRACE "-" SPAN "0-01",
        "00-" TRACE "-" SPAN "-01,00-" TRACE "-" SPAN "-01",
        "00-" TRACE "- " SPAN "-01",
        "0\t-" TRACE "-" SPAN "-01",
        "00-" TRACE "-" SPAN "-0\n",
    };
    static const struct trace_context none;
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        struct trace_context trace;
        ck_assert_msg(!trace_context_parse(&trace, headers[i]), "%s", headers[i]);
        ck_assert_str_eq(trace.trace_id, none.trace_id);
        ck_assert(!trace.is_sampled);
    }
}
END_TEST

START_TEST(our_header_names_our_span_and_the_sampled_flag_alone)
{
    struct trace_context trace;
    char header[TRACE_HEADER_BYTES];
    ck_assert(trace_context_parse(&trace, "cc-" TRACE "-" SPAN "-ff-later"));
    trace_context_begin_span(&trace, 0x123456789abcdef);
    trace_context_write(&trace, header);
    ck_assert_str_eq(header, "00-" TRACE "-0123456789abcdef-01");
    ck_assert_str_eq(trace.parent_id, SPAN);
    trace.is_sampled = false;
    trace_context_write(&trace, header);
    ck_assert_str_eq(header, "00-" TRACE "-0123456789abcdef-00");
}
END_TEST

START_TEST(a_trace_that_begins_here_has_no_parent_and_is_sampled)
{
    const uint64_t random[3] = {0xfedcba9876543210, 1, 2};
    struct trace_context trace, again;
    char header[TRACE_HEADER_BYTES];
    trace_context_begin(&trace, random);
    ck_assert_str_eq(trace.parent_id, "");
    trace_context_write(&trace, header);
    ck_assert_str_eq(header, "00-fedcba98765432100000000000000001-0000000000000002-01");
    ck_assert(trace_context_parse(&again, header));
}
END_TEST

START_TEST(ids_are_never_zeros)
{
    const uint64_t random[3] = {0, 0, 0};
    struct trace_context trace, again;
    char header[TRACE_HEADER_BYTES];
    trace_context_begin(&trace, random);
    trace_context_write(&trace, header);
    ck_assert_msg(trace_context_parse(&again, header), "%s", header);
}
END_TEST

START_TEST(a_valid_state_passes)
{
    static const char *const states[] = {
        "rojo=00f067aa0ba902b7",
        "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE",
        " rojo=1 ,\tcongo=2\t",
        "a=1,,b=2,",
        ",a=1",
        "fw529a3039@dt=FfffffffOX",
        "0tenant@system=1",
        "a_-*/9=v",
        "a=!\"#$%&'()*+-./:;<>?@[\\]^_`{|}~",
        "a= inner blanks are values ,b=2",
    };
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++)
        ck_assert_msg(trace_context_is_state(states[i]), "%s", states[i]);
}
END_TEST

START_TEST(any_other_state_does_not)
{
    static const char *const states[] = {
        "",          " ",      ",",      " , ,",       "a",        "=1",    "a=",
        "a= ",       "A=1",    "0=1",    "a=1=2",      "a=1,a=2",  "a b=1", "a =1",
        "a=1;b=2,c", "a=\x7f", "a=\x1f", "a=\xc3\xa4", "\xc3=1",   "@s=1",  "t@=1",
        "t@s@u=1",   "t@0s=1", "t@S=1",  "a=1\nb=2",   "a=1,\"=2", "_a=1",  "t@abcdefghijklmno=1",
        "a\tb=1",    "a.b=1",
    };
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++)
        ck_assert_msg(!trace_context_is_state(states[i]), "%s", states[i]);
}
END_TEST

/* "<before><c repeated><after>"; in a static buffer. */
static const char *repeated(const char *before, char c, unsigned count, const char *after)
{
    static char text[2048];
    unsigned len = (unsigned)snprintf(text, sizeof text, "%s", before);
    memset(text + len, c, count);
    snprintf(text + len + count, sizeof text - len - count, "%s", after);
    return text;
}

START_TEST(a_state_is_held_to_its_limits)
{
    ck_assert(trace_context_is_state(repeated("", 'k', 256, "=1")));
    ck_assert(!trace_context_is_state(repeated("", 'k', 257, "=1")));
    ck_assert(trace_context_is_state(repeated("", 't', 241, "@s=1")));
    ck_assert(!trace_context_is_state(repeated("", 't', 242, "@s=1")));
    ck_assert(trace_context_is_state(repeated("t@", 's', 14, "=1")));
    ck_assert(!trace_context_is_state(repeated("t@", 's', 15, "=1")));
    ck_assert(trace_context_is_state(repeated("a=", 'v', 256, "")));
    ck_assert(!trace_context_is_state(repeated("a=", 'v', 257, "")));
    ck_assert(trace_context_is_state(repeated("a=1", ',', TRACE_STATE_BYTES - 3, "")));
    ck_assert(!trace_context_is_state(repeated("a=1", ',', TRACE_STATE_BYTES - 2, "")));
}
END_TEST

START_TEST(a_state_has_at_most_32_members)
{
    char state[TRACE_STATE_BYTES] = "";
    for (unsigned i = 0; i < TRACE_STATE_MEMBERS; i++)
        sprintf(state + strlen(state), "%sk%u=%u", i > 0 ? "," : "", i, i);
    ck_assert(trace_context_is_state(state));
    strcat(state, ",");
    ck_assert(trace_context_is_state(state));
    strcat(state, "more=1");
    ck_assert(!trace_context_is_state(state));
}
END_TEST

SUITE("trace_context", a_valid_header_gives_trace_parent_and_flag, any_other_header_is_ignored,
      our_header_names_our_span_and_the_sampled_flag_alone,
      a_trace_that_begins_here_has_no_parent_and_is_sampled, ids_are_never_zeros,
      a_valid_state_passes, any_other_state_does_not, a_state_is_held_to_its_limits,
      a_state_has_at_most_32_members)
