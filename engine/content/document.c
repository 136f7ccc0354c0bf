/* document.c - see document.h. Each format has its own test, which begins at the first character
 * that is not blank and gives up at the first that does not fit; a text that begins like none of
 * them costs a few comparisons. No test needs memory. */
#include "engine/content/document.h"

#include "engine/base/base64.h"
#include "engine/content/file_kind.h"
#include "engine/vision/input_formats.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { HEAD_BYTES = 4096, NAME_BYTES = 32 };

struct span {
    const char *bytes;
    size_t len;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static struct span skip(struct span text, size_t len)
{
    return (struct span){text.bytes + len, text.len - len};
}

static struct span skip_blank(struct span text)
{
    while (text.len > 0 && is_blank(text.bytes[0]))
        text = skip(text, 1);
    return text;
}

/* Without a byte order mark, blanks around, and NULs behind. */
static struct span trim(struct span text)
{
    if (text.len >= 3 && memcmp(text.bytes, "\xEF\xBB\xBF", 3) == 0)
        text = skip(text, 3);
    text = skip_blank(text);
    while (text.len > 0 && (is_blank(text.bytes[text.len - 1]) || text.bytes[text.len - 1] == 0))
        text.len--;
    return text;
}

static bool begins(struct span text, const char *word)
{
    size_t len = strlen(word);
    return text.len >= len && strncasecmp(text.bytes, word, len) == 0;
}

/* Near the text's beginning, in letters of either case. */
static bool holds_near(struct span text, const char *word)
{
    struct span head = {text.bytes, text.len < HEAD_BYTES ? text.len : HEAD_BYTES};
    while (head.len > 0 && !begins(head, word))
        head = skip(head, 1);
    return head.len > 0;
}

/* The next line that is not blank, which *text is moved behind; its len is 0 at the end. */
static struct span next_line(struct span *text)
{
    *text = skip_blank(*text);
    struct span line = *text;
    line.len = 0;
    while (line.len < text->len && text->bytes[line.len] != '\n' && text->bytes[line.len] != '\r')
        line.len++;
    *text = skip(*text, line.len);
    return line;
}

/* ---- a request in JSON ---- */

static const char *const request_names[] = {DOCUMENT_NAMES_CALL};
enum { INPUT_NAMES = 3 };

/* Letters of either case, with or without `_` and `-`: topK is top_k. */
static bool is_spelling_of(struct span name, const char *known)
{
    while (*known != '\0' || name.len > 0) {
        if (*known == '_')
            known++;
        else if (name.len > 0 && (name.bytes[0] == '_' || name.bytes[0] == '-'))
            name = skip(name, 1);
        else if (name.len > 0 && *known != '\0' && (name.bytes[0] | 0x20) == *known) {
            name = skip(name, 1);
            known++;
        } else
            return false;
    }
    return true;
}

/* From a quote, double or, as other languages write, single, to behind its second. False: none. */
static bool skip_string(struct span *text, struct span *content)
{
    char quote = text->bytes[0];
    size_t at = 1;
    while (at < text->len && text->bytes[at] != quote)
        at += text->bytes[at] == '\\' ? 2 : 1;
    if (at >= text->len)
        return false;
    *content = (struct span){text->bytes + 1, at - 1};
    *text = skip(*text, at + 1);
    return true;
}

/* To the comma or the brace that ends a member's value. */
static bool skip_value(struct span *text)
{
    struct span content;
    size_t depth = 0;
    while (text->len > 0) {
        char c = text->bytes[0];
        if (depth == 0 && (c == ',' || c == '}'))
            return true;
        depth += c == '{' || c == '[';
        if ((c == '}' || c == ']') && depth-- == 0)
            return false;
        if (c != '"' && c != '\'')
            *text = skip(*text, 1);
        else if (!skip_string(text, &content))
            return false;
    }
    return false;
}

/* An object of a request's members alone, one of them an input, which *text is moved behind. */
static bool skip_request(struct span *text)
{
    bool has_input = false;
    for (char c = '{'; c != '}'; c = text->bytes[0]) {
        struct span name;
        *text = skip_blank(skip(*text, 1)); /* the brace or a comma */
        if (text->len == 0 || (text->bytes[0] != '"' && text->bytes[0] != '\'') ||
            !skip_string(text, &name))
            return false;
        size_t which = 0, count = sizeof request_names / sizeof *request_names;
        while (which < count && !is_spelling_of(name, request_names[which]))
            which++;
        if (which == count)
            return false;
        has_input = has_input || which < INPUT_NAMES;
        *text = skip_blank(*text);
        if (text->len == 0 || text->bytes[0] != ':' || !skip_value(text))
            return false;
    }
    *text = skip(*text, 1);
    return has_input;
}

/* One object, an array of them, or one on each line. */
static bool is_request(struct span text)
{
    unsigned count = 0;
    while (text.len > 0) {
        char c = text.bytes[0];
        if (is_blank(c) || c == ',' || c == '[' || c == ']')
            text = skip(text, 1);
        else if (c != '{' || !skip_request(&text))
            return false;
        else
            count++;
    }
    return count > 0;
}

/* ---- a file in base64 ---- */

/* Behind the head of a data URL, if there is one, and within quotes. */
static struct span base64_of(struct span text)
{
    enum { URL_HEAD_MAX = 200 };
    if (text.len >= 2 && text.bytes[0] == '"' && text.bytes[text.len - 1] == '"')
        text = (struct span){text.bytes + 1, text.len - 2};
    const char *comma = memchr(text.bytes, ',', text.len < URL_HEAD_MAX ? text.len : URL_HEAD_MAX);
    if (begins(text, "data:") && comma != NULL)
        text = skip(text, (size_t)(comma + 1 - text.bytes));
    return text;
}

/* NULL: it is no base64, or what it holds has no name. Short words may be base64 by chance. */
static const struct file_kind *kind_in_base64(struct span text)
{
    enum { CHARACTERS_MIN = 32, LOOKED_AT = 192 };
    char first[LOOKED_AT], bytes[LOOKED_AT];
    size_t count = 0, len;
    struct err ignored = {0};
    text = base64_of(text);
    if (text.len < CHARACTERS_MIN)
        return NULL;
    for (size_t at = 0; at < text.len; at++) {
        char c = text.bytes[at] == '-' ? '+' : text.bytes[at] == '_' ? '/' : text.bytes[at];
        bool is_padding = c == '=' && text.len - at <= 2;
        if (c == '\r' || c == '\n' || is_padding)
            continue;
        if (base64_prefix(&c, 1) == 0)
            return NULL;
        if (count < LOOKED_AT)
            first[count++] = c;
    }
    if (base64_decode(bytes, &len, first, count / 4 * 4, 0, &ignored))
        return NULL;
    return file_kind_of(bytes, len);
}

/* ---- files of a fab ---- */

/* KLARF 1.2 has statements, each up to a semicolon; 1.8 has records. */
static bool is_klarf(struct span text)
{
    static const char *const first[] = {"FileVersion ", "FileTimestamp ", "InspectionStationID "};
    unsigned statements = 0;
    bool is_first = false;
    if (begins(text, "Record FileRecord"))
        return true;
    struct span line = next_line(&text);
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        is_first = is_first || begins(line, first[i]);
    if (!is_first)
        return false;
    for (; line.len > 0 && line.bytes[line.len - 1] == ';'; line = next_line(&text))
        statements++;
    return statements >= 2 || (statements == 1 && line.len == 0);
}

/* ATDF, which is STDF in letters: FAR:A and the character between fields, then the version. A line
 * that begins with a blank continues the one before. The last line may be cut off. */
static bool is_atdf(struct span text)
{
    enum { FAR_BYTES = 7 };
    if (text.len < FAR_BYTES || memcmp(text.bytes, "FAR:A", 5) != 0 || text.bytes[6] < '1' ||
        text.bytes[6] > '9')
        return false;
    while (text.len > 0) {
        size_t end = 0;
        while (end < text.len && text.bytes[end] != '\n' && text.bytes[end] != '\r')
            end++;
        bool is_record = end >= 4 && text.bytes[3] == ':' &&
                         strspn(text.bytes, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == 3;
        if (!is_record && end != 0 && end < text.len && !is_blank(text.bytes[0]))
            return false;
        text = skip(text, end < text.len ? end + 1 : end);
    }
    return true;
}

/* A word of letters and a colon, as `LOT:`. */
static bool has_name(struct span line)
{
    size_t letters = 0;
    while (letters < line.len && (unsigned char)((line.bytes[letters] | 0x20) - 'a') < 26)
        letters++;
    return letters > 0 && letters < line.len && line.bytes[letters] == ':';
}

/* SINF: a name and a value on each line, enough of them known, then the rows. */
static bool is_sinf(struct span text)
{
    enum { ENOUGH = 4, LINES_MAX = 100 };
    static const char *const names[] = {
        "DEVICE:", "LOT:",   "WAFER:", "FNLOC:", "ROWCT:", "COLCT:",  "BCEQU:",
        "REFPX:",  "REFPY:", "DUTMS:", "XDIES:", "YDIES:", "RowData:"};
    unsigned known = 0, lines = 0;
    bool has_map = false;
    for (struct span line = next_line(&text); has_name(line) && lines < LINES_MAX;
         line = next_line(&text), lines++) {
        has_map = has_map || begins(line, "ROWCT:") || begins(line, "RowData:");
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            known += begins(line, names[i]);
    }
    return has_map && known >= ENOUGH;
}

/* SEMI E142 and G85 are XML: the root element's name, or its name space. */
static bool is_semi_map(struct span text)
{
    while (begins(text, "<?") || begins(text, "<!")) {
        const char *last = begins(text, "<!--") ? "-->" : ">";
        const char *end = memmem(text.bytes, text.len, last, strlen(last));
        if (end == NULL)
            return false;
        text = skip_blank(skip(text, (size_t)(end - text.bytes) + strlen(last)));
    }
    const char *end = memchr(text.bytes, '>', text.len);
    if (!begins(text, "<") || end == NULL)
        return false;
    const struct span tag = {text.bytes, (size_t)(end - text.bytes)};
    return begins(tag, "<MapData") || holds_near(tag, "semi-org") || holds_near(tag, "semi.org") ||
           holds_near(tag, "xmlns:semi") ||
           (begins(tag, "<Map") && (holds_near(text, "<Row") || holds_near(text, "BinCode")));
}

static const char *fab_format(struct span text)
{
    if (is_klarf(text))
        return "a KLARF file";
    if (is_atdf(text))
        return "an ATDF file";
    if (is_sinf(text))
        return "a SINF wafer map";
    return is_semi_map(text) ? "a SEMI wafer map (E142 or G85)" : NULL;
}

/* ---- all of them ---- */

bool document_describe(const char *bytes, size_t len, char out[DOCUMENT_TEXT_BYTES])
{
    struct span text = trim((struct span){bytes, len});
    const struct file_kind *kind = file_kind_of_text(bytes, len);
    const char *format = NULL;
    if (text.len == 0)
        return false;
    if (kind != NULL) {
        snprintf(out, DOCUMENT_TEXT_BYTES, "this is %s: %s", kind->name, kind->advice);
    } else if ((text.bytes[0] == '{' || text.bytes[0] == '[') && is_request(text)) {
        snprintf(out, DOCUMENT_TEXT_BYTES,
                 "this is a request in JSON, not a text: send it with Content-Type: "
                 "application/json, or send only what its \"text\" holds");
    } else if ((format = fab_format(text)) != NULL) {
        snprintf(out, DOCUMENT_TEXT_BYTES,
                 "this is %s, not a log; wafers are read as " INPUT_FORMATS_OR " pictures", format);
    } else if ((kind = kind_in_base64(text)) != NULL) {
        snprintf(out, DOCUMENT_TEXT_BYTES, "this is %s in base64, not a text: %s", kind->name,
                 kind->use == FILE_IS_READ ? "send it as \"image\" in JSON, or send its bytes"
                                           : kind->advice);
    } else {
        return false;
    }
    return true;
}
