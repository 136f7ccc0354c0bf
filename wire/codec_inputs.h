/* codec_inputs.h - how many elements the member "inputs" of a JSON body has, without a parser: of a
 * body with more tokens than the parser takes. Threads: no state. */
#ifndef ATTND_WIRE_CODEC_INPUTS_H
#define ATTND_WIRE_CODEC_INPUTS_H

#include <stddef.h>

/* 0 if there is no such array at the top of the object; of what is not JSON, any number. */
size_t codec_inputs_count(const char *text, size_t len);

#endif
