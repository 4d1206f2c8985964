#include "server/dataset/listing/file_list.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/fd.h"
#include "server/base/status.h"
#include "server/base/working_memory.h"
#include "server/dataset/listing/brace_expansion.h"
#include "server/dataset/path_order.h"
#include "server/storage/local/file_stat.h"

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

class Listing {
 public:
  Listing(const LocalRoot& root, base::WorkingMemory& memory,
          const std::stop_token& stop)
      : root_(root), memory_(memory), stop_(stop) {}

  // Adds the files of one pattern, which has no braces.
  absl::Status Add(const std::string& pattern) {
    FOREBAY_RETURN_IF_ERROR(CheckNotStopped());
    if (!HasWildcard(pattern)) return AddFile(pattern);
    std::vector<std::string> paths = {""};
    for (std::size_t begin = 0; begin < pattern.size();) {
      const std::size_t end =
          std::min(pattern.find('/', begin), pattern.size());
      const std::string component = pattern.substr(begin, end - begin);
      if (!component.empty()) {
        FOREBAY_ASSIGN_OR_RETURN(
            paths, Descend(paths, component, end == pattern.size()));
      }
      begin = end + 1;
    }
    if (paths.empty()) {
      const auto namesake = root_.Stat(pattern);
      if (namesake.ok() && namesake->type == FileType::kRegular)
        return AddFile(pattern);
      return absl::NotFoundError(
          absl::StrCat(pattern, ": no file fits this pattern"));
    }
    std::sort(paths.begin(), paths.end(), PathLess);
    for (const std::string& path : paths) {
      FOREBAY_RETURN_IF_ERROR(AddFile(path));
    }
    return absl::OkStatus();
  }

  std::vector<ListedObject> TakeFiles() { return std::move(files_); }

 private:
  absl::Status CheckNotStopped() const {
    if (!stop_.stop_requested()) return absl::OkStatus();
    return absl::CancelledError("was not listed to the end");
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

  // Finds what fits `component` in each of `directories`: files if it is the
  // last component, else directories.
  absl::StatusOr<std::vector<std::string>> Descend(
      const std::vector<std::string>& directories, const std::string& component,
      bool last) const {
    std::vector<std::string> found;
    for (const std::string& directory : directories) {
      FOREBAY_RETURN_IF_ERROR(CheckNotStopped());
      if (!HasWildcard(component)) {
        FOREBAY_RETURN_IF_ERROR(
            AddIfItFits(Join(directory, component), last, found));
        continue;
      }
      FOREBAY_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                               NamesIn(directory));
      for (const std::string& name : names) {
        // A backslash is a character; a hidden name must be asked for.
        if (fnmatch(component.c_str(), name.c_str(),
                    FNM_NOESCAPE | FNM_PERIOD) != 0) {
          continue;
        }
        FOREBAY_RETURN_IF_ERROR(
            AddIfItFits(Join(directory, name), last, found));
      }
    }
    return found;
  }

  absl::Status AddTo(std::vector<std::string>& names,
                     std::string_view name) const {
    FOREBAY_RETURN_IF_ERROR(memory_.MakeRoom(names, 1));
    FOREBAY_RETURN_IF_ERROR(memory_.Grow(base::HeapBytes(name.size())));
    names.emplace_back(name);
    return absl::OkStatus();
  }

  // As in Python's glob, an entry that stat fails for does not fit. But one
  // that may not be read is an error: the dataset would lack it.
  absl::Status AddIfItFits(const std::string& path, bool file,
                           std::vector<std::string>& found) const {
    // Nothing above the root fits.
    if (path == ".." || path.ends_with("/..")) return absl::OkStatus();
    const auto stat = root_.Stat(path);
    if (absl::IsPermissionDenied(stat.status())) return stat.status();
    if (!stat.ok() || (stat->type == FileType::kDirectory) == file)
      return absl::OkStatus();
    return AddTo(found, path);
  }

  absl::StatusOr<std::vector<std::string>> NamesIn(
      const std::string& path) const {
    FOREBAY_ASSIGN_OR_RETURN(base::Fd fd, root_.OpenDirectory(path));
    const std::unique_ptr<DIR, CloseDirectory> open(fdopendir(fd.get()));
    if (open == nullptr) return base::ErrnoStatus(errno, path);
    fd.Release();
    std::vector<std::string> names;
    for (;;) {
      errno = 0;
      const dirent* entry = readdir(open.get());
      if (entry == nullptr) break;
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..")
        FOREBAY_RETURN_IF_ERROR(AddTo(names, name));
    }
    if (errno != 0) return base::ErrnoStatus(errno, path);
    return names;
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
  Listing listing(root, memory, stop);
  FOREBAY_ASSIGN_OR_RETURN(const std::vector<std::string> expanded,
                           ExpandBraces(patterns, memory));
  for (const std::string& one : expanded) {
    FOREBAY_RETURN_IF_ERROR(listing.Add(one));
  }
  return listing.TakeFiles();
}

}  // namespace forebay::dataset::listing
