#include "tests/bench/samples.h"

#include "engine/base/doc.h"
#include "tests/bench/inputs.h"
#include "tests/support/sources.h"

#include <errno.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXTS = 129, WORDS_MAX = 4096, WORD_BYTES = 24, LINE_BYTES = 1 << 16, SIDE = 224 };

static enum err_code io_error(const char *path, struct err *err)
{
    return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
}

/* ---- texts ---- */

/* Words of three letters or more that the vocabulary holds whole. */
static enum err_code read_words(char (*words)[WORD_BYTES], unsigned *count, const char *dir,
                                struct err *err)
{
    char path[512], line[1024];
    snprintf(path, sizeof path, "%s/vocab.txt", dir);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return io_error(path, err);
    for (*count = 0; *count < WORDS_MAX && fgets(line, sizeof line, file) != NULL;) {
        size_t len = strcspn(line, "\n");
        line[len] = '\0';
        if (len >= 3 && len < WORD_BYTES && strspn(line, "abcdefghijklmnopqrstuvwxyz") == len)
            memcpy(words[(*count)++], line, len + 1);
    }
    fclose(file);
    return *count > 0 ? ERR_OK : err_set(err, ERR_UNUSABLE, "%s holds no plain word", path);
}

/* [CLS] and [SEP] are tokens too. */
static void write_text(FILE *file, char (*words)[WORD_BYTES], unsigned count, unsigned tokens,
                       unsigned seed)
{
    fprintf(file, "{\"text\": \"");
    for (unsigned i = 0; i + 2 < tokens; i++) {
        seed = seed * 1664525u + 1013904223u;
        fprintf(file, "%s%s", i > 0 ? " " : "", words[(seed >> 8) % count]);
    }
    fprintf(file, "\", \"tokens\": %u}\n", tokens);
}

static enum err_code write_texts(const char *path, char (*words)[WORD_BYTES], unsigned count,
                                 struct err *err)
{
    FILE *file = fopen(path, "w");
    if (file == NULL)
        return io_error(path, err);
    write_text(file, words, count, SAMPLES_TOKENS, 1);
    for (unsigned i = 1; i < TEXTS; i++)
        write_text(file, words, count, inputs_mixed_tokens(i), i);
    return fclose(file) == 0 ? ERR_OK : io_error(path, err);
}

enum err_code samples_write(const char *path, const char *dir, struct err *err)
{
    unsigned count;
    char(*words)[WORD_BYTES] = malloc(WORDS_MAX * sizeof *words);
    if (words == NULL)
        return err_no_memory(err, WORDS_MAX * sizeof *words);
    if (!read_words(words, &count, dir, err))
        write_texts(path, words, count, err);
    free(words);
    return err->code;
}

static enum err_code count_tokens(const char *line, const struct engine_model *model,
                                  unsigned *tokens, struct err *err)
{
    struct json_t *root;
    struct arena arena;
    struct engine_input input = {0};
    size_t len = 0;
    if (doc_parse(&root, line, strlen(line), &doc_limits_request, err))
        return err->code;
    arena_init(&arena);
    const char *text = doc_text(doc_member(root, "text"), &len);
    if (text == NULL)
        err_set(err, ERR_MALFORMED, "a line has no \"text\"");
    else
        engine_prepare(model, text_source_len(text, len), NULL, &arena, &input, err);
    *tokens = input.tokens;
    arena_deinit(&arena);
    doc_free(root);
    return err->code;
}

enum err_code samples_read(struct samples *out, const char *path, const struct engine_model *model,
                           struct err *err)
{
    out->count = 0;
    char *line = malloc(LINE_BYTES);
    FILE *file = line != NULL ? fopen(path, "r") : NULL;
    if (line == NULL)
        err_no_memory(err, LINE_BYTES);
    else if (file == NULL)
        io_error(path, err);
    while (err->code == ERR_OK && out->count < SAMPLES_TEXTS_MAX &&
           fgets(line, LINE_BYTES, file) != NULL)
        if (!count_tokens(line, model, &out->tokens[out->count], err))
            out->count++;
    if (err->code == ERR_OK && out->count == 0)
        err_set(err, ERR_UNUSABLE, "no text");
    if (file != NULL)
        fclose(file);
    free(line);
    return err->code != ERR_OK ? err_prefix(err, "%s: ", path) : ERR_OK;
}

enum err_code samples_first(const char *from, const char *to, struct err *err)
{
    char *line = NULL;
    size_t size = 0;
    FILE *in = fopen(from, "r"), *out = fopen(to, "w");
    if (in == NULL || getline(&line, &size, in) < 0)
        io_error(from, err);
    if (out == NULL || (err->code == ERR_OK && fputs(line, out) < 0))
        io_error(to, err);
    if (in != NULL)
        fclose(in);
    if (out != NULL && fclose(out) != 0)
        io_error(to, err);
    free(line);
    return err->code;
}

double samples_tokens(const struct samples *samples, double answers)
{
    double whole = 0, sum = 0;
    for (unsigned i = 0; i < samples->count; i++)
        whole += samples->tokens[i];
    unsigned turns = (unsigned)(answers / samples->count);
    unsigned rest = (unsigned)answers - turns * samples->count;
    for (unsigned i = 0; i < rest; i++)
        sum += samples->tokens[i];
    return turns * whole + sum;
}

/* ---- the picture ---- */

/* Dies of a few grey values in a circle. */
static unsigned char grey(unsigned x, unsigned y)
{
    int dx = (int)x - SIDE / 2, dy = (int)y - SIDE / 2;
    if (dx * dx + dy * dy > SIDE * SIDE / 4)
        return 0;
    return (x / 5 * 7919 + y / 5 * 104729) % 11 == 0 ? 255 : 127;
}

enum err_code samples_png(const char *path, struct err *err)
{
    png_image image = {
        .version = PNG_IMAGE_VERSION, .width = SIDE, .height = SIDE, .format = PNG_FORMAT_RGB};
    unsigned char *pixels = malloc((size_t)SIDE * SIDE * 3);
    if (pixels == NULL)
        return err_no_memory(err, (size_t)SIDE * SIDE * 3);
    for (unsigned i = 0; i < SIDE * SIDE * 3; i++)
        pixels[i] = grey(i / 3 % SIDE, i / 3 / SIDE);
    if (!png_image_write_to_file(&image, path, 0, pixels, 0, NULL))
        err_set(err, ERR_IO, "%s: %s", path, image.message);
    free(pixels);
    return err->code;
}
