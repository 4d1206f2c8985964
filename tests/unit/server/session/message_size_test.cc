#include "server/session/message_size.h"

#include <cstdint>
#include <string>

#include "proto/job.pb.h"
#include "proto/session.pb.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::session {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;

absl::StatusOr<std::uint64_t> SizeOfSpec(const std::string& wire) {
  return ParsedSize(wire, proto::LoaderSpec::descriptor());
}

std::uint64_t SizeOnceParsed(const std::string& wire) {
  proto::LoaderSpec spec;
  CHECK(spec.ParseFromString(wire));
  return spec.SpaceUsedLong();
}

TEST_CASE(
    "The computed size of a message is at least what the parsed message takes",
    "[session][message_size]") {
  proto::LoaderSpec nothing;
  proto::LoaderSpec parts;
  proto::LoaderSpec texts;
  proto::LoaderSpec numbers;
  proto::LoaderSpec kinds;
  for (int i = 0; i < 1000; ++i) {
    parts.mutable_dataset()->add_v3_parts();
    texts.mutable_dataset()->add_v3_shards(std::string(i, 'x'));
    kinds.mutable_dataset()
        ->mutable_concatenation()
        ->add_parts()
        ->mutable_manifest()
        ->add_columns()
        ->set_field("image");
    numbers.mutable_pipeline()->add_ops()->mutable_normalize()->add_mean(i);
    numbers.mutable_dataset()->add_v3_arrays()->add_shape(i);
  }
  numbers.mutable_dataset()->mutable_v3_arrays(0)->mutable_shape()->Resize(
      10'000, 1);
  for (const proto::LoaderSpec& spec :
       {nothing, parts, texts, numbers, kinds}) {
    const std::string wire = spec.SerializeAsString();
    const auto size = SizeOfSpec(wire);
    REQUIRE_THAT(size, IsOk());
    CHECK(*size >= SizeOnceParsed(wire));
    CHECK(*size <= 10 * SizeOnceParsed(wire) + 1000);
  }
}

TEST_CASE("Unknown fields count in the computed size of a message",
          "[session][message_size]") {
  const std::string unknown("\xfa\x7f\x04some", 7);
  std::string wire;
  for (int i = 0; i < 1000; ++i) wire += unknown;
  CHECK(*SizeOfSpec(wire) >= SizeOnceParsed(wire));
}

TEST_CASE("A message that holds too many messages is refused",
          "[session][message_size]") {
  std::string wire;
  for (int i = 0; i < 30'000; ++i) wire += std::string("\x4a\x00", 2);
  const std::string spec =
      std::string("\x0a\xe0\xd4\x03", 4) + wire;  // 60,000 bytes of dataset
  const absl::Status status = SizeOfSpec(spec).status();
  CHECK_THAT(status, HasCode(absl::StatusCode::kInvalidArgument));
  CHECK_THAT(status.message(), Contains("parts"));
}

TEST_CASE("Deep and malformed messages are refused",
          "[session][message_size]") {
  proto::DatasetSpec deep;
  for (int i = 0; i < 120; ++i) {
    proto::DatasetSpec around;
    *around.add_v3_parts() = deep;
    deep = around;
  }
  proto::LoaderSpec spec;
  *spec.mutable_dataset() = deep;
  CHECK_THAT(SizeOfSpec(spec.SerializeAsString()),
             HasCode(absl::StatusCode::kInvalidArgument));
  for (const std::string& wire :
       {std::string("\x0a"), std::string("\x0a\x05"), std::string("\x0b"),
        std::string(100, '\xff'), std::string("\x0a\x02\x4a\x05", 4)}) {
    const auto size = SizeOfSpec(wire);
    proto::LoaderSpec parsed;
    CHECK((!size.ok() || !parsed.ParseFromString(wire)));
  }
}

TEST_CASE("The computed size of a client's request counts all of its samples",
          "[session][message_size]") {
  proto::ClientMessage message;
  for (int i = 0; i < 1000; ++i) message.mutable_fetch()->add_samples(i);
  const std::string wire = message.SerializeAsString();
  CHECK(*ParsedSize(wire, proto::ClientMessage::descriptor()) >=
        1000 * sizeof(std::uint64_t));
}

}  // namespace
}  // namespace forebay::session
