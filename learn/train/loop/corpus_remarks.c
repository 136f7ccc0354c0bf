#include "learn/train/loop/corpus_remarks.h"

static void print_left_out(const struct corpus *corpus, FILE *file)
{
    char sentence[DATASET_SENTENCE_BYTES];
    for (unsigned i = 0; i < 2; i++) {
        dataset_describe_left_out(&corpus->parts[i].dataset, sentence);
        if (sentence[0] != '\0')
            fprintf(file, "note: of %s %s\n", i == 0 ? "--data" : "--validation", sentence);
    }
}

enum err_code corpus_remarks_print(const struct corpus *corpus, FILE *file, struct err *err)
{
    print_left_out(corpus, file);
    return err->code;
}
