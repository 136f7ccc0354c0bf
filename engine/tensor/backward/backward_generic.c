/* The gradients for any CPU of the architecture. */
#define BACKWARD backward_generic
#define NAME "generic"
#define VECTOR_BYTES 16
#include "engine/tensor/backward/backward_body.h"
