#include "server/storage/webhdfs/webhdfs_protocol.h"

#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/storage/webhdfs/file_status.h"
#include "server/storage/webhdfs/hdfs_root.h"

namespace forebay::storage::webhdfs {

absl::StatusOr<http::Request> WebHdfsProtocol::Ask(
    const ReadRequest& read, const http::ByteRange& range) const {
  const auto* const root = dynamic_cast<const HdfsRoot*>(read.root.get());
  if (root == nullptr) return absl::InvalidArgumentError("lies in no HDFS");
  http::Request request;
  FOREBAY_ASSIGN_OR_RETURN(
      request.url, root->OpenUrl(read.object, range.offset, range.length));
  // Name nodes lead to hosts of their own choice.
  request.refuse_link_local = true;
  return request;
}

absl::Status WebHdfsProtocol::Judge(const ReadRequest&,
                                    const http::ByteRange& range,
                                    const http::Answer& answer) const {
  if (answer.status != 200)
    return absl::UnavailableError(
        absl::StrCat("the server answers ", answer.status, " to OPEN"));
  if (answer.failure == http::Failure::kTooLong)
    return absl::DataLossError(absl::StrCat("the server sends more than the ",
                                            range.length,
                                            " bytes of its answer"));
  if (answer.filled == range.length) return absl::OkStatus();
  // Nothing tells the end of such an answer from a connection that was lost.
  if (answer.Header("content-length") == nullptr &&
      answer.Header("transfer-encoding") == nullptr)
    return absl::DataLossError(absl::StrCat("the server sends less than the ",
                                            range.length,
                                            " bytes of its answer"));
  // All of the answer came, so the file is shorter now.
  return absl::FailedPreconditionError(
      "was replaced or changed since the dataset was indexed");
}

absl::StatusOr<std::string> WebHdfsProtocol::Follow(
    const http::Answer& answer) const {
  return DataNodeOf(answer);
}

absl::Status WebHdfsProtocol::Fault(const http::Answer& answer) const {
  return FaultOf(answer);
}

absl::Status WebHdfsProtocol::Explain(const absl::Status& error) const {
  if (!absl::IsNotFound(error)) return error;
  return absl::NotFoundError("was deleted since the dataset was indexed");
}

}  // namespace forebay::storage::webhdfs
