/* The groups of a coordinator: their batch sizes, worked by hand from what was asked for and
 * measured; what each group's worker is told; and saved states that make no sense. */
#include "coord/groups.h"
#include "support/test.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>

enum { ROWS = 40000, MOST_WORKERS = 4 };

typedef struct rig {
    drove_groups g;
    drove_spec spec;
} rig;

static void open_rig(rig *r, const char *spec, drove_source_worker *worker, unsigned n_workers,
                     const drove_groups_options *how)
{
    memset(r, 0, sizeof *r);
    assert_int_equal(drove__spec_parse(spec, &r->spec), DROVE_OK);
    drove_source_options source = {
        .spec = &r->spec, .n_workers = n_workers, .worker = worker, .n_rows = ROWS, .batch = 64};
    for (unsigned i = 0; i < n_workers; i++)
        if (worker[i].group >= source.n_groups) source.n_groups = worker[i].group + 1;
    drove_groups_options opt = *how;
    opt.source = &source;
    if (drove__groups_init(&r->g, &opt) != DROVE_OK) fail_msg("%s", drove_error_text());
}

static void close_rig(rig *r)
{
    drove__groups_fini(&r->g);
    drove__spec_fini(&r->spec);
}

/* ---- sizes ---- */

typedef struct sizes_case {
    const char *spec;
    unsigned n_workers, n_cores; /* 0 cores: a device */
    bool is_apart;
    uint64_t asked[3], measured[2]; /* batch, least, most; least, most */
    uint64_t batch, least, most;
} sizes_case;

/* --batch 64, 40000 examples; sizes of cores count for each, 64 of each at most. */
static const sizes_case sizes[] = {
    /* one b for all */
    {"hogbatch", 1, 0, false, {0, 0, 0}, {0, 0}, 64, 64, 64},
    {"hogbatch", 2, 1, false, {0, 0, 0}, {0, 0}, 64, 64, 64},
    {"hogbatch", 1, 0, false, {10, 0, 0}, {0, 0}, 10, 10, 10},
    {"hogbatch", 3, 1, false, {10, 0, 0}, {0, 0}, 30, 30, 30},
    {"hogbatch", 3, 2, false, {10, 0, 0}, {0, 0}, 60, 60, 60},
    {"hogbatch", 1, 0, false, {0, 100, 0}, {0, 0}, 100, 100, 100},
    {"hogbatch", 1, 0, false, {0, 0, 32}, {0, 0}, 32, 32, 32},
    {"hogbatch", 1, 0, false, {0, 0, 100}, {0, 0}, 64, 64, 100},
    {"hogbatch", 2, 1, false, {0, 16, 40}, {0, 0}, 64, 32, 80},
    {"hogbatch", 1, 0, false, {50000, 0, 0}, {0, 0}, ROWS, ROWS, ROWS},
    /* a device begins at its most */
    {"adaptive", 1, 0, false, {0, 0, 0}, {0, 0}, 8192, 1, 8192},
    {"adaptive", 1, 0, false, {0, 0, 0}, {128, 1024}, 1024, 128, 1024},
    {"adaptive", 1, 0, false, {500, 0, 0}, {128, 1024}, 500, 128, 1024},
    {"adaptive", 1, 0, false, {50, 0, 0}, {128, 1024}, 50, 50, 1024},
    {"adaptive", 1, 0, false, {50, 60, 0}, {128, 1024}, 60, 60, 1024},
    {"adaptive", 1, 0, false, {2000, 0, 0}, {128, 1024}, 2000, 128, 2000},
    {"adaptive", 1, 0, false, {2000, 0, 1500}, {128, 1024}, 1500, 128, 1500},
    {"adaptive", 1, 0, false, {0, 3000, 0}, {128, 1024}, 3000, 3000, 3000},
    {"adaptive", 1, 0, false, {0, 3000, 2000}, {128, 1024}, 2000, 2000, 2000},
    {"adaptive", 1, 0, true, {0, 0, 0}, {128, 1024}, 1024, 128, 1024},
    /* cores begin at their least, over ranks at --batch */
    {"adaptive", 1, 1, false, {0, 0, 0}, {0, 0}, 1, 1, 64},
    {"adaptive", 3, 2, false, {0, 0, 0}, {0, 0}, 6, 6, 384},
    {"hogbatch:mixed", 3, 1, false, {0, 0, 0}, {0, 0}, 3, 3, 192},
    {"adaptive", 3, 1, false, {5, 0, 0}, {0, 0}, 15, 3, 192},
    {"adaptive", 3, 1, false, {100, 0, 0}, {0, 0}, 300, 3, 300},
    {"adaptive", 2, 1, false, {0, 4, 10}, {0, 0}, 8, 8, 20},
    {"adaptive", 2, 1, false, {0, 0, 500}, {0, 0}, 2, 2, 1000},
    {"adaptive", 1, 1, true, {0, 0, 0}, {0, 0}, 64, 1, 64},
    {"adaptive", 1, 2, true, {0, 0, 0}, {0, 0}, 64, 2, 128},
    {"adaptive", 1, 2, true, {0, 0, 20}, {0, 0}, 40, 2, 40},
    {"adaptive", 1, 2, true, {0, 50, 0}, {0, 0}, 100, 100, 128},
};

TEST(sizes_follow_from_what_was_asked_for)
{
    for (size_t k = 0; k < DROVE_COUNT(sizes); k++) {
        const sizes_case *c = &sizes[k];
        drove_source_worker worker[MOST_WORKERS];
        rig r;
        for (unsigned i = 0; i < c->n_workers; i++)
            worker[i] = (drove_source_worker){.name = "one",
                                              .is_device = c->n_cores == 0,
                                              .n_cores = c->n_cores == 0 ? 1 : c->n_cores,
                                              .batch = c->asked[0],
                                              .least = c->asked[1],
                                              .most = c->asked[2],
                                              .measured_least = c->measured[0],
                                              .measured_most = c->measured[1]};
        open_rig(&r, c->spec, worker, c->n_workers,
                 &(drove_groups_options){.is_apart = c->is_apart, .depth = 1});
        const drove_group *of = &r.g.of[0];
        drove_coord_facts f;
        drove__coord_facts(r.g.coord, 0, &f);
        if (of->batch != c->batch || of->least != c->least || of->most != c->most)
            fail_msg("case %zu: %llu in %llu to %llu", k, (unsigned long long)of->batch,
                     (unsigned long long)of->least, (unsigned long long)of->most);
        assert_true(f.batch == c->batch && f.least == c->least && f.most == c->most);
        close_rig(&r);
    }
}

/* ---- what the coordinator is told ---- */

/* Two cores of one group, a team of two cores, and a device. */
static void make_workers(drove_source_worker worker[MOST_WORKERS])
{
    for (unsigned i = 0; i < 2; i++)
        worker[i] = (drove_source_worker){.name = "threads:2", .n_cores = 1, .timeout_s = 9.0};
    worker[2] = (drove_source_worker){.name = "cores:2", .group = 1, .n_cores = 2};
    worker[3] = (drove_source_worker){
        .name = "opencl:0", .group = 2, .n_cores = 1, .is_device = true, .timeout_s = 3.0};
}

static size_t send(rig *r, drove_coord_message m, uint64_t now_ns)
{
    size_t n;
    drove__coord_handle(r->g.coord, &m, now_ns, r->g.action, &n);
    return n;
}

TEST(groups_are_made_of_their_workers)
{
    drove_source_worker worker[MOST_WORKERS];
    rig r;
    make_workers(worker);
    open_rig(&r, "adaptive", worker, 4, &(drove_groups_options){.depth = 2});
    assert_int_equal(r.g.n, 3);
    assert_int_equal(r.g.of[0].n_workers, 2);
    assert_int_equal(r.g.of[0].n_cores, 1);
    assert_string_equal(r.g.of[0].name, "threads:2");
    assert_true(r.g.of[0].timeout_s == 9.0);
    assert_int_equal(r.g.of[1].n_workers, 1);
    assert_int_equal(r.g.of[1].n_cores, 2);
    assert_true(r.g.of[2].is_device && !r.g.of[0].is_device && !r.g.of[1].is_device);
    close_rig(&r);
    open_rig(&r, "adaptive", worker, 4, &(drove_groups_options){.is_apart = true, .depth = 1});
    assert_int_equal(r.g.n, 4); /* ranks: each for itself */
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(r.g.of[i].n_workers, 1);
        assert_string_equal(r.g.of[i].name, worker[i].name);
    }
    close_rig(&r);
}

/* Group 0 alone counts half of its updates and gets 5 ms of work at once.  Its two examples take
 * 1 us, so 5 ms are 2500 batches of 4 where 1024 are the most. */
TEST(threads_that_step_for_themselves)
{
    drove_source_worker worker[MOST_WORKERS];
    rig r;
    make_workers(worker);
    for (unsigned apart = 0; apart < 2; apart++) {
        drove_coord_facts f;
        const drove_groups_options how = {.is_apart = apart, .depth = 2, .has_timeouts = true};
        open_rig(&r, "adaptive?beta=0.5&tail=as-is", worker, 4, &how);
        const unsigned n = r.g.n, device = n - 1;
        drove_coord_message m = {.verb = DROVE_COORD_OPEN,
                                 .limit = UINT64_C(1) << 40,
                                 .most_updates = UINT64_MAX};
        assert_int_equal(send(&r, m, 1000), 2 * n); /* two for each */
        /* a team has no timeout, cores 18 s, the device 6 s */
        assert_int_equal(drove__coord_deadline(r.g.coord), 6000001000);
        const drove_coord_action first = r.g.action[0];
        assert_int_equal(first.range.n, apart ? 64 : 2);
        for (unsigned w = 0; w < n; w++) {
            const drove_coord_message report = {.verb = DROVE_COORD_SCHEDULE,
                                                .worker = w,
                                                .id = 2 * (uint64_t)w + 1,
                                                .n_updates = 2};
            assert_true(send(&r, report, 2000) >= 1);
            drove__coord_facts(r.g.coord, w, &f);
            assert_true(f.u == (w == 0 && !apart ? 1.0 : 2.0));
            if (w == 0 && !apart) assert_int_equal(r.g.action[0].range.n, 4 * 1024);
            else if (w != device) assert_true(r.g.action[0].range.n <= r.g.action[0].batch);
        }
        close_rig(&r);
        if (apart) continue;
        open_rig(&r, "hogbatch?update=coordinator", worker, 4, &how);
        assert_int_equal(send(&r, m, 1000), 3); /* one for each */
        close_rig(&r);
        open_rig(&r, "hogbatch", worker, 4, &(drove_groups_options){.depth = 1});
        (void)send(&r, m, 1000);
        assert_true(drove__coord_deadline(r.g.coord) == UINT64_MAX);
        close_rig(&r);
    }
}

/* ---- saved states ---- */

static const drove_tensor *make_state(drove_tensor out[2], const double *groups, size_t n_groups,
                                      const uint64_t *undone, size_t n_undone)
{
    out[0] = (drove_tensor){.type = DROVE_T_F64, .rank = 1, .shape = {n_groups}, .bytes = groups};
    out[1] = (drove_tensor){.type = DROVE_T_U64, .rank = 1, .shape = {n_undone}, .bytes = undone};
    snprintf(out[0].name, sizeof out[0].name, "groups");
    snprintf(out[1].name, sizeof out[1].name, "undone");
    return out;
}

static drove_status restore(rig *r, drove_tensor *tensor, size_t n, uint64_t next, bool is_same)
{
    const drove_safetensors st = {.n_tensors = n, .tensor = tensor};
    drove_source_worker worker[MOST_WORKERS];
    make_workers(worker);
    open_rig(r, "adaptive?tail=as-is", worker, 4, &(drove_groups_options){.depth = 1});
    return drove__groups_restore(&r->g, &st, next, is_same);
}

TEST(a_state_comes_back)
{
    const double groups[] = {3.5, 10.0, 4.0, 100000.0, 5.0, 7.0}, other[] = {1.0, 2.0};
    const uint64_t undone[] = {100, 5, 0, ROWS};
    drove_tensor t[2], out[3];
    rig r;
    drove_coord_facts f;
    make_state(t, groups, 6, undone, 4);
    assert_int_equal(restore(&r, t, 2, ROWS, true), DROVE_OK);
    drove__coord_facts(r.g.coord, 0, &f);
    assert_true(f.u == 3.5 && f.batch == 10);
    drove__coord_facts(r.g.coord, 1, &f);
    assert_true(f.u == 4.0 && f.batch == 128); /* its most */
    assert_int_equal(drove__coord_next(r.g.coord), ROWS);
    assert_int_equal(drove__groups_tensors(&r.g, out, 3), 2);
    assert_string_equal(out[0].name, "groups");
    assert_true(out[0].type == DROVE_T_F64 && out[0].rank == 1 && out[0].shape[0] == 6);
    static const double saved[] = {3.5, 10.0, 4.0, 128.0, 5.0, 7.0},
                        later[] = {9.5, 11.0, 14.0, 127.0, 25.0, 8.0};
    assert_memory_equal(out[0].bytes, saved, sizeof saved);
    for (unsigned i = 0; i < 3; i++)
        drove__coord_restore_worker(r.g.coord, i, later[2 * i], (uint64_t)later[2 * i + 1]);
    assert_int_equal(drove__groups_tensors(&r.g, out, 3), 2);
    assert_memory_equal(out[0].bytes, later, sizeof later);
    assert_string_equal(out[1].name, "undone");
    assert_true(out[1].type == DROVE_T_U64 && out[1].rank == 1 && out[1].shape[0] == 4);
    close_rig(&r);
    make_state(t, groups, 6, undone, 2); /* one range */
    assert_int_equal(restore(&r, t, 2, ROWS, true), DROVE_OK);
    assert_int_equal(drove__groups_tensors(&r.g, out, 3), 2);
    assert_int_equal(out[1].shape[0], 2);
    assert_memory_equal(out[1].bytes, undone, 2 * sizeof *undone);
    close_rig(&r);
    make_state(t, groups, 6, undone, 4);
    /* other workers: their own sizes, but what was left undone is kept */
    assert_int_equal(restore(&r, t, 2, ROWS, false), DROVE_OK);
    drove__coord_facts(r.g.coord, 0, &f);
    assert_true(f.u == 0.0 && f.batch == 2);
    assert_int_equal(drove__groups_tensors(&r.g, out, 2), 2);
    close_rig(&r);
    /* as many workers in other groups */
    make_state(t, other, 2, undone, 4);
    assert_int_equal(restore(&r, t, 1, ROWS, true), DROVE_OK);
    drove__coord_facts(r.g.coord, 0, &f);
    assert_true(f.u == 0.0);
    assert_int_equal(drove__groups_tensors(&r.g, out, 2), 1);
    close_rig(&r);
}

TEST(states_that_make_no_sense_are_refused)
{
    static const double groups[][6] = {{-1.0, 1.0, 0, 1, 0, 1},
                                       {1e18, 1.0, 0, 1, 0, 1},
                                       {0.0, 0.5, 0, 1, 0, 1},
                                       {0.0, 1e18, 0, 1, 0, 1},
                                       {0.0, 1.0, 0, 1, 0.0 / 0.0, 1}};
    /* at position 300: an empty range; beyond it; over the end of an epoch; longer than one */
    static const uint64_t undone[][2] = {{5, 0}, {296, 5}, {300, 1}, {UINT64_MAX, 2}, {0, 301}};
    static const uint64_t epochs[][2] = {{ROWS - 4, 5}, {0, ROWS + 1}};
    static const uint64_t good[][2] = {{295, 5}, {299, 1}, {0, 300}};
    drove_tensor t[2];
    rig r;
    for (size_t i = 0; i < DROVE_COUNT(groups); i++) {
        make_state(t, groups[i], 6, NULL, 0);
        assert_int_equal(restore(&r, t, 1, 300, true), DROVE_E_DATA);
        assert_non_null(strstr(drove_error_text(), "expected updates and a batch size"));
        close_rig(&r);
    }
    for (size_t i = 0; i < DROVE_COUNT(undone) + DROVE_COUNT(epochs); i++) {
        bool is_late = i >= DROVE_COUNT(undone);
        make_state(t, NULL, 0, is_late ? epochs[i - DROVE_COUNT(undone)] : undone[i], 2);
        if (restore(&r, t + 1, 1, is_late ? 5 * ROWS : 300, false) != DROVE_E_DATA)
            fail_msg("range %zu was taken", i);
        assert_non_null(strstr(drove_error_text(), "positions of one epoch below"));
        close_rig(&r);
    }
    for (size_t i = 0; i < DROVE_COUNT(good); i++) {
        make_state(t, NULL, 0, good[i], 2);
        assert_int_equal(restore(&r, t + 1, 1, 300, false), DROVE_OK);
        close_rig(&r);
    }
    static const double least[] = {0.0, 1.0, 0.0, 1.0, 0.0, 1.0};
    make_state(t, least, 6, NULL, 0);
    assert_int_equal(restore(&r, t, 1, 300, true), DROVE_OK);
    close_rig(&r);
    static const uint64_t second[] = {0, 300, 296, 5};
    make_state(t, NULL, 0, second, 4);
    assert_int_equal(restore(&r, t + 1, 1, 300, false), DROVE_E_DATA);
    close_rig(&r);
    static const uint64_t odd[3] = {0, 1, 2};
    make_state(t, NULL, 0, odd, 3);
    assert_int_equal(restore(&r, t + 1, 1, 300, false), DROVE_E_DATA);
    assert_non_null(strstr(drove_error_text(), "expected pairs of U64"));
    close_rig(&r);
    make_state(t, NULL, 0, odd, 2);
    t[1].type = DROVE_T_I64;
    assert_int_equal(restore(&r, t + 1, 1, 300, false), DROVE_E_DATA);
    close_rig(&r);
    make_state(t, NULL, 0, odd, 2);
    t[1].rank = 2;
    assert_int_equal(restore(&r, t + 1, 1, 300, false), DROVE_E_DATA);
    close_rig(&r);
    assert_int_equal(restore(&r, t, 0, 300, true), DROVE_E_DATA); /* no sizes of these workers */
    close_rig(&r);
}
