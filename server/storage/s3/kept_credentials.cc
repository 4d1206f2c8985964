#include "server/storage/s3/kept_credentials.h"

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
// New credentials are not looked for more often.
constexpr std::int64_t kBetweenRenewals = 20 * kSecond;
// Servers accept what was signed 15 minutes before or after by their clock.
constexpr std::int64_t kMaxSkewSeconds = 300;

// Splits a URL that has a host, and leaves out a port that is the scheme's own,
// as clients do.
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

// Adds the headers of a request that have to be signed.
void AddOwnHeaders(const http::Request& request, RequestToSign* to_sign) {
  for (const std::string& line : request.headers) {
    const std::size_t colon = line.find(':');
    std::string name = absl::AsciiStrToLower(line.substr(0, colon));
    if (name.starts_with("x-amz-"))
      to_sign->headers.emplace_back(std::move(name), line.substr(colon + 1));
  }
}

// Whether other credentials may be accepted where these are not. An answer to
// HEAD has no code.
bool MayHaveExpired(const http::Answer& answer, const std::string& code) {
  if (code.empty()) return answer.status == 400 || answer.status == 403;
  return code == "ExpiredToken" || code == "InvalidToken" ||
         code == "InvalidTokenId" || code == "TokenRefreshRequired" ||
         code == "InvalidAccessKeyId";
}

}  // namespace

KeptCredentials::KeptCredentials(http::Engine* engine, Find find,
                                 std::string region, const base::Clock* wall)
    : engine_(engine),
      find_(std::move(find)),
      region_(std::move(region)),
      wall_(wall) {}

KeptCredentials::~KeptCredentials() {
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
  pass();  // what it has posted refers to this object
}

absl::Status KeptCredentials::Renew() {
  auto found = find_();
  FOREBAY_RETURN_IF_ERROR(found.status());
  base::MutexLock lock(&mutex_);
  name_ = found->name;
  if (!found->keys.has_value())
    signer_.reset();
  else if (signer_ == nullptr || signer_->keys() != *found->keys)
    signer_ = std::make_unique<Signer>(*std::move(found->keys), region_);
  return absl::OkStatus();
}

std::string KeptCredentials::name() const {
  base::MutexLock lock(&mutex_);
  return name_;
}

void KeptCredentials::Authorize(
    const http::Request& request,
    std::function<void(absl::StatusOr<Headers>)> ready) {
  if (renewing_ && !is_late_)
    waiting_.push_back({request, std::move(ready)});
  else
    ready(Sign(request));
}

KeptCredentials::Headers KeptCredentials::Sign(const http::Request& request) {
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

bool KeptCredentials::Refused(const Headers& headers,
                              const http::Answer& answer) {
  const std::string code = FaultIn(answer).code;
  const bool is_late =
      code == "RequestTimeTooSkewed" || (code.empty() && answer.status == 403);
  if (is_late && CorrectClock(answer)) return true;
  if (!MayHaveExpired(answer, code)) return false;
  if (renewing_ || AreNewer(headers)) return true;
  const std::int64_t since = wall_->NowNanos() - renewed_nanos_;
  // Less than none: the clock was set back.
  if (since >= 0 && since < kBetweenRenewals) return false;
  StartRenewal();
  return true;
}

bool KeptCredentials::CorrectClock(const http::Answer& answer) {
  const std::string* const date = answer.Header("date");
  const std::int64_t server =
      date == nullptr ? -1 : curl_getdate(date->c_str(), nullptr);
  if (server < 0) return false;
  const std::int64_t ahead = server - wall_->NowNanos() / kSecond;
  if (std::abs(ahead - ahead_seconds_) < kMaxSkewSeconds) return false;
  ahead_seconds_ = ahead;
  return true;
}

// Whether the keys that are used now are others than those of the headers.
bool KeptCredentials::AreNewer(const Headers& headers) const {
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

void KeptCredentials::StartRenewal() {
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
    // If none are found, the old ones are refused once more, and say why.
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

void KeptCredentials::OnRenewed() {
  renewing_ = false;
  AnswerWaiting();
}

void KeptCredentials::AnswerWaiting() {
  for (Waiting& waiting : std::exchange(waiting_, {}))
    waiting.ready(Sign(waiting.request));
}

}  // namespace forebay::storage::s3
