/* A directory that is no checkpoint is refused by the kind of its contents, with what to do. */
#include "engine/format/directory.h"

#include "engine/engine.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct tempdir dir;

/* A file below the directory, and the folders above it. "-> X" as its text: a link to X. */
static void put(const char *name, const char *text)
{
    char path[256];
    for (const char *slash = name; (slash = strchr(slash, '/')) != NULL; slash++) {
        snprintf(path, sizeof path, "%s/%.*s", dir.path, (int)(slash - name), name);
        mkdir(path, 0700);
    }
    snprintf(path, sizeof path, "%s/%s", dir.path, name);
    if (strncmp(text, "-> ", 3) == 0) {
        ck_assert_int_eq(symlink(text + 3, path), 0);
        return;
    }
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

#define POINTER "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 327657928\n"

enum { FILES = 3 };

struct lying {
    const char *files[FILES][2];
    const char *says; /* a part of the refusal; NULL: it is none */
};

/* tempdir_close removes plain files; this removes the folders below as well. */
static void close_dir(void)
{
    char command[300];
    snprintf(command, sizeof command, "rm -rf '%s'", dir.path);
    ck_assert_int_eq(system(command), 0);
}

static void expect(const struct lying *cases, size_t count,
                   enum err_code (*look)(const char *, struct err *))
{
    for (size_t i = 0; i < count; i++) {
        struct err err = {0};
        tempdir_open(&dir);
        for (size_t f = 0; f < FILES && cases[i].files[f][0] != NULL; f++)
            put(cases[i].files[f][0], cases[i].files[f][1]);
        look(dir.path, &err);
        if (cases[i].says == NULL)
            ck_assert_msg(err.code == ERR_OK, "%s: %s", cases[i].files[0][0], err.text);
        else
            ck_assert_msg(err.code == ERR_UNSUPPORTED && strstr(err.text, cases[i].says) != NULL,
                          "%zu: '%s' does not say '%s'", i, err.text, cases[i].says);
        close_dir();
    }
}

START_TEST(directory_says_what_lies_there_without_a_config)
{
    static const struct lying cases[] = {
        {{{"config.json", "{}"}}, NULL},
        {{{"x", ""}}, "the directory has no config.json"},
        {{{"adapter_config.json", "{}"}, {"adapter_model.safetensors", ""}}, "merge_and_unload"},
        {{{"config.json", "{}"}, {"model.safetensors", ""}, {"adapter_config.json", "{}"}},
         "move adapter_config.json away"},
        {{{"config.json", "{}"}, {"adapter_config.json", "{}"}}, NULL}, /* has no weights */
        {{{"snapshots/0a1b/config.json", "{}"}, {"blobs/x", ""}}, "/snapshots/0a1b"},
        {{{"checkpoint-500/config.json", "{}"}, {"checkpoint-900/config.json", "{}"}},
         "/checkpoint-500"},
        {{{"modules.json", "[]"}, {"0_Transformer/config.json", "{}"}}, "/0_Transformer"},
        {{{"modules.json", "[]"}, {"1_Pooling/x", ""}}, "sentence-transformers"},
        {{{"model.gguf", ""}}, "model.gguf is a model in GGUF"},
        {{{"model.onnx", ""}}, "ONNX"},
        {{{"saved_model.pb", ""}}, "TensorFlow"},
    };
    expect(cases, sizeof cases / sizeof cases[0], directory_check);
}
END_TEST

/* Whichever file it is; one that nobody reads may be a pointer. */
START_TEST(directory_names_git_lfs_pointers_and_links_to_nothing)
{
    static const char *const names[] = {"config.json",
                                        "attnd.json",
                                        "vocab.txt",
                                        "vocab.json",
                                        "merges.txt",
                                        "tokenizer.json",
                                        "tokenizer_config.json",
                                        "special_tokens_map.json",
                                        "added_tokens.json",
                                        "preprocessor_config.json",
                                        "processor_config.json",
                                        "model.safetensors",
                                        "attnd_head.safetensors",
                                        "model-00001-of-00002.safetensors"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char lfs[128], dangling[128];
        snprintf(lfs, sizeof lfs, "%s is a Git LFS pointer", names[i]);
        snprintf(dangling, sizeof dangling, "%s is a broken link", names[i]);
        const bool is_config = strcmp(names[i], "config.json") == 0;
        const struct lying cases[] = {
            {{{names[i], POINTER}, {is_config ? "x" : "config.json", "{}"}}, lfs},
            {{{names[i], "-> ../../blobs/5"}, {is_config ? "x" : "config.json", "{}"}}, dangling}};
        expect(cases, 2, directory_check);
    }
    static const struct lying others[] = {
        {{{"config.json", "{}"}, {"tf_model.h5", POINTER}, {"README.md", "-> nowhere"}}, NULL}};
    expect(others, 1, directory_check);
}
END_TEST

START_TEST(directory_says_which_weights_lie_there)
{
    static const struct lying cases[] = {
        {{{"config.json", "{}"}}, "neither model.safetensors nor model.safetensors.index.json"},
        {{{"pytorch_model.bin", ""}}, "torch.load('pytorch_model.bin', weights_only=True)"},
        {{{"pytorch_model.bin.index.json", ""}, {"pytorch_model-00001-of-00002.bin", ""}},
         "glob.glob('pytorch_model-*.bin')"},
        {{{"model.fp16.safetensors", ""}}, "ln -s model.fp16.safetensors model.safetensors"},
        {{{"adapter_config.json", ""}, {"adapter_model.safetensors", ""}}, "merge_and_unload"},
        {{{"onnx.x", ""}, {"model_quantized.onnx", ""}}, "model_quantized.onnx is a model in ONNX"},
        {{{"openvino_model.xml", ""}, {"openvino_model.bin", ""}}, "OpenVINO"},
        {{{"tf_model.h5", ""}}, "TensorFlow"},
        {{{"flax_model.msgpack", ""}}, "Flax"},
        {{{"weights.gguf", ""}}, "GGUF"},
        {{{"best.pt", ""}}, "a pickle of PyTorch"},
        {{{"attnd_head.safetensors", ""}}, "neither model.safetensors nor"},
    };
    expect(cases, sizeof cases / sizeof cases[0], directory_no_weights);
}
END_TEST

/* A file where a directory should be: by its first bytes, else by its name. */
START_TEST(directory_says_what_a_file_is)
{
    static const char zip[] = "PK\3\4rest", gzip[] = "\x1F\x8B\x08rest";
    static const struct {
        const char *name, *bytes, *says;
    } cases[] = {{"m.zip", zip, "unzip "},
                 {"m.tar.gz", gzip, "tar xf "},
                 {"m.gguf", "GGUF", "a model in GGUF"},
                 {"model.safetensors", "x", "give the directory with config.json"}};
    for (size_t i = 0; i < 4; i++) {
        struct err err = {0};
        char path[256];
        tempdir_open(&dir);
        put(cases[i].name, cases[i].bytes);
        snprintf(path, sizeof path, "%s/%s", dir.path, cases[i].name);
        ck_assert_int_eq(directory_check(path, &err), ERR_UNSUPPORTED);
        ck_assert_msg(strstr(err.text, cases[i].says) != NULL, "%s", err.text);
        close_dir();
    }
    struct err err = {0};
    tempdir_open(&dir);
    put("link", "-> /nowhere");
    char path[256];
    snprintf(path, sizeof path, "%s/link", dir.path);
    ck_assert_int_eq(directory_check(path, &err), ERR_IO);
    ck_assert_ptr_nonnull(strstr(err.text, "is a broken link"));
    close_dir();
}
END_TEST

/* The answer is the error of opening a model, in each way of opening it. */
START_TEST(directory_is_asked_before_a_model_is_opened)
{
    struct engine_model *model;
    struct engine_cost cost;
    struct err err = {0}, checked = {0}, measured = {0};
    tempdir_open(&dir);
    put("checkpoint-7/config.json", "{}");
    ck_assert_int_eq(engine_open(&model, dir.path, &(struct engine_options){0}, &err),
                     ERR_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(err.text, "/checkpoint-7"));
    engine_check(dir.path, &(struct engine_options){0}, &checked);
    engine_measure(&cost, dir.path, &(struct engine_options){0}, 1, 1, &measured);
    ck_assert_str_eq(err.text, checked.text);
    ck_assert_str_eq(err.text, measured.text);
    close_dir();
}
END_TEST

SUITE("directory", directory_says_what_lies_there_without_a_config,
      directory_names_git_lfs_pointers_and_links_to_nothing, directory_says_which_weights_lie_there,
      directory_says_what_a_file_is, directory_is_asked_before_a_model_is_opened)
