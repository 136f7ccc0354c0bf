#include "tests/unit/engine/tensor/linear/test_linear.c"
