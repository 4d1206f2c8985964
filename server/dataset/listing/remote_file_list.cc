#include "server/dataset/listing/remote_file_list.h"

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
#include "server/dataset/listing/pattern_set.h"
#include "server/dataset/object_listing.h"
#include "server/dataset/path_order.h"

// A list of a large bucket takes many requests. So objects that are named in
// full are asked for one by one, and the list is made only for patterns with
// wildcards. The objects found in both ways are put in the order of the
// patterns.

namespace forebay::dataset::listing {
namespace {

using storage::ListedObject;

constexpr std::size_t kThreads = 16;  // each asks for one object at a time

// Finds the versions of the objects that are named in full. Uses several
// threads, which end before Run returns. The first error ends the query.
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
  // Asks for one object's version after another, until all are found or a
  // request fails.
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
  std::vector<ListedObject>& named_;  // each is written by one thread
  std::atomic<std::size_t> next_ = 0;
  base::Mutex mutex_;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

// Returns the memory that `files` take, in bytes.
std::uint64_t BytesOf(const std::vector<ListedObject>& files) {
  std::uint64_t bytes = files.capacity() * sizeof(ListedObject);
  for (const ListedObject& file : files)
    bytes += base::HeapBytes(file.name.size());
  return bytes;
}

// Makes room in `files` for one more object named `name`, and counts it in
// `memory`.
absl::Status CountFile(std::vector<ListedObject>& files, std::string_view name,
                       base::WorkingMemory& memory) {
  FOREBAY_RETURN_IF_ERROR(memory.MakeRoom(files, 1));
  return memory.Grow(base::HeapBytes(name.size()));
}

// The objects that match a pattern.
struct Fitting {
  std::vector<ListedObject> files;
  std::optional<ListedObject> namesake;  // its name is the pattern
};

// Returns the memory, in bytes, that a pattern and its Fitting take without the
// objects.
std::uint64_t PatternBytes(const std::string& pattern) {
  return base::HeapBytes(sizeof(std::pair<const std::string, Fitting>)) +
         base::HeapBytes(pattern.size());
}

// Lists all objects once, and finds those that match each pattern, in Python's
// order of names.
absl::Status FindFitting(storage::ObjectLister& lister,
                         const storage::Root& root, base::WorkingMemory& memory,
                         const std::stop_token& stop,
                         std::map<std::string, Fitting>& fitting) {
  PatternSet patterns(memory);
  std::vector<std::map<std::string, Fitting>::iterator> by_number;
  FOREBAY_RETURN_IF_ERROR(memory.MakeRoom(by_number, fitting.size()));
  for (auto each = fitting.begin(); each != fitting.end(); ++each) {
    FOREBAY_RETURN_IF_ERROR(patterns.Add(each->first, by_number.size()));
    by_number.push_back(each);
  }
  const absl::Status listed =
      TakeObjects(lister, root, stop, [&](const ListedObject& object) {
        if (stop.stop_requested())
          return absl::CancelledError("was not listed to the end");
        const auto same = fitting.find(object.name);
        if (same != fitting.end()) same->second.namesake = object;
        return patterns.ForEach(object.name, [&](std::size_t number) {
          std::vector<ListedObject>& files = by_number[number]->second.files;
          FOREBAY_RETURN_IF_ERROR(CountFile(files, object.name, memory));
          files.push_back(object);
          return absl::OkStatus();
        });
      });
  memory.Shrink(by_number.capacity() * sizeof(by_number[0]));
  FOREBAY_RETURN_IF_ERROR(listed);
  for (auto& [pattern, found] : fitting) {
    auto& [files, namesake] = found;
    if (files.empty() && namesake.has_value()) {
      FOREBAY_RETURN_IF_ERROR(CountFile(files, namesake->name, memory));
      files.push_back(*std::move(namesake));
    }
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
    if (HasWildcard(one)) {
      if (fitting.contains(one)) continue;
      FOREBAY_RETURN_IF_ERROR(memory.Grow(PatternBytes(one)));
      fitting.try_emplace(one);
    } else {
      FOREBAY_RETURN_IF_ERROR(CountFile(named, one, memory));
      named.push_back({one, {}});
    }
  }
  FOREBAY_RETURN_IF_ERROR(VersionQuery(lister, root, stop, named).Run());
  if (!fitting.empty())
    FOREBAY_RETURN_IF_ERROR(FindFitting(lister, root, memory, stop, fitting));
  // The objects that match a pattern are copied, since the pattern may occur
  // twice.
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
  // The names in `named` were moved to `files`, so they stay counted.
  std::uint64_t freed = named.capacity() * sizeof(named[0]);
  for (const auto& [pattern, found] : fitting)
    freed += PatternBytes(pattern) + BytesOf(found.files);
  memory.Shrink(freed);
  return files;
}

}  // namespace forebay::dataset::listing
