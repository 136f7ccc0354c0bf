#include "tools/client/server_url.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum err_code server_url_read(struct server_url *out, const char *text, const char *path,
                              struct err *err)
{
    static const char *const schemes[] = {"http://", "https://"};
    *out = (struct server_url){.path = path};
    out->is_secure = strncmp(text, schemes[1], strlen(schemes[1])) == 0;
    const char *scheme = schemes[out->is_secure];
    if (strncmp(text, scheme, strlen(scheme)) != 0)
        return err_set(err, ERR_UNUSABLE, "--url: expected http://HOST:PORT[/PATH] or https://");
    const char *authority = text + strlen(scheme);
    size_t len = strcspn(authority, "/");
    if (len >= sizeof out->authority)
        return err_set(err, ERR_UNUSABLE, "--url: the host is longer than %zu bytes",
                       sizeof out->authority - 1);
    memcpy(out->authority, authority, len);
    if (authority[len] == '/' && authority[len + 1] != '\0')
        out->path = authority + len;
    char host[sizeof out->authority]; /* "127.0.0.1:8080" or "[::1]:8080" */
    memcpy(host, out->authority, sizeof host);
    char *colon = strrchr(host, ':');
    char *end = NULL;
    unsigned long port = colon != NULL ? strtoul(colon + 1, &end, 10) : 0;
    if (colon == NULL || end == colon + 1 || *end != '\0' || port < 1 || port > 65535)
        return err_set(err, ERR_UNUSABLE, "--url: expected a port from 1 to 65535");
    *colon = '\0';
    char *name = host;
    if (host[0] == '[' && colon > host + 1 && colon[-1] == ']') {
        colon[-1] = '\0';
        name++;
    }
    out->port = (unsigned)port;
    snprintf(out->host, sizeof out->host, "%s", name);
    return ERR_OK;
}

bool server_url_take_loopback(struct server_url *url)
{
    const char *host = strcmp(url->host, "localhost") == 0 ? "127.0.0.1" : url->host;
    if (inet_pton(AF_INET, host, &url->address.v4.sin_addr) == 1) {
        url->address.v4.sin_family = AF_INET;
        url->address.v4.sin_port = htons((uint16_t)url->port);
        url->address_len = sizeof url->address.v4;
        return ntohl(url->address.v4.sin_addr.s_addr) >> 24 == 127;
    }
    if (inet_pton(AF_INET6, host, &url->address.v6.sin6_addr) != 1)
        return false;
    url->address.v6.sin6_family = AF_INET6;
    url->address.v6.sin6_port = htons((uint16_t)url->port);
    url->address_len = sizeof url->address.v6;
    return IN6_IS_ADDR_LOOPBACK(&url->address.v6.sin6_addr);
}

enum err_code server_url_resolve(struct server_url *url, struct err *err)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    char port[8];
    if (server_url_take_loopback(url))
        return ERR_OK;
    snprintf(port, sizeof port, "%u", url->port);
    int failed = getaddrinfo(url->host, port, &hints, &found);
    if (failed == 0 && found->ai_addrlen <= sizeof url->address) {
        memcpy(&url->address, found->ai_addr, found->ai_addrlen);
        url->address_len = found->ai_addrlen;
    }
    if (failed == 0)
        freeaddrinfo(found);
    return failed == 0 && url->address_len > 0 ? ERR_OK
                                               : err_set(err, ERR_IO, "%s: no address is known: %s",
                                                         url->host, gai_strerror(failed));
}
