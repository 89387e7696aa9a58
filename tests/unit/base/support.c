#include "support.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

void assert_error_has(const char *part)
{
    if (strstr(drove_error_text(), part) != NULL) return;
    fail_msg("expected \"%s\" in the error text, found \"%s\"", part, drove_error_text());
}

void write_bytes(const char *path, const void *bytes, size_t size_bytes)
{
    unlink(path); /* emptying an existing file makes some file systems flush it: slow */
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    if (size_bytes > 0) assert_int_equal(fwrite(bytes, 1, size_bytes, file), size_bytes);
    assert_int_equal(fclose(file), 0);
}

void write_gzip(const char *path, const void *bytes, size_t size_bytes, int first)
{
    if (first) unlink(path);
    gzFile file = gzopen(path, first ? "wb" : "ab");
    assert_non_null(file);
    const char *from = bytes;
    while (size_bytes > 0) {
        unsigned n = size_bytes < 1u << 20 ? (unsigned)size_bytes : 1u << 20;
        assert_int_equal(gzwrite(file, from, n), n);
        from += n;
        size_bytes -= n;
    }
    assert_int_equal(gzclose(file), Z_OK);
}

char *read_bytes(const char *path, size_t *size_bytes)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    size_t n = (size_t)ftell(file);
    rewind(file);
    char *bytes = malloc(n + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, n, file), n);
    bytes[n] = '\0';
    fclose(file);
    if (size_bytes != NULL) *size_bytes = n;
    return bytes;
}

unsigned count_files(const char *prefix)
{
    unsigned n = 0;
    DIR *folder = opendir(".");
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        n += strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
    }
    closedir(folder);
    return n;
}

double chi_square_deviation(const unsigned *count, unsigned n_cells)
{
    double sum = 0.0, chi = 0.0;
    for (unsigned i = 0; i < n_cells; i++) sum += count[i];
    double expected = sum / n_cells;
    for (unsigned i = 0; i < n_cells; i++) {
        chi += (count[i] - expected) * (count[i] - expected) / expected;
    }
    return (chi - (n_cells - 1)) / sqrt(2.0 * (n_cells - 1));
}
