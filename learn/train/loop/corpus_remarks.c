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

static void print_contrast(const struct corpus *corpus, FILE *file)
{
    struct contrast_count count = samples_contrast(corpus->parts[0].samples);
    if (corpus->chose_minmax)
        fprintf(file,
                "note: the 16-bit images use less than a quarter of their range (12 bits in 16?): "
                "each is stretched to its own range, here and when served (\"grey16\": \"minmax\" "
                "in attnd.json); --grey16 range leaves them as they are\n");
    else if (contrast_wants_minmax(&count))
        fprintf(file,
                "note: %zu of %zu 16-bit images use less than a quarter of the range: the model "
                "will see little of them; --grey16 minmax stretches each to its own range\n",
                count.grey16_narrow, count.grey16);
    else if (contrast_is_low(&count))
        fprintf(
            file,
            "note: %zu of %zu images use less than a quarter of the grey levels: the model "
            "will see little of them; stretch their contrast before, the same way for serving\n",
            count.dull, count.images);
}

enum err_code corpus_remarks_print(const struct corpus *corpus, FILE *file, struct err *err)
{
    print_left_out(corpus, file);
    print_contrast(corpus, file);
    return err->code;
}
