/* Prints the nodes of a model, and how many floating-point operations they do.
 *
 *   gcc -std=c11 flops.c -o flops $(pkg-config --cflags --libs ruleengine)
 *   ./flops bert.onnx batch=1 seq=128
 *
 * A product of two numbers and its sum count as two. Other ops count one for
 * each number that they give, and moving data counts nothing. "?" stands for
 * nodes with an unknown size, and for calls of functions.
 */
#include <inttypes.h>
#include <ruleengine.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMostDimensions = 32 };

static void check(re_error* error) {
  if (!error) return;
  fprintf(stderr, "%s\n", re_error_text(error));
  exit((int)re_error_kind(error));
}

static int is(re_text text, const char* what) {
  return text.size == strlen(what) && memcmp(text.data, what, text.size) == 0;
}

static re_value value_at(const re_walk* walk, int64_t number) {
  re_value value = RE_OPTIONS(re_value);
  if (number != RE_NOTHING) {
    check(re_walk_value(walk, number, &value));
  }
  return value;
}

/* The product of sizes from `first` to before `last`; -1 where one is unknown.
 */
static double count(const re_value* value, size_t first, size_t last) {
  double out = 1;
  if (!value->has_shape || last > value->rank) return -1;
  for (size_t i = first; i < last; ++i) {
    if (value->shape[i].value < 0) return -1;
    out *= (double)value->shape[i].value;
  }
  return out;
}

static double product(double a, double b) {
  return a < 0 || b < 0 ? -1 : a * b;
}

static int64_t int_of(re_walk* walk, int64_t graph, int64_t at,
                      const re_node* node, const char* name) {
  for (int64_t i = 0; i < node->attribute_count; ++i) {
    re_attribute attribute = RE_OPTIONS(re_attribute);
    check(re_walk_attribute(walk, graph, at, i, &attribute));
    if (is(attribute.name, name)) return attribute.i;
  }
  return 0;
}

/* What a node does; -1 where a size is unknown. */
static double flops(re_walk* walk, int64_t graph, int64_t at,
                    const re_node* node) {
  if (node->function != RE_NOTHING) return -1;
  if (node->output_count == 0 || node->input_count == 0) return 0;
  const re_value out = value_at(walk, node->outputs[0]);
  const re_value a = value_at(walk, node->inputs[0]);
  const double numbers = count(&out, 0, out.rank);
  if (is(node->type, "MatMul") && a.rank > 0) {
    return product(2 * numbers, count(&a, a.rank - 1, a.rank));
  }
  if (is(node->type, "Gemm") && a.rank == 2) {
    const int turned = int_of(walk, graph, at, node, "transA") != 0;
    return product(2 * numbers, count(&a, turned ? 0 : 1, turned ? 1 : 2));
  }
  if (is(node->type, "Conv") && node->input_count > 1) {
    const re_value weights = value_at(walk, node->inputs[1]);
    return product(2 * numbers, count(&weights, 1, weights.rank));
  }
  if (out.type != 1 && out.type != 10 && out.type != 11 && out.type != 16) {
    return 0; /* no floating-point numbers */
  }
  static const char* const kMoves[] = {
      "Cast",     "Concat",  "Constant",  "ConstantOfShape",
      "Expand",   "Flatten", "Gather",    "Identity",
      "Pad",      "Reshape", "Slice",     "Split",
      "Squeeze",  "Tile",    "Transpose", "Where",
      "Unsqueeze"};
  for (size_t i = 0; i < sizeof(kMoves) / sizeof(*kMoves); ++i) {
    if (is(node->type, kMoves[i])) return 0;
  }
  return numbers;
}

static void print_shape(const re_value* value) {
  if (!value->has_shape) {
    printf(" ?");
    return;
  }
  printf(" [");
  for (size_t i = 0; i < value->rank; ++i) {
    const re_dim* size = &value->shape[i];
    if (i > 0) printf(", ");
    if (size->value >= 0) {
      printf("%" PRId64, size->value);
    } else {
      printf("%.*s", size->name.size > 0 ? (int)size->name.size : 1,
             size->name.size > 0 ? size->name.data : "?");
    }
  }
  printf("]");
}

int main(int argc, char** argv) {
  re_dimension dimensions[kMostDimensions];
  re_model_options options = RE_OPTIONS(re_model_options);
  options.dimensions = dimensions;
  if (argc < 2 || argc - 2 > kMostDimensions) {
    fprintf(stderr, "usage: flops MODEL [NAME=SIZE]...\n");
    return RE_ERROR_USAGE;
  }
  for (int i = 2; i < argc; ++i) {
    char *equals = strchr(argv[i], '='), *end = NULL;
    const long long size = equals ? strtoll(equals + 1, &end, 10) : 0;
    if (!equals || end == equals + 1 || *end) {
      fprintf(stderr, "%s: expected NAME=SIZE\n", argv[i]);
      return RE_ERROR_USAGE;
    }
    *equals = '\0';
    re_dimension* to = &dimensions[options.dimension_count++];
    *to = (re_dimension){argv[i], size, NULL};
  }

  re_model* model = NULL;
  re_walk* walk = NULL;
  check(re_model_load(argv[1], &options, NULL, &model));
  check(re_walk_new(model, NULL, &walk));
  double all = 0;
  size_t unknown = 0;
  for (int64_t number = 0; number < re_walk_graphs(walk); ++number) {
    re_graph graph = RE_OPTIONS(re_graph);
    check(re_walk_graph(walk, number, &graph));
    if (graph.kind == RE_GRAPH_FUNCTION) continue;
    printf("graph %.*s\n", (int)graph.name.size, graph.name.data);
    for (int64_t at = 0; at < graph.node_count; ++at) {
      re_node node = RE_OPTIONS(re_node);
      check(re_walk_node(walk, number, at, &node));
      const double its = flops(walk, number, at, &node);
      if (its < 0) {
        ++unknown;
        printf("%16s", "?");
      } else {
        all += its;
        printf("%16.0f", its);
      }
      printf("  %-18.*s %.*s", (int)node.type.size, node.type.data,
             (int)node.name.size, node.name.data);
      for (size_t i = 0; i < node.output_count; ++i) {
        const re_value value = value_at(walk, node.outputs[i]);
        print_shape(&value);
      }
      printf("\n");
    }
  }
  printf("%16.0f  operations", all);
  if (unknown > 0) printf(", and those of %zu nodes", unknown);
  printf("\n");
  re_walk_free(walk);
  re_model_free(model);
  return 0;
}
