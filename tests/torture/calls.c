/* calls.c - the calls that faults.h makes fail. Each function below has the name of the C library's
 * and passes on to it unless its turn to fail has come. The allocator is reached by its __libc_
 * names (under AddressSanitizer by the sanitizer's own), the rest by dlsym.
 *
 * A connection that is reset is so from then on, as it would be in truth. Reads and writes of files
 * may be short; those of sockets are not, since to epoll(7) a short one means that nothing is left.
 *
 * What the C library does within itself cannot fail here: the open of an fopen, the read of an
 * fread; these functions fail as wholes instead. Calls that cannot fail in truth are left alone: an
 * eventfd below its limit, epoll_ctl but for EPOLL_CTL_ADD. */
#undef _FORTIFY_SOURCE /* its inline functions have the same names */
#include "tests/torture/faults.h"
#include "tests/torture/verdict.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DESCRIPTORS = 1024 };

static atomic_long live;
static atomic_bool is_eventfd[DESCRIPTORS];

/* True if the call shall fail; for calls that are never short. */
static bool fails(const char *call)
{
    int error = verdict(call);
    if (error > 0)
        errno = error;
    return error > 0;
}

/* Shortens *len if that is the fault; true if the call fails. */
static bool fails_or_shortens(const char *call, size_t *len)
{
    int error = verdict(call);
    if (error == FAULT_SHORT)
        *len = (*len + 1) / 2;
    if (error > 0)
        errno = error;
    return error > 0;
}

static void find(void *function, const char *name)
{
    void *address = dlsym(RTLD_NEXT, name);
    if (address == NULL)
        abort();
    memcpy(function, &address, sizeof address);
}

/* Declares next, the C library's function of this name. */
#define NEXT(name)                                                                                 \
    static __typeof__(name) *next;                                                                 \
    if (next == NULL)                                                                              \
    find(&next, #name)

/* -------------------------------------------------------------------------------------------- */
/* Memory */

#ifdef __SANITIZE_ADDRESS__
#define ALLOCATOR(name) __interceptor_##name

/* Leaks are counted here. The sanitizer knows the dynamic linker's blocks by who asked for them,
 * and takes them for leaks when they come through this file. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}
#else
#define ALLOCATOR(name) __libc_##name
#endif

void *ALLOCATOR(malloc)(size_t size);
void *ALLOCATOR(calloc)(size_t count, size_t size);
void *ALLOCATOR(realloc)(void *old, size_t size);
void *ALLOCATOR(memalign)(size_t alignment, size_t size);
void ALLOCATOR(free)(void *memory);

static void *counted(void *memory)
{
    if (memory != NULL)
        atomic_fetch_add_explicit(&live, 1, memory_order_relaxed);
    return memory;
}

long faults_live_blocks(void)
{
    return atomic_load(&live);
}

void *malloc(size_t size)
{
    return fails("malloc") ? NULL : counted(ALLOCATOR(malloc)(size));
}

void *calloc(size_t count, size_t size)
{
    return fails("malloc") ? NULL : counted(ALLOCATOR(calloc)(count, size));
}

void *realloc(void *old, size_t size)
{
    if (old == NULL)
        return malloc(size);
    if (size == 0)
        atomic_fetch_sub_explicit(&live, 1, memory_order_relaxed); /* glibc frees it */
    else if (fails("malloc"))
        return NULL;
    return ALLOCATOR(realloc)(old, size);
}

void *memalign(size_t alignment, size_t size)
{
    return fails("malloc") ? NULL : counted(ALLOCATOR(memalign)(alignment, size));
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    void *memory = memalign(alignment, size);
    if (memory == NULL)
        return ENOMEM;
    *out = memory;
    return 0;
}

void free(void *memory)
{
    if (memory != NULL)
        atomic_fetch_sub_explicit(&live, 1, memory_order_relaxed);
    ALLOCATOR(free)(memory);
}

void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
    NEXT(mmap);
    return fails("mmap") ? MAP_FAILED : next(address, size, protection, flags, fd, offset);
}

/* -------------------------------------------------------------------------------------------- */
/* Files */

/* The mode is only there with O_CREAT or O_TMPFILE. */
static mode_t mode_of(int flags, va_list args)
{
    return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(args, mode_t) : 0;
}

int open(const char *path, int flags, ...)
{
    NEXT(open);
    va_list args;
    va_start(args, flags);
    mode_t mode = mode_of(flags, args);
    va_end(args);
    return fails("open") ? -1 : next(path, flags, mode);
}

int openat(int dir, const char *path, int flags, ...)
{
    NEXT(openat);
    va_list args;
    va_start(args, flags);
    mode_t mode = mode_of(flags, args);
    va_end(args);
    return fails("open") ? -1 : next(dir, path, flags, mode);
}

FILE *fopen(const char *path, const char *mode)
{
    NEXT(fopen);
    return fails("open") ? NULL : next(path, mode);
}

DIR *opendir(const char *path)
{
    NEXT(opendir);
    return fails("open") ? NULL : next(path);
}

int stat(const char *path, struct stat *out)
{
    NEXT(stat);
    return fails("stat") ? -1 : next(path, out);
}

int fstat(int fd, struct stat *out)
{
    NEXT(fstat);
    return fails("stat") ? -1 : next(fd, out);
}

int access(const char *path, int mode)
{
    NEXT(access);
    return fails("access") ? -1 : next(path, mode);
}

/* glibc's bit for what ferror tells. */
static size_t fail_file(FILE *file)
{
    file->_flags |= 0x20;
    return 0;
}

size_t fread(void *out, size_t size, size_t count, FILE *file)
{
    NEXT(fread);
    return fails("fread") ? fail_file(file) : next(out, size, count, file);
}

size_t fwrite(const void *bytes, size_t size, size_t count, FILE *file)
{
    NEXT(fwrite);
    return fails("write") ? fail_file(file) : next(bytes, size, count, file);
}

static bool is_event(int fd)
{
    return fd >= 0 && fd < DESCRIPTORS && atomic_load(&is_eventfd[fd]);
}

ssize_t read(int fd, void *out, size_t len)
{
    NEXT(read);
    return !is_event(fd) && fails_or_shortens("read", &len) ? -1 : next(fd, out, len);
}

ssize_t pread(int fd, void *out, size_t len, off_t offset)
{
    NEXT(pread);
    return fails_or_shortens("read", &len) ? -1 : next(fd, out, len, offset);
}

ssize_t pread64(int fd, void *out, size_t len, off64_t offset)
{
    return pread(fd, out, len, offset);
}

ssize_t write(int fd, const void *bytes, size_t len)
{
    NEXT(write);
    return !is_event(fd) && fails_or_shortens("write", &len) ? -1 : next(fd, bytes, len);
}

int close(int fd)
{
    NEXT(close);
    if (fd >= 0 && fd < DESCRIPTORS)
        atomic_store(&is_eventfd[fd], false);
    return next(fd);
}

int faults_open_descriptors(void)
{
    struct pollfd fds[DESCRIPTORS];
    long most = sysconf(_SC_OPEN_MAX); /* poll takes no more */
    int open = 0, count = most < DESCRIPTORS ? (int)most : DESCRIPTORS;
    for (int fd = 0; fd < count; fd++)
        fds[fd] = (struct pollfd){.fd = fd};
    ppoll(fds, (nfds_t)count, &(struct timespec){0}, NULL); /* poll and fcntl may be armed */
    for (int fd = 0; fd < count; fd++)
        open += (fds[fd].revents & POLLNVAL) == 0;
    return open;
}

/* -------------------------------------------------------------------------------------------- */
/* Sockets and events */

/* A reset ends both directions. */
static bool fails_on_socket(const char *call, int fd)
{
    bool failed = fails(call);
    int error = errno;
    if (failed && (error == ECONNRESET || error == EPIPE))
        shutdown(fd, SHUT_RDWR);
    errno = error;
    return failed;
}

ssize_t recv(int fd, void *out, size_t len, int flags)
{
    NEXT(recv);
    return fails_on_socket("recv", fd) ? -1 : next(fd, out, len, flags);
}

ssize_t send(int fd, const void *bytes, size_t len, int flags)
{
    NEXT(send);
    return fails_on_socket("send", fd) ? -1 : next(fd, bytes, len, flags);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    NEXT(sendmsg);
    return fails_on_socket("send", fd) ? -1 : next(fd, message, flags);
}

int accept4(int fd, struct sockaddr *address, socklen_t *len, int flags)
{
    NEXT(accept4);
    return fails("accept") ? -1 : next(fd, address, len, flags);
}

int socket(int domain, int type, int protocol)
{
    NEXT(socket);
    return fails("socket") ? -1 : next(domain, type, protocol);
}

int bind(int fd, const struct sockaddr *address, socklen_t len)
{
    NEXT(bind);
    return fails("bind") ? -1 : next(fd, address, len);
}

int listen(int fd, int backlog)
{
    NEXT(listen);
    return fails("listen") ? -1 : next(fd, backlog);
}

int getsockname(int fd, struct sockaddr *address, socklen_t *len)
{
    NEXT(getsockname);
    return fails("getsockname") ? -1 : next(fd, address, len);
}

int getsockopt(int fd, int level, int option, void *value, socklen_t *len)
{
    NEXT(getsockopt);
    return fails("getsockopt") ? -1 : next(fd, level, option, value, len);
}

int setsockopt(int fd, int level, int option, const void *value, socklen_t len)
{
    NEXT(setsockopt);
    return fails("setsockopt") ? -1 : next(fd, level, option, value, len);
}

/* Only commands that duplicate can run out of descriptors. The argument is a number or a pointer;
 * it is passed on unchanged. */
int fcntl(int fd, int command, ...)
{
    NEXT(fcntl);
    va_list args;
    va_start(args, command);
    void *argument = va_arg(args, void *);
    va_end(args);
    bool duplicates = command == F_DUPFD || command == F_DUPFD_CLOEXEC;
    return duplicates && fails("fcntl") ? -1 : next(fd, command, argument);
}

int poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
    NEXT(poll);
    return fails("poll") ? -1 : next(fds, count, timeout_ms);
}

int epoll_create1(int flags)
{
    NEXT(epoll_create1);
    return fails("epoll_create") ? -1 : next(flags);
}

int epoll_ctl(int epoll_fd, int what, int fd, struct epoll_event *event)
{
    NEXT(epoll_ctl);
    return what == EPOLL_CTL_ADD && fails("epoll_ctl") ? -1 : next(epoll_fd, what, fd, event);
}

int epoll_wait(int epoll_fd, struct epoll_event *events, int count, int timeout_ms)
{
    NEXT(epoll_wait);
    return fails("epoll_wait") ? -1 : next(epoll_fd, events, count, timeout_ms);
}

int eventfd(unsigned count, int flags)
{
    NEXT(eventfd);
    int fd = fails("eventfd") ? -1 : next(count, flags);
    if (fd >= 0 && fd < DESCRIPTORS)
        atomic_store(&is_eventfd[fd], true);
    return fd;
}

/* -------------------------------------------------------------------------------------------- */
/* The rest */

struct beginning {
    void *(*start)(void *context);
    void *context;
};

static void *begin(void *context)
{
    struct beginning beginning = *(struct beginning *)context;
    ALLOCATOR(free)(context);
    faults_spare_this_thread(false);
    return beginning.start(beginning.context);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                   void *context)
{
    NEXT(pthread_create);
    if (fails("pthread_create"))
        return errno;
    if (!FAULTS_SPARED_AT_FIRST)
        return next(thread, attributes, start, context);
    struct beginning *beginning = ALLOCATOR(malloc)(sizeof *beginning);
    *beginning = (struct beginning){start, context};
    return next(thread, attributes, begin, beginning);
}

ssize_t getrandom(void *out, size_t len, unsigned flags)
{
    NEXT(getrandom);
    return fails("getrandom") ? -1 : next(out, len, flags);
}
