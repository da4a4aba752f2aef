/* ruleengine: rewrites ONNX models with rules, from C.
 *
 *   re_rules *rules = NULL;
 *   re_model *model = NULL, *result = NULL;
 *   re_error *error = re_rules_load(NULL, NULL, &rules);
 *   if (!error) error = re_model_load("model.onnx", NULL, NULL, &model);
 *   if (!error) error = re_run(rules, model, NULL, NULL, &result, NULL);
 *   if (!error) error = re_model_save(result, "result.onnx", NULL, NULL);
 *   if (error) fprintf(stderr, "%s\n", re_error_text(error));
 *   re_error_free(error);
 *   re_model_free(result);
 *   re_model_free(model);
 *   re_rules_free(rules);
 *
 * Errors. A function that returns a re_error * returns NULL, or an error that
 * the caller frees; a handle that it would have made is then NULL. A failed
 * allocation is an error too. Other functions do not fail, but for
 * re_buffer_append().
 *
 * Ownership. Whoever calls a function that makes a handle frees it, with the
 * function of its type, once, and not while a call uses it; NULL is accepted
 * and ignored there. Handles are freed in any order: what a handle was made of
 * is kept as long as it is needed. Every pointer that is returned from a handle
 * is valid until the handle is freed. What is passed in need not outlive the
 * call, unless the function says otherwise.
 *
 * Texts that are passed in end with a NUL, and are UTF-8. Texts that are
 * returned as `const char *` end with a NUL too; there is never NULL in place
 * of an empty one.
 *
 * Threads. A handle may move from thread to thread. A handle that a function
 * takes as const may be read by several threads at once; any other is for one
 * thread at a time, but for re_stop_request(), and a call that finds it in use
 * fails with RE_ERROR_USAGE. Different handles work at once, also a model and
 * the results that were made of it. A call needs 4 MiB of stack. In the child
 * of a fork(), no handle works that a call of another thread held.
 *
 * Options. A struct of options starts with its own size, so that programs that
 * were compiled against an older header keep working. Begin with
 *   re_rules_options options = RE_OPTIONS(re_rules_options);
 * and set what you want. Zero stands for the default, everywhere. NULL in place
 * of options stands for the defaults of all. Structs without a size never
 * change.
 *
 * Callbacks run on the thread of the call. They return: they do not throw,
 * longjmp() or end the thread, and they call no function with a handle that the
 * call uses.
 *
 * The library prints nothing, ends no process, and installs no signal handler;
 * its own threads block all signals but those of faults. What one handle does
 * changes nothing for another. The environment is not read, but for
 * RULEENGINE_VECTOR_BITS, which limits the vector instructions of kernels.
 *
 * The files of models are mapped into memory: one that is cut short while its
 * model is in use ends the process with SIGBUS. RE_STORAGE_OWNED reads the
 * model's file instead, but not its external data; `data` in re_model_options
 * gives that from memory.
 */
#ifndef RULEENGINE_H
#define RULEENGINE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef RE_API
#define RE_API __attribute__((visibility("default")))
#endif

/* "0.1.0". The library keeps its version's first number while old programs work
 * with it; while that is 0, the first two. */
RE_API const char *re_version(void);

#ifdef __cplusplus
#define RE_OPTIONS(type) re_options<type>()
#else
#define RE_OPTIONS(type) \
  { .size = sizeof(type) }
#endif

/* --- errors ----------------------------------------------------------------*/

typedef struct re_error re_error;

typedef enum re_kind {
  RE_OK = 0,             /* of no error: of NULL */
  RE_ERROR_INTERNAL = 1, /* a fault of the library */
  RE_ERROR_USAGE = 2,    /* a wrong argument or option */
  RE_ERROR_MODEL = 3,    /* a model cannot be read */
  RE_ERROR_RULE = 4,     /* a rule cannot be read, or fails */
  RE_ERROR_LIMIT = 5,    /* a limit was reached, or memory ran out */
  RE_ERROR_VERIFY = 6,   /* the result is not verified */
  RE_ERROR_WRITE = 7,    /* a result cannot be written */
  RE_ERROR_CANCELLED = 8 /* the caller stopped the call */
} re_kind;

/* Of an error; the texts may be empty. `text` has all of them, on lines of
 * their own, with control characters escaped. */
RE_API re_kind re_error_kind(const re_error *error);
RE_API const char *re_error_what(const re_error *error);
RE_API const char *re_error_where(const re_error *error);
RE_API const char *re_error_expected(const re_error *error);
RE_API const char *re_error_found(const re_error *error);
RE_API const char *re_error_hint(const re_error *error);
RE_API const char *re_error_text(const re_error *error);
RE_API void re_error_free(re_error *error);

/* --- calls -----------------------------------------------------------------*/

/* Stops calls. Any number of calls may share one; it stops those that run and
 * those that begin later. re_stop_request() may be called from any thread at
 * any time, but not from a signal handler. */
typedef struct re_stop re_stop;
RE_API re_error *re_stop_new(re_stop **stop);
RE_API void re_stop_request(re_stop *stop);
RE_API void re_stop_free(re_stop *stop);

/* How far a call of re_run() or re_session_run() has come, out of `total`,
 * which may grow. Called a few times a second, or after each node of a model
 * that runs, on the thread of the call. Any result but 0 cancels the call,
 * unless it has done all by then. */
typedef int (*re_progress_fn)(void *user, uint64_t done, uint64_t total);

/* Some bytes; no NUL ends them. */
typedef struct re_text {
  const char *data;
  size_t size;
} re_text;

/* What long calls have in common. */
typedef struct re_call {
  size_t size;
  double seconds; /* that the call may take; 0: any */
  re_stop *stop;  /* or NULL; it outlives the call */
  re_progress_fn progress;
  void *user; /* for `progress` */
} re_call;

/* Receives bytes that a callback has. */
typedef struct re_buffer re_buffer;
/* Copies the bytes to the end of what the buffer has. 0, or -1 if memory ran
 * out or a pointer is NULL; the call then fails, whatever the callback returns.
 */
RE_API int re_buffer_append(re_buffer *buffer, const void *data, size_t size);

typedef enum re_lookup {
  RE_LOOKUP_NONE = 0,
  RE_LOOKUP_FOUND = 1,
  RE_LOOKUP_FAILED = 2
} re_lookup;

/* --- rules -----------------------------------------------------------------*/

/* Rules that were loaded and compiled, with how they are run. */
typedef struct re_rules re_rules;

#define RE_TERMINATED SIZE_MAX

/* A text in memory, such as a rule file. */
typedef struct re_file {
  const char *name; /* "pack/rule.lua" */
  const char *text;
  size_t size; /* of the text; RE_TERMINATED: it ends with a NUL */
} re_file;

/* The text of the file with this name: appends it to `text` and returns
 * RE_LOOKUP_FOUND; or RE_LOOKUP_NONE, or else RE_LOOKUP_FAILED, which fails the
 * call. Called while rules are loaded, on the thread of the call, any number of
 * times. */
typedef int (*re_read_fn)(void *user, const char *name, re_buffer *text);

/* As `--set RULE.OPTION=VALUE` on the command line. */
typedef struct re_setting {
  const char *rule, *option, *value;
} re_setting;

typedef struct re_rules_options {
  size_t size;

  /* Files of rules and packs, and folders. A path that begins with "memory:/"
   * is the name of one of `files`, or else one that `read` is asked for, and so
   * are the libs, the rules of packs and the files of examples that it names.
   */
  const char *const *paths;
  size_t path_count;
  /* Packs that ship, by name: "attention", "linear". Without paths and packs:
   * all of them. */
  const char *const *packs;
  size_t pack_count;
  const re_file *files;
  size_t file_count;
  re_read_fn read; /* or NULL */
  void *read_user;
  const re_setting *settings;
  size_t setting_count;

  double callback_seconds; /* for one callback of a rule; 0: 5 */
  double load_seconds;     /* for loading one rule file; 0: 2 */
  /* Bytes that rule code may use, and how many bytes larger a result may be
   * than its model; 0: 1 GiB. */
  uint64_t memory;
  /* The folder of the rules that ship; NULL: where they were installed.
   * Programs that were linked with the archive look for it in the prefix that
   * the library was configured with, and in /usr. */
  const char *shipped;
} re_rules_options;

RE_API re_error *re_rules_load(const re_rules_options *options,
                               const re_call *call, re_rules **rules);
RE_API void re_rules_free(re_rules *rules);
/* Warnings about the rules, such as one that another always preempts. */
RE_API size_t re_rules_warning_count(const re_rules *rules);
RE_API const char *re_rules_warning(const re_rules *rules, size_t i);

/* --- models ----------------------------------------------------------------*/

typedef struct re_model re_model;

/* The bytes of the external data with this location, as the model has it. They
 * are borrowed: see `release` in re_model_options. RE_LOOKUP_NONE: looked for
 * in the folder of the model, if it has one. Called while the model is loaded,
 * once for each location. */
typedef int (*re_data_fn)(void *user, const char *location, const void **data,
                          size_t *size);

/* Whose memory a model is in. */
typedef enum re_storage {
  RE_STORAGE_DEFAULT = 0, /* a file is shared, memory is owned */
  RE_STORAGE_SHARED = 1,  /* a file is mapped; memory is borrowed */
  RE_STORAGE_OWNED = 2    /* a file is read; memory is copied */
} re_storage;

/* Called once, when nothing uses what the caller lent any more: the bytes of
 * re_model_parse() and those of re_data_fn. On the thread that freed the last
 * handle that used them, or of the call that failed; but not where the options
 * themselves cannot be read. */
typedef void (*re_release_fn)(void *user);

/* Fixes the size of a named dimension: at `value`, or, where `other` is not
 * NULL, at the size of the dimension with that name. */
typedef struct re_dimension {
  const char *name;
  int64_t value;
  const char *other;
} re_dimension;

typedef struct re_model_options {
  size_t size;
  int64_t storage; /* a re_storage */
  /* Of a model in memory: what messages call it (where it ends with ".onnxtxt",
   * the model is text), and the folder of its external data, or NULL. */
  const char *name, *folder;
  re_data_fn data; /* or NULL */
  re_release_fn
      release; /* or NULL: what is lent lasts as long as the process */
  void *user;  /* for `data` and `release` */
  const re_dimension *dimensions;
  size_t dimension_count;
} re_model_options;

RE_API re_error *re_model_load(const char *path,
                               const re_model_options *options,
                               const re_call *call, re_model **model);
/* From memory, which RE_STORAGE_SHARED borrows. */
RE_API re_error *re_model_parse(const void *data, size_t size,
                                const re_model_options *options,
                                const re_call *call, re_model **model);
RE_API void re_model_free(re_model *model);
/* Faults of the model that do not keep it from being used. */
RE_API size_t re_model_warning_count(const re_model *model);
RE_API const char *re_model_warning(const re_model *model, size_t i);

typedef struct re_save_options {
  size_t size;
  int64_t share_data; /* not 0: a result that is saved in the folder of its
                         model refers to the model's external data */
} re_save_options;

/* Writes a file, as text where the path ends with ".onnxtxt". It appears whole
 * or not at all. A model that nothing changed is written as it was. The
 * external data of a result goes into PATH.data; so do its new tensors, where
 * the file would be larger than 2 GiB with them. */
RE_API re_error *re_model_save(re_model *model, const char *path,
                               const re_save_options *options,
                               const re_call *call);

/* Receives the bytes of a model in pieces, in their order. Any result but 0
 * ends the writing with an error of kind RE_ERROR_WRITE. */
typedef int (*re_write_fn)(void *user, const void *data, size_t size);

/* The model without a file; external data stays where it is. A result that
 * rules made larger than 2 GiB can only be saved. */
RE_API re_error *re_model_write(re_model *model, re_write_fn write, void *user,
                                const re_call *call);
/* The same in memory, which re_bytes_free() frees. */
RE_API re_error *re_model_bytes(re_model *model, const re_call *call,
                                void **data, size_t *size);
RE_API void re_bytes_free(void *data);

/* --- what rules do to a model ----------------------------------------------*/

/* What a call found out. */
typedef struct re_report re_report;
RE_API void re_report_free(re_report *report);
/* In the form of the command line's `--report` and `--json`. */
RE_API const char *re_report_json(const re_report *report);

typedef enum re_verify {
  RE_VERIFY_NOTHING = 0,
  RE_VERIFY_RESULT = 1, /* the result runs beside the model */
  RE_VERIFY_EDITS = 2   /* each edit where it is made; a wrong one is undone */
} re_verify;

/* How rules are run. */
typedef struct re_run_options {
  size_t size;
  /* "auto" (or NULL), "standard", "portable", "onnx", "ort", "openvino",
   * "tensorrt". */
  const char *target;
  int64_t opset;           /* the least of the result; 0: that of the model */
  int32_t exact;           /* not 0: no rewrite that rests on an assumption */
  int32_t keep_ir_version; /* not 0: older runtimes read the result */
  int32_t keep_all;        /* not 0: canonical forms stay */
  int32_t verify;          /* a re_verify */
  uint64_t tensors;        /* bytes of tensors at once, to verify; 0: three
                              quarters of the machine's memory */
} re_run_options;

/* Rewrites a model, which stays as it is. The result borrows from it, and keeps
 * what it borrows alive. `report` may be NULL. Where the call fails during the
 * run, the report says what was known by then. */
RE_API re_error *re_run(re_rules *rules, re_model *model,
                        const re_run_options *options, const re_call *call,
                        re_model **result, re_report **report);

/* What a run did, in numbers. */
typedef struct re_run_totals {
  size_t size; /* set before the call */
  uint64_t nodes_before, nodes_after;
  uint64_t matches, rewrites, rejected;
  uint64_t warnings, assumptions;
  int64_t opset_before, opset_after;
  int64_t verified; /* 1: the result was run and agreed */
  double match_seconds, rewrite_seconds;
} re_run_totals;
/* RE_ERROR_USAGE for the report of something else than a run. */
RE_API re_error *re_report_totals(const re_report *report,
                                  re_run_totals *totals);

/* Where each rule would fire, and what rejects the matches. */
RE_API re_error *re_find_matches(re_rules *rules, re_model *model,
                                 const re_run_options *options,
                                 const re_call *call, re_report **report);

typedef struct re_explain_options {
  size_t size;
  const char *node; /* the name of a node or of a value; NULL: any */
  size_t most;      /* misses of a rule, those that got furthest; 0: 3 */
  int64_t exact;    /* as in re_run_options */
} re_explain_options;
/* How far each rule gets, and what stops it. */
RE_API re_error *re_explain(re_rules *rules, re_model *model,
                            const re_explain_options *options,
                            const re_call *call, re_report **report);

/* How much of the attention of the model the rules compose. */
RE_API re_error *re_coverage(re_rules *rules, re_model *model,
                             const re_run_options *options, const re_call *call,
                             re_report **report);
/* Runs the examples of rules. The report says which failed; that is no error. A
 * file that cannot be loaded is one, with a report on the others. */
RE_API re_error *re_test(const re_rules_options *options, const re_call *call,
                         re_report **report);

/* --- running models
 * ---------------------------------------------------------*/

/* A model that was prepared, and runs many times. */
typedef struct re_session re_session;

typedef struct re_session_options {
  size_t size;
  int64_t threads;  /* 0: one for each core; at most 4096 */
  uint64_t seed;    /* of ops that draw random numbers */
  uint64_t tensors; /* bytes of tensors at once; 0: three quarters of the
                       machine's memory */
  re_rules *rules;  /* or NULL; ops with a body of theirs run as that */
  /* NULL, "cpu"; "cuda", the first GPU; or "auto", the GPU as long as it works,
   * and the CPU from then on. */
  const char *device;
  int32_t tf32; /* not 0: a GPU rounds the factors of float32 products to tf32,
                   which has 10 bits of mantissa */
} re_session_options;

typedef struct re_tensor {
  const char *name;
  int32_t type; /* as in ONNX's TensorProto.DataType: 1 is float */
  size_t rank;
  const int64_t *shape;
  /* Row by row, little-endian; of types below a byte the first element is in
   * the lowest bits; bools are 0 or 1; of strings, an array of re_text. */
  const void *data;
  size_t size; /* of the data, in bytes */
} re_tensor;

RE_API re_error *re_session_new(re_model *model,
                                const re_session_options *options,
                                const re_call *call, re_session **session);
RE_API void re_session_free(re_session *session);
/* Why the CPU computes what was for a GPU. */
RE_API size_t re_session_warning_count(const re_session *session);
RE_API const char *re_session_warning(const re_session *session, size_t i);

/* What a session computed: the outputs of the model, in its order. */
typedef struct re_values re_values;

/* Inputs are found by their names; those with an initializer may be left out.
 * Their data is read where it is, if it is aligned as malloc() does it, and
 * else copied. RE_ERROR_USAGE or RE_ERROR_MODEL where the model does not take
 * them. */
RE_API re_error *re_session_run(re_session *session, const re_tensor *inputs,
                                size_t count, const re_call *call,
                                re_values **outputs);
/* Runs on such inputs until runs on others of these shapes are as fast as they
 * get: what is built and laid out once is there, and a GPU has the run as one
 * launch. */
RE_API re_error *re_session_warm_up(re_session *session,
                                    const re_tensor *inputs, size_t count,
                                    const re_call *call);
RE_API void re_values_free(re_values *values);
RE_API size_t re_values_count(const re_values *values);

typedef enum re_value_kind {
  RE_VALUE_ABSENT = 0, /* an optional without a value */
  RE_VALUE_TENSOR = 1,
  RE_VALUE_SEQUENCE = 2
} re_value_kind;
RE_API re_value_kind re_values_kind(const re_values *values, size_t i);
/* The number of tensors of a sequence. */
RE_API size_t re_values_items(const re_values *values, size_t i);
/* A view of a tensor, or of the tensor number `item` of a sequence; it is valid
 * until the values are freed. `item` of a tensor is 0. */
RE_API re_error *re_values_tensor(const re_values *values, size_t i,
                                  size_t item, re_tensor *tensor);

typedef struct re_compare_options {
  size_t size;
  int64_t threads; /* this, `tensors` and `rules`: as in re_session_options */
  uint64_t seed;   /* of the inputs */
  uint64_t tensors;
  re_rules *rules;
  /* How far results may differ; both 0: by the rounding of their types. */
  double absolute, relative;
  int64_t exact; /* not 0: they may not differ */
} re_compare_options;

/* Runs two models with the same inputs and outputs on random inputs of several
 * kinds. RE_ERROR_VERIFY where they differ, or cannot be run. `report` may be
 * NULL. */
RE_API re_error *re_compare(re_model *model, re_model *other,
                            const re_compare_options *options,
                            const re_call *call, re_report **report);

/* --- reading a graph
 * ---------------------------------------------------------*/

/* A model to read, as it was when the walk was made. Graphs are numbered from
 * 0, which is the main graph; values of all graphs are numbered together; nodes
 * are numbered in each graph, in the order of computation. RE_NOTHING stands
 * for none of them. */
typedef struct re_walk re_walk;
#define RE_NOTHING (-1)

RE_API re_error *re_walk_new(re_model *model, const re_call *call,
                             re_walk **walk);
RE_API void re_walk_free(re_walk *walk);
RE_API int64_t re_walk_graphs(const re_walk *walk);
RE_API int64_t re_walk_values(const re_walk *walk);

typedef enum re_graph_kind {
  RE_GRAPH_MAIN = 0,
  RE_GRAPH_BODY = 1,    /* of an attribute of a node */
  RE_GRAPH_FUNCTION = 2 /* of a function of the model */
} re_graph_kind;

/* Set `size` before the call, here and in the structs below, as with options.
 */
typedef struct re_graph {
  size_t size;
  re_text name;
  const int64_t *inputs, *outputs, *initializers; /* values */
  size_t input_count, output_count, initializer_count;
  int64_t node_count;
  int64_t parent, parent_node;    /* of a body: the node that has it */
  re_text domain, type, overload; /* of a function */
  int64_t kind;                   /* a re_graph_kind */
} re_graph;

typedef struct re_node {
  size_t size;
  re_text domain, type, overload, name;
  const int64_t *inputs, *outputs; /* values; RE_NOTHING: left out */
  size_t input_count, output_count;
  int64_t attribute_count;
  int64_t function; /* the graph of the function of the model that it calls */
} re_node;

/* The kind decides which fields are set. */
typedef struct re_attribute {
  size_t size;
  re_text name;
  int32_t kind; /* as in ONNX's AttributeProto.AttributeType: 1 is a float, 2 an
                   int, 3 a string, 4 a tensor, 5 a graph; 5 more, a list */
  float f;
  int64_t i;
  re_text s;
  const float *floats;
  const int64_t *ints;
  const re_text *strings;
  const int64_t *graphs;
  size_t count;      /* of floats, ints, strings, graphs or tensors */
  re_text reference; /* in a function: the attribute of the call whose value
                        this one has */
  re_text proto;     /* the encoded AttributeProto, where the model's file has
                        it */
} re_attribute;

typedef enum re_origin {
  RE_ORIGIN_UNDEFINED = 0, /* nothing gives it a value */
  RE_ORIGIN_INPUT = 1,     /* of a graph */
  RE_ORIGIN_INITIALIZER = 2,
  RE_ORIGIN_NODE = 3 /* by a node */
} re_origin;

typedef struct re_dim {
  int64_t value; /* RE_NOTHING: not known */
  re_text name;  /* "N", "2*N + 1"; empty where the size is known, or has no
                    name */
} re_dim;

typedef struct re_value {
  size_t size;
  re_text name;
  int64_t graph, node; /* of the node that computes it */
  size_t readers;      /* an output of a graph is one */
  size_t rank;
  const re_dim *shape;
  int32_t type; /* of a tensor, as in re_tensor; 0: not known, or no tensor */
  int32_t has_shape;   /* 1: the rank is known */
  int32_t is_constant; /* 1: re_walk_constant() gives it */
  int32_t origin;      /* a re_origin */
} re_value;

/* These fail with RE_ERROR_USAGE for a number that the walk does not have, and
 * for nothing else. */
RE_API re_error *re_walk_graph(const re_walk *walk, int64_t graph,
                               re_graph *to);
RE_API re_error *re_walk_node(const re_walk *walk, int64_t graph, int64_t node,
                              re_node *to);
RE_API re_error *re_walk_value(const re_walk *walk, int64_t value,
                               re_value *to);
RE_API re_error *re_walk_attribute(const re_walk *walk, int64_t graph,
                                   int64_t node, int64_t attribute,
                                   re_attribute *to);

/* The tensor of an initializer, of the default of an input, or of the `value`
 * of a Constant; and the tensor number `i` of an attribute. The data is where
 * the model has it: that of a file need not be aligned, and a bool may be any
 * byte. That of a constant that rules folded is computed at the first call. */
RE_API re_error *re_walk_constant(re_walk *walk, int64_t value, re_tensor *to);
RE_API re_error *re_walk_tensor(re_walk *walk, int64_t graph, int64_t node,
                                int64_t attribute, int64_t i, re_tensor *to);

#ifdef __cplusplus
}

template <typename T>
inline T re_options() {
  T options = T();
  options.size = sizeof(T);
  return options;
}
#endif

#endif
