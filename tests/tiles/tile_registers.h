/* The statements of engine/tensor/tile_registers.h by the model in plain C. The including file
 * includes a file of the product then, which is compiled as it is. */
#define ATTND_ENGINE_TENSOR_TILE_REGISTERS_H /* in its place */

#include "tests/support/tile_model.h"

#define CONFIGURE(config) tile_model_configure(&(config))
#define RELEASE tile_model_release
#define ZERO tile_model_zero
#define LOAD tile_model_load
#define LOAD_ONCE tile_model_load
#define STORE tile_model_store
#define DOT_BYTES tile_model_dot_bytes
#define DOT_BF16 tile_model_dot_bf16
