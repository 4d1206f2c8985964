// The structs of tools/protoc write and read the same bytes as protobuf.

#include <array>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>

#include "proto/session.message.h"
#include "proto/session.pb.h"
#include "tests/catch/catch.h"

namespace forebay::message {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using Random = std::mt19937_64;

// The greatest depth of datasets within datasets.
constexpr int kMostDepth = 3;

// Returns a number of any magnitude, and often 0.
std::uint64_t Number(Random& random) { return random() >> random() % 65 % 64; }

std::string Text(Random& random, bool is_utf8) {
  std::string text(random() % 5, 0);
  for (char& c : text)
    c = static_cast<char>(is_utf8 ? random() % 128 : random());
  return text;
}

void Fill(Random& random, int depth, Message* message);

void FillField(Random& random, int depth, const FieldDescriptor& field,
               Message* message) {
  const auto& reflection = *message->GetReflection();
  const bool many = field.is_repeated();
  const auto set = [&](auto one, auto more, auto value) {
    many ? (reflection.*more)(message, &field, value)
         : (reflection.*one)(message, &field, value);
  };
  using R = google::protobuf::Reflection;
  const std::uint64_t number = Number(random);
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_UINT32:
      return set(&R::SetUInt32, &R::AddUInt32,
                 static_cast<std::uint32_t>(number));
    case FieldDescriptor::CPPTYPE_UINT64:
      return set(&R::SetUInt64, &R::AddUInt64, number);
    case FieldDescriptor::CPPTYPE_INT32:
      return set(&R::SetInt32, &R::AddInt32, static_cast<std::int32_t>(number));
    case FieldDescriptor::CPPTYPE_INT64:
      return set(&R::SetInt64, &R::AddInt64, static_cast<std::int64_t>(number));
    case FieldDescriptor::CPPTYPE_BOOL:
      return set(&R::SetBool, &R::AddBool, number % 2 == 1);
    case FieldDescriptor::CPPTYPE_DOUBLE: {
      constexpr double kDoubles[] = {0, -0.0, 1, -1e300, 5e-324};
      return set(&R::SetDouble, &R::AddDouble, kDoubles[random() % 5]);
    }
    case FieldDescriptor::CPPTYPE_ENUM:
      return set(&R::SetEnumValue, &R::AddEnumValue,
                 static_cast<std::int32_t>(random() % 40));
    case FieldDescriptor::CPPTYPE_STRING: {
      const bool is_utf8 = field.type() == FieldDescriptor::TYPE_STRING;
      return set(&R::SetString, &R::AddString, Text(random, is_utf8));
    }
    case FieldDescriptor::CPPTYPE_MESSAGE:
      if (depth == 0) return;
      return Fill(random, depth - 1,
                  many ? reflection.AddMessage(message, &field)
                       : reflection.MutableMessage(message, &field));
    default:
      FAIL("fields of the type of " << field.full_name() << " are not tested");
  }
}

// Fills about half of the fields. Repeated fields get up to three elements.
void Fill(Random& random, int depth, Message* message) {
  const auto& descriptor = *message->GetDescriptor();
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const FieldDescriptor& field = *descriptor.field(i);
    if (random() % 2 == 0) continue;
    const auto count = field.is_repeated() ? random() % 4 : 1;
    for (std::uint64_t n = 0; n < count; ++n)
      FillField(random, depth, field, message);
  }
}

// Checks that `Struct` has all fields of `Protobuf`: bytes of random messages
// survive a round trip.
template <typename Struct, typename Protobuf>
void CheckSurvives(Random& random) {
  for (int round = 0; round < 500; ++round) {
    Protobuf sent;
    Fill(random, kMostDepth, &sent);
    const std::string bytes = sent.SerializeAsString();
    Struct received;
    REQUIRE(Parse(bytes, &received));
    const std::string again = Serialize(received);
    if (again != bytes) FAIL(sent.DebugString());
  }
}

TEST_CASE("Messages survive byte for byte as structs", "[proto][message]") {
  const auto seed = std::random_device()();
  INFO("seed " << seed);
  Random random(seed);
  CheckSurvives<ClientMessage, proto::ClientMessage>(random);
  CheckSurvives<DaemonMessage, proto::DaemonMessage>(random);
  CheckSurvives<LoaderSpec, proto::LoaderSpec>(random);
  CheckSurvives<ClassList, proto::ClassList>(random);
}

TEST_CASE("A message that comes twice is merged as protobuf merges it",
          "[proto][message]") {
  const auto seed = std::random_device()();
  INFO("seed " << seed);
  Random random(seed);
  for (int round = 0; round < 500; ++round) {
    proto::LoaderSpec first;
    proto::LoaderSpec second;
    Fill(random, kMostDepth, &first);
    Fill(random, kMostDepth, &second);
    const std::string bytes =
        first.SerializeAsString() + second.SerializeAsString();
    proto::LoaderSpec merged;
    REQUIRE(merged.ParseFromString(bytes));
    LoaderSpec received;
    REQUIRE(Parse(bytes, &received));
    if (Serialize(received) != merged.SerializeAsString())
      FAIL(first.DebugString() << "and" << second.DebugString());
  }
}

TEST_CASE("Structs read numbers that are longer than they need be",
          "[proto][message]") {
  // The value of classes_in_memfd is 0, in two bytes.
  const std::string bytes = {'\x22', 3, '\x38', '\x80', 0};
  proto::DaemonMessage message;
  REQUIRE(message.ParseFromString(bytes));
  REQUIRE_FALSE(message.loader_opened().classes_in_memfd());
  DaemonMessage received;
  REQUIRE(Parse(bytes, &received));
  CHECK_FALSE(std::get<LoaderOpened>(received.kind).classes_in_memfd);
}

TEST_CASE("Structs refuse messages that are cut off", "[proto][message]") {
  // A bool lacks its value. The parser must not read past the end.
  const std::array<char, 3> bytes = {'\x22', 1, '\x38'};
  DaemonMessage received;
  CHECK_FALSE(Parse({bytes.data(), bytes.size()}, &received));
}

TEST_CASE("Structs pass over fields and kinds that they do not know",
          "[proto][message]") {
  // Field 1000 is a varint, field 1001 has bytes.
  const std::string unknown = {'\xc0', '\x3e', 7, '\xca', '\x3e', 2, 'a', 'b'};
  DaemonMessage received;
  REQUIRE(Parse(unknown + std::string({'\x08', 9}), &received));
  CHECK(received.request_id == 9);
  CHECK(std::holds_alternative<std::monostate>(received.kind));
}

TEST_CASE("Structs refuse datasets within datasets without end",
          "[proto][message]") {
  std::string bytes;
  for (int depth = 0; depth < 200; ++depth) {
    proto::DatasetSpec empty;
    std::string outer = "\x4a";  // DatasetSpec.v3_parts
    std::size_t size = bytes.size();
    for (; size >= 128; size >>= 7)
      outer += static_cast<char>(size % 128 + 128);
    outer += static_cast<char>(size);
    bytes.insert(0, outer);
  }
  DatasetSpec received;
  CHECK_FALSE(Parse(bytes, &received));
  proto::DatasetSpec message;
  CHECK_FALSE(message.ParseFromString(bytes));
}

// Any bytes are a message or an error.
TEST_CASE("Structs survive garbage", "[proto][message]") {
  const auto seed = std::random_device()();
  INFO("seed " << seed);
  Random random(seed);
  proto::DaemonMessage message;
  message.set_request_id(3);
  message.mutable_loader_opened()->mutable_classes()->add_names("cat");
  message.mutable_loader_opened()->set_dataset_version("short");
  const std::string good = message.SerializeAsString();
  int refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = good;
    for (int change = 0; change < 3; ++change)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    bytes.resize(random() % (bytes.size() + 1));
    DaemonMessage received;
    if (!Parse(bytes, &received)) ++refused;
  }
  CHECK(refused > 0);
}

}  // namespace
}  // namespace forebay::message
