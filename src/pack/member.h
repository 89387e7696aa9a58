/* pack/member.h - the settings of a pack's members, and their networks.
 *
 * A member is a network of dense layers on an embedding of the examples (pack/embed.h), with its
 * own step size, weight decay and dropout.  The sizes are small: what makes a pack good is that
 * members differ.
 */
#ifndef DROVE_PACK_MEMBER_H
#define DROVE_PACK_MEMBER_H

#include "model/model.h"
#include "pack/embed.h"

enum { DROVE_MEMBER_MOST_HIDDEN = 2, DROVE_MEMBER_NAME_SIZE = 40, DROVE_PACK_MOST_BATCH = 512 };

typedef struct drove_member {
    char                name[DROVE_MEMBER_NAME_SIZE]; /* "mlp:64 bins", unique */
    drove_embed_options embed;
    unsigned            width[DROVE_MEMBER_MOST_HIDDEN]; /* of the hidden layers; 0: no further */
    float               dropout;                         /* behind each hidden layer */
    double              lr, decay;                       /* of adamw */
    double              length;                          /* factor of the epochs; 0 counts as 1 */
    double              smoothing;                       /* of labels, in training */
} drove_member;

extern const drove_member drove__members[]; /* simplest first */
extern const size_t       drove__n_members;

/* Hidden layers. */
unsigned drove__member_depth(const drove_member *member);
/* Another member of the base's kind, with a step, a decay, widths, dropout and bins of its own,
 * drawn by seed and number. */
void drove__member_vary(const drove_member *base, uint64_t seed, uint64_t number,
                        drove_member *out);
/* Its network on examples of n_inputs features: layers "hidden0" ..., "out"; a loss by the target.
 * io: of the data; its features are not looked at.  Errors: those of drove__model_create_graph. */
drove_status drove__member_model(const drove_member *member, size_t n_inputs,
                                 const drove_model_io *io, const char *loss, drove_model **out);

#endif
