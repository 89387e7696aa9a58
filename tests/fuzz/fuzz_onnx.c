/* tests/fuzz/fuzz_onnx.c - networks of ONNX of any content. */
#include "fuzz_graph.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    fuzz_graph(drove__graph_read_onnx, data, size_bytes);
    return 0;
}
