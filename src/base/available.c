/* base/available.c - memory and processors on Linux: /proc/meminfo, affinity, control groups. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* CPU_COUNT */
#endif
#include "base/available.h"

#include "base/group.h"

#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static uint64_t of_machine(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : 0;
}

uint64_t drove__memory_available(void)
{
    drove_group group;
    drove__group_read("", &group);
    char line[128];
    uint64_t kib, system = UINT64_MAX; /* bytes; UINT64_MAX: not known */
    FILE *f = fopen("/proc/meminfo", "re");
    while (f != NULL && system == UINT64_MAX && fgets(line, sizeof line, f) != NULL)
        if (sscanf(line, "MemAvailable: %" SCNu64 " kB", &kib) == 1) system = kib * 1024;
    if (f != NULL) fclose(f);
    uint64_t least = system < group.memory_left ? system : group.memory_left;
    return least != UINT64_MAX ? least : of_machine();
}

uint64_t drove__memory_most(void)
{
    drove_group group;
    drove__group_read("", &group);
    uint64_t machine = of_machine();
    if (machine == 0) return group.memory_most != UINT64_MAX ? group.memory_most : 0;
    return machine < group.memory_most ? machine : group.memory_most;
}

unsigned drove__processors_allowed(void)
{
    cpu_set_t allowed;
    int n = sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
    return n > 1 ? (unsigned)n : 1;
}

unsigned drove__processors_available(void)
{
    drove_group group;
    drove__group_read("", &group);
    const unsigned n = drove__processors_allowed();
    double most = fmax(ceil(group.processors), 1.0);
    return (double)n <= most ? n : (unsigned)most;
}

bool drove__memory_is_there(size_t size_bytes)
{
    enum { TIMES = 64, LEAST = 1 << 20 }; /* more than any parser makes of a byte */
    size_t wanted;
    if (__builtin_mul_overflow(size_bytes, TIMES, &wanted) ||
        __builtin_add_overflow(wanted, LEAST, &wanted) || wanted > PTRDIFF_MAX)
        return false;
    void *volatile probe = malloc(wanted); /* volatile: must not be left out */
    free(probe);
    return probe != NULL;
}
