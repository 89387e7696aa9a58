/* Exported graphs, read back by protobuf-c: every value is made once and before it is read,
 * constants have the bytes of their shape, and the parameters are those of the model file. */
#include "export/export.h"
#include "support/test.h"

#include "base/file.h"
#include "base/mem.h"
#include "config/options.h"
#include "use/modelfile.h"

#include <drove/drove.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NAMES = 4096 };

typedef struct names {
    const char *name[MOST_NAMES];
    size_t n;
} names;

static bool knows(const names *known, const char *name)
{
    for (size_t i = 0; i < known->n; i++) {
        if (strcmp(known->name[i], name) == 0) return true;
    }
    return false;
}

static void learn(names *known, const char *name)
{
    assert_true(name[0] != '\0' && !knows(known, name));
    assert_true(known->n < MOST_NAMES);
    known->name[known->n++] = name;
}

static size_t element_bytes(int32_t type)
{
    return type == DROVE_ONNX_FLOAT ? 4 : 8;
}

static void check_constant(const Drove__Onnx__Tensor *t)
{
    size_t n = 1;
    for (size_t i = 0; i < t->n_dims; i++) n *= (size_t)t->dims[i];
    if (t->data_type == DROVE_ONNX_STRING) assert_int_equal(t->n_string_data, n);
    else assert_int_equal(t->raw_data.len, n * element_bytes(t->data_type));
}

static void check_structure(const Drove__Onnx__Model *m)
{
    static names known;
    const Drove__Onnx__Graph *g = m->graph;
    known.n = 0;
    assert_int_equal(m->ir_version, DROVE_ONNX_IR);
    assert_string_equal(m->opset_import[0]->domain, "");
    assert_int_equal(m->opset_import[0]->version, DROVE_ONNX_OPSET);
    for (size_t i = 0; i < g->n_input; i++) learn(&known, g->input[i]->name);
    for (size_t i = 0; i < g->n_initializer; i++) {
        learn(&known, g->initializer[i]->name);
        check_constant(g->initializer[i]);
    }
    for (size_t i = 0; i < g->n_node; i++) {
        const Drove__Onnx__Node *node = g->node[i];
        for (size_t k = 0; k < node->n_input; k++) assert_true(knows(&known, node->input[k]));
        for (size_t k = 0; k < node->n_output; k++) learn(&known, node->output[k]);
        for (size_t k = 0; k < node->n_attribute; k++) assert_true(node->attribute[k]->has_type);
    }
    for (size_t i = 0; i < g->n_output; i++) assert_true(knows(&known, g->output[i]->name));
}

/* ---- models ---- */

static void train(const char *data, const char *model, const char *out)
{
    static const char *const more[][2] = {
        {"lr", "0.01"}, {"until", "updates=2"}, {"threads", "1"}, {"test", "none"}};
    drove_options o = drove__options_default();
    drove_result *result = NULL;
    for (size_t i = 0; i < DROVE_COUNT(more); i++)
        assert_int_equal(drove_options_set(&o, more[i][0], more[i][1]), DROVE_OK);
    assert_int_equal(drove_options_set(&o, "data", data), DROVE_OK);
    assert_int_equal(drove_options_set(&o, "model", model), DROVE_OK);
    assert_int_equal(drove_options_set(&o, "out", out), DROVE_OK);
    if (drove_train(&o, NULL, &result) != DROVE_OK) fail_msg("%s", drove_error_text());
    drove_result_destroy(result);
}

static void count_line(void *context, const char *text)
{
    assert_true(strncmp(text, "input ", 6) == 0 || strncmp(text, "output ", 7) == 0);
    ++*(size_t *)context;
}

static char path[96]; /* of the last exported graph */

/* Trains, exports, reads back and checks; the caller frees *file. */
static Drove__Onnx__Model *exported(const char *data, const char *model, drove_modelfile *file)
{
    char out[64], *bytes;
    static unsigned n;
    size_t n_bytes, n_lines = 0;
    snprintf(out, sizeof out, "run%u", n++);
    snprintf(path, sizeof path, "%s.onnx", out);
    train(data, model, out);
    const drove_export_options opt = {
        .model = out, .out = path, .line = count_line, .context = &n_lines};
    if (drove_export_onnx(&opt) != DROVE_OK) fail_msg("%s", drove_error_text());
    assert_int_equal(drove__modelfile_load(out, file), DROVE_OK);
    assert_int_equal(drove__file_load(path, 1 << 30, &bytes, &n_bytes), DROVE_OK);
    Drove__Onnx__Model *m = drove__onnx__model__unpack(NULL, n_bytes, (const uint8_t *)bytes);
    free(bytes);
    assert_non_null(m);
    check_structure(m);
    assert_int_equal(n_lines, m->graph->n_input + m->graph->n_output);
    return m;
}

static void release(Drove__Onnx__Model *m, drove_modelfile *file)
{
    drove__onnx__model__free_unpacked(m, NULL);
    drove__modelfile_fini(file);
}

/* Node number `at` of this type, from 0; NULL: there is none. */
static const Drove__Onnx__Node *find_node(const Drove__Onnx__Graph *g, const char *type, size_t at)
{
    for (size_t i = 0; i < g->n_node; i++) {
        if (strcmp(g->node[i]->op_type, type) == 0 && at-- == 0) return g->node[i];
    }
    return NULL;
}

static const Drove__Onnx__Tensor *find_constant(const Drove__Onnx__Graph *g, const char *name)
{
    for (size_t i = 0; i < g->n_initializer; i++) {
        if (strcmp(g->initializer[i]->name, name) == 0) return g->initializer[i];
    }
    fail_msg("expected a constant %s", name);
    return NULL;
}

static const Drove__Onnx__Attribute *find_attribute(const Drove__Onnx__Node *node, const char *name)
{
    for (size_t i = 0; i < node->n_attribute; i++) {
        if (strcmp(node->attribute[i]->name, name) == 0) return node->attribute[i];
    }
    fail_msg("expected an attribute %s", name);
    return NULL;
}

FIXTURE(remove_what_an_earlier_run_left)
{
    return system("rm -rf run* kept");
}

GROUP(remove_what_an_earlier_run_left, NULL);

TEST(an_mlp_has_its_parameters)
{
    drove_modelfile file;
    Drove__Onnx__Model *m = exported("synth:logistic?n=40&d=7", "mlp:5,3", &file);
    const Drove__Onnx__Graph *g = m->graph;
    assert_int_equal(g->n_input, 1);
    assert_string_equal(g->input[0]->name, "x");
    assert_string_equal(g->input[0]->type->tensor_type->shape->dim[0]->symbol, "N");
    assert_int_equal(g->input[0]->type->tensor_type->shape->dim[1]->value, 7);
    assert_int_equal(g->n_output, 2);
    assert_string_equal(g->output[0]->name, "label");
    assert_string_equal(g->output[1]->name, "probabilities");
    for (size_t l = 0; l < 3; l++) {
        const drove_layer *layer = &file.model->layer[l];
        const Drove__Onnx__Node *node = find_node(g, "Gemm", l);
        assert_non_null(node);
        const Drove__Onnx__Tensor *w = find_constant(g, node->input[1]);
        assert_int_equal(w->dims[0], layer->n_in);
        assert_int_equal(w->dims[1], layer->n_out);
        assert_memory_equal(w->raw_data.data, file.theta + layer->w_offset, w->raw_data.len);
        const Drove__Onnx__Tensor *b = find_constant(g, node->input[2]);
        assert_memory_equal(b->raw_data.data, file.theta + layer->b_offset, b->raw_data.len);
    }
    assert_null(find_node(g, "Gemm", 3));
    release(m, &file);
}

TEST(an_exported_network_is_read_back)
{
    drove_modelfile file;
    drove_model *again;
    Drove__Onnx__Model *m = exported("synth:logistic?n=40&d=7&scale=none", "mlp:5,3", &file);
    if (drove__model_create(path, "", "", &file.io, &again) != DROVE_OK)
        fail_msg("%s", drove_error_text());
    assert_int_equal(again->n_params, file.model->n_params);
    assert_memory_equal(again->initial, file.theta, again->n_params * sizeof(float));
    drove__model_destroy(again);
    release(m, &file);
}

static float number_at(const Drove__Onnx__Tensor *t, size_t at)
{
    float v;
    memcpy(&v, t->raw_data.data + at * sizeof v, sizeof v);
    return v;
}

TEST(a_convolution_has_its_parameters_channels_first)
{
    enum { OUT = 50, IN = 20, SIDE = 5 };
    drove_modelfile file;
    Drove__Onnx__Model *m = exported("synth:digits?n=20", "lenet", &file);
    const Drove__Onnx__Node *node = find_node(m->graph, "Conv", 1);
    const Drove__Onnx__Tensor *w = find_constant(m->graph, node->input[1]);
    const drove_layer *layer = &file.model->layer[2];
    assert_string_equal(layer->name, "conv2");
    const float *theta = file.theta + layer->w_offset;
    assert_int_equal(w->n_dims, 4);
    assert_int_equal(w->dims[0], OUT);
    assert_int_equal(w->dims[1], IN);
    for (size_t o = 0; o < OUT; o++) {
        for (size_t c = 0; c < IN; c++) {
            for (size_t y = 0; y < SIDE; y++) {
                for (size_t x = 0; x < SIDE; x++)
                    assert_true(number_at(w, ((o * IN + c) * SIDE + y) * SIDE + x) ==
                                theta[((y * SIDE + x) * IN + c) * OUT + o]);
            }
        }
    }
    const Drove__Onnx__Attribute *kernel = find_attribute(node, "kernel_shape");
    assert_int_equal(kernel->n_ints, 2);
    assert_int_equal(kernel->ints[0], SIDE);
    assert_int_equal(m->graph->input[0]->type->tensor_type->shape->n_dim, 4);
    release(m, &file);
}

/* 0: as many rows as come in. */
TEST(a_reshape_keeps_the_rows)
{
    static const int64_t expected[] = {0, 4, 14, 14};
    drove_modelfile file;
    FILE *net = fopen("turned.yaml", "w");
    assert_non_null(net);
    fputs("layers:\n"
          "  - {name: turned, type: reshape, channels: 4, height: 14, width: 14}\n"
          "  - {name: conv, type: convolution, channels: 2, kernel: 3}\n"
          "  - {name: out, type: dense}\n",
          net);
    assert_int_equal(fclose(net), 0);
    Drove__Onnx__Model *m = exported("synth:digits?n=20", "turned.yaml", &file);
    const Drove__Onnx__Node *node = find_node(m->graph, "Reshape", 0);
    assert_non_null(node);
    const Drove__Onnx__Tensor *sides = find_constant(m->graph, node->input[1]);
    assert_int_equal(sides->raw_data.len, sizeof expected);
    assert_memory_equal(sides->raw_data.data, expected, sizeof expected);
    release(m, &file);
}

TEST(a_table_has_an_input_for_each_column)
{
    drove_modelfile file;
    FILE *f = fopen("table.csv", "w");
    assert_non_null(f);
    fputs("/0/Gemm,kind,born,y\n", f); /* a name like those of inner values */
    for (int i = 0; i < 60; i++)
        fprintf(f, "%d.5,%s,19%02d-%02d-11,%d\n", i * i, i % 3 == 0 ? "a" : "b", 10 + i, 1 + i % 12,
                i);
    assert_int_equal(fclose(f), 0);
    Drove__Onnx__Model *m = exported("table.csv?label=y", "linear", &file);
    static const struct {
        const char *name;
        int32_t type;
    } wanted[] = {{"/0/Gemm", DROVE_ONNX_FLOAT},
                  {"kind", DROVE_ONNX_STRING},
                  {"born", DROVE_ONNX_DOUBLE}};
    assert_int_equal(m->graph->n_input, DROVE_COUNT(wanted));
    for (size_t i = 0; i < DROVE_COUNT(wanted); i++) {
        assert_string_equal(m->graph->input[i]->name, wanted[i].name);
        assert_int_equal(m->graph->input[i]->type->tensor_type->elem_type, wanted[i].type);
    }
    assert_int_equal(m->n_opset_import, 2);
    assert_string_equal(m->opset_import[1]->domain, DROVE_ONNX_ML);
    assert_string_equal(m->graph->output[0]->name, "values");
    release(m, &file);
}

static const char *pair(const Drove__Onnx__Model *m, const char *key)
{
    for (size_t i = 0; i < m->n_metadata_props; i++)
        if (strcmp(m->metadata_props[i]->key, key) == 0) return m->metadata_props[i]->value;
    fail_msg("expected metadata %s", key);
    return NULL;
}

/* Columns that have the names of outputs already; and what a file says of its model. */
TEST(outputs_have_names_of_their_own)
{
    drove_modelfile file;
    FILE *f = fopen("names.csv", "w");
    assert_non_null(f);
    fputs("label,probabilities,probabilities_,values,colour,y\n", f);
    for (int i = 0; i < 60; i++)
        fprintf(f, "%d.5,%d.25,%d,%d.125,%s,%d.5\n", i, i * 7 % 13, i * 5 % 11, i * 3 % 17,
                i * 7 % 5 < 2 ? "red"
                : i % 2       ? "green"
                              : "blue \303\244",
                i);
    assert_int_equal(fclose(f), 0);
    Drove__Onnx__Model *m = exported("names.csv?label=colour", "mlp:3", &file);
    assert_int_equal(m->graph->n_output, 2);
    assert_string_equal(m->graph->output[0]->name, "label_");
    assert_string_equal(m->graph->output[1]->name, "probabilities__");
    assert_string_equal(m->graph->output[1]->doc_string, "of each class");
    assert_string_equal(pair(m, "model"), "mlp:3");
    assert_string_equal(pair(m, "loss"), "softmax");
    char text[64] = "[";
    for (size_t i = 0; i < file.io.n_classes; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s\"%s\"", i > 0 ? "," : "",
                 file.class_name[i]);
    strcat(text, "]");
    assert_int_equal(file.io.n_classes, 3);
    assert_string_equal(pair(m, "class_names"), text);
    release(m, &file);
    m = exported("names.csv?label=y", "linear", &file);
    assert_int_equal(m->graph->n_output, 1);
    assert_string_equal(m->graph->output[0]->name, "values_");
    assert_string_equal(pair(m, "loss"), "squared");
    release(m, &file);
}

TEST(the_model_is_not_overwritten)
{
    train("synth:logistic?n=20&d=3", "logistic", "kept");
    drove_export_options opt = {.model = "kept/model.safetensors", .out = "kept/model.safetensors"};
    assert_int_equal(drove_export_onnx(&opt), DROVE_E_EXISTS);
    assert_int_equal(drove_export_c(&opt), DROVE_E_EXISTS);
    opt.out = "none/x.onnx";
    assert_int_equal(drove_export_onnx(&opt), DROVE_E_FILE);
    opt.model = "none.safetensors";
    assert_int_equal(drove_export_onnx(&opt), DROVE_E_FILE);
}

TEST(what_is_not_given_is_named)
{
    const drove_export_options model = {.model = "x"}, out = {.out = "x"};
    assert_int_equal(drove_export_onnx(NULL), DROVE_E_ARG);
    assert_int_equal(drove_export_onnx(&model), DROVE_E_ARG);
    assert_non_null(strstr(drove_error_text(), "opt->out: expected a pointer, found NULL"));
    assert_int_equal(drove_export_c(&model), DROVE_E_ARG);
    assert_int_equal(drove_export_pytorch(&out), DROVE_E_ARG);
    assert_non_null(strstr(drove_error_text(), "opt->model: expected a pointer, found NULL"));
}
