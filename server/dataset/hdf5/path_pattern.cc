#include "server/dataset/hdf5/path_pattern.h"

#include <cstddef>

#include "absl/strings/str_cat.h"

namespace forebay::dataset::hdf5 {

std::optional<PathPattern> SplitPattern(std::string_view path) {
  const std::string_view wanted = "/*/";
  // Slashes around the path make "*" a whole part wherever it stands.
  const std::string whole = absl::StrCat("/", std::string(path), "/");
  const std::size_t at = whole.find(wanted);
  if (at == whole.npos) return std::nullopt;
  PathPattern pattern;
  if (at > 0) pattern.group = whole.substr(1, at - 1);
  const std::size_t rest = at + wanted.size();
  if (rest < whole.size())
    pattern.rest = whole.substr(rest, whole.size() - 1 - rest);
  return pattern;
}

}  // namespace forebay::dataset::hdf5
