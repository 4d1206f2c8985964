#include "server/dataset/memory/array_dataset.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "proto/dataset.pb.h"
#include "proto/raw_image.h"
#include "server/base/memory_budget.h"
#include "server/storage/memory/memory_source.h"
#include "server/storage/read_now.h"
#include "tests/unit/server/base/sealed_numbers.h"

namespace forebay::dataset::memory {
namespace {

constexpr std::uint64_t kRecord = sizeof(proto::RawImageHeader) + 6 + 8 + 8;

proto::ArrayField* Add(proto::DatasetSpec* spec, const std::string& name,
                       proto::ArrayField::Kind kind,
                       const std::vector<std::uint64_t>& shape,
                       proto::DataType dtype = proto::UINT8) {
  proto::ArrayField* const field = spec->add_arrays();
  field->set_name(name);
  field->set_kind(kind);
  field->set_dtype(dtype);
  for (const std::uint64_t extent : shape) field->add_shape(extent);
  return field;
}

proto::DatasetSpec Spec(std::uint64_t samples) {
  proto::DatasetSpec spec;
  spec.set_uri("mine");
  spec.set_format(proto::DatasetSpec::ARRAYS);
  spec.set_samples(samples);
  Add(&spec, "image", proto::ArrayField::IMAGE, {1, 2, 3});
  Add(&spec, "label", proto::ArrayField::LABEL, {});
  Add(&spec, "extra", proto::ArrayField::ARRAY, {2, 2}, proto::INT16);
  return spec;
}

// Records whose label is their number.
std::string Records(std::uint64_t samples) {
  std::string all;
  for (std::uint64_t i = 0; i < samples; ++i) {
    std::string record(kRecord, static_cast<char>('a' + i));
    std::memcpy(record.data() + sizeof(proto::RawImageHeader) + 6, &i, 8);
    all += record;
  }
  return all;
}

class ArrayDatasetTest : public testing::Test {
 protected:
  absl::StatusOr<std::shared_ptr<const Dataset>> Open(
      const proto::DatasetSpec& spec, const std::string& bytes) {
    return ArrayDataset::Create(
        spec, *base::SealedMemory::Map(base::Memfd(bytes.data(), bytes.size()),
                                       &budget_, "arrays"));
  }
  std::string Refusal(const proto::DatasetSpec& spec,
                      const std::string& bytes) {
    const auto dataset = Open(spec, bytes);
    EXPECT_EQ(dataset.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(budget_.used(), 0);
    return std::string(dataset.status().message());
  }

  base::MemoryBudget budget_{1 << 20};
};

TEST_F(ArrayDatasetTest, SaysWhatEachSampleIs) {
  const auto dataset = *Open(Spec(3), Records(3));
  EXPECT_EQ(dataset->size(), 3);
  ASSERT_EQ(dataset->fields().size(), 3);
  EXPECT_EQ(dataset->fields()[2].array,
            (ArrayType{.dtype = proto::DType::kInt16, .shape = {2, 2}}));
  EXPECT_EQ(dataset->largest_sample(), kRecord);
  EXPECT_EQ(dataset->uri(), "mine");
  std::vector<FieldValue> values(3);
  dataset->ValuesOf(2, absl::MakeSpan(values));
  EXPECT_EQ(std::get<FieldRange>(values[0]).offset, 0);
  EXPECT_EQ(std::get<FieldRange>(values[0]).length, 22);
  EXPECT_EQ(std::get<std::int64_t>(values[1]), 2);
  EXPECT_EQ(std::get<FieldRange>(values[2]).offset, 30);
  EXPECT_EQ(std::get<FieldRange>(values[2]).length, 8);
}

TEST_F(ArrayDatasetTest, ItsBytesAreReadWithoutACopy) {
  const auto dataset = *Open(Spec(3), Records(3));
  storage::memory::MemorySource source;
  const auto read = [&](std::uint64_t offset, std::uint64_t length) {
    storage::ReadRequest request;
    request.root = dataset->root();
    request.object = dataset->At(1).object;
    request.offset = offset;
    request.length = length;
    return storage::ReadNow(source, std::move(request), {});
  };
  const Sample sample = dataset->At(1);
  const auto result = read(sample.offset, sample.length);
  ASSERT_TRUE(result.ok()) << result.status();
  const base::Bytes& bytes = result->bytes;
  const std::string expected = Records(3).substr(kRecord, kRecord);
  EXPECT_EQ(std::string(bytes.span().begin(), bytes.span().end()), expected);
  EXPECT_EQ(read(sample.offset, sample.length)->bytes.data(), bytes.data());
  EXPECT_FALSE(read(3 * kRecord - 1, 2).ok());
  EXPECT_FALSE(read(~std::uint64_t{0}, 1).ok());
  EXPECT_TRUE(storage::memory::MemorySource::Leads(*dataset->root()));
}

TEST_F(ArrayDatasetTest, VersionAndIdentityAreOfTheContent) {
  const auto one = *Open(Spec(3), Records(3));
  const auto same = *Open(Spec(3), Records(3));
  EXPECT_EQ(one->version(), same->version());
  EXPECT_EQ(*one->root()->identity(), *same->root()->identity());
  std::string other = Records(3);
  other[5] ^= 1;
  EXPECT_NE((*Open(Spec(3), other))->version(), one->version());
  proto::DatasetSpec renamed = Spec(3);
  renamed.mutable_arrays(2)->set_name("other");
  EXPECT_NE((*Open(renamed, Records(3)))->version(), one->version());
}

TEST_F(ArrayDatasetTest, RefusesWhatDoesNotFit) {
  EXPECT_EQ(Refusal(Spec(3), Records(2)),
            "mine: 3 samples of 38 bytes are not the 76 bytes that came");
  EXPECT_NE(Refusal(Spec(~std::uint64_t{0}), Records(2)), "");
  EXPECT_EQ(Refusal({}, ""), ": samples in memory have 1 to 15 fields");
  proto::DatasetSpec many;
  for (int i = 0; i < 16; ++i) Add(&many, "x", proto::ArrayField::LABEL, {});
  EXPECT_NE(Refusal(many, ""), "");
}

TEST_F(ArrayDatasetTest, RefusesFieldsThatAreNone) {
  const auto refusal =
      [&](proto::ArrayField::Kind kind, const std::vector<std::uint64_t>& shape,
          proto::DataType dtype = proto::UINT8, const std::string& name = "x") {
        proto::DatasetSpec spec;
        spec.set_uri("mine");
        Add(&spec, name, kind, shape, dtype);
        return Refusal(spec, "");
      };
  const auto image = proto::ArrayField::IMAGE;
  const auto array = proto::ArrayField::ARRAY;
  EXPECT_EQ(refusal(image, {4, 4}),
            "mine: x: an image has a height, a width and 1 or 3 channels");
  EXPECT_NE(refusal(image, {4, 4, 2}), "");
  EXPECT_NE(refusal(image, {0, 4, 3}), "");
  EXPECT_NE(refusal(image, {std::uint64_t{1} << 33, 4, 3}), "");
  EXPECT_EQ(refusal(array, {std::uint64_t{1} << 40, std::uint64_t{1} << 40}),
            "mine: x: its shape is too large");
  EXPECT_EQ(refusal(array, {0, std::uint64_t{1} << 63}),
            "mine: x: its shape is too large");
  EXPECT_EQ(refusal(array, {1, 1, 1, 1, 1, 1}),
            "mine: x: a sample has at most 5 dimensions");
  EXPECT_EQ(refusal(array, {1}, static_cast<proto::DataType>(99)),
            "mine: x: data type 99 is not known");
  EXPECT_EQ(refusal(static_cast<proto::ArrayField::Kind>(9), {1}),
            "mine: x: kind 9 is not known");
  for (const std::string& name :
       {std::string(), std::string(32, 'x'), std::string("a\0b", 3)}) {
    EXPECT_EQ(refusal(array, {1}, proto::UINT8, name),
              "mine: a field's name has 1 to 31 bytes");
  }
}

}  // namespace
}  // namespace forebay::dataset::memory
