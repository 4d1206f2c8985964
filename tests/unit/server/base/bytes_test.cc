#include "server/base/bytes.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <vector>

namespace forebay::base {
namespace {

TEST(BytesTest, CopiesShareAndKeepAlive) {
  auto owner =
      std::make_shared<const std::vector<std::uint8_t>>(3, std::uint8_t{7});
  const std::weak_ptr<const std::vector<std::uint8_t>> watch = owner;
  std::optional<Bytes> bytes(Bytes(owner, *owner));
  owner.reset();
  std::optional<Bytes> copy = bytes;
  bytes.reset();
  EXPECT_EQ(copy->size(), 3);
  EXPECT_EQ(copy->data(), watch.lock()->data());
  EXPECT_EQ(copy->span()[2], 7);
  copy.reset();
  EXPECT_TRUE(watch.expired());
}

TEST(BytesTest, NoneAreEmpty) { EXPECT_EQ(Bytes().size(), 0); }

}  // namespace
}  // namespace forebay::base
