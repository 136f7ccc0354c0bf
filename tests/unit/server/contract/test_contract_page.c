/* The built-in page over a real socket: it is there, whole, and refers to nothing but itself.
 * tests/browser/ shows it in a browser. */
#include "tests/support/contract.h"

#include "server/ui/page.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const options[] = {NULL};

static struct reply get_with(const char *path, const char *header)
{
    return reply_of(http_request(contract_port(), "GET", path, header, NULL, 0));
}

static void expect_bytes(const struct reply *reply, const struct page_file *file)
{
    size_t len = (size_t)(file->end - file->begin);
    ck_assert_uint_eq(reply->answer.body_len, len);
    ck_assert_int_eq(memcmp(reply->answer.body, file->begin, len), 0);
}

START_TEST(every_file_is_served_with_its_type_and_the_headers_that_confine_it)
{
    const struct page_file *file;
    for (unsigned i = 0; (file = page_at(i)) != NULL; i++) {
        struct reply reply = contract_get(file->path);
        reply_expect_status(&reply, 200);
        expect_bytes(&reply, file);
        ck_assert_str_eq(reply_header(&reply, "Content-Type"), file->media_type);
        ck_assert_str_eq(reply_header(&reply, "Content-Security-Policy"),
                         "default-src 'none'; script-src 'self'; style-src 'self'; "
                         "img-src 'self' blob: data:; connect-src 'self'; base-uri 'none'; "
                         "form-action 'none'; frame-ancestors 'none'");
        ck_assert_str_eq(reply_header(&reply, "X-Content-Type-Options"), "nosniff");
        ck_assert_str_eq(reply_header(&reply, "Referrer-Policy"), "no-referrer");
        ck_assert_str_eq(reply_header(&reply, "Cache-Control"), "no-cache");
        ck_assert_str_eq(reply_header(&reply, "Cross-Origin-Resource-Policy"), "same-origin");
        reply_free(&reply);
    }
}
END_TEST

/* True for code that puts the page into the program, and that is no part of the page. */
static bool is_code(const char *name)
{
    const char *suffix = strrchr(name, '.');
    return suffix != NULL &&
           (strcmp(suffix, ".c") == 0 || strcmp(suffix, ".h") == 0 || strcmp(suffix, ".def") == 0);
}

/* Every file in a folder of server/ui is in page.def, and so in the program. */
static unsigned expect_folder_served(const char *folder)
{
    unsigned files = 0;
    DIR *directory = opendir(folder);
    ck_assert_msg(directory != NULL, "%s", folder);
    for (struct dirent *entry = readdir(directory); entry != NULL; entry = readdir(directory)) {
        if (entry->d_type != DT_REG || is_code(entry->d_name))
            continue;
        char *path = contract_format("/ui/%s", entry->d_name);
        char *source = contract_format("%s/%s", folder, entry->d_name);
        size_t len;
        char *bytes = contract_file(source, &len);
        const struct page_file *file =
            page_find(strcmp(entry->d_name, "index.html") == 0 ? "/" : path);
        ck_assert_msg(file != NULL, "%s is not in page.def", source);
        ck_assert_msg((size_t)(file->end - file->begin) == len &&
                          memcmp(file->begin, bytes, len) == 0,
                      "%s is not what is in the program", source);
        free(bytes);
        free(source);
        free(path);
        files++;
    }
    closedir(directory);
    return files;
}

START_TEST(page_serves_every_file_of_its_source_folder)
{
    unsigned files = expect_folder_served("server/ui") + expect_folder_served("server/ui/samples");
    ck_assert_ptr_nonnull(page_at(files - 1));
    ck_assert_ptr_null(page_at(files));
}
END_TEST

START_TEST(head_has_the_head_of_get)
{
    struct reply get = contract_get("/");
    int fd = http_connect(contract_port());
    http_send_text(fd, "HEAD / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    struct reply head = reply_of(http_read(fd, true));
    close(fd);
    reply_expect_status(&head, 200);
    char *tag = contract_format("%s", reply_header(&get, "ETag"));
    ck_assert_str_eq(reply_header(&head, "ETag"), tag);
    ck_assert_uint_eq(strtoul(reply_header(&head, "Content-Length"), NULL, 10),
                      get.answer.body_len);
    free(tag);
    reply_free(&head);
    reply_free(&get);
}
END_TEST

/* The next answer on the connection shows that no body followed. */
static void expect_not_modified(const char *known)
{
    char *request =
        contract_format("GET /ui/app.js HTTP/1.1\r\nHost: h\r\nIf-None-Match: %s\r\n\r\n"
                        "GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n",
                        known);
    int fd = http_connect(contract_port());
    http_send_text(fd, request);
    struct reply same = reply_of(http_read(fd, true)), next = reply_of(http_read(fd, false));
    close(fd);
    reply_expect_status(&same, 304);
    ck_assert_uint_gt(strlen(reply_header(&same, "ETag")), 2);
    ck_assert_str_eq(reply_header(&same, "Cache-Control"), "no-cache");
    reply_expect_status(&next, 200);
    reply_free(&next);
    reply_free(&same);
    free(request);
}

START_TEST(a_browser_that_has_it_gets_304)
{
    struct reply reply = contract_get("/ui/app.js");
    char *tag = contract_format("%s", reply_header(&reply, "ETag"));
    char *weak = contract_format("\"other\", W/%s", tag);
    ck_assert_int_eq(tag[0], '"');
    expect_not_modified(tag);
    expect_not_modified(weak);
    expect_not_modified("*");
    free(weak);
    free(tag);
    reply_free(&reply);
}
END_TEST

START_TEST(a_browser_that_has_another_gets_the_file)
{
    struct reply reply = contract_get("/ui/style.css");
    char *header = contract_format("If-None-Match: %s\r\n", reply_header(&reply, "ETag"));
    reply_free(&reply);
    reply = get_with("/ui/app.js", header);
    reply_expect_status(&reply, 200);
    expect_bytes(&reply, page_find("/ui/app.js"));
    free(header);
    reply_free(&reply);
}
END_TEST

START_TEST(other_methods_are_405)
{
    static const char *const paths[] = {"/ui/app.js", "/ui/nothing"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        struct reply reply = contract_post_as(paths[i], "text/plain", "x", 1);
        reply_expect_problem(&reply, 405, "method_not_allowed", "/");
        ck_assert_str_eq(reply_header(&reply, "Allow"), "GET, HEAD");
        reply_free(&reply);
    }
}
END_TEST

/* Every src="..." and href="..." of the page, and every import of a script. */
static unsigned expect_served(const char *text, const char *before, const char *folder)
{
    unsigned found = 0;
    for (const char *at = strstr(text, before); at != NULL; at = strstr(at, before)) {
        at += strlen(before);
        char *path = contract_format("%s%.*s", folder, (int)strcspn(at, "\"'"), at);
        ck_assert_msg(page_find(path) != NULL, "%s is not served", path);
        free(path);
        found++;
    }
    return found;
}

START_TEST(every_resource_that_is_named_is_served)
{
    const struct page_file *file;
    struct reply index = contract_get("/");
    ck_assert_uint_ge(expect_served(index.answer.body, "src=\"", "/"), 2);
    ck_assert_uint_ge(expect_served(index.answer.body, "href=\"", "/"), 2);
    reply_free(&index);
    unsigned imports = 0;
    for (unsigned i = 0; (file = page_at(i)) != NULL; i++) {
        struct reply reply = contract_get(file->path);
        if (strstr(file->media_type, "javascript") != NULL)
            imports += expect_served(reply.answer.body, " from './", "/ui/") +
                       expect_served(reply.answer.body, "file: '", "/ui/");
        reply_free(&reply);
    }
    ck_assert_uint_gt(imports, 10);
}
END_TEST

/* The one address with a scheme that may stand in them is the name of SVG, which nobody fetches. */
static void expect_no_other_origin(const struct page_file *file, const char *text)
{
    static const char svg[] = "http://www.w3.org/2000/svg", host[] = "http://HOST:PORT/";
    for (const char *at = strstr(text, "://"); at != NULL; at = strstr(at + 3, "://")) {
        const char *begin = at - 4; /* "http" */
        bool allowed = begin >= text && (strncmp(begin, svg, sizeof svg - 1) == 0 ||
                                         strncmp(begin, host, sizeof host - 1) == 0);
        ck_assert_msg(allowed, "%s: %.40s", file->path, at);
    }
    ck_assert_ptr_null(strstr(text, "\"//"));
    ck_assert_ptr_null(strstr(text, "url("));
    ck_assert_ptr_null(strstr(text, "@import"));
}

START_TEST(nothing_refers_to_another_origin_or_makes_elements_of_text)
{
    static const char *const forbidden[] = {"innerHTML",      "outerHTML", "insertAdjacentHTML",
                                            "document.write", "eval(",     "new Function"};
    const struct page_file *file;
    for (unsigned i = 0; (file = page_at(i)) != NULL; i++) {
        struct reply reply = contract_get(file->path);
        if (strncmp(file->media_type, "image/png", 9) != 0)
            expect_no_other_origin(file, reply.answer.body);
        for (size_t k = 0; k < sizeof forbidden / sizeof forbidden[0]; k++)
            ck_assert_msg(strstr(reply.answer.body, forbidden[k]) == NULL, "%s: %s", file->path,
                          forbidden[k]);
        ck_assert_ptr_null(strstr(reply.answer.body, " style=\""));
        ck_assert_ptr_null(strstr(reply.answer.body, " onclick="));
        reply_free(&reply);
    }
}
END_TEST

CONTRACT_SUITE("contract_page", options,
               every_file_is_served_with_its_type_and_the_headers_that_confine_it,
               page_serves_every_file_of_its_source_folder, head_has_the_head_of_get,
               a_browser_that_has_it_gets_304, a_browser_that_has_another_gets_the_file,
               other_methods_are_405, every_resource_that_is_named_is_served,
               nothing_refers_to_another_origin_or_makes_elements_of_text)
