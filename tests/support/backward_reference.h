/* backward_reference.h - the oracle of every gradient in engine/tensor/backward/backward.h. */
#ifndef ATTND_TESTS_SUPPORT_BACKWARD_REFERENCE_H
#define ATTND_TESTS_SUPPORT_BACKWARD_REFERENCE_H

#include "engine/tensor/backward/backward.h"

extern const struct backward backward_reference;

#endif
