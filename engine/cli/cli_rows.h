/* cli_rows.h - the forms of a row, and rows that several programs share: the same word, limits and
 * help.
 *
 *     static const struct cli_option options[] = {
 *         CLI_ROW_MODEL(struct mill, dir),
 *         CLI_ROWS_FIELDS(struct mill, fields),
 *         CLI_ROW(struct mill, teeth, "teeth", "N", .min = 1, .help = "How many cut at once."),
 *         CLI_ROW_FLAG(struct mill, is_loud, "loud", "Prints every cut."),
 *     };
 *
 * Most macros take the structure that the options fill, and the member for the value. Threads: rows
 * are constant.
 */
#ifndef ATTND_ENGINE_CLI_CLI_ROWS_H
#define ATTND_ENGINE_CLI_CLI_ROWS_H

#include "engine/cli/cli_option.h"
#include "engine/cli/shipped.h"

enum { CLI_THREADS_MAX = 1024, CLI_LIMIT_MAX = 1000 * 1000 * 1000 };

#define CLI_ROW(type, member, name_, value_, ...)                                                  \
    {                                                                                              \
        .name = name_, CLI_FIELD(type, member), .value = value_, __VA_ARGS__                       \
    }

#define CLI_ROW_FLAG(type, member, name_, help_)                                                   \
    {                                                                                              \
        .name = name_, CLI_FIELD(type, member), .help = help_                                      \
    }
/* A row without a field: apply_ takes the value. */
#define CLI_ROW_OTHER(name_, value_, apply_, ...)                                                  \
    {                                                                                              \
        .name = name_, .type = CLI_OTHER, .value = value_, .apply = apply_, __VA_ARGS__            \
    }

/* ---- the model ---- */

#define CLI_ROW_MODEL(type, member)                                                                \
    CLI_ROW(type, member, "model", "DIR", .apply = shipped_option, .is_required = true,            \
            .help = "The checkpoint directory, or the name of a shipped model.")
#define CLI_ROW_DTYPE(type, member)                                                                \
    CLI_ROW(type, member, "dtype", "NAME",                                                         \
            .help = "The precision of the linear layers: f32 (default), bf16, int8 or auto.")
#define CLI_ROW_LINEAR_BACKEND(type, member)                                                       \
    CLI_ROW(type, member, "linear-backend", "NAME", .help = "auto, native, openblas or reference.")
#define CLI_ROW_THREADS(type, member)                                                              \
    CLI_ROW(type, member, "threads", "N", .min = 1, .max = CLI_THREADS_MAX,                        \
            .help = "Compute threads (default: all that the cgroup allows).")
#define CLI_ROW_TARGET_PRECISION(type, member)                                                     \
    CLI_ROW(type, member, "target-precision", "SHARE", .fallback = "0.95", .min = 1e-9, .max = 1,  \
            .help = "The share of automatic answers that must be right.")

/* ---- labelled inputs ---- */

#define CLI_ROW_TEXT_FIELD(type, member)                                                           \
    CLI_ROW(type, member, "text-field", "NAME", .fallback = "text",                                \
            .help = "The member or column that holds the text.")
/* member: a struct dataset_options (learn/data/dataset.h). */
#define CLI_ROWS_FIELDS(type, member)                                                              \
    CLI_ROW_TEXT_FIELD(type, member.text_field),                                                   \
        CLI_ROW(type, member.image_field, "image-field", "NAME", .fallback = "image",              \
                .help = "The member or column that holds the image's path."),                      \
        CLI_ROW(type, member.label_field, "label-field", "NAME", .fallback = "label",              \
                .help = "The member or column that holds the label. Of a model that writes: the "  \
                        "right text, by default target.")
#define CLI_ROW_LIMIT(type, member)                                                                \
    CLI_ROW(type, member, "limit", "N", .min = 1, .max = CLI_LIMIT_MAX,                            \
            .help = "Only the first N inputs.")

/* ---- a server ---- */

#define CLI_ROW_CA_FILE(type, member)                                                              \
    CLI_ROW(type, member, "ca-file", "FILE",                                                       \
            .help = "With https: PEM certificates of the authorities that may vouch for the "      \
                    "server, or its own (default: the system's).")

#endif
