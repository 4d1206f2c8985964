#include "server/session/object_reads.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "proto/job.pb.h"
#include "server/base/status.h"
#include "server/session/spec_inputs.h"

namespace forebay::session {
namespace {

// The longest name of an object, and the most folders that stay open.
constexpr std::size_t kMaxName = 4096;
constexpr std::size_t kMaxRecent = 16;

// Returns the version that a client expects. The read checks it.
storage::ObjectVersion VersionFrom(const proto::ObjectVersion& said) {
  return {
      .size = said.size(),
      .stamp = said.stamp(),
      .revision = {.inode = said.inode(), .ctime_nanos = said.ctime_nanos()}};
}

// Fills the message with the version that was read.
void Describe(const storage::ObjectVersion& version,
              proto::ObjectVersion& described) {
  described.set_size(version.size);
  described.set_stamp(version.stamp);
  described.set_inode(version.revision.inode);
  described.set_ctime_nanos(version.revision.ctime_nanos);
}

}  // namespace

absl::Status ObjectReads::Read(const proto::ReadObject& request,
                               std::vector<base::Fd> fds,
                               const std::stop_token& stop,
                               proto::ObjectRead& read,
                               std::vector<base::Fd>& read_fds) {
  if (request.name().empty() || request.name().size() > kMaxName) {
    return absl::InvalidArgumentError(absl::StrCat(
        request.root().substr(0, kMaxName),
        ": the name of an object below it has 1 to ", kMaxName, " bytes"));
  }
  fetch::ObjectRange range;
  FOREBAY_ASSIGN_OR_RETURN(range.root,
                           RootOf(request.root(), std::move(fds), stop));
  range.object = request.name();
  if (request.has_version()) range.version = VersionFrom(request.version());
  range.offset = request.offset();
  range.length = request.length();
  range.block_bytes = request.block_bytes();
  FOREBAY_ASSIGN_OR_RETURN(fetch::ObjectRead done, reader_->Read(range, stop));
  Describe(done.version, *read.mutable_version());
  read.set_bytes(done.bytes);
  if (done.window) {
    read.set_window_bytes(done.window_bytes);
    read_fds.push_back(std::move(done.window));
  }
  return absl::OkStatus();
}

// A folder is recognised by its device and inode, which fstat returns for the
// descriptor that came. The URI must be equal too, because it names the root in
// messages.
absl::StatusOr<std::shared_ptr<const storage::Root>> ObjectReads::RootOf(
    const std::string& uri, std::vector<base::Fd> fds,
    const std::stop_token& stop) {
  RecentRoot found;
  struct stat stat;
  if (fds.size() == 1 && fstat(fds[0].get(), &stat) == 0) {
    found.device = stat.st_dev;
    found.inode = stat.st_ino;
    const auto known = std::find_if(
        recent_.begin(), recent_.end(), [&](const RecentRoot& recent) {
          return recent.device == found.device && recent.inode == found.inode &&
                 recent.root->uri() == uri;
        });
    if (known != recent_.end()) return known->root;
  }
  proto::DatasetSpec spec;
  spec.set_uri(uri);
  FOREBAY_ASSIGN_OR_RETURN(
      auto inputs, TakeDatasetInputs(spec, absl::MakeSpan(fds), remote_, stop));
  if (found.inode == 0) return inputs.root;
  found.root = inputs.root;
  if (recent_.size() == kMaxRecent) recent_.pop_back();
  recent_.push_front(std::move(found));
  return inputs.root;
}

}  // namespace forebay::session
