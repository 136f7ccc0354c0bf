/* fixture.h - safetensors files in memory (memfd_create), opened by their /proc path, so that
 * thousands of variants cost no disk. */
#ifndef ATTND_TESTS_UNIT_ENGINE_FORMAT_FIXTURE_H
#define ATTND_TESTS_UNIT_ENGINE_FORMAT_FIXTURE_H

#include "engine/format/safetensors.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct bytes {
    size_t len;
    char at[300 * 1024];
};

static struct bytes scratch;

/* Header length, header and `data_len` data bytes 0, 1, 2... */
static inline struct bytes *build(const char *header, size_t data_len)
{
    uint64_t len = strlen(header);
    memcpy(scratch.at, &len, sizeof len);
    memcpy(scratch.at + 8, header, len);
    for (size_t i = 0; i < data_len; i++)
        scratch.at[8 + len + i] = (char)i;
    scratch.len = 8 + len + data_len;
    return &scratch;
}

static inline int memory_file(const char *bytes, size_t len, char path[32])
{
    int fd = memfd_create("safetensors", 0);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, bytes, len), (ssize_t)len);
    snprintf(path, 32, "/proc/self/fd/%d", fd);
    return fd;
}

static inline struct safetensors *open_bytes(const char *bytes, size_t len, struct err *err)
{
    struct safetensors *file = (struct safetensors *)&scratch; /* to be overwritten */
    char path[32];
    int fd = memory_file(bytes, len, path);
    enum err_code code = safetensors_open(&file, path, err);
    ck_assert_int_eq(code, err->code);
    close(fd);
    ck_assert_int_eq(file == NULL, err->code != ERR_OK);
    return file;
}

static inline struct safetensors *must_open(const struct bytes *bytes)
{
    struct err err = {0};
    struct safetensors *file = open_bytes(bytes->at, bytes->len, &err);
    ck_assert_msg(file != NULL, "%s", err.text);
    return file;
}

#define THREE_DTYPES                                                                               \
    "{\"w\":{\"dtype\":\"F16\",\"shape\":[2,3],\"data_offsets\":[8,20]},"                          \
    "\"__metadata__\":{\"format\":\"pt\"},"                                                        \
    "\"b\":{\"dtype\":\"BF16\",\"shape\":[],\"data_offsets\":[20,22]},"                            \
    "\"empty\":{\"dtype\":\"F32\",\"shape\":[0,7],\"data_offsets\":[8,8]},"                        \
    "\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}"

#endif
