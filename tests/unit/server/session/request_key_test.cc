#include "server/session/request_key.h"

#include <string>
#include <vector>

#include "tests/catch/catch.h"

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

TEST_CASE("Each GPU has a group of its own in the keys of requests",
          "[session][request_key]") {
  const RequestSubject subject = {
      .job = "job 7", .place = std::nullopt, .loader = nullptr};
  const RequestKey first = KeyOf(OpeningOn("a"), subject);
  const RequestKey second = KeyOf(OpeningOn("b"), subject);
  CHECK(first.groups == std::vector<std::string>{"job 7", "GPU a"});
  CHECK(second.groups == std::vector<std::string>{"job 7", "GPU b"});
  CHECK(first.name != second.name);
  const RequestKey end = KeyOfEnd("job 7", {"a", "b"});
  CHECK(end.groups == std::vector<std::string>{"GPU a", "GPU b"});
  CHECK(end.name != KeyOfEnd("job 7").name);
}

TEST_CASE("A long GPU UUID is cut in the key of a request",
          "[session][request_key]") {
  const RequestKey key =
      KeyOf(OpeningOn(std::string(1 << 20, 'x')),
            {.job = "job 7", .place = std::nullopt, .loader = nullptr});
  CHECK(key.name.size() < 100);
}

}  // namespace
}  // namespace forebay::session
