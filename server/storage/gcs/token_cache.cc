#include "server/storage/gcs/token_cache.h"

#include <utility>

namespace forebay::storage::gcs {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
// No request uses a token that expires sooner than this.
constexpr std::int64_t kMargin = 20 * kSecond;
// The next token is fetched this long before the current one expires, and not
// more often than kBetweenFetches. The metadata server gives the same token
// until shortly before it expires.
constexpr std::int64_t kRefresh = 240 * kSecond;
constexpr std::int64_t kBetweenFetches = 20 * kSecond;

}  // namespace

void TokenCache::Authorize(const http::HttpRequest&,
                           std::function<void(absl::StatusOr<Headers>)> ready) {
  const std::int64_t now = wall_->NowNanos();
  const bool good = !header_.empty() && now < expires_nanos_ - kMargin;
  if (!good) {
    waiting_.push_back(std::move(ready));
    Fetch();
    return;
  }
  if (now >= expires_nanos_ - kRefresh &&
      now >= fetched_nanos_ + kBetweenFetches)
    Fetch();
  ready(Headers{header_});
}

bool TokenCache::Refused(const Headers& headers,
                         const http::HttpResponse& answer) {
  if (answer.status != 401) return false;
  if (headers == Headers{header_}) header_.clear();
  return true;
}

void TokenCache::Fetch() {
  if (std::exchange(fetching_, true)) return;
  fetched_nanos_ = wall_->NowNanos();
  source_->Fetch(
      [this](absl::StatusOr<Token> token) { OnToken(std::move(token)); });
}

void TokenCache::OnToken(absl::StatusOr<Token> token) {
  fetching_ = false;
  if (token.ok()) {
    header_ = "Authorization: Bearer " + token->value;
    expires_nanos_ = token->expires_nanos;
  }
  for (const auto& ready : std::exchange(waiting_, {})) {
    if (token.ok())
      ready(Headers{header_});
    else
      ready(token.status());
  }
}

}  // namespace forebay::storage::gcs
