/* Placement on recorded machines, worked by hand, and binding and memory on this one.
 *
 * ctest: apart: starts itself again */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* CPU sets */
#endif
#include "support.h"

#include "base/mem.h"
#include "base/topo.h"

#include <hwloc.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* The thesis's machine: two sockets, each with eight cores of two hyper-threads and its own memory.
 * PUs are numbered core by core: core c of the machine has PUs 2 c and 2 c + 1. */
#define THESIS_LEVELS                                                                              \
    "Package:2 NUMANode:1 L3:1(size=20971520) L2:8(size=262144) L1d:1(size=32768) Core:1 PU:2"
#define THESIS "synthetic:" THESIS_LEVELS

enum { CORES = 16, PUS = 32 };

static drove_topo *make(const char *source)
{
    drove_topo *topo;
    assert_ok(drove__topo_create(source, &topo));
    return topo;
}

static void expect_place(drove_place place, int pu, int core, int node)
{
    assert_int_equal(place.pu, pu);
    assert_int_equal(place.core, core);
    assert_int_equal(place.node, node);
}

static void check_thesis_compact(const drove_topo *topo)
{
    drove_place place[PUS + 3];
    drove__topo_place(topo, DROVE_BIND_COMPACT, PUS + 3, place);
    for (int i = 0; i < CORES; i++) expect_place(place[i], 2 * i, i, i / 8);
    for (int i = 0; i < CORES; i++) expect_place(place[CORES + i], 2 * i + 1, i, i / 8);
    for (int i = 0; i < 3; i++) expect_place(place[PUS + i], 2 * i, i, 0); /* round again */
}

/* Worker i goes to node i mod 2, there to the next core. */
static void check_thesis_spread(const drove_topo *topo)
{
    drove_place place[PUS + 3];
    drove__topo_place(topo, DROVE_BIND_SPREAD, PUS + 3, place);
    for (int i = 0; i < PUS; i++) {
        int node = i % 2, core = node * 8 + i % 16 / 2, thread = i / 16;
        expect_place(place[i], 2 * core + thread, core, node);
    }
    for (int i = 0; i < 3; i++)
        expect_place(place[PUS + i], place[i].pu, place[i].core, place[i].node);
}

TEST(test_thesis_machine)
{
    drove_topo *topo = make(THESIS);
    drove_topo_facts facts;
    drove__topo_facts(topo, &facts);
    assert_int_equal(facts.n_pus, PUS);
    assert_int_equal(facts.n_cores, CORES);
    assert_int_equal(facts.n_nodes, 2);
    assert_int_equal(facts.n_packages, 2);
    assert_int_equal(facts.l1d_bytes, 32 << 10);
    assert_int_equal(facts.l2_bytes, 256 << 10);
    assert_int_equal(facts.l3_bytes, 20 << 20);
    assert_true(facts.memory_bytes > 0);
    assert_int_equal(facts.is_this_machine, 0);
    check_thesis_compact(topo);
    check_thesis_spread(topo);
    drove__topo_destroy(topo);
    drove__topo_destroy(NULL);
}

/* Section 3.2: with 7 workers, UMA keeps all on one socket, NUMA has 4 on one and 3 on the
 * other. */
TEST(test_seven_and_eight_workers)
{
    drove_topo *topo = make("synthetic:numa:2 core:8 pu:2");
    drove_place place[8];
    drove__topo_place(topo, DROVE_BIND_COMPACT, 8, place);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(place[i].node, 0);
        for (int j = 0; j < i; j++) assert_int_not_equal(place[i].core, place[j].core);
    }
    drove__topo_place(topo, DROVE_BIND_SPREAD, 7, place);
    int n_on_node[2] = {0, 0};
    for (int i = 0; i < 7; i++) {
        n_on_node[place[i].node]++;
        for (int j = 0; j < i; j++) assert_int_not_equal(place[i].core, place[j].core);
    }
    assert_int_equal(n_on_node[0], 4);
    assert_int_equal(n_on_node[1], 3);
    drove__topo_place(topo, DROVE_BIND_NONE, 8, place);
    for (int i = 0; i < 8; i++) expect_place(place[i], -1, -1, -1);
    drove__topo_destroy(topo);
}

TEST(test_other_machines)
{
    drove_place place[12];
    drove_topo *topo = make("synthetic:numa:3 core:2 pu:1");
    static const int spread_pu[] = {0, 2, 4, 1, 3, 5, 0, 2, 4, 1, 3, 5};
    drove__topo_place(topo, DROVE_BIND_SPREAD, 12, place);
    for (int i = 0; i < 12; i++)
        expect_place(place[i], spread_pu[i], spread_pu[i], spread_pu[i] / 2);
    drove__topo_destroy(topo);

    topo = make("synthetic:pu:4"); /* no cores, no packages known */
    drove_topo_facts facts;
    drove__topo_facts(topo, &facts);
    assert_int_equal(facts.n_pus, 4);
    assert_int_equal(facts.n_cores, 4);
    drove__topo_place(topo, DROVE_BIND_COMPACT, 12, place);
    for (int i = 0; i < 12; i++) expect_place(place[i], i % 4, i % 4, 0);
    drove__topo_destroy(topo);

    topo = make("synthetic:core:1 pu:1");
    drove__topo_place(topo, DROVE_BIND_SPREAD, 12, place);
    for (int i = 0; i < 12; i++) expect_place(place[i], 0, 0, 0);
    drove__topo_destroy(topo);
}

/* Operating systems often number the second hyper-threads after all the first ones; and nodes of
 * unequal size. */
static void export_machine(const char *path, const char *description, const char *kept)
{
    hwloc_topology_t hwloc;
    assert_int_equal(hwloc_topology_init(&hwloc), 0);
    assert_int_equal(hwloc_topology_set_synthetic(hwloc, description), 0);
    assert_int_equal(hwloc_topology_load(hwloc), 0);
    if (kept != NULL) {
        hwloc_bitmap_t set = hwloc_bitmap_alloc();
        assert_int_equal(hwloc_bitmap_list_sscanf(set, kept), 0);
        assert_int_equal(hwloc_topology_restrict(hwloc, set, 0), 0);
        hwloc_bitmap_free(set);
    }
    assert_int_equal(hwloc_topology_export_xml(hwloc, path, 0), 0);
    hwloc_topology_destroy(hwloc);
}

TEST(test_recorded_in_xml)
{
    export_machine("thesis.xml", THESIS_LEVELS, NULL);
    drove_topo *topo = make("xml:thesis.xml");
    check_thesis_compact(topo);
    check_thesis_spread(topo);
    drove__topo_destroy(topo);
    unlink("thesis.xml");
}

TEST(test_unequal_nodes)
{
    /* Two nodes of 3 cores with 2 PUs; node 0 keeps one PU of core 0 and core 1 whole, node 1
     * all. */
    export_machine("unequal.xml", "NUMANode:2 Core:3 PU:2", "1-3,6-11");
    drove_topo *topo = make("xml:unequal.xml");
    drove_place place[10];
    drove__topo_place(topo, DROVE_BIND_COMPACT, 10, place);
    static const int compact[] = {1, 2, 6, 8, 10, 3, 7, 9, 11, 1};
    for (int i = 0; i < 10; i++) assert_int_equal(place[i].pu, compact[i]);
    drove__topo_place(topo, DROVE_BIND_SPREAD, 10, place);
    static const int spread[] = {1, 6, 2, 8, 10, 3, 7, 9, 11, 1};
    for (int i = 0; i < 10; i++) {
        assert_int_equal(place[i].pu, spread[i]);
        assert_int_equal(place[i].node, spread[i] >= 6);
    }
    drove__topo_destroy(topo);
    unlink("unequal.xml");
}

TEST(test_wrong_sources)
{
    drove_topo *topo = (drove_topo *)1;
    static const char *const wrong[] = {"",
                                        "numa:2 core:2 pu:1",
                                        "synthetic:",
                                        "synthetic:nonsense",
                                        "synthetic:core:0 pu:1",
                                        "synthetic:core:x",
                                        "xml:",
                                        "xml:absent.xml",
                                        "xml:broken.xml",
                                        "xml:."};
    write_bytes("broken.xml", "<?xml version=\"1.0\"?><topology><object type=\"Mach", 50);
    for (size_t i = 0; i < DROVE_COUNT(wrong); i++) {
        assert_fails(drove__topo_create(wrong[i], &topo), DROVE_E_ARG, "topology");
        assert_null(topo);
    }
    unlink("broken.xml");
}

/* ---- this machine ---- */

TEST(test_this_machine)
{
    drove_topo *topo = make(NULL);
    drove_topo_facts facts;
    drove__topo_facts(topo, &facts);
    cpu_set_t allowed;
    assert_int_equal(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    assert_int_equal(facts.n_pus, CPU_COUNT(&allowed));
    assert_true(facts.is_this_machine && facts.n_cores >= 1 && facts.n_nodes >= 1);
    drove_place *place = calloc(2 * facts.n_pus, sizeof *place);
    assert_non_null(place);
    for (int bind = DROVE_BIND_COMPACT; bind <= DROVE_BIND_SPREAD; bind++) {
        drove__topo_place(topo, (drove_bind)bind, 2 * facts.n_pus, place);
        for (unsigned i = 0; i < facts.n_pus; i++) {
            assert_true(CPU_ISSET(place[i].pu, &allowed));
            assert_memory_equal(&place[i], &place[i + facts.n_pus], sizeof *place);
            for (unsigned j = 0; j < i; j++) assert_int_not_equal(place[i].pu, place[j].pu);
        }
    }
    free(place);
    drove__topo_destroy(topo);
}

/* In a child process, so that this one keeps its processors: 0 if all is well. */
static int bind_in_child(const drove_topo *topo, unsigned n_pus)
{
    drove_place *place = calloc(n_pus, sizeof *place);
    if (place == NULL) return 1;
    drove__topo_place(topo, DROVE_BIND_COMPACT, n_pus, place);
    for (unsigned i = 0; i < n_pus; i++) {
        cpu_set_t bound;
        if (drove__topo_bind_self(topo, &place[i]) != DROVE_OK) return 2;
        if (sched_getaffinity(0, sizeof bound, &bound) != 0) return 3;
        if (CPU_COUNT(&bound) != 1 || !CPU_ISSET(place[i].pu, &bound)) return 4;
        if (sched_getcpu() != place[i].pu) return 5;
    }
    drove_place nowhere = {-1, -1, -1};
    if (drove__topo_bind_self(topo, &nowhere) != DROVE_OK) return 6;
    drove_place absent = {100000, 0, 0};
    if (drove__topo_bind_self(topo, &absent) != DROVE_E_SYSTEM) return 7;
    free(place);
    return 0;
}

TEST(test_binding)
{
    drove_topo *topo = make(NULL);
    drove_topo_facts facts;
    drove__topo_facts(topo, &facts);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) _exit(bind_in_child(topo, facts.n_pus));
    int how;
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFEXITED(how));
    assert_int_equal(WEXITSTATUS(how), 0);
    drove__topo_destroy(topo);
}

/* This program once more, allowed one processor before any of its threads exists, as by taskset. */
TEST(test_restricted_process)
{
    drove_topo *topo = make(NULL);
    drove_topo_facts facts;
    drove_place last;
    drove__topo_facts(topo, &facts);
    drove_place *place = calloc(facts.n_pus, sizeof *place);
    assert_non_null(place);
    drove__topo_place(topo, DROVE_BIND_COMPACT, facts.n_pus, place);
    last = place[facts.n_pus - 1];
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        cpu_set_t one;
        char pu[16];
        snprintf(pu, sizeof pu, "%d", last.pu);
        CPU_ZERO(&one);
        CPU_SET(last.pu, &one);
        if (sched_setaffinity(0, sizeof one, &one) != 0) _exit(20);
        execl("/proc/self/exe", "test_topo", pu, (char *)NULL);
        _exit(21);
    }
    int how;
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFEXITED(how));
    assert_int_equal(WEXITSTATUS(how), 0);
    free(place);
    drove__topo_destroy(topo);
}

/* The second life of test_restricted_process: 0 if exactly the processor named is seen. */
int drove_test_started_again(int argc, char **argv)
{
    const char *pu = argv[1];
    drove_topo *topo;
    drove_topo_facts facts;
    drove_place place[2];
    if (argc != 2 || drove__topo_create(NULL, &topo) != DROVE_OK) return 1;
    drove__topo_facts(topo, &facts);
    if (facts.n_pus != 1 || facts.n_cores != 1 || facts.n_nodes != 1) return 2;
    drove__topo_place(topo, DROVE_BIND_SPREAD, 2, place);
    if (place[0].pu != atoi(pu) || place[1].pu != atoi(pu)) return 3;
    if (drove__topo_bind_self(topo, &place[1]) != DROVE_OK) return 4;
    drove__topo_destroy(topo);
    return 0;
}

TEST(test_recorded_machines_bind_nothing)
{
    cpu_set_t before, after;
    drove_topo *topo = make(THESIS);
    drove_place place = {31, 15, 1};
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    assert_ok(drove__topo_bind_self(topo, &place));
    assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
    assert_true(CPU_EQUAL(&before, &after));
    drove__topo_destroy(topo);
}

TEST(test_memory)
{
    static const char *const sources[] = {NULL, THESIS};
    static const size_t sizes[] = {0, 1, 100, 4096, 100000, (size_t)9 << 20};
    for (size_t s = 0; s < 2; s++) {
        drove_topo *topo = make(sources[s]);
        drove_topo_facts facts;
        drove__topo_facts(topo, &facts);
        for (int node = -1; node < (int)facts.n_nodes; node++) {
            for (size_t i = 0; i < DROVE_COUNT(sizes); i++) {
                unsigned char *memory = drove__topo_alloc(topo, sizes[i], node);
                assert_non_null(memory);
                assert_int_equal((uintptr_t)memory % 64, 0);
                for (size_t j = 0; j < sizes[i]; j++) assert_int_equal(memory[j], 0);
                memset(memory, 1, sizes[i]);
                drove__topo_free(topo, memory, sizes[i]);
            }
        }
        assert_null(drove__topo_alloc(topo, SIZE_MAX / 2, 0));
        drove__topo_free(topo, NULL, 10);
        drove__topo_destroy(topo);
    }
}

/* The kernel's policy for the mapping at memory ("bind:0", "prefer"), or "" where it does not
 * tell. */
static void read_policy(const void *memory, char policy[64])
{
    char line[4096];
    policy[0] = '\0';
    FILE *file = fopen("/proc/self/numa_maps", "r");
    if (file == NULL) return;
    while (fgets(line, sizeof line, file) != NULL) {
        unsigned long long start = 0;
        char word[64] = "";
        if (sscanf(line, "%llx %63s", &start, word) == 2 && start == (uintptr_t)memory) {
            strcpy(policy, word);
        }
    }
    fclose(file);
}

/* hwloc can be told to take a synthetic machine for this one: the way of several nodes then runs
 * here as well, and what the kernel refuses (node 1) is still good memory. */
TEST(test_memory_on_nodes)
{
    assert_int_equal(setenv("HWLOC_SYNTHETIC", "numa:2 core:1 pu:1", 1), 0);
    assert_int_equal(setenv("HWLOC_THISSYSTEM", "1", 1), 0);
    drove_topo *topo;
    drove_topo_facts facts;
    drove_status status = drove__topo_create(NULL, &topo);
    unsetenv("HWLOC_SYNTHETIC");
    unsetenv("HWLOC_THISSYSTEM");
    assert_int_equal(status, DROVE_OK);
    drove__topo_facts(topo, &facts);
    if (facts.n_nodes != 2 || !facts.is_this_machine) {
        drove__topo_destroy(topo);
        print_message("fewer than two processors may be used here: skipped\n");
        skip();
    }
    static const size_t sizes[] = {0, 1, 100000, (size_t)5 << 20};
    for (int node = -1; node < 3; node++) { /* there is no node 2 */
        for (size_t i = 0; i < DROVE_COUNT(sizes); i++) {
            unsigned char *memory = drove__topo_alloc(topo, sizes[i], node);
            assert_non_null(memory);
            assert_int_equal((uintptr_t)memory % 64, 0);
            for (size_t j = 0; j < sizes[i]; j++) assert_int_equal(memory[j], 0);
            memset(memory, 1, sizes[i]);
            char policy[64];
            read_policy(memory, policy);
            if (node == 0 && policy[0] != '\0') assert_non_null(strstr("bind:0 prefer:0", policy));
            drove__topo_free(topo, memory, sizes[i]);
        }
    }
    assert_null(drove__topo_alloc(topo, SIZE_MAX / 2, 0));

    /* Data that workers on node 0 read: memory of the thread that loads them, until it says so. */
    const drove_place on_node_0 = {.pu = 0, .core = 0, .node = 0};
    int mode = -1;
    drove__topo_spread_memory(topo, &on_node_0, 1);
    if (syscall(SYS_get_mempolicy, &mode, NULL, 0, NULL, 0) == 0) {
        assert_int_equal(mode & 0xff, 3); /* MPOL_INTERLEAVE */
        drove__topo_spread_memory(topo, NULL, 0);
        assert_int_equal(syscall(SYS_get_mempolicy, &mode, NULL, 0, NULL, 0), 0);
        assert_int_not_equal(mode & 0xff, 3);
    }
    drove__topo_destroy(topo);
}
