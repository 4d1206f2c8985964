#include "server/sample/sample_identity.h"

#include <functional>
#include <memory>

#include "server/dataset/composed/concatenation.h"
#include "server/dataset/composed/subset.h"
#include "tests/catch/catch.h"
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
  void Revalidate(
      const storage::ReadRequest&, storage::ByteSource&,
      std::function<void(absl::StatusOr<storage::Revision>)>) const override {}
};

TEST_CASE("A read request says where the sample lies",
          "[sample][sample_identity]") {
  const dataset::Sample sample = {
      .object = "shard.tar",
      .version = {.size = 4096, .stamp = 7, .revision = {.inode = 3}},
      .layout = std::make_shared<const Layout>(),
      .offset = 512,
      .length = 100};
  const TableDataset table({}, {}, sample);
  const storage::ReadRequest request = SampleIdentity(&table).RequestFor(5);
  CHECK(request.root == table.root());
  CHECK(request.object == sample.object);
  CHECK(request.version == sample.version);
  CHECK(request.layout == sample.layout);
  CHECK(request.offset == 512);
  CHECK(request.length == 100);
  CHECK(request.sample.dataset == DatasetNumber(table));
  CHECK(request.sample.sample == 5);
}

TEST_CASE("Readers of a dataset's part know its samples by the same name",
          "[sample][sample_identity]") {
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
  CHECK(first.sample.dataset == of_b.RequestFor(1).sample.dataset);
  CHECK(first.sample.sample == 1);
  CHECK(first.root == b->root());
  const storage::ReadRequest second = of_some.RequestFor(1);
  CHECK(second.sample.dataset == of_a.RequestFor(0).sample.dataset);
  CHECK(second.root == a->root());
  CHECK_FALSE(of_some.is_own());
  CHECK(of_a.is_own());
  CHECK(DatasetNumber(*some) != DatasetNumber(*both));
}

}  // namespace
}  // namespace forebay::sample
