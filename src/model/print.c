/* model/print.c - a model described for people. */
#include "model/model.h"

#include "model/layer.h"
#include "model/loss.h"

static const char *act_name(drovek_act act)
{
    for (size_t i = 0; drove__activations[i].name != NULL; i++) {
        if (drove__activations[i].act == act) return drove__activations[i].name;
    }
    return "linear";
}

drove_status drove__model_print(const drove_model *model, FILE *stream)
{
    size_t products = 0; /* multiply-adds of one example's forward pass */
    fprintf(stream, "%-3s %-6s %8s %8s  %-10s %12s %14s\n", "", "layer", "inputs", "outputs",
            "activation", "parameters", "multiply-adds");
    for (size_t l = 0; l < model->n_layers; l++) {
        const drove_layer *layer = &model->layer[l];
        fprintf(stream, "%-3zu %-6s %8zu %8zu  %-10s %12zu %14zu\n", l + 1, layer->ops->name,
                layer->n_in, layer->n_out, act_name(layer->act), layer->n_params,
                layer->n_in * layer->n_out);
        products += layer->n_in * layer->n_out;
    }
    fprintf(stream, "%s with %s loss: %zu parameters, %zu multiply-adds forward\n", model->spec,
            model->loss->name, model->n_weights, products);
    return ferror(stream) != 0 ? drove__fail(DROVE_E_IO, "cannot write the description of a model")
                               : DROVE_OK;
}
