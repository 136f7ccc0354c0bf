#include "tests/support/checkpoint_writer.h"

#include "tests/support/numbers.h"
#include "tests/support/tempdir.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *open_file(const struct checkpoint_writer *writer, const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", writer->dir, name);
    FILE *file = fopen(path, "wb");
    if (file == NULL)
        abort();
    return file;
}

void checkpoint_writer_open(struct checkpoint_writer *writer)
{
    *writer = (struct checkpoint_writer){.dir = "/tmp/attnd-checkpoint-XXXXXX"};
    if (mkdtemp(writer->dir) == NULL)
        abort();
}

void checkpoint_writer_file(const struct checkpoint_writer *writer, const char *name,
                            const char *text)
{
    FILE *file = open_file(writer, name);
    fputs(text, file);
    fclose(file);
}

static int is(const char *chosen, const char *name)
{
    return chosen != NULL && strcmp(chosen, name) == 0;
}

void checkpoint_writer_add(struct checkpoint_writer *writer, const char *name, size_t d0, size_t d1)
{
    if (is(writer->leave_out, name))
        return;
    if (is(writer->misshape, name))
        d0++;
    const bool is_halved = is(writer->halved, name);
    size_t count = d0 * (d1 > 0 ? d1 : 1), start = writer->count * sizeof(float);
    if (is_halved)
        count /= 2;
    writer->count += count;
    writer->data = realloc(writer->data, writer->count * sizeof(float));
    if (writer->data == NULL)
        abort();
    float *numbers = writer->data + writer->count - count;
    numbers_fill(numbers, count, 0.2f, (uint32_t)writer->count);
    if (is_halved) { /* no exponent of a number below 1 is that of an infinity */
        uint16_t *halves = (void *)numbers;
        for (size_t i = 0; i < 2 * count; i++)
            halves[i] = (uint16_t)(i * 2654435761u) & 0xBBFF;
    }
    char shape[64];
    snprintf(shape, sizeof shape, d1 > 0 ? "[%zu,%zu]" : "[%zu]", d0, d1);
    writer->header_len += (size_t)snprintf(
        writer->header + writer->header_len, sizeof writer->header - writer->header_len,
        "%s\"%s\":{\"dtype\":\"%s\",\"shape\":%s,\"data_offsets\":[%zu,%zu]}",
        writer->header_len > 0 ? "," : "{", name,
        is_halved                   ? writer->halved_dtype
        : is(writer->mistype, name) ? "I32"
                                    : "F32",
        shape, start, start + count * sizeof(float));
    if (writer->header_len + 2 >= sizeof writer->header)
        abort();
}

static void add_pair(struct checkpoint_writer *writer, const char *base, size_t out, size_t in)
{
    char name[160];
    snprintf(name, sizeof name, "%s.weight", base);
    checkpoint_writer_add(writer, name, out, in);
    snprintf(name, sizeof name, "%s.bias", base);
    checkpoint_writer_add(writer, name, out, 0);
}

static void add_layer(struct checkpoint_writer *writer, size_t number, size_t hidden,
                      size_t intermediate)
{
    const struct {
        const char *name;
        size_t out, in;
    } parts[] = {
        {"attention.self.query", hidden, hidden},  {"attention.self.key", hidden, hidden},
        {"attention.self.value", hidden, hidden},  {"attention.output.dense", hidden, hidden},
        {"attention.output.LayerNorm", hidden, 0}, {"intermediate.dense", intermediate, hidden},
        {"output.dense", hidden, intermediate},    {"output.LayerNorm", hidden, 0}};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        char base[128];
        snprintf(base, sizeof base, "bert.encoder.layer.%zu.%s", number, parts[i].name);
        add_pair(writer, base, parts[i].out, parts[i].in);
    }
}

static void write_vocab(const struct checkpoint_writer *writer, size_t vocab)
{
    static const char *const first[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
    FILE *file = open_file(writer, "vocab.txt");
    for (size_t i = 0; i < vocab; i++)
        if (i < 5)
            fprintf(file, "%s\n", first[i]);
        else
            fprintf(file, "w%zu\n", i);
    fclose(file);
}

void checkpoint_writer_bert(struct checkpoint_writer *writer, size_t hidden, size_t layers,
                            size_t intermediate, size_t vocab, size_t positions, size_t labels)
{
    checkpoint_writer_add(writer, "bert.embeddings.word_embeddings.weight", vocab, hidden);
    checkpoint_writer_add(writer, "bert.embeddings.position_embeddings.weight", positions, hidden);
    checkpoint_writer_add(writer, "bert.embeddings.token_type_embeddings.weight", 2, hidden);
    add_pair(writer, "bert.embeddings.LayerNorm", hidden, 0);
    for (size_t i = 0; i < layers; i++)
        add_layer(writer, i, hidden, intermediate);
    add_pair(writer, "bert.pooler.dense", hidden, hidden);
    add_pair(writer, "classifier", labels, hidden);
    write_vocab(writer, vocab);
}

void checkpoint_writer_finish(struct checkpoint_writer *writer)
{
    FILE *file = open_file(writer, "model.safetensors");
    writer->header[writer->header_len++] = '}';
    uint64_t len = writer->header_len;
    fwrite(&len, sizeof len, 1, file);
    fwrite(writer->header, 1, writer->header_len, file);
    fwrite(writer->data, sizeof(float), writer->count, file);
    fclose(file);
}

void checkpoint_writer_close(struct checkpoint_writer *writer)
{
    tempdir_remove(writer->dir);
    free(writer->data);
}
