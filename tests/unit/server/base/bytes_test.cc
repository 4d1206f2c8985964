#include "server/base/bytes.h"

#include <memory>
#include <optional>
#include <vector>

#include "tests/catch/catch.h"

namespace forebay::base {
namespace {

TEST_CASE("Copies of bytes share their owner and keep it alive",
          "[base][bytes]") {
  auto owner =
      std::make_shared<const std::vector<std::uint8_t>>(3, std::uint8_t{7});
  const std::weak_ptr<const std::vector<std::uint8_t>> watch = owner;
  std::optional<Bytes> bytes(Bytes(owner, *owner));
  owner.reset();
  std::optional<Bytes> copy = bytes;
  bytes.reset();
  CHECK(copy->size() == 3);
  CHECK(copy->data() == watch.lock()->data());
  CHECK(copy->span()[2] == 7);
  copy.reset();
  CHECK(watch.expired());
}

TEST_CASE("Bytes made of nothing are empty", "[base][bytes]") {
  CHECK(Bytes().size() == 0);
}

}  // namespace
}  // namespace forebay::base
