/* pack/embed.h - embeddings of numbers: what the members of a pack see of the examples.
 *
 * Each feature, smoothly clipped: x / sqrt(1 + (x / 3)^2), so that a far number cannot do harm
 * (Holzmueller, Grinsztajn, Steinwart, NeurIPS 2024).  Behind these, for each feature of more than
 * two values (Gorishniy, Rubachev, Babenko, NeurIPS 2022):
 *   bins    min(max((x - edge) factor, 0), 1) between neighbours of its quantiles, section 3.2
 *   waves   sin((x - offset) factor), with random factors, section 3.3
 *   levels  of a feature that has few values: 1 at each of them but the least, else 0, as of a
 *           category; between two values linear.  Others have bins.
 * The same numbers as layers of a network: pack/assemble.c.
 */
#ifndef DROVE_PACK_EMBED_H
#define DROVE_PACK_EMBED_H

#include "data/data.h"

typedef struct drove_embed_options {
    unsigned bins, waves; /* at most, for each number; at most one of them is not 0 */
    bool     levels;
} drove_embed_options;

typedef struct drove_embedding {
    drove_embed_options opt;
    size_t              n_inputs;        /* features of the data */
    size_t              n_more;          /* numbers behind the clipped features */
    uint32_t           *source;          /* [n_more] features, ascending */
    float              *offset, *factor; /* [n_more] */
    /* [n_more] a level's: 1 where this cut, min(max((x - offset) factor, 0), 1), is 1 and the next
     * of its feature is 0 */
    bool       *is_level;
    drove_data *data; /* the examples so embedded: [n_inputs + n_more] features */
} drove_embedding;

/* Of dense examples, in the order of data.  Random numbers by the seed.  Where the examples would
 * take more than most_bytes, out->data is NULL.  Errors: DROVE_E_NOMEM. */
drove_status drove__embedding_make(const drove_data *data, const drove_embed_options *opt,
                                   uint64_t seed, double most_bytes, drove_embedding *out);
void         drove__embedding_fini(drove_embedding *e); /* a zeroed one is accepted */

/* Numbers that an embedding gives an example. */
static inline size_t drove__embedding_width(const drove_embedding *e)
{
    return e->n_inputs + e->n_more;
}

#endif
