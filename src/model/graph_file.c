/* model/graph_file.c - descriptions of networks from files, by their suffix. */
#include "model/graph.h"

#include "base/file.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 4 << 20, MOST_ONNX_BYTES = INT32_MAX };

static bool ends_with(const char *text, const char *ending)
{
    size_t n = strlen(text), n_ending = strlen(ending);
    return n > n_ending && strcmp(text + n - n_ending, ending) == 0;
}

bool drove__graph_is_file(const char *spec)
{
    return ends_with(spec, ".yaml") || ends_with(spec, ".yml") || ends_with(spec, ".prototxt") ||
           ends_with(spec, ".onnx");
}

drove_status drove__graph_read_file_with(const char *path, drove_kinds *kinds, const char *loss,
                                         const drove_model_io *io, drove_graph *out)
{
    char *text = NULL;
    size_t size_bytes = 0;
    const bool is_onnx = ends_with(path, ".onnx"), is_caffe = ends_with(path, ".prototxt");
    DROVE_TRY(drove__file_load(path, is_onnx ? MOST_ONNX_BYTES : MOST_BYTES, &text, &size_bytes));
    drove_status status = is_onnx ? drove__graph_read_onnx(text, size_bytes, path, loss, io, out)
                          : is_caffe
                              ? drove__graph_read_prototxt(text, size_bytes, path, out)
                              : drove__graph_read_yaml_with(text, size_bytes, path, kinds, out);
    free(text);
    return status;
}

drove_status drove__graph_read_file(const char *path, drove_graph *out)
{
    return drove__graph_read_file_with(path, NULL, NULL, NULL, out);
}
