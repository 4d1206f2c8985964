#include "server/dataset/produced/produced_dataset.h"

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "proto/dataset.pb.h"
#include "server/storage/memory/memory_source.h"
#include "server/storage/read_now.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::dataset::produced {
namespace {

using tests::IsOk;

proto::DatasetSpec Spec() {
  proto::DatasetSpec spec;
  spec.set_uri("mine");
  spec.mutable_produced()->set_samples(5);
  spec.mutable_produced()->set_identity(std::string(16, 'x'));
  proto::ArrayField* const field = spec.mutable_produced()->add_fields();
  field->set_name("field0");
  field->set_kind(proto::ArrayField::ARRAY);
  field->set_dtype(proto::FLOAT32);
  field->add_shape(3);
  return spec;
}

TEST_CASE("A produced dataset has fields and no bytes",
          "[produced][produced_dataset]") {
  const auto dataset = *ProducedDataset::Create(Spec());
  CHECK(dataset->size() == 5);
  CHECK(dataset->is_produced());
  CHECK(dataset->affinity_workers() == 0);
  CHECK(dataset->uri() == "mine");
  CHECK(dataset->largest_sample() == 0);
  REQUIRE(dataset->fields().size() == 1);
  CHECK(dataset->fields()[0].longest == 12);
  CHECK(dataset->version()[3] == 'x');
  CHECK(dataset->At(4).length == 0);
  std::vector<FieldValue> values(1);
  dataset->ValuesOf(4, absl::MakeSpan(values));
  CHECK(std::get<FieldRange>(values[0]).length == 0);
}

TEST_CASE("A produced dataset's samples are read as nothing",
          "[produced][produced_dataset]") {
  const auto dataset = *ProducedDataset::Create(Spec());
  storage::memory::MemorySource source;
  storage::ReadRequest request;
  request.root = dataset->root();
  request.object = dataset->At(2).object;
  CHECK(storage::memory::MemorySource::Leads(*dataset->root()));
  const auto read = storage::ReadNow(source, std::move(request), {});
  REQUIRE_THAT(read, IsOk());
  CHECK(read->bytes.span().empty());
}

TEST_CASE("A produced dataset keeps on the host the fields that its spec says",
          "[produced][produced_dataset]") {
  proto::DatasetSpec spec = Spec();
  proto::Produced& produced = *spec.mutable_produced();
  *produced.add_fields() = produced.fields(0);
  produced.mutable_fields(1)->set_name("field1");
  produced.set_host_fields(1);
  const auto dataset = *ProducedDataset::Create(spec);
  CHECK(dataset->fields()[0].on_host);
  CHECK_FALSE(dataset->fields()[1].on_host);
}

TEST_CASE("A produced dataset refuses a spec that does not describe samples",
          "[produced][produced_dataset]") {
  proto::DatasetSpec spec = Spec();
  spec.mutable_produced()->set_identity("short");
  CHECK(ProducedDataset::Create(spec).status().message() ==
        "mine: an identity has 16 bytes, not 5");
  spec = Spec();
  spec.mutable_produced()->mutable_fields(0)->set_kind(
      proto::ArrayField::LABEL);
  CHECK(ProducedDataset::Create(spec).status().message() ==
        "mine: field0: workers make arrays alone");
  spec = Spec();
  spec.mutable_produced()->set_affinity_workers(257);
  CHECK(ProducedDataset::Create(spec).status().message() ==
        "mine: samples have affinity to at most 256 workers, not to 257");
  spec = Spec();
  spec.mutable_produced()->set_affinity_workers(2);
  spec.mutable_produced()->set_live(true);
  CHECK(ProducedDataset::Create(spec).status().message() ==
        "mine: a live dataset has affinity to one worker, not to 2");
  spec = Spec();
  spec.mutable_produced()->set_host_fields(2);
  CHECK(ProducedDataset::Create(spec).status().message() ==
        "mine: 2 of 1 fields cannot lie on the host");
  spec = Spec();
  spec.mutable_produced()->mutable_fields(0)->add_shape(UINT64_MAX);
  CHECK_FALSE(ProducedDataset::Create(spec).ok());
  spec.mutable_produced()->clear_fields();
  CHECK_FALSE(ProducedDataset::Create(spec).ok());
}

}  // namespace
}  // namespace forebay::dataset::produced
