#include "server/addresses.h"

#include "server/api/routes.h"
#include "server/http/listener.h"
#include "server/observe/log.h"
#include "server/systemd.h"
#include "wire/limits.h"

#include <string.h>
#include <sys/resource.h>

enum {
    ADMIN_IO_THREADS = 1,
    ADMIN_THREADS = ADMIN_IO_THREADS + 1, /* and the edge */
    DESCRIPTORS_BESIDE_CONNECTIONS = 300, /* listeners, event queues, lingering closes, files */
};

static bool wants_admin(const struct config *config)
{
    return config->admin_listen != NULL && config->admin_listen[0] != '\0';
}

unsigned addresses_admin_threads(const struct config *config)
{
    return wants_admin(config) ? ADMIN_THREADS : 0;
}

enum err_code addresses_check(const struct config *config, struct err *err)
{
    if (wants_admin(config) && listener_check(config->admin_address, err))
        return err_prefix(err, "admin_listen: ");
    return listener_check(config->listen_address, err);
}

/* Most systems start a process with a soft limit of 1024 descriptors, which it may raise. */
static void raise_descriptor_limit(unsigned connections_max)
{
    struct rlimit limit;
    rlim_t wanted = (rlim_t)connections_max + DESCRIPTORS_BESIDE_CONNECTIONS;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
        return;
    limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < wanted)
        log_event(LOG_WARN, "few_descriptors", LOG_NUMBER("wanted", wanted),
                  LOG_NUMBER("limit", limit.rlim_cur));
}

static struct http_options options_of(struct service *service)
{
    const struct config *config = service->config;
    return (struct http_options){
        .address = config->listen_address,
        .port = config->listen_port,
        .connections_max = config->connections_max,
        .header_timeout_ms = config->header_timeout_ms,
        .body_timeout_ms = config->body_timeout_ms,
        .body_bytes_max = CONFIG_BODY_BYTES_MAX, /* a route's own is live */
        .memory = &service->memory,
        .tls = service->tls,
    };
}

static enum err_code start_admin(struct addresses *addresses, struct service *service,
                                 int inherited, struct err *err)
{
    const struct config *config = service->config;
    struct http_options options = options_of(service);
    options.address = config->admin_address;
    options.port = config->admin_port;
    options.inherited = inherited;
    options.is_held = inherited > 0;
    options.is_admin = true;
    options.io_threads = ADMIN_IO_THREADS;
    options.connections_max = LIMIT_ADMIN_CONNECTIONS;
    if (http_start(&addresses->admin, &options, &addresses->app, err))
        return err_prefix(err, "admin_listen: ");
    return ERR_OK;
}

enum err_code addresses_start(struct addresses *out, struct service *service, unsigned io_threads,
                              struct err *err)
{
    const struct config *config = service->config;
    struct systemd_sockets inherited;
    if (systemd_inherit(&inherited, err))
        return err->code;
    service->has_admin_address = wants_admin(config) || inherited.admin > 0;
    raise_descriptor_limit(config->connections_max +
                           (service->has_admin_address ? LIMIT_ADMIN_CONNECTIONS : 0));
    out->app = routes_app(service);
    struct http_options options = options_of(service);
    options.inherited = inherited.main;
    options.is_held = inherited.main > 0;
    options.io_threads = io_threads;
    if (http_start(&out->main, &options, &out->app, err))
        return err->code;
    if (http_port(out->main) == 0) /* clients and the line that says where it is need one */
        return err_set(err, ERR_UNUSABLE, "listen: the inherited main socket is none of TCP: %s",
                       http_address(out->main));
    return service->has_admin_address ? start_admin(out, service, inherited.admin, err) : ERR_OK;
}

/* Whoever reaches the port may ask. */
static void warn_unauthenticated(const struct http_server *http, const struct config *config)
{
    const char *address = http_address(http);
    const bool is_local =
        strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0 || http_port(http) == 0;
    const bool has_keys = config->keys_file != NULL && config->keys_file[0] != '\0';
    if (!is_local && !has_keys)
        log_event(LOG_WARN, "unauthenticated", LOG_TEXT("address", address),
                  LOG_TEXT("advice", "whoever reaches this address may ask: set keys_file, or "
                                     "listen on 127.0.0.1 behind a proxy that authenticates"));
}

void addresses_log(const struct addresses *addresses, const struct service *service)
{
    const struct http_server *admin = addresses->admin;
    warn_unauthenticated(addresses->main, service->config);
    if (admin == NULL)
        return;
    const bool is_secure = service->tls != NULL && http_port(admin) != 0;
    log_event(LOG_INFO, "admin_listening", LOG_TEXT("scheme", is_secure ? "https" : "http"),
              LOG_TEXT("address", http_address(admin)), LOG_NUMBER("port", http_port(admin)));
    warn_unauthenticated(admin, service->config);
}

void addresses_accept(const struct addresses *addresses)
{
    http_accept(addresses->main);
    if (addresses->admin != NULL)
        http_accept(addresses->admin);
}

void addresses_drain(const struct addresses *addresses)
{
    http_drain(addresses->main);
    if (addresses->admin != NULL)
        http_drain(addresses->admin);
}

void addresses_quiesce(const struct addresses *addresses)
{
    if (addresses->main != NULL)
        http_quiesce(addresses->main);
    if (addresses->admin != NULL)
        http_quiesce(addresses->admin);
}

unsigned addresses_busy(const struct addresses *addresses)
{
    return (addresses->main != NULL ? http_busy(addresses->main) : 0) +
           (addresses->admin != NULL ? http_busy(addresses->admin) : 0);
}

void addresses_stop(struct addresses *addresses)
{
    if (addresses->admin != NULL)
        http_stop(addresses->admin);
    if (addresses->main != NULL)
        http_stop(addresses->main);
    addresses->main = addresses->admin = NULL;
}
