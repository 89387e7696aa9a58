/* pack/member.c - see member.h. */
#include "pack/member.h"

#include "base/mem.h"
#include "model/graph.h"
#include "model/loss.h"

#include "base/rng.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Widths, depths and steps as in docs/use/models.md; bins: Gorishniy, Rubachev, Babenko,
 * NeurIPS 2022; the mixture of settings: Holzmueller, Grinsztajn, Steinwart, NeurIPS 2024. */
const drove_member drove__members[] = {
    {.name = "linear", .lr = 0.01, .decay = 1e-3},
    {.name = "linear bins", .embed = {.bins = 16}, .lr = 0.01, .decay = 1e-3},
    {.name = "linear levels", .embed = {.bins = 16, .levels = true}, .lr = 0.01, .decay = 1e-3},
    {.name = "mlp:64", .width = {64}, .lr = 0.003, .decay = 1e-2},
    {.name = "mlp:64 bins", .embed = {.bins = 16}, .width = {64}, .lr = 0.003, .decay = 1e-2},
    {.name = "mlp:128,64", .width = {128, 64}, .dropout = 0.1f, .lr = 0.003, .decay = 1e-2},
    {.name = "mlp:128,64 bins",
     .embed = {.bins = 32},
     .width = {128, 64},
     .dropout = 0.1f,
     .lr = 0.003,
     .decay = 1e-2},
    {.name = "mlp:128,64 levels",
     .embed = {.bins = 16, .levels = true},
     .width = {128, 64},
     .dropout = 0.1f,
     .lr = 0.003,
     .decay = 1e-2},
    {.name = "mlp:128,64 waves",
     .embed = {.waves = 8},
     .width = {128, 64},
     .dropout = 0.1f,
     .lr = 0.003,
     .decay = 1e-2},
    {.name = "mlp:192,96 bins",
     .embed = {.bins = 48},
     .width = {192, 96},
     .lr = 0.002,
     .decay = 3e-2,
     .length = 1.5},
    {.name = "mlp:256,64",
     .width = {256, 64},
     .dropout = 0.25f,
     .lr = 0.005,
     .decay = 2e-2,
     .smoothing = 0.05},
};
const size_t drove__n_members = DROVE_COUNT(drove__members);

unsigned drove__member_depth(const drove_member *member)
{
    unsigned n = 0;
    while (n < DROVE_MEMBER_MOST_HIDDEN && member->width[n] > 0) n++;
    return n;
}

drove_status drove__member_model(const drove_member *member, size_t n_inputs,
                                 const drove_model_io *io, const char *loss, drove_model **out)
{
    drove_graph graph;
    drove_node *node;
    const unsigned depth = drove__member_depth(member);
    drove_model_io own = *io;
    own.n_features = n_inputs;
    own.image = (drove_shape){0};
    drove__graph_init(&graph, "member");
    drove_status status = DROVE_OK;
    for (unsigned i = 0; i < depth && status == DROVE_OK; i++) {
        char name[DROVE_LAYER_NAME_SIZE];
        snprintf(name, sizeof name, "hidden%u", i);
        status = drove__graph_add(&graph, &drove__layer_dense, name, NULL, &node);
        if (status != DROVE_OK) break;
        node->opt.n_out = member->width[i];
        node->act = DROVEK_RELU;
        if (member->dropout == 0.0f) continue;
        snprintf(name, sizeof name, "dropout%u", i);
        status = drove__graph_add(&graph, &drove__layer_dropout, name, NULL, &node);
        if (status == DROVE_OK) node->opt.ratio = member->dropout;
    }
    if (status == DROVE_OK)
        status = drove__graph_add(&graph, &drove__layer_dense, "out", NULL, &node);
    if (status == DROVE_OK && depth == 0) node->opt.w_filler = (drove_filler){"constant", 0.0f};
    if (status == DROVE_OK) status = drove__model_create_graph(&graph, "member", loss, &own, out);
    if (status == DROVE_OK && (*out)->loss->is_cross_entropy)
        (*out)->label_smoothing = (float)member->smoothing;
    drove__graph_fini(&graph);
    return status;
}

void drove__member_vary(const drove_member *base, uint64_t seed, uint64_t number, drove_member *out)
{
    static const unsigned widths[] = {48, 64, 96, 128, 192, 256}, bins[] = {8, 16, 24, 32, 48};
    static const float dropouts[] = {0.0f, 0.05f, 0.1f, 0.2f, 0.3f};
    drove_rng rng;
    drove__rng_seed(&rng, seed, DROVE_RNG_STUDY, number);
    *out = *base;
    const int n = (int)strcspn(base->name, "#");
    snprintf(out->name, sizeof out->name, "%.*s#%u", n < 24 ? n : 24, base->name, (unsigned)number);
    out->lr *= pow(10.0, drove__rng_uniform(&rng) - 0.6);
    out->decay *= pow(10.0, 2.0 * drove__rng_uniform(&rng) - 1.0);
    const unsigned depth = drove__member_depth(base);
    for (unsigned i = 0; i < depth; i++)
        out->width[i] = widths[drove__rng_below(&rng, DROVE_COUNT(widths))];
    if (depth > 0) out->dropout = dropouts[drove__rng_below(&rng, DROVE_COUNT(dropouts))];
    if (base->embed.bins > 0) out->embed.bins = bins[drove__rng_below(&rng, DROVE_COUNT(bins))];
}
