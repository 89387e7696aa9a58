/* tests/fuzz/fuzz_graph_yaml.c - model files in YAML of any content. */
#include "fuzz_graph.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    fuzz_graph(drove__graph_read_yaml, data, size_bytes);
    return 0;
}
