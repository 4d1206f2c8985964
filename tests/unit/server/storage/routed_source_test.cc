#include "server/storage/routed_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/server/storage/fake_root.h"

namespace forebay::storage {
namespace {

using ::testing::ElementsAre;

// Remembers its calls.
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

TEST(RoutedSourceTest, EachReadGoesWhereItsRootLeads) {
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
  EXPECT_THAT(local.objects, ElementsAre("1", "2", "6"));
  EXPECT_THAT(buckets.objects, ElementsAre("3", "4", "5"));
  EXPECT_THAT(web.objects, ElementsAre("7"));
  EXPECT_EQ(local.calls, 2);
  EXPECT_EQ(buckets.calls, 1);
  source.Read({});
  EXPECT_EQ(local.calls, 2);
}

TEST(RoutedSourceTest, TheNewestRouteIsTaken) {
  Recorder local;
  Recorder before;
  Recorder now;
  RoutedSource source;
  source.Add(&IsBucket, &before);
  source.Add(&IsFolder, &local);
  source.Add(&IsBucket, &now);
  auto requests = Requests({{kBucket, "1"}, {kFolder, "2"}});
  source.Read(absl::MakeSpan(requests));
  EXPECT_THAT(before.objects, ElementsAre());
  EXPECT_THAT(local.objects, ElementsAre("2"));
  EXPECT_THAT(now.objects, ElementsAre("1"));
}

TEST(RoutedSourceTest, WhereNoRouteLeadsNothingIsRead) {
  Recorder local;
  RoutedSource source;
  source.Add(&IsFolder, &local);
  auto requests = Requests({{kFolder, "1"}, {kBucket, "2"}, {kFolder, "3"}});
  absl::Status status;
  requests[1].done = [&status](const absl::StatusOr<ReadResult>& result) {
    status = result.status();
  };
  source.Read(absl::MakeSpan(requests));
  EXPECT_THAT(local.objects, ElementsAre("1", "3"));
  EXPECT_EQ(status,
            absl::InvalidArgumentError("2: gs://bucket cannot be read"));
}

TEST(RoutedSourceTest, AnySourceMayHaveTheTicket) {
  Recorder local;
  Recorder buckets;
  RoutedSource source;
  source.Add(&IsFolder, &local);
  source.Add(&IsBucket, &buckets);
  source.Share(7, {});
  EXPECT_THAT(local.shared, ElementsAre(7));
  EXPECT_THAT(buckets.shared, ElementsAre(7));
}

}  // namespace
}  // namespace forebay::storage
