/* pack/record.h - what a pack was made of, for reports. */
#ifndef DROVE_PACK_RECORD_H
#define DROVE_PACK_RECORD_H

#include <stdbool.h>
#include <stddef.h>

enum { DROVE_PACK_MOST_MEMBERS = 48, DROVE_PACK_MOST_DIVISIONS = 5, DROVE_PACK_NAME_SIZE = 40 };

typedef struct drove_pack_member {
    char     name[DROVE_PACK_NAME_SIZE];
    double   loss;        /* of the examples held back by the divisions it was trained on */
    double   epochs;      /* mean of where it was best */
    double   share;       /* in the ensemble; 0: it is not in it */
    unsigned n_divisions; /* that it was trained on */
} drove_pack_member;

typedef struct drove_pack_record {       /* n 0: there is no pack */
    unsigned n, n_divisions, n_networks; /* networks in the model */
    unsigned best;                       /* the best member that finished; n: the constant guess */
    unsigned n_left_out;                 /* kinds of members, for the memory of their embeddings */
    size_t   n_rows, n_judged;           /* n_judged: held back in all divisions together */
    /* Mean loss on examples that were held back, and its standard error; that of the best member
     * alone, and of a constant guess. */
    double            loss, error, best_loss, constant_loss;
    double            sharpness; /* factor of the outputs */
    double            seconds;
    bool              is_standardised; /* losses are of targets with deviation 1 */
    bool              is_interrupted;
    bool              is_one_group; /* the rows that judge are of the group trained on */
    drove_pack_member member[DROVE_PACK_MOST_MEMBERS];
} drove_pack_record;

#endif
