/* The gradients for AVX2 with FMA: 16 registers of 8 floats. */
#pragma GCC target("avx2,fma")

#define BACKWARD backward_avx2
#define NAME "avx2"
#define VECTOR_BYTES 32
#include "engine/tensor/backward/backward_body.h"
