/* checkpoint.h - the weights of a Hugging Face checkpoint directory: one model.safetensors, or the
 * shards that model.safetensors.index.json names, seen as one set of tensors.
 *
 * A tensor in two shards, an index entry whose tensor is not in the shard it names, and a shard
 * name that is not a plain file name of the directory are refused. Threads: immutable after open.
 */
#ifndef ATTND_ENGINE_FORMAT_CHECKPOINT_H
#define ATTND_ENGINE_FORMAT_CHECKPOINT_H

#include "engine/base/err.h"
#include "engine/format/safetensors.h"

struct checkpoint;

/* Error texts start with the file's name inside the directory. Yours to close. */
enum err_code checkpoint_open(struct checkpoint **out, const char *dir, struct err *err);
void checkpoint_close(struct checkpoint *checkpoint);

/* Tensors of all shards, sorted by name. find: NULL if there is none. */
size_t checkpoint_count(const struct checkpoint *checkpoint);
const struct tensor_info *checkpoint_at(const struct checkpoint *checkpoint, size_t index);
const struct tensor_info *checkpoint_find(const struct checkpoint *checkpoint, const char *name);

/* Same as safetensors_check_f32, _read_f32 and _read_halves, in the shard that holds the tensor;
 * errors name file and tensor. */
enum err_code checkpoint_check_f32(const struct checkpoint *checkpoint,
                                   const struct tensor_info *info, struct err *err);
enum err_code checkpoint_read_f32(const struct checkpoint *checkpoint,
                                  const struct tensor_info *info, size_t first, size_t count,
                                  float *out, struct err *err);
enum err_code checkpoint_read_halves(const struct checkpoint *checkpoint,
                                     const struct tensor_info *info, size_t first, size_t count,
                                     uint16_t *out, struct err *err);

/* Index of the file that holds the tensor. File and offset are its place in the checkpoint. */
unsigned checkpoint_file_of(const struct checkpoint *checkpoint, const struct tensor_info *info);

/* Paths of the weight files, sorted by name: a digest hashes them in this order. */
unsigned checkpoint_file_count(const struct checkpoint *checkpoint);
const char *checkpoint_file_path(const struct checkpoint *checkpoint, unsigned index);

#endif
