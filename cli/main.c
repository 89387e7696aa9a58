/* cli/main.c - the program: finds the command, runs it, and makes sure that what it printed
 * arrived. */
#include "cli.h"

#include "bench/program.h"

#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>

/* ---- the commands ---- */

static const cli_flag train_flags[] = {
    {.name = "json", .help = "print the summary as one JSON object, alone on standard output"},
    {.name = "quiet", .help = "print only errors and warnings (and --json's object)"},
};

static const cli_flag tune_flags[] = {
    {.name = "budget",
     .value_name = "SPEC",
     .default_text = "seconds=300",
     .help = "seconds=N, trials=N or both with a comma: what the search may use"},
    {.name = "epochs",
     .value_name = "N",
     .default_text = "27",
     .help = "of the longest trials; others have a third or a ninth of it"},
    {.name = "folds",
     .value_name = "N",
     .default_text = "1",
     .help = "1: a fifth of the data is for validation; more: the longest trials are scored by "
             "cross-validation with so many parts"},
    {.name = "metric",
     .value_name = "NAME",
     .words =
         "log_loss accuracy balanced_accuracy auc average_precision f1_macro f1_micro rmse mae r2 "
         "loss",
     .help = "what is to be best [log_loss of classes, rmse of values, loss of label sets]"},
    {.name = "space",
     .value_name = "FILE",
     .help = "YAML: what to search, such as \"lr: {log: [1e-4, 1]}\" and \"batch: [32, 64]\" "
             "[model, rule with step size, weight decay, batch]"},
    {.name = "jobs", .value_name = "N", .default_text = "1", .help = "trials at a time"},
    {.name = "limit", .value_name = "NUMBER", .help = "seconds of one trial [those of the budget]"},
    {.name = "json", .help = "print the result as one JSON object, alone on standard output"},
    {.name = "quiet", .help = "print nothing but errors (and --json's object)"},
};

static const cli_flag sweep_flags[] = {
    {.name = "out", .value_name = "DIR", .help = "folder of the results"},
    {.name = "jobs",
     .value_name = "N",
     .default_text = "1",
     .help = "runs at a time; more than 1 disturb each other's times"},
    {.name = "list", .help = "print the settings and runs of the study, and run nothing"},
    {.name = "best",
     .help = "run nothing: the fastest setting of each group among those with at most 10 % crashed "
             "runs, and how many are within 10 % of it"},
    {.name = "group",
     .value_name = "NAMES",
     .default_text = "strategy,threads",
     .help = "--best: options, separated by commas, whose values make the groups"},
    {.name = "pair",
     .value_name = "A,B",
     .help = "run nothing: ratios of a figure of two settings, paired by seed; each a number of "
             "--list, or options as name=value"},
    {.name = "figure",
     .value_name = "NAME",
     .default_text = "target_s",
     .help = "--best, --pair: by which figure, as results.jsonl names them"},
    {.name = "results-only", .help = "keep no files of runs, only results.jsonl"},
    {.name = "json", .help = "print the result as one JSON object, alone on standard output"},
    {.name = "quiet", .help = "print nothing but errors (and --json's object)"},
};

static const cli_flag report_flags[] = {
    {.name = "html",
     .value_name = "FILE",
     .help = "page to write: figures, tables and commands in one file; gnuplot draws the figures"},
    {.name = "svg",
     .value_name = "DIR",
     .help = "folder for a file of each figure, for papers; needs gnuplot"},
    {.name = "pdf", .value_name = "DIR", .help = "the same as PDF"},
    {.name = "csv",
     .value_name = "FILE",
     .help = "table to write: a row for each evaluation of each run"},
};

static const cli_flag watch_flags[] = {
    {.name = "every",
     .value_name = "NUMBER",
     .default_text = "1",
     .help = "seconds between two looks at the folder"},
    {.name = "http",
     .value_name = "PORT",
     .help = "serve the page of drove report to a browser instead; 0: any free port"},
    {.name = "bind-address",
     .value_name = "ADDRESS",
     .default_text = "127.0.0.1",
     .help = "--http: numeric address to listen at; 0.0.0.0 shows the runs to the whole network"},
};

static const cli_flag eval_flags[] = {
    {.name = "data", .value_name = "SPEC", .list = "data", .help = "data set with labels"},
    {.name = "label",
     .value_name = "COLUMN",
     .help = "column of the label, as ?label=; a model of a table knows it"},
    {.name = "weights",
     .value_name = "COLUMN",
     .words = "none",
     .help =
         "column of the rows' weights, as ?weights=; a model that was trained with weights knows "
         "it; none: each row counts once"},
    {.name = "metrics",
     .value_name = "WORD",
     .default_text = "auto",
     .words = "auto none",
     .help = "auto: all that the data and the model have; none: loss and accuracy alone"},
    {.name = "threshold",
     .value_name = "NUMBER",
     .words = "f1 cost:fp=1,fn=5",
     .help =
         "two classes: predict the second from this probability on [above 0.5]; f1: the one with "
         "its largest F1 on the data; cost:fp=1,fn=5: with the least cost of false positives and "
         "negatives"},
    {.name = "batch",
     .value_name = "N",
     .help = "examples per pass, by default 512, fewer for large networks of images"},
    {.name = "threads",
     .value_name = "N",
     .default_text = "all",
     .words = "all",
     .help = "that predict; the figures do not depend on it"},
    {.name = "isa",
     .value_name = "NAME",
     .default_text = "auto",
     .words = "auto",
     .list = "tiers",
     .help = "highest kernel tier to use"},
    {.name = "json", .help = "print one JSON object, alone on standard output"},
};

static const cli_flag predict_flags[] = {
    {.name = "data", .value_name = "SPEC", .list = "data", .help = "data set; labels are not used"},
    {.name = "label",
     .value_name = "COLUMN",
     .help =
         "column of the label where it is not the last, as ?label=; a model of a table needs none"},
    {.name = "format",
     .value_name = "WORD",
     .words = "csv lines npy",
     .help = "csv: a header, the label and the probability of each class; lines: the label or "
             "value alone; npy: the numbers as a NumPy array [csv, npy for FILE.npy]"},
    {.name = "keep",
     .value_name = "COLUMN",
     .help = "of a table: CSV begins with the cells of this column, such as an id; several: "
             "id+name"},
    {.name = "proba",
     .help = "lines, with all outputs instead of the label: probabilities; of svm and linear the "
             "raw values"},
    {.name = "threshold",
     .value_name = "NUMBER",
     .help = "two classes: predict the second from this probability on, as eval --threshold finds "
             "it [above 0.5]"},
    {.name = "out",
     .value_name = "FILE",
     .help = "file for the predictions instead of standard output"},
    {.name = "batch",
     .value_name = "N",
     .help = "examples per pass, by default 512, fewer for large networks of images"},
    {.name = "threads",
     .value_name = "N",
     .default_text = "all",
     .words = "all",
     .help = "that predict; the predictions do not depend on it"},
    {.name = "isa",
     .value_name = "NAME",
     .default_text = "auto",
     .words = "auto",
     .list = "tiers",
     .help = "highest kernel tier to use"},
};

static const cli_flag export_flags[] = {
    {.name = "onnx", .value_name = "FILE", .help = "an ONNX graph: of every kind of model"},
    {.name = "c",
     .value_name = "FILE",
     .help = "C99 source without dependencies: of every kind of layer, up to eight million "
             "parameters"},
    {.name = "pytorch",
     .value_name = "FILE",
     .help = "the parameters as safetensors, for load_state_dict of a PyTorch module"},
};

static const cli_flag data_flags[] = {
    {.name = "label",
     .value_name = "COLUMN",
     .help = "column of the label in a table, as ?label=: its name or number; several: a,b"},
    {.name = "part",
     .value_name = "WORD",
     .default_text = "all",
     .words = "all train test",
     .help = "all, or train or test: what --test split of drove train would make of it"},
    {.name = "seed", .value_name = "N", .default_text = "1", .help = "of the split"},
    {.name = "json", .help = "info: print one JSON object, alone on standard output"},
};

static const cli_flag dmgc_flags[] = {
    {.name = "features", .value_name = "N", .default_text = "65536", .help = "size of the model"},
    {.name = "threads", .value_name = "N", .default_text = "1", .help = "workers, 1 to 4096"},
    {.name = "sparse",
     .value_name = "DENSITY",
     .help = "predict for sparse data of this density, such as 3% or 0.03"},
    {.name = "constants",
     .value_name = "FILE",
     .default_text = "auto",
     .words = "auto paper",
     .help = "those of drove bench calibrate in FILE, or paper; auto: this machine's if there are, "
             "else the paper's"},
    {.name = "measure", .help = "measure it too, on random examples; what follows is for that"},
    {.name = "bytes",
     .value_name = "N",
     .default_text = "1GiB",
     .help = "of examples, such as 64MiB; more than the caches hold"},
    {.name = "seconds", .value_name = "NUMBER", .default_text = "0.3", .help = "of steps"},
    {.name = "strategy",
     .value_name = "SPEC",
     .default_text = "hogwild",
     .list = "strategies",
     .help = "how the threads share the model: hogwild or replicas"},
    {.name = "batch", .value_name = "N", .default_text = "1", .help = "examples of an update"},
    {.name = "rounding",
     .value_name = "SPEC",
     .default_text = "shared",
     .list = "roundings",
     .help = "of the model's numbers"},
    {.name = "prefetch",
     .value_name = "WORD",
     .default_text = "on",
     .words = "on hardware hints off",
     .help = "as of drove train; off and hints are refused where the machine cannot"},
    {.name = "isa",
     .value_name = "NAME",
     .default_text = "auto",
     .words = "auto",
     .list = "tiers",
     .help = "highest kernel tier to use"},
    {.name = "json", .help = "print one JSON object, alone on standard output"},
};

static const cli_flag bench_flags[] = {
    {.name = "threads",
     .value_name = "N",
     .default_text = "all",
     .words = "all",
     .help = "most threads; 1, 2, 4 ... up to them are measured"},
    {.name = "seconds", .value_name = "NUMBER", .default_text = "0.5", .help = "of a measurement"},
    {.name = "bytes",
     .value_name = "N",
     .help = "of data, such as 4096, 64MiB or 1GiB [as the benchmark finds right]"},
    {.name = "out",
     .value_name = "FILE",
     .help = "calibrate: the constants [~/.config/drove/throughput.json]"},
    {.name = "isa",
     .value_name = "NAME",
     .default_text = "auto",
     .words = "auto",
     .list = "tiers",
     .help = "highest kernel tier to use"},
    {.name = "model",
     .value_name = "SPEC",
     .default_text = "mlp:128,128,128",
     .list = "models",
     .help = "limits: a fully connected network"},
    {.name = "batch",
     .value_name = "N,N,...",
     .default_text = "32,64,512",
     .help = "limits: numbers of examples; 1 is always measured"},
    {.name = "signature",
     .value_name = "NAME,...",
     .default_text = "D8M8,D32fM32f,D8i8M8",
     .help = "obstinate: the number formats"},
    {.name = "q",
     .value_name = "NUMBER,...",
     .default_text = "0,0.25,0.5,0.75,0.95",
     .help = "obstinate: parts of the invalidations that a cache ignores"},
    {.name = "cores",
     .value_name = "N",
     .default_text = "18",
     .help = "obstinate: simulated cores"},
    {.name = "data",
     .value_name = "SPEC",
     .list = "data",
     .help = "obstinate: dense examples of two classes to learn [drawn from a logistic model]"},
    {.name = "quick", .help = "obstinate: small models and one seed: some seconds"},
    {.name = "json", .help = "print one JSON object, alone on standard output"},
};

static const cli_flag json_flag[] = {
    {.name = "json", .help = "print JSON, alone on standard output"},
};

static const cli_flag model_flags[] = {
    {.name = "input",
     .value_name = "CxHxW",
     .help = "shape of an example, as 3x227x227 or 784, instead of --data"},
    {.name = "classes", .value_name = "N", .default_text = "10", .help = "with --input; 0: values"},
    {.name = "json", .help = "print one JSON object, alone on standard output"},
};

static const cli_flag cache_flags[] = {
    {.name = "clear", .help = "remove all files"},
    {.name = "json", .help = "print JSON, alone on standard output"},
};

static const cli_flag info_flags[] = {
    {.name = "measure",
     .help =
         "how many examples a second each device, and one thread, compute gradients of, for the "
         "options' --model and --data; some seconds for each"},
    {.name = "json", .help = "print JSON, alone on standard output"},
};

#define FLAGS(table) .flag = (table), .n_flags = CLI_COUNT(table)

static const cli_command commands[] = {
    {.name = "train",
     .usage = "[RUN.yaml | DATA] [--option value | --option=value ...]",
     .help = "train a model",
     .details = "Trains a model.  A run file holds options as lines \"option: value\"; flags\n"
                "override it.  DATA, such as people.csv, stands for --data DATA.  Without both\n"
                "and without an option of Problem and Method, the built-in example is trained:\n"
                "generated digits, a network, all processors, --lr 0.05.\n"
                "A spec is name:argument,argument?key=value&key=value.\n",
     FLAGS(train_flags),
     .takes_options = true,
     .shows_options = true,
     .most_words = 1,
     .run = cli_train,
     .refuse = cli_train_refuse},
    {.name = "tune",
     .usage = "DATA [--label COLUMN] [--budget SPEC] [--option value ...]",
     .help = "search for better settings of a model",
     .details = "Tries settings on a validation part of the training data, drops the worse ones\n"
                "early (successive halving), and trains with the best on all of them.  Options\n"
                "of drove train that are given are not searched; --test is for the last run\n"
                "alone.  --out [tune] gets best/ (the model), best.yaml (a run file) and\n"
                "trials.jsonl (every trial).  The same command goes on where it was stopped.\n",
     FLAGS(tune_flags),
     .takes_options = true,
     .most_words = 1,
     .run = cli_tune},
    {.name = "sweep",
     .usage = "STUDY.yaml --out DIR [--list | --best | --pair A,B]",
     .help = "many runs with different options and seeds, and comparisons",
     .details = "Runs drove train with every setting of a study, each with several seeds, each a\n"
                "process with a time limit; a crash is a result.  The study is YAML: options\n"
                "(fixed), grid, list and sample (settings), repeat (seeds), limit (seconds), seed\n"
                "(of the order).  --out gets results.jsonl, a line for each run, and runs/NNNN\n"
                "(what each printed).  The same command goes on where it was stopped.\n",
     FLAGS(sweep_flags),
     .expects = "STUDY.yaml",
     .least_words = 1,
     .most_words = 1,
     .run = cli_sweep},
    {.name = "report",
     .usage = "DIR... --html FILE | --csv FILE | --svg DIR | --pdf DIR",
     .help = "what runs have shown, as a page, a table or pictures",
     .details = "DIR is the folder of a run (--out of drove train) or of a sweep.  The page has\n"
                "curves, times, staleness and workers, metrics of a single run, and the command\n"
                "that repeats each run.  The table has the options that differ between the runs,\n"
                "loss, accuracy and metrics.  Runs that go on have what they have written so\n"
                "far.\n",
     FLAGS(report_flags),
     .expects = "DIR, the folder of a run or of a sweep",
     .least_words = 1,
     .most_words = SIZE_MAX,
     .run = cli_report},
    {.name = "watch",
     .usage = "DIR... [--every NUMBER] [--http PORT]",
     .help = "a run or a sweep while it goes on, in the terminal or a browser",
     .details = "DIR is the folder of a run (--out of drove train) or of a sweep.  Shows the\n"
                "curve of the loss, rate, time left and the best so far, and ends when the run\n"
                "ends; where there is no terminal, a line for each evaluation.  Ctrl-C ends the\n"
                "watch, not the run.  --http prints the address of a page that renews itself.\n",
     FLAGS(watch_flags),
     .expects = "DIR, the folder of a run or of a sweep",
     .least_words = 1,
     .most_words = SIZE_MAX,
     .run = cli_watch},
    {.name = "eval",
     .usage = "MODEL DATA|--data SPEC [--json]",
     .help = "how good a saved model is",
     .details = "Computes loss and metrics of a saved model on a data set, beside those of a\n"
                "constant guess: accuracy, balanced accuracy, log loss, AUC, average precision,\n"
                "F1, confusion and calibration of classes; RMSE, MAE and R2 of values; F1 of\n"
                "label sets.  --threshold is the probability from which on the second of two\n"
                "classes is predicted.  MODEL is a saved model (.safetensors) or the folder of a\n"
                "run.  DATA, such as new.csv, stands for --data DATA.\n",
     FLAGS(eval_flags),
     .expects = "MODEL, the folder of a run",
     .least_words = 1,
     .most_words = 2,
     .run = cli_eval},
    {.name = "predict",
     .usage = "MODEL DATA|--data SPEC [--format WORD] [--out FILE]",
     .help = "predictions of a saved model",
     .details = "Writes a prediction for every example, in order: as CSV with a header, the label\n"
                "and p_NAME, the probability of each class; of regression the value; of images\n"
                "first their file.  MODEL is a saved model (.safetensors) or the folder of a\n"
                "run.  DATA, such as new.csv, stands for --data DATA.\n",
     FLAGS(predict_flags),
     .expects = "MODEL, the folder of a run",
     .least_words = 1,
     .most_words = 2,
     .run = cli_predict},
    {.name = "export",
     .usage = "MODEL --onnx FILE | --c FILE | --pytorch FILE",
     .help = "a saved model for other programs: ONNX, C or PyTorch",
     .details = "Writes a saved model as a graph that ONNX Runtime and others read, or as C\n"
                "source, with its preprocessing inside: raw columns, numbers or images go in, and\n"
                "the predictions of drove predict come out.  Prints the inputs and outputs; dates\n"
                "go in as days since 1970.  MODEL is a saved model (.safetensors) or the folder\n"
                "of a run.  For PyTorch the parameters alone are written, with the scaling in\n"
                "them.\n",
     FLAGS(export_flags),
     .expects = "MODEL, the folder of a run",
     .least_words = 1,
     .most_words = 1,
     .run = cli_export},
    {.name = "data",
     .usage = "info|convert SPEC [TO]",
     .help = "look at or convert a data set",
     .details = "info describes a data set, and each column of a table; convert writes it as TO:\n"
                "libsvm:FILE, csv:FILE, npy:X,Y or idx:IMAGES,LABELS, with ?scaled=1 as training\n"
                "sees it, or quant:FILE?precision=D8i16, numbers of 4 to 32 bits (D4, D8, D16,\n"
                "D32f; sparse data with i8, i16 or i32, not D4), or rows:FILE, for data larger\n"
                "than memory.\n"
                "quant:FILE?from=SPEC checks that FILE was made from SPEC.\n",
     .words = "info convert",
     FLAGS(data_flags),
     .least_words = 2,
     .most_words = 3,
     .run = cli_data},
    {.name = "cache",
     .usage = "[--clear] [--json]",
     .help = "what lies in drove's cache, and how to clear it",
     .details = "Lists the files in $XDG_CACHE_HOME/drove or ~/.cache/drove: rows of data larger\n"
                "than the memory, programs of devices, times of convolutions.  They may be\n"
                "removed at any time, and are made again where they are needed.\n",
     FLAGS(cache_flags),
     .run = cli_cache},
    {.name = "info",
     .usage = "[RUN.yaml] [--option value ...] [--measure] [--json]",
     .help = "the machine, and where the workers of a run would be",
     .details = "Describes processor, caches, kernels, engines and devices, and where the workers\n"
                "of a run with these options would be.  Takes every option of drove train.\n",
     FLAGS(info_flags),
     .takes_options = true,
     .most_words = 1,
     .run = cli_info},
    {.name = "model",
     .usage = "SPEC|FILE [--data SPEC | --input CxHxW] [--json]",
     .help = "a network's layers, parameters, work and memory",
     .details = "Describes the network that --model SPEC would train on --data, or on examples of\n"
                "--input: layers, shapes, parameters, multiply-adds, and the memory of a --batch.\n"
                "FILE is a description (.yaml, .prototxt, .onnx) or a saved model\n"
                "(.safetensors, or the folder of a run).  Takes every option of drove train.\n",
     .list = "models",
     FLAGS(model_flags),
     .takes_options = true,
     .least_words = 1,
     .most_words = 1,
     .run = cli_model},
    {.name = "list",
     .usage = "[KIND | KIND:NAME] [--json]",
     .help = "every registered name of a kind",
     .details = "Lists the names of a kind with a line of help and their source; without KIND the\n"
                "kinds; for KIND:NAME the arguments and keys of a spec of that name, with their\n"
                "values and [defaults].  --json prints an array of {name, help, source, keys}.\n",
     .list = "kinds",
     FLAGS(json_flag),
     .most_words = 2, /* the second is refused with the spec that was meant */
     .run = cli_list},
    {.name = "dmgc",
     .usage = "SIGNATURE [--features N] [--threads N] [--measure] [--json]",
     .help = "explain a DMGC signature, predict and measure its throughput",
     .details = "Explains a signature of the Buckwild! paper, such as D8M8, D32fi32M32f,\n"
                "D8[i8]M16 or G1C1s: the bits of dataset, index, model, gradient and\n"
                "communication numbers; f: floating point, s: synchronous, [i8]: possibly sparse.\n"
                "Predicts by the paper's model how many 10^9 dataset numbers a second (GNPS) all\n"
                "threads reach together, with this machine's constants (drove bench calibrate) or\n"
                "the paper's Xeon's.  A signature that the paper did not measure is only\n"
                "explained, and refused if a setting is given.  --measure runs real steps, too.\n",
     FLAGS(dmgc_flags),
     .least_words = 1,
     .most_words = 1,
     .run = cli_dmgc},
    {.name = "bench",
     .usage = "[NAME] [--threads N] [--seconds NUMBER] [--bytes N] [--json]",
     .help = "micro-benchmarks: what this machine gives",
     .details = "Runs a benchmark and prints its figures; without NAME says which there are.\n",
     .list = "benches",
     FLAGS(bench_flags),
     .most_words = 1,
     .run = cli_bench},
};

const cli_command *cli_commands(size_t *n_out)
{
    *n_out = CLI_COUNT(commands);
    return commands;
}

const cli_command *cli_command_find(const char *name)
{
    for (size_t i = 0; i < CLI_COUNT(commands); i++) {
        if (strcmp(commands[i].name, name) == 0) return &commands[i];
    }
    return NULL;
}

/* ---- running one ---- */

static int unknown_command(const char *given)
{
    const char *names[CLI_COUNT(commands) + 2];
    size_t n = 0;
    for (; n < CLI_COUNT(commands); n++) names[n] = commands[n].name;
    names[n++] = "--help";
    names[n++] = "--version";
    const char *near = drove_nearest_word(given, names, n);
    const char *what = given[0] == '-' ? "option" : "command";
    char answer[512];
    if (given[0] != '-' && drove_other_word("command", given, NULL, answer, sizeof answer))
        return cli_error(CLI_WRONG, "unknown command \"%s\"; %s", given, answer);
    if (near == NULL) {
        return cli_error(CLI_WRONG, "unknown %s \"%s\"; drove --help lists the commands", what,
                         given);
    }
    return cli_error(CLI_WRONG, "unknown %s \"%s\"; did you mean \"%s\"?", what, given, near);
}

static int no_command(void)
{
    char names[256] = "";
    size_t used = 0;
    for (size_t i = 0; i < CLI_COUNT(commands) && used < sizeof names; i++) {
        const char *before = i == 0 ? "" : i + 1 < CLI_COUNT(commands) ? ", " : " or ";
        used +=
            (size_t)snprintf(names + used, sizeof names - used, "%s%s", before, commands[i].name);
    }
    return cli_error(CLI_WRONG, "expected a command: %s; drove --help explains", names);
}

/* drove help [COMMAND [all]] */
static int help(int argc, char **argv)
{
    if (argc == 0 || strcmp(argv[0], "all") == 0) {
        cli_help_program(stdout);
        return CLI_OK;
    }
    const cli_command *command = cli_command_find(argv[0]);
    if (command == NULL) return unknown_command(argv[0]);
    cli_help_command(command, argc > 1 && strcmp(argv[1], "all") == 0, stdout);
    return CLI_OK;
}

static int run(int argc, char **argv)
{
    if (argc < 2) return no_command();
    drove_bench_list();
    const char *first = argv[1];
    if (strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0 || strcmp(first, "help") == 0) {
        return help(argc - 2, argv + 2);
    }
    if (strcmp(first, "--version") == 0) {
        printf("drove %s\n", drove_version());
        return CLI_OK;
    }
    if (strcmp(first, "__complete") == 0) return cli_complete(argc - 2, argv + 2);
    const cli_command *command = cli_command_find(first);
    if (command == NULL) return unknown_command(first);

    cli_args args;
    int status = CLI_OK;
    if (!cli_args_parse(command, argc - 2, argv + 2, &args)) {
        if (command->refuse != NULL) return command->refuse(args.refused_as, args.why);
        return cli_error(drove_status_exit(args.refused_as), "%s", args.why);
    }
    if (args.wants_help) cli_help_command(command, args.wants_all_help, stdout);
    else status = command->run(&args);
    cli_args_fini(&args);
    return status;
}

int main(int argc, char **argv)
{
    setlocale(LC_CTYPE, "");  /* only to know whether the terminal takes UTF-8 */
    signal(SIGPIPE, SIG_IGN); /* a reader that has gone is seen as a failed write */
    int status = run(argc, argv);
    if (status == CLI_OK) errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout)) return status;
    int failed = cli_output_error();
    return status == CLI_OK ? failed : status;
}
