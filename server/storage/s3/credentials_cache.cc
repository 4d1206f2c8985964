#include "server/storage/s3/credentials_cache.h"

#include <curl/curl.h>
#include <pthread.h>

#include <algorithm>
#include <cstdlib>
#include <future>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/storage/s3/fault.h"

namespace forebay::storage::s3 {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
// The shortest time between two searches for new credentials.
constexpr std::int64_t kBetweenRenewals = 20 * kSecond;
// A difference between the clocks is corrected if it is at least this large.
// Servers accept signatures up to 15 minutes old or early, by their own clock.
constexpr std::int64_t kMaxSkewSeconds = 300;

// Splits a URL that has a host. A port that is the scheme's own is left out, as
// clients leave it out of the header Host.
void SplitUrl(std::string_view url, std::string* host, RequestToSign* request) {
  const std::size_t scheme = url.find("://");
  const std::string_view usual =
      url.substr(0, scheme) == "https" ? ":443" : ":80";
  url.remove_prefix(scheme + 3);
  const std::size_t mark = std::min(url.find('?'), url.size());
  request->query = url.substr(std::min(mark + 1, url.size()));
  url = url.substr(0, mark);
  const std::size_t slash = std::min(url.find('/'), url.size());
  *host = url.substr(0, slash);
  if (host->ends_with(usual)) host->resize(host->size() - usual.size());
  request->path = slash < url.size() ? url.substr(slash) : "/";
}

// Adds those headers of a request that have to be signed: their names begin
// with x-amz-.
void AddOwnHeaders(const http::HttpRequest& request, RequestToSign* to_sign) {
  for (const std::string& line : request.headers) {
    const std::size_t colon = line.find(':');
    std::string name = absl::AsciiStrToLower(line.substr(0, colon));
    if (name.starts_with("x-amz-"))
      to_sign->headers.emplace_back(std::move(name), line.substr(colon + 1));
  }
}

// Whether the server may accept new credentials after it refused these. An
// answer to HEAD has no error code.
bool MayHaveExpired(const http::HttpResponse& answer, const std::string& code) {
  if (code.empty()) return answer.status == 400 || answer.status == 403;
  return code == "ExpiredToken" || code == "InvalidToken" ||
         code == "InvalidTokenId" || code == "TokenRefreshRequired" ||
         code == "InvalidAccessKeyId";
}

}  // namespace

CredentialsCache::CredentialsCache(http::Engine* engine, Find find,
                                   std::string region, const base::Clock* wall)
    : engine_(engine),
      find_(std::move(find)),
      region_(std::move(region)),
      wall_(wall) {}

CredentialsCache::~CredentialsCache() {
  const auto pass = [this] {
    std::promise<void> passed;
    engine_->Post([this, &passed] {
      here_.reset();
      passed.set_value();
    });
    passed.get_future().wait();
  };
  pass();
  if (renewal_.joinable()) renewal_.join();
  // The tasks that the thread has posted refer to this object.
  pass();
}

absl::Status CredentialsCache::Renew() {
  std::int64_t search = 0;
  {
    base::MutexLock lock(&mutex_);
    search = ++searches_;
  }
  auto found = find_();
  base::MutexLock lock(&mutex_);
  // A search that began later has found newer credentials.
  if (search < used_search_) return absl::OkStatus();
  FOREBAY_RETURN_IF_ERROR(found.status());
  used_search_ = search;
  name_ = found->name;
  if (!found->keys.has_value())
    signer_.reset();
  else if (signer_ == nullptr || signer_->keys() != *found->keys)
    signer_ = std::make_unique<Signer>(*std::move(found->keys), region_);
  return absl::OkStatus();
}

std::string CredentialsCache::name() const {
  base::MutexLock lock(&mutex_);
  return name_;
}

void CredentialsCache::Authorize(
    const http::HttpRequest& request,
    std::function<void(absl::StatusOr<Headers>)> ready) {
  if (renewing_ && !is_late_)
    waiting_.push_back({request, std::move(ready)});
  else
    ready(Sign(request));
}

CredentialsCache::Headers CredentialsCache::Sign(
    const http::HttpRequest& request) {
  base::MutexLock lock(&mutex_);
  if (signer_ == nullptr) return {};
  RequestToSign to_sign;
  std::string host;
  SplitUrl(request.url, &host, &to_sign);
  const std::string time =
      SigningTime(wall_->NowNanos() / kSecond + ahead_seconds_);
  to_sign.method = request.method;
  to_sign.headers = {{"host", host},
                     {"x-amz-content-sha256", kEmptySha256},
                     {"x-amz-date", time}};
  const std::string& token = signer_->keys().token;
  if (!token.empty())
    to_sign.headers.emplace_back("x-amz-security-token", token);
  Headers headers;
  for (const auto& [name, value] : to_sign.headers)
    headers.push_back(absl::StrCat(name, ": ", value));
  AddOwnHeaders(request, &to_sign);
  to_sign.body_sha256 = kEmptySha256;
  headers.push_back(
      absl::StrCat("Authorization: ", signer_->Authorization(to_sign, time)));
  return headers;
}

bool CredentialsCache::Refused(const Headers& headers,
                               const http::HttpResponse& answer) {
  const std::string code = FaultIn(answer).code;
  const bool is_late =
      code == "RequestTimeTooSkewed" || (code.empty() && answer.status == 403);
  if (is_late && CorrectClock(answer)) return true;
  if (!MayHaveExpired(answer, code)) return false;
  if (renewing_ || AreNewer(headers)) return true;
  const std::int64_t since = wall_->NowNanos() - renewed_nanos_;
  // A time below 0 means that the clock was set back.
  if (since >= 0 && since < kBetweenRenewals) return false;
  StartRenewal();
  return true;
}

bool CredentialsCache::CorrectClock(const http::HttpResponse& answer) {
  const std::string* const date = answer.Header("date");
  const std::int64_t server =
      date == nullptr ? -1 : curl_getdate(date->c_str(), nullptr);
  if (server < 0) return false;
  const std::int64_t ahead = server - wall_->NowNanos() / kSecond;
  if (std::abs(ahead - ahead_seconds_) < kMaxSkewSeconds) return false;
  ahead_seconds_ = ahead;
  return true;
}

bool CredentialsCache::AreNewer(const Headers& headers) const {
  base::MutexLock lock(&mutex_);
  if (signer_ == nullptr) return true;
  const Keys& keys = signer_->keys();
  const auto has = [&headers](const std::string& part) {
    return std::any_of(headers.begin(), headers.end(),
                       [&part](const std::string& header) {
                         return header.find(part) != header.npos;
                       });
  };
  return !has("Credential=" + keys.id + "/") ||
         (!keys.token.empty() && !has("x-amz-security-token: " + keys.token));
}

void CredentialsCache::StartRenewal() {
  renewing_ = true;
  is_late_ = false;
  renewed_nanos_ = wall_->NowNanos();
  const std::int64_t number = ++renewals_;
  engine_->At(engine_->clock().NowNanos() + kMaxWaitNanos,
              [this, number, here = std::weak_ptr<const bool>(here_)] {
                if (here.expired() || !renewing_ || number != renewals_) return;
                is_late_ = true;
                AnswerWaiting();  // the server says what it does not accept
              });
  if (renewal_.joinable()) renewal_.join();  // it has ended
  const auto renew = [this] {
    // If no credentials are found, the server refuses the old ones once more,
    // and says why.
    Renew().IgnoreError();
    engine_->Post([this] { OnRenewed(); });
  };
  try {
    renewal_ = std::thread(renew);
    pthread_setname_np(renewal_.native_handle(), "forebay-keys");
  } catch (const std::system_error&) {
    engine_->Post([this] { OnRenewed(); });  // there are no more threads
  }
}

void CredentialsCache::OnRenewed() {
  renewing_ = false;
  AnswerWaiting();
}

void CredentialsCache::AnswerWaiting() {
  for (Waiting& waiting : std::exchange(waiting_, {}))
    waiting.ready(Sign(waiting.request));
}

}  // namespace forebay::storage::s3
