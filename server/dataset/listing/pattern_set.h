#ifndef FOREBAY_SERVER_DATASET_LISTING_PATTERN_SET_H_
#define FOREBAY_SERVER_DATASET_LISTING_PATTERN_SET_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "server/base/working_memory.h"

namespace forebay::dataset::listing {

// Patterns of '*', '?' and '[…]', each with a number, and without braces. A
// name is compared with those alone whose text before the first wildcard it
// begins with, and whose text after the last one it ends with. So a name of
// 10,000 patterns from braces is compared with one.
//
// Not thread-safe; never blocks; counts itself in `memory`, and gives that back
// when it ends.
class PatternSet {
 public:
  explicit PatternSet(base::WorkingMemory& memory) : memory_(memory) {}
  ~PatternSet() { memory_.Shrink(counted_); }
  PatternSet(const PatternSet&) = delete;
  PatternSet& operator=(const PatternSet&) = delete;

  bool empty() const { return lengths_.empty(); }

  // Errors: those of `memory`.
  absl::Status Add(std::string_view pattern, std::size_t number);

  // Calls `fits` with the number of each pattern that the name fits as a path
  // does in Python's glob, until it fails. Errors: those of `fits`.
  absl::Status ForEach(
      std::string_view name,
      const std::function<absl::Status(std::size_t)>& fits) const;

 private:
  struct Numbered {
    std::string pattern;
    std::size_t number = 0;
  };

  base::WorkingMemory& memory_;
  std::uint64_t counted_ = 0;  // bytes
  // The lengths of the texts before and after a pattern's wildcards.
  std::set<std::pair<std::size_t, std::size_t>> lengths_;
  // By the length of the first of these texts, and both.
  std::unordered_map<std::string, std::vector<Numbered>> by_ends_;
};

}  // namespace forebay::dataset::listing

#endif  // FOREBAY_SERVER_DATASET_LISTING_PATTERN_SET_H_
