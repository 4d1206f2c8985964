#include "server/dataset/path_lookup.h"

#include <algorithm>
#include <numeric>

// The table has the files' numbers, not their paths: the index holds the paths
// already. To compare two files, the lookup asks for their paths.

namespace forebay::dataset {

PathLookup::PathLookup(std::size_t files, PathOf path_of) : files_(files) {
  const auto less = [&](std::size_t a, std::size_t b) {
    return path_of(a) < path_of(b);
  };
  // Scans list most datasets' files in the order of their paths. Such datasets
  // need no table.
  std::size_t sorted = 1;
  while (sorted < files && !less(sorted, sorted - 1)) ++sorted;
  if (sorted >= files) return;
  by_path_.resize(files);
  std::iota(by_path_.begin(), by_path_.end(), std::size_t{0});
  std::sort(by_path_.begin(), by_path_.end(), less);
}

std::vector<std::size_t> PathLookup::Find(std::string_view path,
                                          PathOf path_of) const {
  // Binary search for the first file whose path is not less than `path`.
  std::size_t begin = 0;
  for (std::size_t left = files_; left > 0;) {
    const std::size_t half = left / 2;
    if (path_of(FileAt(begin + half)) < path) {
      begin += half + 1;
      left -= half + 1;
    } else {
      left = half;
    }
  }
  std::vector<std::size_t> found;
  for (; begin < files_ && path_of(FileAt(begin)) == path; ++begin)
    found.push_back(FileAt(begin));
  return found;
}

}  // namespace forebay::dataset
