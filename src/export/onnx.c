/* export/onnx.c - a saved model as an ONNX graph: inputs, features, network, outputs.
 *
 * Inputs: a column each of a table; "image" [N][c][h][w] of images; else "x" [N][n_features].
 * Outputs: of classes "label", the names, and "probabilities" or "scores" as drove predict has
 * them; of label sets "probabilities"; of values "values".  Described in docs/use/export.md.
 */
#include "export/export.h"

#include "base/given.h"
#include "base/json.h"
#include "base/locale.h"
#include "base/mem.h"
#include "data/open/overwrite.h"
#include "data/scale.h"
#include "model/loss.h"
#include "use/modelfile.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct exported {
    drove_modelfile file;
    drove_features *map; /* NULL: none */
    drove_onnx graph;
    const drove_export_options *opt;
} exported;

/* ---- inputs ---- */

static bool is_image(const drove_modelfile *file)
{
    return file->augment.channels != 0;
}

/* x with the shift and factor of each number, as data/data.h scales; of sparse data by the factor
 * alone. */
static const char *scale(exported *e, const char *x, const size_t *dims, size_t rank)
{
    drove_onnx *g = &e->graph;
    const drove_modelfile *f = &e->file;
    if (f->shift != NULL && f->x_kind != DROVE_X_CSR)
        x = drove__onnx_node(g, "Sub", x, drove__onnx_floats(g, f->shift, dims, rank), NULL);
    if (f->factor != NULL)
        x = drove__onnx_node(g, "Mul", x, drove__onnx_floats(g, f->factor, dims, rank), NULL);
    return x;
}

/* The part of an image that a model sees: zeros around it, and the middle. */
static const char *cut(exported *e, const char *image)
{
    drove_onnx *g = &e->graph;
    const drove_augment *a = &e->file.augment;
    if (!drove__augment_is_on(a)) return image;
    const drove_window w = drove__augment_centre(a);
    const int64_t p = (int64_t)a->pad, top = (int64_t)w.top, left = (int64_t)w.left;
    const int64_t pads[] = {0, 0, p, p, 0, 0, p, p}, axes[] = {2, 3}, first[] = {top, left},
                  end[] = {top + (int64_t)a->crop_height, left + (int64_t)a->crop_width};
    const size_t two = 2, eight = 8;
    if (p > 0)
        image = drove__onnx_node(g, "Pad", image, drove__onnx_ints(g, pads, &eight, 1), NULL);
    const char *const input[] = {image, drove__onnx_ints(g, first, &two, 1),
                                 drove__onnx_ints(g, end, &two, 1),
                                 drove__onnx_ints(g, axes, &two, 1)};
    return drove__onnx_node_of(g, "Slice", input, DROVE_COUNT(input));
}

/* sqrt(2 / D) cos(Omega x + b) */
static drove_status add_map(exported *e, const char **x)
{
    drove_onnx *g = &e->graph;
    const drove_modelfile *f = &e->file;
    const float *phase;
    drovek_table kernels;
    if (f->features.ops == NULL) return DROVE_OK;
    const size_t n_out = f->features.n_out, dims[] = {f->n_inputs, n_out};
    DROVE_TRY(drovek_select(&kernels, 0, NULL));
    DROVE_TRY(drove__features_create(&f->features, f->n_inputs, &kernels, 1, &e->map));
    float *weight = drove__onnx_take(g, f->n_inputs * n_out, sizeof *weight);
    if (weight == NULL)
        return drove__fail_nomem("a feature map", f->n_inputs * n_out * sizeof *weight);
    drove__features_weights(e->map, weight, &phase);
    g->scope = "features";
    *x = drove__onnx_node(g, "Gemm", *x, drove__onnx_floats(g, weight, dims, 2),
                          drove__onnx_floats(g, phase, &n_out, 1));
    *x = drove__onnx_node(g, "Cos", *x, NULL, NULL);
    *x = drove__onnx_node(g, "Mul", *x, drove__onnx_float(g, (float)sqrt(2.0 / (double)n_out)),
                          NULL);
    return DROVE_OK;
}

/* ---- outputs ---- */

/* A column of the table may have the output's name already. */
static const char *output_name(drove_onnx *g, const char *name)
{
    for (size_t i = 0; i < g->inputs.n; i++) {
        const Drove__Onnx__Value *input = g->inputs.item[i];
        if (strcmp(input->name, name) == 0)
            return output_name(g, drove__onnx_print(g, "%s_", name));
    }
    return name;
}

/* The name of the class: the first of the largest outputs, or the side of a single one. */
static void add_label(exported *e, const char *outputs)
{
    drove_onnx *g = &e->graph;
    const size_t n = e->file.io.n_classes, dims[] = {1}, one = 1;
    const char *place;
    if (e->file.model->n_outputs == 1) {
        const float middle = e->file.model->loss->gives_probability ? 0.5f : 0.0f;
        const int64_t minus_1 = -1;
        const char *is_second =
            drove__onnx_node(g, "Greater", outputs, drove__onnx_float(g, middle), NULL);
        place = drove__onnx_node(g, "Reshape", drove__onnx_cast(g, is_second, DROVE_ONNX_INT64),
                                 drove__onnx_ints(g, &minus_1, &one, 1), NULL);
    } else {
        place = drove__onnx_node(g, "ArgMax", outputs, NULL, NULL);
        drove__onnx_set_int(g, "axis", 1);
        drove__onnx_set_int(g, "keepdims", 0);
    }
    const char **name = drove__onnx_take(g, n, sizeof *name);
    for (size_t i = 0; name != NULL && i < n; i++)
        name[i] =
            e->file.class_name != NULL ? e->file.class_name[i] : drove__onnx_print(g, "%zu", i);
    if (g->is_starved) return;
    const char *label = drove__onnx_node(g, "Gather", drove__onnx_strings(g, name, n), place, NULL);
    drove__onnx_output(g, output_name(g, "label"), label, DROVE_ONNX_STRING, dims, 1,
                       "the class's name");
}

static void add_outputs(exported *e, const char *z)
{
    drove_onnx *g = &e->graph;
    const drove_model *model = e->file.model;
    const drove_model_io *io = &e->file.io;
    const char *y = z;
    if (model->loss == &drove__loss_sigmoid || model->loss == &drove__loss_logistic)
        y = drove__onnx_node(g, "Sigmoid", z, NULL, NULL);
    if (model->loss == &drove__loss_softmax) {
        y = drove__onnx_node(g, "Softmax", z, NULL, NULL);
        drove__onnx_set_int(g, "axis", 1);
    }
    size_t dims[] = {1, model->n_outputs};
    if (io->n_classes == 0) {
        const double *origin = e->file.y_origin;
        if (origin != NULL)
            y = drove__onnx_node(g, "Add", drove__onnx_cast(g, y, DROVE_ONNX_DOUBLE),
                                 drove__onnx_doubles(g, origin, model->n_outputs), NULL);
        drove__onnx_output(g, output_name(g, "values"), y,
                           origin != NULL ? DROVE_ONNX_DOUBLE : DROVE_ONNX_FLOAT, dims, 2,
                           "as in the data");
        return;
    }
    if (!io->is_multi_label) add_label(e, y);
    if (!model->loss->gives_probability) {
        drove__onnx_output(g, output_name(g, "scores"), y, DROVE_ONNX_FLOAT, dims, 2,
                           dims[1] == 1 ? "above 0: the second class" : "the largest: the class");
        return;
    }
    if (!io->is_multi_label && model->n_outputs == 1) {
        const char *both[] = {drove__onnx_node(g, "Sub", drove__onnx_float(g, 1.0f), y, NULL), y};
        y = drove__onnx_join(g, both, 2);
        dims[1] = 2;
    }
    drove__onnx_output(g, output_name(g, "probabilities"), y, DROVE_ONNX_FLOAT, dims, 2,
                       io->is_multi_label ? "of each label" : "of each class");
}

/* ---- messages ---- */

static void say_value(const exported *e, const char *what, const Drove__Onnx__Value *v)
{
    char text[512], shape[96] = "";
    const Drove__Onnx__TensorType *t = v->type->tensor_type;
    const char *type = t->elem_type == DROVE_ONNX_FLOAT    ? "float"
                       : t->elem_type == DROVE_ONNX_DOUBLE ? "double"
                                                           : "string";
    for (size_t i = 0, used = 0; i < t->shape->n_dim && used < sizeof shape - 24; i++) {
        const Drove__Onnx__Dimension *d = t->shape->dim[i];
        if (i == 0) used += (size_t)snprintf(shape + used, sizeof shape - used, "N");
        else
            used +=
                (size_t)snprintf(shape + used, sizeof shape - used, "x%lld", (long long)d->value);
    }
    snprintf(text, sizeof text, "%-6s  %-20s  %-6s  %-12s  %s", what, v->name, type, shape,
             v->doc_string);
    e->opt->line(e->opt->context, text);
}

/* ---- the whole ---- */

/* The names of inner values begin like no column's name. */
static void choose_prefix(exported *e)
{
    const drove_schema *s = e->file.schema;
    e->graph.prefix = "/";
    for (size_t i = 0; s != NULL && i < s->n_columns; i++) {
        const char *prefix = e->graph.prefix;
        if (strncmp(s->column[i].name, prefix, strlen(prefix)) != 0) continue;
        e->graph.prefix = drove__onnx_print(&e->graph, "%s/", prefix);
        if (e->graph.is_starved) return;
        i = SIZE_MAX; /* again from the first */
    }
}

static drove_status build(exported *e)
{
    const char *x, *z;
    drove_onnx *g = &e->graph;
    const drove_modelfile *file = &e->file;
    const drove_augment *a = &file->augment;
    const size_t dims[] = {1, file->n_inputs}, sides[] = {1, a->channels, a->height, a->width};
    choose_prefix(e);

    /* columns of a table, an image, or numbers */
    if (file->schema != NULL) {
        DROVE_TRY(drove__onnx_columns(g, file->schema, &x));
        x = scale(e, x, dims, 2);
    } else if (is_image(file)) {
        drove__onnx_input(g, "image", DROVE_ONNX_FLOAT, sides, 4,
                          file->x_kind == DROVE_X_U8 ? "pixels from 0 to 255" : "as in the data");
        g->scope = "image";
        x = cut(e, scale(e, "image", sides, 4));
    } else {
        drove__onnx_input(g, "x", file->x_origin != NULL ? DROVE_ONNX_DOUBLE : DROVE_ONNX_FLOAT,
                          dims, 2, "as in the data");
        g->scope = "x";
        x = "x";
        if (file->x_origin != NULL) /* in double, as floats would lose what is left */
            x = drove__onnx_cast(
                g,
                drove__onnx_node(g, "Sub", "x",
                                 drove__onnx_doubles(g, file->x_origin, file->n_inputs), NULL),
                DROVE_ONNX_FLOAT);
        x = scale(e, x, dims, 2);
    }

    DROVE_TRY(add_map(e, &x));
    const bool has_sides = is_image(file) && file->schema == NULL && e->map == NULL;
    DROVE_TRY(drove__onnx_network(g, file->model, file->theta, x, has_sides, &z));
    add_outputs(e, z);

    /* metadata */
    const size_t n_names = file->io.n_classes > 0 ? file->io.n_classes : file->model->n_outputs;
    json_t *names = json_array();
    for (size_t i = 0; file->class_name != NULL && i < n_names; i++)
        drove__json_add(&names, json_string(file->class_name[i]));
    char *text = drove__json_dump(names, JSON_COMPACT);
    json_decref(names);
    if (text == NULL) return drove__fail_nomem("class names", 1);
    drove__onnx_pair(g, "model", file->model->spec);
    drove__onnx_pair(g, "loss", file->model->loss->name);
    drove__onnx_pair(g, "class_names", text);
    free(text);
    return DROVE_OK;
}

drove_status drove_export_onnx(const drove_export_options *opt)
{
    DROVE_GIVEN(opt);
    DROVE_GIVEN_AS(opt->model, "opt->model");
    DROVE_GIVEN_AS(opt->out, "opt->out");
    DROVE_IN_C_LOCALE;
    enum { MOST_INPUTS = 40 };
    char more[64];
    exported e = {.opt = opt};
    DROVE_TRY(drove__overwrite_check("--onnx", opt->out, opt->model));
    DROVE_TRY(drove__modelfile_load(opt->model, &e.file));
    drove_status status = build(&e);
    if (status == DROVE_OK) status = drove__onnx_write(&e.graph, opt->out);
    for (size_t i = 0; status == DROVE_OK && opt->line != NULL && i < e.graph.inputs.n; i++) {
        if (i < MOST_INPUTS) say_value(&e, "input", e.graph.inputs.item[i]);
        else { /* of a wide table the first columns */
            snprintf(more, sizeof more, "... and %zu more inputs", e.graph.inputs.n - i);
            opt->line(opt->context, more);
            break;
        }
    }
    for (size_t i = 0; status == DROVE_OK && opt->line != NULL && i < e.graph.outputs.n; i++)
        say_value(&e, "output", e.graph.outputs.item[i]);
    drove__onnx_fini(&e.graph);
    drove__features_destroy(e.map);
    drove__modelfile_fini(&e.file);
    return status;
}
