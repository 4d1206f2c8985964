#include "server/storage/webhdfs/hdfs_lister.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/storage/http/awaited_call.h"
#include "server/storage/http/object_list.h"
#include "server/storage/webhdfs/file_checksum.h"
#include "server/storage/webhdfs/file_status.h"
#include "server/storage/webhdfs/hdfs_root.h"

namespace forebay::storage::webhdfs {
namespace {

// The longest answer, in bytes.
constexpr std::uint64_t kMaxAnswerBytes = 16 << 20;
// The greatest depth of a folder below a root. The bound ends the walk of a
// folder that lists itself as a child.
constexpr std::ptrdiff_t kMaxDepth = 100;

// Returns the root as an HdfsRoot, or INVALID_ARGUMENT if it is of another
// kind.
absl::StatusOr<const HdfsRoot*> HdfsOf(const Root& root) {
  const auto* const hdfs = dynamic_cast<const HdfsRoot*>(&root);
  if (hdfs == nullptr) return absl::InvalidArgumentError("lies in no HDFS");
  return hdfs;
}

// Asks for the checksum of each file for which the server gives no fileId.
// Thread-safe.
class Checksums {
 public:
  Checksums(http::Client* client, const HdfsRoot* root, std::stop_token stop)
      : client_(client), root_(root), stop_(std::move(stop)) {}

  // If the file has a checksum but no number, makes the checksum a part of its
  // version. `object` is its name below the root.
  absl::Status AddTo(std::string_view object, FileStatus* status) {
    if (status->kind != FileStatus::Kind::kFile || status->has_number ||
        !server_has_them_)
      return absl::OkStatus();
    FOREBAY_ASSIGN_OR_RETURN(http::Call call, ChecksumCall(*root_, object));
    call.kind = http::RequestKind::kList;
    const auto answer = http::Await(client_, std::move(call), stop_);
    // A file that was deleted meanwhile or cannot be read keeps its version:
    // reading it gives the error.
    if (absl::IsNotFound(answer.status()) ||
        absl::IsPermissionDenied(answer.status()))
      return absl::OkStatus();
    if (absl::IsInvalidArgument(answer.status()))
      server_has_them_ = false;
    else if (!answer.ok())
      return answer.status();
    const std::string checksum =
        answer.ok() ? *ParseChecksum(answer->body) : std::string();
    if (!checksum.empty())
      status->version = VersionByChecksum(*status, checksum);
    return absl::OkStatus();
  }

 private:
  http::Client* const client_;
  const HdfsRoot* const root_;
  const std::stop_token stop_;
  std::atomic<bool> server_has_them_ = true;
};

// The files and folders of one folder tree, asked for one folder at a time.
class TreeWalk {
 public:
  TreeWalk(http::Client* client, const HdfsRoot* root, std::stop_token stop)
      : client_(client),
        root_(root),
        stop_(std::move(stop)),
        checksums_(client, root, stop_) {}

  // Returns the entries of a folder, in the order of the names that files below
  // them have.
  absl::StatusOr<std::vector<FileStatus>> EntriesOf(
      const std::string& folder) const {
    std::vector<FileStatus> entries;
    std::int64_t remaining = INT64_MAX;
    while (remaining > 0) {
      FOREBAY_ASSIGN_OR_RETURN(FolderList part, PartOf(folder, entries));
      // Each part must leave fewer entries, or the list might have no end.
      if (part.remaining >= std::exchange(remaining, part.remaining) ||
          (part.remaining > 0 && part.entries.empty()) ||
          (!entries.empty() && !part.entries.empty() &&
           part.entries.back().name <= entries.back().name))
        return http::BrokenList("its parts do not come to an end");
      entries.insert(entries.end(),
                     std::make_move_iterator(part.entries.begin()),
                     std::make_move_iterator(part.entries.end()));
    }
    for (FileStatus& entry : entries)
      FOREBAY_RETURN_IF_ERROR(checksums_.AddTo(folder + entry.name, &entry));
    for (FileStatus& entry : entries)
      if (entry.kind == FileStatus::Kind::kFolder) entry.name += '/';
    std::sort(entries.begin(), entries.end(),
              [](const FileStatus& a, const FileStatus& b) {
                return a.name < b.name;
              });
    return entries;
  }

  // Calls `each` with the files below a folder, in the order of their names.
  absl::Status Walk(const std::string& folder,
                    const std::function<void(ListedObject)>& each) const {
    // The files and folders that are left; the next one is at the back.
    std::vector<FileStatus> left(1);
    left.front().name = folder;
    left.front().kind = FileStatus::Kind::kFolder;
    while (!left.empty()) {
      const FileStatus next = std::move(left.back());
      left.pop_back();
      if (next.kind == FileStatus::Kind::kFile) each({next.name, next.version});
      if (next.kind != FileStatus::Kind::kFolder) continue;
      if (std::count(next.name.begin(), next.name.end(), '/') > kMaxDepth)
        return http::BrokenList("its folders are too deep");
      FOREBAY_ASSIGN_OR_RETURN(std::vector<FileStatus> entries,
                               EntriesOf(next.name));
      for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
        entry->name = next.name + entry->name;
        left.push_back(std::move(*entry));
      }
    }
    return absl::OkStatus();
  }

 private:
  // Asks for the entries that follow `entries`. A server that knows no lists in
  // parts gives all entries at once.
  absl::StatusOr<FolderList> PartOf(
      const std::string& folder, const std::vector<FileStatus>& entries) const {
    const std::string after = entries.empty() ? "" : entries.back().name;
    auto part = Ask(root_->ListUrlAfter(folder, after));
    if (!absl::IsInvalidArgument(part.status()) || !after.empty()) return part;
    return Ask(root_->ListUrl(folder));
  }

  // Returns the list, or the part of it, that the URL names.
  absl::StatusOr<FolderList> Ask(const absl::StatusOr<std::string>& url) const {
    if (!url.ok()) return url.status();
    FolderList list;
    http::Call call;
    call.request.url = *url;
    call.request.max_body = kMaxAnswerBytes;
    call.request.refuse_link_local = root_->is_chosen_by_client();
    call.kind = http::RequestKind::kList;
    call.fault = &FaultOf;
    call.judge = [&list](const http::HttpResponse& answer) -> absl::Status {
      if (answer.failure != http::HttpFailure::kNone)
        return absl::InvalidArgumentError(
            "a folder has more files than fit into one answer, and the server "
            "sends no parts");
      FOREBAY_ASSIGN_OR_RETURN(list, ParseFolder(answer.body));
      return absl::OkStatus();
    };
    const auto answer = http::Await(client_, std::move(call), stop_);
    FOREBAY_RETURN_IF_ERROR(answer.status());
    return list;
  }

  http::Client* const client_;
  const HdfsRoot* const root_;
  const std::stop_token stop_;
  mutable Checksums checksums_;  // it is thread-safe
};

}  // namespace

absl::Status HdfsLister::List(const Root& root,
                              const std::function<void(ListedObject)>& each,
                              const std::stop_token& stop) {
  FOREBAY_ASSIGN_OR_RETURN(const HdfsRoot* const hdfs, HdfsOf(root));
  const TreeWalk walk(client_, hdfs, stop);
  const auto level = walk.EntriesOf("");
  if (absl::IsNotFound(level.status()))
    return absl::NotFoundError("there is no such folder");
  if (!level.ok()) return level.status();
  std::vector<std::string> folders;
  for (const FileStatus& entry : *level) {
    if (entry.kind == FileStatus::Kind::kFile)
      each({entry.name, entry.version});
    if (entry.kind == FileStatus::Kind::kFolder) folders.push_back(entry.name);
  }
  return http::ListEach(std::move(folders), [&](const std::string& folder) {
    return walk.Walk(folder, each);
  });
}

absl::StatusOr<ObjectVersion> HdfsLister::Stat(const Root& root,
                                               std::string_view object,
                                               const std::stop_token& stop) {
  FOREBAY_ASSIGN_OR_RETURN(const HdfsRoot* const hdfs, HdfsOf(root));
  const auto url = hdfs->StatusUrl(object);
  if (!url.ok()) return base::Annotate(url.status(), object);
  FileStatus status;
  http::Call call;
  call.request.url = *url;
  call.request.refuse_link_local = hdfs->is_chosen_by_client();
  call.fault = &FaultOf;
  call.judge = [&status](const http::HttpResponse& answer) -> absl::Status {
    FOREBAY_ASSIGN_OR_RETURN(status, ParseFileStatus(answer.body));
    return absl::OkStatus();
  };
  const auto answer = http::Await(client_, std::move(call), stop);
  if (!answer.ok()) return base::Annotate(answer.status(), object);
  if (status.kind != FileStatus::Kind::kFile)
    return base::Annotate(absl::NotFoundError("is a folder, and no file"),
                          object);
  const absl::Status summed =
      Checksums(client_, hdfs, stop).AddTo(object, &status);
  if (!summed.ok()) return base::Annotate(summed, object);
  return status.version;
}

}  // namespace forebay::storage::webhdfs
