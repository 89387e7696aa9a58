/* model/prototxt.h - declarations shared by the files of the Caffe importer. */
#ifndef DROVE_MODEL_PROTOTXT_H
#define DROVE_MODEL_PROTOTXT_H

#include "model/graph_keys.h"
#include "model/prototext.h"

/* A blob of the file, and its name in the graph: layers that work in place give several blobs one
 * name. */
typedef struct drove_caffe_blob {
    char     name[DROVE_LAYER_NAME_SIZE];  /* in the file */
    char     graph[DROVE_LAYER_NAME_SIZE]; /* in the graph; "": labels, which no layer reads */
    uint32_t node;                         /* the node that writes it; UINT32_MAX: none */
    int      open_line;                    /* of a BatchNorm without its Scale yet; else 0 */
} drove_caffe_blob;

/* Notes that are given once, however often they apply. */
enum { DROVE_NOTE_DATA = 1, DROVE_NOTE_DECAY = 2, DROVE_NOTE_LR = 4, DROVE_NOTE_AVERAGE = 8 };

typedef struct drove_caffe {
    drove_prototext   tree;
    drove_graph       graph;
    drove_caffe_blob *blob; /* [n_blobs] */
    size_t            n_blobs, room;
    unsigned          notes; /* of DROVE_NOTE_* */
    bool              has_data;
} drove_caffe;

/* One layer of the file. */
typedef struct drove_caffe_layer {
    drove_message *message;
    const char    *name, *type; /* as in the file */
    int            line;
    unsigned       n_bottoms, n_tops;
    const char    *bottom[DROVE_LAYER_MOST_BOTTOMS], *top[DROVE_LAYER_MOST_BOTTOMS];
} drove_caffe_layer;

/* A type of layers: both spellings, and how its own message becomes options. */
typedef struct drove_caffe_type {
    const char            *type, *old_type; /* "InnerProduct", "INNER_PRODUCT" */
    const drove_layer_ops *ops;             /* NULL: no layer of the graph */
    drovek_act             act;
    drove_status (*read)(drove_caffe *c, const drove_caffe_layer *l, drove_node *node);
} drove_caffe_type;

extern const drove_caffe_type drove__caffe_types[]; /* ends with type NULL */

/* Errors: DROVE_E_DATA with the position of the layer. */
drove_status drove__caffe_fail(const drove_caffe *c, const drove_caffe_layer *l, const char *format,
                               ...) __attribute__((format(printf, 3, 4)));

#endif
