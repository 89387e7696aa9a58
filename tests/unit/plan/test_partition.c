/* Groups of cores on recorded machines, and the capacity rule with the paper's figures. */
#include "base/mem.h"
#include "base/topo.h"
#include "plan/partition.h"
#include "support/test.h"

#include <hwloc.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CORES = 128 };

/* Knights Landing with 68 cores in four clusters (SNC-4), each with 24 GB of DDR and 4 GB of MCDRAM
 * in flat mode. */
#define KNL                                                                                        \
    "Package:1 Group:4 [NUMANode(memory=25769803776)] [NUMANode(memory=4294967296)] Core:17 PU:4"
/* Two sockets of 12 cores, each with its own memory and 30 MB of cache. */
#define XEON                                                                                       \
    "Package:2 [NUMANode(memory=68719476736)] L3:1(size=31457280) L2:12(size=262144) Core:1 PU:2"
/* One socket, two dies, each with two caches shared by four cores. */
#define DIES "Package:1 Group:2 [NUMANode(memory=1073741824)] L3:2(size=16777216) Core:4 PU:1"

static drove_topo *synthetic(const char *levels)
{
    char source[256];
    drove_topo *topo;
    snprintf(source, sizeof source, "synthetic:%s", levels);
    if (drove__topo_create(source, &topo) != DROVE_OK) fail_msg("%s", drove_error_text());
    return topo;
}

/* The same with every second NUMA node named MCDRAM, as hwloc writes down such a machine. */
static drove_topo *knl(void)
{
    hwloc_topology_t h;
    drove_topo *topo;
    hwloc_obj_t node = NULL;
    assert_int_equal(hwloc_topology_init(&h), 0);
    assert_int_equal(hwloc_topology_set_synthetic(h, KNL), 0);
    assert_int_equal(hwloc_topology_load(h), 0);
    while ((node = hwloc_get_next_obj_by_type(h, HWLOC_OBJ_NUMANODE, node)) != NULL) {
        if (node->attr->numanode.local_memory > (hwloc_uint64_t)8 << 30) continue;
        free(node->subtype);
        node->subtype = strdup("MCDRAM");
    }
    assert_int_equal(hwloc_topology_export_xml(h, "knl.xml", 0), 0);
    hwloc_topology_destroy(h);
    if (drove__topo_create("xml:knl.xml", &topo) != DROVE_OK) fail_msg("%s", drove_error_text());
    return topo;
}

/* Sizes of the groups, or, where there are none, sizes[0] == 0. */
static void expect_groups(const drove_topo *topo, unsigned n, const unsigned *sizes)
{
    drove_place place[MOST_CORES];
    unsigned group[MOST_CORES], found[MOST_CORES] = {0};
    drove_topo_facts facts;
    drove__topo_facts(topo, &facts);
    assert_true(facts.n_cores <= MOST_CORES);
    bool is_there = drove__topo_partition(topo, n, place, group);
    if (is_there != (sizes[0] != 0)) fail_msg("%u groups: %s", n, is_there ? "there" : "not there");
    if (!is_there) return;
    for (unsigned i = 0; i < facts.n_cores; i++) {
        assert_true(group[i] < n);
        found[group[i]]++;
        for (unsigned k = 0; k < i; k++) assert_int_not_equal(place[k].core, place[i].core);
    }
    for (unsigned g = 0; g < n; g++) assert_int_equal(found[g], sizes[g]);
}

TEST(test_clusters_are_not_cut)
{
    drove_topo *topo = knl();
    drove_topo_facts facts;
    drove__topo_facts(topo, &facts);
    assert_int_equal(facts.n_cores, 68);
    assert_string_equal(facts.fast_name, "MCDRAM");
    assert_true(facts.fast_bytes == (uint64_t)16 << 30);
    expect_groups(topo, 1, (const unsigned[]){68});
    expect_groups(topo, 2, (const unsigned[]){34, 34});
    expect_groups(topo, 3, (const unsigned[]){0});
    expect_groups(topo, 4, (const unsigned[]){17, 17, 17, 17});
    expect_groups(topo, 6, (const unsigned[]){0});
    expect_groups(topo, 8, (const unsigned[]){9, 8, 9, 8, 9, 8, 9, 8});
    expect_groups(topo, 17, (const unsigned[]){0});
    expect_groups(topo, 69, (const unsigned[]){0});
    expect_groups(topo, 0, (const unsigned[]){0});
    drove__topo_destroy(topo);
}

TEST(test_sockets_and_caches_are_not_cut)
{
    drove_topo *xeon = synthetic(XEON), *dies = synthetic(DIES);
    expect_groups(xeon, 2, (const unsigned[]){12, 12});
    expect_groups(xeon, 3, (const unsigned[]){0});
    expect_groups(xeon, 4, (const unsigned[]){6, 6, 6, 6});
    expect_groups(xeon, 10, (const unsigned[]){3, 2, 3, 2, 2, 3, 2, 3, 2, 2});
    expect_groups(dies, 2, (const unsigned[]){8, 8});
    expect_groups(dies, 4, (const unsigned[]){4, 4, 4, 4});
    expect_groups(dies, 6, (const unsigned[]){0}); /* three groups of a die cut its caches */
    expect_groups(dies, 8, (const unsigned[]){2, 2, 2, 2, 2, 2, 2, 2});
    drove__topo_destroy(xeon);
    drove__topo_destroy(dies);
}

/* Section 6.2: AlexNet of 249 MB and a copy of CIFAR of 687 MB; MCDRAM holds 16 of both. */
TEST(test_the_papers_capacity_rule)
{
    const double copy_bytes = (249.0 + 687.0) * 1e6;
    drove_topo *topo = knl();
    drove_partition p;
    assert_int_equal(drove__partition_plan(topo, 0, copy_bytes, &p), DROVE_OK);
    assert_int_equal(p.n, 16);
    assert_int_equal(p.suggested, 16);
    assert_true(drove__partition_fits(&p));
    assert_true(p.group[0].n_cores >= 4 && p.group[15].n_cores >= 4);
    drove__partition_fini(&p);
    assert_int_equal(drove__partition_plan(topo, 20, copy_bytes, &p), DROVE_OK);
    assert_int_equal(p.n, 20);
    assert_false(drove__partition_fits(&p));
    assert_int_equal(p.suggested, 16);
    drove__partition_fini(&p);
    /* Not one copy fits: a group for each cluster, whose own memory holds its copy. */
    assert_int_equal(drove__partition_plan(topo, 0, 20e9, &p), DROVE_OK);
    assert_int_equal(p.n, 4);
    assert_false(drove__partition_fits(&p));
    drove__partition_fini(&p);
    drove__topo_destroy(topo);
}

TEST(test_caches_are_the_fast_memory_of_others)
{
    drove_topo *topo = synthetic(XEON);
    drove_partition p;
    assert_int_equal(drove__partition_plan(topo, 0, 20e6, &p), DROVE_OK); /* of 2 x 31.5 MB */
    assert_string_equal(p.fast_name, "L3");
    assert_true(p.fast_bytes == 2 * 31457280.0);
    assert_int_equal(p.n, 2);
    drove__partition_fini(&p);
    drove__topo_destroy(topo);
}

TEST(test_what_the_topology_cannot_give)
{
    drove_topo *topo = synthetic(XEON);
    drove_partition p = {0};
    assert_int_equal(drove__partition_plan(topo, 3, 1.0, &p), DROVE_E_ARG);
    assert_non_null(strstr(drove_error_text(), "--partition 3: expected groups that cut no"));
    assert_non_null(strstr(drove_error_text(), "(1, 2, 4, 6, 8"));
    drove__topo_destroy(topo);
}
