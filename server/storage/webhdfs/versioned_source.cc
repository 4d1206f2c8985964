#include "server/storage/webhdfs/versioned_source.h"

#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/base/status.h"
#include "server/storage/webhdfs/file_checksum.h"
#include "server/storage/webhdfs/hdfs_root.h"

namespace forebay::storage::webhdfs {
namespace {

absl::Status Changed() {
  return absl::FailedPreconditionError(
      "was replaced or changed since the dataset was indexed");
}

// Whether two versions are equal except for their revisions, which HDFS does
// not have.
bool AreSame(const ObjectVersion& one, const ObjectVersion& other) {
  return one.size == other.size && one.stamp == other.stamp;
}

// Returns the error of a read that got too few bytes although the file did not
// change.
absl::Status Short(const std::string& object) {
  return base::Annotate(
      absl::UnavailableError("the data nodes send less of it than it has"),
      object);
}

// Returns the error of a request for the version, with the object's name.
absl::Status Named(const absl::Status& error, const std::string& object) {
  return base::Annotate(
      absl::IsNotFound(error)
          ? absl::NotFoundError("was deleted since the dataset was indexed")
          : error,
      object);
}

}  // namespace

VersionedSource::~VersionedSource() {
  std::promise<void> over;
  client_->engine().Post([this, &over] {
    while (!checked_.empty())
      Finish(checked_.begin()->first,
             Named(absl::CancelledError("the daemon is shutting down"),
                   checked_.begin()->second.request.object));
    calls_.reset();
    over.set_value();
  });
  over.get_future().wait();
}

void VersionedSource::Read(absl::Span<ReadRequest> requests) {
  std::vector<ReadRequest> below;
  below.reserve(requests.size());
  for (ReadRequest& request : requests) {
    auto held = std::make_shared<ReadRequest>(std::move(request));
    below.push_back(*held);
    below.back().done = [this, held](absl::StatusOr<ReadResult> result) {
      Check(std::move(*held), std::move(result));
    };
  }
  below_->Read(absl::MakeSpan(below));
}

void VersionedSource::Share(std::uint64_t ticket, const ReadPurpose& purpose) {
  below_->Share(ticket, purpose);
}

// If a file's bytes make no sense or are too few, the file may have been
// replaced: its version decides.
void VersionedSource::Check(ReadRequest request,
                            absl::StatusOr<ReadResult> result) {
  const auto* const root = dynamic_cast<const HdfsRoot*>(request.root.get());
  const bool is_doubtful = absl::IsDataLoss(result.status()) ||
                           absl::IsFailedPrecondition(result.status());
  if (root == nullptr || (!result.ok() && !is_doubtful))
    return request.done(std::move(result));
  const auto url = root->StatusUrl(request.object);
  // An empty range is the same in all versions.
  if (!url.ok() || request.length == 0) return request.done(std::move(result));
  const std::uint64_t number = ++last_number_;
  Checked& checked = checked_[number];
  ++checking_;
  checked.error = result.status();
  if (result.ok()) checked.result = *std::move(result);
  checked.request = std::move(request);
  http::Call call;
  call.request.url = *url;
  call.request.refuse_link_local = root->is_chosen_by_client();
  call.fault = &FaultOf;
  call.judge = [](const http::HttpResponse& answer) {
    return ParseFileStatus(answer.body).status();
  };
  Ask(number, std::move(call), &VersionedSource::OnStatus);
}

void VersionedSource::Ask(
    std::uint64_t number, http::Call call,
    void (VersionedSource::*then)(std::uint64_t, const http::HttpResponse&)) {
  Checked& checked = checked_.at(number);
  call.job = checked.request.purpose.job;
  call.done = [this, number,
               then](const absl::StatusOr<http::HttpResponse>& answer) {
    if (answer.ok()) return (this->*then)(number, *answer);
    Finish(number, Named(answer.status(), checked_.at(number).request.object));
  };
  checked.call = calls_->Start(std::move(call));
}

void VersionedSource::OnStatus(std::uint64_t number,
                               const http::HttpResponse& answer) {
  Checked& checked = checked_.at(number);
  const ReadRequest& request = checked.request;
  checked.status = *ParseFileStatus(answer.body);
  if (checked.status.kind != FileStatus::Kind::kFile ||
      AreSame(checked.status.version, request.version) ||
      checked.status.has_number ||
      checked.status.version.size != request.version.size)
    return Decide(number, checked.status.version);
  const auto& root = dynamic_cast<const HdfsRoot&>(*request.root);
  auto call = ChecksumCall(root, request.object);
  if (!call.ok()) return Finish(number, Named(call.status(), request.object));
  Ask(number, *std::move(call), &VersionedSource::OnChecksum);
}

void VersionedSource::OnChecksum(std::uint64_t number,
                                 const http::HttpResponse& answer) {
  Decide(number, VersionByChecksum(checked_.at(number).status,
                                   *ParseChecksum(answer.body)));
}

void VersionedSource::Decide(std::uint64_t number,
                             const ObjectVersion& version) {
  const Checked& checked = checked_.at(number);
  const ReadRequest& request = checked.request;
  if (checked.status.kind != FileStatus::Kind::kFile ||
      !AreSame(version, request.version))
    return Finish(number, Named(Changed(), request.object));
  Finish(number, absl::IsFailedPrecondition(checked.error)
                     ? Short(request.object)
                     : checked.error);
}

void VersionedSource::Finish(std::uint64_t number, absl::Status verdict) {
  auto held = checked_.extract(number);
  Checked& checked = held.mapped();
  calls_->Cancel(checked.call);
  if (verdict.ok())
    checked.request.done(std::move(checked.result));
  else
    checked.request.done(std::move(verdict));
  --checking_;
}

}  // namespace forebay::storage::webhdfs
