#include "server/sample/sample_identity.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "server/dataset/composed/concatenation.h"
#include "server/dataset/composed/subset.h"
#include "tests/unit/server/base/sealed_numbers.h"
#include "tests/unit/server/dataset/composed/plain_dataset.h"
#include "tests/unit/server/sample/table_dataset.h"

namespace forebay::sample {
namespace {

using dataset::composed::Concatenation;
using dataset::composed::PlainDataset;
using dataset::composed::Subset;

class Layout final : public storage::ObjectLayout {
 public:
  void LookAgain(
      const storage::ReadRequest&, storage::ByteSource&,
      std::function<void(absl::StatusOr<storage::Revision>)>) const override {}
};

TEST(SampleIdentityTest, ARequestSaysWhereTheSampleLies) {
  const dataset::Sample sample = {
      .object = "shard.tar",
      .version = {.size = 4096, .stamp = 7, .revision = {.inode = 3}},
      .layout = std::make_shared<const Layout>(),
      .offset = 512,
      .length = 100};
  const TableDataset table({}, {}, sample);
  const storage::ReadRequest request = SampleIdentity(&table).RequestFor(5);
  EXPECT_EQ(request.root, table.root());
  EXPECT_EQ(request.object, sample.object);
  EXPECT_EQ(request.version, sample.version);
  EXPECT_EQ(request.layout, sample.layout);
  EXPECT_EQ(request.offset, 512);
  EXPECT_EQ(request.length, 100);
  EXPECT_EQ(request.sample.dataset, DatasetNumber(table));
  EXPECT_EQ(request.sample.sample, 5);
}

TEST(SampleIdentityTest, ReadersOfAPartKnowItsSamplesByTheSameName) {
  base::MemoryBudget budget(1 << 20);
  const auto a = std::make_shared<const PlainDataset>("a", 4);
  const auto b = std::make_shared<const PlainDataset>("b", 2);
  const auto both = *Concatenation::Create({a, b});
  const auto some =
      std::make_shared<const Subset>(both, base::MakeList({5, 0}, 6, &budget));
  const SampleIdentity of_some(some.get());
  const SampleIdentity of_a(a.get());
  const SampleIdentity of_b(b.get());
  const storage::ReadRequest first = of_some.RequestFor(0);
  EXPECT_EQ(first.sample.dataset, of_b.RequestFor(1).sample.dataset);
  EXPECT_EQ(first.sample.sample, 1);
  EXPECT_EQ(first.root, b->root());
  const storage::ReadRequest second = of_some.RequestFor(1);
  EXPECT_EQ(second.sample.dataset, of_a.RequestFor(0).sample.dataset);
  EXPECT_EQ(second.root, a->root());
  EXPECT_FALSE(of_some.is_own());
  EXPECT_TRUE(of_a.is_own());
  EXPECT_NE(DatasetNumber(*some), DatasetNumber(*both));
}

}  // namespace
}  // namespace forebay::sample
