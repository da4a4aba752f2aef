// OpsetImports: the opsets that a model or a function is written in, in the
// order of the file. What is asked all the time, the version of a domain, takes
// the same time however many a file lists. A plain value; not thread-safe.
#ifndef RULEENGINE_CORE_IR_OPSETS_H_
#define RULEENGINE_CORE_IR_OPSETS_H_

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
  bool as_read = false;  // so the file says, or leaves it to be understood
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

  // The first import of `domain` ("" or "ai.onnx" is the standard one), size()
  // when there is none; and its version, then 0.
  std::size_t find(std::string_view domain) const;
  std::int64_t version(std::string_view domain) const;

  void push_back(OpsetImport import);
  // From now on the result says it so.
  void set_version(std::size_t i, std::int64_t version) {
    all_[i].version = version;
    all_[i].as_read = false;
  }
  // The file says it once more, with this version.
  void read_again(std::size_t i, std::int64_t version) {
    all_[i].version = version;
  }
  void clear();
  // Keeps the first so many.
  void shrink(std::size_t size) {
    erase_if(size, [](const OpsetImport&) { return true; });
  }
  // Takes out those from `first` on that `unwanted` is true of.
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

#endif  // RULEENGINE_CORE_IR_OPSETS_H_
