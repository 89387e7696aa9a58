/* use/modelfile.c - model.safetensors: the parameters and all that a prediction needs.
 *
 * Tensors: of each layer with parameters NAME.weight in the shape that theta has it in, NAME.bias;
 * of batch normalisation also NAME.mean and NAME.variance; a chain's layers are called layer0,
 * layer1, ...; input.shift, input.factor [n_features] where inputs are scaled; input.origin and
 * target.origin, doubles, where numbers are centred before they become floats (data/origin.h);
 * target.mean, which a constant guess follows from.  Metadata: format, model, activation, loss,
 * n_features, n_classes,
 * multi_label, scale, class_names (a JSON array), storage, index_base; graph, a description as
 * YAML, where the model came from a file; features where there is a feature map, image where data
 * are images, and what part of them the model sees: its inputs are then the map's features, or that
 * part's numbers; table, the schema of a table (table/schema.h) as JSON; loss_outputs and
 * custom_layers, where loss or layers are a program's own.  Described in docs/inside/formats.md.
 */
#include "data/origin.h"
#include "data/scale.h"
#include "model/custom.h"
#include "model/graph.h"
#include "model/loss.h"
#include "use/modelfile.h"

#include "base/options.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/safetensors.h"
#include "engine/linear/precision.h"

#include <drove/train.h>

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MODEL_FORMAT  "drove-model-2"
#define TARGET_MEAN   "target.mean"
#define TARGET_ORIGIN "target.origin"
#define INPUT_ORIGIN  "input.origin"

/* How further data are read: that is all a model keeps of its data's storage. */
static const char *const storage_names[] = {
    [DROVE_X_U8] = "u8", [DROVE_X_F32] = "f32", [DROVE_X_CSR] = "sparse"};

/* ---- saving ---- */

enum { TENSORS_OF_A_LAYER = 4 };

static void name_tensor(char name[DROVE_TENSOR_NAME_SIZE], const drove_layer *l, const char *what)
{
    snprintf(name, DROVE_TENSOR_NAME_SIZE, "%s.%s", l->name, what);
}

/* A tensor of n numbers in one dimension. */
static drove_tensor vector_of(const drove_layer *l, const char *what, size_t n, const float *values)
{
    drove_tensor t = {.type = DROVE_T_F32, .rank = 1, .shape = {n}, .bytes = values};
    name_tensor(t.name, l, what);
    return t;
}

static drove_tensor doubles_of(const char *name, const double *value, size_t n)
{
    drove_tensor t = {.type = DROVE_T_F64, .rank = 1, .shape = {n}, .bytes = value};
    snprintf(t.name, sizeof t.name, "%s", name);
    return t;
}

/* mean: as in the file, NULL: not known.  Returns how many there are. */
static size_t list_tensors(const drove_model *model, const drove_data *data, const double *mean,
                           const float *theta, drove_tensor *t)
{
    const drove_storage *s = data->storage;
    size_t n = 0;
    for (size_t i = 0; i < model->n_layers; i++) {
        const drove_layer *l = &model->layer[i];
        const size_t n_channels = l->n_statistics / 2;
        if (l->n_w > 0) {
            t[n] = vector_of(l, "weight", l->n_w, theta + l->w_offset);
            t[n].rank = l->w_rank;
            memcpy(t[n++].shape, l->w_shape, sizeof l->w_shape);
        }
        if (l->n_b > 0) t[n++] = vector_of(l, "bias", l->n_b, theta + l->b_offset);
        if (n_channels == 0) continue;
        t[n++] = vector_of(l, "mean", n_channels, theta + l->s_offset);
        t[n++] = vector_of(l, "variance", n_channels, theta + l->s_offset + n_channels);
    }
    const drove_scale scale = drove__data_scale(data);
    if (scale.factor != NULL) {
        t[n++] = (drove_tensor){.name = "input.factor",
                                .type = DROVE_T_F32,
                                .rank = 1,
                                .shape = {s->n_features},
                                .bytes = scale.factor};
    }
    if (scale.shift != NULL) {
        t[n++] = (drove_tensor){.name = "input.shift",
                                .type = DROVE_T_F32,
                                .rank = 1,
                                .shape = {s->n_features},
                                .bytes = scale.shift};
    }
    if (mean != NULL) t[n++] = doubles_of(TARGET_MEAN, mean, drove__storage_n_names(s));
    if (s->x_origin != NULL) t[n++] = doubles_of(INPUT_ORIGIN, s->x_origin, s->n_features);
    if (s->y_origin != NULL)
        t[n++] = doubles_of(TARGET_ORIGIN, s->y_origin, drove__storage_n_values(s));
    return n;
}

static char *names_as_json(const drove_storage *storage)
{
    json_t *names = json_array();
    bool is_whole = names != NULL;
    size_t n = storage->class_name != NULL ? drove__storage_n_names(storage) : 0;
    for (size_t i = 0; i < n && is_whole; i++)
        is_whole = json_array_append_new(names, json_string(storage->class_name[i])) == 0;
    char *text = is_whole ? drove__json_dump(names, JSON_COMPACT) : NULL;
    json_decref(names);
    return text;
}

static void append_meta(const char **meta, const char *key, const char *value)
{
    while (*meta != NULL) meta++;
    meta[0] = key;
    meta[1] = value;
}

/* Their names, with commas. */
static void list_custom_layers(const drove_model *model,
                               char into[DROVE_CUSTOM_LAYERS * DROVE_CUSTOM_NAME_SIZE])
{
    const drove_kinds *kinds = model->kinds;
    size_t used = 0;
    into[0] = '\0';
    for (unsigned i = 0; kinds != NULL && i < kinds->given.n_layers; i++) {
        bool is_used = false;
        for (size_t l = 0; l < model->n_layers; l++)
            is_used = is_used || model->layer[l].ops == &kinds->layer[i];
        if (!is_used) continue;
        used += (size_t)sprintf(into + used, "%s%s", used > 0 ? "," : "", kinds->layer[i].name);
    }
}

drove_status drove__modelfile_save(const char *path, const drove_model *model,
                                   const drove_data *data, const drove_features_options *features,
                                   const double *target_mean, const float *theta)
{
    const drove_storage *s = data->storage;
    const drove_augment whole = {.channels = s->channels, .height = s->height, .width = s->width};
    bool is_cut = drove__augment_is_on(&data->augment), is_image = s->channels != 0 || is_cut;
    char inputs[32], classes[32], values[32], base[16], map[DROVE_FEATURES_TEXT_SIZE];
    char image[DROVE_AUGMENT_TEXT_SIZE], custom_loss[32] = "";
    char custom_layers[DROVE_CUSTOM_LAYERS * DROVE_CUSTOM_NAME_SIZE];
    if (model->loss->custom != NULL) drove__custom_outputs_print(model->loss->custom, custom_loss);
    list_custom_layers(model, custom_layers);
    drove__augment_print(is_cut ? &data->augment : &whole, image);
    drove__features_print(features, map);
    snprintf(base, sizeof base, "%d", s->index_base);
    snprintf(inputs, sizeof inputs, "%zu", s->n_features);
    snprintf(classes, sizeof classes, "%zu", s->n_classes);
    snprintf(values, sizeof values, "%zu", s->n_values);
    /* A scaling that leaves all numbers as they are, unit of sparse ones, is none. */
    const drove_scale scale = drove__data_scale(data);
    const drove_scaling scaling = scale.factor != NULL ? scale.scaling : DROVE_SCALE_NONE;
    const drove_x_kind kind = s->x_kind != DROVE_X_QUANT    ? s->x_kind
                              : drove__storage_is_sparse(s) ? DROVE_X_CSR
                                                            : DROVE_X_F32;
    const size_t most = TENSORS_OF_A_LAYER * model->n_layers + 5;
    /* In the file the mean is one of the values themselves. */
    const size_t n_means = drove__storage_n_names(s);
    double *mean = NULL;
    if (target_mean != NULL) {
        mean = drove__alloc(n_means, sizeof *mean);
        if (mean == NULL) return drove__fail_nomem("means of the targets", n_means * sizeof *mean);
        for (size_t k = 0; k < n_means; k++)
            mean[k] = target_mean[k] + (s->y_kind == DROVE_Y_VALUE ? drove__origin_y(s, k) : 0.0);
    }
    drove_tensor *tensor = calloc(most, sizeof *tensor);
    char *names = names_as_json(s), *table = NULL;
    drove_status status = s->schema != NULL ? drove__schema_to_json(s->schema, &table) : DROVE_OK;
    if (status != DROVE_OK) {
        /* below: everything is freed */
    } else if (tensor == NULL || names == NULL) {
        status = drove__fail_nomem("a model file", most * sizeof *tensor);
    } else {
        const char *meta[] = {"format",
                              MODEL_FORMAT,
                              "model",
                              model->spec,
                              "activation",
                              model->activation,
                              "loss",
                              model->loss->name,
                              "n_features",
                              inputs,
                              "n_classes",
                              classes,
                              "multi_label",
                              s->y_kind == DROVE_Y_LABELS ? "1" : "0",
                              "scale",
                              drove__scaling_name(scaling),
                              "class_names",
                              names,
                              "storage",
                              storage_names[kind],
                              "index_base",
                              base,
                              map[0] != '\0' ? "features"
                              : is_image     ? "image"
                                             : NULL,
                              map[0] != '\0' ? map : image,
                              NULL, /* room for six pairs, and the end */
                              NULL,
                              NULL,
                              NULL,
                              NULL,
                              NULL,
                              NULL,
                              NULL,
                              NULL,
                              NULL,
                              NULL,
                              NULL,
                              NULL};
        if (model->graph_text != NULL) append_meta(meta, "graph", model->graph_text);
        if (table != NULL) append_meta(meta, "table", table);
        if (s->n_values > 1) append_meta(meta, "n_values", values);
        if (model->factors == DROVEK_FACTORS_BF16) append_meta(meta, "precision", "bf16");
        if (custom_loss[0] != '\0') append_meta(meta, "loss_outputs", custom_loss);
        if (custom_layers[0] != '\0') append_meta(meta, "custom_layers", custom_layers);
        const size_t n = list_tensors(model, data, mean, theta, tensor);
        status = drove__safetensors_write(path, tensor, n, meta);
    }
    drove__free(mean);
    free(table);
    free(names);
    free(tensor);
    return status;
}

/* ---- loading ---- */

static drove_status want_meta(const drove_safetensors *st, const char *key, const char **out)
{
    *out = drove__safetensors_meta(st, key);
    return *out != NULL ? DROVE_OK
                        : drove__fail(DROVE_E_DATA, "expected metadata \"%s\", found none", key);
}

static drove_status word_index(const char *what, const char *word, const char *const *words,
                               unsigned n, unsigned *out)
{
    for (unsigned i = 0; i < n; i++) {
        if (strcmp(words[i], word) != 0) continue;
        *out = i;
        return DROVE_OK;
    }
    return drove__fail(DROVE_E_DATA, "expected a known %s, found \"%s\"", what, word);
}

/* A map is written with all that it was drawn from. */
static drove_status read_features(const drove_safetensors *st, drove_features_options *out)
{
    const char *text = drove__safetensors_meta(st, "features");
    drove_status status = drove__features_parse(text != NULL ? text : "", out);
    if (status != DROVE_OK) return drove__fail_in(DROVE_E_DATA, "features");
    if (out->ops == NULL || (out->gamma > 0 && out->has_seed)) return DROVE_OK;
    return drove__fail(DROVE_E_DATA, "features: expected gamma and seed, found \"%.80s\"", text);
}

static drove_status read_io(const drove_safetensors *st, drove_modelfile *file)
{
    const char *features, *classes, *multi, *scale, *storage, *base;
    uint64_t n;
    unsigned scaling, kind;
    DROVE_TRY(want_meta(st, "n_features", &features));
    DROVE_TRY(want_meta(st, "n_classes", &classes));
    DROVE_TRY(want_meta(st, "multi_label", &multi));
    DROVE_TRY(want_meta(st, "scale", &scale));
    DROVE_TRY(want_meta(st, "storage", &storage));
    DROVE_TRY(want_meta(st, "index_base", &base));
    DROVE_TRY(word_index("scale", scale, drove__scaling_names, DROVE_N_SCALINGS, &scaling));
    DROVE_TRY(word_index("storage", storage, storage_names, DROVE_COUNT(storage_names), &kind));
    DROVE_TRY(drove__parse_u64("n_features", features, 1, UINT32_MAX, &n));
    file->n_inputs = (size_t)n;
    DROVE_TRY(read_features(st, &file->features));
    file->io.n_features = file->features.ops != NULL ? file->features.n_out : file->n_inputs;
    /* The part of the data's images that the model sees: io.n_features numbers of n_inputs. */
    drove_augment *a = &file->augment;
    const char *image = drove__safetensors_meta(st, "image");
    if (image != NULL) {
        drove_status status = drove__augment_scan(image, a);
        if (status != DROVE_OK) return drove__fail_in(DROVE_E_DATA, "image");
        if (a->channels * a->height * a->width != file->n_inputs || file->features.ops != NULL) {
            return drove__fail(DROVE_E_DATA,
                               "image: expected a part of images of %zu numbers, found "
                               "\"%.80s\"",
                               file->n_inputs, image);
        }
        bool is_cut = drove__augment_is_on(a);
        file->io.image = (drove_shape){.c = a->channels,
                                       .h = is_cut ? a->crop_height : a->height,
                                       .w = is_cut ? a->crop_width : a->width};
        file->io.n_features = drove__shape_floats(file->io.image);
    }
    DROVE_TRY(drove__parse_u64("n_classes", classes, 0, UINT32_MAX, &n));
    file->io.n_classes = (size_t)n;
    file->io.is_multi_label = strcmp(multi, "1") == 0;
    n = 0; /* one value, or classes */
    if (drove__safetensors_meta(st, "n_values") != NULL)
        DROVE_TRY(drove__parse_u64("n_values", drove__safetensors_meta(st, "n_values"), 1,
                                   UINT32_MAX, &n));
    file->io.n_values = (size_t)n;
    file->scaling = (drove_scaling)scaling;
    file->x_kind = (drove_x_kind)kind;
    file->index_base = strcmp(base, "0") == 0 ? 0 : strcmp(base, "1") == 0 ? 1 : -1;
    return DROVE_OK;
}

/* *custom: what the program gave, and a loss in place of one that it did not give. */
static drove_status settle_custom(const drove_safetensors *st, const char *loss,
                                  drove_custom *custom)
{
    const char *outputs = drove__safetensors_meta(st, "loss_outputs");
    char found[32];
    /* The program must give the layers again that it gave when the model was trained. */
    const char *name = drove__safetensors_meta(st, "custom_layers");
    while (name != NULL && *name != '\0') {
        const size_t n = strcspn(name, ",");
        bool is_there = false;
        for (unsigned i = 0; i < custom->n_layers; i++)
            is_there = is_there || (strlen(custom->layer_name[i]) == n &&
                                    strncmp(custom->layer_name[i], name, n) == 0);
        if (!is_there)
            return drove__fail(DROVE_E_UNSUPPORTED,
                               "expected the program's own layer %.*s (drove_options_add_layer), "
                               "which this model was trained with, found none",
                               n < 80 ? (int)n : 80, name);
        name += n + (name[n] == ',');
    }
    if (outputs == NULL) {
        custom->has_loss = false;
        return DROVE_OK;
    }
    if (!custom->has_loss || strcmp(custom->loss_name, loss) != 0)
        return drove__custom_absent_loss(loss, outputs, custom);
    drove__custom_outputs_print(&custom->loss, found);
    if (strcmp(found, outputs) == 0) return DROVE_OK;
    return drove__fail(DROVE_E_SHAPE,
                       "loss %s: expected outputs that mean \"%.40s\", as in this model, found the "
                       "program's own with \"%s\"",
                       loss, outputs, found);
}

/* The parameters that the described model would have must be in the file before memory is asked
 * for them. */
static drove_status build_model(const drove_safetensors *st, const drove_custom *custom,
                                drove_modelfile *file)
{
    const char *spec;
    DROVE_TRY(want_meta(st, "model", &spec));
    /* By its description in the file, or by its family; no other file is read. */
    const char *activation, *loss, *graph = drove__safetensors_meta(st, "graph");
    drove_custom own = custom != NULL ? *custom : (drove_custom){0};
    drove_model_io io = file->io;
    DROVE_TRY(want_meta(st, "activation", &activation));
    DROVE_TRY(want_meta(st, "loss", &loss));
    DROVE_TRY(settle_custom(st, loss, &own));
    io.custom = &own;
    if (graph == NULL && drove__graph_is_file(spec))
        return drove__fail(DROVE_E_DATA, "expected metadata \"graph\" of %s, found none", spec);
    if (graph != NULL) DROVE_TRY(drove__model_create_text(graph, spec, loss, &io, &file->model));
    else DROVE_TRY(drove__model_create(spec, activation, loss, &io, &file->model));
    /* A network whose products are not of floats says so. */
    const char *precision = drove__safetensors_meta(st, "precision");
    if (precision != NULL) {
        file->model->factors = drove__precision_factors(precision);
        if (file->model->factors == DROVEK_FACTORS_F32)
            return drove__fail(DROVE_E_DATA,
                               "metadata \"precision\": expected bf16, found \"%.40s\"", precision);
    }
    /* A chain's first layer shows its inputs. */
    const drove_tensor *first = drove__safetensors_find(st, "layer0.weight");
    if (file->model->is_chain && strcmp(file->model->layer[0].name, "layer0") == 0) {
        if (first == NULL || first->rank != 2 || first->shape[0] != file->io.n_features) {
            return drove__fail(DROVE_E_DATA,
                               "expected tensor layer0.weight with %zu rows, found %s",
                               file->io.n_features, first == NULL ? "none" : "another shape");
        }
    }
    size_t n = file->model->n_weights;
    for (size_t i = 0; i < file->model->n_layers; i++) n += file->model->layer[i].n_statistics;
    if (n > st->size_bytes / sizeof(float)) {
        return drove__fail(DROVE_E_DATA,
                           "expected %zu parameters for %s, found a file of %zu bytes", n, spec,
                           st->size_bytes);
    }
    return DROVE_OK;
}

/* n numbers of a layer's tensor are to be read into theta; n may be 0: no tensor. */
static drove_status place_part(const drove_safetensors *st, const drove_layer *l, const char *what,
                               size_t n, float *into)
{
    char name[DROVE_TENSOR_NAME_SIZE];
    if (n == 0) return DROVE_OK;
    name_tensor(name, l, what);
    DROVE_TRY(drove__safetensors_want(st, name, DROVE_T_F32, n, NULL));
    drove_tensor *t = (drove_tensor *)(uintptr_t)drove__safetensors_find(st, name);
    t->bytes = into;
    return DROVE_OK;
}

/* Classes, labels or values. */
static size_t n_names(const drove_modelfile *file)
{
    if (file->io.n_classes > 0) return file->io.n_classes;
    return file->io.n_values > 0 ? file->io.n_values : 1;
}

/* Without such a tensor: NULL. */
static drove_status read_doubles(const drove_safetensors *st, const char *name, size_t n,
                                 double **out)
{
    const void *bytes;
    if (drove__safetensors_find(st, name) == NULL) return DROVE_OK;
    DROVE_TRY(drove__safetensors_want(st, name, DROVE_T_F64, n, &bytes));
    *out = drove__alloc(n, sizeof **out);
    if (*out == NULL) return drove__fail_nomem(name, n * sizeof **out);
    memcpy(*out, bytes, n * sizeof **out);
    return DROVE_OK;
}

typedef struct model_loading {
    const drove_custom *custom; /* the program's own loss and layers; NULL: none */
    drove_modelfile file;
    bool has_path; /* an error names the file already */
} model_loading;

/* Before the tensors are read: the model is built of the metadata, and has a place for each. */
static drove_status place(void *context, drove_safetensors *st)
{
    model_loading *l = context;
    l->has_path = false;
    const char *format = drove__safetensors_meta(st, "format");
    if (format == NULL || strcmp(format, MODEL_FORMAT) != 0)
        return drove__fail(DROVE_E_DATA,
                           "expected metadata format \"" MODEL_FORMAT "\", found %s%s%s",
                           format ? "\"" : "", format ? format : "none", format ? "\"" : "");
    if (!st->is_checked)
        return drove__fail(DROVE_E_DATA, "format %s: expected its checksums, found none", format);
    DROVE_TRY(read_io(st, &l->file));
    /* The features that the schema gives must be those of the model. */
    const char *text = drove__safetensors_meta(st, "table");
    if (text != NULL) {
        DROVE_TRY(drove__schema_from_json(text, &l->file.schema));
        if (l->file.schema->n_features != l->file.n_inputs ||
            l->file.schema->is_sparse != (l->file.x_kind == DROVE_X_CSR))
            return drove__fail(DROVE_E_DATA,
                               "table: expected columns that give %zu %s features, found %zu",
                               l->file.n_inputs, l->file.x_kind == DROVE_X_CSR ? "sparse" : "dense",
                               l->file.schema->n_features);
    }
    DROVE_TRY(build_model(st, l->custom, &l->file));
    /* A place in theta for each tensor of a layer. */
    const drove_model *model = l->file.model;
    l->file.theta = drove__alloc(model->n_params, sizeof *l->file.theta);
    if (l->file.theta == NULL)
        return drove__fail_nomem("the model's parameters", model->n_params * sizeof(float));
    for (size_t i = 0; i < model->n_layers; i++) {
        const drove_layer *layer = &model->layer[i];
        float *statistics = l->file.theta + layer->s_offset;
        DROVE_TRY(place_part(st, layer, "weight", layer->n_w, l->file.theta + layer->w_offset));
        DROVE_TRY(place_part(st, layer, "bias", layer->n_b, l->file.theta + layer->b_offset));
        DROVE_TRY(place_part(st, layer, "mean", layer->n_statistics / 2, statistics));
        DROVE_TRY(place_part(st, layer, "variance", layer->n_statistics / 2,
                             statistics + layer->n_statistics / 2));
    }
    l->has_path = true;
    return DROVE_OK;
}

static drove_status read_others(const drove_safetensors *st, drove_modelfile *file)
{
    /* Shift and factor with every scaling, and neither without. */
    static const char *const names[] = {"input.shift", "input.factor"};
    float **const into[] = {&file->shift, &file->factor};
    for (size_t i = 0; i < DROVE_COUNT(names); i++) {
        bool is_there = drove__safetensors_find(st, names[i]) != NULL;
        if (is_there != (file->scaling != DROVE_SCALE_NONE))
            return drove__fail(DROVE_E_DATA, "scale=%s: expected %s tensor \"%s\", found %s",
                               drove__scaling_name(file->scaling), is_there ? "no" : "a", names[i],
                               is_there ? "one" : "none");
        if (is_there) {
            float *values = drove__alloc(file->n_inputs, sizeof *values);
            if (values == NULL)
                return drove__fail_nomem("the model's scaling", file->n_inputs * sizeof *values);
            *into[i] = values;
            const void *bytes;
            DROVE_TRY(drove__safetensors_want(st, names[i], DROVE_T_F32, file->n_inputs, &bytes));
            memcpy(values, bytes, file->n_inputs * sizeof *values);
        }
    }
    /* Numbers that are centred before they become floats have origins. */
    const size_t n = n_names(file);
    DROVE_TRY(read_doubles(st, INPUT_ORIGIN, file->n_inputs, &file->x_origin));
    DROVE_TRY(read_doubles(st, TARGET_MEAN, n, &file->target_mean));
    if (file->io.n_classes == 0) {
        DROVE_TRY(read_doubles(st, TARGET_ORIGIN, n, &file->y_origin));
        for (size_t k = 0; file->target_mean != NULL && file->y_origin != NULL && k < n; k++)
            file->target_mean[k] -= file->y_origin[k];
    }
    const char *text;
    DROVE_TRY(want_meta(st, "class_names", &text));
    json_t *list;
    json_error_t error;
    drove_status status = drove__json_parse(text, strlen(text), 0, &error, &list);
    size_t n_listed = json_array_size(list);
    if (status == DROVE_E_NOMEM) return status;
    if (!json_is_array(list)) {
        status = drove__fail(DROVE_E_DATA, "class_names: expected an array, found \"%.40s\"", text);
    } else if (n_listed != 0 && n_listed != n_names(file)) {
        status = drove__fail(DROVE_E_DATA, "expected %zu class names, found %zu", n_names(file),
                             n_listed);
    } else if (n_listed != 0) {
        file->class_name = calloc(n_listed, sizeof *file->class_name);
        if (file->class_name == NULL)
            status = drove__fail_nomem("class names", n_listed * sizeof(char *));
        for (size_t i = 0; i < n_listed && status == DROVE_OK; i++) {
            const char *name = json_string_value(json_array_get(list, i));
            file->class_name[i] = name != NULL ? strdup(name) : NULL;
            if (name == NULL)
                status = drove__fail(DROVE_E_DATA, "class name %zu: expected a text", i);
            else if (file->class_name[i] == NULL)
                status = drove__fail_nomem("class names", n_listed * sizeof(char *));
        }
    }
    json_decref(list);
    return status;
}

drove_status drove__modelfile_load_tensors(const char *path, const drove_custom *custom,
                                           drove_modelfile *out, drove_safetensors *tensors)
{
    char found[PATH_MAX];
    drove_safetensors st = {0};
    model_loading l = {.custom = custom, .has_path = true};
    DROVE_TRY(drove_model_find(path, found, sizeof found));
    drove_status status = drove__safetensors_load_into(found, place, &l, &st);
    if (status == DROVE_OK) {
        l.has_path = false;
        status = read_others(&st, &l.file);
    }
    if (status != DROVE_OK) {
        drove__safetensors_fini(&st);
        drove__modelfile_fini(&l.file);
        return l.has_path ? status : drove__fail_in(status, "%s", found);
    }
    *out = l.file;
    *tensors = st;
    return DROVE_OK;
}

drove_status drove__modelfile_load(const char *path, drove_modelfile *out)
{
    return drove__modelfile_load_with(path, NULL, out);
}

drove_status drove__modelfile_load_with(const char *path, const drove_custom *custom,
                                        drove_modelfile *out)
{
    drove_safetensors st;
    DROVE_TRY(drove__modelfile_load_tensors(path, custom, out, &st));
    drove__safetensors_fini(&st);
    return DROVE_OK;
}

drove_status drove__modelfile_write_tensors(const char *path, const drove_safetensors *tensors)
{
    const drove_safetensors *st = tensors;
    const char **meta = calloc(2 * st->n_meta + 1, sizeof *meta);
    if (meta == NULL) return drove__fail_nomem("a model file", st->n_meta * sizeof *meta);
    for (size_t i = 0; i < st->n_meta; i++) {
        const bool is_format = strcmp(st->meta_key[i], "format") == 0;
        meta[2 * i] = st->meta_key[i];
        meta[2 * i + 1] = is_format ? MODEL_FORMAT : st->meta_value[i];
    }
    drove_status status = drove__safetensors_write(path, st->tensor, st->n_tensors, meta);
    free(meta);
    return status;
}

drove_status drove__modelfile_features(const char *path, drove_features_options *out)
{
    char found[PATH_MAX];
    drove_safetensors st;
    DROVE_TRY(drove_model_find(path, found, sizeof found));
    DROVE_TRY(drove__safetensors_load(found, &st));
    drove_status status = read_features(&st, out);
    drove__safetensors_fini(&st);
    return status == DROVE_OK ? DROVE_OK : drove__fail_in(status, "%s", found);
}

void drove__modelfile_fini(drove_modelfile *file)
{
    drove__texts_free(file->class_name, n_names(file));
    drove__free(file->shift);
    drove__free(file->factor);
    drove__free(file->target_mean);
    drove__free(file->x_origin);
    drove__free(file->y_origin);
    drove__free(file->theta);
    drove__model_destroy(file->model);
    drove__schema_release(file->schema);
    *file = (drove_modelfile){0};
}

double drove__score_accuracy(const drove_data *data, const drove_score *score)
{
    switch (data->storage->y_kind) {
    case DROVE_Y_VALUE: return NAN;
    case DROVE_Y_CLASS: {
        const double weight = score->weight + data->storage->unseen.weight;
        return weight > 0.0 ? score->n_correct / weight : 0.0;
    }
    case DROVE_Y_LABELS: break;
    }
    double twice_hits = 2.0 * score->true_positive;
    double sum = twice_hits + score->false_positive + score->false_negative;
    return sum > 0.0 ? twice_hits / sum : 1.0; /* micro-F1 */
}

drove_model_io drove__data_io(const drove_data *data)
{
    const drove_storage *s = data->storage;
    size_t image[3];
    drove__data_image(data, image);
    return (drove_model_io){.n_features = drove__data_n_inputs(data),
                            .n_classes = s->n_classes,
                            .n_values = s->n_values,
                            .is_multi_label = s->y_kind == DROVE_Y_LABELS,
                            .image = {.c = image[0], .h = image[1], .w = image[2]}};
}

drove_status drove__modelfile_check(const drove_modelfile_wanted *wanted, const drove_model *model)
{
    static const char text[] = "%s: --%s: expected %s, as in this model file, found %s";
    if (wanted->loss != NULL && strcmp(wanted->loss, model->loss->name) != 0)
        return drove__fail(DROVE_E_ARG, text, wanted->model, "loss", model->loss->name,
                           wanted->loss);
    if (wanted->activation != NULL && strcmp(wanted->activation, model->activation) != 0)
        return drove__fail(DROVE_E_ARG, text, wanted->model, "activation", model->activation,
                           wanted->activation);
    if (wanted->init == NULL) return DROVE_OK;
    return drove__fail(DROVE_E_ARG,
                       "%s: --init: expected auto, since the parameters are in this "
                       "model file, found %s",
                       wanted->model, wanted->init);
}
