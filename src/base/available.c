/* base/available.c - see available.h.  Linux: /proc/meminfo and control groups of version 2. */
#include "base/available.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

/* UINT64_MAX: not known. */
static uint64_t from_meminfo(void)
{
    char line[128];
    uint64_t kib, out = UINT64_MAX;
    FILE *f = fopen("/proc/meminfo", "r");
    if (f == NULL) return out;
    while (out == UINT64_MAX && fgets(line, sizeof line, f) != NULL) {
        if (sscanf(line, "MemAvailable: %" SCNu64 " kB", &kib) == 1) out = kib * 1024;
    }
    fclose(f);
    return out;
}

static uint64_t number_in(const char *path)
{
    uint64_t out = UINT64_MAX;
    FILE *f = fopen(path, "r");
    if (f == NULL) return out;
    if (fscanf(f, "%" SCNu64, &out) != 1) out = UINT64_MAX; /* "max" */
    fclose(f);
    return out;
}

/* What the group of this process, seen as the root of its tree, leaves. */
static uint64_t from_group(void)
{
    uint64_t most = number_in("/sys/fs/cgroup/memory.max");
    uint64_t used = number_in("/sys/fs/cgroup/memory.current");
    if (most == UINT64_MAX || used == UINT64_MAX) return UINT64_MAX;
    return most > used ? most - used : 0;
}

uint64_t drove__memory_available(void)
{
    uint64_t system = from_meminfo(), group = from_group();
    uint64_t least = system < group ? system : group;
    if (least != UINT64_MAX) return least;
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : 0;
}
