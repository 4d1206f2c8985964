#ifndef FOREBAY_SERVER_DATASET_PATH_LOOKUP_H_
#define FOREBAY_SERVER_DATASET_PATH_LOOKUP_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"

namespace forebay::dataset {

// Finds files by their paths, in time logarithmic in the number of files.
//
// Immutable and thread-safe. Owns at most Bytes(files) bytes. Does not own the
// paths: callers pass a PathOf, which returns them. Never blocks. Has no
// errors.
class PathLookup {
 public:
  // Returns the path of a file, given its number. A file's path never changes.
  using PathOf = absl::FunctionRef<std::string_view(std::size_t file)>;

  PathLookup() = default;
  // Sorts the numbers 0 to `files` - 1 by their paths.
  PathLookup(std::size_t files, PathOf path_of);

  // Returns the numbers of all files with the path `path`: a dataset may list a
  // file several times.
  std::vector<std::size_t> Find(std::string_view path, PathOf path_of) const;

  // Returns the most bytes of memory that a PathLookup of `files` files takes.
  static constexpr std::uint64_t Bytes(std::uint64_t files) {
    return files * sizeof(std::size_t);
  }

 private:
  // Returns the number of the file that is at index `place` in the order of
  // paths.
  std::size_t FileAt(std::size_t place) const {
    return by_path_.empty() ? place : by_path_[place];
  }

  std::size_t files_ = 0;
  // The numbers of the files in the order of their paths. Empty if the files
  // are sorted already.
  std::vector<std::size_t> by_path_;
};

}  // namespace forebay::dataset

#endif  // FOREBAY_SERVER_DATASET_PATH_LOOKUP_H_
