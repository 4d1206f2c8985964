#include "server/dataset/memory/array_dataset.h"

#include <cstring>
#include <string>
#include <vector>

#include "proto/dataset.pb.h"
#include "proto/raw_image.h"
#include "server/base/memory_budget.h"
#include "server/storage/memory/memory_source.h"
#include "server/storage/read_now.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/base/sealed_numbers.h"

namespace forebay::dataset::memory {
namespace {

using tests::HasCode;
using tests::IsOk;

constexpr std::uint64_t kRecord = sizeof(proto::RawImageHeader) + 6 + 8 + 8;

proto::ArrayField* Add(proto::DatasetSpec* spec, const std::string& name,
                       proto::ArrayField::Kind kind,
                       const std::vector<std::uint64_t>& shape,
                       proto::DataType dtype = proto::UINT8) {
  proto::ArrayField* const field = spec->mutable_arrays()->add_fields();
  field->set_name(name);
  field->set_kind(kind);
  field->set_dtype(dtype);
  for (const std::uint64_t extent : shape) field->add_shape(extent);
  return field;
}

proto::DatasetSpec Spec(std::uint64_t samples) {
  proto::DatasetSpec spec;
  spec.set_uri("mine");
  spec.mutable_arrays()->set_samples(samples);
  Add(&spec, "image", proto::ArrayField::IMAGE, {1, 2, 3});
  Add(&spec, "label", proto::ArrayField::LABEL, {});
  Add(&spec, "extra", proto::ArrayField::ARRAY, {2, 2}, proto::INT16);
  return spec;
}

// Returns records, each with its own number as its label.
std::string Records(std::uint64_t samples) {
  std::string all;
  for (std::uint64_t i = 0; i < samples; ++i) {
    std::string record(kRecord, static_cast<char>('a' + i));
    std::memcpy(record.data() + sizeof(proto::RawImageHeader) + 6, &i, 8);
    all += record;
  }
  return all;
}

class ArrayDatasetTest {
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
    CHECK_THAT(dataset, HasCode(absl::StatusCode::kInvalidArgument));
    CHECK(budget_.used() == 0);
    return std::string(dataset.status().message());
  }

  base::MemoryBudget budget_{1 << 20};
};

TEST_CASE_METHOD(ArrayDatasetTest, "An array dataset says what each sample is",
                 "[memory][array_dataset]") {
  const auto dataset = *Open(Spec(3), Records(3));
  CHECK(dataset->size() == 3);
  REQUIRE(dataset->fields().size() == 3);
  CHECK(dataset->fields()[2].array ==
        ArrayType{.dtype = proto::DType::kInt16, .shape = {2, 2}});
  CHECK(dataset->largest_sample() == kRecord);
  CHECK(dataset->uri() == "mine");
  std::vector<FieldValue> values(3);
  dataset->ValuesOf(2, absl::MakeSpan(values));
  CHECK(std::get<FieldRange>(values[0]).offset == 0);
  CHECK(std::get<FieldRange>(values[0]).length == 22);
  CHECK(std::get<std::int64_t>(values[1]) == 2);
  CHECK(std::get<FieldRange>(values[2]).offset == 30);
  CHECK(std::get<FieldRange>(values[2]).length == 8);
}

TEST_CASE_METHOD(ArrayDatasetTest,
                 "An array dataset's bytes are read without a copy",
                 "[memory][array_dataset]") {
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
  REQUIRE_THAT(result, IsOk());
  const base::Bytes& bytes = result->bytes;
  const std::string expected = Records(3).substr(kRecord, kRecord);
  CHECK(std::string(bytes.span().begin(), bytes.span().end()) == expected);
  CHECK(read(sample.offset, sample.length)->bytes.data() == bytes.data());
  CHECK_FALSE(read(3 * kRecord - 1, 2).ok());
  CHECK_FALSE(read(~std::uint64_t{0}, 1).ok());
  CHECK(storage::memory::MemorySource::Leads(*dataset->root()));
}

TEST_CASE_METHOD(
    ArrayDatasetTest,
    "An array dataset's version and identity are those of its content",
    "[memory][array_dataset]") {
  const auto one = *Open(Spec(3), Records(3));
  const auto same = *Open(Spec(3), Records(3));
  CHECK(one->version() == same->version());
  CHECK(*one->root()->identity() == *same->root()->identity());
  std::string other = Records(3);
  other[5] ^= 1;
  CHECK((*Open(Spec(3), other))->version() != one->version());
  proto::DatasetSpec renamed = Spec(3);
  renamed.mutable_arrays()->mutable_fields(2)->set_name("other");
  CHECK((*Open(renamed, Records(3)))->version() != one->version());
}

TEST_CASE_METHOD(ArrayDatasetTest,
                 "An array dataset refuses samples and fields that do not fit",
                 "[memory][array_dataset]") {
  CHECK(Refusal(Spec(3), Records(2)) ==
        "mine: 3 samples of 38 bytes are not the 76 bytes that came");
  CHECK_FALSE(Refusal(Spec(~std::uint64_t{0}), Records(2)).empty());
  CHECK(Refusal({}, "") == ": samples in memory have 1 to 15 fields");
  proto::DatasetSpec many;
  for (int i = 0; i < 16; ++i) Add(&many, "x", proto::ArrayField::LABEL, {});
  CHECK_FALSE(Refusal(many, "").empty());
}

TEST_CASE_METHOD(ArrayDatasetTest,
                 "An array dataset refuses fields that are not valid",
                 "[memory][array_dataset]") {
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
  CHECK(refusal(image, {4, 4}) ==
        "mine: x: an image has a height, a width and 1 or 3 channels");
  CHECK_FALSE(refusal(image, {4, 4, 2}).empty());
  CHECK_FALSE(refusal(image, {0, 4, 3}).empty());
  CHECK_FALSE(refusal(image, {std::uint64_t{1} << 33, 4, 3}).empty());
  CHECK(refusal(array, {std::uint64_t{1} << 40, std::uint64_t{1} << 40}) ==
        "mine: x: its shape is too large");
  CHECK(refusal(array, {0, std::uint64_t{1} << 63}) ==
        "mine: x: its shape is too large");
  CHECK(refusal(array, {1, 1, 1, 1, 1, 1}) ==
        "mine: x: a sample has at most 5 dimensions");
  CHECK(refusal(array, {1}, static_cast<proto::DataType>(99)) ==
        "mine: x: data type 99 is not known");
  CHECK(refusal(static_cast<proto::ArrayField::Kind>(9), {1}) ==
        "mine: x: kind 9 is not known");
  for (const std::string& name :
       {std::string(), std::string(32, 'x'), std::string("a\0b", 3)}) {
    CHECK(refusal(array, {1}, proto::UINT8, name) ==
          "mine: a field's name has 1 to 31 bytes");
  }
}

}  // namespace
}  // namespace forebay::dataset::memory
