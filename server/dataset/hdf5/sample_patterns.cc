#include "server/dataset/hdf5/sample_patterns.h"

#include <cstddef>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "server/dataset/dataset.h"

namespace forebay::dataset::hdf5 {

std::vector<std::string> SamplePatterns(
    const std::vector<ListedArray>& arrays) {
  if (arrays.empty()) return {};
  std::string_view group = arrays.front().path;
  for (const ListedArray& one : arrays) {
    while (!one.path.starts_with(group)) group.remove_suffix(1);
  }
  group = group.substr(0, group.rfind('/') + 1);
  std::vector<std::string> names;
  std::string_view object;
  std::size_t objects = 0;
  for (const ListedArray& one : arrays) {
    const std::string_view rest =
        std::string_view(one.path).substr(group.size());
    const std::size_t end = rest.find('/');
    if (end == rest.npos) return {};
    if (objects == 0 || rest.substr(0, end) != object) ++objects;
    object = rest.substr(0, end);
    if (objects == 1)
      names.push_back(
          absl::StrCat(std::string(group), "*", std::string(rest.substr(end))));
  }
  if (objects <= kMaxDatasetFields || names.size() > kMaxDatasetFields)
    return {};
  return names;
}

}  // namespace forebay::dataset::hdf5
