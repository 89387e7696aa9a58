/* config/custom.c - see <drove/custom.h>: a program's own loss and layers in its options. */
#include <drove/custom.h>

#include "base/alive.h"
#include "base/given.h"
#include "config/options.h"
#include "model/layer.h"
#include "model/loss.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* ---- names ---- */

/* Names stand in descriptions of networks, in metadata and, with commas, in lists. */
static drove_status check_name(const char *what, const char *name)
{
    size_t n = 0;
    while (name != NULL && n < DROVE_CUSTOM_NAME_SIZE &&
           (isalnum((unsigned char)name[n]) || name[n] == '_'))
        n++;
    if (n > 0 && n < DROVE_CUSTOM_NAME_SIZE && name[n] == '\0') return DROVE_OK;
    return drove__fail(DROVE_E_ARG,
                       "%s: expected a name of 1 to %d letters, digits and _, found \"%.80s\"",
                       what, DROVE_CUSTOM_NAME_SIZE - 1, name != NULL ? name : "");
}

static drove_status fail_taken(const char *what, const char *name, const char *whose)
{
    return drove__fail(DROVE_E_ARG, "%s %s: expected a new name, found that of %s", what, name,
                       whose);
}

static drove_status fail_lacking(const char *what, const char *name, const char *function)
{
    return drove__fail(DROVE_E_ARG, "%s %s: expected a function %s, found none", what, name,
                       function);
}

/* ---- loss ---- */

drove_status drove_options_set_loss(drove_options *options, const drove_custom_loss *loss)
{
    DROVE_ALIVE(options, "options");
    DROVE_GIVEN(options);
    drove_custom *custom = &options->custom;
    if (loss != NULL) {
        DROVE_TRY(check_name("loss", loss->name));
        for (size_t i = 0; drove__losses[i] != NULL; i++)
            if (strcmp(drove__losses[i]->name, loss->name) == 0)
                return fail_taken("loss", loss->name, "a loss of drove");
        if (strcmp(loss->name, "auto") == 0)
            return fail_taken("loss", "auto", "one that drove chooses");
        if (loss->eval == NULL) return fail_lacking("loss", loss->name, "eval");
        const bool is_known =
            loss->outputs >= DROVE_OUTPUTS_PLAIN && loss->outputs <= DROVE_OUTPUTS_SOFTMAX;
        if (!is_known || (loss->has_one_output && loss->outputs == DROVE_OUTPUTS_SOFTMAX))
            return drove__fail(DROVE_E_ARG,
                               "loss %s: expected outputs of drove_outputs, and no softmax of one "
                               "output, found %d%s",
                               loss->name, (int)loss->outputs,
                               loss->has_one_output ? " with one output" : "");
    }
    if (custom->has_loss && strcmp(options->loss, custom->loss_name) == 0)
        memset(options->loss, 0, sizeof options->loss);
    custom->has_loss = loss != NULL;
    if (loss == NULL) return DROVE_OK;
    custom->loss = *loss;
    custom->loss.name = NULL;
    snprintf(custom->loss_name, sizeof custom->loss_name, "%s", loss->name);
    return drove_options_set(options, "loss", loss->name);
}

/* ---- layers ---- */

drove_status drove_options_add_layer(drove_options *options, const drove_custom_layer *layer)
{
    DROVE_ALIVE(options, "options");
    DROVE_GIVEN(options);
    DROVE_GIVEN(layer);
    drove_custom *custom = &options->custom;
    DROVE_TRY(check_name("layer", layer->name));
    for (size_t i = 0; drove__layer_kinds[i] != NULL; i++)
        if (strcmp(drove__layer_kinds[i]->name, layer->name) == 0)
            return fail_taken("layer", layer->name, "a type of drove");
    if (layer->shape == NULL) return fail_lacking("layer", layer->name, "shape");
    if (layer->forward == NULL) return fail_lacking("layer", layer->name, "forward");
    if (layer->backward == NULL) return fail_lacking("layer", layer->name, "backward");
    for (unsigned i = 0; i < custom->n_layers; i++)
        if (strcmp(custom->layer_name[i], layer->name) == 0)
            return fail_taken("layer", layer->name, "another layer of these options");
    if (custom->n_layers == DROVE_CUSTOM_LAYERS)
        return drove__fail(DROVE_E_ARG, "layer %s: expected at most %d layers, found more",
                           layer->name, DROVE_CUSTOM_LAYERS);
    const unsigned i = custom->n_layers++;
    custom->layer[i] = *layer;
    custom->layer[i].name = NULL;
    snprintf(custom->layer_name[i], sizeof custom->layer_name[i], "%s", layer->name);
    return DROVE_OK;
}
