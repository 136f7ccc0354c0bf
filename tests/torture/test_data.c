/* Data with every call to the C library failing in turn: lists and folders of every form, images of
 * every kind and texts in memory, a vocabulary made and one trimmed, an index. All of it is read
 * and what is written is whole, or the failure is told; no input is left out because something was
 * short. */
#include "engine/index/index_build.h"
#include "engine/text/vocab_build.h"
#include "engine/text/vocab_use.h"
#include "learn/data/logit_list.h"
#include "learn/data/samples_form.h"
#include "learn/train/checkpoint/vocab_files.h"
#include "learn/train/checkpoint/vocab_trim.h"
#include "tests/support/stdf_writer.h"
#include "tests/support/train_fixture.h"
#include "tests/torture/drill.h"
#include "tests/torture/written.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { PATH_BYTES = 256 };

/* ---- vocabularies ---- */

struct vocabulary {
    struct train_fixture f;
    struct written written;
};

static enum err_code build(const struct vocabulary *vocabulary, const struct dataset *dataset,
                           struct err *err)
{
    const struct vocab_build_options options = {.size = 215, .pair_min = 2, .character_min = 1};
    struct word_counts words;
    struct vocab_list list = {0};
    word_counts_init(&words, (struct normalizer_flags){.clean_text = true, .lower_case = true});
    for (size_t i = 0; i < dataset->count && err->code == ERR_OK; i++)
        word_counts_add(&words, dataset->items[i].input, dataset->items[i].input_len, err);
    if (err->code == ERR_OK && !vocab_build(&list, &words, &options, err))
        vocab_files_write(vocabulary->f.second.path, list.pieces, list.count, false, err);
    vocab_build_close(&list);
    word_counts_deinit(&words);
    return err->code;
}

static enum err_code trim(const struct vocabulary *vocabulary, const struct dataset *dataset,
                          struct err *err)
{
    int32_t ids[64];
    struct vocab_use *use = NULL;
    struct vocab_trimmed trimmed;
    if (vocab_use_open(&use, vocabulary->f.first.path, err))
        return err->code;
    for (size_t i = 0; i < dataset->count && err->code == ERR_OK; i++)
        vocab_use_add(use, dataset->items[i].input, dataset->items[i].input_len, err);
    struct vocab_trim what = {.source_dir = vocabulary->f.first.path, .use = use, .ids = ids};
    what.count = vocab_use_choose(use, &(struct vocab_choice){.keep_min = 1}, ids);
    if (err->code == ERR_OK)
        vocab_trim_write(vocabulary->f.second.path, &what, &trimmed, err);
    vocab_use_close(use);
    return err->code;
}

static enum drill_outcome make_vocabulary(const void *context, char *why, size_t size)
{
    const struct vocabulary *vocabulary = context;
    const struct dataset_options fields = {.kind = ENGINE_TEXT};
    struct dataset dataset;
    struct err err = {0};
    if (!dataset_open(&dataset, vocabulary->f.list, &fields, &err) &&
        !build(vocabulary, &dataset, &err))
        trim(vocabulary, &dataset, &err);
    dataset_close(&dataset);
    return written_outcome(&vocabulary->written, &err, why, size);
}

/* Few texts, and a word that the model does not know. */
static void write_list(const struct train_fixture *f)
{
    static const char text[] = "{\"text\":\"red grey red\",\"label\":\"hot\"}\n"
                               "{\"text\":\"blue redder \u4e2d\",\"label\":\"cold\"}\n";
    tempdir_write(&f->data, "list.jsonl", text, sizeof text - 1);
}

/* The word that no text has stands before all others, so that ids move; files that speak of ids,
 * and one that would speak of the vocabulary before. */
static void write_more(const struct tempdir *model)
{
    static const struct {
        const char *name, *text;
    } files[] = {{"vocab.txt", "green\n[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nred\nblue\ngrey\n"},
                 {"tokenizer_config.json", "{\"do_lower_case\":true,\"added_tokens_decoder\":{"
                                           "\"1\":{\"content\":\"[PAD]\",\"special\":true},"
                                           "\"5\":{\"content\":\"[MASK]\",\"special\":true}}}"},
                 {"special_tokens_map.json", "{\"mask_token\":\"[MASK]\"}"},
                 {"tokenizer.json",
                  "{\"normalizer\":{\"type\":\"BertNormalizer\"},"
                  "\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},\"post_processor\":{"
                  "\"type\":\"BertProcessing\",\"cls\":[\"[CLS]\",3],\"sep\":[\"[SEP]\",4]},"
                  "\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"green\":0,\"[PAD]\":1,"
                  "\"[UNK]\":2,\"[CLS]\":3,\"[SEP]\":4,\"[MASK]\":5,\"red\":6,\"blue\":7,"
                  "\"grey\":8}}}"}};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        tempdir_write(model, files[i].name, files[i].text, strlen(files[i].text));
}

START_TEST(a_vocabulary_is_made_and_trimmed_rightly_or_not)
{
    static const struct written_file files[] = {{"model.safetensors", WRITTEN_SAME},
                                                {"config.json", WRITTEN_SAME},
                                                {"attnd.json", WRITTEN_SAME},
                                                {"vocab.txt", WRITTEN_IN_STEPS},
                                                {"tokenizer_config.json", WRITTEN_IN_STEPS},
                                                {"special_tokens_map.json", WRITTEN_IN_STEPS}};
    struct vocabulary vocabulary = {0};
    struct drill drill = {.name = "vocabulary", .run = make_vocabulary, .context = &vocabulary};
    char why[256] = "";
    train_fixture_texts(&vocabulary.f);
    vocabulary.f.options.epochs = 1;
    vocabulary.f.options.ood_method = "energy";
    train_fixture_learn(&vocabulary.f);
    write_more(&vocabulary.f.first);
    write_list(&vocabulary.f);
    ck_assert_msg(make_vocabulary(&vocabulary, why, sizeof why) == DRILL_RIGHT, "%s", why);
    written_keep(&vocabulary.written, vocabulary.f.second.path, files, 6);
    ck_assert_uint_eq(drill_run(&drill), 0);
    written_free(&vocabulary.written);
    train_fixture_close(&vocabulary.f);
}
END_TEST

/* ---- an index ---- */

struct indexing {
    struct tempdir dir;
    char path[PATH_BYTES];
    struct written written;
};

static enum err_code build_index(const char *path, struct err *err)
{
    static const float rows[3][2] = {{1, 0}, {0, 1}, {1, 1}};
    const struct index_info info = {.element = INDEX_INT16, .dimensions = 2};
    struct index_build *made;
    size_t bytes;
    if (index_build_open(&made, &info, 3, err))
        return err->code;
    for (unsigned i = 0; i < 3 && err->code == ERR_OK; i++)
        index_build_add(made, rows[i], &(struct index_record){"a", "b", "c"}, err);
    if (err->code == ERR_OK)
        index_build_write(made, path, &bytes, err);
    index_build_close(made);
    return err->code;
}

static enum drill_outcome make_index(const void *context, char *why, size_t size)
{
    const struct indexing *indexing = context;
    const float query[] = {0.1F, 1};
    struct index *index = NULL;
    struct index_found found = {0};
    struct arena arena;
    struct err err = {0};
    bool is_right = true;
    arena_init(&arena);
    if (!build_index(indexing->path, &err) && !index_open(&index, indexing->path, &err) &&
        !index_search(index, query, 1, NULL, NULL, &arena, &found, &err))
        is_right = found.count == 1 && found.hits[0].row == 1;
    index_close(index);
    arena_deinit(&arena);
    return is_right ? written_outcome(&indexing->written, &err, why, size) : DRILL_BAD;
}

START_TEST(an_index_is_written_and_searched_rightly_or_not)
{
    static const struct written_file files[] = {{"a.index", WRITTEN_SAME}};
    struct indexing indexing = {0};
    struct drill drill = {.name = "index", .run = make_index, .context = &indexing};
    char why[256] = "";
    tempdir_open(&indexing.dir);
    snprintf(indexing.path, sizeof indexing.path, "%s/a.index", indexing.dir.path);
    ck_assert_msg(make_index(&indexing, why, sizeof why) == DRILL_RIGHT, "%s", why);
    written_keep(&indexing.written, indexing.dir.path, files, 1);
    ck_assert_uint_eq(drill_run(&drill), 0);
    written_free(&indexing.written);
    tempdir_close(&indexing.dir);
}
END_TEST

/* ---- lists and folders ---- */

struct reading {
    char path[PATH_BYTES];
    struct dataset_options options;
    size_t count;
};

static enum drill_outcome read_data(const void *context, char *why, size_t size)
{
    const struct reading *reading = context;
    struct dataset dataset;
    struct err err = {0};
    dataset_open(&dataset, reading->path, &reading->options, &err);
    size_t count = dataset.count;
    dataset_close(&dataset);
    if (err.code != ERR_OK)
        return drill_refused(&err, why, size);
    snprintf(why, size, "%zu items instead of %zu", count, reading->count);
    return count == reading->count ? DRILL_RIGHT : DRILL_BAD;
}

START_TEST(lists_of_every_form_are_read_whole_or_not)
{
    static const struct {
        const char *name, *text;
        size_t count;
    } forms[] = {
        {"list.jsonl", "{\"text\":\"a b\",\"label\":\"x\"}\n\n{\"text\":\"c\",\"label\":\"y\"}\n",
         2},
        {"list.csv", "label,text\nx,\"a \"\"b\"\"\"\ny,c\nz,d\n", 3},
        {"lines.log", "one\n\ntwo\nthree\nfour\n", 4},
    };
    struct tempdir dir;
    tempdir_open(&dir);
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        struct reading reading = {
            .options = {.kind = ENGINE_TEXT, .labels_optional = i == 2, .line_documents = i == 2},
            .count = forms[i].count};
        struct drill drill = {.name = forms[i].name, .run = read_data, .context = &reading};
        tempdir_write(&dir, forms[i].name, forms[i].text, strlen(forms[i].text));
        snprintf(reading.path, sizeof reading.path, "%s/%s", dir.path, forms[i].name);
        ck_assert_uint_eq(drill_run(&drill), 0);
    }
    tempdir_close(&dir);
}
END_TEST

/* ---- logits ---- */

static enum drill_outcome read_logits(const void *context, char *why, size_t size)
{
    static const char *const labels[] = {"x", "y"};
    struct dataset_item items[] = {{.name = "a.png"}, {.name = "line 2"}};
    const struct dataset dataset = {.items = items, .count = 2};
    struct logit_list list;
    struct err err = {0};
    logit_list_open(&list, context, &dataset, labels, 2, &err);
    const float *row = err.code == ERR_OK ? logit_list_row(&list, 1) : NULL;
    bool is_right = row != NULL && row[0] == 1 && row[1] == 2;
    logit_list_close(&list);
    if (err.code != ERR_OK)
        return drill_refused(&err, why, size);
    snprintf(why, size, "a row that is not the file's");
    return is_right ? DRILL_RIGHT : DRILL_BAD;
}

START_TEST(logits_are_read_whole_or_not)
{
    static const char text[] = "{\"input\":\"line 2\",\"logits\":{\"y\":2,\"x\":1}}\n"
                               "{\"input\":\"a.png\",\"digest\":\"00000000000000ff\","
                               "\"logits\":{\"x\":3,\"y\":4}}\n";
    struct tempdir dir;
    char path[PATH_BYTES];
    struct drill drill = {.name = "logits", .run = read_logits, .context = path};
    tempdir_open(&dir);
    tempdir_write(&dir, "logits.jsonl", text, sizeof text - 1);
    snprintf(path, sizeof path, "%s/logits.jsonl", dir.path);
    ck_assert_uint_eq(drill_run(&drill), 0);
    tempdir_close(&dir);
}
END_TEST

/* Two wafers of two dies each. The packed file has so many zeros behind it, which are allowed, that
 * it is unpacked in steps. */
static void write_lot(const struct tempdir *dir, const char *name, bool packed)
{
    struct stdf_writer writer;
    static unsigned char zeros[100000];
    unsigned char zipped[4096];
    z_stream stream = {.next_out = zipped, .avail_out = sizeof zipped};
    stdf_writer_open(&writer, false);
    for (unsigned w = 0; w < 2; w++) {
        stdf_writer_wafer(&writer, 1, w == 0 ? "A" : "B");
        stdf_writer_die(&writer, 1, 5, 5, STDF_WRITER_PASS, 1);
        stdf_writer_die(&writer, 1, 6, 5, STDF_WRITER_FAIL, 2);
        stdf_writer_wafer_end(&writer, 1, w == 0 ? "A" : "B");
    }
    stdf_writer_close(&writer);
    if (!packed) {
        tempdir_write(dir, name, writer.bytes, writer.len);
        return;
    }
    stream.next_in = writer.bytes;
    stream.avail_in = (uInt)writer.len;
    ck_assert_int_eq(deflateInit2(&stream, 1, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY),
                     Z_OK);
    ck_assert_int_eq(deflate(&stream, Z_NO_FLUSH), Z_OK);
    stream.next_in = zeros;
    stream.avail_in = sizeof zeros;
    ck_assert_int_eq(deflate(&stream, Z_FINISH), Z_STREAM_END);
    tempdir_write(dir, name, zipped, sizeof zipped - stream.avail_out);
    deflateEnd(&stream);
}

START_TEST(a_folder_of_images_and_lots_is_read_whole_or_not)
{
    static const char *const files[] = {"left/a.png", "left/lot.stdf", "right/b.jpg",
                                        "right/lot.stdf.gz"};
    struct tempdir dir;
    char path[PATH_BYTES];
    struct reading reading = {.options = {.kind = ENGINE_IMAGE}, .count = 6};
    struct drill drill = {.name = "folder", .run = read_data, .context = &reading};
    tempdir_open(&dir);
    snprintf(reading.path, sizeof reading.path, "%s", dir.path);
    for (unsigned i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/%s", dir.path, i < 2 ? "left" : "right");
        ck_assert(i % 2 != 0 || mkdir(path, 0700) == 0);
        if (i % 2 == 0)
            tempdir_write(&dir, files[i], "", 0);
        else
            write_lot(&dir, files[i], i == 3);
    }
    ck_assert_uint_eq(drill_run(&drill), 0);
    for (unsigned i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/%s", dir.path, files[i]);
        ck_assert_int_eq(unlink(path), 0);
        snprintf(path, sizeof path, "%s/%s", dir.path, i < 2 ? "left" : "right");
        ck_assert(i % 2 == 0 || rmdir(path) == 0);
    }
    tempdir_close(&dir);
}
END_TEST

/* ---- samples ---- */

struct sampling {
    const char *model;
    struct spec spec;
    struct dataset dataset;
    uint64_t hash; /* of all inputs; 0: not known yet */
};

/* FNV-1a. */
static uint64_t mix(uint64_t hash, const void *bytes, size_t len)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ at[i]) * 0x100000001B3u;
    return hash;
}

static enum err_code prepare_all(const struct sampling *sampling, const struct samples *samples,
                                 uint64_t *hash, struct err *err)
{
    struct samples_view view = {.augment = {.mirror = 0.5f, .turn = 1}, .word_dropout = 0.1f};
    *hash = 0xCBF29CE484222325u;
    for (size_t i = 0; i < samples->count && err->code == ERR_OK; i++) {
        struct engine_input input;
        struct rng rng = rng_for(1, 2, (uint32_t)i);
        struct arena arena;
        arena_init(&arena);
        size_t patch = sampling->spec.channels * extent_area(sampling->spec.patch);
        if (samples_input(samples, i, &view, &rng, &arena, &input, err))
            *hash = 0;
        else if (input.kind == ENGINE_TEXT)
            *hash = mix(*hash, input.ids, input.tokens * sizeof *input.ids);
        else
            *hash = mix(*hash, input.patches,
                        (input.tokens - sampling->spec.family->image_specials) * patch *
                            sizeof *input.patches);
        arena_deinit(&arena);
    }
    return err->code;
}

static enum drill_outcome sample(const void *context, char *why, size_t size)
{
    const struct sampling *sampling = context;
    const struct samples_options options = {.threads = 2, .pixels_max = 1 << 12};
    struct samples *samples;
    uint64_t hash = 0;
    size_t first;
    struct err err = {0};
    if (samples_open(&samples, &sampling->dataset, &sampling->spec, sampling->model, &options,
                     &err))
        return drill_refused(&err, why, size);
    size_t failed = samples_failed(samples, &first);
    prepare_all(sampling, samples, &hash, &err);
    samples_close(samples);
    if (err.code != ERR_OK)
        return drill_refused(&err, why, size);
    snprintf(why, size, "%zu inputs cannot be used, hash %llx", failed, (unsigned long long)hash);
    return failed == 0 && (hash == sampling->hash || sampling->hash == 0) ? DRILL_RIGHT : DRILL_BAD;
}

static void drill_sampling(const char *name, const char *model, const struct dataset *dataset)
{
    struct sampling sampling = {.model = model, .dataset = *dataset};
    const struct samples_options options = {.threads = 1, .pixels_max = 1 << 12};
    struct drill drill = {.name = name, .run = sample, .context = &sampling};
    struct samples *samples;
    struct arena arena;
    struct err err = {0};
    arena_init(&arena);
    ck_assert_msg(!spec_read(&sampling.spec, model, &arena, &err), "%s", err.text);
    ck_assert_msg(!samples_open(&samples, dataset, &sampling.spec, model, &options, &err), "%s",
                  err.text);
    ck_assert_int_eq(prepare_all(&sampling, samples, &sampling.hash, &err), ERR_OK);
    samples_close(samples);
    ck_assert_uint_eq(drill_run(&drill), 0);
    arena_deinit(&arena);
}

START_TEST(sampling_takes_all_images_or_none)
{
    struct tempdir dir;
    char lots[3][PATH_BYTES];
    static const char *const made[] = {"tests/data/images/made/rgb.jpg",
                                       "tests/data/images/made/grey16.png",
                                       "tests/data/images/made/orientation_6.jpg"};
    struct dataset_item items[6] = {0};
    struct dataset dataset = {.kind = ENGINE_IMAGE, .items = items, .count = 6};
    tempdir_open(&dir);
    write_lot(&dir, "lot.stdf", false);
    write_lot(&dir, "lot.stdf.gz", true);
    snprintf(lots[0], PATH_BYTES, "%s/lot.stdf#A", dir.path);
    snprintf(lots[1], PATH_BYTES, "%s/lot.stdf#B", dir.path);
    snprintf(lots[2], PATH_BYTES, "%s/lot.stdf.gz#B", dir.path);
    for (unsigned i = 0; i < 6; i++) {
        items[i].name = items[i].input = i < 3 ? lots[i] : made[i - 3];
        items[i].label = "x";
    }
    drill_sampling("images", "models/wafer-vit", &dataset);
    tempdir_close(&dir);
}
END_TEST

START_TEST(sampling_takes_all_texts_or_none)
{
    static const char *const texts[] = {"vdd_io 3.97 V", "one\ntwo\n\nthree", "\xE4\xB8\xAD red"};
    struct dataset_item items[3] = {0};
    struct dataset dataset = {.kind = ENGINE_TEXT, .items = items, .count = 3};
    for (unsigned i = 0; i < 3; i++)
        items[i] = (struct dataset_item){
            .name = "text", .input = texts[i], .input_len = strlen(texts[i]), .label = "x"};
    drill_sampling("texts", "tests/data/golden/bert-3", &dataset);
    drill_sampling("texts by tokenizer.json", "tests/data/golden/bert-4", &dataset);
}
END_TEST

DRILLS("data", lists_of_every_form_are_read_whole_or_not, logits_are_read_whole_or_not,
       a_folder_of_images_and_lots_is_read_whole_or_not, sampling_takes_all_images_or_none,
       sampling_takes_all_texts_or_none, a_vocabulary_is_made_and_trimmed_rightly_or_not,
       an_index_is_written_and_searched_rightly_or_not)
