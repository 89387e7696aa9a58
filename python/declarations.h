/* What drove._native takes from the library: public functions as their headers declare them, which
 * the compiler checks.  "..." stands for fields that Python does not use. */

typedef enum {
    DROVE_OK,
    DROVE_E_ARG,
    DROVE_E_SHAPE,
    DROVE_E_DATA,
    DROVE_E_FILE,
    DROVE_E_IO,
    DROVE_E_NOMEM,
    DROVE_E_NONFINITE,
    DROVE_E_EXISTS,
    DROVE_E_UNSUPPORTED,
    DROVE_E_SYSTEM,
    ...
} drove_status;
const char *drove_status_name(drove_status status);
const char *drove_error_text(void);
const char *drove_version(void);
void        free(void *);

/* options */
typedef struct drove_options drove_options;
typedef struct {
    const char *name;
    const char *default_text;
    const char *help;
    ...;
} drove_option_info;
const drove_option_info *drove_options_table(size_t *n_out);
drove_status             drove_options_create(drove_options **out);
void                     drove_options_destroy(drove_options *options);
drove_status drove_options_set(drove_options *options, const char *name, const char *value);
drove_status drove_options_get(const drove_options *options, const char *name, char *into,
                               size_t size);
drove_status drove_options_load(drove_options *options, const char *path);
drove_status drove_options_resume(drove_options *options, const char *folder);
drove_status drove_options_validate(const drove_options *options);

/* arrays */
typedef enum {
    DROVE_TYPE_F32,
    DROVE_TYPE_F64,
    DROVE_TYPE_U8,
    DROVE_TYPE_I8,
    DROVE_TYPE_U16,
    DROVE_TYPE_I16,
    DROVE_TYPE_U32,
    DROVE_TYPE_I32,
    DROVE_TYPE_U64,
    DROVE_TYPE_I64,
    DROVE_TYPE_BOOL,
    ...
} drove_type;
typedef struct {
    const void *values;
    drove_type  type;
    size_t      n_rows, n_columns;
    ptrdiff_t   row_bytes, column_bytes;
} drove_matrix;
typedef struct {
    size_t      n_rows, n_columns;
    const void *start, *index;
    drove_type  start_type, index_type;
    const void *value;
    drove_type  value_type;
    int         is_by_columns;
} drove_sparse;
typedef struct drove_arrays drove_arrays;
drove_status                drove_arrays_create(drove_arrays **out);
void                        drove_arrays_destroy(drove_arrays *arrays);
drove_status                drove_arrays_set_dense(drove_arrays *arrays, const drove_matrix *x);
drove_status                drove_arrays_set_sparse(drove_arrays *arrays, const drove_sparse *x);
drove_status drove_arrays_set_images(drove_arrays *arrays, size_t channels, size_t height,
                                     size_t width);
drove_status drove_arrays_set_classes(drove_arrays *arrays, const drove_matrix *classes,
                                      size_t n_classes, const char *const *name);
drove_status drove_arrays_set_values(drove_arrays *arrays, const drove_matrix *values);
drove_status drove_arrays_set_labels(drove_arrays *arrays, const drove_matrix *labels,
                                     const char *const *name);
drove_status drove_arrays_set_weights(drove_arrays *arrays, const drove_matrix *weights);
const char  *drove_arrays_name(const drove_arrays *arrays);
size_t       drove_arrays_copied_bytes(const drove_arrays *arrays);

typedef struct drove_memory_file drove_memory_file;
drove_status drove_memory_file_create(const void *bytes, size_t n_bytes, int copies,
                                      drove_memory_file **out);
void         drove_memory_file_destroy(drove_memory_file *file);
const char  *drove_memory_file_name(const drove_memory_file *file);

/* tables by Arrow */
struct ArrowSchema {
    ...;
};
struct ArrowArray {
    ...;
};
struct ArrowArrayStream {
    ...;
};
typedef struct drove_arrow_table drove_arrow_table;
drove_status drove_arrow_table_create(struct ArrowSchema *schema, struct ArrowArray *batch,
                                      drove_arrow_table **out);
drove_status drove_arrow_table_from_stream(struct ArrowArrayStream *stream,
                                           drove_arrow_table      **out);
void         drove_arrow_table_destroy(drove_arrow_table *table);
const char  *drove_arrow_table_name(const drove_arrow_table *table);
size_t       drove_arrow_table_n_rows(const drove_arrow_table *table);
size_t       drove_arrow_table_bytes(const drove_arrow_table *table);
drove_status drove_arrow_table_add(drove_arrow_table *table, const char *name,
                                   const drove_matrix *values, const char *const *text,
                                   size_t n_texts);

/* runs */
typedef enum {
    DROVE_REACHED,
    DROVE_FINISHED,
    DROVE_MISSED,
    DROVE_CRASHED,
    DROVE_INTERRUPTED,
    ...
} drove_outcome;
typedef struct {
    double   epochs, epochs_total, fraction;
    uint64_t examples, updates;
    double   train_s, examples_per_s, eta_s;
    double   loss, loss_initial, accuracy, test_loss, test_accuracy, target_loss;
    unsigned n_workers;
    int      evaluated;
    double   validation_loss, validation_accuracy;
    ...;
} drove_progress;
typedef struct {
    void *context;
    void (*progress)(void *context, const drove_progress *p);
    void (*evaluated)(void *context, const drove_progress *p);
    void (*message)(void *context, const char *line);
} drove_callbacks;
typedef struct drove_result drove_result;
typedef struct drove_run    drove_run;
drove_status                drove_run_create(const drove_options *options, drove_run **out);
void          drove_run_set_callbacks(drove_run *run, const drove_callbacks *callbacks);
void          drove_run_keep_model(drove_run *run);
drove_status  drove_run_train(drove_run *run, drove_result **out);
void          drove_run_cancel(drove_run *run);
void          drove_run_destroy(drove_run *run);
const char   *drove_outcome_name(drove_outcome outcome);
drove_outcome drove_result_outcome(const drove_result *result);
int           drove_result_exit(const drove_result *result);
const char   *drove_result_json(const drove_result *result);
const char   *drove_result_model(const drove_result *result);
void          drove_result_destroy(drove_result *result);

/* predictors */
typedef struct drove_predictor drove_predictor;
typedef struct {
    size_t      n_features, n_outputs, n_classes, n_parameters, n_tensors;
    int         is_multi_label, gives_probability, is_table, is_sparse;
    const char *model, *loss;
    ...;
} drove_predictor_facts;
typedef struct {
    const char  *name;
    size_t       n;
    unsigned     rank;
    size_t       shape[5];
    const float *values;
    ...;
} drove_tensor_info;
drove_status drove_predictor_open(const char *model, const char *isa, drove_predictor **out);
void         drove_predictor_destroy(drove_predictor *predictor);
const drove_predictor_facts *drove_predictor_describe(const drove_predictor *predictor);
const char                  *drove_predictor_class_name(const drove_predictor *predictor, size_t i);
drove_status drove_predictor_rows(drove_predictor *predictor, const drove_matrix *x, float *into);
drove_status drove_predictor_apply(drove_predictor *predictor, const char *data, unsigned threads,
                                   float **into, size_t *n_rows);
drove_status drove_predictor_rows_f64(drove_predictor *predictor, const drove_matrix *x,
                                      double *into);
drove_status drove_predictor_apply_f64(drove_predictor *predictor, const char *data,
                                       unsigned threads, double **into, size_t *n_rows);
drove_status drove_predictor_remarks(drove_predictor *predictor, const char *data, char **out);
drove_status drove_predictor_stream(drove_predictor *predictor, struct ArrowArrayStream *rows,
                                    unsigned threads, struct ArrowArrayStream *out);
drove_status drove_predictor_tensor(const drove_predictor *predictor, size_t i,
                                    drove_tensor_info *out);
drove_status drove_predictor_set_tensor(drove_predictor *predictor, const char *name,
                                        const float *values, size_t n);
const char  *drove_predictor_name(const drove_predictor *predictor);
void drove_predictor_bytes(const drove_predictor *predictor, const void **bytes, size_t *n_bytes);
drove_status drove_predictor_save(const drove_predictor *predictor, const char *path);

/* models for other programs */
typedef struct {
    const char *model, *out;
    ...;
} drove_export_options;
drove_status drove_export_onnx(const drove_export_options *opt);
drove_status drove_export_c(const drove_export_options *opt);
drove_status drove_export_pytorch(const drove_export_options *opt);

/* evaluation */
typedef struct {
    const char *model, *data, *isa;
    uint64_t    batch;
    int         proba;
    uint64_t    threads;
    const char *threshold;
    ...;
} drove_use_options;
typedef struct {
    uint64_t n_rows;
    double   loss, accuracy;
    int      is_multi_label;
    ...;
} drove_score_report;
typedef struct drove_metrics drove_metrics;
drove_status drove_eval_metrics(const drove_use_options *use, drove_score_report *out,
                                drove_metrics **metrics);
void         drove_metrics_destroy(drove_metrics *metrics);
drove_status drove_metrics_json(const drove_metrics *metrics, char **out);

/* training in pieces */
typedef struct drove_trainer drove_trainer;
drove_status                 drove_trainer_open(const drove_options *options, drove_trainer **out);
void                         drove_trainer_destroy(drove_trainer *trainer);
drove_status drove_trainer_scale_targets(drove_trainer *trainer, const double *shift,
                                         const double *scale, size_t n_values);
drove_status drove_trainer_begin(drove_trainer *trainer, const drove_arrays *rows);
drove_status drove_trainer_advance(drove_trainer *trainer, double most_seconds, int *is_over,
                                   double *loss);
drove_status drove_trainer_model(const drove_trainer *trainer, drove_memory_file **out);
const float *drove_trainer_state(const drove_trainer *trainer, size_t *n_numbers,
                                 uint64_t *n_updates);
drove_status drove_trainer_set_state(drove_trainer *trainer, const float *state, size_t n_numbers,
                                     uint64_t n_updates);

/* losses of the program's own */
typedef enum {
    DROVE_OUTPUTS_PLAIN,
    DROVE_OUTPUTS_SIGMOID,
    DROVE_OUTPUTS_SOFTMAX,
    ...
} drove_outputs;
typedef struct {
    size_t          n_rows, n_outputs;
    const float    *outputs;
    const int32_t  *class_of;
    const float    *values;
    const uint64_t *label_first, *label_last;
    const uint32_t *label;
    float          *loss, *derivative;
    char           *why;
    size_t          why_size;
} drove_loss_batch;
typedef struct {
    const char   *name;
    drove_outputs outputs;
    int           has_one_output;
    void         *context;
    drove_status (*eval)(void *context, const drove_loss_batch *batch);
} drove_custom_loss;
drove_status drove_options_set_loss(drove_options *options, const drove_custom_loss *loss);
drove_status drove_loss_check(const drove_custom_loss *loss, const drove_loss_batch *batch,
                              double bound, double *worst);
drove_status drove_eval_with(const drove_options *options, const drove_use_options *use,
                             drove_score_report *out, drove_metrics **metrics);

/* batches that the program delivers */
typedef struct {
    drove_arrays   *rows;
    int             is_over;
    const uint32_t *class_number;
    char           *why;
    size_t          why_size;
} drove_batch_request;
typedef struct {
    void *context;
    drove_status (*next)(void *context, drove_batch_request *request);
} drove_batch_source;
drove_status drove_batches_write(const drove_batch_source *source, const char *path,
                                 uint64_t *n_rows);

/* of build_native.py */
struct ArrowArrayStream *drove_py_new_stream(void);
void                    *drove_py_stream_destructor(void);
drove_status drove_py_numbers(const double *column, size_t n_rows, size_t n_columns, char **name,
                              drove_arrow_table **out);

extern "Python" void         drove_py_progress(void *, const drove_progress *);
extern "Python" void         drove_py_evaluated(void *, const drove_progress *);
extern "Python" void         drove_py_message(void *, const char *);
extern "Python" drove_status drove_py_loss(void *, const drove_loss_batch *);
extern "Python" drove_status drove_py_next(void *, drove_batch_request *);
