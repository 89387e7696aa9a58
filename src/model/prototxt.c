/* model/prototxt.c - imports networks from Caffe's prototxt: the network that Caffe would train.
 *
 * Layers of the phase TEST, and accuracy layers, are left out.  A data layer names the input; its
 * reading and augmentation are replaced by --data, as a note says.  The losses become the heads.  A
 * layer that works in place gets a blob of its own.
 *
 * Source: Jia et al., Caffe, ACM MM 2014; the subset is in docs/use/models.md.
 */
#include "model/prototxt.h"

#include <stdlib.h>
#include <string.h>

/* ---- blobs ---- */

static drove_caffe_blob *find_blob(const drove_caffe *c, const char *name)
{
    for (size_t i = 0; i < c->n_blobs; i++) {
        if (strcmp(c->blob[i].name, name) == 0) return &c->blob[i];
    }
    return NULL;
}

static drove_status set_blob(drove_caffe *c, const char *name, const char *graph, uint32_t node)
{
    drove_caffe_blob *b = find_blob(c, name);
    if (b == NULL && c->n_blobs == c->room) {
        size_t room = c->room > 0 ? 2 * c->room : 32;
        drove_caffe_blob *blob = realloc(c->blob, room * sizeof *blob);
        if (blob == NULL) return drove__fail_nomem("blobs", room * sizeof *blob);
        c->blob = blob;
        c->room = room;
    }
    if (b == NULL) b = &c->blob[c->n_blobs++];
    snprintf(b->name, sizeof b->name, "%s", name);
    snprintf(b->graph, sizeof b->graph, "%s", graph);
    b->node = node;
    b->open_line = 0;
    if (node != UINT32_MAX && c->graph.node[node].ops == &drove__layer_batch_norm)
        b->open_line = c->graph.node[node].line;
    return DROVE_OK;
}

static drove_status take_name(const drove_caffe *c, int line, const char *text,
                              char into[DROVE_LAYER_NAME_SIZE])
{
    if (drove__graph_take_name(text, into) == DROVE_OK) return DROVE_OK;
    return drove__fail_in(DROVE_E_DATA, "%s:%d", c->tree.file, line);
}

/* ---- one layer's own fields ---- */

static drove_status read_words(const drove_caffe *c, drove_caffe_layer *l, const char *name,
                               const char **to, unsigned *n)
{
    char unused[DROVE_LAYER_NAME_SIZE];
    for (drove_prototext_field *f = NULL;
         (f = drove__prototext_next(&c->tree, l->message, name, f)) != NULL;) {
        if (f->value == NULL || *n == DROVE_LAYER_MOST_BOTTOMS)
            return drove__prototext_fail(&c->tree, f->line, "%s: expected at most %d names", name,
                                         DROVE_LAYER_MOST_BOTTOMS);
        DROVE_TRY(take_name(c, f->line, f->value, unused));
        to[(*n)++] = f->value;
    }
    return DROVE_OK;
}

/* True if the layer belongs to the network that is trained.  Rules other than phase are refused
 * later, as unknown fields. */
static drove_status is_trained(const drove_caffe *c, const drove_caffe_layer *l, bool *out)
{
    static const char *const rules[] = {"include", "exclude"};
    bool has_include = false, included = false, excluded = false;
    for (int i = 0; i < 2; i++) {
        for (drove_prototext_field *f = NULL;
             (f = drove__prototext_next(&c->tree, l->message, rules[i], f)) != NULL;) {
            const char *phase = NULL;
            DROVE_TRY(drove__prototext_text(&c->tree, f, "phase", &phase));
            bool is_train = phase == NULL || strcmp(phase, "TRAIN") == 0 || phase[0] == '0';
            if (!is_train && strcmp(phase, "TEST") != 0 && strcmp(phase, "1") != 0)
                return drove__prototext_fail(&c->tree, f->line,
                                             "phase: expected TRAIN or TEST, found \"%.60s\"",
                                             phase);
            has_include = has_include || i == 0;
            included = included || (i == 0 && is_train);
            excluded = excluded || (i == 1 && is_train);
            DROVE_TRY(drove__prototext_check_used(&c->tree, f));
        }
    }
    const char *phase = NULL; /* of the layer itself, as in deployed networks */
    DROVE_TRY(drove__prototext_text(&c->tree, l->message, "phase", &phase));
    if (phase != NULL && strcmp(phase, "TEST") == 0) excluded = true;
    *out = (!has_include || included) && !excluded;
    return DROVE_OK;
}

static bool is_one_of(const char *type, const char *const *words)
{
    for (size_t i = 0; words[i] != NULL; i++) {
        if (strcmp(words[i], type) == 0) return true;
    }
    return false;
}

/* ---- data, losses ---- */

static drove_status add_data(drove_caffe *c, const drove_caffe_layer *l)
{
    if (l->n_bottoms != 0 || l->n_tops == 0)
        return drove__caffe_fail(c, l, "expected no bottom, and a top");
    for (unsigned i = 0; i < l->n_tops; i++) {
        bool is_input = !c->has_data && i == 0;
        if (is_input) DROVE_TRY(take_name(c, l->line, l->top[0], c->graph.input));
        DROVE_TRY(set_blob(c, l->top[i], is_input ? l->top[0] : "", UINT32_MAX));
    }
    c->has_data = true;
    drove__prototext_skip(&c->tree, l->message);
    if (strcmp(l->type, "Input") != 0) c->notes |= DROVE_NOTE_DATA;
    return DROVE_OK;
}

/* The blob's name in the graph; the graph's own checks handle a missing one. */
static drove_status bottom_name(const drove_caffe *c, const drove_caffe_layer *l, unsigned i,
                                const char **out)
{
    const drove_caffe_blob *b = find_blob(c, l->bottom[i]);
    *out = b != NULL ? b->graph : l->bottom[i];
    if (**out != '\0') return DROVE_OK;
    return drove__caffe_fail(c, l, "bottom \"%s\" is a label; only losses read labels",
                             l->bottom[i]);
}

static drove_status add_loss(drove_caffe *c, const drove_caffe_layer *l)
{
    static const char *const normalizations[] = {"VALID", "FULL",  "BATCH_SIZE",
                                                 "true",  "false", NULL};
    drove_graph *g = &c->graph;
    drove_graph_head *head = &g->head[g->n_heads];
    drove_message *m = NULL;
    const char *bottom, *value = NULL;
    if (l->n_bottoms < 1 || l->n_bottoms > 2)
        return drove__caffe_fail(c, l, "expected outputs and labels as bottoms, found %u",
                                 l->n_bottoms);
    if (g->n_heads == DROVE_MODEL_MOST_HEADS)
        return drove__caffe_fail(c, l, "expected at most %d losses", DROVE_MODEL_MOST_HEADS);
    DROVE_TRY(bottom_name(c, l, 0, &bottom));
    *head = (drove_graph_head){.weight = 1.0f, .line = l->line};
    snprintf(head->bottom, sizeof head->bottom, "%s", bottom);
    DROVE_TRY(drove__prototext_real(&c->tree, l->message, "loss_weight", 0, 1e6, &head->weight));
    DROVE_TRY(drove__prototext_message(&c->tree, l->message, "loss_param", &m));
    if (m != NULL) {
        DROVE_TRY(drove__prototext_text(&c->tree, m, "normalization", &value));
        if (value != NULL && !is_one_of(value, normalizations))
            return drove__caffe_fail(c, l, "normalization: expected VALID, found \"%.60s\"", value);
    }
    g->n_heads++;
    return DROVE_OK;
}

/* ---- layers ---- */

/* Merges Scale into the batch normalisation before it. */
static drove_status add_scale(drove_caffe *c, const drove_caffe_layer *l,
                              const drove_caffe_type *type)
{
    drove_caffe_blob *b = l->n_bottoms == 1 ? find_blob(c, l->bottom[0]) : NULL;
    if (b == NULL || b->open_line == 0 || l->n_tops != 1)
        return drove__caffe_fail(c, l, "expected BatchNorm before it, to be merged with it");
    DROVE_TRY(type->read(c, l, &c->graph.node[b->node]));
    b->open_line = 0;
    char graph[DROVE_LAYER_NAME_SIZE];
    uint32_t node = b->node;
    memcpy(graph, b->graph, sizeof graph);
    DROVE_TRY(set_blob(c, l->top[0], graph, node));
    find_blob(c, l->top[0])->open_line = 0;
    return DROVE_OK;
}

static drove_status add_node(drove_caffe *c, const drove_caffe_layer *l,
                             const drove_caffe_type *type)
{
    drove_node *node;
    const char *bottom;
    if (l->n_bottoms == 0) return drove__caffe_fail(c, l, "expected a bottom, found none");
    DROVE_TRY(bottom_name(c, l, 0, &bottom));
    drove_status status = drove__graph_add(&c->graph, type->ops, l->name, bottom, &node);
    if (status != DROVE_OK) return drove__fail_in(status, "%s:%d", c->tree.file, l->line);
    node->line = l->line;
    node->act = type->act;
    node->opt = drove__graph_default_options(type->ops);
    for (unsigned i = 1; i < l->n_bottoms; i++) {
        DROVE_TRY(bottom_name(c, l, i, &bottom));
        snprintf(node->bottom[i], sizeof node->bottom[i], "%s", bottom);
    }
    node->n_bottoms = l->n_bottoms;
    DROVE_TRY(type->read(c, l, node));

    /* Names the layer's output blob; in place: a blob of its own with the layer's name. */
    bool in_place = false;
    if (l->n_tops != 1) return drove__caffe_fail(c, l, "expected one top, found %u", l->n_tops);
    for (unsigned i = 0; i < l->n_bottoms; i++)
        in_place = in_place || strcmp(l->bottom[i], l->top[0]) == 0;
    const drove_caffe_blob *before = find_blob(c, l->top[0]);
    if (in_place && before != NULL && before->open_line != 0)
        return drove__caffe_fail(c, l, "expected Scale after BatchNorm, to be merged with it");
    if (!in_place && before != NULL)
        return drove__caffe_fail(c, l, "top \"%s\" is already another layer's", l->top[0]);
    if (!in_place && strcmp(l->top[0], l->name) != 0)
        snprintf(node->top, sizeof node->top, "%s", l->top[0]);
    return set_blob(c, l->top[0], in_place ? l->name : l->top[0], (uint32_t)(c->graph.n_nodes - 1));
}

static drove_status find_type(const drove_caffe *c, const drove_caffe_layer *l,
                              const drove_caffe_type **out)
{
    const char *names[32] = {"SoftmaxWithLoss", "Data", "Accuracy"};
    size_t n = 3;
    for (const drove_caffe_type *t = drove__caffe_types; t->type != NULL; t++) {
        *out = t;
        if (strcmp(t->type, l->type) == 0) return DROVE_OK;
        if (t->old_type != NULL && strcmp(t->old_type, l->type) == 0) return DROVE_OK;
        names[n++] = t->type;
    }
    (void)drove__fail_unknown("type of layer", l->type, names, n);
    return drove__fail_in(DROVE_E_DATA, "%s:%d: layer \"%s\"", c->tree.file, l->line, l->name);
}

static drove_status add_layer(drove_caffe *c, drove_message *message)
{
    static const char *const data[] = {"Data", "ImageData",  "Input",      "DummyData",
                                       "DATA", "IMAGE_DATA", "DUMMY_DATA", NULL};
    static const char *const losses[] = {"SoftmaxWithLoss", "SOFTMAX_LOSS", NULL};
    static const char *const measures[] = {"Accuracy", "ACCURACY", NULL};
    drove_caffe_layer l = {.message = message};
    const drove_caffe_type *type;
    bool trained;
    if (message->value != NULL)
        return drove__prototext_fail(&c->tree, message->line, "expected a layer, found a value");
    char unused[DROVE_LAYER_NAME_SIZE];
    l.line = l.message->line;
    DROVE_TRY(drove__prototext_text(&c->tree, l.message, "name", &l.name));
    DROVE_TRY(drove__prototext_text(&c->tree, l.message, "type", &l.type));
    if (l.name == NULL)
        return drove__prototext_fail(&c->tree, l.line, "expected a layer's name, found none");
    if (l.type == NULL)
        return drove__prototext_fail(&c->tree, l.line, "layer \"%.60s\": expected a type", l.name);
    DROVE_TRY(take_name(c, l.line, l.name, unused));
    DROVE_TRY(read_words(c, &l, "bottom", l.bottom, &l.n_bottoms));
    DROVE_TRY(read_words(c, &l, "top", l.top, &l.n_tops));
    DROVE_TRY(is_trained(c, &l, &trained));
    if (!trained || is_one_of(l.type, measures)) {
        drove__prototext_skip(&c->tree, message);
        return DROVE_OK;
    }
    if (is_one_of(l.type, data)) return add_data(c, &l);
    if (is_one_of(l.type, losses)) DROVE_TRY(add_loss(c, &l));
    else {
        DROVE_TRY(find_type(c, &l, &type));
        DROVE_TRY(type->ops != NULL ? add_node(c, &l, type) : add_scale(c, &l, type));
    }
    return drove__prototext_check_used(&c->tree, message);
}

/* ---- the whole ---- */

/* input: "data" with its sizes; here the data give the sizes. */
static drove_status read_input(drove_caffe *c, drove_message *root)
{
    static const char *const skipped[] = {"input_dim", "input_shape", "force_backward",
                                          "debug_info", "state"};
    const drove_prototext *t = &c->tree;
    const char *name = NULL;
    DROVE_TRY(drove__prototext_text(t, root, "name", &name));
    for (size_t i = 0; name != NULL && name[i] != '\0' && i + 1 < sizeof c->graph.name; i++) {
        bool is_plain = name[i] > ' ' && name[i] < 0x7f && name[i] != '"' && name[i] != '\\';
        c->graph.name[i] = is_plain ? name[i] : '_';
        c->graph.name[i + 1] = '\0';
    }
    for (size_t i = 0; i < sizeof skipped / sizeof skipped[0]; i++) {
        for (drove_prototext_field *f = NULL;
             (f = drove__prototext_next(t, root, skipped[i], f)) != NULL;)
            drove__prototext_skip(t, f);
    }
    for (drove_prototext_field *f = NULL;
         (f = drove__prototext_next(t, root, "input", f)) != NULL;) {
        if (f->value == NULL)
            return drove__prototext_fail(t, f->line, "input: expected a name, found a message");
        char input[DROVE_LAYER_NAME_SIZE];
        DROVE_TRY(take_name(c, f->line, f->value, input));
        if (!c->has_data) memcpy(c->graph.input, input, sizeof input);
        DROVE_TRY(set_blob(c, input, c->has_data ? "" : input, UINT32_MAX));
        c->has_data = true;
    }
    return DROVE_OK;
}

static drove_status import(drove_caffe *c)
{
    static const char *const words[] = {"layer", "layers", NULL};
    drove_message *root = &c->tree.field[0];
    DROVE_TRY(read_input(c, root));
    for (uint32_t i = root->first; i != 0; i = c->tree.field[i].next) {
        drove_prototext_field *f = &c->tree.field[i];
        if (!is_one_of(f->name, words)) continue;
        f->is_used = true;
        DROVE_TRY(add_layer(c, f));
    }
    DROVE_TRY(drove__prototext_check_used(&c->tree, root));
    for (size_t i = 0; i < c->n_blobs; i++) {
        if (c->blob[i].open_line == 0) continue;
        return drove__prototext_fail(&c->tree, c->blob[i].open_line,
                                     "BatchNorm \"%s\": expected Scale after it, to be merged "
                                     "with it",
                                     c->blob[i].name);
    }
    (void)drove__graph_drop_probabilities(&c->graph, false);
    if (c->graph.n_nodes == 0)
        return drove__fail(DROVE_E_DATA, "%s: expected layers, found none", c->tree.file);
    static const struct {
        unsigned bit;
        const char *text;
    } notes[] = {
        {DROVE_NOTE_DATA, "sources, batch sizes and transformations of data layers are not "
                          "imported; set them with --data and --batch\n"},
        {DROVE_NOTE_LR, "lr_mult is imported: it multiplies gradients\n"},
        {DROVE_NOTE_DECAY, "decay_mult is not imported: --weight-decay is the same for all "
                           "parameters\n"},
        {DROVE_NOTE_AVERAGE, "moving_average_fraction is not imported: statistics are those of the "
                             "training data\n"},
    };
    char text[1024];
    size_t used = 0;
    for (size_t i = 0; i < sizeof notes / sizeof notes[0]; i++) {
        if (c->notes & notes[i].bit)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s", notes[i].text);
    }
    if (used == 0) return DROVE_OK;
    c->graph.notes = strdup(text);
    return c->graph.notes != NULL ? DROVE_OK : drove__fail_nomem("notes", used);
}

drove_status drove__graph_read_prototxt(const char *text, size_t n_bytes, const char *file,
                                        drove_graph *out)
{
    drove_caffe c = {0};
    drove__graph_init(&c.graph, "model");
    c.graph.file = file;
    drove_status status = drove__prototext_parse(text, n_bytes, file, &c.tree);
    if (status == DROVE_OK) status = import(&c);
    drove__prototext_fini(&c.tree);
    free(c.blob);
    if (status != DROVE_OK) {
        drove__graph_fini(&c.graph);
        return status;
    }
    *out = c.graph;
    return DROVE_OK;
}
