#include "tests/support/labels_model.h"

#include "tests/support/checkpoint_writer.h"

#include <check.h>

#include <stdio.h>

struct engine_model *labels_model_open(const char *const *labels, unsigned count)
{
    static struct checkpoint_writer writer;
    struct engine_model *model;
    struct err err = {0};
    char config[8192];
    int len = snprintf(config, sizeof config,
                       "{\"model_type\": \"bert\", \"hidden_size\": 16, \"num_hidden_layers\": 1, "
                       "\"num_attention_heads\": 2, \"intermediate_size\": 24, \"vocab_size\": 40, "
                       "\"max_position_embeddings\": 32, \"id2label\": {");
    for (unsigned i = 0; i < count; i++)
        len += snprintf(config + len, sizeof config - (size_t)len, "%s\"%u\": \"%.64s\"",
                        i > 0 ? ", " : "", i, labels[i]);
    snprintf(config + len, sizeof config - (size_t)len, "}}");
    checkpoint_writer_open(&writer);
    checkpoint_writer_file(&writer, "config.json", config);
    checkpoint_writer_bert(&writer, 16, 1, 24, 40, 32, count);
    checkpoint_writer_finish(&writer);
    ck_assert_msg(!engine_open(&model, writer.dir, &(struct engine_options){0}, &err), "%s",
                  err.text);
    checkpoint_writer_close(&writer);
    return model;
}
