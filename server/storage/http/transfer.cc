#include "server/storage/http/transfer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "server/storage/http/link_local.h"

namespace forebay::storage::http {
namespace {

// The bytes of an error's body that are kept.
constexpr std::size_t kErrorBodyBytes = 4096;
// The most bytes of an error's body that are read. A longer body ends the
// connection.
constexpr std::uint64_t kMaxErrorBytes = 1 << 20;
// A server's Retry-After is cut to this, so that nanoseconds do not overflow.
constexpr std::int64_t kMaxRetryAfterSeconds = 1 << 20;
// The time for finding a host's addresses and trying them. If there are several
// addresses, curl gives the first address half of the time that is left.
constexpr long kConnectMillis = 15'000;
// The bytes that curl reads from a socket at once.
constexpr long kReceiveBytes = 256 << 10;

// Returns the failure that curl's code means.
HttpFailure FailureOf(CURLcode code) {
  switch (code) {
    case CURLE_OK:
      return HttpFailure::kNone;
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_BAD_FUNCTION_ARGUMENT:
    case CURLE_OUT_OF_MEMORY:
      return HttpFailure::kInvalid;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_INTERFACE_FAILED:
      return HttpFailure::kConnect;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
      return HttpFailure::kUntrusted;
    case CURLE_OPERATION_TIMEDOUT:
      return HttpFailure::kTimeout;
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_BAD_CONTENT_ENCODING:
      return HttpFailure::kProtocol;
    default:  // partial bodies, resets, broken TLS records
      return HttpFailure::kLost;
  }
}

}  // namespace

Transfer::Transfer(std::uint64_t id, HttpRequest request, CURL* easy,
                   const base::Clock& clock)
    : id_(id),
      request_(std::move(request)),
      easy_(easy),
      clock_(clock),
      window_nanos_(clock.NowNanos()) {
  SetUp();
}

Transfer::~Transfer() { curl_slist_free_all(headers_); }

void Transfer::SetUp() {
  const auto set = [this](CURLoption option, auto value) {
    set_up_ &= curl_easy_setopt(easy_, option, value) == CURLE_OK;
  };
  set(CURLOPT_URL, request_.url.c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_PATH_AS_IS, 1L);
  set(CURLOPT_HTTP_VERSION, long{CURL_HTTP_VERSION_1_1});
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_CONNECTTIMEOUT_MS, kConnectMillis);
  // With QUICK_EXIT no thread waits for the look-up of a name that nobody needs
  // any more.
  set(CURLOPT_QUICK_EXIT, 1L);
  set(CURLOPT_BUFFERSIZE, kReceiveBytes);
  set(CURLOPT_HTTP_CONTENT_DECODING, 0L);
  set(CURLOPT_USERAGENT, "forebay");
  set(CURLOPT_ERRORBUFFER, &error_[0]);
  set(CURLOPT_PRIVATE, static_cast<void*>(this));
  set(CURLOPT_HEADERFUNCTION, &HeaderCallback);
  set(CURLOPT_HEADERDATA, static_cast<void*>(this));
  set(CURLOPT_WRITEFUNCTION, &BodyCallback);
  set(CURLOPT_WRITEDATA, static_cast<void*>(this));
  if (request_.direct) set(CURLOPT_NOPROXY, "*");
  if (request_.refuse_link_local) {
    set(CURLOPT_PREREQFUNCTION, &ConnectedCallback);
    set(CURLOPT_PREREQDATA, static_cast<void*>(this));
  }
  if (request_.method == "HEAD") {
    set(CURLOPT_NOBODY, 1L);
  } else if (request_.method == "POST") {
    set(CURLOPT_POSTFIELDSIZE_LARGE,
        static_cast<curl_off_t>(request_.body.size()));
    set(CURLOPT_POSTFIELDS, request_.body.c_str());
  }
  // An empty Expect keeps curl from waiting for "100 Continue" before the body.
  if (request_.method == "POST") request_.headers.emplace_back("Expect:");
  for (const std::string& header : request_.headers) {
    curl_slist* const longer = curl_slist_append(headers_, header.c_str());
    set_up_ &= longer != nullptr;
    if (longer != nullptr) headers_ = longer;
  }
  if (headers_ != nullptr) set(CURLOPT_HTTPHEADER, headers_);
}

std::int64_t Transfer::OverdueAt(std::int64_t now_nanos) {
  const Timeouts& timeouts = request_.timeouts;
  if (!begun_) return window_nanos_ + timeouts.first_byte_nanos;
  if (received_ - window_received_ >= timeouts.window_bytes) {
    window_nanos_ = now_nanos;
    window_received_ = received_;
  }
  return window_nanos_ + timeouts.window_nanos;
}

std::int64_t Transfer::LookAt(std::int64_t now_nanos) {
  return std::min(OverdueAt(now_nanos),
                  now_nanos + request_.timeouts.window_nanos);
}

void Transfer::Conclude(CURLcode code) {
  ReadStatus();
  curl_off_t seconds = 0;
  curl_easy_getinfo(easy_, CURLINFO_RETRY_AFTER, &seconds);
  answer_.retry_after_nanos =
      std::clamp<std::int64_t>(seconds, 0, kMaxRetryAfterSeconds) *
      1'000'000'000;
  if (!set_up_) code = CURLE_OUT_OF_MEMORY;
  // A callback that ended the transfer has set the reason.
  if (code == CURLE_OK || answer_.failure != HttpFailure::kNone) return;
  answer_.failure = FailureOf(code);
  long asked = 0;
  curl_easy_getinfo(easy_, CURLINFO_REQUEST_SIZE, &asked);
  // Curl reports a server that does not speak HTTP as an unsupported protocol.
  if (code == CURLE_UNSUPPORTED_PROTOCOL && asked > 0)
    answer_.failure = HttpFailure::kProtocol;
  answer_.reason = error_[0] != '\0' ? &error_[0] : curl_easy_strerror(code);
}

const char* Transfer::Stage() const {
  curl_off_t micros = 0;
  curl_easy_getinfo(easy_, CURLINFO_PRETRANSFER_TIME_T, &micros);
  if (micros > 0) return "it is connected, and sends nothing";
  curl_easy_getinfo(easy_, CURLINFO_CONNECT_TIME_T, &micros);
  if (micros > 0) return "it is connected, and no TLS handshake ends";
  curl_easy_getinfo(easy_, CURLINFO_NAMELOOKUP_TIME_T, &micros);
  return micros > 0 ? "no connection to it is made"
                    : "its address is not found yet";
}

void Transfer::ReadStatus() {
  long status = 0;
  curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &status);
  answer_.status = static_cast<int>(status);
}

void Transfer::GiveUp(HttpFailure failure, std::string reason) {
  answer_.failure = failure;
  answer_.reason = std::move(reason);
}

void Transfer::Deliver() {
  const std::function<void(HttpResponse)> done = std::move(request_.done);
  if (done) done(std::move(answer_));
}

// Collects the lines of one answer. Drops an interim answer (1xx) when the next
// begins, and ignores trailers.
bool Transfer::OnHeader(std::string_view line) {
  if (!begun_) {
    begun_ = true;
    const std::int64_t now = clock_.NowNanos();
    if (request_.heard_nanos != nullptr) *request_.heard_nanos = now;
    answer_.first_byte_nanos =
        std::max<std::int64_t>(now - std::exchange(window_nanos_, now), 1);
  }
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r'))
    line.remove_suffix(1);
  if (line.starts_with("HTTP/") && line.find(':') == line.npos) {
    answer_.headers.clear();
    headers_done_ = false;
    ReadStatus();
    if (!answer_.IsSuccess() || !request_.begins || request_.begins())
      return true;
    GiveUp(HttpFailure::kCancelled, "another answer came first");
    return false;
  }
  if (line.empty()) headers_done_ = true;
  const std::size_t colon = line.find(':');
  if (headers_done_ || colon == line.npos) return true;
  const auto trimmed = [](std::string_view text) {
    return std::string(absl::StripAsciiWhitespace({text.data(), text.size()}));
  };
  std::string name = trimmed(line.substr(0, colon));
  absl::AsciiStrToLower(&name);
  answer_.headers.emplace_back(std::move(name),
                               trimmed(line.substr(colon + 1)));
  return true;
}

std::size_t Transfer::OnBody(const char* data, std::size_t size) {
  ReadStatus();
  received_ += size;
  if (request_.heard_nanos != nullptr)
    *request_.heard_nanos = clock_.NowNanos();
  const bool wanted = answer_.IsSuccess();
  const bool placed = wanted && request_.into.data() != nullptr;
  const std::uint64_t limit = placed   ? request_.into.size()
                              : wanted ? request_.max_body
                                       : kMaxErrorBytes;
  if (received_ > limit) {
    GiveUp(HttpFailure::kTooLong,
           absl::StrCat("the body is longer than ", limit, " bytes"));
    return 0;
  }
  if (placed) {
    std::memcpy(request_.into.data() + answer_.filled, data, size);
    answer_.filled += size;
    if (request_.arrived != nullptr) *request_.arrived += size;
    return size;
  }
  const std::size_t kept_bytes =
      wanted ? size
             : std::min(size, kErrorBodyBytes - std::min(kErrorBodyBytes,
                                                         answer_.body.size()));
  answer_.body.append(data, kept_bytes);
  return size;
}

// The address is checked whatever name led to it, for reused connections too.
bool Transfer::MayAsk(const char* address) {
  if (!IsLinkLocal(address)) return true;
  GiveUp(HttpFailure::kInvalid,
         absl::StrCat("leads to ", address, ", which is a link-local address"));
  return false;
}

int Transfer::ConnectedCallback(void* transfer, char* address, char*, int,
                                int) {
  return static_cast<Transfer*>(transfer)->MayAsk(address)
             ? CURL_PREREQFUNC_OK
             : CURL_PREREQFUNC_ABORT;
}

std::size_t Transfer::HeaderCallback(char* data, std::size_t size,
                                     std::size_t count, void* transfer) {
  return static_cast<Transfer*>(transfer)->OnHeader({data, size * count})
             ? size * count
             : 0;
}

std::size_t Transfer::BodyCallback(char* data, std::size_t size,
                                   std::size_t count, void* transfer) {
  return static_cast<Transfer*>(transfer)->OnBody(data, size * count);
}

}  // namespace forebay::storage::http
