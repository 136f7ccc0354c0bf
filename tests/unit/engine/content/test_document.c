#include "engine/content/document.h"

#include "engine/base/base64.h"
#include "engine/vision/input_formats.h"
#include "tests/support/suite.h"
#include "wire/codec_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char described[DOCUMENT_TEXT_BYTES];

static bool describes(const char *text)
{
    described[0] = '\0';
    return document_describe(text, strlen(text), described);
}

static void is_named(const char *text, const char *name)
{
    ck_assert_msg(describes(text), "a text: %s", text);
    ck_assert_msg(strstr(described, name) != NULL, "%s: %s", text, described);
}

static void is_text(const char *text)
{
    ck_assert_msg(!describes(text), "%s: %s", text, described);
}

START_TEST(requests_in_json_are_no_texts)
{
    static const char *const requests[] = {
        "{\"text\": \"SCAN chain 3 FAIL\"}",
        "\xEF\xBB\xBF  {\"text\":\"a\",\"id\":\"1\",\"context\":{\"lot\":[\"}\"]}}\r\n",
        "{\"inputs\": [{\"text\": \"a } b\"}, {\"text\": \"\\\"\"}]}",
        "{\"inputs\": \"a\"}",
        "{\"image\":\"iVBORw0KGgo=\", \"topK\": 3}",
        "[{\"text\": \"a\"}, {\"text\": \"b\"}]",
        "{\"text\": \"a\"}\n{\"text\": \"b\", \"id\": 2}\n",
        "{'text': 'a', 'model': None}",
        "{\"text\": \"a\"}\0",
    };
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
        is_named(requests[i], "this is a request in JSON, not a text: send it with Content-Type: ");
}
END_TEST

START_TEST(every_member_of_a_request_is_known)
{
    for (size_t i = 0; i < codec_names_call.count; i++) {
        char text[200];
        snprintf(text, sizeof text, "{\"text\": \"a\", \"%s\": 1}", codec_names_call.list[i]);
        is_named(text, "a request in JSON");
    }
}
END_TEST

START_TEST(logs_that_hold_json_are_logs)
{
    static const char *const logs[] = {
        "",
        "{",
        "{}",
        "[]",
        "{\"level\": \"error\", \"text\": \"chain 3\"}",
        "{\"text\": \"chain 3\", \"record\": {\"level\": 40}}",
        "{\"message\": \"fail\"}",
        "{\"id\": 7, \"top_k\": 1}",
        "{\"text\": \"a\"} 3 FAIL",
        "sent {\"text\": \"a\"}",
        "{\"text\": \"a\"",
        "{\"text\": \"a\"}}",
        "{\"text\" \"a\"}",
        "[1] FAIL",
        "{'text",
        "{\"text\\",
    };
    for (size_t i = 0; i < sizeof logs / sizeof *logs; i++)
        is_text(logs[i]);
}
END_TEST

START_TEST(files_of_a_fab_are_no_logs)
{
    static const struct {
        const char *text, *name;
    } cases[] = {
        {"FileVersion 1 2;\nFileTimestamp 08-21-26 17:09:59;\n", "this is a KLARF file, not a log"},
        {"\xEF\xBB\xBF"
         "FileVersion 1 2;",
         "a KLARF file"},
        {"\r\nFileTimestamp 11-22-26;\r\nInspectionStationID \"A\";\r\nFileVersion 1 2;\r\nLot",
         "a KLARF file"},
        {"Record FileRecord  \"1.8\"\n{\n", "a KLARF file"},
        {"FAR:A|4|2|U\nMIR:LOT1|PART\n more\n\nPTR:1|1|1\nMR", "an ATDF file"},
        {"FAR:A;4", "an ATDF file"},
        {"DEVICE:P\nLOT:L\nWAFER:W\nFNLOC:180\nROWCT:5\nRowData:__ 01", "a SINF wafer map"},
        {"LOT:L\r\nProduct:P\r\nWAFER:W\r\nDEVICE:\r\nROWCT:5\r\nCOLCT:4", "a SINF wafer map"},
        {"FileVersion 1 2;\nFileTimestamp 11-22-26 10:00:00;\nInspectionStationID \"A\"\n \"B\";",
         "a KLARF file"},
        {"<?xml version=\"1.0\"?>\n<MapData xmlns=\"urn:semi-org:xsd.E142-1\">",
         "a SEMI wafer map"},
        {"<!-- <a> -->\n<m:SubstrateMap xmlns:m=\"urn:SEMI-org:xsd\">", "a SEMI wafer map"},
        {"<Map xmlns:semi=\"http://www.semi.org\" WaferId=\"1\">", "a SEMI wafer map"},
        {"<?xml version=\"1.0\"?><Map><Device BinType=\"Ascii\"><Row>", "a SEMI wafer map"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (cases[i].name != NULL)
            is_named(cases[i].text, cases[i].name);
}
END_TEST

START_TEST(logs_that_hold_records_of_a_fab_are_logs)
{
    static const char *const logs[] = {
        "FileVersion mismatch in bin 7",
        "FileVersion 1 2; was refused\nstop",
        "read lot.001: FileVersion 1 2;\nFileTimestamp 08-21-26 17:09:59;\n",
        "FAR:A|4|2|U\nretest of bin 7 started\nPTR:1|1|1\n",
        "PTR:100|1|1|1.2|F||VDD short\nPRR:1|1|1|1|5|5|F\n",
        "FAR:a",
        "DEVICE:P\nLOT:L\nprobe failed\nRowData:__ 01\n",
        "LOT:A1 bin 7 FAIL\nWAFER:3 FAIL\n",
        "FileVersion 1 2;\nopened lot.001\nbin 7 FAIL",
        "LOT:A\nWAFER:3\nDEVICE:P\nSTEP:7\nFAIL:scan chain 3\n",
        "<Map> overlay failed",
        "<13>Nov 26 10:00:01 tool1 loader: urn:semi-org:xsd.E142-1 is loaded\nbin 7 FAIL",
        "<event level=\"ERROR\"><text>http://www.semi.org/E142 is not reached</text></event>",
        "<testsuite name=\"bist\"><testcase/></testsuite>",
        "loaded <MapData xmlns=\"urn:semi-org:xsd.E142-1\">",
        "<?xml",
        "<!-- a",
    };
    for (size_t i = 0; i < sizeof logs / sizeof *logs; i++)
        is_text(logs[i]);
}
END_TEST

/* A file's first bytes in base64, up to `count` characters of it. */
static char *encoded(const char *bytes, size_t len)
{
    char file[96] = "";
    char *text = malloc(base64_encoded_size(sizeof file));
    memcpy(file, bytes, len);
    base64_encode(text, file, sizeof file);
    return text;
}

START_TEST(files_in_base64_are_no_texts)
{
    char text[400];
    char *png = encoded("\x89PNG\r\n\x1a\n", 8), *tiff = encoded("II*\0", 4);
    char *any = encoded("SCAN chain 3 FAIL", 17);
    is_named(png, "this is a PNG picture in base64, not a text: send it as \"image\" in JSON");
    is_named(tiff, "this is a TIFF picture in base64, not a text: convert it to " INPUT_FORMATS_OR);
    is_text(any);
    snprintf(text, sizeof text, "DATA:image/png;name=a;base64,%s", png);
    is_named(text, "a PNG picture in base64");
    snprintf(text, sizeof text, "%.76s\r\n%s\r\n", png, png + 76);
    is_named(text, "a PNG picture in base64");
    snprintf(text, sizeof text, "\"%s\"", png);
    is_named(text, "a PNG picture in base64");
    snprintf(text, sizeof text, "got %s", png);
    is_text(text);
    is_text("/9j/4AAQ"); /* too short to be one */
    free(png), free(tiff), free(any);
}
END_TEST

START_TEST(files_are_named_where_a_text_is_expected)
{
    static const char pointer[] =
        "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 9\n";
    ck_assert(document_describe("\x02\0\0\x0A\x02\x04", 6, described));
    ck_assert_str_eq(described, "this is an STDF file: send its bytes as application/x-stdf");
    ck_assert(document_describe("\x1F\x8B\x08\0", 4, described));
    ck_assert_str_eq(described, "this is gzip: unpack it first");
    ck_assert(document_describe("GIF89a\1\0", 8, described));
    is_text("GIF89a decoder failed");
    is_text("BM 4 of lot 7");
    is_text("PAR1 out of range");
    is_named(pointer, "Git LFS");
    is_text("version https://git-lfs.github.com/spec/v1 could not be read");
}
END_TEST

SUITE("document", requests_in_json_are_no_texts, every_member_of_a_request_is_known,
      logs_that_hold_json_are_logs, files_of_a_fab_are_no_logs,
      logs_that_hold_records_of_a_fab_are_logs, files_in_base64_are_no_texts,
      files_are_named_where_a_text_is_expected)
