#include "server/session/request_key.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace forebay::session {
namespace {

proto::ClientMessage OpeningOn(const std::string& uuid) {
  proto::ClientMessage request;
  request.mutable_open_loader()
      ->mutable_spec()
      ->mutable_placement()
      ->set_gpu_uuid(uuid);
  return request;
}

TEST(RequestKeyTest, EachGpuHasAGroupOfItsOwn) {
  const RequestSubject subject = {
      .job = "job 7", .place = std::nullopt, .loader = nullptr};
  const RequestKey first = KeyOf(OpeningOn("a"), subject);
  const RequestKey second = KeyOf(OpeningOn("b"), subject);
  EXPECT_EQ(first.groups, (std::vector<std::string>{"job 7", "GPU a"}));
  EXPECT_EQ(second.groups, (std::vector<std::string>{"job 7", "GPU b"}));
  EXPECT_NE(first.name, second.name);
  const RequestKey end = KeyOfEnd("job 7", {"a", "b"});
  EXPECT_EQ(end.groups, (std::vector<std::string>{"GPU a", "GPU b"}));
  EXPECT_NE(end.name, KeyOfEnd("job 7").name);
}

TEST(RequestKeyTest, ALongUuidIsCut) {
  const RequestKey key =
      KeyOf(OpeningOn(std::string(1 << 20, 'x')),
            {.job = "job 7", .place = std::nullopt, .loader = nullptr});
  EXPECT_LT(key.name.size(), 100);
}

}  // namespace
}  // namespace forebay::session
