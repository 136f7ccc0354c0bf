#include "tests/unit/engine/tensor/gemm/test_product.c"
