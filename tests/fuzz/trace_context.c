/* traceparent and tracestate. An accepted header is written again as a header of version 00 that
 * reads as the same trace. A state is accepted without the blanks around it. */
#include "server/observe/trace_context.h"

#include "tests/fuzz/driver/fuzz.h"

#include <stdlib.h>
#include <string.h>

static void check_header(const char *header)
{
    struct trace_context trace, again;
    char written[TRACE_HEADER_BYTES];
    if (!trace_context_parse(&trace, header)) {
        FUZZ_CLAIM(trace.trace_id[0] == '\0' && trace.parent_id[0] == '\0' && !trace.is_sampled);
        return;
    }
    FUZZ_CLAIM(strlen(trace.trace_id) == TRACE_ID_DIGITS);
    FUZZ_CLAIM(strspn(trace.trace_id, "0") < TRACE_ID_DIGITS);
    FUZZ_CLAIM(strlen(trace.parent_id) == SPAN_ID_DIGITS);
    FUZZ_CLAIM(strstr(header, trace.trace_id) != NULL && strstr(header, trace.parent_id) != NULL);
    trace_context_begin_span(&trace, (uint64_t)strlen(header));
    trace_context_write(&trace, written);
    FUZZ_CLAIM(strlen(written) == TRACE_HEADER_BYTES - 1);
    FUZZ_CLAIM(trace_context_parse(&again, written));
    FUZZ_CLAIM(strcmp(again.trace_id, trace.trace_id) == 0);
    FUZZ_CLAIM(strcmp(again.parent_id, trace.span_id) == 0);
    FUZZ_CLAIM(again.is_sampled == trace.is_sampled);
}

static void check_state(const char *state)
{
    if (!trace_context_is_state(state))
        return;
    size_t len = strlen(state);
    FUZZ_CLAIM(len <= TRACE_STATE_BYTES && strchr(state, '=') != NULL);
    for (size_t i = 0; i < len; i++)
        FUZZ_CLAIM(state[i] == '\t' || (state[i] >= ' ' && state[i] <= '~'));
    char *twice = malloc(2 * len + 2);
    FUZZ_CLAIM(twice != NULL);
    memcpy(twice, state, len);
    twice[len] = ',';
    memcpy(twice + len + 1, state, len + 1);
    FUZZ_CLAIM(!trace_context_is_state(twice)); /* each key is there twice */
    free(twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    char *text = fuzz_part(&input, '\0', NULL);
    check_header(text);
    check_state(text);
    free(text);
    return 0;
}
