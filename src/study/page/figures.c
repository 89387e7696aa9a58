/* study/page/figures.c - see figures.h. */
#include "study/page/figures.h"

#include "study/page/html.h"

#include <stdio.h>

#define TIME    "training time (s)"
#define EPOCHS  "epochs"
#define UPDATES "updates"
#define LOSS    "loss"
#define SHARE   "share of right answers"

const drove_figure drove__figures[] = {
    {"learning-time", "Loss over time", "Mean loss of the examples.", "train_s", "loss", TIME, LOSS,
     true, drove__figure_learning},
    {"learning-epochs", "Loss over epochs",
     "Mean loss of the examples; an epoch is as many examples as the training set has.", "epochs",
     "loss", EPOCHS, LOSS, true, drove__figure_learning},
    {"learning-updates", "Loss over updates",
     "Mean loss of the examples; an update is a change of the shared parameters.", "updates",
     "loss", UPDATES, LOSS, false, drove__figure_learning},
    {"right-time", "Accuracy over time", "Right answers among the examples.", "train_s", "accuracy",
     TIME, SHARE, true, drove__figure_learning},
    {"right-epochs", "Accuracy over epochs", "Right answers among the examples.", "epochs",
     "accuracy", EPOCHS, SHARE, false, drove__figure_learning},
    {"target", "Time to the target", "Training time of the runs that met their target.", NULL,
     "target_s", "setting", TIME, true, drove__figure_times},
    {"time-10", "Time to 10 % of the first loss", "Runs that came down to it.", NULL, "time_to.10%",
     "setting", TIME, false, drove__figure_times},
    {"time-5", "Time to 5 % of the first loss", "Runs that came down to it.", NULL, "time_to.5%",
     "setting", TIME, false, drove__figure_times},
    {"time-2", "Time to 2 % of the first loss", "Runs that came down to it.", NULL, "time_to.2%",
     "setting", TIME, false, drove__figure_times},
    {"speed", "Speed", "Examples a second over the whole training.", NULL, "examples_per_s",
     "setting", "examples/s", true, drove__figure_times},
    {"loss-time", "Training loss over time", "Mean loss of the training examples.", "train_s",
     "loss", TIME, LOSS, true, drove__figure_curves},
    {"test-loss-time", "Held-out loss over time", "Mean loss of the held-out examples.", "train_s",
     "test_loss", TIME, LOSS, true, drove__figure_curves},
    {"validation-loss-time", "Validation loss over time",
     "Mean loss of the validation examples, by which the run was judged.", "train_s",
     "validation_loss", TIME, LOSS, false, drove__figure_curves},
    {"accuracy-time", "Training accuracy over time", "Right answers among the training examples.",
     "train_s", "accuracy", TIME, SHARE, false, drove__figure_curves},
    {"test-accuracy-time", "Held-out accuracy over time",
     "Right answers among the held-out examples.", "train_s", "test_accuracy", TIME, SHARE, true,
     drove__figure_curves},
    {"loss-epochs", "Training loss over epochs",
     "Mean loss of the training examples; an epoch is as many examples as the training set has.",
     "epochs", "loss", EPOCHS, LOSS, true, drove__figure_curves},
    {"test-loss-epochs", "Held-out loss over epochs", "Mean loss of the held-out examples.",
     "epochs", "test_loss", EPOCHS, LOSS, false, drove__figure_curves},
    {"test-accuracy-epochs", "Held-out accuracy over epochs",
     "Right answers among the held-out examples.", "epochs", "test_accuracy", EPOCHS, SHARE, false,
     drove__figure_curves},
    {"loss-updates", "Training loss over updates",
     "Mean loss of the training examples; an update is a change of the shared parameters.",
     "updates", "loss", UPDATES, LOSS, false, drove__figure_curves},
    {"test-loss-updates", "Held-out loss over updates", "Mean loss of the held-out examples.",
     "updates", "test_loss", UPDATES, LOSS, false, drove__figure_curves},
    {"rate", "Speed over time", "Examples a second since the evaluation before.", "train_s",
     "examples_per_s", TIME, "examples/s", false, drove__figure_curves},
    {"staleness", "Staleness",
     "Updates by others between reading the parameters and adding a step; of many workers the four "
     "with the largest mean.",
     NULL, NULL, "staleness (updates)", "share of steps", false, drove__figure_staleness},
    {"worker-share", "Shares of the updates", "Steps of each worker that are in the parameters.",
     NULL, "updates", "worker", "share of updates", false, drove__figure_workers},
    {"worker-busy", "Use of the workers", "Share of the training time in which a worker computed.",
     NULL, "busy", "worker", "share of time", false, drove__figure_workers},
    {"use-time", "Use of the workers over time", "Share of each interval in which they computed.",
     NULL, NULL, TIME, "share of time", false, drove__figure_use},
    {"batches", "Batch sizes over time", "As the coordinator changed them.", NULL, NULL, TIME,
     "batch (examples)", false, drove__figure_batches},
    {"phases", "Phases of a step", "Mean time of a step in each phase, over all steps and workers.",
     NULL, NULL, "setting", "time of a step (\302\265s)", true, drove__figure_phases},
    {"calibration", "Calibration",
     "Share of the class among examples with about the same predicted probability.", NULL, NULL,
     "predicted probability", "observed share", false, drove__figure_calibration},
    {0},
};

void drove__figure_begin(const drove_figure *f, drove_plot *plot, drove_plot_kind kind)
{
    plot->kind = kind;
    plot->id = f->id;
    drove__html_copy(plot->title, sizeof plot->title, f->title);
    drove__html_copy(plot->about, sizeof plot->about, f->about);
    drove__html_copy(plot->x_label, sizeof plot->x_label, f->x_label);
    drove__html_copy(plot->y_label, sizeof plot->y_label, f->y_label);
}
