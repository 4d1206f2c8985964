#include "server/daemon/remote_reads.h"

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/base/clock.h"
#include "server/base/status.h"
#include "server/daemon/origin_of.h"
#include "server/storage/gcs/gcs_root.h"
#include "server/storage/http/awaited_call.h"
#include "server/storage/http/http_root.h"
#include "server/storage/http/ranged_source.h"
#include "server/storage/http/trusted_certificates.h"
#include "server/storage/s3/s3_root.h"
#include "server/storage/webhdfs/hdfs_root.h"
#include "spdlog/spdlog.h"

namespace forebay::daemon {
namespace {

namespace gcs = storage::gcs;
namespace http = storage::http;

constexpr char kNoCredentials[] =
    "no credentials: the daemon found none in GOOGLE_APPLICATION_CREDENTIALS, "
    "gcloud's files or at a metadata server";
// How credentials of Cloud Storage are found. The first gs:// URI starts a
// search: in GOOGLE_APPLICATION_CREDENTIALS, in gcloud's files, then at a
// metadata server, which takes seconds where there is none. The mutex is
// released during a search, because every other call needs it; `looking_` is
// true meanwhile. Other threads that open gs:// URIs wait for the first search.
// During a later search they use the source without credentials.
//
// If nothing is found, a source without credentials reads public buckets, and
// the search is made again a minute later at the earliest. Once credentials are
// found, a second source is added, which gets all new reads. Reads under way
// end in the source that began them.

// The least time between two searches for credentials. A search that finds none
// takes some seconds.
constexpr std::int64_t kRecheckNanos = 60'000'000'000;

// The longest wait for a search that another thread makes.
constexpr auto kLookPatience = std::chrono::floor<std::chrono::seconds>(
    std::chrono::nanoseconds(http::kAwaitedPatience.silent_host_nanos));

// Returns whether a root is of type `Kind`.
template <typename Kind>
bool IsA(const storage::Root& root) {
  return dynamic_cast<const Kind*>(&root) != nullptr;
}

}  // namespace

RemoteEnvironment RemoteEnvironment::OfProcess(const proto::Config& config) {
  RemoteEnvironment environment;
  const proto::S3Config& s3 = config.s3();
  environment.s3 = {{.region = s3.region(),
                     .endpoint = s3.endpoint(),
                     .addressing = s3.addressing(),
                     .credentials = s3.credentials(),
                     .profile = s3.profile()},
                    storage::s3::Environment::OfProcess()};
  environment.hdfs = HdfsSetup::OfProcess(config.hdfs());
  environment.credentials = gcs::CredentialsEnvironment::OfProcess();
  const char* const emulator = std::getenv("STORAGE_EMULATOR_HOST");
  if (emulator == nullptr || *emulator == '\0') return environment;
  environment.emulator_host = emulator;
  environment.credentials.gcloud.clear();
  if (std::getenv("GCE_METADATA_HOST") == nullptr)
    environment.credentials.metadata_host.clear();
  return environment;
}

RemoteReads::RemoteReads(RemoteEnvironment environment,
                         storage::RoutedSource* routes,
                         storage::AllJobShares* shares,
                         const base::Clock* clock)
    : environment_(std::move(environment)),
      routes_(routes),
      shares_(shares),
      clock_(clock) {}

RemoteReads::~RemoteReads() = default;

absl::StatusOr<std::shared_ptr<const storage::Root>> RemoteReads::Open(
    const std::string& uri, const std::stop_token& stop) {
  if (stop.stop_requested())
    return absl::CancelledError(absl::StrCat(uri, ": was not opened"));
  if (uri.starts_with("gs://")) {
    FOREBAY_ASSIGN_OR_RETURN(
        const std::string endpoint,
        gcs::EndpointFrom(environment_.emulator_host.c_str()));
    // A malformed URI is refused before the search for credentials.
    FOREBAY_RETURN_IF_ERROR(gcs::GcsRoot::Create(uri, endpoint).status());
    const absl::Status status = PrepareGcs(stop);
    if (!status.ok()) return base::Annotate(status, uri);
    return gcs::GcsRoot::Create(uri, endpoint, GcsReader());
  }
  if (uri.starts_with("s3://")) return OpenS3(uri);
  if (uri.starts_with("hdfs://") || uri.starts_with("webhdfs://") ||
      uri.starts_with("swebhdfs://"))
    return OpenHdfs(uri);
  if (uri.starts_with("http://") || uri.starts_with("https://")) {
    FOREBAY_ASSIGN_OR_RETURN(auto root, http::HttpRoot::Create(uri));
    const absl::Status status = PrepareHttp();
    if (!status.ok()) return base::Annotate(status, uri);
    return root;
  }
  return absl::InvalidArgumentError(
      absl::StrCat(uri,
                   ": datasets are folders, or lie at gs://, s3://, hdfs://, "
                   "webhdfs://, http:// or "
                   "https://"));
}

absl::StatusOr<http::Client*> RemoteReads::ClientLocked() {
  if (client_ == nullptr) {
    FOREBAY_ASSIGN_OR_RETURN(
        engine_, http::Engine::Create(
                     {.trusted = http::FindTrustedCertificates(
                          http::CertificatesEnvironment::OfProcess())}));
    // The seed of the random delays before retries differs from host to host,
    // so that hosts whose requests fail together do not retry together.
    const auto seed =
        static_cast<std::uint64_t>(base::Clock::Wall()->NowNanos());
    client_ = std::make_unique<http::Client>(engine_.get(),
                                             http::RetryOptions(), seed);
    shares_->Add(&client_->ledger());
  }
  return client_.get();
}

void RemoteReads::ReleaseIdle() {
  std::vector<storage::DomainSource*> sources;
  {
    base::MutexLock lock(&mutex_);
    for (const auto& buckets : buckets_)
      sources.push_back(buckets->source.get());
    if (http_source_ != nullptr) sources.push_back(http_source_.get());
    if (s3_ != nullptr) sources.push_back(s3_->source());
    if (hdfs_ != nullptr) sources.push_back(hdfs_->source());
  }
  for (storage::DomainSource* const source : sources) source->ReleaseIdle();
}

absl::Status RemoteReads::PrepareGcs(const std::stop_token& stop) {
  const std::stop_callback on_stop(stop, [this] {
    base::MutexLock lock(&mutex_);
    changed_.NotifyAll();
  });
  http::Client* client = nullptr;
  {
    base::MutexLock lock(&mutex_);
    if (looking_ && !buckets_.empty()) return absl::OkStatus();
    FOREBAY_RETURN_IF_ERROR(AwaitLookLocked(stop));
    if (!buckets_.empty() && (buckets_.back()->credentials != nullptr ||
                              clock_->NowNanos() < recheck_at_nanos_))
      return absl::OkStatus();
    FOREBAY_ASSIGN_OR_RETURN(client, ClientLocked());
    looking_ = true;
  }
  auto found = gcs::FindCredentials(environment_.credentials, client,
                                    base::Clock::Wall());
  base::MutexLock lock(&mutex_);
  looking_ = false;
  changed_.NotifyAll();
  FOREBAY_RETURN_IF_ERROR(found.status());
  recheck_at_nanos_ = clock_->NowNanos() + kRecheckNanos;
  if (*found == nullptr && !buckets_.empty()) return absl::OkStatus();
  std::unique_ptr<Buckets> buckets = BucketsFor(*std::move(found), client);
  shares_->Add(buckets->source.get());
  routes_->Add(&IsA<gcs::GcsRoot>, buckets->source.get());
  spdlog::info("buckets are read with {}", buckets->credentials_name);
  buckets_.push_back(std::move(buckets));
  return absl::OkStatus();
}

absl::Status RemoteReads::AwaitLookLocked(const std::stop_token& stop) {
  while (looking_ && !stop.stop_requested()) {
    if (!changed_.WaitFor(&mutex_, kLookPatience) && looking_)
      return absl::UnavailableError(absl::StrCat(
          "the daemon has looked for credentials of Cloud Storage for ",
          kLookPatience.count(), " s, in files or at a metadata server"));
  }
  return stop.stop_requested() ? absl::CancelledError("was not opened")
                               : absl::OkStatus();
}

std::unique_ptr<RemoteReads::Buckets> RemoteReads::BucketsFor(
    std::unique_ptr<gcs::TokenSource> credentials, http::Client* client) const {
  auto buckets = std::make_unique<Buckets>();
  buckets->credentials = std::move(credentials);
  buckets->credentials_name = buckets->credentials == nullptr
                                  ? kNoCredentials
                                  : buckets->credentials->name();
  if (buckets->credentials != nullptr)
    buckets->token = std::make_unique<gcs::TokenCache>(
        buckets->credentials.get(), base::Clock::Wall());
  gcs::TokenCache* const token = buckets->token.get();
  buckets->lister = std::make_unique<gcs::GcsLister>(client, token,
                                                     buckets->credentials_name);
  storage::DomainSourceOptions options;
  options.domain_of = &OriginOf<gcs::GcsRoot>;
  options.make = [this, client, token](const std::string&) {
    return std::make_unique<http::RangedSource>(client, &gcs_protocol_, token);
  };
  options.clock = clock_;
  buckets->source = std::make_unique<storage::DomainSource>(options);
  return buckets;
}

absl::Status RemoteReads::PrepareHttp() {
  base::MutexLock lock(&mutex_);
  if (http_source_ != nullptr) return absl::OkStatus();
  FOREBAY_ASSIGN_OR_RETURN(http::Client* const client, ClientLocked());
  http_lister_ = std::make_unique<http::HttpLister>(client);
  storage::DomainSourceOptions options;
  options.domain_of = &OriginOf<http::HttpRoot>;
  options.make = [this, client](const std::string&) {
    return std::make_unique<http::RangedSource>(client, &http_protocol_);
  };
  options.clock = clock_;
  http_source_ = std::make_unique<storage::DomainSource>(options);
  shares_->Add(http_source_.get());
  routes_->Add(&IsA<http::HttpRoot>, http_source_.get());
  return absl::OkStatus();
}

// Creating S3Reads reads files, so the mutex, which every other call needs, is
// released meanwhile. If two threads create one, the first to finish is used.
absl::StatusOr<S3Reads*> RemoteReads::PrepareS3() {
  http::Client* client = nullptr;
  {
    base::MutexLock lock(&mutex_);
    if (s3_ != nullptr) return s3_.get();
    FOREBAY_ASSIGN_OR_RETURN(client, ClientLocked());
  }
  FOREBAY_ASSIGN_OR_RETURN(auto created,
                           S3Reads::Create(environment_.s3, client));
  base::MutexLock lock(&mutex_);
  if (s3_ == nullptr) {
    s3_ = std::move(created);
    shares_->Add(s3_->source());
    routes_->Add(&IsA<storage::s3::S3Root>, s3_->source());
  }
  return s3_.get();
}

absl::StatusOr<std::shared_ptr<const storage::Root>> RemoteReads::OpenS3(
    const std::string& uri) {
  const absl::StatusOr<S3Reads*> reads = PrepareS3();
  if (!reads.ok()) return base::Annotate(reads.status(), uri);
  return (*reads)->Open(uri);
}

absl::StatusOr<std::shared_ptr<const storage::Root>> RemoteReads::OpenHdfs(
    const std::string& uri) {
  const HdfsReads* reads = nullptr;
  {
    base::MutexLock lock(&mutex_);
    if (hdfs_ == nullptr) {
      FOREBAY_ASSIGN_OR_RETURN(http::Client* const client, ClientLocked());
      hdfs_ = std::make_unique<HdfsReads>(environment_.hdfs, client);
      shares_->Add(hdfs_->source());
      routes_->Add(&IsA<storage::webhdfs::HdfsRoot>, hdfs_->source());
    }
    reads = hdfs_.get();
  }
  return reads->Open(uri);
}

absl::StatusOr<storage::ObjectLister*> RemoteReads::ListerOf(
    const storage::Root& root) const {
  base::MutexLock lock(&mutex_);
  if (IsA<gcs::GcsRoot>(root) && !buckets_.empty())
    return buckets_.back()->lister.get();
  if (IsA<http::HttpRoot>(root) && http_lister_ != nullptr)
    return http_lister_.get();
  if (IsA<storage::s3::S3Root>(root) && s3_ != nullptr) return s3_->lister();
  if (IsA<storage::webhdfs::HdfsRoot>(root) && hdfs_ != nullptr)
    return hdfs_->lister();
  return absl::InvalidArgumentError("is not known here");
}

absl::Status RemoteReads::List(
    const storage::Root& root,
    const std::function<void(storage::ListedObject)>& each,
    const std::stop_token& stop) {
  FOREBAY_ASSIGN_OR_RETURN(storage::ObjectLister* const lister, ListerOf(root));
  return lister->List(root, each, stop);
}

absl::StatusOr<storage::ObjectVersion> RemoteReads::Stat(
    const storage::Root& root, std::string_view object,
    const std::stop_token& stop) {
  FOREBAY_ASSIGN_OR_RETURN(storage::ObjectLister* const lister, ListerOf(root));
  return lister->Stat(root, object, stop);
}

std::vector<http::JobRequests> RemoteReads::requests() const {
  base::MutexLock lock(&mutex_);
  if (client_ == nullptr) return {};
  return client_->ledger().Snapshot();
}

std::vector<std::pair<std::string, storage::SourceState>> RemoteReads::States()
    const {
  base::MutexLock lock(&mutex_);
  std::vector<std::pair<std::string, storage::SourceState>> states;
  if (!buckets_.empty())
    states.emplace_back("buckets", buckets_.back()->source->State());
  if (http_source_ != nullptr)
    states.emplace_back("web", http_source_->State());
  if (s3_ != nullptr)
    states.emplace_back("s3", std::as_const(*s3_).source().State());
  if (hdfs_ != nullptr)
    states.emplace_back("hdfs", std::as_const(*hdfs_).source().State());
  return states;
}

std::string RemoteReads::GcsReader() const {
  base::MutexLock lock(&mutex_);
  return buckets_.empty() ? "" : buckets_.back()->credentials_name;
}

std::string RemoteReads::credentials() const {
  base::MutexLock lock(&mutex_);
  std::string names;
  if (!buckets_.empty()) names = buckets_.back()->credentials_name;
  if (s3_ == nullptr || s3_->credentials().empty()) return names;
  return absl::StrCat(names, names.empty() ? "" : "; those of S3 with ",
                      s3_->credentials());
}

}  // namespace forebay::daemon
