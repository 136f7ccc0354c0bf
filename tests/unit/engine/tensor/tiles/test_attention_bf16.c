#include "tests/unit/engine/tensor/test_attention_bf16.c"
