/* tests/unit/model/onnx_made.c - see onnx_made.h. */
#include "unit/model/onnx_made.h"
#include "support/test.h"

#include "base/mem.h"
#include "base/options.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NODES = 24, MOST_ATTRIBUTES = 40, MOST_TENSORS = 12, MOST_NUMBERS = 4096, FLOAT = 1 };

static Drove__Onnx__Model model;
static Drove__Onnx__Graph graph;
static Drove__Onnx__OperatorSet set, *sets[1] = {&set};
static Drove__Onnx__Node node[MOST_NODES], *nodes[MOST_NODES];
static Drove__Onnx__Attribute attribute[MOST_ATTRIBUTES];
static Drove__Onnx__Attribute *attributes[MOST_NODES][MOST_ATTRIBUTES];
static Drove__Onnx__Tensor tensor[MOST_TENSORS], *tensors[MOST_TENSORS];
static Drove__Onnx__Value input, output, *inputs[1] = {&input}, *outputs[1] = {&output};
static size_t n_attributes, n_floats, n_ints, n_text, n_names;
static float floats[MOST_NUMBERS];
static int64_t ints[MOST_NUMBERS];
static char text[MOST_NUMBERS], *names[MOST_NUMBERS], input_name[] = "x", output_name[] = "out";

static const drove_custom no_custom;
static drove_model_io made_io, *io;
static const char *loss;

static char *keep(const char *word, size_t n)
{
    char *own = text + n_text;
    assert_true(n_text + n + 1 <= sizeof text);
    memcpy(own, word, n);
    own[n] = '\0';
    n_text += n + 1;
    return own;
}

/* "a,,b" are three names. */
static char **split(const char *list, size_t *n)
{
    char **own = names + n_names;
    for (*n = 0; *list != '\0' || *n == 0; (*n)++) {
        size_t length = strcspn(list, ",");
        if (list[0] == '\0') break;
        names[n_names++] = keep(list, length);
        list += length + (list[length] == ',');
    }
    return own;
}

void onnx_begin(void)
{
    n_attributes = n_floats = n_ints = n_text = n_names = 0;
    drove__onnx__model__init(&model);
    drove__onnx__graph__init(&graph);
    drove__onnx__operator_set__init(&set);
    drove__onnx__value__init(&input);
    drove__onnx__value__init(&output);
    input.name = input_name;
    output.name = output_name;
    set.has_version = true;
    set.version = 13;
    io = NULL;
    model.graph = &graph;
    model.opset_import = sets;
    model.n_opset_import = 1;
    graph.node = nodes;
    graph.initializer = tensors;
    graph.input = inputs;
    graph.output = outputs;
    graph.n_input = graph.n_output = 1;
}

void onnx_set(int version)
{
    set.version = version;
}

void onnx_data(size_t channels, size_t height, size_t width, size_t n_classes, const char *with)
{
    made_io = (drove_model_io){.n_features = channels * height * width, .n_classes = n_classes};
    made_io.custom = &no_custom; /* as the program has it, without a loss of its own */
    if (height * width > 1) made_io.image = (drove_shape){channels, height, width};
    loss = with;
    io = &made_io;
}

void onnx_sides(size_t n, ...)
{
    enum { MOST_SIDES = 6 };
    static Drove__Onnx__ValueType type;
    static Drove__Onnx__TensorType tensor_type;
    static Drove__Onnx__Shape shape;
    static Drove__Onnx__Dimension side[MOST_SIDES], *sides[MOST_SIDES];
    va_list args;
    assert_true(n <= MOST_SIDES);
    drove__onnx__value_type__init(&type);
    drove__onnx__tensor_type__init(&tensor_type);
    drove__onnx__shape__init(&shape);
    va_start(args, n);
    for (size_t i = 0; i < n; i++) {
        sides[i] = &side[i];
        drove__onnx__dimension__init(&side[i]);
        side[i].value = va_arg(args, int);
        if (side[i].value > 0) side[i].size_case = DROVE__ONNX__DIMENSION__SIZE_VALUE;
    }
    va_end(args);
    shape.dim = sides;
    shape.n_dim = n;
    tensor_type.has_elem_type = true;
    tensor_type.elem_type = FLOAT;
    tensor_type.shape = &shape;
    type.tensor_type = &tensor_type;
    input.type = &type;
}

void onnx_node(const char *op, const char *in, const char *out)
{
    size_t at = graph.n_node++;
    assert_true(at < MOST_NODES);
    nodes[at] = &node[at];
    drove__onnx__node__init(&node[at]);
    node[at].op_type = keep(op, strlen(op));
    node[at].input = split(in, &node[at].n_input);
    node[at].output = split(out, &node[at].n_output);
    node[at].attribute = attributes[at];
    if (node[at].n_output > 0) output.name = node[at].output[0]; /* the last one's */
}

void onnx_domain(const char *domain)
{
    node[graph.n_node - 1].domain = keep(domain, strlen(domain));
}

static Drove__Onnx__Attribute *add_attribute(const char *name)
{
    Drove__Onnx__Node *of = &node[graph.n_node - 1];
    assert_true(n_attributes < MOST_ATTRIBUTES);
    Drove__Onnx__Attribute *a = &attribute[n_attributes++];
    drove__onnx__attribute__init(a);
    a->name = keep(name, strlen(name));
    of->attribute[of->n_attribute++] = a;
    return a;
}

void onnx_int(const char *name, int64_t value)
{
    Drove__Onnx__Attribute *a = add_attribute(name);
    a->has_i = true;
    a->i = value;
}

void onnx_real(const char *name, float value)
{
    Drove__Onnx__Attribute *a = add_attribute(name);
    a->has_f = true;
    a->f = value;
}

void onnx_word(const char *name, const char *value)
{
    Drove__Onnx__Attribute *a = add_attribute(name);
    a->has_s = true;
    a->s.len = strlen(value);
    a->s.data = (uint8_t *)keep(value, a->s.len);
}

void onnx_ints(const char *name, size_t n, ...)
{
    Drove__Onnx__Attribute *a = add_attribute(name);
    va_list args;
    a->ints = ints + n_ints;
    a->n_ints = n;
    va_start(args, n);
    for (size_t i = 0; i < n; i++) ints[n_ints++] = va_arg(args, int);
    va_end(args);
}

void onnx_reals(const char *name, size_t n, const float *value)
{
    Drove__Onnx__Attribute *a = add_attribute(name);
    a->floats = floats + n_floats;
    a->n_floats = n;
    memcpy(a->floats, value, n * sizeof *value);
    n_floats += n;
}

const float *onnx_tensor(const char *name, size_t n_dims, ...)
{
    size_t at = graph.n_initializer++, n = 1;
    va_list args;
    assert_true(at < MOST_TENSORS);
    Drove__Onnx__Tensor *t = tensors[at] = &tensor[at];
    drove__onnx__tensor__init(t);
    t->name = keep(name, strlen(name));
    t->has_data_type = true;
    t->data_type = FLOAT;
    t->dims = ints + n_ints;
    t->n_dims = n_dims;
    va_start(args, n_dims);
    for (size_t i = 0; i < n_dims; i++) {
        ints[n_ints] = va_arg(args, int);
        n *= (size_t)ints[n_ints++];
    }
    va_end(args);
    assert_true(n_floats + n <= MOST_NUMBERS);
    t->float_data = floats + n_floats;
    t->n_float_data = n;
    for (size_t i = 0; i < n; i++) t->float_data[i] = (float)(10 * (at + 1)) + (float)i / 64.0f;
    n_floats += n;
    return t->float_data;
}

void onnx_number(const char *name, float value)
{
    (void)onnx_tensor(name, 0);
    tensor[graph.n_initializer - 1].float_data[0] = value;
}

void onnx_whole(const char *name, size_t n, ...)
{
    enum { INT64 = 7 };
    size_t at = graph.n_initializer++;
    va_list args;
    assert_true(at < MOST_TENSORS);
    Drove__Onnx__Tensor *t = tensors[at] = &tensor[at];
    drove__onnx__tensor__init(t);
    t->name = keep(name, strlen(name));
    t->has_data_type = true;
    t->data_type = INT64;
    t->dims = ints + n_ints;
    t->n_dims = 1;
    ints[n_ints++] = (int64_t)n;
    t->int64_data = ints + n_ints;
    t->n_int64_data = n;
    va_start(args, n);
    for (size_t i = 0; i < n; i++) ints[n_ints++] = va_arg(args, int);
    va_end(args);
}

void onnx_value(const char *name)
{
    add_attribute(name)->t = tensors[--graph.n_initializer];
}

drove_status onnx_read(drove_graph *out)
{
    size_t n_bytes = drove__onnx__model__get_packed_size(&model);
    uint8_t *bytes = malloc(n_bytes);
    assert_non_null(bytes);
    drove__onnx__model__pack(&model, bytes);
    drove_status status = drove__graph_read_onnx((const char *)bytes, n_bytes, "net.onnx",
                                                 io != NULL ? loss : NULL, io, out);
    free(bytes);
    return status;
}

drove_graph onnx_accepted(void)
{
    drove_graph g;
    if (onnx_read(&g) != DROVE_OK) fail_msg("%s", drove_error_text());
    return g;
}

void onnx_refused(const char *words)
{
    drove_graph g;
    assert_int_equal(onnx_read(&g), DROVE_E_DATA);
    if (strncmp(drove_error_text(), "net.onnx: ", 10) != 0 ||
        strstr(drove_error_text(), words) == NULL)
        fail_msg("expected \"%s\", found \"%s\"", words, drove_error_text());
}

void onnx_computes(size_t c, size_t h, size_t w, const float *x, size_t n_out,
                   const float *expected)
{
    drove_graph g;
    drove_model *m;
    drovek_table kernels;
    drove_pass pass;
    drove_model_io own = {.n_features = c * h * w, .n_values = n_out};
    if (h * w > 1) own.image = (drove_shape){c, h, w};
    onnx_data(c, h, w, 0, "squared");
    if (onnx_read(&g) != DROVE_OK) fail_msg("%s", drove_error_text());
    if (drove__model_create_graph(&g, "net.onnx", "squared", &own, &m) != DROVE_OK)
        fail_msg("%s", drove_error_text());
    assert_int_equal(drove__graph_take_values(&g, m), DROVE_OK);
    float *theta = drove__alloc(m->n_params + 16, sizeof *theta);
    assert_int_equal(drove__model_init(m, "", 1, theta), DROVE_OK);
    assert_int_equal(drovek_select(&kernels, 0, NULL), DROVE_OK);
    assert_int_equal(drove__pass_init(&pass, m, &kernels, 1), DROVE_OK);
    const drove_input in = {.n_rows = 1, .dense = x};
    drove__model_forward(m, &kernels, theta, &in, &pass);
    const float *y = pass.out[m->head[m->n_heads - 1].layer];
    for (size_t i = 0; i < n_out; i++) {
        if (!(fabsf(y[i] - expected[i]) < 1e-5f * fmaxf(1.0f, fabsf(expected[i]))))
            fail_msg("output %zu: expected %g, found %g", i, (double)expected[i], (double)y[i]);
    }
    drove__pass_fini(&pass);
    drove__free(theta);
    drove__model_destroy(m);
    drove__graph_fini(&g);
}
