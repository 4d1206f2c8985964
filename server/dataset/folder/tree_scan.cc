#include "server/dataset/folder/tree_scan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "server/base/fd.h"
#include "server/base/mutex.h"
#include "server/base/status.h"
#include "server/dataset/path_order.h"

// Directories wait in one queue. Each thread takes a directory, lists it, and
// queues the directories in it. Threads are added only while directories wait,
// so a hanging file system holds at most one thread for each directory. The
// scan ends at the first error, or when the queue is empty and no thread is
// busy. A stop counts as an error: busy threads notice it and wake the others.
// Every directory points to its parent, so a link to an ancestor is noticed.

namespace forebay::dataset::folder {
namespace {

using storage::local::FileStat;
using storage::local::FileType;
using storage::local::LocalRoot;

// Even without a loop, links can make a small tree seem endless.
constexpr std::size_t kMaxDirectories = std::size_t{1} << 24;

struct Node {
  const Node* parent = nullptr;
  ScannedDirectory directory;
};

struct Entry {
  std::string name;
  std::uint64_t inode = 0;
  unsigned char type = DT_UNKNOWN;
  FileStat stat;
};

std::string Join(const std::string& directory, const std::string& name) {
  return directory.empty() ? name : absl::StrCat(directory, "/", name);
}

struct CloseDirectory {
  void operator()(DIR* directory) const { closedir(directory); }
};
using OpenDirectory = std::unique_ptr<DIR, CloseDirectory>;

class Scan {
 public:
  Scan(const LocalRoot& root, bool (*wanted)(std::string_view), int threads,
       base::WorkingMemory& memory, const std::stop_token& stop, TreePart part)
      : root_(root),
        wanted_(wanted),
        most_others_(static_cast<std::size_t>(threads) - 1),
        memory_(memory),
        stop_(stop),
        part_(part) {
    pending_.push_back(&nodes_.emplace_back());
  }

  absl::StatusOr<ScannedTree> Run();

 private:
  // The entries of one directory.
  struct Listing {
    std::deque<Entry> files;
    std::vector<std::string> directories;
    bool has_links = false;
    std::uint64_t counted = 0;  // bytes of this listing that memory_ counts
  };

  void Work();
  void AddWorkersLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<ScannedTree> TakeResult();
  absl::Status CheckNotStopped() const;
  absl::Status List(Node& node, Listing& listing) const;
  absl::Status CheckNoLoop(const Node& node) const;
  absl::Status ReadEntries(DIR* open, const std::string& path,
                           std::deque<Entry>& entries,
                           std::uint64_t& counted) const;
  absl::Status Sort(int fd, const std::string& path, Entry entry,
                    Listing& listing) const;
  absl::Status FollowLink(const std::string& path, Entry& entry) const;
  absl::Status LookAtFiles(int fd, const std::string& path,
                           std::deque<Entry>& files) const;
  absl::Status Keep(const std::deque<Entry>& files,
                    ScannedDirectory& result) const;
  absl::Status AddChildrenLocked(const Node& node, const Listing& listing)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Finish(Node* node, const absl::Status& status, const Listing& listing)
      ABSL_LOCKS_EXCLUDED(mutex_);

  const LocalRoot& root_;
  bool (*const wanted_)(std::string_view);
  const std::size_t most_others_;  // threads besides the caller's
  base::WorkingMemory& memory_;
  const std::stop_token& stop_;
  const TreePart part_;

  base::Mutex mutex_;
  base::CondVar changed_;
  std::deque<Node> nodes_ ABSL_GUARDED_BY(mutex_);  // nodes never move
  std::deque<Node*> pending_ ABSL_GUARDED_BY(mutex_);
  int busy_ ABSL_GUARDED_BY(mutex_) = 0;
  bool has_links_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::jthread> others_ ABSL_GUARDED_BY(mutex_);
};

absl::StatusOr<ScannedTree> Scan::Run() {
  Work();
  std::vector<std::jthread> others;
  {
    // From here on no thread is added: no directory waits, or there is an
    // error.
    base::MutexLock lock(&mutex_);
    others.swap(others_);
  }
  for (std::jthread& other : others) other.join();
  return TakeResult();
}

void Scan::AddWorkersLocked() {
  const auto idle = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return others_.size() + 1 - static_cast<std::size_t>(busy_);
  };
  try {
    while (pending_.size() > idle() && others_.size() < most_others_)
      others_.emplace_back([this] { Work(); });
  } catch (const std::system_error&) {
    // The threads that were started before do the work.
  }
}

void Scan::Work() {
  for (;;) {
    Node* node = nullptr;
    {
      base::MutexLock lock(&mutex_);
      while (pending_.empty() && busy_ > 0 && status_.ok()) {
        changed_.Wait(&mutex_);
      }
      if (pending_.empty() || !status_.ok()) return;
      node = pending_.front();
      pending_.pop_front();
      ++busy_;
    }
    std::uint64_t counted = 0;
    {
      Listing listing;
      const absl::Status status = List(*node, listing);
      Finish(node, status, listing);
      counted = listing.counted;
    }
    memory_.Shrink(counted);
  }
}

void Scan::Finish(Node* node, const absl::Status& status,
                  const Listing& listing) {
  base::MutexLock lock(&mutex_);
  --busy_;
  has_links_ |= listing.has_links;
  if (status_.ok()) status_ = status;
  if (status_.ok()) status_ = AddChildrenLocked(*node, listing);
  if (status_.ok()) AddWorkersLocked();
  changed_.NotifyAll();
}

absl::Status Scan::AddChildrenLocked(const Node& node, const Listing& listing) {
  if (nodes_.size() + listing.directories.size() > kMaxDirectories) {
    return absl::ResourceExhaustedError(
        absl::StrCat(root_.uri(), ": more than ", kMaxDirectories,
                     " directories, counting those that links lead to"));
  }
  for (const std::string& name : listing.directories) {
    std::string path = Join(node.directory.path, name);
    FOREBAY_RETURN_IF_ERROR(memory_.Grow(2 * sizeof(Node) + sizeof(Node*) +
                                         base::HeapBytes(path.size())));
    Node& child = nodes_.emplace_back();
    child.parent = &node;
    child.directory.path = std::move(path);
    pending_.push_back(&child);
  }
  return absl::OkStatus();
}

absl::StatusOr<ScannedTree> Scan::TakeResult() {
  base::MutexLock lock(&mutex_);
  FOREBAY_RETURN_IF_ERROR(status_);
  ScannedTree tree;
  tree.has_links = has_links_;
  tree.directories.reserve(nodes_.size());
  for (Node& node : nodes_) {
    tree.directories.push_back(std::move(node.directory));
  }
  return tree;
}

absl::Status Scan::CheckNotStopped() const {
  if (!stop_.stop_requested()) return absl::OkStatus();
  return absl::CancelledError("was not scanned to the end");
}

absl::Status Scan::List(Node& node, Listing& listing) const {
  const std::string& path = node.directory.path;
  FOREBAY_RETURN_IF_ERROR(CheckNotStopped());
  FOREBAY_ASSIGN_OR_RETURN(base::Fd fd, root_.OpenDirectory(path));
  // The version is read first. A later check then notices a change meanwhile.
  FOREBAY_ASSIGN_OR_RETURN(node.directory.version,
                           VersionOfDirectory(fd.get(), path));
  FOREBAY_RETURN_IF_ERROR(CheckNoLoop(node));
  const OpenDirectory open(fdopendir(fd.get()));
  if (open == nullptr) return base::ErrnoStatus(errno, path);
  const int directory = fd.Release();
  std::deque<Entry> entries;
  FOREBAY_RETURN_IF_ERROR(
      ReadEntries(open.get(), path, entries, listing.counted));
  for (; !entries.empty(); entries.pop_front()) {
    FOREBAY_RETURN_IF_ERROR(CheckNotStopped());
    FOREBAY_RETURN_IF_ERROR(
        Sort(directory, path, std::move(entries.front()), listing));
  }
  FOREBAY_RETURN_IF_ERROR(LookAtFiles(directory, path, listing.files));
  return Keep(listing.files, node.directory);
}

absl::Status Scan::CheckNoLoop(const Node& node) const {
  const DirectoryVersion& version = node.directory.version;
  for (const Node* above = node.parent; above != nullptr;
       above = above->parent) {
    if (above->directory.version.device == version.device &&
        above->directory.version.inode == version.inode) {
      return absl::InvalidArgumentError(absl::StrCat(
          node.directory.path, ": a link makes this directory lie within ",
          "itself: it is also ",
          above->directory.path.empty() ? "the root" : above->directory.path));
    }
  }
  return absl::OkStatus();
}

absl::Status Scan::ReadEntries(DIR* open, const std::string& path,
                               std::deque<Entry>& entries,
                               std::uint64_t& counted) const {
  for (;;) {
    FOREBAY_RETURN_IF_ERROR(CheckNotStopped());
    errno = 0;
    const dirent* found = readdir(open);
    if (found == nullptr) {
      if (errno == 0) return absl::OkStatus();
      return base::ErrnoStatus(errno, path);
    }
    const std::string_view name = found->d_name;
    if (name == "." || name == "..") continue;
    const std::uint64_t bytes = sizeof(Entry) + base::HeapBytes(name.size());
    FOREBAY_RETURN_IF_ERROR(memory_.Grow(bytes));
    counted += bytes;
    Entry entry;
    entry.name = name;
    entry.inode = found->d_ino;
    entry.type = found->d_type;
    entries.push_back(std::move(entry));
  }
}

// Adds the entry to listing.directories, or to listing.files if its name is
// wanted.
absl::Status Scan::Sort(int fd, const std::string& path, Entry entry,
                        Listing& listing) const {
  const bool may_be_folder = part_ != TreePart::kRoot;
  if (!may_be_folder && !wanted_(entry.name)) return absl::OkStatus();
  if (entry.type == DT_UNKNOWN) {
    struct stat stat;
    if (fstatat(fd, entry.name.c_str(), &stat, AT_SYMLINK_NOFOLLOW) == 0) {
      entry.type = IFTODT(stat.st_mode);
    }
  }
  if (entry.type == DT_LNK) {
    listing.has_links = true;
    FOREBAY_RETURN_IF_ERROR(FollowLink(path, entry));
    if (entry.stat.type == FileType::kDirectory) entry.type = DT_DIR;
  }
  const bool may_be_file = !path.empty() || part_ != TreePart::kFolders;
  if (entry.type == DT_DIR) {
    if (may_be_folder) listing.directories.push_back(std::move(entry.name));
  } else if (may_be_file && wanted_(entry.name)) {
    listing.files.push_back(std::move(entry));
  }
  return absl::OkStatus();
}

// Sets `entry` to what a link leads to. Succeeds if the link leads nowhere.
absl::Status Scan::FollowLink(const std::string& path, Entry& entry) const {
  const auto stat = root_.Stat(Join(path, entry.name));
  if (stat.ok()) {
    entry.stat = *stat;
    return absl::OkStatus();
  }
  switch (stat.status().code()) {
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kInvalidArgument:
      return absl::OkStatus();
    case absl::StatusCode::kPermissionDenied:
      // If the name is wanted, the link is taken for a file. Any other link may
      // lead to a class, and a missing class would shift the labels.
      if (wanted_(entry.name)) return absl::OkStatus();
      return stat.status();
    default:
      return stat.status();
  }
}

absl::Status Scan::LookAtFiles(int fd, const std::string& path,
                               std::deque<Entry>& files) const {
  // In the order of inodes, a disk that must seek moves in one direction.
  std::sort(files.begin(), files.end(),
            [](const Entry& a, const Entry& b) { return a.inode < b.inode; });
  for (Entry& entry : files) {
    if (entry.type == DT_LNK) continue;
    FOREBAY_RETURN_IF_ERROR(CheckNotStopped());
    struct stat stat;
    if (fstatat(fd, entry.name.c_str(), &stat, AT_SYMLINK_NOFOLLOW) == 0) {
      entry.stat = storage::local::ToFileStat(stat);
    } else if (errno != ENOENT && errno != EACCES && errno != EPERM) {
      return base::ErrnoStatus(errno, Join(path, entry.name));
    }
  }
  std::sort(files.begin(), files.end(), [](const Entry& a, const Entry& b) {
    return PathLess(a.name, b.name);
  });
  return absl::OkStatus();
}

absl::Status Scan::Keep(const std::deque<Entry>& files,
                        ScannedDirectory& result) const {
  std::size_t bytes = 0;
  for (const Entry& entry : files) bytes += entry.name.size();
  if (bytes > UINT32_MAX) {
    return absl::ResourceExhaustedError(absl::StrCat(
        result.path, ": the names in this directory take more than ",
        UINT32_MAX, " bytes"));
  }
  FOREBAY_RETURN_IF_ERROR(
      memory_.Grow(base::HeapBytes(bytes) + files.size() * sizeof(FolderFile)));
  result.records.reserve(files.size());
  result.names.reserve(bytes);
  for (const Entry& entry : files) {
    if (entry.name.size() > FolderFile::kLongestName) {
      return absl::InvalidArgumentError(absl::StrCat(
          Join(result.path, entry.name), ": the name is longer than ",
          FolderFile::kLongestName, " bytes"));
    }
    result.records.emplace_back(static_cast<std::uint32_t>(result.names.size()),
                                entry.name.size(), entry.stat.size,
                                entry.stat.mtime_nanos);
    result.names += entry.name;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ScannedTree> ScanTree(const LocalRoot& root,
                                     bool (*wanted)(std::string_view name),
                                     int threads, base::WorkingMemory& memory,
                                     const std::stop_token& stop,
                                     TreePart part) {
  return Scan(root, wanted, threads, memory, stop, part).Run();
}

absl::StatusOr<DirectoryVersion> VersionOfDirectory(int fd,
                                                    std::string_view path) {
  struct stat stat;
  if (fstat(fd, &stat) != 0) return base::ErrnoStatus(errno, path);
  const auto nanos = [](const timespec& time) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(time.tv_sec) *
                                         1'000'000'000 +
                                     static_cast<std::uint64_t>(time.tv_nsec));
  };
  return DirectoryVersion{stat.st_dev, stat.st_ino, nanos(stat.st_mtim),
                          nanos(stat.st_ctim)};
}

}  // namespace forebay::dataset::folder
