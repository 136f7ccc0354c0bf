/* checkpoint_writer.h - writes small checkpoint directories for tests: a config.json, a vocabulary,
 * and a model.safetensors of named fp32 tensors, sound or deliberately wrong. */
#ifndef ATTND_TESTS_SUPPORT_CHECKPOINT_WRITER_H
#define ATTND_TESTS_SUPPORT_CHECKPOINT_WRITER_H

#include <stddef.h>

struct checkpoint_writer {
    char dir[64]; /* fresh, under /tmp */
    char header[64 * 1024];
    size_t header_len;
    float *data;
    size_t count;
    /* A tensor of this name is left out, or written with a shape or dtype of its own. NULL: none.
     */
    const char *leave_out, *misshape, *mistype;
    /* A tensor of this name has 16 bits a number: of this dtype, "F16" or "BF16". Its numbers are
     * then even in number, and lie two in a float of data. */
    const char *halved, *halved_dtype;
};

void checkpoint_writer_open(struct checkpoint_writer *writer);
/* Adds a tensor of seeded small numbers; dims end at the first 0. */
void checkpoint_writer_add(struct checkpoint_writer *writer, const char *name, size_t d0,
                           size_t d1);
void checkpoint_writer_file(const struct checkpoint_writer *writer, const char *name,
                            const char *text);
/* Every tensor of a BERT classifier with the given sizes, and its vocabulary. */
void checkpoint_writer_bert(struct checkpoint_writer *writer, size_t hidden, size_t layers,
                            size_t intermediate, size_t vocab, size_t positions, size_t labels);
/* Writes model.safetensors. */
void checkpoint_writer_finish(struct checkpoint_writer *writer);
/* Removes the directory. */
void checkpoint_writer_close(struct checkpoint_writer *writer);

#endif
