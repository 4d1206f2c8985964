// The conformance suite on the sources that read from other hosts. Each one is
// behind the DomainSource, which has a separate source for each host.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "server/storage/domain_source.h"
#include "server/storage/gcs/gcs_protocol.h"
#include "server/storage/gcs/gcs_root.h"
#include "server/storage/http/client.h"
#include "server/storage/http/engine.h"
#include "server/storage/http/entity_tags.h"
#include "server/storage/http/http_protocol.h"
#include "server/storage/http/http_root.h"
#include "server/storage/http/ranged_source.h"
#include "server/storage/http/url.h"
#include "server/storage/s3/s3_protocol.h"
#include "server/storage/s3/s3_root.h"
#include "server/storage/shared_out_source.h"
#include "server/storage/webhdfs/cluster_source.h"
#include "server/storage/webhdfs/hdfs_root.h"
#include "server/storage/webhdfs/webhdfs_protocol.h"
#include "tests/conformance/storage/byte_source_conformance.h"
#include "tests/unit/server/storage/gcs/gcs_server.h"
#include "tests/unit/server/storage/http/object_server.h"
#include "tests/unit/server/storage/s3/s3_server.h"
#include "tests/unit/server/storage/webhdfs/hdfs_server.h"

namespace forebay::storage {
namespace {

const http::RangedSourceOptions kInParts = {.concurrency = 8,
                                            .part_bytes = 1 << 20};

// Returns the options of a DomainSource for roots of one kind, which calls
// `make` for the source of each host.
template <typename Kind>
DomainSourceOptions ByHost(
    std::function<std::unique_ptr<SharedOutSource>()> make) {
  DomainSourceOptions options;
  options.domain_of = [](const ReadRequest& request) {
    const auto* const root = dynamic_cast<const Kind*>(request.root.get());
    return root == nullptr ? "" : root->origin();
  };
  options.make = [make = std::move(make)](const std::string&) {
    return make();
  };
  return options;
}

// A web server on this host.
class HttpHarness final : public ByteSourceHarness {
 public:
  HttpHarness()
      : engine_(*http::Engine::Create()),
        client_(engine_.get(), http::RetryOptions(), 1),
        root_(*http::HttpRoot::Create(server_.url())),
        source_(std::in_place, ByHost<http::HttpRoot>([this] {
                  return std::make_unique<http::RangedSource>(&client_,
                                                              &protocol_);
                })) {}

  ByteSource& source() override { return *source_; }
  void DestroySource() override { source_.reset(); }
  std::shared_ptr<const Root> root() override { return root_; }

  ObjectVersion Put(const std::string& object,
                    const std::string& content) override {
    server_.Put(http::EscapePath(object), content);
    return *http::StatObject(&client_, *root_, object);
  }
  void Remove(const std::string& object) override {
    server_.Remove(http::EscapePath(object));
  }

 private:
  http::ObjectServer server_;
  const http::HttpProtocol protocol_;
  const std::unique_ptr<http::Engine> engine_;
  http::Client client_;
  const std::shared_ptr<const http::HttpRoot> root_;
  std::optional<DomainSource> source_;
};

// A GCS bucket on this host, whose large objects are read in parts.
class GcsHarness final : public ByteSourceHarness {
 public:
  GcsHarness()
      : engine_(*http::Engine::Create()),
        client_(engine_.get(), http::RetryOptions(), 1),
        root_(*gcs::GcsRoot::Create("gs://bucket/p", server_.url())),
        source_(std::in_place, ByHost<gcs::GcsRoot>([this] {
                  return std::make_unique<http::RangedSource>(
                      &client_, &protocol_, nullptr, kInParts);
                })) {}

  ByteSource& source() override { return *source_; }
  void DestroySource() override { source_.reset(); }
  std::shared_ptr<const Root> root() override { return root_; }

  ObjectVersion Put(const std::string& object,
                    const std::string& content) override {
    return {content.size(), server_.Put("p/" + object, content)};
  }
  void Remove(const std::string& object) override {
    server_.Remove("p/" + object);
  }

 private:
  gcs::GcsServer server_;
  const gcs::GcsProtocol protocol_;
  const std::unique_ptr<http::Engine> engine_;
  http::Client client_;
  const std::shared_ptr<const gcs::GcsRoot> root_;
  std::optional<DomainSource> source_;
};

// An S3 bucket on this host, whose large objects are read in parts.
class S3Harness final : public ByteSourceHarness {
 public:
  S3Harness()
      : engine_(*http::Engine::Create()),
        client_(engine_.get(), http::RetryOptions(), 1),
        root_(*s3::S3Root::Create("s3://bucket/p", server_.endpoint())),
        source_(std::in_place, ByHost<s3::S3Root>([this] {
                  return std::make_unique<http::RangedSource>(
                      &client_, &protocol_, nullptr, kInParts);
                })) {}

  ByteSource& source() override { return *source_; }
  void DestroySource() override { source_.reset(); }
  std::shared_ptr<const Root> root() override { return root_; }

  ObjectVersion Put(const std::string& object,
                    const std::string& content) override {
    return {content.size(), server_.Put("p/" + object, content)};
  }
  void Remove(const std::string& object) override {
    server_.Remove("p/" + object);
  }

 private:
  s3::S3Server server_;
  http::EntityTags tags_;
  const s3::S3Protocol protocol_{&tags_};
  const std::unique_ptr<http::Engine> engine_;
  http::Client client_;
  const std::shared_ptr<const s3::S3Root> root_;
  std::optional<DomainSource> source_;
};

// An HDFS cluster on this host.
class WebHdfsHarness final : public ByteSourceHarness {
 public:
  WebHdfsHarness()
      : engine_(*http::Engine::Create()),
        client_(engine_.get(), http::RetryOptions(), 1),
        root_(*webhdfs::HdfsRoot::Create(
            "webhdfs://" + server_.authority() + "/p", {})),
        source_(std::in_place, ByHost<webhdfs::HdfsRoot>([this] {
                  return std::make_unique<webhdfs::ClusterSource>(
                      &client_, &protocol_, kInParts);
                })) {}

  ByteSource& source() override { return *source_; }
  void DestroySource() override { source_.reset(); }
  std::shared_ptr<const Root> root() override { return root_; }

  ObjectVersion Put(const std::string& object,
                    const std::string& content) override {
    return server_.Put("/p/" + object, content);
  }
  void Remove(const std::string& object) override {
    server_.Remove("/p/" + object);
  }

 private:
  webhdfs::HdfsServer server_;
  const webhdfs::WebHdfsProtocol protocol_;
  const std::unique_ptr<http::Engine> engine_;
  http::Client client_;
  const std::shared_ptr<const webhdfs::HdfsRoot> root_;
  std::optional<DomainSource> source_;
};

template <typename Harness>
std::unique_ptr<ByteSourceHarness> Make() {
  return std::make_unique<Harness>();
}

const tests::RunsOn<ByteSourceConformance> kHttp({{"HTTP",
                                                   &Make<HttpHarness>}});
const tests::RunsOn<ByteSourceConformance> kGcs({{"Google Cloud Storage",
                                                  &Make<GcsHarness>}});
const tests::RunsOn<ByteSourceConformance> kS3({{"S3", &Make<S3Harness>}});
const tests::RunsOn<ByteSourceConformance> kWebHdfs({{"WebHDFS",
                                                      &Make<WebHdfsHarness>}});

}  // namespace
}  // namespace forebay::storage
