#include "server/storage/http/content_range.h"

#include <charconv>

#include "absl/strings/str_cat.h"

namespace forebay::storage::http {
namespace {

// Removes a decimal number and the character `after` from the front of `text`.
// If `after` is '\0', the number must end the text. Returns the number, or
// nothing if there is no such number.
std::optional<std::uint64_t> TakeNumber(std::string_view* text, char after) {
  std::uint64_t number = 0;
  const char* const end = text->data() + text->size();
  const auto [rest, error] = std::from_chars(text->data(), end, number);
  if (error != std::errc()) return std::nullopt;
  text->remove_prefix(rest - text->data());
  if (after == '\0') {
    if (!text->empty()) return std::nullopt;
    return number;
  }
  if (!text->starts_with(after)) return std::nullopt;
  text->remove_prefix(1);
  return number;
}

absl::Status Changed() {
  return absl::FailedPreconditionError(
      "was replaced or changed since the dataset was indexed");
}

// Returns the error of an answer with the whole object in place of a part, or
// with a Content-Encoding that changes its length.
absl::Status IgnoresRanges(const HttpResponse& answer) {
  const std::string* const encoding = answer.Header("content-encoding");
  return absl::UnimplementedError(
      absl::StrCat("the server does not send ranges of it, but all",
                   encoding == nullptr
                       ? ""
                       : absl::StrCat(", with Content-Encoding: ", *encoding)));
}

// Whether the server has compressed the body for this answer.
bool IsEncoded(const HttpResponse& answer) {
  return answer.Header("content-encoding") != nullptr;
}

// Returns the error of an answer 206 whose range was taken from a body that was
// compressed for this answer.
absl::Status CompressesRanges(const HttpResponse& answer) {
  return absl::UnimplementedError(absl::StrCat(
      "the server does not send ranges of it as it is stored, but of it with "
      "Content-Encoding: ",
      *answer.Header("content-encoding")));
}

// Checks an answer 206, Partial Content (RFC 9110, 15.3.7).
absl::Status CheckPart(const HttpResponse& answer, const HttpRange& range,
                       std::uint64_t object_size) {
  const std::string* const header = answer.Header("content-range");
  const std::optional<ContentRange> got =
      header == nullptr ? std::nullopt : ParseContentRange(*header);
  if (!got.has_value())
    return absl::UnavailableError(
        "the server does not say which range it answers with");
  if (got->object_size.has_value() && *got->object_size != object_size)
    return IsEncoded(answer) ? CompressesRanges(answer) : Changed();
  if (got->first != range.offset || got->last - got->first != range.length - 1)
    return absl::UnavailableError(absl::StrCat(
        "the server answers with bytes ", got->first, " to ", got->last,
        ", asked for ", range.offset, " to ", range.offset + range.length - 1));
  return absl::OkStatus();
}

// Checks an answer 200, which has the whole object.
absl::Status CheckWhole(const HttpResponse& answer, const HttpRange& range,
                        std::uint64_t object_size) {
  if (range.offset != 0 || range.length != object_size)
    return IgnoresRanges(answer);
  const std::string* const header = answer.Header("content-length");
  if (header == nullptr) return absl::OkStatus();
  std::string_view text = *header;
  if (TakeNumber(&text, '\0') == object_size) return absl::OkStatus();
  return IsEncoded(answer) ? IgnoresRanges(answer) : Changed();
}

}  // namespace

std::optional<ContentRange> ParseContentRange(std::string_view value) {
  constexpr std::string_view kUnit = "bytes ";
  if (!value.starts_with(kUnit)) return std::nullopt;
  value.remove_prefix(kUnit.size());
  const std::optional<std::uint64_t> first = TakeNumber(&value, '-');
  if (!first.has_value()) return std::nullopt;
  const std::optional<std::uint64_t> last = TakeNumber(&value, '/');
  if (!last.has_value() || *last < *first) return std::nullopt;
  if (value == "*") return ContentRange{*first, *last, std::nullopt};
  const std::optional<std::uint64_t> size = TakeNumber(&value, '\0');
  if (!size.has_value() || *size <= *last) return std::nullopt;
  return ContentRange{*first, *last, size};
}

std::string RangeHeader(const HttpRange& range) {
  return absl::StrCat("Range: bytes=", range.offset, "-",
                      range.offset + range.length - 1);
}

absl::Status CheckRange(const HttpResponse& answer, const HttpRange& range,
                        std::uint64_t object_size) {
  absl::Status status =
      answer.status == 206   ? CheckPart(answer, range, object_size)
      : answer.status == 200 ? CheckWhole(answer, range, object_size)
                             : absl::UnavailableError(absl::StrCat(
                                   "the server answers ", answer.status,
                                   " to a request for a range"));
  if (!status.ok()) return status;
  const bool is_longer = answer.failure == HttpFailure::kTooLong;
  if (!is_longer && answer.filled == range.length) return absl::OkStatus();
  // A body that is compressed for this answer has a length that the server did
  // not know when it began to send.
  if (answer.status == 200 && IsEncoded(answer) &&
      answer.Header("content-length") == nullptr)
    return IgnoresRanges(answer);
  return absl::DataLossError(
      absl::StrCat("the server sends ", is_longer ? "more" : "less",
                   " than the ", range.length, " bytes of its answer"));
}

}  // namespace forebay::storage::http
