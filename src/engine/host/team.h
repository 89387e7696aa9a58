/* engine/host/team.h - threads that work on one batch together, between a common start and end.
 *
 * The thread that owns a team is its part 0; the others sleep between two jobs.
 */
#ifndef DROVE_ENGINE_HOST_TEAM_H
#define DROVE_ENGINE_HOST_TEAM_H

#include "model/model.h"

typedef struct drove_team drove_team;

/* bind (may be NULL): called by each thread of the team but part 0 before its first job; its
 * failure is create's.  Errors: DROVE_E_SYSTEM, DROVE_E_NOMEM, those of bind. */
drove_status drove__team_create(unsigned n_parts,
                                drove_status (*bind)(void *context, unsigned part), void *context,
                                drove_team **out);
void         drove__team_destroy(drove_team *team); /* NULL accepted; by the owner */
/* The owner: job(context, part) by all parts, which may meet; returns when all have. */
void drove__team_run(drove_team *team, void (*job)(void *context, const drove_part *part),
                     void       *context);

#endif
