// Code: the inside of a Program. Each rule becomes one straight sequence of
// instructions over registers. The sequences are merged into trees of tests, so
// that rules share a common beginning. Alternatives, steps of chains and shared
// subpatterns are blocks that return to where they were entered. Equal blocks
// and operands are stored once. Immutable once compiled.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/ir/attribute.h"
#include "core/match/compile/prepared.h"
#include "core/pattern/pattern.h"

namespace ruleengine::match {

// A register: the chain depth of its frame, and its index there. Frame 0 is the
// match; each step of a chain has a frame one deeper. Registers hold values,
// nodes and small numbers; letters and attributes have separate registers.
using Reg = std::uint32_t;
inline constexpr std::uint32_t kNone = 0xffffffffu;        // also: not set
inline constexpr std::uint32_t kNoValue = 0xfffffffeu;     // an absent input
inline constexpr std::uint32_t kTransposed = 0x80000000u;  // or-ed to a value
constexpr Reg make_reg(std::uint32_t depth, std::uint32_t index) {
  return depth << 24 | index;
}
constexpr std::uint32_t reg_depth(Reg reg) { return reg >> 24; }
constexpr std::uint32_t reg_index(Reg reg) { return reg & 0xffffffu; }

enum class Do : std::uint8_t {
  // Tests and bindings: go on or fail.
  kNode,         // value a is output c of a node of op b (kOpSet: of a set);
                 // node -> d; e: Marks
  kSameNode,     // value a is output c of node d
  kEnterNode,    // kSameNode when d is set; else kNode, then block `f`
  kEnter,        // term register a equals value b; or takes it, then block c
  kDiffer,       // nodes a and b are not the same (c: failing blocks)
  kDifferValue,  // values a and b are not the same (c: failing blocks)
  kLiteral,      // attribute of node a is literal b
  kScalar,       // attribute named b of node a is scalar register c
  kPlain,        // attributes of node a outside list b are at their defaults
  kUnread,       // outputs of node a from b on have no readers
  kClosed,       // output b of node a is read only by nodes of the match, or by
                 // nodes that may still join it (their op is in set c)
  kPresent,      // a is a value
  kAbsent,       // a is an absent input
  kNumber,       // constant a is numbers b
  kAxes,         // constant a, input d of node c, is numbers b, or where it is
                 // axes the same ones
  kOps,          // the producer of a is of set b
  kMatrix,       // a is a constant matrix
  kSame,         // values a (c: transposed) and b (d: transposed) are equal
  kBind,    // variable register a is unset or the same as b (c: transposed)
  kFact,    // fact b holds for value a (c: transposed; d: a is a variable
            // register, which tells that itself)
  kMove,    // a -> b
  kOutput,  // output b of node a -> c
  kRest,    // variable registers a.. take the inputs of node c that order b
            // (f: which choice) does not use
  // Choices: come back on failure.
  kInputs,    // inputs of node a, in one of the orders b -> c..; which -> d
  kBySize,    // as many inputs as order a of b has: block in table c
  kEither,    // a: one of the alternatives b
  kMany,      // a: chain b
  kNextStep,  // (internal) a step of chain a is done
  kFind,      // search b -> value a
  kLevel,     // number of open choices -> a
  kCut,       // when no candidate for result a fits: drop all choices from
              // level b on
  kPlaced,    // a candidate for result a fits
  // The end.
  kDefer,      // later a of the rule's table, at value b
  kDeferFact,  // fact b, when its subject a (kind c, output d) is bound
  kTable,      // the rule's table of what was deferred is a
  kDrain,      // conditions deferred so far; a counts them
  kNevers,     // nothing that `never` describes exists
  kAccept,     // rule a fits
  kReturn,     // the block ends
  kFits,       // (internal) the pattern of a `never` fits
};

struct Instr {
  Do op = Do::kReturn;
  std::uint32_t a = 0, b = 0, c = 0, d = 0, e = 0, f = 0;
  auto operator<=>(const Instr&) const = default;
};
// Bits of kNode's e.
inline constexpr std::uint32_t kMarkConsumed = 1;
// Or-ed to the number of a set that stands where an op does.
inline constexpr std::uint32_t kOpSet = 0x80000000u;

struct OpSet {
  std::vector<std::uint32_t> ops;  // sorted
  bool absent = false;             // an absent input is in the set
  bool all = false;
  auto operator<=>(const OpSet&) const = default;
};

struct Inputs {
  std::vector<std::vector<std::uint32_t>> orders;
  bool open = false;   // further inputs are allowed
  bool by_op = false;  // all but the first order are for ops that commute
  auto operator<=>(const Inputs&) const = default;
};

struct Branches {
  struct Alternative {
    std::uint32_t block;
    std::uint32_t ops;  // set that the producer must be in; kNone: any
    auto operator<=>(const Alternative&) const = default;
  };
  std::vector<Alternative> alternatives;
  auto operator<=>(const Branches&) const = default;
};

struct Chain {
  std::uint32_t step, base;          // blocks
  Reg step_value, base_value;        // the registers of their values
  Reg hole;                          // where the step puts the next value
  std::uint32_t depth;               // of the chain; its steps are one deeper
  std::uint32_t step_ops, base_ops;  // sets, kNone: any
  auto operator<=>(const Chain&) const = default;
};

// Input slots as bits; the last one: any slot from 63 on.
inline std::uint64_t slot_bit(std::uint32_t slot) {
  return std::uint64_t{1} << (slot < 63 ? slot : 63);
}

// How to climb from bound values to the candidates for a later result: rows use
// the results of earlier rows.
struct Climb {
  enum class Kind : std::uint8_t {
    kRegister,  // the value in register a
    kOutput,    // output b of node register a
    kHole,      // the value that the chain of hole c climbs from
    kUp,        // output c of nodes of op b that read row a at slots d.. e
    kUnion,     // rows a to b of `list`
    kChain,     // row a, and repeatedly the result of row b with hole c at
                // the result so far
  };
  struct Row {
    Kind kind;
    std::uint32_t a = 0, b = 0, c = 0;
    std::uint64_t slots = 0;  // bits; all ones: anywhere
    std::uint32_t holes = 0;  // bits of the holes that the row depends on
    auto operator<=>(const Row&) const = default;
  };
  std::vector<Row> rows;  // the last one is the answer
  std::vector<std::uint32_t> list;
  auto operator<=>(const Climb&) const = default;
};

struct Search {
  std::uint32_t climb;
  // What is bound already needs no search: a node register and output, or a
  // term register (known_output kNone), or neither (kNone).
  Reg known = kNone;
  std::uint32_t known_output = kNone;
  bool unmatched = false;  // only nodes that are not in the match yet
  auto operator<=>(const Search&) const = default;
};

// A condition or fact that is judged at the end: one row of a rule's table.
struct Deferred {
  enum class Kind : std::uint8_t { kContext, kNever, kNeverAt };
  Kind kind;
  bool at_once = false;  // on a line of its own, outside alternatives
  std::uint32_t search = kNone;
  std::uint32_t block = kNone;
  Reg value = kNone;
  auto operator<=>(const Deferred&) const = default;
};
using Table = std::vector<Deferred>;

// Where the subject of a fact is found when the fact is judged late.
struct LateFact {
  enum class Subject : std::uint8_t { kValue, kVariable, kNodeOutput };
};

struct Cell {
  Instr instr;
  std::uint32_t next = kNone;    // the next cell, or
  std::uint32_t branch = kNone;  // the branch that follows
};

// The children of a cell, grouped by the test that selects between them.
struct Child {
  double number = 0;     // kNumbers
  std::string key;       // kLiterals
  std::uint32_t op = 0;  // kOps
  std::uint32_t cell = 0;
  std::uint32_t segment = 0;
};
struct Group {
  enum class Kind : std::uint8_t { kOne, kOps, kNumbers, kLiterals };
  Kind kind = Kind::kOne;
  Reg reg = 0;
  std::string name;             // kLiterals: the attribute
  std::vector<Child> children;  // sorted by key, op or number
};
using Branch = std::vector<Group>;

// A sequence of cells without a fork. It is skipped when all its rules are
// done.
struct Segment {
  std::uint32_t parent = kNone;
  std::uint32_t rules = 0;     // number of rules below it
  std::uint32_t rule = kNone;  // the rule, if it is only one
  std::uint32_t least_rule = 0;
};

struct Start {
  std::vector<std::uint32_t> ops;  // of the root
  std::uint32_t output = 0;
  std::uint32_t branch = 0;
  std::uint32_t segment = 0;
};

// How to read a rule's match from the registers.
struct Report {
  struct Variable {
    enum class Kind : std::uint8_t {
      kNothing,
      kPlain,
      kReversed,
      kVariable,
      kNode,
      kScalar,
      kRest,
      kSteps,
    };
    Kind kind = Kind::kNothing;
    std::uint32_t depth = 0;
    // Registers; a tag may have several, of which at most one is set.
    std::vector<Reg> regs;
    // kSteps: the chains of this name, and the places in `variables` of what
    // their records have.
    std::vector<std::uint32_t> chains, fields;
  };
  std::vector<Variable> variables;
  std::vector<Reg> nodes;    // by node pattern; kNone: not there
  std::vector<Reg> results;  // values
};

struct Code {
  std::vector<Prepared> rules;
  std::vector<Report> reports;

  std::vector<std::pair<std::string, std::string>> ops;  // domain, type
  std::vector<std::string> names;
  std::vector<std::vector<std::string>> name_lists;  // sorted
  std::vector<AttributePattern> literals;
  std::vector<std::pair<bool, std::vector<double>>> numbers;  // scalar?
  std::vector<Fact> facts;  // letters are scalar registers
  std::vector<OpSet> op_sets;
  std::vector<Inputs> inputs;
  std::vector<Branches> branches;
  std::vector<std::vector<std::uint32_t>> block_lists;  // by size; kBySize
  std::vector<Chain> chains;
  std::vector<Climb> climbs;
  std::vector<Search> searches;
  std::vector<Table> tables;

  std::vector<Cell> cells;
  std::vector<std::uint32_t> blocks;      // first cell of each
  std::vector<std::uint32_t> next_steps;  // by chain: its kNextStep cell
  std::uint32_t fits = 0;                 // the kFits cell
  std::vector<Branch> forks;
  std::vector<Segment> segments;
  std::vector<Start> starts;

  // The number of registers and letters in a frame of each depth.
  std::vector<std::uint32_t> frame_registers, frame_scalars;
  std::uint32_t reach = 0;
};

// A key that differs for different literals of one attribute; empty where
// comparing keys would not be exact.
std::string literal_key(const AttributePattern& literal);
std::string literal_key(const ir::Attribute& found);

}  // namespace ruleengine::match
