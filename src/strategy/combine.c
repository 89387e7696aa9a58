/* strategy/combine.c - the rules of combine.h, and the columns of the table. */
#include "strategy/combine.h"

const char *drove__combine(const drove_sync_ops *ops, const drove_combination *c)
{
    const drove_sync_places *places = drove__sync_places(ops);
    if (c->procs && places->not_procs != NULL) return places->not_procs;
    if (c->ranks && places->not_ranks != NULL) return places->not_ranks;
    if (c->n_workers > 1 && (ops->needs & DROVE_SYNC_ONE) != 0) return "it has one worker";
    if (c->beside && drove__sync_not_beside(ops) != NULL) return drove__sync_not_beside(ops);
    if (c->typed && (c->engine_can & DROVE_COMBINE_TYPED) == 0)
        return "low-precision steps are made on the host, and a worker is a device";
    if (c->typed && (ops->needs & DROVE_SYNC_TYPED) == 0) return drove__sync_not_typed(ops);
    if (c->typed && (ops->needs & DROVE_SYNC_MOMENTUM) != 0)
        return "its rule is momentum, with which low-precision parameters are not exchanged";
    if (!c->typed && (ops->needs & DROVE_SYNC_LIVE) != 0 &&
        (c->engine_can & DROVE_COMBINE_FUSED) == 0)
        return "its workers write the shared parameters while they compute, which a device cannot";
    return NULL;
}

enum {
    CORES = DROVE_COMBINE_FUSED,
    DEVICE = DROVE_COMBINE_RESIDENT,
};

const drove_combination_column drove__combinations[] = {
    {"threads:2", "threads of one process", {.n_workers = 2, .engine_can = CORES}},
    {"procs:2", "processes of one machine", {.n_workers = 2, .procs = true, .engine_can = CORES}},
    {"cpu:0-1", "a team of cores, one worker", {.n_workers = 1}},
    {"opencl", "an OpenCL device", {.n_workers = 1, .any_device = true, .engine_can = DEVICE}},
    {"cuda", "a GPU", {.n_workers = 1, .any_device = true, .engine_can = DEVICE}},
    {"fake", "a simulated device", {.n_workers = 1, .any_device = true, .engine_can = DEVICE}},
    {"threads:1+opencl", "a core and a device", {.n_workers = 2, .any_device = true}},
    {"opencl+opencl", "two devices", {.n_workers = 2, .any_device = true, .engine_can = DEVICE}},
    {"ranks", "ranks of a job", {.n_workers = 2, .ranks = true, .engine_can = CORES}},
    {"ranks+team", "ranks with a team of cores each", {.n_workers = 2, .ranks = true}},
    {"ranks+opencl",
     "ranks with a device each",
     {.n_workers = 2, .ranks = true, .any_device = true, .engine_can = DEVICE}},
    {"D8M8",
     "threads of one process, low precision",
     {.n_workers = 2, .typed = true, .engine_can = CORES | DROVE_COMBINE_TYPED}},
    {"beside",
     "threads of one process, evaluated while they train",
     {.n_workers = 2, .beside = true, .engine_can = CORES}},
    {NULL, NULL, {0}},
};
