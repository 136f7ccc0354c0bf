/* checkpoints.c - see checkpoints.h. The tensors are a table of names and symbolic shapes; those of
 * a block are repeated for each layer. The file is written in one pass over the table for the
 * header and one for the numbers: a megabyte of small noise, drawn once and repeated, or ones for
 * the norms. It gets its name only when it is whole, so an interrupted run leaves nothing that
 * looks finished. The vocabulary is the five special tokens and words of four letters, so that a
 * word is always one token.
 */
#include "tests/bench/checkpoints.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NOISE_NUMBERS = 1 << 18, PATH_BYTES = 512, HEADER_BYTES = 1 << 16 };

const struct checkpoint_size checkpoints_base = {.layers = 12,
                                                 .hidden = 768,
                                                 .heads = 12,
                                                 .intermediate = 3072,
                                                 .vocab = 30522,
                                                 .positions = 512,
                                                 .labels = 10,
                                                 .image = 224,
                                                 .patch = 16};

/* Each letter is a dimension: D hidden, F intermediate, V vocabulary, P positions, L labels, 1 and
 * 2 themselves, C channels, K patch side, T image tokens. '%u' in a name is the layer. */
struct row {
    const char *name, *shape;
};

static const struct row bert[] = {
    {"bert.embeddings.word_embeddings.weight", "VD"},
    {"bert.embeddings.position_embeddings.weight", "PD"},
    {"bert.embeddings.token_type_embeddings.weight", "2D"},
    {"bert.embeddings.LayerNorm.weight", "D"},
    {"bert.embeddings.LayerNorm.bias", "D"},
    {"bert.encoder.layer.%u.attention.self.query.weight", "DD"},
    {"bert.encoder.layer.%u.attention.self.query.bias", "D"},
    {"bert.encoder.layer.%u.attention.self.key.weight", "DD"},
    {"bert.encoder.layer.%u.attention.self.key.bias", "D"},
    {"bert.encoder.layer.%u.attention.self.value.weight", "DD"},
    {"bert.encoder.layer.%u.attention.self.value.bias", "D"},
    {"bert.encoder.layer.%u.attention.output.dense.weight", "DD"},
    {"bert.encoder.layer.%u.attention.output.dense.bias", "D"},
    {"bert.encoder.layer.%u.attention.output.LayerNorm.weight", "D"},
    {"bert.encoder.layer.%u.attention.output.LayerNorm.bias", "D"},
    {"bert.encoder.layer.%u.intermediate.dense.weight", "FD"},
    {"bert.encoder.layer.%u.intermediate.dense.bias", "F"},
    {"bert.encoder.layer.%u.output.dense.weight", "DF"},
    {"bert.encoder.layer.%u.output.dense.bias", "D"},
    {"bert.encoder.layer.%u.output.LayerNorm.weight", "D"},
    {"bert.encoder.layer.%u.output.LayerNorm.bias", "D"},
    {"bert.pooler.dense.weight", "DD"},
    {"bert.pooler.dense.bias", "D"},
    {"classifier.weight", "LD"},
    {"classifier.bias", "L"},
    {NULL, NULL},
};

static const struct row vit[] = {
    {"vit.embeddings.cls_token", "11D"},
    {"vit.embeddings.position_embeddings", "1TD"},
    {"vit.embeddings.patch_embeddings.projection.weight", "DCKK"},
    {"vit.embeddings.patch_embeddings.projection.bias", "D"},
    {"vit.encoder.layer.%u.attention.attention.query.weight", "DD"},
    {"vit.encoder.layer.%u.attention.attention.query.bias", "D"},
    {"vit.encoder.layer.%u.attention.attention.key.weight", "DD"},
    {"vit.encoder.layer.%u.attention.attention.key.bias", "D"},
    {"vit.encoder.layer.%u.attention.attention.value.weight", "DD"},
    {"vit.encoder.layer.%u.attention.attention.value.bias", "D"},
    {"vit.encoder.layer.%u.attention.output.dense.weight", "DD"},
    {"vit.encoder.layer.%u.attention.output.dense.bias", "D"},
    {"vit.encoder.layer.%u.intermediate.dense.weight", "FD"},
    {"vit.encoder.layer.%u.intermediate.dense.bias", "F"},
    {"vit.encoder.layer.%u.output.dense.weight", "DF"},
    {"vit.encoder.layer.%u.output.dense.bias", "D"},
    {"vit.encoder.layer.%u.layernorm_before.weight", "D"},
    {"vit.encoder.layer.%u.layernorm_before.bias", "D"},
    {"vit.encoder.layer.%u.layernorm_after.weight", "D"},
    {"vit.encoder.layer.%u.layernorm_after.bias", "D"},
    {"vit.layernorm.weight", "D"},
    {"vit.layernorm.bias", "D"},
    {"classifier.weight", "LD"},
    {"classifier.bias", "L"},
    {NULL, NULL},
};

static unsigned dimension(const struct checkpoint_size *size, char letter)
{
    unsigned side = size->patch > 0 ? size->image / size->patch : 0;
    switch (letter) {
    case 'D':
        return size->hidden;
    case 'F':
        return size->intermediate;
    case 'V':
        return size->vocab;
    case 'P':
        return size->positions;
    case 'L':
        return size->labels;
    case 'C':
        return 3;
    case 'K':
        return size->patch;
    case 'T':
        return side * side + 1;
    default:
        return (unsigned)(letter - '0');
    }
}

static size_t numbers_of(const struct checkpoint_size *size, const struct row *row)
{
    size_t count = 1;
    for (const char *letter = row->shape; *letter != '\0'; letter++)
        count *= dimension(size, *letter);
    return count;
}

static bool is_layered(const struct row *row)
{
    return strstr(row->name, "%u") != NULL;
}

static bool is_gain(const struct row *row)
{
    return (strstr(row->name, "LayerNorm") || strstr(row->name, "layernorm")) &&
           strstr(row->name, ".weight");
}

/* ---- the header ---- */

struct header {
    char *text;
    size_t len;    /* < HEADER_BYTES */
    size_t offset; /* of the next tensor's bytes */
};

static void add_entry(struct header *header, const struct checkpoint_size *size,
                      const struct row *row, unsigned layer)
{
    const char *mark = strstr(row->name, "%u");
    int before = mark != NULL ? (int)(mark - row->name) : (int)strlen(row->name);
    char number[16] = "", shape[64] = "";
    if (mark != NULL)
        snprintf(number, sizeof number, "%u", layer);
    for (const char *letter = row->shape; *letter != '\0'; letter++)
        snprintf(shape + strlen(shape), sizeof shape - strlen(shape), "%s%u",
                 letter > row->shape ? "," : "", dimension(size, *letter));
    size_t end = header->offset + numbers_of(size, row) * sizeof(float);
    size_t room = HEADER_BYTES - header->len;
    int written = snprintf(header->text + header->len, room,
                           "%c\"%.*s%s%s\":{\"dtype\":\"F32\",\"shape\":[%s],"
                           "\"data_offsets\":[%zu,%zu]}",
                           header->len == 0 ? '{' : ',', before, row->name, number,
                           mark != NULL ? mark + 2 : "", shape, header->offset, end);
    header->len += (size_t)written < room ? (size_t)written : room - 1;
    header->offset = end;
}

static void write_header(FILE *file, const struct header *header)
{
    uint64_t len = (header->len + 1 + 7) / 8 * 8;
    unsigned char bytes[8];
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(len >> (8 * i));
    fwrite(bytes, 1, sizeof bytes, file);
    fwrite(header->text, 1, header->len, file);
    fprintf(file, "}%*s", (int)(len - header->len - 1), "");
}

/* ---- the numbers ---- */

/* About N(0, 0.02): the sum of four uniform numbers. The second half is the ones. */
static void fill_noise(float *noise)
{
    uint32_t state = 7;
    for (size_t i = 0; i < NOISE_NUMBERS; i++) {
        float sum = 0;
        for (unsigned j = 0; j < 4; j++) {
            state = state * 1664525u + 1013904223u;
            sum += (float)(state >> 8) / 8388608.0f - 1.0f;
        }
        noise[i] = 0.0173f * sum;
        noise[NOISE_NUMBERS + i] = 1.0f;
    }
}

static void write_numbers(FILE *file, const struct row *row, size_t count, const float *noise)
{
    const float *source = is_gain(row) ? noise + NOISE_NUMBERS : noise;
    while (count > 0) {
        size_t take = count < NOISE_NUMBERS ? count : NOISE_NUMBERS;
        fwrite(source, sizeof *source, take, file);
        count -= take;
    }
}

/* ---- the files ---- */

/* Calls for every tensor of the table, in the order of the file: noise NULL fills the header. */
static void walk(FILE *file, const struct row *rows, const struct checkpoint_size *size,
                 struct header *header, const float *noise)
{
    for (const struct row *row = rows; row->name != NULL; row++) {
        unsigned times = is_layered(row) ? size->layers : 1;
        for (unsigned layer = 0; layer < times; layer++)
            if (noise == NULL)
                add_entry(header, size, row, layer);
            else
                write_numbers(file, row, numbers_of(size, row), noise);
    }
}

static enum err_code write_tensors(FILE *file, const struct row *rows,
                                   const struct checkpoint_size *size, struct err *err)
{
    struct header header = {.text = malloc(HEADER_BYTES)};
    size_t bytes = 2 * NOISE_NUMBERS * sizeof(float);
    float *noise = malloc(bytes);
    if (header.text == NULL || noise == NULL) {
        err_no_memory(err, bytes);
    } else {
        fill_noise(noise);
        walk(NULL, rows, size, &header, NULL);
        write_header(file, &header);
        walk(file, rows, size, NULL, noise);
    }
    free(header.text);
    free(noise);
    return err->code;
}

static void write_vocabulary(FILE *file, unsigned words)
{
    static const char *const specials[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
    enum { SPECIALS = sizeof specials / sizeof specials[0] };
    for (unsigned i = 0; i < words; i++)
        if (i < SPECIALS)
            fprintf(file, "%s\n", specials[i]);
        else
            fprintf(file, "%c%c%c%c\n", 'a' + i / 17576 % 26, 'a' + i / 676 % 26, 'a' + i / 26 % 26,
                    'a' + i % 26);
}

static void write_config(FILE *file, const struct row *rows, const struct checkpoint_size *size)
{
    fprintf(file,
            "{\"model_type\": \"%s\", \"hidden_size\": %u, \"num_hidden_layers\": %u,\n"
            " \"num_attention_heads\": %u, \"intermediate_size\": %u, \"num_labels\": %u,\n",
            rows == bert ? "bert" : "vit", size->hidden, size->layers, size->heads,
            size->intermediate, size->labels);
    if (rows == bert)
        fprintf(file,
                " \"architectures\": [\"BertForSequenceClassification\"],\n"
                " \"vocab_size\": %u, \"max_position_embeddings\": %u}\n",
                size->vocab, size->positions);
    else
        fprintf(file,
                " \"architectures\": [\"ViTForImageClassification\"], \"hidden_act\": \"gelu\",\n"
                " \"image_size\": %u, \"patch_size\": %u, \"num_channels\": 3}\n",
                size->image, size->patch);
}

static enum err_code close_file(FILE *file, const char *path, struct err *err)
{
    bool failed = ferror(file) != 0;
    failed = fclose(file) != 0 || failed;
    return failed ? err_set(err, ERR_IO, "%s: %s", path, strerror(errno)) : err->code;
}

static FILE *open_file(const char *dir, const char *name, char path[PATH_BYTES], struct err *err)
{
    snprintf(path, PATH_BYTES, "%s/%s", dir, name);
    FILE *file = fopen(path, "w");
    if (file == NULL)
        err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
    return file;
}

static enum err_code write_small_files(const char *dir, const struct row *rows,
                                       const struct checkpoint_size *size, struct err *err)
{
    char path[PATH_BYTES];
    FILE *file = open_file(dir, "config.json", path, err);
    if (file == NULL)
        return err->code;
    write_config(file, rows, size);
    if (close_file(file, path, err))
        return err->code;
    file = open_file(dir, rows == bert ? "vocab.txt" : "preprocessor_config.json", path, err);
    if (file == NULL)
        return err->code;
    if (rows == bert)
        write_vocabulary(file, size->vocab);
    else
        fprintf(file, "{\"image_processor_type\": \"ViTImageProcessor\", \"size\": %u}\n",
                size->image);
    return close_file(file, path, err);
}

static enum err_code write_checkpoint(const char *dir, const struct row *rows,
                                      const struct checkpoint_size *size, struct err *err)
{
    char path[PATH_BYTES], partial[PATH_BYTES];
    snprintf(path, sizeof path, "%s/model.safetensors", dir);
    if (mkdir(dir, 0777) != 0 && errno != EEXIST)
        return err_set(err, ERR_IO, "%s: %s", dir, strerror(errno));
    if (write_small_files(dir, rows, size, err) || access(path, R_OK) == 0)
        return err->code;
    FILE *file = open_file(dir, "partial", partial, err);
    if (file == NULL)
        return err->code;
    write_tensors(file, rows, size, err);
    if (close_file(file, partial, err))
        return err->code;
    if (rename(partial, path) != 0)
        return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
    return ERR_OK;
}

enum err_code checkpoints_bert(const char *dir, const struct checkpoint_size *size, struct err *err)
{
    return write_checkpoint(dir, bert, size, err);
}

enum err_code checkpoints_vit(const char *dir, const struct checkpoint_size *size, struct err *err)
{
    return write_checkpoint(dir, vit, size, err);
}
