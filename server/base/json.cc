#include "server/base/json.h"

#include "absl/strings/str_cat.h"
#include "server/base/status.h"

namespace forebay::base {

absl::Status ReadJsonObject(std::string_view text, JsonEvents* events) {
  const bool whole =
      nlohmann::json::sax_parse(text.begin(), text.end(), events);
  if (events->depth() > kMaxJsonDepth) {
    return absl::InvalidArgumentError(
        absl::StrCat("is nested more than ", kMaxJsonDepth, " deep"));
  }
  if (!whole || !events->is_object()) {
    return absl::InvalidArgumentError("is not a JSON object");
  }
  return absl::OkStatus();
}

// The text is parsed twice: the first pass stores nothing, so that text which
// nests too deep is refused before any value is built from it.
absl::StatusOr<nlohmann::json> ParseJsonObject(std::string_view text) {
  JsonEvents events;
  FOREBAY_RETURN_IF_ERROR(ReadJsonObject(text, &events));
  return nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
}

}  // namespace forebay::base
