/* pack/assemble.h - members and their shares as one network. */
#ifndef DROVE_PACK_ASSEMBLE_H
#define DROVE_PACK_ASSEMBLE_H

#include "pack/record.h"
#include "pack/unit.h"

typedef struct drove_part_of_pack { /* a member's network of one division */
    const drove_member    *member;
    const drove_embedding *embedding; /* NULL: it sees the examples as they are */
    const drove_model     *model;     /* drove__member_model */
    const float           *theta;
    double                 share; /* factor of its outputs */
} drove_part_of_pack;

/* The network whose outputs are constant[n_outputs] and the sum of share * the outputs of each, and
 * its parameters (of drove__alloc).  The last layer is one of weights and biases over all of their
 * last hidden layers.  Errors: DROVE_E_NOMEM, those of drove__model_create_text. */
drove_status drove__pack_assemble(const drove_part_of_pack *part, unsigned n, const float *constant,
                                  const drove_model_io *io, const char *loss, drove_model **model,
                                  float **theta);

#endif
