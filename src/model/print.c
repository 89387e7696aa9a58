/* model/print.c - prints a model for people. */
#include "model/model.h"

#include "model/graph_keys.h"
#include "model/layer.h"
#include "model/loss.h"

#include <string.h>

uint64_t drove__layer_multiply_adds(const drove_layer *layer)
{
    return layer->ops->multiply_adds != NULL ? layer->ops->multiply_adds(layer) : 0;
}

/* "96 x 55 x 55", or of a vector "4096". */
static const char *shape_text(drove_shape s, char into[72])
{
    if (s.h == 1 && s.w == 1) snprintf(into, 72, "%zu", s.c);
    else snprintf(into, 72, "%zu x %zu x %zu", s.c, s.h, s.w);
    return into;
}

drove_status drove__model_print(const drove_model *model, FILE *stream)
{
    uint64_t products = 0; /* multiply-adds of one example's forward pass */
    size_t n_outputs = 0;
    size_t widest = 5;
    char shape[72];
    for (size_t l = 0; l < model->n_layers; l++) {
        size_t n = strlen(model->layer[l].name);
        if (n > widest) widest = n;
    }
    const int width = (int)widest;
    fprintf(stream, "%-3s %-*s  %-12s %-16s  %-10s %12s %14s\n", "", width, "layer", "type",
            "output", "activation", "parameters", "multiply-adds");
    fprintf(stream, "%-3s %-*s  %-12s %-16s\n", "", width, "", "input",
            shape_text(model->input, shape));
    for (size_t l = 0; l < model->n_layers; l++) {
        const drove_layer *layer = &model->layer[l];
        uint64_t own = drove__layer_multiply_adds(layer);
        fprintf(stream, "%-3zu %-*s  %-12s %-16s  %-10s %12zu %14llu\n", l + 1, width, layer->name,
                layer->ops->name, shape_text(layer->out, shape), drove__graph_act_name(layer->act),
                layer->n_params, (unsigned long long)own);
        products += own;
        n_outputs += layer->n_out;
    }
    for (unsigned h = 0; h < model->n_heads && model->n_heads > 1; h++) {
        fprintf(stream, "head %s, weight %g%s\n", model->layer[model->head[h].layer].name,
                (double)model->head[h].weight,
                h + 1 == model->n_heads ? ", the main one" : ", in training only");
    }
    fprintf(stream,
            "%s with %s loss: %zu parameters, %llu multiply-adds forward, %zu layer outputs "
            "per example\n",
            model->spec, model->loss->name, model->n_weights, (unsigned long long)products,
            n_outputs);
    return ferror(stream) != 0 ? drove__fail(DROVE_E_IO, "cannot write the description of a model")
                               : DROVE_OK;
}
