#include "tools/answers/answer_words.h"

#include "engine/cli/cli.h"

#include <string.h>

enum err_code answer_words_top_k(const char *word, unsigned *top_k, struct err *err)
{
    size_t number = 0;
    if (strcmp(word, "all") != 0 && cli_option_parse_whole(word, 1, ANSWER_TOP_K_MAX, &number, err))
        return err->code;
    *top_k = (unsigned)number;
    return ERR_OK;
}

enum err_code answer_words_method(const char *word, enum explain_method *method, struct err *err)
{
    *method = EXPLAIN_DEFAULT;
    if (strcmp(word, "default") == 0 || method_find(word, method))
        return ERR_OK;
    return err_set(err, ERR_UNUSABLE, "no method '%.64s' (known: default, %s)", word,
                   method_names());
}
