/* input_window.c - see input.h; it knows the size of a capture, which input.h does not. */
#include "engine/model/input.h"

#include "engine/model/capture.h"

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
