/* directory.c - see directory.h. Names of files found in a directory are printed by printable_name;
 * a path that the user gave is printed unchanged. */
#include "engine/format/directory.h"

#include "engine/base/file.h"
#include "engine/format/model_places.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAMES_BYTES = 200 };

/* ---- names ---- */

static bool ends_in(const char *name, const char *tail)
{
    size_t len = strlen(name), tail_len = strlen(tail);
    return len >= tail_len && strcmp(name + len - tail_len, tail) == 0;
}

static bool exists_in(const char *dir, const char *name)
{
    char path[PATH_MAX];
    struct err ignored = {0};
    struct stat status;
    return !file_path(path, dir, name, &ignored) && stat(path, &status) == 0;
}

/* Finds the first entry, by name, for which `is_it` is true; false: none. */
static bool find_entry(const char *dir, bool (*is_it)(const char *dir, const char *name),
                       char out[NAME_MAX + 1])
{
    DIR *stream = opendir(dir);
    bool found = false;
    for (struct dirent *entry; stream != NULL && (entry = readdir(stream)) != NULL;)
        if (entry->d_name[0] != '.' && is_it(dir, entry->d_name) &&
            (!found || strcmp(entry->d_name, out) < 0)) {
            found = true;
            snprintf(out, NAME_MAX + 1, "%s", entry->d_name);
        }
    if (stream != NULL)
        closedir(stream);
    return found;
}

static bool holds_model(const char *dir, const char *name)
{
    char path[PATH_MAX];
    struct err ignored = {0};
    return !file_path(path, dir, name, &ignored) && exists_in(path, "config.json");
}

static bool is_shard_of_pickle(const char *dir, const char *name)
{
    (void)dir;
    return strncmp(name, "pytorch_model-", 14) == 0 && ends_in(name, ".bin");
}

/* True for "model.fp16.safetensors" and for safetensors files of any other name. */
static bool is_safetensors(const char *dir, const char *name)
{
    (void)dir;
    return ends_in(name, ".safetensors") && strcmp(name, "attnd_head.safetensors") != 0;
}

/* ---- other formats ---- */

static const struct {
    const char *tail; /* end of a file's name */
    const char *format;
} formats[] = {
    {".onnx", "ONNX"},
    {"openvino_model.xml", "OpenVINO"},
    {".gguf", "GGUF (llama.cpp)"},
    {"tf_model.h5", "TensorFlow"},
    {"saved_model.pb", "TensorFlow"},
    {".msgpack", "Flax"},
    {".tflite", "TensorFlow Lite"},
    {".mlpackage", "Core ML"},
    {"rust_model.ot", "rust-bert"},
    {".pth", "a pickle of PyTorch"},
    {".pt", "a pickle of PyTorch"},
    {".ckpt", "a pickle of PyTorch"},
};

static const char *format_of(const char *name)
{
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (ends_in(name, formats[i].tail))
            return formats[i].format;
    return NULL;
}

static bool is_of_format(const char *dir, const char *name)
{
    (void)dir;
    return format_of(name) != NULL;
}

static enum err_code refuse_format(const char *name, struct err *err)
{
    return err_set(err, ERR_UNSUPPORTED,
                   "%s is a model in %s, which is not read: take the checkpoint that it was made "
                   "from, with config.json and model.safetensors",
                   printable_name(name).text, format_of(name));
}

/* ---- Git LFS ---- */

static const char pointer[] = "version https://git-lfs.github.com/spec/v1";

/* True for the names of files that are read. */
static bool is_read(const char *name)
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
                                        "model.safetensors.index.json",
                                        "attnd_head.safetensors"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return strncmp(name, "model", 5) == 0 && ends_in(name, ".safetensors");
}

static bool is_pointer_entry(const char *dir, const char *name)
{
    char path[PATH_MAX], begin[sizeof pointer - 1];
    struct err ignored = {0};
    int fd;
    if (!is_read(name) || file_path(path, dir, name, &ignored) || file_open(&fd, path, &ignored))
        return false;
    bool is = read(fd, begin, sizeof begin) == (ssize_t)sizeof begin &&
              memcmp(begin, pointer, sizeof begin) == 0;
    close(fd);
    return is;
}

static bool is_dangling(const char *dir, const char *name)
{
    char path[PATH_MAX];
    struct err ignored = {0};
    struct stat status;
    return is_read(name) && !file_path(path, dir, name, &ignored) && lstat(path, &status) == 0 &&
           S_ISLNK(status.st_mode) && stat(path, &status) != 0 && errno == ENOENT;
}

/* ---- directories ---- */

static enum err_code refuse_file(const char *path, struct err *err)
{
    unsigned char begin[265] = {0};
    char name[NAME_MAX + 1];
    struct err ignored = {0};
    int fd;
    ssize_t len = file_open(&fd, path, &ignored) == ERR_OK ? read(fd, begin, sizeof begin) : 0;
    if (fd >= 0)
        close(fd);
    file_last_part(path, name);
    if (len >= 4 && memcmp(begin, "PK\3\4", 4) == 0)
        return err_set(err, ERR_UNSUPPORTED,
                       "%s is a zip archive, not a directory: unpack it with unzip %s -d DIRECTORY "
                       "and give DIRECTORY",
                       path, path);
    if ((len >= 2 && begin[0] == 0x1F && begin[1] == 0x8B) ||
        (len >= 262 && memcmp(begin + 257, "ustar", 5) == 0))
        return err_set(
            err, ERR_UNSUPPORTED,
            "%s is an archive, not a directory: unpack it with tar xf %s -C DIRECTORY and "
            "give DIRECTORY",
            path, path);
    if (format_of(name) != NULL)
        return refuse_format(name, err);
    return err_set(err, ERR_UNSUPPORTED,
                   "%s is a file, not a directory: give the directory with config.json and "
                   "model.safetensors",
                   path);
}

/* Refuses a directory without config.json: the text names its content and the next step. */
static enum err_code refuse_without_config(const char *dir, struct err *err)
{
    char name[NAME_MAX + 1], snapshots[PATH_MAX];
    if (exists_in(dir, "adapter_config.json"))
        return err_set(err, ERR_UNSUPPORTED,
                       "the directory has an adapter (adapter_config.json), without the model that "
                       "it changes: merge both with python3 -c \"from peft import "
                       "AutoPeftModelForSequenceClassification as M; "
                       "M.from_pretrained('%s').merge_and_unload().save_pretrained('MERGED')\" and "
                       "give MERGED, with the tokenizer's files",
                       dir);
    if (!file_path(snapshots, dir, "snapshots", err) && find_entry(snapshots, holds_model, name))
        return err_set(err, ERR_UNSUPPORTED,
                       "the directory is a download cache: the model lies in %s/%s", snapshots,
                       printable_name(name).text);
    if (find_entry(dir, holds_model, name))
        return err_set(err, ERR_UNSUPPORTED,
                       "the directory has no config.json; a model lies below it: give %s/%s", dir,
                       printable_name(name).text);
    if (find_entry(dir, is_of_format, name))
        return refuse_format(name, err);
    if (exists_in(dir, "modules.json"))
        return err_set(err, ERR_UNSUPPORTED,
                       "the directory has a model of sentence-transformers without the files of "
                       "its encoder: put those beside modules.json");
    return err_set(err, ERR_UNSUPPORTED, "the directory has no config.json");
}

/* Lists the models that lie beside the path, and those that are shipped, if it is a plain name. */
static enum err_code refuse_missing(const char *dir, struct err *err)
{
    char bin[PATH_MAX], beside[NAMES_BYTES] = "", shipped[NAMES_BYTES] = "";
    model_places_beside(dir, beside, sizeof beside);
    if (strchr(dir, '/') == NULL) {
        model_places_bin(bin);
        model_places_shipped(bin, false, shipped, sizeof shipped);
    }
    return err_set(err, ERR_IO, "there is no directory %s%s%s%s%s", dir,
                   beside[0] != '\0' ? "; models lie beside it in " : "", beside,
                   shipped[0] != '\0' ? "; shipped models are " : "", shipped);
}

enum err_code directory_check(const char *dir, struct err *err)
{
    struct stat status;
    char name[NAME_MAX + 1], path[PATH_MAX];
    bool found;
    if (stat(dir, &status) != 0) {
        if (errno != ENOENT) /* other faults of a path are reported for its first file */
            return ERR_OK;
        if (lstat(dir, &status) == 0)
            return err_set(err, ERR_IO, "%s is a broken link: its target does not exist", dir);
        return refuse_missing(dir, err);
    }
    if (!S_ISDIR(status.st_mode))
        return refuse_file(dir, err);
    if (find_entry(dir, is_pointer_entry, name))
        return err_set(err, ERR_UNSUPPORTED,
                       "%s is a Git LFS pointer, not the file itself: fetch it with git lfs pull, "
                       "run in the directory",
                       printable_name(name).text);
    if (find_entry(dir, is_dangling, name))
        return err_set(
            err, ERR_UNSUPPORTED,
            "%s is a broken link: its target does not exist; fetch the model again, or copy it "
            "with cp -rL",
            printable_name(name).text);
    if (file_path(path, dir, "config.json", err) || file_exists(path, &found, err))
        return err->code;
    if (!found)
        return refuse_without_config(dir, err);
    /* transformers would combine both; without weights directory_no_weights has the better text */
    const bool has_weights =
        exists_in(dir, "model.safetensors") || exists_in(dir, "model.safetensors.index.json");
    if (has_weights && exists_in(dir, "adapter_config.json"))
        return err_set(err, ERR_UNSUPPORTED,
                       "the directory has a model and an adapter (adapter_config.json), which is "
                       "not applied: merge both (peft, merge_and_unload) into a directory of their "
                       "own, or move adapter_config.json away to serve the model without it");
    return ERR_OK;
}

/* ---- weights ---- */

enum err_code directory_no_weights(const char *dir, struct err *err)
{
    static const char save[] =
        "python3 -c \"import torch, safetensors.torch as s; s.save_file({k: v.clone().contiguous() "
        "for k, v in torch.load('pytorch_model.bin', weights_only=True).items()}, "
        "'model.safetensors')\"";
    char name[NAME_MAX + 1];
    if (exists_in(dir, "pytorch_model.bin"))
        return err_set(err, ERR_UNSUPPORTED,
                       "the directory has only pytorch_model.bin, which is not read; to "
                       "make model.safetensors, run in the directory: %s",
                       save);
    if (exists_in(dir, "pytorch_model.bin.index.json") || find_entry(dir, is_shard_of_pickle, name))
        return err_set(err, ERR_UNSUPPORTED,
                       "the directory has only pytorch_model-*.bin, which are not read; to make "
                       "model.safetensors, run in the directory: python3 -c \"import glob, torch, "
                       "safetensors.torch as s; s.save_file({k: v.clone().contiguous() for f in "
                       "glob.glob('pytorch_model-*.bin') for k, v in torch.load(f, "
                       "weights_only=True).items()}, 'model.safetensors')\"");
    if (exists_in(dir, "adapter_config.json"))
        return refuse_without_config(dir, err);
    if (find_entry(dir, is_safetensors, name))
        return err_set(
            err, ERR_UNSUPPORTED,
            "the directory has no model.safetensors, but %s: if that is the model, run in "
            "the directory: ln -s %s model.safetensors",
            printable_name(name).text, printable_name(name).text);
    if (find_entry(dir, is_of_format, name))
        return refuse_format(name, err);
    return err_set(err, ERR_UNSUPPORTED,
                   "the directory has neither model.safetensors nor model.safetensors.index.json");
}
