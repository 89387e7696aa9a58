#include "support.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

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
