/* about/describe.c - `drove model`: a network's layers, sizes and memory, without training it. */
#include "base/alive.h"
#include "base/given.h"
#include "base/json.h"
#include "base/locale.h"
#include "base/mem.h"
#include "about/info.h"
#include "config/resolve.h"
#include "model/freeze.h"
#include "model/graph_keys.h"
#include "model/layer.h"
#include "model/loss.h"
#include "problem/problem.h"

#include <stdlib.h>
#include <string.h>

typedef struct description {
    drove_model *model;
    bool *is_frozen; /* [model->n_layers] */
    size_t batch, forward_bytes, training_bytes;
} description;

drove_status drove_input_shape_set(drove_input_shape *out, const char *input, const char *classes)
{
    DROVE_GIVEN(out);
    DROVE_IN_C_LOCALE;
    enum { MOST_SIDE = 1 << 24 };
    uint64_t side[3] = {0, 1, 1}, n_classes = 0;
    char part[32];
    const char *next = input;
    DROVE_TRY(drove__parse_u64("--classes", classes, 0, MOST_SIDE, &n_classes));
    for (int i = 0; i < 3; i++) {
        size_t n = strcspn(next, "x");
        if (n >= sizeof part) break;
        snprintf(part, sizeof part, "%.*s", (int)n, next);
        DROVE_TRY(drove__parse_u64("--input", part, 1, MOST_SIDE, &side[i]));
        next += n;
        if (*next == '\0' && i != 1) {
            *out = (drove_input_shape){side[0], side[1], side[2], n_classes};
            return DROVE_OK;
        }
        if (*next != 'x') break;
        next++;
    }
    return drove__fail(DROVE_E_ARG, "--input: expected CxHxW or N, found \"%.80s\"", input);
}

static drove_status make_model(const drove_config *config, const drove_input_shape *shape,
                               drove_model **out)
{
    const drove_config_problem *p = &config->problem;
    const char *model = drove__config_model(config);
    drove_model_io io;
    if (drove__names_model_file(model)) {
        drove_modelfile file;
        if (p->tuning->makes_heads)
            return drove__fail(DROVE_E_ARG,
                               "--model %s?head=new: expected head=new with drove "
                               "train, whose data have the classes",
                               model);
        DROVE_TRY(drove__modelfile_load_with(model, p->custom, &file));
        *out = file.model;
        file.model = NULL;
        drove__modelfile_fini(&file);
        return DROVE_OK;
    }
    if (shape != NULL) {
        const uint64_t most = UINT32_MAX - 1, place = shape->height * shape->width;
        bool is_image = shape->height > 1 || shape->width > 1;
        if (shape->channels > most / place)
            return drove__fail(DROVE_E_ARG, "--input: expected fewer than 2^32 numbers");
        io =
            (drove_model_io){.n_features = (size_t)(shape->channels * shape->height * shape->width),
                             .n_classes = (size_t)shape->n_classes};
        if (is_image) {
            io.image =
                (drove_shape){(size_t)shape->channels, (size_t)shape->height, (size_t)shape->width};
        }
    } else {
        drove_data *train = NULL, *test = NULL;
        char data[DROVE_SPEC_WITH_LABEL_SIZE];
        DROVE_TRY(drove__data_set_columns(p->data, p->label, p->weights, data, sizeof data));
        DROVE_TRY(drove_data_open(data, NULL, config->seed, &train, &test));
        io = drove__data_io(train);
        drove_data_destroy(train);
        drove_data_destroy(test);
    }
    io.custom = p->custom;
    io.makes_heads = p->tuning->makes_heads;
    return drove__model_create(model, p->activation, p->loss, &io, out);
}

/* ---- for people ---- */

static drove_status print_text(const description *d, FILE *stream)
{
    char parameters[32], forward[32], training[32];
    const drove_model *m = d->model;
    size_t n_frozen = 0;
    DROVE_TRY(drove__model_print(m, stream));
    for (size_t l = 0; l < m->n_layers; l++) {
        if (!d->is_frozen[l]) continue;
        fprintf(stream, "%s%s", n_frozen == 0 ? "frozen: " : ", ", m->layer[l].name);
        n_frozen += m->layer[l].n_params;
    }
    if (n_frozen > 0) fprintf(stream, ": %zu of %zu parameters\n", n_frozen, m->n_weights);
    fprintf(stream,
            "memory: parameters %s; a batch of %zu: %s of outputs forward, %s with derivatives in "
            "training\n",
            drove__info_bytes(d->model->n_params * sizeof(float), parameters), d->batch,
            drove__info_bytes(d->forward_bytes, forward),
            drove__info_bytes(d->training_bytes, training));
    for (const char *line = d->model->notes; line != NULL && *line != '\0';) {
        int n = (int)strcspn(line, "\n");
        fprintf(stream, "note: %.*s\n", n, line);
        line += n + (line[n] == '\n');
    }
    return ferror(stream) != 0 ? drove__fail(DROVE_E_IO, "cannot write the description of a model")
                               : DROVE_OK;
}

/* ---- for programs ---- */

static json_t *shape_json(drove_shape s)
{
    return json_pack("[I, I, I]", (json_int_t)s.c, (json_int_t)s.h, (json_int_t)s.w);
}

static drove_status print_json(const description *d, FILE *stream)
{
    const drove_model *m = d->model;
    json_t *layers = json_array(), *heads = json_array();
    uint64_t products = 0;
    for (size_t l = 0; l < m->n_layers; l++) {
        const drove_layer *layer = &m->layer[l];
        json_t *inputs = json_array();
        for (unsigned b = 0; b < layer->n_bottoms; b++) {
            uint32_t blob = layer->bottom[b];
            drove__json_add(&inputs, json_string(blob == 0 ? "input" : m->layer[blob - 1].name));
        }
        drove__json_add(&layers,
                        json_pack("{s:s, s:s, s:o, s:o, s:s, s:I, s:I, s:b, s:b}", "name",
                                  layer->name, "type", layer->ops->name, "inputs", inputs, "output",
                                  shape_json(layer->out), "activation",
                                  drove__graph_act_name(layer->act), "parameters",
                                  (json_int_t)layer->n_params, "multiply_adds",
                                  (json_int_t)drove__layer_multiply_adds(layer), "trains_only",
                                  layer->training.is_only, "frozen", d->is_frozen[l]));
        products += drove__layer_multiply_adds(&m->layer[l]);
    }
    for (unsigned h = 0; h < m->n_heads; h++) {
        drove__json_add(&heads, json_pack("{s:s, s:f}", "layer", m->layer[m->head[h].layer].name,
                                          "weight", (double)m->head[h].weight));
    }
    json_t *object =
        json_pack("{s:s, s:s, s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:s?}", "model", m->spec,
                  "loss", m->loss->name, "input", shape_json(m->input), "layers", layers, "heads",
                  heads, "parameters", (json_int_t)m->n_weights, "multiply_adds",
                  (json_int_t)products, "batch", (json_int_t)d->batch, "parameter_bytes",
                  (json_int_t)(m->n_params * sizeof(float)), "forward_bytes",
                  (json_int_t)d->forward_bytes, "training_bytes", (json_int_t)d->training_bytes,
                  "notes", m->notes);

    return drove__about_print_json(object, "model", stream);
}

drove_status drove_describe(const drove_options *options, const drove_input_shape *shape,
                            int as_json, FILE *stream)
{
    DROVE_ALIVE(options, "options");
    DROVE_GIVEN(options);
    DROVE_GIVEN(stream);
    DROVE_IN_C_LOCALE;
    drove_config config;
    description d = {0};
    DROVE_TRY(drove__config_init(options, &config));
    drove_status status = make_model(&config, shape, &d.model);
    if (status != DROVE_OK) goto fail;
    d.is_frozen = calloc(d.model->n_layers, sizeof *d.is_frozen);
    status = d.is_frozen != NULL
                 ? drove__freeze_choose(d.model, config.problem.tuning->freeze, d.is_frozen)
                 : drove__fail_nomem("layers", d.model->n_layers);
    if (status != DROVE_OK) goto fail;
    d.batch = (size_t)drove__resolve_batch(&config);
    drove_pass_options pass = {.model = d.model, .max_rows = d.batch};
    if ((status = drove__pass_bytes(&pass, &d.forward_bytes)) != DROVE_OK) goto fail;
    pass.trains = true;
    if ((status = drove__pass_bytes(&pass, &d.training_bytes)) != DROVE_OK) goto fail;
    status = as_json ? print_json(&d, stream) : print_text(&d, stream);

fail:
    free(d.is_frozen);
    drove__model_destroy(d.model);
    drove__config_fini(&config);
    return status;
}
