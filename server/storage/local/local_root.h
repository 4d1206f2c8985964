#ifndef FOREBAY_SERVER_STORAGE_LOCAL_LOCAL_ROOT_H_
#define FOREBAY_SERVER_STORAGE_LOCAL_LOCAL_ROOT_H_

#include <linux/openat2.h>
#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "server/base/fd.h"
#include "server/storage/byte_source.h"
#include "server/storage/local/crossings.h"
#include "server/storage/local/file_stat.h"
#include "server/storage/local/revision_parts.h"

namespace forebay::storage::local {

// A further directory into which symbolic links of a dataset may lead, and the
// absolute path by which those links name it.
struct ExtraRoot {
  base::Fd directory;
  std::string path;
};

// A directory that a client opened, and everything that lies beneath it.
//
// This class opens only files beneath the client's descriptors, whatever paths
// and links say. A link that leaves the directory is followed only beneath an
// extra root, or back beneath the directory by the directory's absolute path.
// Paths are relative to the root; "" is the root itself.
//
// Thread-safe and immutable, except that it learns the file systems that are
// mounted beneath it. The root owns its descriptors. All calls may block for
// the disk, except Supported, StillHas, CachedStat, IsNamed and the accessors.
// No call waits for the other end of a FIFO.
//
// Errors of all calls name the path: NOT_FOUND, PERMISSION_DENIED (by the file
// system, or because a link leads outside), INVALID_ARGUMENT (a file of another
// type; a loop of links), UNAVAILABLE (anything else, which may pass).
class LocalRoot final : public Root {
 public:
  // Makes a root. `uri` is the directory's absolute path, with or without
  // "file://". Links that name the directory by another absolute path need an
  // extra root of that path. INVALID_ARGUMENT: `directory` is not a directory,
  // or an extra root's path is not absolute.
  static absl::StatusOr<std::shared_ptr<const LocalRoot>> Create(
      base::Fd directory, std::string uri,
      std::vector<ExtraRoot> extra_roots = {});

  // Returns OK if this process may open files as this class does. UNAVAILABLE
  // says why it may not.
  static absl::Status Supported();

  const std::string& uri() const override { return uri_; }
  // Returns an identity that is made of the directories themselves and the
  // paths by which links name them.
  std::shared_ptr<const std::string> identity() const override {
    return identity_;
  }
  // Answers from the kernel's caches alone, and never blocks. Returns false if
  // the object's path leaves the root's own file system, or if that file system
  // may belong to another host.
  bool StillHas(const std::string& object,
                const ObjectVersion& version) const override;
  // Returns null unless all directories lie on network file systems. The
  // identity is made of the sources of their mounts, because devices get new
  // numbers whenever a host starts.
  std::shared_ptr<const std::string> lasting_identity() const override {
    return lasting_identity_;
  }

  // Opens a file for reading. The caller checks that it is a regular file
  // before it reads. Reads of the descriptor never wait for a peer, such as the
  // writer of a FIFO.
  absl::StatusOr<base::Fd> Open(std::string_view path) const;

  // Opens a file as Open does, within the root's own file system. If the path
  // leaves that file system, notes it in crossings() and returns WrongDomain
  // (wrong_domain.h).
  absl::StatusOr<base::Fd> OpenWithin(std::string_view path) const;
  // Returns the file's stat if the kernel's caches hold every component of its
  // path, within the root's own file system. Never blocks on a file system of
  // this host.
  std::optional<struct stat> CachedStat(const std::string& path) const;
  // Whether `path` still names the file with the stat `file`, as far as
  // CachedStat can tell. Another file may have been renamed to `path`.
  bool IsNamed(const std::string& path, const struct stat& file) const;

  // The beginnings of the names that FileSystemOf returns.
  static constexpr std::string_view kDisk = "disk ";
  static constexpr std::string_view kMount = "mount ";
  static constexpr std::string_view kBeyond = "beyond ";
  // Returns the name of the object's failure domain, as far as the root knows
  // it:
  // - kDisk and the device, if the object lies on the root's own file system,
  //   and that file system belongs to this host.
  // - kMount and the device, if that file system belongs to another host.
  // - kBeyond, if the object's path leaves that file system. In the name, the
  //   extra roots follow, so that roots with the same extra roots form one
  //   domain. Without extra roots, the root's identity follows.
  std::string FileSystemOf(std::string_view object) const;
  // Returns the directories whose files lie on other file systems.
  Crossings& crossings() const { return crossings_; }
  // Notes that the object's path leaves the root's own file system. Returns
  // WrongDomain.
  absl::Status Crossed(std::string_view object) const;

  // The functions directory and HowToRead are for callers that open files
  // themselves. The error EXDEV means that the path leaves the root's own file
  // system. The caller then calls Open.
  int directory() const { return roots_.front().directory.get(); }
  // Whether the root's file system is a disk or memory of this host, so that
  // opening a file never waits for another host.
  bool on_this_host() const { return own_device_.parts.ctime; }
  static const open_how& HowToRead();

  // Returns the beginning of `absolute`, a path of this process, that leads to
  // this directory. Returns "" if none does. Opens nothing.
  std::string NameIn(const std::string& absolute) const;

  // Opens a directory for listing.
  absl::StatusOr<base::Fd> OpenDirectory(std::string_view path) const;

  // Returns the revision of a file that was opened beneath the root and has
  // `stat`.
  Revision RevisionOfOpen(int file, const struct stat& stat) const;

  // Returns the facts of a file, with its revision. Follows links.
  absl::StatusOr<FileStat> Stat(std::string_view path) const;

  // Returns the facts of the entry `name` (one component) of the directory
  // `path`, which is open as `directory`. If the entry is not a link, makes
  // only one system call and leaves the revision out.
  absl::StatusOr<FileStat> StatEntry(int directory, std::string_view path,
                                     std::string_view name) const;

 private:
  // The device that the directory itself lies on.
  struct OwnDevice {
    std::uint64_t number = 0;
    RevisionParts parts;
  };
  // A path below roots_[root].
  struct ResolvedPath {
    std::size_t root = 0;
    std::string path;
  };

  LocalRoot(std::string uri, std::string identity,
            std::shared_ptr<const std::string> lasting_identity,
            std::vector<ExtraRoot> roots, const OwnDevice& own_device)
      : uri_(std::move(uri)),
        identity_(std::make_shared<const std::string>(std::move(identity))),
        lasting_identity_(std::move(lasting_identity)),
        roots_(std::move(roots)),
        own_device_(own_device) {}

  // Opens `path` with these flags, and follows links from root to root.
  absl::StatusOr<base::Fd> OpenFollowing(std::string_view path,
                                         std::uint64_t flags) const;
  // Follows the first link in the path of `place` that leaves its root. Returns
  // the place to which that link leads. `path` is the caller's path, for
  // errors.
  absl::StatusOr<ResolvedPath> LeaveRoot(const ResolvedPath& place,
                                         std::string_view path,
                                         int& links_followed) const;
  // Returns the place of an absolute path. If it lies below several roots,
  // takes the root with the longest path.
  absl::StatusOr<ResolvedPath> FindRoot(const std::string& absolute,
                                        std::string_view path) const;

  const std::string uri_;
  const std::shared_ptr<const std::string> identity_;
  const std::shared_ptr<const std::string> lasting_identity_;
  // The directory itself comes first, then the extra roots.
  const std::vector<ExtraRoot> roots_;
  const OwnDevice own_device_;
  mutable RevisionPartsByDevice other_devices_;
  mutable Crossings crossings_;
};

}  // namespace forebay::storage::local

#endif  // FOREBAY_SERVER_STORAGE_LOCAL_LOCAL_ROOT_H_
