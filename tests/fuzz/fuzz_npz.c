/* tests/fuzz/fuzz_npz.c - the input is a NumPy archive. */
#include "fuzz_data.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    char path[64], spec[128];
    int fd;
    if (fuzz_open_keyed("npz", data, size_bytes)) return 0;
    fuzz_file(data, size_bytes, &fd, path);
    snprintf(spec, sizeof spec, "npz:%s", path);
    fuzz_open(spec);
    snprintf(spec, sizeof spec, "npz:%s?x=x&y=y&target=class", path);
    fuzz_open(spec);
    close(fd);
    return 0;
}
