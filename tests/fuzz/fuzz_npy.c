/* tests/fuzz/fuzz_npy.c - the input is a file of examples, and then one of targets, beside a
 * good other half. */
#include "fuzz_data.h"

/* Three rows of two bytes, three targets: magic, version, length of the header, header, content. */
static const char good_examples[] =
    "\x93NUMPY\1\0\x3c\0{'descr': '|u1', 'fortran_order': False, 'shape': (3, 2), }\n12345";
static const char good_targets[] =
    "\x93NUMPY\1\0\x3a\0{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }\n\0\1";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    char path[64], other[64], spec[160];
    int fd, other_fd;
    fuzz_file(data, size_bytes, &fd, path);
    fuzz_file(good_targets, sizeof good_targets, &other_fd, other);
    snprintf(spec, sizeof spec, "npy:%s,%s", path, other);
    fuzz_open(spec);
    close(other_fd);
    fuzz_file(good_examples, sizeof good_examples, &other_fd, other);
    snprintf(spec, sizeof spec, "npy:%s,%s", other, path);
    fuzz_open(spec);
    close(other_fd);
    close(fd);
    return 0;
}
