#include "server/storage/gcs/token_source.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "server/base/json.h"

namespace forebay::storage::gcs {
namespace {

// The longest lifetime that is believed, in seconds.
constexpr std::int64_t kMaxSeconds = 24 * 3600;

}  // namespace

absl::StatusOr<Token> ParseTokenAnswer(std::string_view json,
                                       std::int64_t now_nanos) {
  const auto answer = base::ParseJsonObject(json);
  if (!answer.ok()) {
    return absl::DataLossError(
        absl::StrCat("the answer ", answer.status().message()));
  }
  const auto token = answer->find("access_token");
  const auto seconds = answer->find("expires_in");
  if (token == answer->end() || !token->is_string() ||
      seconds == answer->end() || !seconds->is_number_integer())
    return absl::DataLossError("the answer holds no token");
  Token parsed;
  parsed.value = token->get<std::string>();
  // The token becomes a header line of every request, so it may have no control
  // characters.
  if (parsed.value.empty() ||
      !std::all_of(parsed.value.begin(), parsed.value.end(),
                   [](char c) { return c > ' ' && c < 127; }))
    return absl::DataLossError("the answer's token has strange characters");
  parsed.expires_nanos =
      now_nanos +
      std::clamp<std::int64_t>(seconds->get<std::int64_t>(), 0, kMaxSeconds) *
          1'000'000'000;
  return parsed;
}

}  // namespace forebay::storage::gcs
