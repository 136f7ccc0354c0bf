#include "learn/eval/answer_table.h"

#include "engine/base/utf8.h"
#include "engine/decide/extraction.h"
#include "engine/explain/explanation.h"

#include <math.h>
#include <stdlib.h>

/* Prints "decision auto, ood_score -4.1 (rank 0.93)". */
static void print_judgement(FILE *file, const struct engine_result *result)
{
    const struct judgement *judgement = &result->judgement;
    char threshold[DECISION_THRESHOLD_BYTES];
    fprintf(file, "  decision %s", decision_name(judgement->decision));
    if (judgement->has_ood)
        fprintf(file, ", ood_score %.9g", (double)judgement->ood_score);
    if (judgement->has_rank)
        fprintf(file, " (rank %.9g)", (double)judgement->ood_rank);
    if (judgement->uncalibrated)
        fprintf(file, ", the model is not calibrated");
    else if (judgement->truncated)
        fprintf(file, ", its end was not read");
    else if (judgement->coloured)
        fprintf(file, ", it has colours and the model learnt grey pictures");
    else if (judgement->other_checksum)
        fprintf(file, ", its checksum is not that of attnd.json");
    else if (judgement->decision != DECISION_AUTO && !judgement->never) {
        if (result->task == ENGINE_GENERATE)
            fprintf(file, ", confidence %.9g", (double)judgement->score);
        fprintf(file, ", threshold %s", decision_threshold_text(threshold, judgement->threshold));
    }
    fputc('\n', file);
}

/* Prints the patch grid, two characters a patch; darker ones are less relevant. */
static void print_grid(FILE *file, const struct explanation *explanation)
{
    static const char shades[] = " .:-=+*#%@";
    const struct patches_view *view = &explanation->view;
    float largest = 0;
    for (unsigned p = 0; p < view->rows * view->columns; p++)
        largest = explanation->patches[p] > largest ? explanation->patches[p] : largest;
    for (unsigned row = 0; row < view->rows; row++) {
        fprintf(file, "  ");
        for (unsigned column = 0; column < view->columns; column++) {
            float relevance = explanation->patches[row * view->columns + column];
            char shade = shades[largest > 0 ? (int)(relevance / largest * 9 + 0.5f) : 0];
            fprintf(file, "%c%c", shade, shade);
        }
        fputc('\n', file);
    }
}

/* Prints "  34 %  "Unable to handle kernel paging request"  characters 356 to 395". A control
 * character becomes a blank, so that a log cannot control the terminal; of a long span only the
 * beginning is shown. */
static void print_part(FILE *file, const char *text, size_t len, unsigned start, unsigned end)
{
    enum { SHOWN = 60 };
    size_t at = 0;
    unsigned character = 0;
    for (; character < start && at < len; character++)
        at += utf8_character_bytes(text + at, len - at);
    fputc('"', file);
    for (; character < end && character < start + SHOWN && at < len; character++) {
        size_t bytes = utf8_character_bytes(text + at, len - at);
        bool is_control =
            (unsigned char)text[at] < 0x20 || text[at] == 0x7F ||
            (bytes == 2 && (unsigned char)text[at] == 0xC2 && (unsigned char)text[at + 1] < 0xA0);
        fprintf(file, "%.*s", is_control ? 1 : (int)bytes, is_control ? " " : text + at);
        at += bytes;
    }
    fprintf(file, "%s\"  characters %u to %u\n", character < end ? "..." : "", start, end);
}

static void print_excerpt(FILE *file, const char *text, size_t len, const struct excerpt *part)
{
    fprintf(file, "  %3.0f %%  ", 100 * (double)part->relevance);
    print_part(file, text, len, part->start, part->end);
}

/* "  "timeout"  18 %  "die"  characters 4 to 7": where the model looked most for each token. */
static void print_alignment(FILE *file, const struct explanation *explanation, const char *text,
                            size_t len)
{
    for (unsigned i = 0; i < explanation->aligned_count; i++) {
        const struct aligned_token *token = &explanation->aligned[i];
        unsigned best = 0;
        for (unsigned w = 1; w < explanation->word_count; w++)
            best = token->weights[w] > token->weights[best] ? w : best;
        if (token->len == 0 || explanation->word_count == 0)
            continue;
        fprintf(file, "  \"%.*s\"  %.0f %%  ", (int)token->len, token->text,
                100 * (double)token->weights[best]);
        print_part(file, text, len, explanation->words[best].start, explanation->words[best].end);
    }
}

void answer_table_explain(const struct explanation *explanation, const char *text, size_t len,
                          const char *pair, FILE *file)
{
    fprintf(file, "  %s:\n", method_name(explanation->method));
    if (explanation->words == NULL)
        print_grid(file, explanation);
    if (explanation->words != NULL && explanation->aligned != NULL) {
        print_alignment(file, explanation, text, len);
        return;
    }
    for (unsigned i = 0; i < explanation->span_count; i++)
        if (explanation->spans[i].of_pair)
            print_excerpt(file, pair, strlen(pair), &explanation->spans[i]);
        else
            print_excerpt(file, text, len, &explanation->spans[i]);
}

/* The length of a vector, and its first numbers. */
static void print_vector(const float *vector, unsigned size, bool is_truncated, FILE *file)
{
    enum { SHOWN = 6 };
    double squares = 0;
    for (unsigned i = 0; i < size; i++)
        squares += (double)vector[i] * (double)vector[i];
    fputs(is_truncated ? " (longer than the model reads: cut)\n " : "\n ", file);
    for (unsigned i = 0; i < size && i < SHOWN; i++)
        fprintf(file, " %.6g", (double)vector[i]);
    fprintf(file, "%s  (%u numbers, length %.6g; --json prints all)\n", size > SHOWN ? " ..." : "",
            size, sqrt(squares));
}

/* "  PIN         0.98  "vdd_io"  characters 12 to 18" for each span. */
static void print_spans(const struct engine_result *result, const char *text, size_t len,
                        FILE *file)
{
    for (unsigned i = 0; i < result->span_count; i++) {
        const struct span *span = &result->spans[i];
        fprintf(file, "  %-*s %12.9g  ", utf8_width(span->name, 24), span->name,
                (double)span->score);
        print_part(file, text, len, span->start, span->end);
    }
    if (result->span_count == 0)
        fputs("  no span\n", file);
}

/* "  0.98  "vdd_io"  characters 12 to 18" for each answer. */
static void print_answers(const struct engine_result *result, const char *text, size_t len,
                          FILE *file)
{
    for (unsigned i = 0; i < result->answer_count; i++) {
        const struct extract *answer = &result->extraction->found[i];
        fprintf(file, "  %12.9g  ", (double)answer->score);
        print_part(file, text, len, answer->start, answer->end);
    }
    if (result->answer_count == 0)
        fputs("  no answer\n", file);
}

enum err_code answer_table_print(const struct engine_info *info, const struct engine_result *result,
                                 const char *text, size_t len, unsigned rows, FILE *file,
                                 struct err *err)
{
    static const char cells[] = "################################";
    const unsigned labels = info->label_count;
    const float *scores = result->scores;
    if (result->task == ENGINE_FILL || result->task == ENGINE_SPARSE) {
        fprintf(file, "\n  %s; --json prints them\n",
                result->task == ENGINE_FILL ? "words for each masked token"
                                            : "weights of the vocabulary");
        return ERR_OK;
    }
    if (result->task == ENGINE_GENERATE) {
        fputs(result->truncated ? " (longer than the model reads: cut)\n" : "\n", file);
        for (unsigned i = 0; i < result->text_count; i++)
            fprintf(file, "  %12.9g  %s\n", (double)result->texts[i].score, result->texts[i].text);
        if (result->text_count == 0)
            fprintf(file, "  no text obeys the rules (%s)\n", result->broken_rule);
        if (result->rejected != NULL)
            fprintf(file, "  %12.9g  rejected: %s\n", (double)result->rejected->score,
                    result->rejected->text);
        print_judgement(file, result);
        return ERR_OK;
    }
    if (result->task == ENGINE_EMBED) {
        print_vector(result->vector, info->vector_size, result->truncated, file);
        return ERR_OK;
    }
    bool *shown = calloc(labels, sizeof *shown);
    if (shown == NULL)
        return err_no_memory(err, labels);
    if (result->windows > 0 && info->kind == ENGINE_TEXT)
        fprintf(file, " (read in %u windows)", result->windows);
    fputs(result->truncated ? " (longer than the model reads: cut)\n" : "\n", file);
    if (info->row_size > 0) {
        if (result->task == ENGINE_TAG)
            print_spans(result, text, len, file);
        else
            print_answers(result, text, len, file);
        print_judgement(file, result);
        free(shown);
        return ERR_OK;
    }
    for (unsigned i = 0; i < labels && (rows == 0 || i < rows); i++) {
        unsigned best = labels;
        for (unsigned c = 0; c < labels; c++)
            if (!shown[c] && (best == labels || scores[c] > scores[best]))
                best = c;
        shown[best] = true;
        const float score = scores[best];
        const int filled = score > 0 && score <= 1 ? (int)(score * 32 + 0.5f) : 0;
        fprintf(file, "  %-*s %12.9g  %.*s\n", utf8_width(info->labels[best], 24),
                info->labels[best], (double)score, filled, cells);
    }
    print_judgement(file, result);
    free(shown);
    return ERR_OK;
}
