// Variants: what of a call of one of the engine's own ops its body depends on,
// read from the node and from what is known of its inputs. Equal variants have
// equal names, and different ones different names. Internal to core/rewrite.
#ifndef RULEENGINE_CORE_REWRITE_BODIES_VARIANT_H_
#define RULEENGINE_CORE_REWRITE_BODIES_VARIANT_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "core/ir/facts.h"
#include "core/ir/graph.h"

namespace ruleengine::rewrite {

// softmax(cap(q k^T * scale) + causal + mask) v
struct AttentionVariant {
  enum class Mask : std::uint8_t { kNone, kBool, kAdded };
  Mask mask = Mask::kNone;
  bool causal = false;
  std::optional<float> scale;   // none: 1/sqrt of the size of q's last axis,
  std::int64_t scale_size = 0;  // which is this where it is known
  float softcap = 0;            // 0: none
  std::int64_t rank = 4;
  // Heads of q, and of k and v where they have fewer; 0: the same.
  std::int64_t heads = 0, key_heads = 0, value_heads = 0;
  ir::DataType elem = ir::DataType::kFloat;

  std::string name(std::int64_t opset) const;
};
AttentionVariant attention_variant(const ir::Graph& graph, ir::Facts& facts,
                                   ir::NodeId node);

struct ProjectionVariant {
  bool is_self = false;  // one source for all three
  bool has_bias = false;
  std::int64_t heads = 0, head_dim = 0;

  std::string name() const;
};
ProjectionVariant projection_variant(const ir::Graph& graph, ir::NodeId node);

// Of an op that cuts maps into windows or works inside of them.
struct WindowVariant {
  std::array<std::int64_t, 2> side{};    // height and width of a window
  std::array<std::int64_t, 2> shift{};   // of the partition alone
  bool shifted = false;                  // false: `spatial` says no shift
  std::int64_t heads = 0, head_dim = 0;  // of the attention alone
  ir::DataType elem = ir::DataType::kFloat;

  std::string name(std::int64_t opset) const;
};
// nullopt: the window is none, which no body can say.
std::optional<WindowVariant> window_variant(const ir::Graph& graph,
                                            ir::Facts& facts, ir::NodeId node);

}  // namespace ruleengine::rewrite

#endif  // RULEENGINE_CORE_REWRITE_BODIES_VARIANT_H_
