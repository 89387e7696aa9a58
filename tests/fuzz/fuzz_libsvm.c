/* tests/fuzz/fuzz_libsvm.c - the input is a file of the format libsvm. */
#include "fuzz_data.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    char path[64], spec[128];
    int fd;
    if (fuzz_open_keyed("libsvm", data, size_bytes)) return 0;
    fuzz_file(data, size_bytes, &fd, path);
    snprintf(spec, sizeof spec, "libsvm:%s", path);
    fuzz_open(spec);
    snprintf(spec, sizeof spec, "libsvm:%s?target=labels&base=0", path);
    fuzz_open(spec);
    close(fd);
    return 0;
}
