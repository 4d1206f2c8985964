#include "server/storage/http/http_protocol.h"

#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/storage/http/awaited_call.h"
#include "server/storage/http/content_range.h"
#include "server/storage/http/entity_tags.h"

namespace forebay::storage::http {
namespace {

// Returns the stamp of the answer's version; 0 if the answer has neither an
// entity tag nor Last-Modified.
std::int64_t StampOf(const HttpResponse& answer) {
  const std::string* tag = answer.Header("etag");
  if (tag == nullptr) tag = answer.Header("last-modified");
  return tag == nullptr ? 0 : StampOfTag(*tag);
}

}  // namespace

absl::StatusOr<HttpRequest> HttpProtocol::Ask(const ReadRequest& read,
                                              const HttpRange& range) const {
  const auto* const root = dynamic_cast<const HttpRoot*>(read.root.get());
  if (root == nullptr)
    return absl::InvalidArgumentError("lies below no http URL");
  HttpRequest request;
  FOREBAY_ASSIGN_OR_RETURN(request.url, root->UrlOf(read.object));
  request.headers = {RangeHeader(range)};
  request.refuse_link_local = true;
  return request;
}

absl::Status HttpProtocol::Judge(const ReadRequest& read,
                                 const HttpRange& range,
                                 const HttpResponse& answer) const {
  absl::Status in_range = CheckRange(answer, range, read.version.size);
  // A compressed answer has an entity tag of its own, so the compression is
  // checked first.
  if (absl::IsUnimplemented(in_range)) return in_range;
  if (StampOf(answer) != read.version.stamp)
    return absl::FailedPreconditionError(
        "was replaced or changed since the dataset was indexed");
  return in_range;
}

std::optional<std::uint32_t> HttpProtocol::Crc32cOf(const HttpResponse&) const {
  return std::nullopt;
}

absl::StatusOr<ObjectVersion> StatObject(Client* client, const HttpRoot& root,
                                         std::string_view object,
                                         const std::stop_token& stop) {
  const std::string name(object);
  const auto url = root.UrlOf(object);
  if (!url.ok()) return base::Annotate(url.status(), name);
  Call call;
  call.request.method = "HEAD";
  call.request.url = *url;
  call.request.refuse_link_local = true;
  const absl::StatusOr<HttpResponse> answer =
      Await(client, std::move(call), stop);
  if (!answer.ok()) return base::Annotate(answer.status(), name);
  const std::string* const length = answer->Header("content-length");
  ObjectVersion version;
  if (length == nullptr || !absl::SimpleAtoi(*length, &version.size))
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": the server does not tell its size"));
  version.stamp = StampOf(*answer);
  return version;
}

}  // namespace forebay::storage::http
