/* tests/fuzz/fuzz_table.c - the input is a table. */
#include "fuzz_data.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    char path[64], spec[128];
    int fd;
    if (fuzz_open_keyed("table", data, size_bytes)) return 0;
    fuzz_file(data, size_bytes, &fd, path);
    snprintf(spec, sizeof spec, "table:%s", path);
    fuzz_open(spec);
    snprintf(spec, sizeof spec, "table:%s?label=first&header=no&hash=8&onehot=2&text=2", path);
    fuzz_open(spec);
    close(fd);
    return 0;
}
