#include "server/dataset/listing/pattern_set.h"

#include <fnmatch.h>

#include <algorithm>

#include "server/base/status.h"

namespace forebay::dataset::listing {
namespace {

// Returns the key in by_ends_ of a text whose literal start has `before` bytes
// and whose literal end has `after` bytes. The length in the key tells apart
// pairs of start and end that concatenate to the same text.
std::string EndsOf(std::string_view text, std::size_t before,
                   std::size_t after) {
  std::string ends = std::to_string(before);
  ends += '/';
  ends += text.substr(0, before);
  return ends.append(text.substr(text.size() - after));
}

}  // namespace

absl::Status PatternSet::Add(std::string_view pattern, std::size_t number) {
  // The last wildcard may be a bracket expression, which ends with ']'.
  const std::size_t before =
      std::min(pattern.find_first_of("*?["), pattern.size());
  const std::size_t last = pattern.find_last_of("*?[]");
  const std::size_t after =
      before == pattern.size() ? 0 : pattern.size() - last - 1;
  const std::uint64_t bytes = base::HeapBytes(sizeof(Numbered)) +
                              base::HeapBytes(pattern.size()) +
                              base::HeapBytes(sizeof(*by_ends_.begin())) +
                              base::HeapBytes(before + after) +
                              base::HeapBytes(sizeof(*lengths_.begin()));
  FOREBAY_RETURN_IF_ERROR(memory_.Grow(bytes));
  counted_ += bytes;
  lengths_.emplace(before, after);
  by_ends_[EndsOf(pattern, before, after)].push_back(
      {std::string(pattern), number});
  return absl::OkStatus();
}

absl::Status PatternSet::ForEach(
    std::string_view name,
    const std::function<absl::Status(std::size_t)>& fits) const {
  const std::string whole(name);
  for (const auto& [before, after] : lengths_) {
    if (before + after > name.size()) continue;
    const auto some = by_ends_.find(EndsOf(name, before, after));
    if (some == by_ends_.end()) continue;
    for (const Numbered& one : some->second) {
      // In Python's glob a backslash is literal, '*' matches no slash, and a
      // hidden name matches only a pattern that begins with a dot.
      if (fnmatch(one.pattern.c_str(), whole.c_str(),
                  FNM_PATHNAME | FNM_NOESCAPE | FNM_PERIOD) == 0)
        FOREBAY_RETURN_IF_ERROR(fits(one.number));
    }
  }
  return absl::OkStatus();
}

}  // namespace forebay::dataset::listing
