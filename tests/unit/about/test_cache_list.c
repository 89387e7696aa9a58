/* The cache as a list for people and for programs: each file with its own size and day. */
#include "support/test.h"

#include <drove/data.h>

#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { FILES = 3 };

static const struct {
    const char *path;
    size_t n_bytes;
    struct tm used; /* local time */
    const char *date;
} cached[FILES] = {
    {"cache/drove/a.rows",
     1500000,
     {.tm_year = 120, .tm_mon = 0, .tm_mday = 2, .tm_hour = 3},
     "2020-01-02 03:00"},
    {"cache/drove/b.rows",
     2500000,
     {.tm_year = 121, .tm_mon = 5, .tm_mday = 7, .tm_hour = 11},
     "2021-06-07 11:00"},
    {"cache/drove/c.bin",
     700000,
     {.tm_year = 122, .tm_mon = 10, .tm_mday = 30, .tm_hour = 18},
     "2022-11-30 18:00"},
};

/* On the disk. */
static uint64_t bytes_of(size_t i)
{
    struct stat about;
    assert_int_equal(stat(cached[i].path, &about), 0);
    return (uint64_t)about.st_blocks * 512;
}

static time_t used_s(size_t i)
{
    struct tm local = cached[i].used;
    local.tm_isdst = -1;
    return mktime(&local);
}

/* What drove_cache_print prints; free(). */
static char *list(int as_json)
{
    char *text = NULL;
    size_t size_bytes = 0;
    FILE *stream = open_memstream(&text, &size_bytes);
    assert_non_null(stream);
    assert_int_equal(drove_cache_print(as_json, stream), DROVE_OK);
    assert_int_equal(fclose(stream), 0);
    return text;
}

TEST(each_file_has_its_size_and_day)
{
    char folder[4096];
    assert_non_null(getcwd(folder, sizeof folder - 10));
    strcat(folder, "/cache");
    (void)mkdir("cache", 0777);
    (void)mkdir("cache/drove", 0777);
    assert_int_equal(setenv("XDG_CACHE_HOME", folder, 1), 0);
    for (size_t i = 0; i < FILES; i++) {
        const struct timespec times[2] = {{.tv_sec = used_s(i)}, {.tv_sec = used_s(i)}};
        char *bytes = malloc(cached[i].n_bytes);
        assert_non_null(bytes);
        for (size_t k = 0; k < cached[i].n_bytes; k++) bytes[k] = (char)(k * k % 251);
        const int fd = open(cached[i].path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0666);
        assert_true(fd >= 0 && write(fd, bytes, cached[i].n_bytes) == (ssize_t)cached[i].n_bytes);
        assert_int_equal(fsync(fd), 0);
        assert_int_equal(futimens(fd, times), 0);
        assert_int_equal(close(fd), 0);
        free(bytes);
    }

    char *text = list(0), expected[128];
    uint64_t sum = 0;
    for (size_t i = 0; i < FILES; i++) {
        sum += bytes_of(i);
        snprintf(expected, sizeof expected, "%s  %9.1f MB  %s\n", cached[i].date,
                 (double)bytes_of(i) * 1e-6, strrchr(cached[i].path, '/') + 1);
        if (strstr(text, expected) == NULL) fail_msg("no %s in %s", expected, text);
    }
    snprintf(expected, sizeof expected, "\n3 files, %.1f MB in ", (double)sum * 1e-6);
    assert_non_null(strstr(text, expected));
    free(text);

    text = list(1);
    json_t *all = json_loads(text, 0, NULL);
    const json_t *files = json_object_get(all, "files");
    assert_int_equal(json_array_size(files), FILES);
    for (size_t k = 0; k < FILES; k++) {
        const json_t *file = json_array_get(files, k);
        const char *name = json_string_value(json_object_get(file, "file"));
        size_t i = 0;
        while (i < FILES && strcmp(strrchr(cached[i].path, '/') + 1, name) != 0) i++;
        assert_true(i < FILES);
        assert_int_equal(json_integer_value(json_object_get(file, "bytes")), bytes_of(i));
        assert_int_equal(json_integer_value(json_object_get(file, "used_s")), used_s(i));
    }
    json_decref(all);
    free(text);

    uint64_t n_bytes;
    assert_int_equal(drove_cache_clear(&n_bytes), DROVE_OK);
    assert_int_equal(n_bytes, sum);
    text = list(0);
    assert_int_equal(strncmp(text, "0 files, 0.0 MB in ", 19), 0);
    free(text);
}
