/* model/onnx_file.h - declarations shared by the files that read ONNX. */
#ifndef DROVE_MODEL_ONNX_FILE_H
#define DROVE_MODEL_ONNX_FILE_H

#include "model/graph_keys.h"
#include "model/onnx.pb-c.h"

#define DROVE_ONNX_NO_NODE UINT32_MAX /* of a value that no node of the graph writes */

enum { DROVE_ONNX_MOST_RANK = 8, DROVE_ONNX_MOST_SIZES = 16, DROVE_ONNX_MOST_CHANNELS = 1 << 24 };

/* ONNX's numbers of types of elements. */
enum {
    DROVE_ONNX_T_FLOAT = 1,
    DROVE_ONNX_T_INT32 = 6,
    DROVE_ONNX_T_INT64 = 7,
    DROVE_ONNX_T_FLOAT16 = 10,
    DROVE_ONNX_T_DOUBLE = 11,
    DROVE_ONNX_T_BFLOAT16 = 16
};

typedef enum drove_onnx_kind {
    DROVE_ONNX_NONE,     /* an input that is not given */
    DROVE_ONNX_BLOB,     /* of the network */
    DROVE_ONNX_CONSTANT, /* parameters, sizes */
    DROVE_ONNX_SIZES,    /* whole numbers, computed from the sizes of others */
    DROVE_ONNX_ASIDE,    /* labels, made of the blob that it names */
    DROVE_ONNX_PAIR,     /* 1 - p and p of two classes, where the network has one output */
    DROVE_ONNX_ABSENT    /* an output that drove does not make */
} drove_onnx_kind;

/* Zeros around an image. */
typedef struct drove_onnx_zeros {
    size_t above, left, below, right;
} drove_onnx_zeros;

/* Elements of SIZES that are no plain number. */
#define DROVE_ONNX_BATCH   INT64_MIN       /* examples of a batch */
#define DROVE_ONNX_UNKNOWN (INT64_MIN + 1) /* computed from it */

typedef struct drove_onnx_value {
    const char     *name; /* in the file */
    drove_onnx_kind kind;
    uint32_t        node;                         /* BLOB, PAIR: that writes it, or NO_NODE */
    char            graph[DROVE_LAYER_NAME_SIZE]; /* BLOB, PAIR, ASIDE: its name in the graph */
    int32_t         type; /* BLOB: of its elements as the file has them; drove's are floats */
    /* BLOB: dimensions with that of the batch, side[0], whose size is 0 unless the file fixes it;
     * rank 0: not known, as without data.  CONSTANT: as the tensor's, unless reshaped. */
    unsigned rank;
    size_t   side[DROVE_ONNX_MOST_RANK];
    /* BLOB of three or four dimensions: [N][l][c], [N][h][w][c] in the file, as TensorFlow has it;
     * the graph's blob has its channels first as any other. */
    bool             is_last;
    drove_onnx_zeros zeros; /* BLOB: that its sides count, and the graph's blob is without */
    const Drove__Onnx__Tensor *tensor;        /* CONSTANT */
    bool                       is_transposed; /* CONSTANT of two dimensions; rank, side: before */
    bool                       is_scalar;     /* SIZES: of no dimension */
    size_t                     n_sizes;       /* SIZES; 0: not known */
    size_t                     n_columns;     /* SIZES of two dimensions; 0: of one */
    int64_t                    size[DROVE_ONNX_MOST_SIZES];
} drove_onnx_value;

/* Notes that are given once, however often they apply. */
enum {
    DROVE_ONNX_NOTE_SIGMOID = 1,
    DROVE_ONNX_NOTE_SHARED = 2,
    DROVE_ONNX_NOTE_FOLDED = 4,
    DROVE_ONNX_NOTE_HALF = 8,
    DROVE_ONNX_NOTE_DOUBLE = 16
};

typedef struct drove_onnx_reader {
    const char                 *file;
    const drove_model_io       *io;   /* NULL: the file alone says what the input is */
    const char                 *loss; /* its name; NULL: not known, as io is */
    Drove__Onnx__Model         *model;
    int64_t                     version, ml_version; /* of the sets of operators; 0: none */
    drove_graph                 graph;
    drove_onnx_value           *value; /* [n_values] */
    size_t                      n_values, room;
    const Drove__Onnx__Tensor **taken; /* [n_taken] those that are parameters of a layer */
    size_t                      n_taken, taken_room;
    size_t                      n_folded;
    bool                       *is_done;  /* [n_node] of the file's: by the layer of another node */
    bool                        has_half; /* constants of 16 bits */
    unsigned                    notes;
} drove_onnx_reader;

/* One node of the file. */
typedef struct drove_onnx_node {
    const Drove__Onnx__Node *node;
    size_t                   n_inputs; /* with those at the end that are not given left out */
    drove_onnx_kind          others;   /* kind of its outputs behind the first */
    drove_onnx_value         input[DROVE_LAYER_MOST_BOTTOMS]; /* copies */
} drove_onnx_node;

/* What a reader takes as its inputs: others are turned, or refused, before it is called. */
enum {
    DROVE_ONNX_TAKES_LAST = 1,  /* values with their channels last */
    DROVE_ONNX_TAKES_PADDED = 2 /* with zeros around them */
};

/* An operator: "Conv", its domain ("" or "ai.onnx.ml"), the attributes that its reader knows, what
 * it takes, and how it becomes layers. */
typedef struct drove_onnx_op {
    const char *name, *domain, *attributes; /* "axis keepdims" */
    unsigned    takes;
    drove_status (*read)(drove_onnx_reader *r, const drove_onnx_node *n);
} drove_onnx_op;

extern const drove_onnx_op drove__onnx_ops[]; /* ends with name NULL */

/* ---- onnx_node.c ---- */

/* Errors: DROVE_E_DATA with the file, the node and its operator. */
drove_status drove__onnx_fail(const drove_onnx_reader *r, const drove_onnx_node *n,
                              const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The value of an attribute, unchanged where there is none.  Errors: DROVE_E_DATA. */
drove_status drove__onnx_int(const drove_onnx_reader *r, const drove_onnx_node *n, const char *name,
                             int64_t least, int64_t most, int64_t *out);
drove_status drove__onnx_real(const drove_onnx_reader *r, const drove_onnx_node *n,
                              const char *name, float *out);
drove_status drove__onnx_text(const drove_onnx_reader *r, const drove_onnx_node *n,
                              const char *name, char into[32]);
/* Exactly n_wanted whole numbers from least to most. */
drove_status drove__onnx_sizes(const drove_onnx_reader *r, const drove_onnx_node *n,
                               const char *name, size_t n_wanted, size_t least, size_t most,
                               size_t *out);
const Drove__Onnx__Attribute *drove__onnx_attribute(const drove_onnx_node *n, const char *name);

/* ---- onnx_tensor.c ---- */

/* "float16"; of a number that ONNX does not have: "type 99". */
const char *drove__onnx_type_name(int32_t type);
bool        drove__onnx_is_float(int32_t type); /* of 16, 32 or 64 bits */
/* Numbers in a constant, dims as in the file; SIZE_MAX: too many or none. */
size_t drove__onnx_count(const Drove__Onnx__Tensor *t);
/* A constant's numbers as floats, [n] in memory of malloc.  Errors: DROVE_E_DATA (its type, its
 * size), DROVE_E_NOMEM, those of files. */
drove_status drove__onnx_floats_of(const drove_onnx_reader *r, const drove_onnx_node *n,
                                   const Drove__Onnx__Tensor *t, float **out);
/* A constant of whole numbers, at most `most` of them, into out[most]. */
drove_status drove__onnx_ints_of(const drove_onnx_reader *r, const drove_onnx_node *n,
                                 const Drove__Onnx__Tensor *t, size_t most, int64_t *out,
                                 size_t *n_out);

/* ---- onnx_values.c ---- */

drove_onnx_value *drove__onnx_find(const drove_onnx_reader *r, const char *name); /* NULL: none */
/* One without a name is left out: nobody can read it. */
drove_status drove__onnx_add_value(drove_onnx_reader *r, const drove_onnx_node *n,
                                   const drove_onnx_value *value);
/* A constant's kind, tensor and sides. */
void drove__onnx_constant(const Drove__Onnx__Tensor *t, drove_onnx_value *value);

/* Adds a layer that reads `from`, whose output is *to, with the shape of `from`.  It is called as
 * its parameters, such as conv1.weight, are (NULL: by its kind). */
drove_status drove__onnx_layer(drove_onnx_reader *r, const drove_onnx_node *n,
                               const drove_layer_ops *ops, const char *parameters,
                               const drove_onnx_value *from, drove_onnx_value *to,
                               drove_node **out);
/* The same from the node's first input to its first output. */
drove_status drove__onnx_add(drove_onnx_reader *r, const drove_onnx_node *n,
                             const drove_layer_ops *ops, const char *parameters, drove_node **out);
/* The value of the node's first output, which it has already; NULL: it has none. */
drove_onnx_value *drove__onnx_result(const drove_onnx_reader *r, const drove_onnx_node *n);
/* Gives the node's first output the meaning of a value; the others differ in their kind. */
drove_status drove__onnx_alias(drove_onnx_reader *r, const drove_onnx_node *n,
                               const drove_onnx_value *value);
/* How many nodes and outputs of the file read a value. */
size_t drove__onnx_count_readers(const drove_onnx_reader *r, const char *name);
/* Only labels, and the network's outputs, are made of a value. */
bool drove__onnx_is_last(const drove_onnx_reader *r, const char *name);
/* Marks a constant as parameters of the node's layer, which are trained there.  Errors:
 * DROVE_E_DATA (a matrix or kernel that another layer has already). */
drove_status drove__onnx_claim(drove_onnx_reader *r, const drove_onnx_node *n,
                               const drove_onnx_value *value);

/* True if the node has this input. */
bool drove__onnx_is_given(const drove_onnx_node *n, size_t input);
/* An input that is a constant of n_wanted numbers along one side, [n_wanted] in memory of malloc;
 * the other sides are 1. */
drove_status drove__onnx_take_vector(drove_onnx_reader *r, const drove_onnx_node *n, size_t input,
                                     size_t n_wanted, float **out);
/* The same for a parameter, which it claims: a vector, which may have sides of 1 before it. */
drove_status drove__onnx_take_parameter(drove_onnx_reader *r, const drove_onnx_node *n,
                                        size_t input, size_t n_wanted, float **out);
/* Inputs of the node become those of the layer; all are parts of the network. */
drove_status drove__onnx_take_bottoms(drove_onnx_reader *r, const drove_onnx_node *n,
                                      drove_node *node);

/* ---- onnx_shape.c ---- */

/* "[N, 3, 8, 8]" */
const char *drove__onnx_shape_text(const drove_onnx_value *v, char into[128]);
/* Numbers of an example; 1 of a value of one dimension. */
size_t             drove__onnx_each(const drove_onnx_value *v);
static inline bool drove__onnx_has_no_zeros(const drove_onnx_value *v)
{
    const drove_onnx_zeros *z = &v->zeros;
    return z->above == 0 && z->left == 0 && z->below == 0 && z->right == 0;
}
/* The axis of its channels. */
static inline unsigned drove__onnx_channels(const drove_onnx_value *v)
{
    return v->is_last ? v->rank - 1 : 1;
}
/* Makes a value whose channels are last one whose second dimension is drove's channels, by layers.
 * Of any other it does nothing. */
drove_status drove__onnx_turn(drove_onnx_reader *r, const drove_onnx_node *n,
                              drove_onnx_value *value);
/* *to = from with these sides (side[0] is ignored), by a layer where drove's shape changes. */
drove_status drove__onnx_reshape(drove_onnx_reader *r, const drove_onnx_node *n,
                                 const drove_onnx_value *from, unsigned rank, const size_t *side,
                                 drove_onnx_value *to);
/* Axes of an attribute, or of a constant as the second input, from 0 on and in order; *n_axes 0:
 * none are given.  rank: that they count in; 0: not known, they are as in the file. */
drove_status drove__onnx_axes(drove_onnx_reader *r, const drove_onnx_node *n, unsigned rank,
                              int64_t axes[DROVE_ONNX_MOST_RANK], size_t *n_axes);
/* An axis of an attribute, from 0 on; rank as above. */
drove_status drove__onnx_axis(drove_onnx_reader *r, const drove_onnx_node *n, int64_t usual,
                              unsigned rank, int64_t *axis);
/* The node's inputs are SIZES and constants: computes its output, or marks it as not known. */
drove_status drove__onnx_compute_sizes(drove_onnx_reader *r, const drove_onnx_node *n);

drove_status drove__onnx_read_shape(drove_onnx_reader *r, const drove_onnx_node *n);
drove_status drove__onnx_read_filled(drove_onnx_reader *r, const drove_onnx_node *n);
drove_status drove__onnx_read_flatten(drove_onnx_reader *r, const drove_onnx_node *n);
drove_status drove__onnx_read_reshape(drove_onnx_reader *r, const drove_onnx_node *n);
drove_status drove__onnx_read_squeeze(drove_onnx_reader *r, const drove_onnx_node *n);
drove_status drove__onnx_read_unsqueeze(drove_onnx_reader *r, const drove_onnx_node *n);
drove_status drove__onnx_read_transpose(drove_onnx_reader *r, const drove_onnx_node *n);

/* ---- onnx_window.c ---- */

drove_status drove__onnx_read_conv(drove_onnx_reader *r, const drove_onnx_node *n);
drove_status drove__onnx_read_max_pool(drove_onnx_reader *r, const drove_onnx_node *n);
drove_status drove__onnx_read_average_pool(drove_onnx_reader *r, const drove_onnx_node *n);
drove_status drove__onnx_read_global_max(drove_onnx_reader *r, const drove_onnx_node *n);
drove_status drove__onnx_read_global_mean(drove_onnx_reader *r, const drove_onnx_node *n);
drove_status drove__onnx_read_mean(drove_onnx_reader *r, const drove_onnx_node *n);
drove_status drove__onnx_read_pad(drove_onnx_reader *r, const drove_onnx_node *n);

/* ---- onnx_norm.c ---- */

drove_status drove__onnx_read_batch_norm(drove_onnx_reader *r, const drove_onnx_node *n);
/* A ReduceMean that begins layer normalisation written as nine operators, along axes that are in
 * order: that layer, and *is_read, if it is one. */
drove_status drove__onnx_read_norm_chain(drove_onnx_reader *r, const drove_onnx_node *n,
                                         const int64_t *axes, size_t n_axes, bool *is_read);
drove_status drove__onnx_read_layer_norm(drove_onnx_reader *r, const drove_onnx_node *n);
drove_status drove__onnx_read_lrn(drove_onnx_reader *r, const drove_onnx_node *n);
drove_status drove__onnx_read_prelu(drove_onnx_reader *r, const drove_onnx_node *n);

/* ---- onnx_linear.c ---- */

drove_status drove__onnx_read_gemm(drove_onnx_reader *r, const drove_onnx_node *n);
drove_status drove__onnx_read_matmul(drove_onnx_reader *r, const drove_onnx_node *n);
drove_status drove__onnx_read_classifier(drove_onnx_reader *r, const drove_onnx_node *n);
drove_status drove__onnx_read_regressor(drove_onnx_reader *r, const drove_onnx_node *n);

/* ---- onnx_scale.c ---- */

/* x + c, x - c, x * c or x / c, by its sign, with a constant that is broadcast to x. */
drove_status drove__onnx_scale(drove_onnx_reader *r, const drove_onnx_node *n,
                               const drove_onnx_value *x, const drove_onnx_value *constant,
                               char operation);
/* The constant as a list for a blob x: one number, one a channel, or one a number in [c][h][w]; at
 * most `most` of them. */
drove_status drove__onnx_broadcast(drove_onnx_reader *r, const drove_onnx_node *n,
                                   const drove_onnx_value *x, const drove_onnx_value *constant,
                                   size_t most, drove_floats *out);
/* The one input of an operator of ai.onnx.ml: these take integers, too, and make floats. */
drove_status drove__onnx_take_columns(drove_onnx_reader *r, const drove_onnx_node *n,
                                      drove_onnx_value *x);
drove_status drove__onnx_read_sum(drove_onnx_reader *r, const drove_onnx_node *n);
drove_status drove__onnx_read_add(drove_onnx_reader *r, const drove_onnx_node *n);
drove_status drove__onnx_read_sub(drove_onnx_reader *r, const drove_onnx_node *n);
drove_status drove__onnx_read_mul(drove_onnx_reader *r, const drove_onnx_node *n);
drove_status drove__onnx_read_div(drove_onnx_reader *r, const drove_onnx_node *n);
drove_status drove__onnx_read_scaler(drove_onnx_reader *r, const drove_onnx_node *n);
drove_status drove__onnx_read_normalizer(drove_onnx_reader *r, const drove_onnx_node *n);
drove_status drove__onnx_read_lp(drove_onnx_reader *r, const drove_onnx_node *n);
drove_status drove__onnx_read_clip(drove_onnx_reader *r, const drove_onnx_node *n);

#endif
