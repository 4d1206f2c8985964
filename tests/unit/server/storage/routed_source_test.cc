#include "server/storage/routed_source.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/storage/fake_root.h"

namespace forebay::storage {
namespace {

using tests::ElementsAre;
using tests::IsEmpty;

// A source that records its calls.
struct Recorder final : public ByteSource {
  void Read(absl::Span<ReadRequest> requests) override {
    ++calls;
    for (const ReadRequest& request : requests)
      objects.push_back(request.object);
  }
  void Share(std::uint64_t ticket, const ReadPurpose&) override {
    shared.push_back(ticket);
  }

  int calls = 0;
  std::vector<std::string> objects;
  std::vector<std::uint64_t> shared;
};

bool IsFolder(const Root& root) { return root.uri().starts_with("/"); }
bool IsBucket(const Root& root) { return root.uri().starts_with("gs:"); }
bool IsWeb(const Root& root) { return root.uri().starts_with("http:"); }

std::vector<ReadRequest> Requests(
    const std::vector<std::pair<std::shared_ptr<const Root>, std::string>>&
        wanted) {
  std::vector<ReadRequest> requests;
  for (const auto& [root, object] : wanted) {
    requests.emplace_back();
    requests.back().root = root;
    requests.back().object = object;
  }
  return requests;
}

const auto kFolder = FakeRoot::Make({.uri = "/data"});
const auto kBucket = FakeRoot::Make({.uri = "gs://bucket"});
const auto kOtherBucket = FakeRoot::Make({.uri = "gs://other"});
const auto kWeb = FakeRoot::Make({.uri = "http://host"});

TEST_CASE("A routed source sends each read where its root leads",
          "[storage][routed_source]") {
  Recorder local;
  Recorder buckets;
  Recorder web;
  RoutedSource source;
  source.Add(&IsFolder, &local);
  source.Add(&IsBucket, &buckets);
  source.Add(&IsWeb, &web);
  auto requests = Requests({{kFolder, "1"},
                            {kFolder, "2"},
                            {kBucket, "3"},
                            {kOtherBucket, "4"},
                            {kBucket, "5"},
                            {kFolder, "6"},
                            {kWeb, "7"}});
  source.Read(absl::MakeSpan(requests));
  CHECK_THAT(local.objects, ElementsAre("1", "2", "6"));
  CHECK_THAT(buckets.objects, ElementsAre("3", "4", "5"));
  CHECK_THAT(web.objects, ElementsAre("7"));
  CHECK(local.calls == 2);
  CHECK(buckets.calls == 1);
  source.Read({});
  CHECK(local.calls == 2);
}

TEST_CASE("A routed source takes the newest route",
          "[storage][routed_source]") {
  Recorder local;
  Recorder before;
  Recorder now;
  RoutedSource source;
  source.Add(&IsBucket, &before);
  source.Add(&IsFolder, &local);
  source.Add(&IsBucket, &now);
  auto requests = Requests({{kBucket, "1"}, {kFolder, "2"}});
  source.Read(absl::MakeSpan(requests));
  CHECK_THAT(before.objects, IsEmpty());
  CHECK_THAT(local.objects, ElementsAre("2"));
  CHECK_THAT(now.objects, ElementsAre("1"));
}

TEST_CASE("A routed source reads nothing where no route leads",
          "[storage][routed_source]") {
  Recorder local;
  RoutedSource source;
  source.Add(&IsFolder, &local);
  auto requests = Requests({{kFolder, "1"}, {kBucket, "2"}, {kFolder, "3"}});
  absl::Status status;
  requests[1].done = [&status](const absl::StatusOr<ReadResult>& result) {
    status = result.status();
  };
  source.Read(absl::MakeSpan(requests));
  CHECK_THAT(local.objects, ElementsAre("1", "3"));
  CHECK(status == absl::InvalidArgumentError("2: gs://bucket cannot be read"));
}

TEST_CASE(
    "A routed source passes a shared ticket on to any source that may have it",
    "[storage][routed_source]") {
  Recorder local;
  Recorder buckets;
  RoutedSource source;
  source.Add(&IsFolder, &local);
  source.Add(&IsBucket, &buckets);
  source.Share(7, {});
  CHECK_THAT(local.shared, ElementsAre(7));
  CHECK_THAT(buckets.shared, ElementsAre(7));
}

}  // namespace
}  // namespace forebay::storage
