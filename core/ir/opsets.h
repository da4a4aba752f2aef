// OpsetImports: the opsets that a model or a function imports, in the order of
// the file. The version of a domain is asked all the time; the answer takes
// constant time, however long the list is. A plain value; not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace ruleengine::ir {

struct OpsetImport {
  std::string domain;  // "" for the standard one
  std::int64_t version = 0;
  bool as_read = false;  // stated by the file, or implied by it
};

class OpsetImports {
 public:
  OpsetImports() = default;
  OpsetImports(std::initializer_list<OpsetImport> all);

  std::size_t size() const { return all_.size(); }
  bool empty() const { return all_.empty(); }
  const OpsetImport& operator[](std::size_t i) const { return all_[i]; }
  auto begin() const { return all_.begin(); }
  auto end() const { return all_.end(); }

  // The index of the first import of `domain` ("" or "ai.onnx" is the standard
  // one), size() when there is none; and its version, then 0.
  std::size_t find(std::string_view domain) const;
  std::int64_t version(std::string_view domain) const;

  void push_back(OpsetImport import);
  // Sets a version that the result must state.
  void set_version(std::size_t i, std::int64_t version) {
    all_[i].version = version;
    all_[i].as_read = false;
  }
  // For a repeated import in the file: its version replaces the one before.
  void read_again(std::size_t i, std::int64_t version) {
    all_[i].version = version;
  }
  // Keeps the first `size` imports.
  void shrink(std::size_t size) {
    erase_if(size, [](const OpsetImport&) { return true; });
  }
  // Removes the imports from `first` on for which `unwanted` is true.
  template <typename Unwanted>
  void erase_if(std::size_t first, Unwanted unwanted) {
    std::vector<OpsetImport> old;
    old.swap(all_);
    index_.clear();
    for (std::size_t i = 0; i < old.size(); ++i) {
      if (i < first || !unwanted(old[i])) push_back(std::move(old[i]));
    }
  }

 private:
  void index(std::size_t i);

  std::vector<OpsetImport> all_;
  std::unordered_map<std::string, std::size_t> index_;  // of long lists
};

}  // namespace ruleengine::ir
