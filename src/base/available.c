/* base/available.c - available memory on Linux: /proc/meminfo and control groups, version 2. */
#include "base/available.h"

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

/* Bytes; UINT64_MAX: not known. */
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

static FILE *open_in(const char *folder, const char *name, char path[PATH_MAX])
{
    int n = snprintf(path, PATH_MAX, "%s/%s", folder, name);
    return n < PATH_MAX ? fopen(path, "r") : NULL;
}

static uint64_t number_in(const char *folder, const char *name)
{
    char path[PATH_MAX];
    uint64_t out = UINT64_MAX;
    FILE *f = open_in(folder, name, path);
    if (f == NULL) return out;
    if (fscanf(f, "%" SCNu64, &out) != 1) out = UINT64_MAX; /* "max" */
    fclose(f);
    return out;
}

/* File pages in the group's usage; the system drops them when memory is needed. */
static uint64_t pages_of_files(const char *folder)
{
    char path[PATH_MAX], line[128];
    uint64_t n, sum = 0;
    FILE *f = open_in(folder, "memory.stat", path);
    if (f == NULL) return 0;
    while (fgets(line, sizeof line, f) != NULL) {
        bool is_file = sscanf(line, "inactive_file %" SCNu64, &n) == 1 ||
                       sscanf(line, "active_file %" SCNu64, &n) == 1;
        if (is_file) sum += n;
    }
    fclose(f);
    return sum;
}

uint64_t drove__memory_left_by_group(const char *folder)
{
    uint64_t most = number_in(folder, "memory.max"), used = number_in(folder, "memory.current");
    if (most == UINT64_MAX || used == UINT64_MAX) return UINT64_MAX;
    uint64_t files = pages_of_files(folder);
    used -= files < used ? files : used;
    return most > used ? most - used : 0;
}

uint64_t drove__memory_available(void)
{
    /* the group of this process, seen as the root of its tree */
    uint64_t system = from_meminfo(), group = drove__memory_left_by_group("/sys/fs/cgroup");
    uint64_t least = system < group ? system : group;
    if (least != UINT64_MAX) return least;
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : 0;
}
