// A Program as text, one instruction per line: the start of each root, its tree
// indented by forks, then the blocks. Deterministic.
#pragma once

#include <fmt/format.h>

#include <iterator>
#include <string>

#include "core/match/compile/code.h"
#include "core/match/program.h"

namespace ruleengine::match {
inline std::string reg(Reg r) {
  if (r == kNone) return "-";
  if (reg_depth(r) == 0) return fmt::format("r{}", reg_index(r));
  return fmt::format("r{}.{}", reg_depth(r), reg_index(r));
}

class ProgramText {
 public:
  explicit ProgramText(const Code& code) : code_(code) {}

  std::string run() {
    for (const Start& start : code_.starts) {
      std::string names;
      for (std::uint32_t op : start.ops) {
        names += (names.empty() ? "" : ", ") + this->op(op);
      }
      line(0, fmt::format("{}{}:", names, output(start.output)));
      trees_.push_back({start.branch, 1});
      while (!trees_.empty()) {
        const Tree tree = trees_.back();
        trees_.pop_back();
        if (tree.cell != kNone)
          segment(tree.cell, tree.indent);
        else
          fork(tree.branch, tree.indent);
      }
    }
    for (std::size_t b = 0; b < code_.blocks.size(); ++b) {
      line(0, fmt::format("block {}:", b));
      segment(code_.blocks[b], 1);
    }
    return std::move(out_);
  }

 private:
  struct Tree {
    std::uint32_t branch;
    int indent;
    std::uint32_t cell = kNone;
  };

  void line(int indent, const std::string& text) {
    out_.append(static_cast<std::size_t>(indent) * 2, ' ');
    out_ += text;
    out_ += '\n';
  }

  std::string op(std::uint32_t i) const {
    const auto& [domain, type] = code_.ops[i];
    return ir::Op{domain, type, {}}.text();
  }

  static std::string output(std::uint32_t i) {
    return i == 0 ? std::string() : fmt::format(":{}", i);
  }

  void segment(std::uint32_t cell, int indent) {
    while (cell != kNone) {
      const Cell& c = code_.cells[cell];
      if (c.instr.op == Do::kReturn) return;
      line(indent, text(c.instr));
      if (c.branch != kNone) {
        trees_.push_back({c.branch, indent});
        return;
      }
      cell = c.next;
    }
  }

  void fork(std::uint32_t branch, int indent) {
    std::size_t count = 0;
    for (const Group& group : code_.forks[branch]) {
      count += group.children.size();
    }
    // Pushed in reverse, so that they are popped in order.
    for (std::size_t g = code_.forks[branch].size(); g-- > 0;) {
      const auto& children = code_.forks[branch][g].children;
      for (std::size_t c = children.size(); c-- > 0;) {
        trees_.push_back(
            {kNone, indent + (count > 1 ? 1 : 0), children[c].cell});
      }
    }
  }

  std::string set(std::uint32_t i) const {
    if (i == kNone) return "any";
    const OpSet& set = code_.op_sets[i];
    if (set.all) return "any";
    std::string out = set.absent ? "absent" : "";
    for (std::uint32_t o : set.ops) {
      out += (out.empty() ? "" : "|") + op(o);
    }
    return out.empty() ? "none" : out;
  }

  // The operand of a node test.
  std::string ops(std::uint32_t i) const {
    return (i & kOpSet) != 0 ? set(i & ~kOpSet) : op(i);
  }

  std::string value(std::uint32_t r, std::uint32_t transposed) const {
    return reg(r) + (transposed != 0 ? ".T" : "");
  }

  std::string literal(std::uint32_t i) const {
    const AttributePattern& a = code_.literals[i];
    using Kind = AttributePattern::Kind;
    switch (a.kind) {
      case Kind::kInt:
        return fmt::format("{} = {}", a.name, a.i);
      case Kind::kFloat:
        return fmt::format("{} = {}", a.name, a.f);
      case Kind::kString:
        return fmt::format("{} = \"{}\"", a.name, a.s);
      case Kind::kInts:
        return fmt::format("{} = [{}]", a.name, fmt::join(a.ints, ","));
      case Kind::kFloats:
        return fmt::format("{} = [{}]", a.name, fmt::join(a.floats, ","));
      default:
        return fmt::format("{} = [{}]", a.name, fmt::join(a.strings, ","));
    }
  }

  std::string fact(std::uint32_t i) const {
    static constexpr std::string_view kNames[] = {"shape", "fits", "rank",
                                                  "dim",   "type", "const"};
    const Fact& f = code_.facts[i];
    std::string out(kNames[static_cast<std::size_t>(f.kind)]);
    using Kind = Fact::Kind;
    if (f.kind == Kind::kRank || f.kind == Kind::kDim) {
      out += fmt::format(" {}", f.number);
    }
    if (f.ellipsis) out += " ...";
    for (const auto& dim : f.dims) {
      using Dim = Fact::DimPattern::Kind;
      if (dim.kind == Dim::kAny) out += " _";
      if (dim.kind == Dim::kNumber) out += fmt::format(" {}", dim.number);
      if (dim.kind == Dim::kLetter) {
        out += " s" + reg(dim.letter.index()).substr(1);
      }
    }
    for (ir::DataType type : f.types) {
      out += fmt::format(" {}", ir::data_type_name(type));
    }
    return out;
  }

  std::string branches(std::uint32_t i) const {
    std::string out;
    for (const auto& a : code_.branches[i].alternatives) {
      out += fmt::format(" {}:block {}", set(a.ops), a.block);
    }
    return out;
  }

  std::string inputs(std::uint32_t i) const {
    const Inputs& in = code_.inputs[i];
    std::string out;
    for (const auto& order : in.orders) {
      out += fmt::format(" [{}]", fmt::join(order, ","));
    }
    return out + (in.open ? " open" : "");
  }

  std::string search(std::uint32_t i) const {
    const Search& s = code_.searches[i];
    std::string out;
    if (s.known != kNone) {
      out += " known " + reg(s.known);
      if (s.known_output != kNone) out += fmt::format(":{}", s.known_output);
    }
    if (s.unmatched) out += " unmatched";
    for (const Climb::Row& row : code_.climbs[s.climb].rows) {
      switch (row.kind) {
        case Climb::Kind::kRegister:
          out += " " + reg(row.a);
          break;
        case Climb::Kind::kOutput:
          out += fmt::format(" {}:{}", reg(row.a), row.b);
          break;
        case Climb::Kind::kHole:
          out += fmt::format(" hole {}", row.c);
          break;
        case Climb::Kind::kUp:
          out += fmt::format(" up {} {:b}", op(row.b), row.slots);
          break;
        case Climb::Kind::kUnion:
          out += " union";
          break;
        case Climb::Kind::kChain:
          out += " chain";
          break;
      }
    }
    return out;
  }

  std::string table(std::uint32_t i) const {
    static constexpr std::string_view kNames[] = {"context", "never",
                                                  "never at"};
    std::string out;
    for (const Deferred& row : code_.tables[i]) {
      out += fmt::format(" {} {} block {}",
                         kNames[static_cast<std::size_t>(row.kind)],
                         reg(row.value), row.block);
    }
    return out;
  }

  std::string chain(std::uint32_t i) const {
    const Chain& c = code_.chains[i];
    return fmt::format("step {} {}:block {} hole {} base {} {}:block {}",
                       reg(c.step_value), set(c.step_ops), c.step, reg(c.hole),
                       reg(c.base_value), set(c.base_ops), c.base);
  }

  std::string text(const Instr& i) const {
    if (i.op <= Do::kClosed) return node_test(i);
    return i.op <= Do::kFact ? value_test(i) : action(i);
  }

  std::string node_test(const Instr& i) const {
    switch (i.op) {
      case Do::kNode:
        return fmt::format("node {} {}{} -> {}", reg(i.a), ops(i.b),
                           output(i.c), reg(i.d));
      case Do::kSameNode:
        return fmt::format("same {} {}:{}", reg(i.a), reg(i.d), i.c);
      case Do::kEnterNode:
        return fmt::format("node {} {}{} -> {} block {}", reg(i.a), ops(i.b),
                           output(i.c), reg(i.d), i.f);
      case Do::kEnter:
        return i.c == kNone ? fmt::format("same {} -> {}", reg(i.b), reg(i.a))
                            : fmt::format("enter {} -> {} block {}", reg(i.b),
                                          reg(i.a), i.c);
      case Do::kDiffer:
      case Do::kDifferValue:
        return fmt::format("differ {} {}", reg(i.a), reg(i.b));
      case Do::kLiteral:
        return fmt::format("attribute {} {}", reg(i.a), literal(i.b));
      case Do::kScalar:
        return fmt::format("attribute {} {} -> s{}", reg(i.a), code_.names[i.b],
                           reg(i.c).substr(1));
      case Do::kPlain:
        return fmt::format("default {} except [{}]", reg(i.a),
                           fmt::join(code_.name_lists[i.b], ","));
      case Do::kUnread:
        return fmt::format("unread {} {}", reg(i.a), i.b);
      case Do::kClosed:
        return fmt::format("closed {}:{} or {}", reg(i.a), i.b, set(i.c));
      default:
        return "?";
    }
  }

  std::string value_test(const Instr& i) const {
    switch (i.op) {
      case Do::kPresent:
        return fmt::format("present {}", reg(i.a));
      case Do::kAbsent:
        return fmt::format("absent {}", reg(i.a));
      case Do::kNumber: {
        const auto& [scalar, numbers] = code_.numbers[i.b];
        return fmt::format("number {} {}{}{}", reg(i.a), scalar ? "" : "[",
                           fmt::join(numbers, ","), scalar ? "" : "]");
      }
      case Do::kAxes: {
        const auto& [scalar, numbers] = code_.numbers[i.b];
        return fmt::format("axes {} of {} {}{}{}", reg(i.a), reg(i.c),
                           scalar ? "" : "[", fmt::join(numbers, ","),
                           scalar ? "" : "]");
      }
      case Do::kOps:
        return fmt::format("op {} {}", reg(i.a), set(i.b));
      case Do::kMatrix:
        return fmt::format("matrix {}", reg(i.a));
      case Do::kSame:
        return fmt::format("same {} {}", value(i.a, i.c), value(i.b, i.d));
      case Do::kBind:
        return fmt::format("bind {} -> {}", value(i.b, i.c), reg(i.a));
      case Do::kFact:
        return fmt::format("fact {} {}", value(i.a, i.c), fact(i.b));
      default:
        return "?";
    }
  }

  std::string action(const Instr& i) const {
    switch (i.op) {
      case Do::kMove:
        return fmt::format("move {} -> {}", reg(i.a), reg(i.b));
      case Do::kOutput:
        return fmt::format("output {}:{} -> {}", reg(i.a), i.b, reg(i.c));
      case Do::kRest:
        return fmt::format("rest {} -> {}", reg(i.c), reg(i.a));
      case Do::kInputs:
        return fmt::format("inputs {}{} -> {}", reg(i.a), inputs(i.b),
                           reg(i.c));
      case Do::kBySize:
        return fmt::format("by size {} [{}]", reg(i.a),
                           fmt::join(code_.block_lists[i.c], ","));
      case Do::kEither:
        return fmt::format("either {}{}", reg(i.a), branches(i.b));
      case Do::kMany:
        return fmt::format("many {} {}", reg(i.a), chain(i.b));
      case Do::kFind:
        return fmt::format("find {}{}", reg(i.a), search(i.b));
      case Do::kLevel:
        return fmt::format("level -> {}", reg(i.a));
      case Do::kCut:
        return fmt::format("cut {} to {}", i.a, reg(i.b));
      case Do::kPlaced:
        return fmt::format("placed {}", i.a);
      case Do::kDefer:
        return fmt::format("defer {} {}", i.a, reg(i.b));
      case Do::kDeferFact:
        return fmt::format("later {} {}", reg(i.a), fact(i.b));
      case Do::kTable:
        return "table" + table(i.a);
      case Do::kDrain:
        return "conditions";
      case Do::kNevers:
        return "nevers";
      case Do::kAccept:
        return fmt::format("match {}", i.a);
      default:
        return "?";
    }
  }

  const Code& code_;
  std::string out_;
  std::vector<Tree> trees_;
};

inline std::string text_of(const Program& program) {
  return ProgramText(program.code()).run();
}

}  // namespace ruleengine::match
