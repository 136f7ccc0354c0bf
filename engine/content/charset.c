/* charset.c - see charset.h. The labels and the tables are those of the WHATWG Encoding Standard,
 * which browsers and most HTTP clients follow: shift_jis is windows-31j, so `\` and `~` of an ASCII
 * text stay what they are, gb2312 is read by the larger gb18030, latin1 and ascii are windows-1252.
 * glibc's converters have nearly these tables. Where they differ `exceptions` counts; the text
 * between two such characters goes through iconv in one piece. */
#include "engine/content/charset.h"

#include "engine/base/utf8.h"

#include <errno.h>
#include <iconv.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

/* A run of codes, of one byte or of two, and the character of the first; 0: there is none. */
struct exception {
    unsigned first, last, character;
};

/* By code. Made by comparing glibc 2.36 with the indexes of the standard. */
static const struct exception cp1252[] = {
    {0x81, 0x81, 0x81},
    {0x8D, 0x8D, 0x8D},
    {0x8F, 0x90, 0x8F},
    {0x9D, 0x9D, 0x9D},
};
static const struct exception cp932[] = {
    {0x80, 0x80, 0x80},
};
static const struct exception gb18030[] = {
    {0x80, 0x80, 0x20AC},     {0xA3A0, 0xA3A0, 0x3000}, {0xFE51, 0xFE53, 0xE816},
    {0xFE6C, 0xFE6C, 0xE831}, {0xFE76, 0xFE76, 0xE83B}, {0xFE91, 0xFE91, 0xE855},
};
static const struct exception big5[] = {
    {0x80, 0x80, 0},          {0x8E69, 0x8E69, 0x7BB8}, {0x8E6F, 0x8E6F, 0x7C06},
    {0x8E7E, 0x8E7E, 0x7CCE}, {0x8EAB, 0x8EAB, 0x7DD2}, {0x8EB4, 0x8EB4, 0x7E1D},
    {0x8ECD, 0x8ECD, 0x8005}, {0x8ED0, 0x8ED0, 0x8028}, {0x8F57, 0x8F57, 0x83C1},
    {0x8F69, 0x8F69, 0x84A8}, {0x8F6E, 0x8F6E, 0x840F}, {0x8FCB, 0x8FCB, 0x89A6},
    {0x8FCC, 0x8FCC, 0x89A9}, {0x8FFE, 0x8FFE, 0x8D77}, {0x906D, 0x906D, 0x90FD},
    {0x907A, 0x907A, 0x92B9}, {0x90DC, 0x90DC, 0x975C}, {0x90F1, 0x90F1, 0x97FF},
    {0x91BF, 0x91BF, 0x9F16}, {0x9244, 0x9244, 0x8503}, {0x92AF, 0x92AF, 0x5159},
    {0x92B0, 0x92B0, 0x515B}, {0x92B1, 0x92B2, 0x515D}, {0x92C8, 0x92C8, 0x936E},
    {0x92D1, 0x92D1, 0x7479}, {0x9447, 0x9447, 0x6D67}, {0x94CA, 0x94CA, 0x799B},
    {0x95D9, 0x95D9, 0x9097}, {0x9644, 0x9644, 0x975D}, {0x96ED, 0x96ED, 0x701E},
    {0x96FC, 0x96FC, 0x5B28}, {0x9B76, 0x9B76, 0x7201}, {0x9B78, 0x9B78, 0x77D7},
    {0x9B7B, 0x9B7B, 0x7E87}, {0x9BC6, 0x9BC6, 0x99D6}, {0x9BDE, 0x9BDE, 0x91D4},
    {0x9BEC, 0x9BEC, 0x60DE}, {0x9BF6, 0x9BF6, 0x6FB6}, {0x9C42, 0x9C42, 0x8F36},
    {0x9C53, 0x9C53, 0x4FBB}, {0x9C62, 0x9C62, 0x71DF}, {0x9C68, 0x9C68, 0x9104},
    {0x9C6B, 0x9C6B, 0x9DF0}, {0x9C77, 0x9C77, 0x83CF}, {0x9CBC, 0x9CBC, 0x5C10},
    {0x9CBD, 0x9CBD, 0x79E3}, {0x9CD0, 0x9CD0, 0x5A67}, {0x9D57, 0x9D57, 0x8F0B},
    {0x9D5A, 0x9D5A, 0x7B51}, {0x9DC4, 0x9DC4, 0x62D0}, {0x9EA9, 0x9EA9, 0x6062},
    {0x9EEF, 0x9EEF, 0x75F9}, {0x9EFD, 0x9EFD, 0x6C4A}, {0x9F60, 0x9F60, 0x9B2E},
    {0x9F66, 0x9F66, 0x9F17}, {0x9FCB, 0x9FCB, 0x50ED}, {0x9FD8, 0x9FD8, 0x5F0C},
    {0xA063, 0xA063, 0x880F}, {0xA077, 0xA077, 0x62CE}, {0xA0D5, 0xA0D5, 0x7468},
    {0xA0DF, 0xA0DF, 0x7162}, {0xA0E4, 0xA0E4, 0x7250}, {0xA145, 0xA145, 0x2027},
    {0xA14E, 0xA14E, 0xFE51}, {0xA15A, 0xA15A, 0x2574}, {0xA1C2, 0xA1C2, 0xAF},
    {0xA1C3, 0xA1C3, 0xFFE3}, {0xA1C5, 0xA1C5, 0x2CD},  {0xA1E3, 0xA1E3, 0xFF5E},
    {0xA1F2, 0xA1F2, 0x2295}, {0xA1F3, 0xA1F3, 0x2299}, {0xA1FE, 0xA1FE, 0xFF0F},
    {0xA240, 0xA240, 0xFF3C}, {0xA241, 0xA241, 0x2215}, {0xA242, 0xA242, 0xFE68},
    {0xA244, 0xA244, 0xFFE5}, {0xA246, 0xA247, 0xFFE0}, {0xA2CC, 0xA2CC, 0x5341},
    {0xA2CE, 0xA2CE, 0x5345}, {0xA3C0, 0xA3DF, 0x2400}, {0xA3E0, 0xA3E0, 0x2421},
    {0xA3E1, 0xA3E1, 0x20AC}, {0xC6CF, 0xC6CF, 0x5EF4}, {0xC6D3, 0xC6D3, 0x65E0},
    {0xC6D5, 0xC6D5, 0x7676}, {0xC6D7, 0xC6D7, 0x96B6}, {0xC6DE, 0xC6DE, 0x3003},
    {0xC6DF, 0xC6DF, 0x4EDD}, {0xFA5F, 0xFA5F, 0x5029}, {0xFA66, 0xFA66, 0x507D},
    {0xFABD, 0xFABD, 0x5305}, {0xFAC5, 0xFAC5, 0x5344}, {0xFAD5, 0xFAD5, 0x537F},
    {0xFB48, 0xFB48, 0x5605}, {0xFBB8, 0xFBB8, 0x5A77}, {0xFBF3, 0xFBF3, 0x5E75},
    {0xFBF9, 0xFBF9, 0x5ED0}, {0xFC4F, 0xFC4F, 0x5F58}, {0xFC6C, 0xFC6C, 0x60A4},
    {0xFCB9, 0xFCB9, 0x6490}, {0xFCE2, 0xFCE2, 0x6674}, {0xFCF1, 0xFCF1, 0x675E},
    {0xFDB7, 0xFDB7, 0x6C9C}, {0xFDB8, 0xFDB8, 0x6E1D}, {0xFDBB, 0xFDBB, 0x6E2F},
    {0xFDF1, 0xFDF1, 0x716E}, {0xFE52, 0xFE52, 0x732A}, {0xFE6F, 0xFE6F, 0x745C},
    {0xFEAA, 0xFEAA, 0x74E9}, {0xFEDD, 0xFEDD, 0x7809},
};

#define EXCEPTIONS(list) list, sizeof(list) / sizeof(list)[0]

static const struct charset {
    const char *iconv;
    const char *labels; /* a blank before and behind each */
    const struct exception *exceptions;
    size_t exception_count;
} charsets[] = {
    {"", " utf-8 utf8 unicode-1-1-utf-8 unicode11utf8 unicode20utf8 x-unicode20utf8 ", NULL, 0},
    {"CP1252",
     " windows-1252 cp1252 x-cp1252 iso-8859-1 iso8859-1 iso88591 iso_8859-1 "
     "iso_8859-1:1987 iso-ir-100 latin1 latin-1 l1 csisolatin1 cp819 ibm819 us-ascii "
     "ascii ansi_x3.4-1968 ",
     EXCEPTIONS(cp1252)},
    {"ISO-8859-15", " iso-8859-15 iso8859-15 iso885915 iso_8859-15 latin9 latin-9 l9 csisolatin9 ",
     NULL, 0},
    {"UTF-16", " utf-16 utf16 unicode ucs-2 csunicode iso-10646-ucs-2 unicodefeff ", NULL, 0},
    {"UTF-16LE", " utf-16le utf16le ", NULL, 0},
    {"UTF-16BE", " utf-16be utf16be unicodefffe ", NULL, 0},
    {"CP932",
     " shift_jis shift-jis sjis x-sjis csshiftjis ms_kanji ms932 cp932 windows-932 "
     "windows-31j ",
     EXCEPTIONS(cp932)},
    {"GB18030",
     " gb18030 gbk x-gbk gb2312 gb_2312 gb_2312-80 csgb2312 csiso58gb231280 chinese "
     "iso-ir-58 euc-cn cp936 ms936 windows-936 ",
     EXCEPTIONS(gb18030)},
    {"BIG5-HKSCS", " big5 big5-hkscs cn-big5 csbig5 x-x-big5 cp950 windows-950 ", EXCEPTIONS(big5)},
    {"UHC",
     " euc-kr euckr cseuckr csksc56011987 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 "
     "ksc_5601 iso-ir-149 uhc cp949 ms949 windows-949 ",
     NULL, 0},
};

const char *charset_names(void)
{
    return "utf-8, utf-16, windows-1252 (also iso-8859-1), iso-8859-15, shift_jis (windows-31j), "
           "gb18030 (also gbk, gb2312), big5 or euc-kr (cp949)";
}

const char *charset_find(const char *name, size_t len)
{
    for (size_t i = 0; len > 0 && i < sizeof charsets / sizeof charsets[0]; i++)
        for (const char *at = charsets[i].labels + 1; *at != '\0'; at += strcspn(at, " ") + 1)
            if (strcspn(at, " ") == len && strncasecmp(at, name, len) == 0)
                return charsets[i].iconv;
    return NULL;
}

const char *charset_of_mark(const char *bytes, size_t len)
{
    if (len >= 2 && memcmp(bytes, "\xFF\xFE", 2) == 0)
        return "UTF-16LE";
    if (len >= 2 && memcmp(bytes, "\xFE\xFF", 2) == 0)
        return "UTF-16BE";
    return "";
}

/* Which of the first four bytes are NUL, as bits, when the first character is one of ASCII. */
const char *charset_of_json(const char *bytes, size_t len)
{
    enum { FIRST = 4, UTF_32BE = 7, UTF_32LE = 14, UTF_16BE = 5, UTF_16LE = 10 };
    unsigned nuls = 0;
    if (len >= FIRST && memcmp(bytes, "\xFF\xFE\0\0", FIRST) == 0)
        return "UTF-32LE";
    if (len >= FIRST && memcmp(bytes, "\0\0\xFE\xFF", FIRST) == 0)
        return "UTF-32BE";
    for (size_t i = 0; i < FIRST && i < len; i++)
        nuls |= (unsigned)(bytes[i] == '\0') << i;
    if (len < FIRST)
        return charset_of_mark(bytes, len);
    switch (nuls) {
    case UTF_32BE:
        return "UTF-32BE";
    case UTF_32LE:
        return "UTF-32LE";
    case UTF_16BE:
        return "UTF-16BE";
    case UTF_16LE:
        return "UTF-16LE";
    default:
        return charset_of_mark(bytes, len);
    }
}

/* No character of these charsets takes more than three bytes for each of its own. */
size_t charset_bytes(size_t len)
{
    return 3 * len + 1;
}

/* ---- exceptions ---- */

static const struct charset *charset_of(const char *iconv)
{
    size_t i = 0, count = sizeof charsets / sizeof charsets[0];
    while (i < count && strcmp(charsets[i].iconv, iconv) != 0)
        i++;
    return i < count ? &charsets[i] : NULL;
}

/* Bytes of the character at the head of some: from 0x81 on two, of GB18030 some four. */
static size_t character_bytes(const struct charset *of, const unsigned char *bytes, size_t len)
{
    bool is_kana = bytes[0] >= 0xA0 && bytes[0] <= 0xDF && of->exceptions == cp932;
    if (bytes[0] <= 0x80 || len < 2 || of->exceptions == cp1252 || is_kana)
        return 1;
    bool is_four = bytes[1] >= '0' && bytes[1] <= '9' && len >= 4;
    return is_four && of->exceptions == gb18030 ? 4 : 2;
}

/* The exception that these bytes are; NULL: none. */
static const struct exception *exception_of(const struct charset *of, const unsigned char *bytes,
                                            size_t len)
{
    unsigned code = len == 1 ? bytes[0] : (unsigned)bytes[0] << 8 | bytes[1];
    for (size_t i = 0; i < of->exception_count && len <= 2; i++)
        if (code <= of->exceptions[i].last)
            return code >= of->exceptions[i].first ? &of->exceptions[i] : NULL;
    return NULL;
}

/* ---- decoding ---- */

/* A text on its way; iconv only reads its input. */
struct decoding {
    iconv_t converter;
    char *next, *out;
    size_t left, room;
};

/* `len` more bytes through iconv; at the end of a piece nothing may be held back. */
static bool convert(struct decoding *decoding, size_t len)
{
    size_t left = len;
    bool is_whole =
        iconv(decoding->converter, &decoding->next, &left, &decoding->out, &decoding->room) !=
            (size_t)-1 &&
        iconv(decoding->converter, NULL, NULL, &decoding->out, &decoding->room) != (size_t)-1;
    decoding->left -= len - left;
    return is_whole;
}

/* To the next exception, and over it. False: a character that the charset does not have. */
static bool convert_piece(struct decoding *decoding, const struct charset *of)
{
    const unsigned char *bytes = (const unsigned char *)decoding->next;
    const struct exception *found = NULL;
    size_t at = 0, step = 0;
    for (; at < decoding->left && found == NULL; at += found == NULL ? step : 0) {
        step = character_bytes(of, bytes + at, decoding->left - at);
        found = bytes[at] >= 0x80 ? exception_of(of, bytes + at, step) : NULL;
    }
    if ((at > 0 && !convert(decoding, at < decoding->left ? at : decoding->left)) || found == NULL)
        return decoding->left == 0;
    if (found->character == 0)
        return false;
    unsigned code = step == 1 ? bytes[at] : (unsigned)bytes[at] << 8 | bytes[at + 1];
    size_t put = utf8_encode(found->character + code - found->first, decoding->out);
    decoding->out += put;
    decoding->room -= put;
    decoding->next += step;
    decoding->left -= step;
    return true;
}

static bool convert_all(struct decoding *decoding, const struct charset *of)
{
    if (of == NULL || of->exception_count == 0)
        return convert(decoding, decoding->left);
    while (decoding->left > 0)
        if (!convert_piece(decoding, of))
            return false;
    return true;
}

static const char mark[] = "\xEF\xBB\xBF"; /* U+FEFF */

enum err_code charset_decode(const char *charset, const char *bytes, size_t len, char *out,
                             size_t *out_len, struct err *err)
{
    union {
        const char *from;
        char *to;
    } in = {.from = bytes};
    struct decoding decoding = {.converter = iconv_open("UTF-8", charset),
                                .next = in.to,
                                .out = out,
                                .left = len,
                                .room = charset_bytes(len) - 1};
    if (decoding.converter == (iconv_t)-1)
        return errno == ENOMEM
                   ? err_no_memory(err, len)
                   : err_set(err, ERR_UNUSABLE,
                             "this machine cannot decode %s, since glibc's converters are "
                             "missing: send UTF-8, or install libc-gconv-modules-extra "
                             "(not every system has this package)",
                             charset);
    bool is_whole = convert_all(&decoding, charset_of(charset));
    iconv_close(decoding.converter);
    if (!is_whole)
        return err_set(err, ERR_UNUSABLE, "not %s at byte %zu", charset, len - decoding.left);
    *out_len = (size_t)(decoding.out - out);
    if (*out_len >= 3 && memcmp(out, mark, 3) == 0) {
        *out_len -= 3;
        memmove(out, out + 3, *out_len);
    }
    out[*out_len] = '\0';
    return ERR_OK;
}
