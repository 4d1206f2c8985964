#include "server/dataset/listing/file_list.h"

#include <dirent.h>
#include <errno.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/fd.h"
#include "server/base/status.h"
#include "server/base/working_memory.h"
#include "server/dataset/listing/brace_expansion.h"
#include "server/dataset/listing/pattern_set.h"
#include "server/dataset/path_order.h"
#include "server/storage/local/file_stat.h"

// Patterns are grouped by their directory part, since a request may have 10,000
// patterns that differ only in the file's name. For each group, the directory
// part is resolved to a list of directories, component by component. Each of
// these directories is read once, and its entries are compared with all file
// names of the group (PatternSet). File names without wildcards are looked up
// by a stat.
//
// Files are then added in the order of the patterns, which is the order of the
// samples.

namespace forebay::dataset::listing {
namespace {

using storage::ListedObject;

using storage::local::FileStat;
using storage::local::FileType;
using storage::local::LocalRoot;

struct CloseDirectory {
  void operator()(DIR* directory) const { closedir(directory); }
};

std::string Join(std::string_view directory, std::string_view name) {
  std::string path(directory);
  if (!path.empty()) path += '/';
  return path.append(name);
}

// Returns the memory that `names` take, in bytes.
std::uint64_t BytesOf(const std::vector<std::string>& names) {
  std::uint64_t bytes = names.capacity() * sizeof(std::string);
  for (const std::string& name : names) bytes += base::HeapBytes(name.size());
  return bytes;
}

// The directory part and the file name of a pattern. Both may have wildcards.
struct Split {
  std::string_view directory;
  std::string_view name;
};

Split SplitPattern(std::string_view pattern) {
  const std::size_t slash = pattern.rfind('/');
  if (slash == pattern.npos) return {"", pattern};
  return {pattern.substr(0, slash), pattern.substr(slash + 1)};
}

// Lists the files of one request. Used by one thread; counts its memory; blocks
// for the disk.
class Listing {
 public:
  Listing(const LocalRoot& root, base::WorkingMemory& memory,
          const std::stop_token& stop)
      : root_(root), memory_(memory), stop_(stop) {}

  // Returns the files of patterns that have no braces. A directory is read once
  // for all patterns that differ only in the file's name.
  absl::StatusOr<std::vector<ListedObject>> List(
      const std::vector<std::string>& patterns) {
    const std::uint64_t bytes =
        patterns.size() * (sizeof(Names) + kGroupedBytes);
    FOREBAY_RETURN_IF_ERROR(memory_.Grow(bytes));
    std::vector<Names> found(patterns.size());
    std::map<std::string_view, std::vector<std::size_t>> by_directory;
    for (std::size_t i = 0; i < patterns.size(); ++i) {
      if (HasWildcard(patterns[i]))
        by_directory[SplitPattern(patterns[i]).directory].push_back(i);
    }
    for (const auto& [directory, numbers] : by_directory)
      FOREBAY_RETURN_IF_ERROR(FindIn(directory, patterns, numbers, found));
    for (std::size_t i = 0; i < patterns.size(); ++i)
      FOREBAY_RETURN_IF_ERROR(Add(patterns[i], found[i]));
    memory_.Shrink(bytes);
    return std::move(files_);
  }

 private:
  using Names = std::vector<std::string>;

  // Bytes of memory that a pattern takes in the map of directories.
  static constexpr std::uint64_t kGroupedBytes =
      base::HeapBytes(sizeof(std::string_view) + sizeof(Names)) +
      base::HeapBytes(2 * sizeof(std::size_t));

  absl::Status CheckNotStopped() const {
    if (!stop_.stop_requested()) return absl::OkStatus();
    return absl::CancelledError("was not listed to the end");
  }

  // Adds the files of one pattern to files_, in Python's order of names.
  // `found` has the files that match the pattern; Add frees `found`.
  absl::Status Add(const std::string& pattern, Names& found) {
    if (!HasWildcard(pattern)) return AddFile(pattern);
    if (found.empty()) {
      const auto namesake = root_.Stat(pattern);
      if (namesake.ok() && namesake->type == FileType::kRegular)
        return AddFile(pattern);
      return absl::NotFoundError(
          absl::StrCat(pattern, ": no file fits this pattern"));
    }
    std::sort(found.begin(), found.end(), PathLess);
    for (const std::string& path : found)
      FOREBAY_RETURN_IF_ERROR(AddFile(path));
    Free(found);
    return absl::OkStatus();
  }

  absl::Status AddFile(const std::string& path) {
    FOREBAY_RETURN_IF_ERROR(CheckNotStopped());
    FOREBAY_ASSIGN_OR_RETURN(const FileStat stat, root_.Stat(path));
    if (stat.type != FileType::kRegular) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": is not a regular file"));
    }
    FOREBAY_RETURN_IF_ERROR(memory_.MakeRoom(files_, 1));
    FOREBAY_RETURN_IF_ERROR(memory_.Grow(base::HeapBytes(path.size())));
    files_.push_back({path, stat.version()});
    return absl::OkStatus();
  }

  // Finds the files of the patterns whose numbers are in `numbers`. All of
  // these patterns have the directory part `directory`. First finds the
  // matching directories, component by component.
  absl::Status FindIn(std::string_view directory, const Names& patterns,
                      const std::vector<std::size_t>& numbers,
                      std::vector<Names>& found) const {
    Names directories;
    FOREBAY_RETURN_IF_ERROR(AddTo(directories, ""));
    for (std::size_t begin = 0; begin < directory.size();) {
      const std::size_t end =
          std::min(directory.find('/', begin), directory.size());
      const std::string_view component = directory.substr(begin, end - begin);
      begin = end + 1;
      if (component.empty()) continue;
      std::vector<Names> below(1);
      PatternSet fitting(memory_);
      FOREBAY_RETURN_IF_ERROR(
          FindOrAdd(component, 0, directories, false, fitting, below[0]));
      FOREBAY_RETURN_IF_ERROR(FindFitting(directories, fitting, false, below));
      Free(directories);
      directories = std::move(below[0]);
    }
    PatternSet fitting(memory_);
    for (const std::size_t number : numbers) {
      const std::string_view name = SplitPattern(patterns[number]).name;
      FOREBAY_RETURN_IF_ERROR(
          FindOrAdd(name, number, directories, true, fitting, found[number]));
    }
    FOREBAY_RETURN_IF_ERROR(FindFitting(directories, fitting, true, found));
    Free(directories);
    return absl::OkStatus();
  }

  // If the component has wildcards, adds it to `fitting`, to be compared later.
  // Otherwise looks it up in each of `directories`: as a file if it is the
  // `last` component, and as a directory if not.
  absl::Status FindOrAdd(std::string_view component, std::size_t number,
                         const Names& directories, bool last,
                         PatternSet& fitting, Names& found) const {
    if (HasWildcard(component)) return fitting.Add(component, number);
    for (const std::string& directory : directories) {
      FOREBAY_RETURN_IF_ERROR(CheckNotStopped());
      if (component.empty()) {
        FOREBAY_RETURN_IF_ERROR(AddTo(found, directory));
      } else {
        FOREBAY_RETURN_IF_ERROR(
            AddIfItFits(Join(directory, component), last, found));
      }
    }
    return absl::OkStatus();
  }

  // Finds the entries of `directories` that match each pattern in `fitting`.
  // Reads each directory once.
  absl::Status FindFitting(const Names& directories, const PatternSet& fitting,
                           bool last, std::vector<Names>& found) const {
    if (fitting.empty()) return absl::OkStatus();
    for (const std::string& directory : directories) {
      FOREBAY_RETURN_IF_ERROR(ForNamesIn(directory, [&](const char* name) {
        return fitting.ForEach(name, [&](std::size_t number) {
          return AddIfItFits(Join(directory, name), last, found[number]);
        });
      }));
    }
    return absl::OkStatus();
  }

  absl::Status AddTo(Names& names, std::string_view name) const {
    FOREBAY_RETURN_IF_ERROR(memory_.MakeRoom(names, 1));
    FOREBAY_RETURN_IF_ERROR(memory_.Grow(base::HeapBytes(name.size())));
    names.emplace_back(name);
    return absl::OkStatus();
  }

  void Free(Names& names) const {
    memory_.Shrink(BytesOf(names));
    names = Names();
  }

  // Adds the path to `found` if it leads to a file (if `file` is true) or to a
  // directory (if `file` is false). As in Python's glob, an entry whose stat
  // fails does not match. Denied permission is an error, because the dataset
  // would silently lack the entry.
  absl::Status AddIfItFits(const std::string& path, bool file,
                           Names& found) const {
    // No pattern matches a path above the root.
    if (path == ".." || path.ends_with("/..")) return absl::OkStatus();
    const auto stat = root_.Stat(path);
    if (absl::IsPermissionDenied(stat.status())) return stat.status();
    if (!stat.ok() || (stat->type == FileType::kDirectory) == file)
      return absl::OkStatus();
    return AddTo(found, path);
  }

  // Calls `take` with each entry of a directory, until `take` fails.
  absl::Status ForNamesIn(
      const std::string& path,
      const std::function<absl::Status(const char*)>& take) const {
    FOREBAY_ASSIGN_OR_RETURN(base::Fd fd, root_.OpenDirectory(path));
    const std::unique_ptr<DIR, CloseDirectory> open(fdopendir(fd.get()));
    if (open == nullptr) return base::ErrnoStatus(errno, path);
    fd.Release();
    for (;;) {
      FOREBAY_RETURN_IF_ERROR(CheckNotStopped());
      errno = 0;
      const dirent* entry = readdir(open.get());
      if (entry == nullptr) break;
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..")
        FOREBAY_RETURN_IF_ERROR(take(entry->d_name));
    }
    if (errno != 0) return base::ErrnoStatus(errno, path);
    return absl::OkStatus();
  }

  const LocalRoot& root_;
  base::WorkingMemory& memory_;
  const std::stop_token& stop_;
  std::vector<ListedObject> files_;
};

}  // namespace

absl::StatusOr<std::vector<ListedObject>> ListFiles(
    const LocalRoot& root, const std::vector<std::string>& patterns,
    base::WorkingMemory& memory, const std::stop_token& stop) {
  FOREBAY_ASSIGN_OR_RETURN(const std::vector<std::string> expanded,
                           ExpandBraces(patterns, memory));
  return Listing(root, memory, stop).List(expanded);
}

}  // namespace forebay::dataset::listing
