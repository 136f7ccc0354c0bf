#include "tests/unit/engine/tensor/gemm/test_gemm.c"
