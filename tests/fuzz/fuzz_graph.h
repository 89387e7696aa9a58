/* tests/fuzz/fuzz_graph.h - what is asked of a description of a network that was accepted. */
#ifndef DROVE_TESTS_FUZZ_GRAPH_H
#define DROVE_TESTS_FUZZ_GRAPH_H

#include "model/graph.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* It is printed, and reads back as one that prints the same; the model that it gives, if any, has
 * views in order and layers that read earlier ones. */
static inline void fuzz_check_graph(drove_graph *graph)
{
    static const drove_model_io io = {.n_features = 192, .n_classes = 10, .image = {3, 8, 8}};
    drove_graph                 again;
    char                       *text = NULL, *text2 = NULL;
    if (drove__graph_print_yaml(graph, &text) != DROVE_OK) abort();
    if (drove__graph_read_yaml(text, strlen(text), "printed", &again) != DROVE_OK) abort();
    if (drove__graph_print_yaml(&again, &text2) != DROVE_OK) abort();
    if (strcmp(text, text2) != 0) abort();
    drove_model *m = NULL;
    if (drove__model_create_graph(graph, "fuzz", "", &io, &m) == DROVE_OK) {
        for (size_t l = 0; l < m->n_layers; l++) {
            const drove_layer *layer = &m->layer[l];
            if (layer->n_out == 0 || layer->b_offset < layer->w_offset + layer->n_w) abort();
            if (layer->b_offset + layer->n_b > m->n_params) abort();
            for (unsigned b = 0; b < layer->n_bottoms; b++) {
                if (layer->bottom[b] > l) abort();
            }
        }
        if (drove__graph_take_values(graph, m) != DROVE_OK && drove_error_text()[0] == '\0')
            abort();
        drove__model_destroy(m);
    } else if (m != NULL || drove_error_text()[0] == '\0' ||
               strchr(drove_error_text(), '\n') != NULL) {
        abort();
    }
    free(text);
    free(text2);
    drove__graph_fini(&again);
}

typedef drove_status fuzz_read_graph_fn(const char *text, size_t n_bytes, const char *file,
                                        drove_graph *out);

/* A description of any content, as from a file: in memory of its own, with a NUL behind it. */
static inline void fuzz_graph(fuzz_read_graph_fn *read, const uint8_t *data, size_t size_bytes)
{
    drove_graph graph;
    char       *text = malloc(size_bytes + 1);
    if (text == NULL) return;
    memcpy(text, data, size_bytes);
    text[size_bytes] = '\0';
    if (read(text, size_bytes, "fuzz", &graph) == DROVE_OK) {
        fuzz_check_graph(&graph);
        drove__graph_fini(&graph);
    } else if (drove_error_text()[0] == '\0') {
        abort();
    }
    free(text);
}

#endif
