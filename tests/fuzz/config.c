/* The server's configuration: a JSON file and, after a byte 0, variables of the environment and
 * flags, one a line ("ATTND_..." or an argument). An accepted configuration prints as a file that
 * is accepted too and prints the same. */
#include "config/config_load.h"
#include "config/config_print.h"

#include "tests/fuzz/driver/fuzz.h"

#include <stdlib.h>
#include <string.h>

enum { WORDS_MAX = 8 };

struct words {
    char *flags[WORDS_MAX + 5], *variables[WORDS_MAX + 1];
    int flag_count, variable_count;
};

static void read_words(struct words *words, struct fuzz_input *input)
{
    for (int i = 0; i < WORDS_MAX && input->left > 0; i++) {
        char *word = fuzz_part(input, '\n', NULL);
        if (strncmp(word, "ATTND_", 6) == 0)
            words->variables[words->variable_count++] = word;
        else
            words->flags[words->flag_count++] = word;
    }
}

static void free_words(struct words *words, int first)
{
    for (int i = first; i < words->flag_count; i++)
        free(words->flags[i]);
    for (int i = 0; i < words->variable_count; i++)
        free(words->variables[i]);
}

/* The configuration as JSON; to be freed. */
static char *printed(const struct config *config, size_t *len)
{
    char *text = NULL;
    FILE *file = open_memstream(&text, len);
    FUZZ_CLAIM(file != NULL);
    config_print(config, file);
    fclose(file);
    return text;
}

static void print_again(const struct config *config)
{
    char program[] = "attnd", flag[] = "--config", *none = NULL;
    struct config again;
    enum config_action action;
    struct err err = {0};
    size_t len, again_len;
    char *text = printed(config, &len);
    char *path = strdup(fuzz_file("printed.json", text, len));
    char *argv[] = {program, flag, path, NULL};
    FUZZ_CLAIM(path != NULL);
    FUZZ_CLAIM(config_load(&again, &action, 3, argv, &none, &err) == ERR_OK);
    char *again_text = printed(&again, &again_len);
    FUZZ_CLAIM(len == again_len && memcmp(text, again_text, len) == 0);
    config_deinit(&again);
    free(again_text);
    free(path);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    char program[] = "attnd", flag[] = "--config";
    size_t len;
    char *json = fuzz_part(&input, '\0', &len);
    char *path = strdup(fuzz_file("server.json", json, len));
    struct words words = {.flags = {program, flag, path}, .flag_count = 3};
    struct config config;
    enum config_action action;
    struct err err = {0};
    read_words(&words, &input);
    if (config_load(&config, &action, words.flag_count, words.flags, words.variables, &err) ==
        ERR_OK) {
        if (action != CONFIG_HELP && action != CONFIG_VERSION)
            print_again(&config);
        config_deinit(&config);
    }
    fuzz_check_err(&err);
    free_words(&words, 3);
    free(path);
    free(json);
    return 0;
}
