/* tests/fuzz/fuzz_onnx.c - networks of ONNX of any content. */
#include "fuzz_graph.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    drove_graph graph;
    char *text = malloc(size_bytes + 1); /* as from a file: its own memory */
    if (text == NULL) return 0;
    memcpy(text, data, size_bytes);
    text[size_bytes] = '\0';
    if (drove__graph_read_onnx(text, size_bytes, "fuzz", &graph) == DROVE_OK) {
        fuzz_check_graph(&graph);
        drove__graph_fini(&graph);
    } else if (drove_error_text()[0] == '\0') {
        abort();
    }
    free(text);
    return 0;
}
