#include "server/dataset/listing/remote_file_list.h"

#include <fnmatch.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "server/base/mutex.h"
#include "server/base/status.h"
#include "server/base/worker_threads.h"
#include "server/base/working_memory.h"
#include "server/dataset/listing/brace_expansion.h"
#include "server/dataset/object_listing.h"
#include "server/dataset/path_order.h"

namespace forebay::dataset::listing {
namespace {

using storage::ListedObject;

constexpr std::size_t kThreads = 16;  // each asks for one object

// Finds the versions of the files that are named.
class VersionQuery {
 public:
  VersionQuery(storage::ObjectLister& lister, const storage::Root& root,
               const std::stop_token& stop, std::vector<ListedObject>& named)
      : lister_(lister), root_(root), stop_(stop), named_(named) {}

  absl::Status Run() {
    base::RunOnThreads(std::clamp<std::size_t>(named_.size(), 1, kThreads),
                       [this] { Work(); });
    base::MutexLock lock(&mutex_);
    return status_;
  }

 private:
  void Work() {
    for (;;) {
      const std::size_t number = next_++;
      if (number >= named_.size()) return;
      ListedObject& file = named_[number];
      const auto version = lister_.Stat(root_, file.name, stop_);
      if (version.ok()) {
        file.version = *version;
        continue;
      }
      next_ = named_.size();
      base::MutexLock lock(&mutex_);
      if (status_.ok()) status_ = version.status();
    }
  }

  storage::ObjectLister& lister_;
  const storage::Root& root_;
  const std::stop_token& stop_;
  std::vector<ListedObject>& named_;  // each touched by one thread
  std::atomic<std::size_t> next_ = 0;
  base::Mutex mutex_;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

// Counts one more file of that name.
absl::Status CountFile(std::vector<ListedObject>& files, std::string_view name,
                       base::WorkingMemory& memory) {
  FOREBAY_RETURN_IF_ERROR(memory.MakeRoom(files, 1));
  return memory.Grow(base::HeapBytes(name.size()));
}

// The result of a pattern.
struct Fitting {
  std::vector<ListedObject> files;
  std::optional<ListedObject> namesake;  // has the pattern itself for a name
};

// Finds the files that fit each pattern, in Python's order of names.
absl::Status FindFitting(storage::ObjectLister& lister,
                         const storage::Root& root, base::WorkingMemory& memory,
                         const std::stop_token& stop,
                         std::map<std::string, Fitting>& fitting) {
  const absl::Status listed =
      TakeObjects(lister, root, stop, [&](const ListedObject& object) {
        for (auto& [pattern, found] : fitting) {
          if (stop.stop_requested())
            return absl::CancelledError("was not listed to the end");
          if (object.name == pattern)
            found.namesake = {object.name, object.version};
          // A backslash is a character; a hidden name must be asked for.
          if (fnmatch(pattern.c_str(), object.name.c_str(),
                      FNM_PATHNAME | FNM_NOESCAPE | FNM_PERIOD) != 0)
            continue;
          FOREBAY_RETURN_IF_ERROR(CountFile(found.files, object.name, memory));
          found.files.push_back({object.name, object.version});
        }
        return absl::OkStatus();
      });
  FOREBAY_RETURN_IF_ERROR(listed);
  for (auto& [pattern, found] : fitting) {
    auto& [files, namesake] = found;
    if (files.empty() && namesake.has_value()) files = {*std::move(namesake)};
    if (files.empty())
      return absl::NotFoundError(
          absl::StrCat(pattern, ": no object fits this pattern"));
    std::sort(files.begin(), files.end(),
              [](const ListedObject& a, const ListedObject& b) {
                return PathLess(a.name, b.name);
              });
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<ListedObject>> ListRemoteFiles(
    storage::ObjectLister& lister, const storage::Root& root,
    const std::vector<std::string>& patterns, base::WorkingMemory& memory,
    const std::stop_token& stop) {
  FOREBAY_ASSIGN_OR_RETURN(const std::vector<std::string> expanded,
                           ExpandBraces(patterns, memory));
  std::vector<ListedObject> named;
  std::map<std::string, Fitting> fitting;
  for (const std::string& one : expanded) {
    FOREBAY_RETURN_IF_ERROR(CountFile(named, one, memory));
    if (HasWildcard(one)) {
      FOREBAY_RETURN_IF_ERROR(memory.Grow(
          base::HeapBytes(sizeof(std::pair<const std::string, Fitting>) +
                          one.size()) +
          base::HeapBytes(0)));
      fitting.try_emplace(one);
    } else {
      named.push_back({one, {}});
    }
  }
  FOREBAY_RETURN_IF_ERROR(VersionQuery(lister, root, stop, named).Run());
  if (!fitting.empty())
    FOREBAY_RETURN_IF_ERROR(FindFitting(lister, root, memory, stop, fitting));
  // Copies what was found, for a pattern may be named twice.
  std::vector<ListedObject> files;
  auto next_named = named.begin();
  for (const std::string& one : expanded) {
    if (HasWildcard(one)) {
      const std::vector<ListedObject>& found = fitting[one].files;
      FOREBAY_RETURN_IF_ERROR(memory.MakeRoom(files, found.size()));
      for (const ListedObject& file : found) {
        FOREBAY_RETURN_IF_ERROR(memory.Grow(base::HeapBytes(file.name.size())));
      }
      files.insert(files.end(), found.begin(), found.end());
    } else {
      FOREBAY_RETURN_IF_ERROR(memory.MakeRoom(files, 1));
      files.push_back(std::move(*next_named++));
    }
  }
  return files;
}

}  // namespace forebay::dataset::listing
