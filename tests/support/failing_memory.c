/* What a caller sees where memory runs out.
 *
 *   failing_memory SCENARIO FIRST LAST STEP
 *
 * For each STEP-th N from FIRST to LAST, in a process of its own: the allocation number
 * N of the scenario fails, then all from number N on. Each time the scenario
 * must succeed or fail with RE_ERROR_LIMIT, give all memory back, and succeed when it
 * is run again. Prints what did not, and "N allocations".
 */
#define _GNU_SOURCE
#include <errno.h>
#include <ruleengine.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

static long calls, live, fails_at, fails_until;

static int fails(void) {
  const long call = __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
  if (call < fails_at || call >= fails_until) return 0;
  errno = ENOMEM;
  return 1;
}
static void *counted(void *block) {
  if (block) __atomic_add_fetch(&live, 1, __ATOMIC_RELAXED);
  return block;
}
void *malloc(size_t size) {
  return fails() ? NULL : counted(__libc_malloc(size));
}
void *calloc(size_t count, size_t size) {
  return fails() ? NULL : counted(__libc_calloc(count, size));
}
void *realloc(void *old, size_t size) {
  if (size != 0 && fails()) return NULL;
  void *block = __libc_realloc(old, size);
  if (!old) return counted(block);
  if (size == 0) __atomic_sub_fetch(&live, 1, __ATOMIC_RELAXED);
  return block;
}
void free(void *block) {
  if (block) __atomic_sub_fetch(&live, 1, __ATOMIC_RELAXED);
  __libc_free(block);
}
void *memalign(size_t alignment, size_t size) {
  return fails() ? NULL : counted(__libc_memalign(alignment, size));
}
void *aligned_alloc(size_t alignment, size_t size) {
  return memalign(alignment, size);
}
int posix_memalign(void **block, size_t alignment, size_t size) {
  *block = memalign(alignment, size);
  return *block ? 0 : ENOMEM;
}

static const char kModel[] =
    "m (float[2,N] x) => (float[2,N] y, float[2,3] z) "
    "<float[2,3] w = {1,2,3,4,5,6}> { a = Identity(x)  b = Neg(a)  c = Relu(b) "
    "y = Softmax <axis = 1> (c)  d = Add(w, w)  z = Mul(d, w) }";
static const char kRule[] =
    "return rule { match = function(op, x) return op.Neg(op.Identity(x)) end,"
    "  rewrite = function(op, m) return op.Neg(m.x) end,"
    "  examples = { { 'e', [[(float[2] x) => (float[2] y) {"
    "    a = Identity(x) y = Neg(a) }]], 'y = Neg(x)' } } }";

static char told[512];

static int failed(re_error *error, int *kind) {
  if (!error) return 0;
  *kind = re_error_kind(error);
  snprintf(told, sizeof(told), "%s", re_error_text(error));
  re_error_free(error);
  return 1;
}

static int is_now(const char *scenario, const char *name) {
  return strcmp(scenario, name) == 0;
}

static int take(void *user, const void *data, size_t size) {
  *(size_t *)user += data ? size : 0;
  return 0;
}

/* Returns the kind of the error that ended it, or RE_OK. */
static int run(const char *scenario) {
  re_rules *rules = NULL;
  re_model *model = NULL, *result = NULL;
  re_report *report = NULL;
  re_session *session = NULL;
  re_values *values = NULL;
  re_walk *walk = NULL;
  void *bytes = NULL;
  size_t size = 0;
  int kind = RE_OK;

  re_model_options how = RE_OPTIONS(re_model_options);
  how.name = "m.onnxtxt";
  const char *path = "memory:/r.lua", *pack = "simplify";
  const re_file file = {"r.lua", kRule, RE_TERMINATED};
  re_rules_options options = RE_OPTIONS(re_rules_options);
  if (is_now(scenario, "pack")) {
    options.packs = &pack;
    options.pack_count = 1;
  } else {
    options.paths = &path;
    options.path_count = 1;
    options.files = &file;
    options.file_count = 1;
  }
  re_run_options running = RE_OPTIONS(re_run_options);
  if (is_now(scenario, "verify")) running.verify = RE_VERIFY_RESULT;
  if (is_now(scenario, "edits")) running.verify = RE_VERIFY_EDITS;

  if (is_now(scenario, "test")) {
    failed(re_test(&options, NULL, &report), &kind);
  } else if (failed(re_model_parse(kModel, strlen(kModel), &how, NULL, &model),
                    &kind)) {
  } else if (is_now(scenario, "session")) {
    _Alignas(16) const float x[4] = {1, 2, 3, 4};
    const int64_t shape[] = {2, 2};
    const re_tensor input = {"x", 1, 2, shape, x, sizeof(x)};
    if (!failed(re_session_new(model, NULL, NULL, &session), &kind)) {
      failed(re_session_run(session, &input, 1, NULL, &values), &kind);
    }
  } else if (is_now(scenario, "walk")) {
    re_value value = RE_OPTIONS(re_value);
    re_attribute attribute = RE_OPTIONS(re_attribute);
    if (!failed(re_walk_new(model, NULL, &walk), &kind) &&
        !failed(re_walk_value(walk, 0, &value), &kind)) {
      failed(re_walk_attribute(walk, 0, 3, 0, &attribute), &kind);
    }
  } else if (is_now(scenario, "load")) {
    char name[64];
    snprintf(name, sizeof(name), "%ld.onnx", (long)getpid());
    if (!failed(re_model_save(model, name, NULL, NULL), &kind) &&
        !failed(re_model_load(name, NULL, NULL, &result), &kind)) {
      failed(re_model_write(result, take, &size, NULL), &kind);
    }
    unlink(name);
  } else if (is_now(scenario, "compare")) {
    failed(re_compare(model, model, NULL, NULL, &report), &kind);
  } else if (failed(re_rules_load(&options, NULL, &rules), &kind)) {
  } else if (is_now(scenario, "questions")) {
    if (!failed(re_find_matches(rules, model, NULL, NULL, &report), &kind)) {
      re_report_free(report);
      if (!failed(re_explain(rules, model, NULL, NULL, &report), &kind)) {
        re_report_free(report);
        failed(re_coverage(rules, model, NULL, NULL, &report), &kind);
      }
    }
  } else if (!failed(re_run(rules, model, &running, NULL, &result, &report), &kind)) {
    failed(re_model_bytes(result, NULL, &bytes, &size), &kind);
  }

  re_bytes_free(bytes);
  re_values_free(values);
  re_session_free(session);
  re_walk_free(walk);
  re_report_free(report);
  re_model_free(result);
  re_model_free(model);
  re_rules_free(rules);
  return kind;
}

/* In a child: one failure. 0, or what went wrong is printed. */
static int fail_at(const char *scenario, long n, int goes_on) {
  const long before = live;
  fails_at = calls + n;
  fails_until = goes_on ? __LONG_MAX__ : fails_at + 1;
  const int kind = run(scenario);
  fails_at = fails_until = 0;
  const long after = live;
  const int again = run(scenario);
  /* The first run may have left out what the library makes once. */
  const long leaked = live > after ? live - after : 0;
  if ((kind == RE_OK || kind == RE_ERROR_LIMIT) && again == RE_OK && leaked == 0 &&
      after - before <= 1) {
    return 0;
  }
  printf("%s, %ld%s: kind %d, then %d, %ld blocks, then %ld more: %s\n",
         scenario, n, goes_on ? " and all that follow" : "", kind, again,
         after - before, leaked, told);
  return 1;
}

int main(int argc, char **argv) {
  if (argc != 5) return 2;
  const char *scenario = argv[1];
  setvbuf(stdout, NULL, _IONBF, 0);
  if (run(scenario) != RE_OK || run(scenario) != RE_OK) {
    printf("%s fails: %s\n", scenario, told);
    return 1;
  }
  const long before = calls;
  run(scenario);
  const long all = calls - before;
  long last = atol(argv[3]), wrong = 0;
  if (last > all) last = all;
  for (long n = atol(argv[2]); n <= last; n += atol(argv[4])) {
    for (int goes_on = 0; goes_on < 2; ++goes_on) {
      const pid_t child = fork();
      if (child == 0) {
        alarm(60);
        _exit(fail_at(scenario, n, goes_on));
      }
      int status = 0;
      waitpid(child, &status, 0);
      if (WIFSIGNALED(status)) {
        printf("%s, %ld%s: signal %d\n", scenario, n,
               goes_on ? " and all that follow" : "", WTERMSIG(status));
      }
      wrong += status != 0;
    }
  }
  printf("%ld allocations\n", all);
  return wrong != 0;
}
