#include "server/storage/local/local_root.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <optional>
#include <thread>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/storage/local/errors.h"
#include "server/storage/local/mount.h"
#include "server/storage/wrong_domain.h"

// The kernel keeps every open beneath its directory (RESOLVE_BENEATH): a link
// that leaves the directory gives EXDEV. Only then does LeaveRoot look for that
// link. LeaveRoot opens one component after the other, beneath the root and
// without following links. A tree that changes meanwhile can mislead LeaveRoot,
// but cannot lead it out of the root. The link leads to an absolute path. Among
// the roots that contain this path, the one with the longest path is chosen,
// and the kernel tries again from there.

namespace forebay::storage::local {
namespace {

constexpr int kMaxLinks = 40;  // the kernel's own limit
// An open is tried again because of renames and mounts elsewhere on the host.
// Thousands of tries may pass until one falls between two such changes. After
// the first few, each try yields to other threads.
constexpr int kQuickTries = 16;
constexpr int kMaxTries = 20'000;
constexpr std::uint64_t kReading = O_RDONLY | O_NONBLOCK | O_NOCTTY;
constexpr std::uint64_t kBeneath = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;

// Returns a descriptor, or minus errno.
int OpenBeneath(int directory, const char* path, std::uint64_t flags,
                std::uint64_t resolve) {
  struct open_how how = {};
  how.flags = flags | O_CLOEXEC;
  how.resolve = resolve | kBeneath;
  for (int tries = 1;;) {
    const long fd = syscall(SYS_openat2, directory, path, &how, sizeof(how));
    if (fd >= 0) return static_cast<int>(fd);
    if (errno == EINTR) continue;
    // EAGAIN: during a rename or a mount the kernel cannot be sure where ".."
    // leads. This happens often to long paths on a busy host.
    if (errno != EAGAIN || tries == kMaxTries) return -errno;
    if (++tries > kQuickTries) std::this_thread::yield();
  }
}

const char* OrDot(const std::string& path) {
  return path.empty() ? "." : path.c_str();
}

// Returns the components of `path` in reverse order: the caller takes them from
// the back.
std::vector<std::string> ReversedComponents(std::string_view path) {
  std::vector<std::string> result;
  while (!path.empty()) {
    const std::size_t slash = path.rfind('/');
    const std::size_t start = slash == path.npos ? 0 : slash + 1;
    const std::string_view component = path.substr(start);
    if (!component.empty() && component != ".") result.emplace_back(component);
    path = path.substr(0, slash == path.npos ? 0 : slash);
  }
  return result;
}

std::string JoinReversed(const std::vector<std::string>& components) {
  std::string result;
  for (auto it = components.rbegin(); it != components.rend(); ++it)
    absl::StrAppend(&result, result.empty() ? "" : "/", *it);
  return result;
}

// Returns an absolute path without ".", ".." and doubled slashes.
std::string NormalizedAbsolute(std::string_view path) {
  std::vector<std::string> pending = ReversedComponents(path);
  std::vector<std::string> kept;
  for (; !pending.empty(); pending.pop_back()) {
    if (pending.back() != "..")
      kept.push_back(pending.back());
    else if (!kept.empty())
      kept.pop_back();
  }
  std::string result;
  for (const std::string& component : kept)
    absl::StrAppend(&result, "/", component);
  return result.empty() ? "/" : result;
}

// Returns the target if `entry` (O_PATH | O_NOFOLLOW) is a link.
std::optional<std::string> LinkTarget(int entry) {
  struct stat stat;
  if (fstat(entry, &stat) != 0 || !S_ISLNK(stat.st_mode)) return std::nullopt;
  char target[PATH_MAX];
  const ssize_t length = readlinkat(entry, "", target, sizeof(target));
  if (length <= 0) return std::nullopt;
  return std::string(target, length);
}

absl::Status CheckPath(std::string_view path) {
  if (path.find('\0') == path.npos) return absl::OkStatus();
  return FileError(absl::StatusCode::kInvalidArgument, path,
                   "a path cannot hold a zero byte");
}

absl::Status CheckDirectory(const base::Fd& directory, std::string_view name) {
  struct stat stat;
  if (fstat(directory.get(), &stat) != 0) return FileError(errno, name);
  if (!S_ISDIR(stat.st_mode))
    return FileError(absl::StatusCode::kInvalidArgument, name,
                     "is not a directory");
  return absl::OkStatus();
}

// Returns the device, inode and path of each root. A null byte ends each path.
absl::StatusOr<std::string> IdentityOf(const std::vector<ExtraRoot>& roots) {
  std::string identity = "local";
  for (const ExtraRoot& root : roots) {
    struct stat stat;
    if (fstat(root.directory.get(), &stat) != 0)
      return FileError(errno, root.path);
    absl::StrAppend(&identity, " ", stat.st_dev, " ", stat.st_ino, " ",
                    root.path, std::string(1, '\0'));
  }
  return identity;
}

// Returns null if a root lies on this host, or if its mount is unknown.
std::shared_ptr<const std::string> LastingIdentityOf(
    const std::vector<ExtraRoot>& roots) {
  std::string identity = "remote";
  for (const ExtraRoot& root : roots) {
    const auto mount = MountOf(root.directory.get());
    struct stat stat;
    if (!mount.has_value() || !IsNetworkFileSystem(*mount) ||
        fstat(root.directory.get(), &stat) != 0)
      return nullptr;
    absl::StrAppend(&identity, " ", mount->type, " ", mount->source, " ",
                    stat.st_ino, " ", root.path, std::string(1, '\0'));
  }
  return std::make_shared<const std::string>(std::move(identity));
}

absl::Status TooManyLinks(std::string_view path) {
  return FileError(ELOOP, path);
}

}  // namespace

absl::StatusOr<std::shared_ptr<const LocalRoot>> LocalRoot::Create(
    base::Fd directory, std::string uri, std::vector<ExtraRoot> extra_roots) {
  FOREBAY_RETURN_IF_ERROR(CheckDirectory(directory, uri));
  std::string_view own_path = uri;
  if (own_path.starts_with("file://")) own_path.remove_prefix(7);
  struct stat stat;
  if (fstat(directory.get(), &stat) != 0) return FileError(errno, uri);
  const OwnDevice own_device = {
      stat.st_dev, RevisionPartsByDevice().Learn(directory.get(), stat.st_dev)};
  std::vector<ExtraRoot> roots;
  roots.reserve(extra_roots.size() + 1);
  roots.push_back({std::move(directory), own_path.starts_with('/')
                                             ? NormalizedAbsolute(own_path)
                                             : ""});
  for (ExtraRoot& extra : extra_roots) {
    FOREBAY_RETURN_IF_ERROR(CheckDirectory(extra.directory, extra.path));
    if (!extra.path.starts_with('/'))
      return FileError(absl::StatusCode::kInvalidArgument, extra.path,
                       "an extra root needs an absolute path");
    roots.push_back(
        {std::move(extra.directory), NormalizedAbsolute(extra.path)});
  }
  FOREBAY_ASSIGN_OR_RETURN(std::string identity, IdentityOf(roots));
  auto lasting_identity = LastingIdentityOf(roots);
  return std::shared_ptr<const LocalRoot>(
      new LocalRoot(std::move(uri), std::move(identity),
                    std::move(lasting_identity), std::move(roots), own_device));
}

absl::Status LocalRoot::Supported() {
  const base::Fd root(open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  const int fd = OpenBeneath(root.get(), ".", O_PATH, 0);
  if (fd < 0) return FileError(-fd, "/");
  close(fd);
  return absl::OkStatus();
}

// CachedStat may find another file than a read finds through the same links.
// The versions then differ, and the answer is false.
bool LocalRoot::StillHas(const std::string& object,
                         const ObjectVersion& version) const {
  if (!on_this_host()) return false;
  const auto stat = CachedStat(object);
  if (!stat.has_value() || stat->st_dev != own_device_.number) return false;
  FileStat now = ToFileStat(*stat);
  now.revision = RevisionOf(*stat, own_device_.parts);
  // Caches compare the transaction ids of what they keep.
  now.revision.transaction_id = version.revision.transaction_id;
  return now.type == FileType::kRegular && now.version() == version;
}

// A stat by name would wait for any file system that is mounted or linked to on
// the way. The open of an O_PATH descriptor asks no file system.
std::optional<struct stat> LocalRoot::CachedStat(
    const std::string& path) const {
  open_how how = {};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = kBeneath | RESOLVE_NO_XDEV | RESOLVE_CACHED;
  const long opened =
      syscall(SYS_openat2, directory(), OrDot(path), &how, sizeof(how));
  if (opened < 0) return std::nullopt;
  const base::Fd file(static_cast<int>(opened));
  struct stat stat;
  if (fstat(file.get(), &stat) != 0) return std::nullopt;
  return stat;
}

bool LocalRoot::IsNamed(const std::string& path,
                        const struct stat& file) const {
  const auto named = CachedStat(path);
  return named.has_value() && named->st_dev == file.st_dev &&
         named->st_ino == file.st_ino;
}

std::string LocalRoot::FileSystemOf(std::string_view object) const {
  if (crossings_.Contains(object)) {
    // The part of the identity before the first null byte is the directory's
    // own.
    const std::size_t extra = roots_.size() > 1 ? identity_->find('\0') + 1 : 0;
    return absl::StrCat(std::string(kBeyond), identity_->substr(extra));
  }
  return absl::StrCat(std::string(on_this_host() ? kDisk : kMount),
                      major(own_device_.number), ":",
                      minor(own_device_.number));
}

Revision LocalRoot::RevisionOfOpen(int file, const struct stat& stat) const {
  return RevisionOf(stat, stat.st_dev == own_device_.number
                              ? own_device_.parts
                              : other_devices_.Learn(file, stat.st_dev));
}

absl::StatusOr<base::Fd> LocalRoot::Open(std::string_view path) const {
  return OpenFollowing(path, kReading);
}

absl::StatusOr<base::Fd> LocalRoot::OpenWithin(std::string_view path) const {
  FOREBAY_RETURN_IF_ERROR(CheckPath(path));
  const int fd = OpenBeneath(directory(), OrDot(std::string(path)), kReading,
                             RESOLVE_NO_XDEV);
  if (fd >= 0) return base::Fd(fd);
  return fd == -EXDEV ? Crossed(path) : FileError(-fd, path);
}

absl::Status LocalRoot::Crossed(std::string_view object) const {
  crossings_.Add(object);
  return WrongDomain(object);
}

const open_how& LocalRoot::HowToRead() {
  static constexpr open_how kHow = {kReading | O_CLOEXEC, 0,
                                    kBeneath | RESOLVE_NO_XDEV};
  return kHow;
}

absl::StatusOr<base::Fd> LocalRoot::OpenDirectory(std::string_view path) const {
  return OpenFollowing(path, kReading | O_DIRECTORY);
}

absl::StatusOr<FileStat> LocalRoot::Stat(std::string_view path) const {
  FOREBAY_ASSIGN_OR_RETURN(base::Fd fd, OpenFollowing(path, O_PATH));
  struct stat stat;
  if (fstat(fd.get(), &stat) != 0) return FileError(errno, path);
  FileStat result = ToFileStat(stat);
  result.revision = RevisionOfOpen(fd.get(), stat);
  return result;
}

absl::StatusOr<FileStat> LocalRoot::StatEntry(int directory,
                                              std::string_view path,
                                              std::string_view name) const {
  std::string whole(path);
  if (!whole.empty()) whole += '/';
  whole += name;
  if (name.empty() || name == "." || name == ".." ||
      name.find('/') != name.npos || name.find('\0') != name.npos)
    return FileError(absl::StatusCode::kInvalidArgument, whole,
                     "is not the name of a directory's entry");
  struct stat stat;
  if (fstatat(directory, whole.c_str() + whole.size() - name.size(), &stat,
              AT_SYMLINK_NOFOLLOW) != 0)
    return FileError(errno, whole);
  if (S_ISLNK(stat.st_mode)) return Stat(whole);
  return ToFileStat(stat);
}

absl::StatusOr<base::Fd> LocalRoot::OpenFollowing(std::string_view path,
                                                  std::uint64_t flags) const {
  FOREBAY_RETURN_IF_ERROR(CheckPath(path));
  ResolvedPath place = {0, std::string(path)};
  for (int links_followed = 0; links_followed < kMaxLinks; ++links_followed) {
    const int fd = OpenBeneath(roots_[place.root].directory.get(),
                               OrDot(place.path), flags, 0);
    if (fd >= 0) return base::Fd(fd);
    if (fd != -EXDEV) return FileError(-fd, path);
    FOREBAY_ASSIGN_OR_RETURN(place, LeaveRoot(place, path, links_followed));
  }
  return TooManyLinks(path);
}

absl::StatusOr<LocalRoot::ResolvedPath> LocalRoot::LeaveRoot(
    const ResolvedPath& place, std::string_view path,
    int& links_followed) const {
  const ExtraRoot& root = roots_[place.root];
  std::vector<std::string> pending = ReversedComponents(place.path);
  if (place.path.starts_with('/'))
    return FindRoot(NormalizedAbsolute(place.path), path);
  std::string walked;  // holds neither links nor ".."
  while (!pending.empty()) {
    const std::string component = std::move(pending.back());
    pending.pop_back();
    if (component == "..") {
      if (walked.empty()) {
        if (root.path.empty()) return FindRoot("", path);
        return FindRoot(NormalizedAbsolute(absl::StrCat(root.path, "/../",
                                                        JoinReversed(pending))),
                        path);
      }
      const std::size_t slash = walked.rfind('/');
      walked.resize(slash == walked.npos ? 0 : slash);
      continue;
    }
    const std::string next =
        absl::StrCat(walked, walked.empty() ? "" : "/", component);
    const base::Fd entry(OpenBeneath(root.directory.get(), next.c_str(),
                                     O_PATH | O_NOFOLLOW, RESOLVE_NO_SYMLINKS));
    if (!entry) return FileError(ENOENT, path);
    const std::optional<std::string> target = LinkTarget(entry.get());
    if (!target.has_value()) {
      walked = next;
      continue;
    }
    if (++links_followed >= kMaxLinks) return TooManyLinks(path);
    if (target->starts_with('/'))
      return FindRoot(
          NormalizedAbsolute(absl::StrCat(*target, "/", JoinReversed(pending))),
          path);
    for (std::string& part : ReversedComponents(*target))
      pending.insert(pending.end(), std::move(part));
  }
  return ResolvedPath{place.root, walked};  // the tree was changed
}

std::string LocalRoot::NameIn(const std::string& absolute) const {
  struct stat own;
  if (fstat(directory(), &own) != 0) return "";
  for (std::size_t end = absolute.rfind('/'); end != absolute.npos && end > 0;
       end = absolute.rfind('/', end - 1)) {
    std::string name = absolute.substr(0, end);
    struct stat other;
    if (stat(name.c_str(), &other) == 0 && other.st_dev == own.st_dev &&
        other.st_ino == own.st_ino)
      return name;
  }
  return "";
}

absl::StatusOr<LocalRoot::ResolvedPath> LocalRoot::FindRoot(
    const std::string& absolute, std::string_view path) const {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < roots_.size(); ++i) {
    const std::string& root = roots_[i].path;
    const bool beneath = !root.empty() && absolute.starts_with(root) &&
                         (root == "/" || absolute.size() == root.size() ||
                          absolute[root.size()] == '/');
    if (beneath && (!best || root.size() > roots_[*best].path.size())) best = i;
  }
  if (!best)
    return FileError(absl::StatusCode::kPermissionDenied, path,
                     absl::StrCat("leads outside the dataset's root",
                                  absolute.empty() ? "" : " to ", absolute,
                                  "; declare extra_roots=[...] to allow it"));
  std::string rest = absolute.substr(roots_[*best].path.size());
  if (rest.starts_with('/')) rest.erase(0, 1);
  return ResolvedPath{*best, std::move(rest)};
}

}  // namespace forebay::storage::local
