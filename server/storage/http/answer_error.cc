#include "server/storage/http/answer_error.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace forebay::storage::http {
namespace {

// The most bytes of a server's text that an error quotes.
constexpr std::size_t kMaxQuoted = 200;

// Returns " (the server's text)" in one printable line, or "" if there is no
// text.
std::string Quoted(std::string_view text) {
  std::string line;
  for (const char c : text.substr(0, kMaxQuoted)) {
    if (absl::ascii_isprint(static_cast<unsigned char>(c)) && c != ' ')
      line += c;
    else if (!line.empty() && line.back() != ' ')
      line += ' ';
  }
  if (!line.empty() && line.back() == ' ') line.pop_back();
  if (text.size() > kMaxQuoted) line += " ...";
  return line.empty() ? "" : absl::StrCat(" (", line, ")");
}

// Returns the code of an answer that did not come completely.
absl::StatusCode CodeOf(HttpFailure failure) {
  switch (failure) {
    case HttpFailure::kNone:
      return absl::StatusCode::kOk;
    case HttpFailure::kInvalid:
      return absl::StatusCode::kInvalidArgument;
    case HttpFailure::kUntrusted:
      return absl::StatusCode::kPermissionDenied;
    case HttpFailure::kTooLong:
      return absl::StatusCode::kDataLoss;
    case HttpFailure::kCancelled:
      return absl::StatusCode::kCancelled;
    default:
      return absl::StatusCode::kUnavailable;
  }
}

}  // namespace

absl::Status ErrorOf(const HttpResponse& answer) {
  if (answer.failure != HttpFailure::kNone)
    return absl::Status(CodeOf(answer.failure), answer.reason);
  if (answer.IsSuccess()) return absl::OkStatus();
  const std::string said =
      absl::StrCat("the server answers ", answer.status, Quoted(answer.body));
  switch (answer.status) {
    case 404:
    case 410:
      return absl::NotFoundError("there is no such object");
    case 401:
    case 403:
    case 407:
      return absl::PermissionDeniedError(
          absl::StrCat("reading it is denied: ", said));
    case 412:
    case 416:
      return absl::FailedPreconditionError(
          "was replaced or changed since the dataset was indexed");
    case 408:
    case 429:
      return absl::UnavailableError(said);
    default:
      break;
  }
  if (answer.status >= 500) return absl::UnavailableError(said);
  if (answer.status >= 300 && answer.status < 400) {
    const std::string* const target = answer.Header("location");
    // The target is shown without its query, which may hold the secrets of the
    // request.
    const std::string shown =
        target == nullptr ? "" : target->substr(0, target->find_first_of("?#"));
    return absl::InvalidArgumentError(absl::StrCat(
        "has moved: give the address", Quoted(shown), " that it moved to"));
  }
  return absl::InvalidArgumentError(said);
}

}  // namespace forebay::storage::http
