#include "server/storage/webhdfs/versioned_source.h"

#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/base/status.h"
#include "server/storage/webhdfs/file_status.h"
#include "server/storage/webhdfs/hdfs_root.h"

namespace forebay::storage::webhdfs {
namespace {

absl::Status Changed() {
  return absl::FailedPreconditionError(
      "was replaced or changed since the dataset was indexed");
}

// Returns whether an answer to GETFILESTATUS has that version.
absl::Status Compare(const http::Answer& answer, const ObjectVersion& version) {
  FOREBAY_ASSIGN_OR_RETURN(const FileStatus status,
                           ParseFileStatus(answer.body));
  if (status.kind != FileStatus::Kind::kFile ||
      status.version.size != version.size ||
      status.version.stamp != version.stamp)
    return Changed();
  return absl::OkStatus();
}

// Returns the error of a look at the version, with the object's name.
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
    over.set_value();
  });
  over.get_future().wait();
}

void VersionedSource::Read(absl::Span<ReadRequest> requests) {
  std::vector<ReadRequest> below;
  below.reserve(requests.size());
  for (ReadRequest& request : requests) {
    auto kept = std::make_shared<ReadRequest>(std::move(request));
    below.push_back(*kept);
    below.back().done = [this, kept](absl::StatusOr<ReadResult> result) {
      Check(std::move(*kept), std::move(result));
    };
  }
  below_->Read(absl::MakeSpan(below));
}

void VersionedSource::Share(std::uint64_t ticket, const ReadPurpose& purpose) {
  below_->Share(ticket, purpose);
}

// An error of a file that was replaced may be another one: its version decides.
void VersionedSource::Check(ReadRequest request,
                            absl::StatusOr<ReadResult> result) {
  const auto* const root = dynamic_cast<const HdfsRoot*>(request.root.get());
  if (root == nullptr || (!result.ok() && !absl::IsDataLoss(result.status())))
    return request.done(std::move(result));
  const auto url = root->StatusUrl(request.object);
  // No version has other bytes there.
  if (!url.ok() || request.length == 0) return request.done(std::move(result));
  const std::uint64_t number = ++last_number_;
  http::Call call;
  call.request.url = *url;
  call.request.refuse_link_local = root->is_chosen_by_client();
  call.job = request.purpose.job;
  call.fault = &FaultOf;
  call.judge = [version = request.version](const http::Answer& answer) {
    return Compare(answer, version);
  };
  call.done = [this, number, object = request.object, error = result.status()](
                  const absl::StatusOr<http::Answer>& answer) {
    Finish(number, answer.ok() ? error : Named(answer.status(), object));
  };
  Checked& checked = checked_[number];
  checked.request = std::move(request);
  if (result.ok()) checked.result = *std::move(result);
  checked.call = client_->Start(std::move(call));
}

void VersionedSource::Finish(std::uint64_t number,
                             const absl::Status& verdict) {
  auto held = checked_.extract(number);
  Checked& checked = held.mapped();
  client_->Cancel(checked.call);
  if (verdict.ok()) return checked.request.done(std::move(checked.result));
  checked.request.done(verdict);
}

}  // namespace forebay::storage::webhdfs
