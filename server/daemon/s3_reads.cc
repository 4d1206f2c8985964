#include "server/daemon/s3_reads.h"

#include <utility>

#include "server/base/clock.h"
#include "server/base/status.h"
#include "server/daemon/origin_of.h"
#include "server/storage/http/ranged_source.h"
#include "server/storage/s3/s3_credentials.h"
#include "server/storage/s3/s3_root.h"

namespace forebay::daemon {

absl::StatusOr<std::unique_ptr<S3Reads>> S3Reads::Create(
    const S3Setup& setup, storage::http::Client* client) {
  FOREBAY_ASSIGN_OR_RETURN(
      storage::s3::Endpoint endpoint,
      storage::s3::FindEndpoint(setup.settings, setup.environment));
  return std::unique_ptr<S3Reads>(
      new S3Reads(setup, std::move(endpoint), client));
}

S3Reads::S3Reads(const S3Setup& setup, storage::s3::Endpoint endpoint,
                 storage::http::Client* client)
    : endpoint_(std::move(endpoint)),
      protocol_(&tags_),
      credentials_(
          &client->engine(),
          [setup] {
            return storage::s3::FindCredentials(setup.settings,
                                                setup.environment);
          },
          endpoint_.region, base::Clock::Wall()),
      lister_(client, &credentials_, &tags_,
              [this] { return credentials_.name(); }),
      source_({.domain_of =
                   [](const storage::ReadRequest& request) {
                     return OriginOf<storage::s3::S3Root>(request);
                   },
               .make =
                   [this, client](const std::string&) {
                     return std::make_unique<storage::http::RangedSource>(
                         client, &protocol_, &credentials_);
                   }}) {}

absl::StatusOr<std::shared_ptr<const storage::Root>> S3Reads::Open(
    const std::string& uri) {
  // A malformed URI is refused before the search for credentials.
  FOREBAY_RETURN_IF_ERROR(storage::s3::S3Root::Create(uri, endpoint_).status());
  const absl::Status renewed = credentials_.Renew();
  if (!renewed.ok()) return base::Annotate(renewed, uri);
  return storage::s3::S3Root::Create(uri, endpoint_, credentials_.name());
}

}  // namespace forebay::daemon
