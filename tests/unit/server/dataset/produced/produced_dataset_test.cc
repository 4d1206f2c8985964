#include "server/dataset/produced/produced_dataset.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "proto/dataset.pb.h"
#include "server/storage/memory/memory_source.h"
#include "server/storage/read_now.h"

namespace forebay::dataset::produced {
namespace {

proto::DatasetSpec Spec() {
  proto::DatasetSpec spec;
  spec.set_uri("mine");
  spec.set_format(proto::DatasetSpec::PRODUCED);
  spec.set_samples(5);
  spec.set_identity(std::string(16, 'x'));
  proto::ArrayField* const field = spec.add_arrays();
  field->set_name("field0");
  field->set_kind(proto::ArrayField::ARRAY);
  field->set_dtype(proto::FLOAT32);
  field->add_shape(3);
  return spec;
}

TEST(ProducedDatasetTest, HasFieldsAndNoBytes) {
  const auto dataset = *ProducedDataset::Create(Spec());
  EXPECT_EQ(dataset->size(), 5);
  EXPECT_TRUE(dataset->is_produced());
  EXPECT_EQ(dataset->lanes(), 0);
  EXPECT_EQ(dataset->uri(), "mine");
  EXPECT_EQ(dataset->largest_sample(), 0);
  ASSERT_EQ(dataset->fields().size(), 1);
  EXPECT_EQ(dataset->fields()[0].longest, 12);
  EXPECT_EQ(dataset->version()[3], 'x');
  EXPECT_EQ(dataset->At(4).length, 0);
  std::vector<FieldValue> values(1);
  dataset->ValuesOf(4, absl::MakeSpan(values));
  EXPECT_EQ(std::get<FieldRange>(values[0]).length, 0);
}

TEST(ProducedDatasetTest, ItsSamplesAreReadAsNothing) {
  const auto dataset = *ProducedDataset::Create(Spec());
  storage::memory::MemorySource source;
  storage::ReadRequest request;
  request.root = dataset->root();
  request.object = dataset->At(2).object;
  EXPECT_TRUE(storage::memory::MemorySource::Leads(*dataset->root()));
  const auto read = storage::ReadNow(source, std::move(request), {});
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->bytes.span().size(), 0);
}

TEST(ProducedDatasetTest, KeepsFieldsOnTheHost) {
  proto::DatasetSpec spec = Spec();
  *spec.add_arrays() = spec.arrays(0);
  spec.mutable_arrays(1)->set_name("field1");
  spec.set_host_fields(1);
  const auto dataset = *ProducedDataset::Create(spec);
  EXPECT_TRUE(dataset->fields()[0].on_host);
  EXPECT_FALSE(dataset->fields()[1].on_host);
}

TEST(ProducedDatasetTest, RefusesWhatDescribesNoSamples) {
  proto::DatasetSpec spec = Spec();
  spec.set_identity("short");
  EXPECT_EQ(ProducedDataset::Create(spec).status().message(),
            "mine: an identity has 16 bytes, not 5");
  spec = Spec();
  spec.mutable_arrays(0)->set_kind(proto::ArrayField::LABEL);
  EXPECT_EQ(ProducedDataset::Create(spec).status().message(),
            "mine: field0: producers make arrays alone");
  spec = Spec();
  spec.set_lanes(257);
  EXPECT_EQ(ProducedDataset::Create(spec).status().message(),
            "mine: there are at most 256 lanes, not 257");
  spec = Spec();
  spec.set_lanes(2);
  spec.set_live(true);
  EXPECT_EQ(ProducedDataset::Create(spec).status().message(),
            "mine: a live dataset has one lane, not 2");
  spec = Spec();
  spec.set_host_fields(2);
  EXPECT_EQ(ProducedDataset::Create(spec).status().message(),
            "mine: 2 of 1 fields cannot lie on the host");
  spec = Spec();
  spec.mutable_arrays(0)->add_shape(UINT64_MAX);
  EXPECT_FALSE(ProducedDataset::Create(spec).ok());
  spec.clear_arrays();
  EXPECT_FALSE(ProducedDataset::Create(spec).ok());
}

}  // namespace
}  // namespace forebay::dataset::produced
