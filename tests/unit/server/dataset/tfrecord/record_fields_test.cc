#include "server/dataset/tfrecord/record_fields.h"

#include <cstring>
#include <string>
#include <variant>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/dataset/tfrecord/example_builder.h"

namespace forebay::dataset::tfrecord {
namespace {

using tests::Contains;
using tests::ElementsAre;
using tests::HasCode;
using tests::IsOk;
using tests::StartsWith;

RecordFields Fields(const std::vector<std::string>& names,
                    const std::vector<std::string>& types) {
  auto fields = RecordFields::OfExamples(names, types);
  CHECK_THAT(fields, IsOk());
  return *std::move(fields);
}

// Returns the values of fields in a payload, in readable form.
std::vector<std::string> Read(const RecordFields& fields,
                              const std::string& payload) {
  const std::string record = "before" + payload;
  const auto bytes = AsBytes(record);
  std::vector<FieldValue> values(fields.fields().size());
  ValueBuffers buffers;
  const absl::Status status =
      fields.Read(bytes, bytes.subspan(6), absl::MakeSpan(values), &buffers);
  if (!status.ok()) return {std::string(status.message())};
  std::vector<std::string> found;
  for (const FieldValue& value : values) {
    if (const auto* const number = std::get_if<std::int64_t>(&value)) {
      found.push_back("number " + std::to_string(*number));
    } else if (const auto* const computed =
                   std::get_if<ComputedBytes>(&value)) {
      found.push_back("made " + std::string(computed->bytes.begin(),
                                            computed->bytes.end()));
    } else {
      const auto& range = std::get<FieldRange>(value);
      found.push_back("bytes " + record.substr(range.offset, range.length));
    }
  }
  return found;
}

template <typename Number>
std::string Raw(std::vector<Number> numbers) {
  return {reinterpret_cast<const char*>(numbers.data()),
          numbers.size() * sizeof(Number)};
}

TEST_CASE("Record fields read features in the fields' order",
          "[tfrecord][record_fields]") {
  const std::string payload = Example({{"label", Int64Feature({-5})},
                                       {"left out", BytesFeature({"x"})},
                                       {"text", BytesFeature({"a text"})},
                                       {"floats", FloatFeature({1, 2})},
                                       {"raw", BytesFeature({"abcd"})},
                                       {"integers", Int64Feature({1, 2, 3})}});
  CHECK(Read(Fields({"text", "label", "floats", "raw", "integers"},
                    {"text", "int64", "float32[2]", "uint16[2]", "int64[n]"}),
             payload) ==
        std::vector<std::string>{"bytes a text", "number -5",
                                 "made " + Raw<float>({1, 2}), "made abcd",
                                 "made " + Raw<std::int64_t>({1, 2, 3})});
}

TEST_CASE("Record fields read missing lists of any length as empty",
          "[tfrecord][record_fields]") {
  const RecordFields fields = Fields({"a", "b"}, {"float32[n]", "int64[n,2]"});
  CHECK(Read(fields, Example({{"b", Int64Feature({})}})) ==
        std::vector<std::string>{"made ", "made "});
  CHECK(Read(fields, Example({{"a", ""}, {"b", Int64Feature({1, 2})}})) ==
        std::vector<std::string>{"made ", "made " + Raw<std::int64_t>({1, 2})});
}

TEST_CASE("Record fields say which feature a record lacks",
          "[tfrecord][record_fields]") {
  CHECK_THAT(
      Read(Fields({"c"}, {"int64"}),
           Example({{"b", Int64Feature({1})}, {"a", BytesFeature({"x"})}})),
      ElementsAre("has no feature c; it has a, b"));
  CHECK_THAT(Read(Fields({"c"}, {"int64"}), ""),
             ElementsAre("has no feature c; it has none"));
  Named many;
  for (int i = 10; i < 30; ++i)
    many.emplace_back(std::to_string(i), Int64Feature({1}));
  CHECK_THAT(Read(Fields({"c"}, {"int64"}), Example(many))[0],
             Contains(", 25 and 4 more"));
}

TEST_CASE("Record fields say which type a record has instead",
          "[tfrecord][record_fields]") {
  const std::string payload = Example({{"i", Int64Feature({1, 2})},
                                       {"f", FloatFeature({1})},
                                       {"b", BytesFeature({"abc"})},
                                       {"several", BytesFeature({"a", "b"})}});
  const struct {
    const char* name;
    const char* type;
    const char* reason;
  } cases[] = {
      {"i", "int64",
       "i: has 2 values of type int64, which is not int64; for any number of "
       "them, its type ends in \"[n]\""},
      {"i", "int64[3]",
       "i: has 2 values of type int64, which is not int64[3]; for any number "
       "of "
       "them, its type ends in \"[n]\""},
      {"i", "int64[n,3]", "i: has 2 values of type int64, which is not "},
      {"i", "float32[2]",
       "i: has 2 values of type int64, which is not float32[2]"},
      {"f", "int64", "f: has 1 values of type float, which is not int64"},
      {"f", "jpg", "f: has 1 values of type float, which is not image"},
      {"b", "uint16[n]", "b: has 1 values of type bytes, which is not uint16"},
      {"b", "uint8[4]", "b: has 1 values of type bytes, which is not uint8[4]"},
      {"several", "bytes",
       "several: has 2 values of type bytes, which is not bytes"},
      {"several", "uint8[n]", "several: has 2 values of type bytes, which is"},
  };
  for (const auto& one : cases) {
    CHECK_THAT(Read(Fields({one.name}, {one.type}), payload)[0],
               StartsWith(one.reason));
  }
}

TEST_CASE("Record fields may be the whole payload of a record",
          "[tfrecord][record_fields]") {
  CHECK(Read(*RecordFields::OfPayload("bytes"), "abc") ==
        std::vector<std::string>{"bytes abc"});
  CHECK(Read(*RecordFields::OfPayload("uint8[n]"), "abc") ==
        std::vector<std::string>{"made abc"});
  CHECK(Read(*RecordFields::OfPayload("uint8[3]"), "abc") ==
        std::vector<std::string>{"made abc"});
  CHECK(Read(*RecordFields::OfPayload("uint8[4]"), "abc") ==
        std::vector<std::string>{"has 3 bytes, which are not uint8[4]"});
}

TEST_CASE("Record fields report damage of a record",
          "[tfrecord][record_fields]") {
  CHECK(Read(Fields({"a"}, {"int64"}), "\x0a\x7f") ==
        std::vector<std::string>{"is not a tf.train.Example, or damaged"});
  CHECK(Read(Fields({"a"}, {"int64"}), Example({{"a", "\x1a\x7f"}})) ==
        std::vector<std::string>{"a: is not a tf.train.Example, or damaged"});
}

TEST_CASE("Record fields measure the longest and the shortest value",
          "[tfrecord][record_fields]") {
  const RecordFields fields = Fields({"a", "b"}, {"float32[n]", "text"});
  std::vector<records::LengthBounds> bounds;
  fields.Measure(AsBytes(Example({{"a", FloatFeature({1, 2, 3})},
                                  {"b", BytesFeature({"abcde"})}})),
                 &bounds);
  fields.Measure(AsBytes(Example({{"b", BytesFeature({"ab"})}})), &bounds);
  fields.Measure(AsBytes("\x0a\x7f"), &bounds);
  REQUIRE(bounds.size() == 2);
  CHECK(bounds[0] == records::LengthBounds{0, 12});
  CHECK(bounds[1] == records::LengthBounds{2, 5});
}

TEST_CASE("The text of record fields makes the fields again",
          "[tfrecord][record_fields]") {
  for (const RecordFields& fields :
       {Fields({"a b", "c\n"}, {"float32[n,3]", "image"}),
        *RecordFields::OfPayload("json")}) {
    const auto again = RecordFields::Parse(fields.text());
    REQUIRE_THAT(again, IsOk());
    CHECK(again->fields() == fields.fields());
    CHECK(again->is_payload() == fields.is_payload());
  }
  for (const std::string text :
       {"", "tfrecord", "tfrecord examples", "tfrecord payloads"}) {
    CAPTURE(text);
    CHECK_THAT(RecordFields::Parse(text), HasCode(absl::StatusCode::kDataLoss));
  }
  const std::string odd("tfrecord examples\0a", 19);
  CHECK_THAT(RecordFields::Parse(odd), HasCode(absl::StatusCode::kDataLoss));
}

TEST_CASE("Record fields that are not valid are refused",
          "[tfrecord][record_fields]") {
  const std::string long_name(proto::kMaxFieldName, 'a');
  const struct {
    std::vector<std::string> names;
    std::vector<std::string> types;
    const char* reason;
  } cases[] = {
      {{}, {}, "1 to 15 fields must be chosen, each with a type"},
      {{"a"}, {}, "not 1 with 0 types"},
      {{"a", "a"}, {"text", "text"}, "the field a comes twice"},
      {{"a"}, {"quux"}, "a: \"quux\" is not a type"},
      {{""}, {"text"}, "is not a field: a name of 1 to 31 bytes is wanted"},
      {{long_name}, {"text"}, "is not a field: a name of 1 to 31 bytes"},
      {std::vector<std::string>(16, "a"), std::vector<std::string>(16, "text"),
       "not 16"},
  };
  for (const auto& one : cases) {
    const auto fields = RecordFields::OfExamples(one.names, one.types);
    CHECK_THAT(fields, HasCode(absl::StatusCode::kInvalidArgument));
    CHECK_THAT(fields.status().message(), Contains(one.reason));
  }
}

}  // namespace
}  // namespace forebay::dataset::tfrecord
