/* config/options.c - the table of options: words, defaults, ranges, help.  Run files: runfile.c;
 * checks that need more than one option: validate.c.
 *
 * The order of the table is the order of the help, of run.json and of docs/man/drove.1.
 */
#include "base/alive.h"
#include "base/given.h"
#include "base/mem.h"
#include "base/locale.h"
#include "base/other_words.h"
#include "base/spec.h"
#include "base/status.h"
#include "config/words.h"
#include "plan/plan.h"

#include "config/options.h"

#include "pack/record.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char problem[] = "Problem", method[] = "Method", exchange[] = "Exchange",
                  low[] = "Low precision", machine[] = "Machine", run[] = "Run";

#define WHERE(field)     .name = #field, .own = offsetof(drove_options, field)
#define TEXT             .kind = DROVE_OPTION_TEXT
#define REAL(low, high)  .kind = DROVE_OPTION_REAL, .least = (low), .most = (high)
#define COUNT(low, high) .kind = DROVE_OPTION_COUNT, .least = (low), .most = (high)
#define FIXED            .is_fixed = true
#define LOCAL            .is_local = true
#define COMMON           .is_common = true

static const drove_option_info table[] = {
    {WHERE(data), COMMON, FIXED, .group = problem, TEXT, .default_text = "synth:digits",
     .value_name = "SPEC", .list = "data",
     .help = "training data: people.csv, photos/, mnist:DIR ..."},
    {WHERE(test), COMMON, FIXED, .group = problem, TEXT, .default_text = "split",
     .value_name = "SPEC", .list = "data", .empty_word = "none", .words = "split none",
     .help = "held-out data: another data set, split (the set's own, or ?split= of it) or none"},
    {WHERE(label), COMMON, FIXED, .group = problem, TEXT, .default_text = "last",
     .value_name = "COLUMN", .empty_word = "last", .words = "last",
     .help = "column of the label in a table, as ?label=: its name or number; several: a,b"},
    {WHERE(weights), FIXED, .group = problem, TEXT, .default_text = "none", .value_name = "COLUMN",
     .empty_word = "none", .words = "none",
     .help = "column of a table with a weight of each row, in the loss and in metrics, as "
             "?weights="},
    {WHERE(class_weight), FIXED, .group = problem, TEXT, .default_text = "none",
     .value_name = "LIST", .empty_word = "none", .words = "none balanced",
     .help = "weights of classes in the loss that is trained: NAME=2,NAME2=0.5, or balanced: "
             "n / (classes n_c)"},
    {WHERE(features), FIXED, .group = problem, TEXT, .default_text = "none", .value_name = "SPEC",
     .list = "features", .empty_word = "none", .words = "none",
     .help = "map of the scaled inputs to new features: rff:4096?gamma=0.02&seed=1"},
    {WHERE(model), COMMON, FIXED, .group = problem, TEXT, .default_text = "default",
     .value_name = "SPEC", .list = "models", .empty_word = "default", .words = "default auto",
     .help = "model; auto = a pack of small ones, joined in one network; default = auto for "
             "tables, linear or logistic for wide sparse data, else mlp:128,128,128; a .yaml, "
             ".prototxt or .onnx file that describes one; or a .safetensors file or the folder of "
             "a run to go on from; ?head=new makes its last layer anew, ?freeze=body or "
             "?freeze=NAMES leaves layers as they are"},
    {WHERE(max_members), .group = problem, COUNT(0, DROVE_PACK_MOST_MEMBERS), .default_text = "0",
     .value_name = "N",
     .help =
         "kinds of small models that --model auto makes its pack of, the simplest first; 0 = by "
         "the data; 1 = a linear model"},
    {WHERE(activation), FIXED, .group = problem, TEXT, .default_text = DROVE_DEFAULT_ACTIVATION,
     .value_name = "NAME", .list = "activations", .help = "activation of the hidden layers"},
    {WHERE(init), .group = problem, TEXT, .default_text = "auto", .value_name = "SPEC",
     .list = "inits", .empty_word = "auto", .words = "auto pytorch:",
     .help = "initial parameters; auto = he:1 for relu, xavier:1 otherwise; pytorch:FILE = those "
             "of a PyTorch module's state_dict, saved as safetensors"},
    {WHERE(loss), FIXED, .group = problem, TEXT, .default_text = "auto", .value_name = "NAME",
     .list = "losses", .empty_word = "auto", .words = "auto",
     .help = "objective function; auto = the usual one for the model and the data"},

    {WHERE(strategy), COMMON, FIXED, .group = method, TEXT, .default_text = "auto",
     .value_name = "SPEC", .list = "strategies", .words = "auto",
     .help = "how workers share the model; auto = the fastest here by a short probe, on one thread "
             "or more; easgd-sync3 over MPI ranks, adaptive with a list of --workers"},
    {WHERE(backoff), .group = method, TEXT, .default_text = "none", .value_name = "SPEC",
     .list = "backoffs", .help = "wait after a failed attempt"},
    {WHERE(rule), FIXED, .group = method, TEXT, .default_text = "auto", .value_name = "SPEC",
     .list = "rules", .words = "auto",
     .help =
         "how a gradient becomes a step (epsilon is outside the root); auto = adam for networks, "
         "adagrad for linear models; of wide sparse data adagrad and sgd; with a given --lr "
         "momentum:0.9 for convolutional networks, sgd otherwise"},
    {WHERE(rule_state), FIXED, .group = method, TEXT, .default_text = "auto", .value_name = "WORD",
     .words = "auto shared worker",
     .help = "whether workers share velocity and moments, or each has its own; auto = shared, "
             "unless the strategy keeps them with the workers"},
    {WHERE(lr), COMMON, .group = method, REAL(DBL_MIN, DBL_MAX), .default_text = "auto",
     .value_name = "NUMBER", .empty_word = "auto", .words = "auto",
     .help = "step size; auto = by short trials on training data; times (P + 1) / P for elastic "
             "strategies with P workers, since no gradient moves their centre"},
    {WHERE(schedule), .group = method, TEXT, .default_text = "auto", .value_name = "SPEC",
     .list = "schedules", .words = "auto",
     .help =
         "how the step size changes: factors joined by +; auto = plateau where --until holds "
         "examples out, else cosine over its epochs; with a given --lr cosine for convolutional "
         "networks, constant otherwise"},
    {WHERE(weight_decay), .group = method, REAL(0, DBL_MAX), .default_text = "0",
     .value_name = "NUMBER",
     .help =
         "adds this times the parameters to the gradient; adamw and muon take lr times this off "
         "the parameters instead"},
    {WHERE(label_smoothing), .group = method, REAL(0, 1), .default_text = "0",
     .value_name = "NUMBER",
     .help = "in training a cross-entropy's targets of 0 and 1 are this part of the way to equal "
             "ones; losses of evaluations are without"},
    {WHERE(clip), .group = method, REAL(0, DBL_MAX), .default_text = "0", .value_name = "NUMBER",
     .help = "largest norm of a batch's gradient, decay included; 0 = no limit"},
    {WHERE(batch), COMMON, FIXED, .group = method, COUNT(1, 1 << 30), .default_text = "auto",
     .value_name = "N", .empty_word = "auto", .words = "auto",
     .help = "examples per worker and step; auto = 32"},
    {WHERE(global_batch), .group = method, COUNT(0, 1 << 30), .default_text = "0",
     .value_name = "N",
     .help = "examples of an update, of all workers together: --batch is then N divided by their "
             "number, so that any number makes the same updates; for synchronous strategies; 0 = "
             "--batch for each worker"},
    {WHERE(order), FIXED, .group = method, TEXT, .default_text = "auto", .value_name = "WORD",
     .words = "auto shuffle random blocks",
     .help = "shuffle (each example once an epoch), random (with replacement) or blocks (shuffled "
             "runs of neighbours); auto = shuffle, with --precision blocks of shuffled examples"},

    {WHERE(period), .group = exchange, TEXT, .default_text = "strategy", .value_name = "N",
     .empty_word = "strategy", .words = "strategy auto",
     .help = "steps of a worker between two exchanges with the others; auto = from measured times "
             "of computing and exchanging; strategy = as the strategy is published"},
    {WHERE(rho), .group = exchange, REAL(0, DBL_MAX), .default_text = "0", .value_name = "NUMBER",
     .help = "elastic pull between a worker and the centre; 0 = 0.9 / (--lr times workers)"},
    {WHERE(messages), .group = exchange, TEXT, .default_text = "packed", .value_name = "WORD",
     .words = "packed layers", .help = "all parameters in one message, or one for each layer"},
    {WHERE(shard), FIXED, .group = exchange, TEXT, .default_text = "whole", .value_name = "WORD",
     .words = "whole own",
     .help = "examples that each worker trains on: the whole set, or a random part of its own"},
    {WHERE(timeout), LOCAL, .group = exchange, REAL(0.1, 1e6), .default_text = "60",
     .value_name = "SECONDS",
     .help = "a worker process or rank that is silent for so long counts as lost"},

    {WHERE(precision), FIXED, .group = low, TEXT, .default_text = "none", .value_name = "SIGNATURE",
     .empty_word = "none",
     .words = "none bf16 D4M4 D4M8 D8M4 D8M8 D16M16 D32fM32f D8i16M8 D16i16M16 D32fi32M32f C32fs "
              "C16s C8s G1C1s",
     .help =
         "bf16: products of numbers rounded to bf16, sums and parameters in floats, for any "
         "model; or a DMGC signature: number formats of data and model (D8M8, D16M16; with "
         "?simulated=yes any width from 2 to 16, with ?scales=channel a unit for each channel of a "
         "network's weights; of linear models also D4M4, D4M8, D8M4, and of "
         "sparse data D8i16M8 ...), "
         "of the values that workers exchange (C16s, C8s, G1C1s), or both (D8M8C8s); none = "
         "floats"},
    {WHERE(rounding), FIXED, .group = low, TEXT, .default_text = "shared", .value_name = "SPEC",
     .list = "roundings", .help = "how a parameter is rounded when it is written"},
    {WHERE(model_range), FIXED, .group = low, REAL(0, FLT_MAX), .default_text = "0",
     .value_name = "NUMBER",
     .help = "largest magnitude of a parameter of 4, 8 or 16 bits; 0 = from the data"},

    {WHERE(threads), COMMON, LOCAL, .group = machine, TEXT, .default_text = "all",
     .value_name = "N", .words = "all",
     .help = "workers, with --strategy auto the most of them: a number >= 1, or all; --workers "
             "threads:N says the same"},
    {WHERE(workers), .group = machine, TEXT, .default_text = "threads", .value_name = "LIST",
     .empty_word = "threads",
     .words = "threads threads: procs: cpu:all cpu: host: opencl: cuda: fake:",
     .help =
         "what the workers are, joined by +: threads:N (one core each), cpu:0-3, cpu:all, "
         "host:K (a team of cores), opencl:0, opencl:0.1, cuda:0, fake:?speed=250; with hogbatch "
         "and adaptive also ?batch=, min=, max=, timeout=; procs:N alone = N processes over "
         "shared memory; over ranks %r = the rank on its host: opencl:0.%r"},
    {WHERE(loaders), LOCAL, .group = machine, TEXT, .default_text = "auto", .value_name = "N",
     .words = "auto",
     .help = "threads that load the next batches while the workers compute; 0 = the workers load; "
             "auto = 0 where loading is cheap, else one for each worker while there are free "
             "processors"},
    {WHERE(machine), .group = machine, TEXT, .default_text = "none", .value_name = "FILE",
     .empty_word = "none", .words = "none here",
     .help = "train on the virtual clock of a modelled machine: gradients and updates are real, "
             "seconds are the machine's; a machine file (YAML), or here: this machine, measured; "
             "fake:NAME in --workers is a device of the file"},
    {WHERE(bind), LOCAL, .group = machine, TEXT, .default_text = "none", .value_name = "WORD",
     .words = "none compact spread",
     .help = "pin workers: none, compact (fill one NUMA node first) or spread (alternate nodes)"},
    {WHERE(partition), .group = machine, TEXT, .default_text = "none", .value_name = "P",
     .empty_word = "none", .words = "none auto",
     .help = "groups of cores, each with parameters and data in its own memory; auto = as many "
             "as fit the fast memory, or one for each rank"},
    {WHERE(isa), LOCAL, .group = machine, TEXT, .default_text = "auto", .value_name = "NAME",
     .empty_word = "auto", .words = "auto", .list = "tiers", .help = "highest kernel tier to use"},
    {WHERE(memory), LOCAL, .group = machine, TEXT, .default_text = "auto", .value_name = "BYTES",
     .empty_word = "auto", .words = "auto",
     .help = "most memory of the run, such as 1GiB; larger data are read from disk while they are "
             "trained on; auto = most of what is free"},
    {WHERE(prefetch), LOCAL, .group = machine, TEXT, .default_text = "on", .value_name = "WORD",
     .words = "on hardware hints off",
     .help = "on: the processor's prefetchers and the kernels' hints; hardware: no hints; hints: "
             "prefetchers off; off: neither"},

    {WHERE(defaults), FIXED, .group = run, TEXT, .default_text = "auto", .value_name = "WORD",
     .words = "auto classic",
     .help = "what auto means: auto = chosen for model and data; classic = sgd or a network's "
             "published rule, step size 0.01, batch 32, 10 epochs, inputs as they are"},
    {WHERE(until), COMMON, .group = run, TEXT, .default_text = "auto", .value_name = "CONDITIONS",
     .words = "auto loss= accuracy= validation= patience= epochs= seconds= updates=",
     .help = "loss=5%, loss=0.1, accuracy=0.98, patience=5, epochs=10, seconds=60 (of training; "
             "reading and evaluations come on top), updates=1000, validation=10% (of the training "
             "examples, to judge the run by); comma = whichever comes first; auto = until the "
             "validation loss stalls, or with a given --lr epochs=10.  A target (loss, accuracy) "
             "alone keeps the limits of auto, or with a given --lr epochs=500"},
    {WHERE(eval_every), .group = run, REAL(DBL_MIN, DBL_MAX), .default_text = "auto",
     .value_name = "NUMBER", .empty_word = "auto", .words = "auto",
     .help =
         "epochs between two evaluations; auto = 1 or 100 to 5000 updates, or with a given --lr "
         "0.25"},
    {WHERE(eval_examples), .group = run, COUNT(0, 1e15), .default_text = "0", .value_name = "N",
     .help = "training examples of an evaluation; 0 = all"},
    {WHERE(eval_beside), .group = run, TEXT, .default_text = "no", .words = "no yes",
     .help = "evaluate a copy of the parameters while the workers go on, instead of parking them: "
             "mutex, rwlock, leashed, ssp and softsync; the state is then saved at the end, or as "
             "--save-every says, which parks them"},
    {WHERE(metrics), .group = run, TEXT, .default_text = "auto", .value_name = "WORD",
     .words = "auto none",
     .help =
         "of the last parameters, in the summary: auto = on held-out data, and on training data "
         "where that is quick; none"},
    {WHERE(seed), COMMON, FIXED, .group = run, COUNT(0, 9e15), .default_text = "1",
     .value_name = "N", .help = "seed of parameters, order, split and generated data"},
    {WHERE(out), COMMON, LOCAL, .group = run, TEXT, .default_text = "none", .program_text = "auto",
     .value_name = "DIR", .empty_word = "none", .words = "auto none",
     .help = "folder for model, state, log and summary; auto = a new one named after the data, as "
             "people-1, with --defaults classic none; none = write nothing"},
    {WHERE(resume), COMMON, .group = run, TEXT, .default_text = "none", .value_name = "DIR",
     .empty_word = "none", .words = "none", .help = "folder of a run to continue"},
    {WHERE(data_changed), .group = run, TEXT, .default_text = "no", .words = "no yes",
     .help = "with --resume: go on although the training data are not those of the saved run"},
    {WHERE(log), LOCAL, .group = run, TEXT, .default_text = "none", .value_name = "FILE",
     .empty_word = "none", .words = "none",
     .help = "write a line of JSON for each evaluation to this file, also with --out none; "
             "none = only as log.jsonl in --out; --resume needs it again"},
    {WHERE(timeline), LOCAL, .group = run, TEXT, .default_text = "none", .value_name = "FILE",
     .empty_word = "none", .words = "none",
     .help =
         "write the time line of every worker as Chrome trace events; none = only for accumulate "
         "and tree, as timeline.json in --out; --resume needs it again"},
    {WHERE(record), LOCAL, .group = run, TEXT, .default_text = "none", .value_name = "FILE",
     .empty_word = "none", .words = "none",
     .help = "write down in which order the workers' steps followed each other, for --replay; "
             "strategies with races run under one lock"},
    {WHERE(replay), LOCAL, .group = run, TEXT, .default_text = "none", .value_name = "FILE",
     .empty_word = "none", .words = "none",
     .help = "repeat a recorded run, to the same bits, on one thread; its options are the "
             "record's"},
    {WHERE(replay_steps), LOCAL, .group = run, TEXT, .default_text = "none", .value_name = "FILE",
     .empty_word = "none", .words = "none",
     .help = "with --replay: write a line of JSON for each step"},
    {WHERE(save_every), .group = run, TEXT, .default_text = "eval", .value_name = "WHEN",
     .words = "eval epochs= updates= seconds= never",
     .help = "write the state at each eval, epochs=N, updates=N, seconds=N or never"},
};

const drove_option_info *drove_options_table(size_t *n_out)
{
    if (n_out != NULL) *n_out = DROVE_COUNT(table);
    return table;
}

/* ---- names ---- */

const char *drove_flag_text(const char *name, char into[DROVE_FLAG_SIZE])
{
    if (into == NULL) return NULL;
    into[0] = '\0';
    if (name == NULL) return into;
    snprintf(into, DROVE_FLAG_SIZE, "--%s", name);
    for (char *c = into + 2; *c != '\0'; c++) {
        if (*c == '_') *c = '-';
    }
    return into;
}

/* value: what was given with the name, for the message; or NULL. */
static drove_status find(const char *name, const char *value, const drove_option_info **out)
{
    for (size_t i = 0; i < DROVE_COUNT(table); i++) {
        if (!drove__option_is(table[i].name, name)) continue;
        *out = &table[i];
        return DROVE_OK;
    }
    const char *names[DROVE_COUNT(table)];
    char flag[64], near[DROVE_FLAG_SIZE], other[DROVE_OTHER_SIZE];
    if (drove__other_word("option", name, value, other, sizeof other))
        return drove__fail(DROVE_E_ARG, "unknown option \"%.80s\"; %s", name, other);
    for (size_t i = 0; i < DROVE_COUNT(table); i++) names[i] = table[i].name;
    snprintf(flag, sizeof flag, "%s", name);
    for (char *c = flag; *c != '\0'; c++) {
        if (*c == '-') *c = '_';
    }
    const char *nearest = drove__nearest(flag, names, DROVE_COUNT(table));
    if (nearest == NULL) return drove__fail(DROVE_E_ARG, "unknown option \"%.80s\"", name);
    return drove__fail(DROVE_E_ARG, "unknown option \"%.80s\"; did you mean \"%s\"?", name,
                       drove_flag_text(nearest, near) + 2);
}

/* ---- setting ---- */

static drove_status set_value(drove_options *options, const drove_option_info *info,
                              const char *value)
{
    char flag[DROVE_FLAG_SIZE], words[64] = "";
    void *field = (char *)options + info->own;
    switch (info->kind) {
    case DROVE_OPTION_TEXT: {
        if (info->empty_word != NULL && strcmp(value, info->empty_word) == 0) value = "";
        const size_t n = strlen(value);
        if (n >= DROVE_TEXT_SIZE) {
            return drove__fail(DROVE_E_ARG, "%s: expected at most %d bytes, found %zu",
                               drove_flag_text(info->name, flag), DROVE_TEXT_SIZE - 1, n);
        }
        if (n == 0 && info->empty_word == NULL) {
            return drove__fail(DROVE_E_ARG, "%s: expected %s, found nothing",
                               drove_flag_text(info->name, flag), info->value_name);
        }
        memset(field, 0, DROVE_TEXT_SIZE);
        memcpy(field, value, n);
        return DROVE_OK;
    }
    case DROVE_OPTION_REAL:
        if (info->empty_word != NULL && strcmp(value, info->empty_word) == 0) {
            *(double *)field = 0.0;
            return DROVE_OK;
        }
        if (info->empty_word != NULL) snprintf(words, sizeof words, "%s or ", info->empty_word);
        return drove__parse_real_or(drove_flag_text(info->name, flag), value, words, info->least,
                                    info->most, field);
    case DROVE_OPTION_COUNT:
        if (info->empty_word != NULL && strcmp(value, info->empty_word) == 0) {
            *(uint64_t *)field = 0;
            return DROVE_OK;
        }
        return drove__parse_u64(drove_flag_text(info->name, flag), value, (uint64_t)info->least,
                                (uint64_t)info->most, field);
    }
    return DROVE_OK;
}

static drove_status set_from(drove_options *options, const drove_option_info *info,
                             const char *value, drove_origin origin)
{
    DROVE_TRY(set_value(options, info, value));
    options->origin[info - table] = (uint8_t)origin;
    return DROVE_OK;
}

/* "threads:4" is another word for --threads 4; plan/workers.c reads all else. */
static drove_status set_workers(drove_options *options, const drove_option_info *info,
                                const char *value, drove_origin origin)
{
    static const char threads[] = "threads";
    const size_t n = sizeof threads - 1;
    if (drove__workers_are_procs(value)) {
        unsigned unused;
        DROVE_TRY(drove__procs_parse(value, 1, &unused));
        DROVE_TRY(drove__options_set(options, threads, "all", origin)); /* what was said before */
        return set_from(options, info, value, origin);
    }
    if (value[0] == '\0') return set_from(options, info, value, origin);
    if (strncmp(value, threads, n) != 0 || strchr(value, '+') != NULL) {
        drove_workers_list list;
        char expanded[DROVE_WORKERS_SIZE];
        DROVE_TRY(drove__workers_expand(value, 0, expanded, sizeof expanded));
        DROVE_TRY(drove__workers_parse(expanded, NULL, DROVE_MOST_THREADS, true, &list));
        drove__workers_fini(&list);
        return set_from(options, info, value, origin);
    }
    if (value[n] != '\0' && (value[n] != ':' || strpbrk(value, "?+,") != NULL)) {
        return drove__fail(DROVE_E_ARG, "--workers: expected threads:N, found \"%s\"", value);
    }
    if (value[n] == ':') DROVE_TRY(drove__options_set(options, threads, value + n + 1, origin));
    return set_from(options, info, "", origin);
}

drove_status drove__options_set(drove_options *options, const char *name, const char *value,
                                drove_origin origin)
{
    const drove_option_info *info;
    DROVE_TRY(find(name, value, &info));
    if (info->own == offsetof(drove_options, workers))
        return set_workers(options, info, value, origin);
    if (info->own == offsetof(drove_options, threads)) { /* here, so that a run file has its line */
        unsigned n;
        DROVE_TRY(drove__threads_parse(value, 1, &n));
    }
    return set_from(options, info, value, origin);
}

drove_status drove_options_set(drove_options *options, const char *name, const char *value)
{
    DROVE_ALIVE(options, "options");
    DROVE_GIVEN(options);
    DROVE_GIVEN(name);
    DROVE_GIVEN(value);
    DROVE_IN_C_LOCALE;
    return drove__options_set(options, name, value, DROVE_FROM_CALLER);
}

drove_options drove__options_default(void)
{
    drove_options options;
    memset(&options, 0, sizeof options);
    for (size_t i = 0; i < DROVE_COUNT(table); i++) {
        (void)set_value(&options, &table[i], table[i].default_text); /* cannot fail: tested */
    }
    return options;
}

drove_status drove_options_create(drove_options **out)
{
    DROVE_GIVEN(out);
    *out = malloc(sizeof **out);
    if (*out == NULL) return drove__fail_nomem("options", sizeof **out);
    **out = drove__options_default();
    return DROVE_OK;
}

drove_status drove_options_copy(const drove_options *from, drove_options **out)
{
    DROVE_ALIVE(from, "options");
    DROVE_GIVEN(from);
    DROVE_GIVEN(out);
    *out = malloc(sizeof **out);
    if (*out == NULL) return drove__fail_nomem("options", sizeof **out);
    **out = *from;
    return DROVE_OK;
}

void drove_options_destroy(drove_options *options)
{
    DROVE_END(options, "options");
    drove__alive_free(options, free);
}

/* ---- reading ---- */

/* The shortest text that reads back as the same number. */
static void print_real(double value, char *into, size_t size)
{
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(into, size, "%.*g", digits, value);
        if (strtod(into, NULL) == value) return;
    }
}

drove_status drove_options_get(const drove_options *options, const char *name, char *into,
                               size_t size)
{
    DROVE_ALIVE(options, "options");
    DROVE_GIVEN(options);
    DROVE_GIVEN(name);
    DROVE_GIVEN(into);
    DROVE_IN_C_LOCALE;
    const drove_option_info *info;
    char number[40];
    DROVE_TRY(find(name, NULL, &info));
    const char *text = number;
    const void *field = drove__options_field(options, info);
    switch (info->kind) {
    case DROVE_OPTION_TEXT:
        text = field;
        if (*text == '\0' && info->empty_word != NULL) text = info->empty_word;
        break;
    case DROVE_OPTION_REAL:
        print_real(*(const double *)field, number, sizeof number);
        if (*(const double *)field == 0.0 && info->empty_word != NULL) text = info->empty_word;
        break;
    case DROVE_OPTION_COUNT:
        snprintf(number, sizeof number, "%llu", (unsigned long long)*(const uint64_t *)field);
        if (*(const uint64_t *)field == 0 && info->empty_word != NULL) text = info->empty_word;
        break;
    }
    size_t n = strlen(text);
    if (n >= size) {
        return drove__fail(DROVE_E_ARG, "%s: expected room for %zu bytes, found %zu", info->name,
                           n + 1, size);
    }
    memcpy(into, text, n + 1);
    return DROVE_OK;
}

drove_status drove__options_word(const drove_options *options, const char *name, unsigned *out)
{
    enum { MOST_WORDS = 16 };
    const char *word[MOST_WORDS];
    char words[256], flag[DROVE_FLAG_SIZE];
    const drove_option_info *info;
    size_t n = 0;
    DROVE_TRY(find(name, NULL, &info));
    snprintf(words, sizeof words, "%s", info->words);
    for (char *rest = words, *w; n < MOST_WORDS && (w = strsep(&rest, " ")) != NULL;) word[n++] = w;
    return drove__one_of(drove_flag_text(name, flag), drove__options_field(options, info), word, n,
                         out);
}

drove_status drove__option_check(const char *name, const char *value)
{
    const drove_option_info *info;
    drove_options *options;
    if (value == NULL) return find(name, NULL, &info);
    DROVE_TRY(drove_options_create(&options));
    drove_status status = drove_options_set(options, name, value);
    drove_options_destroy(options);
    return status;
}

const char *drove_nearest_word(const char *word, const char *const *candidates, size_t n_candidates)
{
    if (word == NULL || candidates == NULL) return NULL;
    return drove__nearest(word, candidates, n_candidates);
}

bool drove_other_word(const char *what, const char *word, const char *value, char *into,
                      size_t size)
{
    if (what == NULL || word == NULL || into == NULL) return false;
    DROVE_IN_C_LOCALE;
    return drove__other_word(what, word, value, into, size);
}
