/* tests/fuzz/fuzz_onnx.c - networks of ONNX of any content. */
#include "fuzz_graph.h"

#include <stdint.h>

static drove_status read_graph(const char *text, size_t size_bytes, const char *path,
                               drove_graph *graph)
{
    return drove__graph_read_onnx(text, size_bytes, path, NULL, NULL, graph);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    fuzz_graph(read_graph, data, size_bytes);
    return 0;
}
