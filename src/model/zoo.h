/* model/zoo.h - the convolutional networks of the zoo, and the functions that build them.
 *
 * A net is a graph being described.  It keeps the first failure, which drove__zoo_finish returns,
 * so that a network reads as a list of its layers; after a failure the functions return a spare
 * node.  Names of layers are Caffe's, of ResNet and MobileNet torchvision's.
 */
#ifndef DROVE_MODEL_ZOO_H
#define DROVE_MODEL_ZOO_H

#include "model/graph.h"

extern const drove_model_ops drove__zoo_lenet, drove__zoo_cifar_quick, drove__zoo_alexnet,
    drove__zoo_alexnet_cifar, drove__zoo_googlenet, drove__zoo_vgg16, drove__zoo_vgg19,
    drove__zoo_resnet18, drove__zoo_resnet34, drove__zoo_resnet50, drove__zoo_mobilenetv3;

typedef struct drove_zoo_options {
    float    dropout; /* < 0: the network's own */
    uint64_t units;   /* of its dense layers */
    unsigned size;    /* of the networks of one name, in the order of their words */
    bool     has_auxiliary;
} drove_zoo_options;
#define DROVE_ZOO_DROPOUT                                                                          \
    {                                                                                              \
        "dropout", NULL, DROVE_AS_FLOAT(drove_zoo_options, dropout, 0.0, 0.99),                    \
            .help = "ratio of all dropout layers; without it the network's own"                    \
    }
extern const drove_spec_key drove__zoo_units_keys[]; /* dropout, units */

typedef struct drove_net {
    drove_graph  graph;
    drovek_act   act;     /* of hidden layers */
    float        dropout; /* as in drove_zoo_options */
    drove_status status;
    char         error[DROVE_ERROR_TEXT_SIZE];
    drove_node   spare;
} drove_net;

/* Begins a network for images of at least least_side; fails if they are smaller.  options NULL:
 * it has none. */
void drove__zoo_begin(drove_net *net, const char *name, const drove_model_io *io, drovek_act act,
                      size_t least_side, const drove_zoo_options *options);
/* Builds the model and releases net.  Errors: the first failure. */
drove_status drove__zoo_finish(drove_net *net, const drove_model_io *io, drove_model *model);

/* The name of a module's part, "MODULE.PART" with this character between them: `into`. */
const char *drove__zoo_part(char into[DROVE_LAYER_NAME_SIZE], const char *module, char between,
                            const char *part);

/* ---- layers; bottom NULL: the previous layer; nodes are valid until the next one is added ---- */

drove_node *drove__zoo_add(drove_net *net, const drove_layer_ops *ops, const char *name,
                           const char *bottom);
/* square window, with the hidden layers' activation */
drove_node *drove__zoo_convolution(drove_net *net, const char *name, const char *bottom,
                                   size_t n_out, size_t side, size_t stride, size_t pad);
/* A square convolution without biases, padded by half its side, and batch normalisation with this
 * activation. */
typedef struct drove_zoo_normalised {
    size_t     n_out, side, stride, groups; /* groups 0 counts as 1 */
    float      epsilon;
    drovek_act act;
} drove_zoo_normalised;
void drove__zoo_normalised(drove_net *net, const char *convolution, const char *norm,
                           const char *bottom, const drove_zoo_normalised *what);
/* a layer that reads two blobs: a sum or a product */
drove_node *drove__zoo_join(drove_net *net, const drove_layer_ops *ops, const char *name,
                            const char *one, const char *other);
/* as Caffe: a last window may extend beyond the edge */
drove_node *drove__zoo_pool(drove_net *net, const drove_layer_ops *ops, const char *name,
                            const char *bottom, size_t side, size_t stride);
/* with the hidden layers' activation; n_out 0: the output layer, without activation */
drove_node *drove__zoo_dense(drove_net *net, const char *name, const char *bottom, size_t n_out);
void        drove__zoo_lrn(drove_net *net, const char *name, size_t size, float alpha, float beta);
/* adds nothing for a ratio of 0 */
void drove__zoo_dropout(drove_net *net, const char *name, float ratio);
/* a stand-alone activation */
void drove__zoo_activation(drove_net *net, const char *name);
void drove__zoo_head(drove_net *net, const char *bottom, float weight);

/* ---- initial values ---- */

static inline void drove__zoo_fill(drove_node *node, drove_filler weights, float bias)
{
    node->opt.w_filler = weights;
    node->opt.b_filler = (drove_filler){"constant", bias};
}

#endif
