/* tests/fuzz/fuzz_csv.c - the input is a file of the format csv. */
#include "fuzz_data.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    char path[64], spec[128];
    int fd;
    if (fuzz_open_keyed("csv", data, size_bytes)) return 0;
    fuzz_file(data, size_bytes, &fd, path);
    snprintf(spec, sizeof spec, "csv:%s", path);
    fuzz_open(spec);
    snprintf(spec, sizeof spec, "csv:%s?label=first&sep=tab&target=class", path);
    fuzz_open(spec);
    close(fd);
    return 0;
}
