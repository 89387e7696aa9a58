/* base/group.c - see group.h; files as in cgroups(7) and proc(5).
 *
 * A controller (memory, cpu) is mounted either by itself (version 1, "cgroup" with its name among
 * the options) or with all others (version 2, "cgroup2").  In a container a mount may show a
 * group's folder as its root: the part of the group's path that is the mount's root is left out.
 */
#include "base/group.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { LINE_SIZE = 2 * PATH_MAX };

/* A group's folder, and the mount's, above which nothing is looked at. */
typedef struct place {
    char path[LINE_SIZE];
    size_t n_mount; /* characters of `path` */
    bool is_first;  /* version 1 */
    bool is_there;
} place;

/* ---- numbers in files ---- */

static FILE *open_in(const char *folder, const char *name)
{
    char path[LINE_SIZE + 64];
    int n = snprintf(path, sizeof path, "%s/%s", folder, name);
    return n > 0 && (size_t)n < sizeof path ? fopen(path, "re") : NULL;
}

/* UINT64_MAX: no such file, or no number in it ("max", -1). */
static uint64_t number_in(const char *folder, const char *name)
{
    char text[64] = "";
    uint64_t out;
    FILE *f = open_in(folder, name);
    if (f == NULL) return UINT64_MAX;
    bool is_number = fgets(text, sizeof text, f) != NULL && sscanf(text, "%" SCNu64, &out) == 1 &&
                     strchr(text, '-') == NULL;
    fclose(f);
    return is_number ? out : UINT64_MAX;
}

/* ---- limits of one folder ---- */

static void limit_memory(const char *folder, bool is_first, drove_group *out)
{
    uint64_t most = number_in(folder, is_first ? "memory.limit_in_bytes" : "memory.max");
    uint64_t used = number_in(folder, is_first ? "memory.usage_in_bytes" : "memory.current");
    if (most == UINT64_MAX) return;
    if (most < out->memory_most) out->memory_most = most;
    if (used == UINT64_MAX) return;
    /* File pages in the group's usage; the system drops them when memory is needed. */
    char line[128], name[64];
    uint64_t n, files = 0;
    const char *active = is_first ? "total_active_file" : "active_file";
    const char *inactive = is_first ? "total_inactive_file" : "inactive_file";
    FILE *f = open_in(folder, "memory.stat");
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        bool is_line = sscanf(line, "%63s %" SCNu64, name, &n) == 2;
        if (is_line && (strcmp(name, active) == 0 || strcmp(name, inactive) == 0)) files += n;
    }
    if (f != NULL) fclose(f);
    used -= files < used ? files : used;
    uint64_t left = most > used ? most - used : 0;
    if (left < out->memory_left) out->memory_left = left;
}

static void limit_processors(const char *folder, bool is_first, drove_group *out)
{
    uint64_t quota = UINT64_MAX, period = UINT64_MAX;
    if (is_first) {
        quota = number_in(folder, "cpu.cfs_quota_us");
        period = number_in(folder, "cpu.cfs_period_us");
    } else {
        FILE *f = open_in(folder, "cpu.max");
        if (f == NULL) return;
        if (fscanf(f, "%" SCNu64 " %" SCNu64, &quota, &period) != 2) quota = UINT64_MAX; /* "max" */
        fclose(f);
    }
    if (quota == UINT64_MAX || period == UINT64_MAX || quota == 0 || period == 0) return;
    out->processors = fmin(out->processors, (double)quota / (double)period);
}

/* ---- where the groups are ---- */

static bool has_word(const char *list, const char *word)
{
    const size_t n = strlen(word);
    for (const char *at = list; (at = strstr(at, word)) != NULL; at += n)
        if ((at == list || at[-1] == ',') && (at[n] == ',' || at[n] == '\0')) return true;
    return false;
}

/* \040 and others, as mountinfo has blanks. */
static void unescape(char *text)
{
    char *to = text;
    for (const char *from = text; *from != '\0'; to++) {
        unsigned code;
        bool is_code = *from == '\\' && sscanf(from + 1, "%3o", &code) == 1;
        *to = is_code ? (char)code : *from;
        from += is_code ? 4 : 1;
    }
    *to = '\0';
}

/* Mount root and mount point of a line of mountinfo that mounts this controller. */
static bool read_mount(char *line, const char *controller, bool is_first, char **top, char **point)
{
    char *field[6], *rest = line;
    for (size_t i = 0; i < 6; i++) {
        field[i] = strtok_r(rest, " ", &rest);
        if (field[i] == NULL) return false;
    }
    char *end = strstr(rest, "- "), *type = NULL, *options = NULL;
    if (end == NULL) return false;
    rest = end + 2;
    type = strtok_r(rest, " ", &rest);
    (void)strtok_r(rest, " ", &rest); /* what is mounted */
    options = strtok_r(rest, " \n", &rest);
    if (type == NULL || strcmp(type, is_first ? "cgroup" : "cgroup2") != 0) return false;
    if (is_first && (options == NULL || !has_word(options, controller))) return false;
    unescape(field[3]);
    unescape(field[4]);
    *top = field[3];
    *point = field[4];
    return true;
}

static void find_place(const char *root, const char *controller, bool is_first, place *out)
{
    char group[LINE_SIZE] = "", line[LINE_SIZE], *top, *point;
    *out = (place){.is_first = is_first};

    /* The group of this process for the controller; "": none of that version. */
    FILE *f = open_in(root, "proc/self/cgroup");
    if (f == NULL) return;
    while (group[0] == '\0' && fgets(line, sizeof line, f) != NULL) {
        char *list = strchr(line, ':'), *at = list != NULL ? strchr(list + 1, ':') : NULL;
        if (at == NULL) continue;
        line[strcspn(line, "\n")] = '\0';
        *at = '\0';
        const bool is_it = is_first ? has_word(list + 1, controller) : list[1] == '\0';
        if (is_it) memcpy(group, at + 1, strlen(at + 1) + 1);
    }
    fclose(f);

    /* Its folder. */
    f = group[0] != '\0' ? open_in(root, "proc/self/mountinfo") : NULL;
    if (f == NULL) return;
    while (!out->is_there && fgets(line, sizeof line, f) != NULL) {
        if (!read_mount(line, controller, is_first, &top, &point)) continue;
        /* The group's folder below the mount point. */
        const size_t n_top = strcmp(top, "/") == 0 ? 0 : strlen(top);
        bool is_below =
            strncmp(group, top, n_top) == 0 && (group[n_top] == '/' || group[n_top] == '\0');
        const char *rest = is_below && strstr(group, "/..") == NULL ? group + n_top : "";
        if (strcmp(rest, "/") == 0) rest = "";
        int n = snprintf(out->path, sizeof out->path, "%s%s%s", root, point, rest);
        out->n_mount = strlen(root) + strlen(point);
        out->is_there = n > 0 && (size_t)n < sizeof out->path;
    }
    fclose(f);
}

/* ---- all folders on the way up ---- */

void drove__group_read(const char *root, drove_group *out)
{
    static const struct {
        const char *controller;
        void (*read)(const char *folder, bool is_first, drove_group *out);
    } kinds[] = {{"memory", limit_memory}, {"cpu", limit_processors}};
    *out = (drove_group){UINT64_MAX, UINT64_MAX, INFINITY};
    FILE *f = open_in(root, "proc/self/cgroup");
    const bool has_proc = f != NULL;
    if (f != NULL) fclose(f);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        for (int is_first = 0; is_first < 2; is_first++) {
            place at;
            if (has_proc) find_place(root, kinds[i].controller, is_first, &at);
            else {
                /* where the groups usually are */
                at = (place){.is_first = is_first};
                int n = snprintf(at.path, sizeof at.path, "%s/sys/fs/cgroup%s%s", root,
                                 is_first ? "/" : "", is_first ? kinds[i].controller : "");
                at.is_there = n > 0 && (size_t)n < sizeof at.path;
                at.n_mount = strlen(at.path);
            }
            while (at.is_there) { /* every group above limits, too */
                kinds[i].read(at.path, at.is_first, out);
                char *slash = strrchr(at.path, '/');
                at.is_there = slash != NULL && (size_t)(slash - at.path) >= at.n_mount;
                if (at.is_there) *slash = '\0';
            }
        }
    }
}
