#include "server/daemon/hdfs_reads.h"

#include <cstdlib>
#include <utility>

#include "absl/strings/ascii.h"
#include "server/base/status.h"
#include "server/daemon/origin_of.h"
#include "server/storage/small_file.h"
#include "server/storage/webhdfs/cluster_source.h"
#include "server/storage/webhdfs/hdfs_root.h"

namespace forebay::daemon {
namespace {

// Returns the value of an environment variable; empty if it is not set.
std::string FromEnvironment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

HdfsSetup HdfsSetup::OfProcess(const proto::HdfsConfig& config) {
  HdfsSetup setup;
  setup.endpoint = config.endpoint();
  setup.user = config.user().empty() ? FromEnvironment("HADOOP_USER_NAME")
                                     : config.user();
  setup.token_file = config.token_file();
  setup.token = FromEnvironment("HADOOP_TOKEN");
  return setup;
}

HdfsReads::HdfsReads(HdfsSetup setup, storage::http::Client* client)
    : setup_(std::move(setup)),
      lister_(client),
      source_({.domain_of =
                   [](const storage::ReadRequest& request) {
                     return OriginOf<storage::webhdfs::HdfsRoot>(request);
                   },
               .make =
                   [this, client](const std::string&) {
                     return std::make_unique<storage::webhdfs::ClusterSource>(
                         client, &protocol_);
                   }}) {}

absl::StatusOr<std::shared_ptr<const storage::Root>> HdfsReads::Open(
    const std::string& uri) const {
  storage::webhdfs::WebHdfsSettings settings = {setup_.endpoint, setup_.user,
                                                setup_.token};
  // A malformed URI is refused before the token's file is read.
  FOREBAY_RETURN_IF_ERROR(
      storage::webhdfs::HdfsRoot::Create(uri, settings).status());
  if (!setup_.token_file.empty()) {
    const auto text = storage::ReadSmallFile(setup_.token_file);
    if (!text.ok()) return base::Annotate(text.status(), uri);
    settings.token = std::string(absl::StripAsciiWhitespace(*text));
  }
  return storage::webhdfs::HdfsRoot::Create(uri, settings);
}

}  // namespace forebay::daemon
