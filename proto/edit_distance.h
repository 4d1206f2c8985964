#ifndef FOREBAY_PROTO_EDIT_DISTANCE_H_
#define FOREBAY_PROTO_EDIT_DISTANCE_H_

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

namespace forebay::proto {

// Returns the Levenshtein distance of two names: how many letters must be
// inserted, removed or replaced to turn `a` into `b`. Error messages use the
// distance to suggest a name ("did you mean"). Takes time proportional to the
// product of the lengths.
inline std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i] != b[j] ? 1 : 0);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

// Returns the largest EditDistance from `unknown` at which a name is still
// suggested in its place.
inline std::size_t MostEdits(std::string_view unknown) {
  return std::max<std::size_t>(2, unknown.size() / 3);
}

}  // namespace forebay::proto

#endif  // FOREBAY_PROTO_EDIT_DISTANCE_H_
