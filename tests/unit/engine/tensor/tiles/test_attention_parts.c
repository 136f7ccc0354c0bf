#include "tests/unit/engine/tensor/test_attention_parts.c"
