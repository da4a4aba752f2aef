/* What embedded.py measures in a process of a tool.
 *
 *   embedded once MODEL RESULT          rules, one model, a file: CPU seconds
 *   embedded many THREADS PACK FILE...  models in memory, after each thread has
 *                                       loaded rules: "COUNT SECONDS"
 *   embedded rounds COUNT FILE          loads, runs and frees: the bytes in use
 *                                       after 100 rounds and after all. malloc()
 *                                       must not keep freed blocks: see
 *                                       embedded.py
 *
 * PACK is the name of one, or "all".
 */
#include <malloc.h>
#include <pthread.h>
#include <ruleengine.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void check(re_error *error) {
  if (!error) return;
  fprintf(stderr, "%s\n", re_error_text(error));
  exit(1);
}

static double now(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static re_rules *rules_of(const char *pack) {
  re_rules_options options = RE_OPTIONS(re_rules_options);
  re_rules *rules = NULL;
  options.packs = &pack;
  options.pack_count = strcmp(pack, "all") == 0 ? 0 : 1;
  check(re_rules_load(&options, NULL, &rules));
  return rules;
}

static re_text read_file(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) exit(2);
  fseek(file, 0, SEEK_END);
  const size_t size = (size_t)ftell(file);
  rewind(file);
  char *data = malloc(size);
  if (fread(data, 1, size, file) != size) exit(2);
  fclose(file);
  return (re_text){data, size};
}

/* From bytes to bytes. */
static void rewrite(re_rules *rules, re_text bytes) {
  re_model *model = NULL, *result = NULL;
  void *data = NULL;
  size_t size = 0;
  check(re_model_parse(bytes.data, bytes.size, NULL, NULL, &model));
  check(re_run(rules, model, NULL, NULL, &result, NULL));
  check(re_model_bytes(result, NULL, &data, &size));
  re_bytes_free(data);
  re_model_free(result);
  re_model_free(model);
}

struct part {
  pthread_t thread;
  pthread_barrier_t *loaded;
  const char *pack;
  const re_text *files;
  int first, step, count;
};

static void *work(void *of) {
  const struct part *part = of;
  re_rules *rules = rules_of(part->pack);
  pthread_barrier_wait(part->loaded);
  for (int i = part->first; i < part->count; i += part->step) {
    rewrite(rules, part->files[i]);
  }
  re_rules_free(rules);
  return NULL;
}

static int many(int threads, const char *pack, int count, char **paths) {
  re_text *files = malloc(sizeof(re_text) * (size_t)count);
  struct part *parts = malloc(sizeof(struct part) * (size_t)threads);
  for (int i = 0; i < count; ++i) files[i] = read_file(paths[i]);
  pthread_barrier_t loaded;
  pthread_barrier_init(&loaded, NULL, (unsigned)threads + 1);
  for (int i = 0; i < threads; ++i) {
    parts[i] = (struct part){.loaded = &loaded, .pack = pack, .files = files,
                             .first = i, .step = threads, .count = count};
    pthread_create(&parts[i].thread, NULL, work, &parts[i]);
  }
  pthread_barrier_wait(&loaded);
  const double begun = now(CLOCK_MONOTONIC);
  for (int i = 0; i < threads; ++i) pthread_join(parts[i].thread, NULL);
  printf("%d %.4f\n", count, now(CLOCK_MONOTONIC) - begun);
  for (int i = 0; i < count; ++i) free((void *)files[i].data);
  free(files);
  free(parts);
  return 0;
}

static size_t used(void) {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

static int rounds(int count, const char *path) {
  const re_text file = read_file(path);
  size_t early = 0;
  mallopt(M_MXFAST, 0);
  for (int i = 1; i <= count; ++i) {
    re_rules *rules = rules_of("linear");
    rewrite(rules, file);
    re_rules_free(rules);
    if (i == 100) early = used();
  }
  printf("%zu %zu\n", early, used());
  free((void *)file.data);
  return 0;
}

static int once(const char *path, const char *to) {
  const double begun = now(CLOCK_PROCESS_CPUTIME_ID);
  re_rules *rules = rules_of("all");
  re_model *model = NULL, *result = NULL;
  check(re_model_load(path, NULL, NULL, &model));
  check(re_run(rules, model, NULL, NULL, &result, NULL));
  check(re_model_save(result, to, NULL, NULL));
  re_model_free(result);
  re_model_free(model);
  re_rules_free(rules);
  printf("%.6f\n", now(CLOCK_PROCESS_CPUTIME_ID) - begun);
  return 0;
}

int main(int argc, char **argv) {
  if (argc == 4 && strcmp(argv[1], "once") == 0) return once(argv[2], argv[3]);
  if (argc > 4 && strcmp(argv[1], "many") == 0) {
    return many(atoi(argv[2]), argv[3], argc - 4, argv + 4);
  }
  if (argc == 4 && strcmp(argv[1], "rounds") == 0) {
    return rounds(atoi(argv[2]), argv[3]);
  }
  return 2;
}
