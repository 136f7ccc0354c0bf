/* input_window.h - a window of a text or a view of an image as a separate input, for callers that
 * run them one by one; part of engine.h's interface. Threads: a pure function.
 */
#ifndef ATTND_ENGINE_MODEL_INPUT_WINDOW_H
#define ATTND_ENGINE_MODEL_INPUT_WINDOW_H

#include "engine/model/input.h"

/* Returns window `window` of engine_input_windows(input); its arrays and its capture are the
 * input's. An input without windows is returned unchanged. */
struct engine_input engine_input_window(const struct engine_input *input, unsigned window);

#endif
