#include "server/dataset/tfrecord/example.h"

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/dataset/tfrecord/example_builder.h"

namespace forebay::dataset::tfrecord {
namespace {

using tests::HasCode;
using tests::IsOk;

// Returns the features of a record by name. A later feature replaces an earlier
// one with the same name.
std::map<std::string, Feature> Features(const std::string& record) {
  std::map<std::string, Feature> found;
  CHECK_THAT(ReadFeatures(AsBytes(record),
                          [&](const Feature& feature) {
                            found[std::string(feature.name)] = feature;
                          }),
             IsOk());
  return found;
}

FeatureValues Values(const Feature& feature) {
  auto values = FeatureValues::Read(feature);
  CHECK_THAT(values, IsOk());
  return *std::move(values);
}

template <typename Number>
std::vector<Number> Numbers(const FeatureValues& values) {
  std::vector<Number> numbers(values.count());
  values.CopyNumbers({reinterpret_cast<std::uint8_t*>(numbers.data()),
                      numbers.size() * sizeof(Number)});
  return numbers;
}

constexpr std::int64_t kLeast = INT64_MIN;

TEST_CASE("The tf.train.Example reader reads lists of each type",
          "[tfrecord][example]") {
  const std::vector<float> floats = {1.5f, -0.0f, 1e30f};
  const std::vector<std::int64_t> integers = {0,   -1,     127,
                                              128, kLeast, INT64_MAX};
  for (const bool compressed : {true, false}) {
    const std::string record =
        Example({{"bytes", BytesFeature({"", "xyz"})},
                 {"floats", FloatFeature(floats, compressed)},
                 {"integers", Int64Feature(integers, compressed)},
                 {"none", ""},
                 {"empty", Int64Feature({}, compressed)}});
    const auto features = Features(record);
    REQUIRE(features.size() == 5);
    const FeatureValues bytes = Values(features.at("bytes"));
    CHECK(bytes.kind() == ValueKind::kBytes);
    CHECK(bytes.count() == 2);
    CHECK(bytes.last_bytes() == AsBytes("xyz"));
    CHECK(Values(features.at("floats")).kind() == ValueKind::kFloat);
    CHECK(Numbers<float>(Values(features.at("floats"))) == floats);
    CHECK(Values(features.at("integers")).kind() == ValueKind::kInt64);
    CHECK(Numbers<std::int64_t>(Values(features.at("integers"))) == integers);
    CHECK(Values(features.at("none")).kind() == ValueKind::kNone);
    CHECK(Values(features.at("empty")).kind() == ValueKind::kInt64);
    CHECK(Values(features.at("empty")).count() == 0);
  }
}

TEST_CASE("The tf.train.Example reader reads an integer of any size",
          "[tfrecord][example]") {
  for (const std::int64_t number : {std::int64_t{0}, std::int64_t{300}, kLeast})
    CHECK(Values(Features(Example({{"a", Int64Feature({number})}})).at("a"))
              .integer() == number);
}

TEST_CASE("The tf.train.Example reader reads the steps of feature lists",
          "[tfrecord][example]") {
  const std::string record = SequenceExample(
      {{"label", Int64Feature({7})}},
      {{"pairs", FeatureList({FloatFeature({1, 2}), FloatFeature({3, 4})})},
       {"uneven", FeatureList({Int64Feature({1}), Int64Feature({2, 3})})},
       {"words", FeatureList({BytesFeature({"a"}), BytesFeature({"b"})})},
       {"empty", ""}});
  const auto features = Features(record);
  REQUIRE(features.size() == 5);
  CHECK_FALSE(features.at("label").is_list);
  CHECK(features.at("pairs").is_list);
  const FeatureValues pairs = Values(features.at("pairs"));
  CHECK(Numbers<float>(pairs) == std::vector<float>{1, 2, 3, 4});
  CHECK(pairs.count_each() == 2);
  const FeatureValues uneven = Values(features.at("uneven"));
  CHECK(Numbers<std::int64_t>(uneven) == std::vector<std::int64_t>{1, 2, 3});
  CHECK(uneven.count_each() == 0);
  CHECK(Values(features.at("words")).count() == 2);
  CHECK(Values(features.at("empty")).count() == 0);
}

TEST_CASE("The tf.train.Example reader refuses steps of several kinds",
          "[tfrecord][example]") {
  const std::string record = SequenceExample(
      {}, {{"mixed", FeatureList({FloatFeature({1}), Int64Feature({2})})}});
  CHECK(FeatureValues::Read(Features(record).at("mixed")).status() ==
        absl::InvalidArgumentError(
            "has steps of several types, which are not a list"));
}

// Protocol buffers merge the parts of a message in the same way.
TEST_CASE(
    "The tf.train.Example reader takes the last kind of a feature's several "
    "lists",
    "[tfrecord][example]") {
  const std::string first = Example({{"a", Int64Feature({1})}});
  const std::string second = Example({{"a", Int64Feature({2})}});
  CHECK(Values(Features(first + second).at("a")).integer() == 2);
  const Feature several{.name = "a", .is_list = false, .message = {}};
  const std::string lists =
      FloatFeature({9}) + Int64Feature({1, 2}) + Int64Feature({3});
  Feature feature = several;
  feature.message = AsBytes(lists);
  CHECK(Numbers<std::int64_t>(Values(feature)) ==
        std::vector<std::int64_t>{1, 2, 3});
}

TEST_CASE("The tf.train.Example reader passes over fields of later versions",
          "[tfrecord][example]") {
  const std::string later = "\x4a\x03xyz\x50\x05";  // fields 9 and 10
  const std::string record =
      later + Example({{"a", later + Int64Feature({5})}});
  CHECK(Values(Features(record).at("a")).integer() == 5);
}

TEST_CASE("The tf.train.Example reader reports each truncation",
          "[tfrecord][example]") {
  const std::string record = Example({{"text", BytesFeature({"some text"})},
                                      {"integers", Int64Feature({1, 300})},
                                      {"floats", FloatFeature({1, 2})}});
  for (std::size_t length = 1; length < record.size(); ++length) {
    const absl::Status status =
        ReadFeatures(AsBytes(record.substr(0, length)), [](const Feature&) {});
    CAPTURE(length);
    CHECK_THAT(status, HasCode(absl::StatusCode::kDataLoss));
  }
}

TEST_CASE("The tf.train.Example reader reads no mutated record out of bounds",
          "[tfrecord][example]") {
  const std::string record = SequenceExample(
      {{"text", BytesFeature({"t"})}, {"integers", Int64Feature({1, 300})}},
      {{"floats",
        FeatureList({FloatFeature({1, 2}), FloatFeature({3}, false)})}});
  std::size_t read = 0;
  for (std::size_t at = 0; at < record.size(); ++at) {
    for (int value = 0; value < 256; ++value) {
      std::string mutated = record;
      mutated[at] = static_cast<char>(value);
      const auto each = [](const Feature& feature) {
        const auto values = FeatureValues::Read(feature);
        if (!values.ok() || values->kind() == ValueKind::kBytes) return;
        std::vector<std::uint8_t> numbers(values->number_bytes());
        values->CopyNumbers(absl::MakeSpan(numbers));
      };
      read += ReadFeatures(AsBytes(mutated), each).ok();
    }
  }
  // Each byte once gets its own value, which leaves the record undamaged.
  CHECK(read >= record.size());
}

}  // namespace
}  // namespace forebay::dataset::tfrecord
