/* Control groups, in recorded trees: the kernel's files, in folders as they are mounted. */
#include "base/group.h"
#include "support/files.h"
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const uint64_t NONE = UINT64_MAX;

/* A file of the tree, with the folders that lead there. */
static void record(const char *root, const char *path, const char *text)
{
    char full[256];
    snprintf(full, sizeof full, "%s/%s", root, path);
    for (char *slash = strchr(full, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(full, 0777);
        *slash = '/';
    }
    write_text(full, text);
}

static void begin(const char *root)
{
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", root);
    assert_int_equal(system(command), 0);
}

static void says(const char *root, uint64_t most, uint64_t left, double processors)
{
    drove_group group;
    drove__group_read(root, &group);
    assert_true(group.memory_most == most);
    assert_true(group.memory_left == left);
    assert_true(group.processors == processors);
}

TEST(nothing_is_no_limit)
{
    begin("empty");
    says("empty", NONE, NONE, INFINITY);
    record("empty", "proc/self/cgroup", "0::/\n");
    says("empty", NONE, NONE, INFINITY);
    record("empty", "proc/self/mountinfo", "garbage\n29 1 0:1 / /\n\n30 1 0:2 / /sys - cgroup2\n");
    says("empty", NONE, NONE, INFINITY);
}

/* Version 2: of 1000 bytes 900 are used, 600 of them by pages of files, which can be had. */
TEST(version_2_in_a_container)
{
    begin("v2");
    record("v2", "proc/self/cgroup", "0::/\n");
    record("v2", "proc/self/mountinfo",
           "29 23 0:26 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw,nsdelegate\n");
    record("v2", "sys/fs/cgroup/memory.max", "max\n");
    record("v2", "sys/fs/cgroup/memory.current", "900\n");
    record("v2", "sys/fs/cgroup/cpu.max", "max 100000\n");
    says("v2", NONE, NONE, INFINITY);
    record("v2", "sys/fs/cgroup/memory.max", "1000\n");
    record("v2", "sys/fs/cgroup/cpu.max", "150000 100000\n");
    record("v2", "sys/fs/cgroup/memory.stat",
           "anon 300\nfile 600\ninactive_anon 1\ninactive_file 200\nactive_file 400\n"
           "workingset_activate_file 7\n");
    says("v2", 1000, 700, 1.5);
    record("v2", "sys/fs/cgroup/memory.stat", "inactive_file 5000\n"); /* read a moment later */
    says("v2", 1000, 1000, 1.5);
    record("v2", "sys/fs/cgroup/memory.stat", "anon 900\n");
    says("v2", 1000, 100, 1.5);
    record("v2", "sys/fs/cgroup/memory.current", "2000\n");
    says("v2", 1000, 0, 1.5);
    assert_int_equal(remove("v2/proc/self/cgroup"), 0); /* /proc is hidden */
    says("v2", 1000, 0, 1.5);
}

/* The least limit of a service's group and of all above it. */
TEST(version_2_on_a_host)
{
    begin("host");
    record("host", "proc/self/cgroup", "0::/system.slice/a.service/worker\n");
    record("host", "proc/self/mountinfo",
           "22 1 8:1 / / rw - ext4 /dev/sda rw\n"
           "29 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n");
    record("host", "sys/fs/cgroup/system.slice/a.service/worker/memory.max", "max\n");
    record("host", "sys/fs/cgroup/system.slice/a.service/worker/cpu.max", "400000 100000\n");
    record("host", "sys/fs/cgroup/system.slice/a.service/memory.max", "5000\n");
    record("host", "sys/fs/cgroup/system.slice/a.service/memory.current", "1000\n");
    record("host", "sys/fs/cgroup/system.slice/memory.max", "9000\n");
    record("host", "sys/fs/cgroup/system.slice/memory.current", "8500\n");
    record("host", "sys/fs/cgroup/system.slice/cpu.max", "50000 100000\n");
    record("host", "sys/fs/cgroup/other/memory.max", "1\n");
    record("host", "sys/fs/memory.max", "2\n"); /* above the mount */
    says("host", 5000, 500, 0.5);
}

/* Version 1: controllers by themselves, cpu together with cpuacct; the path is seen as the mount's
 * root in a container. */
TEST(version_1)
{
    begin("v1");
    record("v1", "proc/self/cgroup",
           "9:name=systemd:/\n5:cpuset,memory:/docker/abc/job\n3:cpu,cpuacct:/docker/abc\n0::/\n");
    record("v1", "proc/self/mountinfo",
           "31 30 0:27 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,cpuset,memory\n"
           "32 30 0:28 /docker/abc /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n"
           "33 30 0:29 / /sys/fs/cgroup/unified ro - cgroup2 cgroup2 rw\n");
    record("v1", "sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    record("v1", "sys/fs/cgroup/memory/memory.usage_in_bytes", "77\n");
    record("v1", "sys/fs/cgroup/memory/job/memory.limit_in_bytes", "3000\n");
    record("v1", "sys/fs/cgroup/memory/job/memory.usage_in_bytes", "2500\n");
    record("v1", "sys/fs/cgroup/memory/job/memory.stat",
           "inactive_file 1\nactive_file 1\ntotal_inactive_file 300\ntotal_active_file 200\n");
    record("v1", "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
    record("v1", "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
    says("v1", 3000, 1000, INFINITY);
    record("v1", "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "300000\n");
    says("v1", 3000, 1000, 3.0);
}

/* A group of another tree than the mount's, names with blanks, a mount at a group of its own. */
TEST(odd_paths)
{
    begin("odd");
    record("odd", "proc/self/cgroup", "0::/../elsewhere\n");
    record("odd", "proc/self/mountinfo",
           "29 23 0:26 / /sys/fs/my\\040groups ro - cgroup2 cgroup rw\n");
    record("odd", "sys/fs/my groups/memory.max", "40\n");
    record("odd", "sys/fs/my groups/memory.current", "10\n");
    record("odd", "sys/fs/elsewhere/memory.max", "1\n");
    says("odd", 40, 30, INFINITY);
    record("odd", "proc/self/cgroup", "0::/abcde\n");
    record("odd", "proc/self/mountinfo",
           "29 23 0:26 /abc /sys/fs/my\\040groups ro - cgroup2 cgroup rw\n");
    record("odd", "sys/fs/my groups/de/memory.max", "1\n");
    says("odd", 40, 30, INFINITY);
    record("odd", "sys/fs/my groups/cpu.max", "0 0\n");
    says("odd", 40, 30, INFINITY);
}
