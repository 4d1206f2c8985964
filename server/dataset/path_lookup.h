#ifndef FOREBAY_SERVER_DATASET_PATH_LOOKUP_H_
#define FOREBAY_SERVER_DATASET_PATH_LOOKUP_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"

namespace forebay::dataset {

// Finds files by their paths, in a time that is logarithmic in their number.
// Immutable and thread-safe. Owns Bytes at most, and not the paths. Never
// blocks; has no errors.
class PathLookup {
 public:
  // Returns the path of a file, which stays the same.
  using PathOf = absl::FunctionRef<std::string_view(std::size_t file)>;

  PathLookup() = default;
  PathLookup(std::size_t files, PathOf path_of);

  // Returns the files of that path, of which there may be several.
  std::vector<std::size_t> Find(std::string_view path, PathOf path_of) const;

  static constexpr std::uint64_t Bytes(std::uint64_t files) {
    return files * sizeof(std::size_t);
  }

 private:
  std::size_t FileAt(std::size_t place) const {
    return by_path_.empty() ? place : by_path_[place];
  }

  std::size_t files_ = 0;
  // Files in the order of their paths. Empty if that is their own.
  std::vector<std::size_t> by_path_;
};

}  // namespace forebay::dataset

#endif  // FOREBAY_SERVER_DATASET_PATH_LOOKUP_H_
