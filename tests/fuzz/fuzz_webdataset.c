/* tests/fuzz/fuzz_webdataset.c - the input is a tar archive of images and labels. */
#include "fuzz_data.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    char path[64], spec[128];
    int fd;
    if (fuzz_open_keyed("webdataset", data, size_bytes)) return 0;
    fuzz_file(data, size_bytes, &fd, path);
    snprintf(spec, sizeof spec, "webdataset:%s", path);
    fuzz_open(spec);
    snprintf(spec, sizeof spec, "webdataset:%s?size=3x4&channels=1&skip=1&label=none", path);
    fuzz_open(spec);
    close(fd);
    return 0;
}
