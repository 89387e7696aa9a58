/* base/group.h - what the control groups (cgroups) of this process allow it, versions 1 and 2.
 *
 * A limit holds for a group and all below it, so the least one on the way to the root counts.
 * Processors that a group's cpuset takes away are not here: the kernel takes them out of the
 * process's affinity, which sched_getaffinity tells.
 */
#ifndef DROVE_BASE_GROUP_H
#define DROVE_BASE_GROUP_H

#include <stdint.h>

typedef struct drove_group {
    uint64_t memory_most; /* bytes; UINT64_MAX: no limit */
    uint64_t memory_left; /* bytes until then, pages of files counted as free; likewise */
    double   processors;  /* seconds of processors that a second has, > 0; INFINITY: no limit */
} drove_group;

/* root: "" for this machine, or a folder with a recorded one's proc/self/cgroup,
 * proc/self/mountinfo and groups.  Where /proc is hidden, the groups are looked for in
 * /sys/fs/cgroup.  What cannot be read is no limit. */
void drove__group_read(const char *root, drove_group *out);

#endif
