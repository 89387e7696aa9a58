/* tests/fuzz/fuzz_idx.c - the input is a file of examples, and then one of labels, beside a good
 * other half. */
#include "fuzz_data.h"

/* Three images of 1 x 2 pixels, three labels. */
static const uint8_t good_examples[] = {0, 0, 8, 3, 0, 0, 0, 3, 0, 0, 0,
                                        1, 0, 0, 0, 2, 1, 2, 3, 4, 5, 6};
static const uint8_t good_labels[] = {0, 0, 8, 1, 0, 0, 0, 3, 0, 1, 2};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    char path[64], other[64], spec[160];
    int fd, other_fd;
    fuzz_file(data, size_bytes, &fd, path);
    fuzz_file(good_labels, sizeof good_labels, &other_fd, other);
    snprintf(spec, sizeof spec, "idx:%s,%s", path, other);
    fuzz_open(spec);
    close(other_fd);
    fuzz_file(good_examples, sizeof good_examples, &other_fd, other);
    snprintf(spec, sizeof spec, "idx:%s,%s", other, path);
    fuzz_open(spec);
    close(other_fd);
    close(fd);
    return 0;
}
