/* elastic/precision.c - sums over all workers in fewer bits (--precision): a codec for each part of
 * theta that is sent as a message.
 *
 * The residuals of all parts form one vector, as theta does, and so do the residuals of their
 * slices.  A saved state has two tensors however many parts there are.
 */
#include "elastic/common.h"

drove_status drove__elastic_read_precision(drove_elastic *e, const drove_sync *s,
                                           const drove_sync_options *opt,
                                           const drove_elastic_kind *kind)
{
    const char *text = opt->wire_format != NULL ? opt->wire_format : "";
    DROVE_TRY(drove__codec_parse(text, &e->bits));
    if (e->bits == 32 || kind->may_encode) return DROVE_OK;
    return drove__fail(DROVE_E_ARG,
                       "--precision %s: expected C32f, since %s sends parameters as they are "
                       "(fewer bits: easgd-sync3, allreduce, local, diloco)",
                       text, s->ops->name);
}

drove_status drove__elastic_make_codecs(drove_elastic *e, const drove_sync *s, unsigned worker,
                                        uint64_t seed)
{
    drove_elastic_worker *me = &e->of[worker];
    size_t at = 0;
    if (e->bits == 32) return DROVE_OK;

    me->n_slice = 0;
    for (size_t i = 0; i < e->n_parts; i++)
        me->n_slice += drove__codec_slice_size(e->part[i].length, s->n_workers, worker);
    me->codec = drove__alloc(e->n_parts, sizeof *me->codec);
    me->residual = drove__alloc(s->optim->n, sizeof *me->residual);
    me->slice = drove__alloc(me->n_slice, sizeof *me->slice);
    if (me->codec == NULL || me->residual == NULL || me->slice == NULL)
        return drove__sync_no_memory(s);

    for (size_t i = 0; i < e->n_parts; i++) {
        const drove_span *part = &e->part[i];
        const drove_codec_options opt = {.bits = e->bits,
                                         .n = part->length,
                                         .n_workers = s->n_workers,
                                         .worker = worker,
                                         .seed = seed + i, /* other random numbers for each part */
                                         .kernels = s->optim->kernels,
                                         .residual = me->residual + part->offset,
                                         .sum_residual = me->slice + at};
        DROVE_TRY(drove__codec_create(&opt, &me->codec[i]));
        at += drove__codec_slice_size(part->length, s->n_workers, worker);
    }
    return DROVE_OK;
}

void drove__elastic_free_codecs(drove_elastic *e, unsigned worker)
{
    drove_elastic_worker *me = &e->of[worker];
    for (size_t i = 0; me->codec != NULL && i < e->n_parts; i++) drove__codec_destroy(me->codec[i]);
    drove__free(me->codec);
    drove__free(me->residual);
    drove__free(me->slice);
}

bool drove__elastic_differs(const drove_elastic *e, const drove_sync *s, unsigned worker)
{
    const drove_elastic_worker *me = &e->of[worker];
    if (me->codec == NULL) return false;
    s->optim->kernels->blend_f32(me->sum, me->w, me->c, s->optim->n, 1.0f, -1.0f);
    return true;
}
