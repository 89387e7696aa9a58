/* A team of cores (src/engine/host/team.c): what a part writes before a meeting the others read
 * behind it; each job is done once by each part; the members end. */
#include "explorer.h"

#include "engine/host/team.h"

#include <stdlib.h>

/* In the place of src/kernel. */
void drovek_thread_init(void)
{
}

typedef struct table {
    unsigned n_parts, n_meetings;
    unsigned *slot;   /* [n_parts] written by its part */
    unsigned *n_jobs; /* [n_parts] */
} table;

static void write_and_read(void *context, const drove_part *part)
{
    table *t = context;
    t->n_jobs[part->part]++;
    for (unsigned r = 0; r < t->n_meetings; r++) {
        t->slot[part->part]++;
        part->meet(part->context, part->part);
        for (unsigned i = 0; i < t->n_parts; i++)
            explore_check(t->slot[i] == t->slot[part->part], "all have written");
        part->meet(part->context, part->part);
    }
}

static void team(unsigned n_parts, unsigned n_jobs, unsigned n_meetings)
{
    table t = {.n_parts = n_parts, .n_meetings = n_meetings};
    drove_team *made;
    t.slot = calloc(n_parts, sizeof *t.slot);
    t.n_jobs = calloc(n_parts, sizeof *t.n_jobs);
    explore_check(drove__team_create(n_parts, NULL, NULL, &made) == DROVE_OK, "made");
    for (unsigned i = 0; i < n_jobs; i++) drove__team_run(made, write_and_read, &t);
    drove__team_destroy(made);
    for (unsigned i = 0; i < n_parts; i++) explore_check(t.n_jobs[i] == n_jobs, "each job once");
}

static void two_parts(void)
{
    team(2, 1, 1);
}
static void three_parts(void)
{
    team(3, 1, 0);
}

static const explore_survivor survivors[] = {
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    const explore_scenario scenarios[] = {
        {.name = "two parts", .run = two_parts, .spins_for_ever = true},
        {.name = "three parts", .run = three_parts, .spins_for_ever = true, .n_preemptions = 2},
        {.name = "three parts, all", .run = three_parts, .spins_for_ever = true, .is_long = true},
        {.name = NULL},
    };
    return explore_main(argc, argv, scenarios, survivors);
}
