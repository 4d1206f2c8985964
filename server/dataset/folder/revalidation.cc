#include "server/dataset/folder/revalidation.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "server/base/fd.h"
#include "server/dataset/folder/tree_scan.h"
#include "server/storage/local/file_stat.h"

namespace forebay::dataset::folder {
namespace {

// Compares all directories with the index, one after another, and every
// step_-th file. Used by one thread; blocks for the disk.
class Revalidation {
 public:
  Revalidation(const storage::local::LocalRoot& root, const FolderIndex& index,
               std::uint64_t most_files)
      : root_(root),
        index_(index),
        step_(std::max<std::uint64_t>(
            (index.size() + most_files - 1) / most_files, 1)) {}

  // Whether a directory is still as it was scanned. `end` - 1 is the number of
  // its last sample.
  bool IsAsItWas(std::size_t number, std::uint64_t end,
                 std::vector<std::string>* warnings) {
    const DirectoryRecord& directory = index_.parts().directories[number];
    const std::string_view path = index_.PathOf(directory);
    const auto fd = root_.OpenDirectory(path);
    if (!fd.ok()) return false;
    const auto version = VersionOfDirectory(fd->get(), path);
    if (!version.ok() || !(*version == directory.version)) return false;
    for (; next_ < end; next_ += step_) {
      if (!IsFileAsItWas(fd->get(), path)) {
        warnings->push_back(
            absl::StrCat(root_.uri(), ": ", index_.At(next_).object,
                         " was changed in its place: the index is built anew"));
        return false;
      }
    }
    return true;
  }

 private:
  // Whether the file of sample next_ has the size and time in the index. If the
  // stat fails, the file counts as unchanged: a read will check it.
  bool IsFileAsItWas(int directory, std::string_view path) const {
    const Sample sample = index_.At(next_);
    const auto stat =
        root_.StatEntry(directory, path,
                        std::string_view(sample.object)
                            .substr(path.empty() ? 0 : path.size() + 1));
    return !stat.ok() || stat->type != storage::local::FileType::kRegular ||
           (std::min(stat->size, FolderFile::kLargestSize) ==
                sample.version.size &&
            stat->mtime_nanos == sample.version.stamp);
  }

  const storage::local::LocalRoot& root_;
  const FolderIndex& index_;
  const std::uint64_t step_;  // samples from one checked file to the next
  std::uint64_t next_ = 0;    // the next sample to be checked
};

}  // namespace

bool IsUnchanged(const storage::local::LocalRoot& root,
                 const FolderIndex& index, const std::stop_token& stop,
                 std::vector<std::string>* warnings,
                 const RevalidationLimits& limits) {
  const auto& directories = index.parts().directories;
  Revalidation revalidation(root, index, limits.Of(root));
  for (std::size_t i = 0; i < directories.size(); ++i) {
    const std::uint64_t end = i + 1 < directories.size()
                                  ? directories[i + 1].first_sample
                                  : index.size();
    if (stop.stop_requested() || !revalidation.IsAsItWas(i, end, warnings))
      return false;
  }
  return true;
}

}  // namespace forebay::dataset::folder
