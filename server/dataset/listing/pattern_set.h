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

// A set of numbered patterns of '*', '?' and '[…]', without braces. The literal
// start of a pattern is its text before the first wildcard. The literal end is
// its text after the last wildcard. A name is compared only with patterns whose
// literal start and end it has. So among 10,000 patterns from a brace
// expression, a name is usually compared with only one.
//
// Not thread-safe. Owns the patterns, and counts them in `memory` until it is
// destroyed. Never blocks. Errors are those of `memory`, and of callbacks.
class PatternSet {
 public:
  explicit PatternSet(base::WorkingMemory& memory) : memory_(memory) {}
  ~PatternSet() { memory_.Shrink(counted_); }
  PatternSet(const PatternSet&) = delete;
  PatternSet& operator=(const PatternSet&) = delete;

  bool empty() const { return lengths_.empty(); }

  // Adds a pattern. Errors: those of `memory`.
  absl::Status Add(std::string_view pattern, std::size_t number);

  // Calls `fits` with the number of each pattern that matches the name by the
  // rules of Python's glob. Ends when `fits` fails. Errors: those of `fits`.
  absl::Status ForEach(
      std::string_view name,
      const std::function<absl::Status(std::size_t)>& fits) const;

 private:
  // A pattern and its number.
  struct Numbered {
    std::string pattern;
    std::size_t number = 0;
  };

  base::WorkingMemory& memory_;
  std::uint64_t counted_ = 0;  // bytes
  // The lengths in bytes of the patterns' literal starts and ends.
  std::set<std::pair<std::size_t, std::size_t>> lengths_;
  // The patterns. The key consists of the length of the literal start, the
  // literal start, and the literal end.
  std::unordered_map<std::string, std::vector<Numbered>> by_ends_;
};

}  // namespace forebay::dataset::listing

#endif  // FOREBAY_SERVER_DATASET_LISTING_PATTERN_SET_H_
