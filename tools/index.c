/* attnd-index - an index of past cases: made of labelled inputs by a model, and searched by it. The
 * parts are engine/index's and tools/index's; this file has the commands' options and what they
 * print.
 *
 * An input that cannot be used is named and left out; only if none is left the build fails. A
 * search reports each input that failed, in its place. */
#include "engine/base/cpu.h"
#include "engine/base/doc.h"
#include "engine/base/file.h"
#include "engine/base/replace.h"
#include "engine/base/thread_pool.h"
#include "engine/base/utf8.h"
#include "engine/cli/cli_main.h"
#include "engine/cli/cli_rows.h"
#include "engine/cli/screen.h"
#include "engine/index/index_build.h"
#include "learn/eval/measure/input_reader.h"
#include "tools/index/vector_run.h"
#include "wire/answer.h"
#include "wire/problem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DATA_MAX = 4096, NAMED_MAX = 5 };

struct index_tool {
    struct engine_options engine;
    const char *dir, *data[DATA_MAX], *path, *prompt_name, *similarity, *element;
    size_t data_count;
    unsigned dimensions, threads;
    struct dataset_options fields;
    struct input_list inputs;
    unsigned k;
    bool json, has_texts;

    struct engine_model *model;
    const struct engine_info *info;
    char digest[INDEX_DIGEST_BYTES];
    float *cut; /* [dimensions] the beginning of a vector, of length 1 */

    /* build */
    struct index_build *build;
    const struct dataset *dataset; /* the one at hand */
    const char *data_name;
    struct screen_counter counter;
    size_t done, unusable, truncated;

    /* search */
    struct index *index;
    struct engine_session *session;
    struct thread_pool *pool;
    struct input_reader reader;
};

/* ---- options ---- */

static enum err_code add_data(const struct cli_option *option, void *target, const char *value,
                              struct err *err)
{
    struct index_tool *tool = target;
    (void)option;
    if (tool->data_count == DATA_MAX)
        return err_set(err, ERR_UNUSABLE, "more than %d data sets", DATA_MAX);
    tool->data[tool->data_count++] = value;
    return ERR_OK;
}

/* The row's tag says what the value is. */
enum { VALUE_TEXT, VALUE_FILE };

static enum err_code add_input(const struct cli_option *option, void *target, const char *value,
                               struct err *err)
{
    struct index_tool *tool = target;
    const struct listed_input text = {.text = value, .text_len = strlen(value)};
    const struct listed_input standard_input = {.path = value};
    if (option != NULL && option->tag == VALUE_TEXT)
        return input_list_add(&tool->inputs, &text, err);
    return strcmp(value, "-") == 0 ? input_list_add(&tool->inputs, &standard_input, err)
                                   : input_list_add_path(&tool->inputs, value, err);
}

static enum err_code add_lines(const struct cli_option *option, void *target, const char *value,
                               struct err *err)
{
    (void)option;
    return input_list_add_lines(&((struct index_tool *)target)->inputs, value, err);
}

#define TOOL struct index_tool
#define FLAG(member, name, help) CLI_ROW_FLAG(TOOL, member, name, help)
#define ROW_PROMPT                                                                                 \
    CLI_ROW(TOOL, prompt_name, "prompt-name", "NAME",                                              \
            .help = "Embedding: the model's prompt that is put before each text (default: the "    \
                    "model's).")

static const struct cli_option build_options[] = {
    CLI_ROW_MODEL(TOOL, dir),
    CLI_ROW_OTHER(
        "data", "PATH", add_data,
        .help =
            "Inputs: .jsonl or .csv, texts also .txt or .log, pictures also a folder with a folder "
            "for each class (required; more may follow)."),
    FLAG(has_texts, "texts",
         "Of a model that reads images and texts: the inputs are texts (default: images)."),
    CLI_ROW(TOOL, path, "out", "FILE", .is_required = true, .help = "Where the index is written."),
    CLI_ROW(TOOL, element, "element", "TYPE", .choices = "int8|int16", .fallback = "int16",
            .help = "The numbers of the vectors: int8 takes half the memory, int16 keeps the order "
                    "of near cases."),
    CLI_ROW(TOOL, similarity, "similarity", "NAME", .choices = "cosine|dot|euclidean|manhattan",
            .help = "How two vectors are compared (default: as the model says, else cosine)."),
    CLI_ROW(TOOL, dimensions, "dimensions", "N", .min = 1, .max = INDEX_DIMENSIONS_MAX,
            .help = "Embedding: keeps the first N numbers of a vector (default: all)."),
    ROW_PROMPT,
    CLI_ROWS_FIELDS(TOOL, fields),
    CLI_ROW(TOOL, fields.id_field, "id-field", "NAME", .fallback = "id",
            .help = "The member or column that holds the case's id, if there is one."),
    CLI_ROW_LIMIT(TOOL, fields.items_max),
    CLI_ROW_THREADS(TOOL, threads),
    CLI_ROW_DTYPE(TOOL, engine.dtype),
    CLI_ROW_LINEAR_BACKEND(TOOL, engine.linear_backend),
};

static const struct cli_option search_options[] = {
    CLI_ROW(TOOL, path, "index", "FILE", .is_required = true, .help = "The index."),
    CLI_ROW_MODEL(TOOL, dir),
    CLI_ROW_OTHER("text", "S", add_input, .tag = VALUE_TEXT, .help = "Searches for this text."),
    CLI_ROW_OTHER(
        "file", "F", add_input, .tag = VALUE_FILE, .stream = CLI_STDIN,
        .help = "Searches for the whole file, a text or a picture; - is a text on standard input."),
    CLI_ROW_OTHER("lines", "F", add_lines, .stream = CLI_STDIN,
                  .help =
                      "Searches for each line of the file that is not blank; - is standard input."),
    CLI_ROW(TOOL, k, "k", "N", .min = 1, .max = INDEX_NEIGHBOURS_MAX, .fallback = "5",
            .help = "How many near cases to print."),
    FLAG(json, "json", "Prints one JSON object a line, as POST /similar answers."),
    ROW_PROMPT,
    CLI_ROW_THREADS(TOOL, threads),
    CLI_ROW_DTYPE(TOOL, engine.dtype),
    CLI_ROW_LINEAR_BACKEND(TOOL, engine.linear_backend),
};

static const struct cli_option info_options[] = {
    FLAG(json, "json", "Prints one JSON object."),
};

static const struct cli build_cli = {
    .program = "attnd-index",
    .usage = "attnd-index build --model DIR --data PATH... --out FILE [OPTION]...",
    .summary =
        "Makes an index of past cases: the vector of each input by a model, with its label,\n"
        "its id and where it comes from. An embedding model gives its vector, another one\n"
        "what its classifier reads. Labels may be absent.",
    .examples = "  attnd-index build --model wafer-vit --data maps.csv --out maps.index",
    .options = build_options,
    .option_count = sizeof build_options / sizeof build_options[0],
    .positional = add_data,
};

static const struct cli search_cli = {
    .program = "attnd-index",
    .usage =
        "attnd-index search --index FILE --model DIR (PATH | --text S | --file F | --lines F)... "
        "[OPTION]...",
    .summary =
        "Prints the cases of an index that are nearest to an input, nearest first. The model\n"
        "must be the one that the index was made with.",
    .examples = "  attnd-index search --index maps.index --model wafer-vit --k 3 new/*.png",
    .options = search_options,
    .option_count = sizeof search_options / sizeof search_options[0],
    .positional = add_input,
    .positional_stream = true,
};

static enum err_code set_path(const struct cli_option *option, void *target, const char *value,
                              struct err *err)
{
    struct index_tool *tool = target;
    (void)option;
    if (tool->path != NULL)
        return err_set(err, ERR_UNUSABLE, "one index at a time; '%s' is the second", value);
    tool->path = value;
    return ERR_OK;
}

static const struct cli info_cli = {
    .program = "attnd-index",
    .usage = "attnd-index info FILE [--json]",
    .summary = "Says what an index holds: rows, dimensions, similarity, memory, and the digest of\n"
               "the model that made it. The whole file is read and checked.",
    .examples = "  attnd-index info maps.index",
    .options = info_options,
    .option_count = sizeof info_options / sizeof info_options[0],
    .positional = set_path,
};

/* ---- the model ---- */

static enum err_code open_model(struct index_tool *tool, struct err *err)
{
    if (tool->threads == 0)
        tool->threads = cpu_quota_threads("");
    tool->engine.instead = "an index needs vectors; take a model of embeddings or of labels";
    if (engine_open(&tool->model, tool->dir, &tool->engine, err))
        return err_prefix(err, "%s: ", tool->dir);
    tool->info = engine_describe(tool->model);
    if (tool->info->row_size > 0)
        return err_set(err, ERR_UNUSABLE,
                       "%s: the model answers each token, and has no vector of a whole input",
                       tool->dir);
    return engine_digest(tool->model, NULL, tool->digest, err);
}

static enum index_space space_of(const struct index_tool *tool)
{
    return tool->info->task == ENGINE_EMBED ? INDEX_EMBEDDING : INDEX_FEATURES;
}

static void close_all(void *target)
{
    struct index_tool *tool = target;
    free(tool->cut);
    index_build_close(tool->build);
    index_close(tool->index);
    input_reader_close(&tool->reader);
    input_list_close(&tool->inputs);
    thread_pool_close(tool->pool);
    engine_session_close(tool->session);
    engine_close(tool->model);
}

/* The numbers that are compared: the vector, or of one that is cut its beginning with length 1. */
static const float *compared(struct index_tool *tool, const float *vector)
{
    if (tool->dimensions == engine_compared_size(tool->info))
        return vector;
    memcpy(tool->cut, vector, tool->dimensions * sizeof *tool->cut);
    engine_normalize(tool->cut, tool->dimensions);
    return tool->cut;
}

static enum err_code set_dimensions(struct index_tool *tool, unsigned dimensions, struct err *err)
{
    const unsigned size = engine_compared_size(tool->info);
    tool->dimensions = dimensions == 0 ? size : dimensions;
    if (tool->dimensions > size || (tool->info->task != ENGINE_EMBED && tool->dimensions < size))
        return err_set(err, ERR_UNUSABLE, "--dimensions: the model's vectors have %u numbers%s",
                       size, tool->info->task != ENGINE_EMBED ? ", and are not cut" : "");
    tool->cut = calloc(tool->dimensions, sizeof *tool->cut);
    return tool->cut != NULL ? ERR_OK : err_no_memory(err, tool->dimensions * sizeof *tool->cut);
}

/* ---- build ---- */

static unsigned word_of(const char *word, const char *const *names, unsigned count)
{
    unsigned at = 0;
    while (at + 1 < count && strcmp(word, names[at]) != 0)
        at++;
    return at;
}

/* Checks what would otherwise fail only after minutes of reading. */
static enum err_code check_build(void *target, struct err *err)
{
    struct index_tool *tool = target;
    if (tool->data_count == 0)
        return err_set(err, ERR_UNUSABLE, "--data PATH is missing; --help shows the usage");
    for (size_t i = 0; i < tool->data_count; i++)
        if (access(tool->data[i], R_OK) != 0)
            return err_set(err, ERR_UNUSABLE, "%s: cannot be read: %s", tool->data[i],
                           strerror(errno));
    for (size_t i = 0; i < tool->data_count; i++)
        if (replace_check(tool->path, tool->data[i], err))
            return err_prefix(err, "--out ");
    if (open_model(tool, err) || set_dimensions(tool, tool->dimensions, err))
        return err->code;
    tool->fields.kind = tool->has_texts ? ENGINE_TEXT : tool->info->kind;
    if (!engine_reads(tool->info, tool->fields.kind))
        return err_set(err, ERR_UNUSABLE, "--texts: the model reads no texts");
    if (tool->fields.label_field == NULL || strcmp(tool->fields.label_field, "label") == 0)
        tool->fields.label_other = "labels"; /* of a multi-label model: a|b, or none */
    tool->fields.labels_optional = tool->fields.labels_many = tool->fields.labels_numbers = true;
    tool->fields.line_documents = true;
    return ERR_OK;
}

static void name_unusable(struct index_tool *tool, const char *name, const struct err *cause)
{
    tool->unusable++;
    if (tool->unusable > NAMED_MAX)
        return;
    screen_clear(&tool->counter.screen);
    fprintf(stderr, "attnd-index: %s: %s: %s; it is left out%s\n", tool->data_name, name,
            cause->text, tool->unusable == NAMED_MAX ? ", as more may be" : "");
}

/* Source of an input: the file and its line, or the picture. The id, without one of its own: the
 * same without the folders. */
static enum err_code take_vector(void *context, size_t item, const float *vector,
                                 const struct err *cause, struct err *err)
{
    struct index_tool *tool = context;
    const struct dataset_item *from = &tool->dataset->items[item];
    const bool is_line = strncmp(from->name, "line ", 5) == 0;
    char source[2 * INDEX_SOURCE_BYTES], last[NAME_MAX + 1];
    struct err reason = *cause;
    snprintf(source, sizeof source, "%s%s%s", is_line ? tool->data_name : from->name,
             is_line ? ":" : "", is_line ? from->name + 5 : "");
    file_last_part(source, last);
    const struct index_record record = {.id = from->id != NULL ? from->id : last,
                                        .label = from->label != NULL ? from->label : "",
                                        .source = source};
    if (vector != NULL)
        index_build_add(tool->build, compared(tool, vector), &record, &reason);
    if (err_is_of_system(reason.code))
        return err_set(err, reason.code, "%s: %s: %s", tool->data_name, from->name, reason.text);
    if (reason.code != ERR_OK)
        name_unusable(tool, from->name, &reason);
    screen_counter_show(&tool->counter, ++tool->done);
    return ERR_OK;
}

static enum err_code build_of(struct index_tool *tool, struct dataset *datasets, struct err *err)
{
    struct index_info info = {.space = space_of(tool),
                              .element =
                                  word_of(tool->element, index_element_names, INDEX_ELEMENTS),
                              .dimensions = tool->dimensions};
    const char *similarity = tool->similarity != NULL         ? tool->similarity
                             : tool->info->similarity != NULL ? tool->info->similarity
                                                              : "cosine";
    const struct vector_run run = {.model = tool->model,
                                   .prompt_name = tool->prompt_name,
                                   .take = take_vector,
                                   .truncated = &tool->truncated,
                                   .context = tool};
    char name[NAME_MAX + 1];
    size_t rows = 0, bytes;
    info.similarity = word_of(similarity, index_similarity_names, INDEX_SIMILARITIES);
    memcpy(info.digest, tool->digest, sizeof info.digest);
    file_last_part(tool->dir, name);
    snprintf(info.model, sizeof info.model, "%.*s", INDEX_MODEL_BYTES - 1, name);
    for (size_t i = 0; i < tool->data_count; i++) {
        if (dataset_open(&datasets[i], tool->data[i], &tool->fields, err) ||
            dataset_check_pairs(&datasets[i], tool->info->reads_pairs, err))
            return err->code;
        rows += datasets[i].count;
    }
    if (index_build_open(&tool->build, &info, rows, err))
        return err->code;
    screen_counter_open(&tool->counter, "index", rows);
    for (size_t i = 0; i < tool->data_count && err->code == ERR_OK; i++) {
        tool->dataset = &datasets[i];
        tool->data_name = tool->data[i];
        vector_run_all(&run, tool->dataset, tool->threads, err);
    }
    screen_clear(&tool->counter.screen);
    if (err->code == ERR_OK && index_build_rows(tool->build) == 0)
        return err_set(err, ERR_UNUSABLE, "none of the %zu inputs can be used", rows);
    if (err->code != ERR_OK || index_build_write(tool->build, tool->path, &bytes, err))
        return err->code;
    printf("%s: %zu vectors of %u numbers (%s, %s, %s), %.1f MB", tool->path,
           index_build_rows(tool->build), info.dimensions, index_space_names[info.space],
           index_similarity_names[info.similarity], index_element_names[info.element],
           (double)bytes / 1e6);
    if (tool->unusable > 0)
        printf("; %zu inputs left out", tool->unusable);
    putchar('\n');
    if (tool->truncated > 0)
        fprintf(stderr,
                "attnd-index: note: %zu of %zu texts are longer than the %u tokens that the model "
                "reads: their beginning is compared\n",
                tool->truncated, rows, tool->info->tokens_max);
    return ERR_OK;
}

static enum err_code build(struct cli_run *run, struct err *err)
{
    struct index_tool *tool = run->target;
    struct dataset *datasets = calloc(tool->data_count, sizeof *datasets);
    if (datasets == NULL)
        return err_no_memory(err, tool->data_count * sizeof *datasets);
    build_of(tool, datasets, err);
    for (size_t i = 0; i < tool->data_count; i++)
        dataset_close(&datasets[i]);
    free(datasets);
    return err->code;
}

/* ---- search ---- */

static enum err_code check_search(void *target, struct err *err)
{
    struct index_tool *tool = target;
    if (tool->inputs.notes != NULL)
        fprintf(stderr, "attnd-index: %s\n", tool->inputs.notes);
    if (tool->inputs.count == 0)
        return err_set(err, ERR_UNUSABLE,
                       "no input: give a file, a folder, --text, --file or "
                       "--lines");
    if (index_open(&tool->index, tool->path, err) || open_model(tool, err))
        return err->code;
    const struct index_info *info = index_describe(tool->index);
    if (index_check(info, tool->digest, space_of(tool), engine_compared_size(tool->info), err))
        return err_prefix(err, "%s: ", tool->path);
    if (set_dimensions(tool, info->dimensions, err) ||
        engine_session_open(&tool->session, tool->model, 0, tool->threads, err))
        return err->code;
    tool->reader = (struct input_reader){.model = tool->model, .prompt_name = tool->prompt_name};
    return thread_pool_open(&tool->pool, tool->threads, err);
}

static enum err_code search_one(struct index_tool *tool, const struct listed_input *source,
                                struct arena *arena, struct err *err)
{
    struct engine_input input = {0};
    struct engine_result result;
    struct index_found found;
    if (input_reader_prepare(&tool->reader, source, arena, &input, err) ||
        engine_result_init(&result, tool->model, arena, err))
        return err->code;
    result.scores = NULL; /* a zero-shot model may have no label */
    engine_run(tool->session, (const struct engine_input *[]){&input}, 1,
               (struct engine_result *[]){&result});
    if (index_search(tool->index, compared(tool, engine_compared(tool->info, &result)), tool->k,
                     tool->pool, NULL, arena, &found, err))
        return err->code;
    struct answer_neighbour items[INDEX_NEIGHBOURS_MAX];
    for (unsigned i = 0; i < found.count; i++) {
        const struct index_record record = index_record(tool->index, found.hits[i].row);
        items[i] =
            (struct answer_neighbour){record.id, record.label, record.source, found.hits[i].score};
    }
    if (tool->json) {
        struct json_t *object =
            answer_similar(&(struct answer_neighbours){items, found.count}, result.truncated);
        bool ok = object != NULL &&
                  (source->file == NULL || answer_add_origin(object, source->file, source->line)) &&
                  answer_print(object, stdout);
        doc_free(object);
        return ok ? ERR_OK : err_set(err, ERR_IO, "the answer cannot be printed");
    }
    printf("%s", source->path != NULL ? source->path : source->line > 0 ? source->file : "text");
    if (source->line > 0)
        printf(":%u", source->line);
    puts(result.truncated ? "  (longer than the model reads: searched for by its beginning)" : "");
    for (unsigned i = 0; i < found.count; i++) {
        char last[NAME_MAX + 1];
        file_last_part(items[i].source, last);
        const bool has_own_id = strcmp(items[i].id, last) != 0;
        const char *label = items[i].label[0] != '\0' ? items[i].label : "-";
        printf("  %9.6f  %-*s  %s%s%s\n", (double)items[i].score, utf8_width(label, 24), label,
               has_own_id ? items[i].id : "", has_own_id ? "  " : "", items[i].source);
    }
    return ERR_OK;
}

static enum err_code search(struct cli_run *run, struct err *err)
{
    struct index_tool *tool = run->target;
    (void)err; /* each input reports its own */
    for (unsigned i = 0; i < tool->inputs.count; i++) {
        const struct listed_input *source = &tool->inputs.items[i];
        struct arena arena;
        struct err cause = {0};
        arena_init(&arena);
        if (search_one(tool, source, &arena, &cause)) {
            struct json_t *problem = tool->json ? problem_document(&cause, NULL) : NULL;
            fprintf(stderr, "attnd-index: input %u: %s\n", i + 1, cause.text);
            if (problem != NULL &&
                (source->file == NULL || answer_add_origin(problem, source->file, source->line)))
                answer_print(problem, stdout);
            doc_free(problem);
            run->status = CLI_FAILURE;
        }
        arena_deinit(&arena);
    }
    return ERR_OK;
}

/* ---- info ---- */

static enum err_code tell(struct cli_run *run, struct err *err)
{
    struct index_tool *tool = run->target;
    if (tool->path == NULL)
        return err_set(err, ERR_UNUSABLE, "FILE is missing; --help shows the usage");
    if (index_open(&tool->index, tool->path, err))
        return err->code;
    const struct index_info *info = index_describe(tool->index);
    if (!tool->json) {
        printf("rows        %zu\ndimensions  %u\nsimilarity  %s\nelement     %s\nspace       %s\n",
               info->rows, info->dimensions, index_similarity_names[info->similarity],
               index_element_names[info->element], index_space_names[info->space]);
        printf("memory      %.1f MB\nmodel       %s\ndigest      %s\n", (double)info->bytes / 1e6,
               info->model, info->digest);
        return ERR_OK;
    }
    struct json_t *object = answer_index(info);
    const bool ok = object != NULL && answer_print(object, stdout);
    doc_free(object);
    return ok ? ERR_OK : err_set(err, ERR_IO, "the description cannot be printed");
}

static const struct cli_program commands[] = {
    {.command = "build",
     .cli = &build_cli,
     .prepare = check_build,
     .run = build,
     .close = close_all},
    {.command = "search",
     .cli = &search_cli,
     .prepare = check_search,
     .run = search,
     .close = close_all},
    {.command = "info", .cli = &info_cli, .run = tell, .close = close_all},
};

int main(int argc, char **argv)
{
    static struct index_tool tool = {.inputs = {.text_option = "--text"}};
    return cli_main(commands, sizeof commands / sizeof *commands, argc, argv, &tool);
}
