/* input_window.c - see input.h; it knows the size of a capture, which input.h does not. */
#include "engine/model/input.h"

#include "engine/model/capture.h"

#include <limits.h>

struct engine_input engine_input_window(const struct engine_input *input, unsigned window)
{
    struct engine_input out = *input;
    if (input->windows == 0)
        return out;
    const unsigned at = input->window_offset[window];
    out.tokens = engine_input_tokens(input, window, 1);
    if (input->ids != NULL)
        out.ids += at;
    if (input->patches != NULL)
        out.patches += window * input->view_numbers;
    if (input->types != NULL)
        out.types += at;
    if (input->starts != NULL) {
        out.starts += at;
        out.ends += at;
        out.continued += at;
    }
    out.windows = 0;
    out.window_offset = out.window_first = NULL;
    out.capture = input->capture != NULL ? input->capture + window : NULL;
    return out;
}

enum { SPECIALS = 2 }; /* of each window, one at each end */

/* The tokens around a token in one window: the fewer of both sides. */
static unsigned context(const struct engine_input *input, unsigned window, unsigned token)
{
    const unsigned first = input->window_first[window];
    const unsigned end = first + engine_input_tokens(input, window, 1) - SPECIALS;
    const unsigned left = window > 0 ? token - first : UINT_MAX;
    const unsigned right = window + 1 < input->windows ? end - 1 - token : UINT_MAX;
    return left < right ? left : right;
}

unsigned engine_input_token(const struct engine_input *input, unsigned token, unsigned *window)
{
    if (input->windows == 0)
        return 1 + token;
    while (*window + 1 < input->windows && input->window_first[*window + 1] <= token) {
        const unsigned end =
            input->window_first[*window] + engine_input_tokens(input, *window, 1) - SPECIALS;
        if (token < end && context(input, *window, token) >= context(input, *window + 1, token))
            break;
        ++*window;
    }
    return input->window_offset[*window] + 1 + (token - input->window_first[*window]);
}
