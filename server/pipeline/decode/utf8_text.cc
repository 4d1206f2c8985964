#include "server/pipeline/decode/utf8_text.h"

#include "absl/strings/str_cat.h"
#include "server/base/utf8.h"

namespace forebay::pipeline::decode {

absl::StatusOr<std::string_view> DecodeText(
    absl::Span<const std::uint8_t> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()),
                              bytes.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = base::Utf8Length(text.substr(at));
    if (length == 0) {
      return absl::DataLossError(
          absl::StrCat("is not UTF-8, which a text must be, at byte ", at));
    }
    at += length;
  }
  return text;
}

}  // namespace forebay::pipeline::decode
