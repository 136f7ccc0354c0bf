/* The gradients for AVX-512: 32 registers of 16 floats. */
#pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl,fma,prefer-vector-width=512")

#define BACKWARD backward_avx512
#define NAME "avx512"
#define VECTOR_BYTES 64
#include "engine/tensor/backward/backward_body.h"
