#include "support.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}

char *read_file(const char *path, size_t *size_bytes)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    *size_bytes = (size_t)ftell(file);
    rewind(file);
    char *text = malloc(*size_bytes + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, *size_bytes, file), *size_bytes);
    text[*size_bytes] = '\0';
    fclose(file);
    return text;
}

void limit_files(size_t size_bytes)
{
    struct rlimit limit;
    signal(SIGXFSZ, SIG_IGN); /* write() then fails, as it does on a full disk */
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = size_bytes == 0 ? limit.rlim_max : size_bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}
