#include "server/storage/routed_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace forebay::storage {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

class NamedRoot final : public Root {
 public:
  explicit NamedRoot(std::string uri) : uri_(std::move(uri)) {}
  const std::string& uri() const override { return uri_; }

 private:
  const std::string uri_;
};

// Remembers what it is told.
struct Recorder final : public ByteSource {
  void Read(absl::Span<ReadRequest> requests) override {
    ++calls;
    for (const ReadRequest& request : requests)
      objects.push_back(request.object);
  }
  void Share(std::uint64_t ticket, const ReadPurpose&) override {
    shared.push_back(ticket);
  }
  void SetWeight(std::uint64_t job, double weight) override {
    weights[job] = weight;
  }
  void SetCap(std::uint64_t job, double bytes_per_second) override {
    caps[job] = bytes_per_second;
  }
  void Forget(std::uint64_t job) override {
    weights.erase(job);
    caps.erase(job);
  }

  int calls = 0;
  std::vector<std::string> objects;
  std::vector<std::uint64_t> shared;
  std::map<std::uint64_t, double> weights;
  std::map<std::uint64_t, double> caps;
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

const auto kFolder = std::make_shared<NamedRoot>("/data");
const auto kBucket = std::make_shared<NamedRoot>("gs://bucket");
const auto kOtherBucket = std::make_shared<NamedRoot>("gs://other");
const auto kWeb = std::make_shared<NamedRoot>("http://host");

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

TEST(RoutedSourceTest, EverySourceKnowsTheWeightsAndCaps) {
  Recorder local;
  Recorder buckets;
  RoutedSource source;
  source.Add(&IsFolder, &local);
  source.SetWeight(1, 0.5);
  source.SetWeight(2, 2);
  source.SetWeight(3, 3);
  source.SetCap(2, 1e6);
  source.SetCap(3, 1e7);
  source.Forget(3);
  source.Add(&IsBucket, &buckets);
  EXPECT_THAT(buckets.caps, ElementsAre(Pair(2, 1e6)));
  source.SetCap(1, 2e6);
  EXPECT_THAT(buckets.caps, ElementsAre(Pair(1, 2e6), Pair(2, 1e6)));
  EXPECT_EQ(local.caps, buckets.caps);
  EXPECT_THAT(buckets.weights, ElementsAre(Pair(1, 0.5), Pair(2, 2)));
  source.SetWeight(1, 4);
  source.Forget(2);
  EXPECT_THAT(buckets.weights, ElementsAre(Pair(1, 4)));
  EXPECT_EQ(local.weights, buckets.weights);
  source.Forget(1);
  EXPECT_THAT(local.weights, IsEmpty());
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
