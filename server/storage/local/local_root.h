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

// A further directory that links inside a dataset may lead into, and the
// absolute path by which they name it.
struct ExtraRoot {
  base::Fd directory;
  std::string path;
};

// A directory that a client opened, and all that lies beneath it. The client's
// descriptors are the capabilities: this class opens nothing outside of them,
// whatever paths and links say. It follows a link that leaves the directory
// only beneath an extra root, or back beneath the directory itself by its
// absolute path.
//
// Thread-safe and immutable, except that it learns the file systems that are
// mounted beneath it. Owns its descriptors. All calls may block for the disk,
// except Supported and the accessors; none waits for the other end of a FIFO.
// Errors of all calls name the path: NOT_FOUND, PERMISSION_DENIED (by the file
// system, or because a link leads outside), INVALID_ARGUMENT (not that type of
// file; a loop of links), UNAVAILABLE (anything else, which may pass).
//
// Paths are relative to the root, "" is the root itself.
class LocalRoot final : public Root {
 public:
  // `uri` is the directory's absolute path, with or without "file://"; links
  // that name it by another absolute path need an extra root of that path.
  // INVALID_ARGUMENT: not a directory, or an extra root's path is not absolute.
  static absl::StatusOr<std::shared_ptr<const LocalRoot>> Create(
      base::Fd directory, std::string uri,
      std::vector<ExtraRoot> extra_roots = {});

  // Returns whether this process may open files so at all. UNAVAILABLE if not;
  // says why.
  static absl::Status Supported();

  const std::string& uri() const override { return uri_; }
  // Made of the directories themselves and the paths by which links name them.
  std::shared_ptr<const std::string> identity() const override {
    return identity_;
  }
  // Never blocks: answers by what the kernel's caches hold. Never true if the
  // way to the file leaves the root's own file system, or if that may belong to
  // another host.
  bool StillHas(const std::string& object,
                const ObjectVersion& version) const override;
  // Null unless all directories lie on network file systems. Made of the
  // sources of those, because devices get new numbers whenever a host starts.
  std::shared_ptr<const std::string> lasting_identity() const override {
    return lasting_identity_;
  }

  // Opens a file for reading. It need not be a regular file: check before
  // reading; reads do not block for a peer.
  absl::StatusOr<base::Fd> Open(std::string_view path) const;

  // Like Open, within the root's own file system. Notes the crossing and
  // returns WrongDomain (wrong_domain.h) if the way to the file leaves that.
  absl::StatusOr<base::Fd> OpenWithin(std::string_view path) const;
  // Returns the file's stat if the kernel's caches have all of the way to it,
  // within the root's own file system. Never blocks on a file system of this
  // host.
  std::optional<struct stat> CachedStat(const std::string& path) const;
  // Returns whether the name stands for the file with that stat, as far as
  // CachedStat tells. Another may have been renamed over it.
  bool IsNamed(const std::string& path, const struct stat& file) const;

  // Names the failure domain of the object, as far as is known: kDisk and the
  // device if it lies on the root's own file system and that is one of this
  // host, kMount and the device if that is another. If the way to the object
  // leaves it: kBeyond and what the extra roots are, so that many folders with
  // links to one disk are one domain; without extra roots, the root's identity.
  static constexpr std::string_view kDisk = "disk ";
  static constexpr std::string_view kMount = "mount ";
  static constexpr std::string_view kBeyond = "beyond ";
  std::string FileSystemOf(std::string_view object) const;
  // The ways to files that leave the root's own file system.
  Crossings& crossings() const { return crossings_; }
  // Notes that the way to the object leaves that; returns WrongDomain.
  absl::Status Crossed(std::string_view object) const;

  // For callers that open files themselves, beneath `directory` and as
  // HowToRead says. On EXDEV, the way to the file leaves the root's own file
  // system: then call Open.
  int directory() const { return roots_.front().directory.get(); }
  // Returns whether its file system is a disk or memory of this host: then
  // opening a file never waits for another host.
  bool on_this_host() const { return own_device_.parts.ctime; }
  static const open_how& HowToRead();

  // Returns the part of an absolute path that is this directory, by whatever
  // name this process finds it, or "" if there is none. Opens nothing.
  std::string NameIn(const std::string& absolute) const;

  // Opens a directory for listing.
  absl::StatusOr<base::Fd> OpenDirectory(std::string_view path) const;

  // Returns the revision of a file that was opened beneath the root and has
  // that stat.
  Revision RevisionOfOpen(int file, const struct stat& stat) const;

  // Follows links; includes the revision.
  absl::StatusOr<FileStat> Stat(std::string_view path) const;

  // Like Stat, of the entry `name` (one component) of the directory `path`,
  // open as `directory`. If the entry is no link, it makes one system call and
  // leaves the revision out.
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

  absl::StatusOr<base::Fd> OpenFollowing(std::string_view path,
                                         std::uint64_t flags) const;
  absl::StatusOr<ResolvedPath> LeaveRoot(const ResolvedPath& place,
                                         std::string_view path,
                                         int& links_followed) const;
  absl::StatusOr<ResolvedPath> FindRoot(const std::string& absolute,
                                        std::string_view path) const;

  const std::string uri_;
  const std::shared_ptr<const std::string> identity_;
  const std::shared_ptr<const std::string> lasting_identity_;
  const std::vector<ExtraRoot> roots_;  // the directory itself comes first
  const OwnDevice own_device_;
  mutable RevisionPartsByDevice other_devices_;
  mutable Crossings crossings_;
};

}  // namespace forebay::storage::local

#endif  // FOREBAY_SERVER_STORAGE_LOCAL_LOCAL_ROOT_H_
