/* tests/fuzz/fuzz_vw.c - the input is a file of the format vw. */
#include "fuzz_data.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    char path[64], spec[128];
    int fd;
    if (fuzz_open_keyed("vw", data, size_bytes)) return 0;
    fuzz_file(data, size_bytes, &fd, path);
    snprintf(spec, sizeof spec, "vw:%s", path);
    fuzz_open(spec);
    snprintf(spec, sizeof spec, "vw:%s?bits=4&target=value", path);
    fuzz_open(spec);
    close(fd);
    return 0;
}
