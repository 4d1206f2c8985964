#include "server/session/awaited_place.h"

#include <fcntl.h>

#include <string>
#include <vector>

#include "server/base/fd.h"
#include "tests/catch/catch.h"

namespace forebay::session {
namespace {

base::Fd Open(const char* path) {
  return base::Fd(open(path, O_RDONLY | O_CLOEXEC));
}

TEST_CASE("A request for a URL waits for the URL's host",
          "[session][awaited_place]") {
  CHECK(HostOf("http://10.0.0.7:8080/a/b") == "http://10.0.0.7:8080");
  CHECK(HostOf("HTTPS://Example.ORG?x=/") == "https://example.org");
  CHECK(HostOf("https://me:p@ss@example.org/x") == "https://example.org");
  CHECK(HostOf("s3://bucket/a") == "s3://bucket");
  CHECK(HostOf("hdfs:///a") == "hdfs://");
  CHECK(HostOf("http://") == "http://");
  CHECK(HostOf("nonsense") == "nonsense");
  CHECK_THAT(HostOf(""), Catch::Equals(""));
}

TEST_CASE("The texts of an awaited place are bounded",
          "[session][awaited_place]") {
  const std::string first = "http://" + std::string(60'000, 'a');
  const AwaitedPlace place = PlaceOf(first, -1);
  CHECK(place.uri.size() < 600);
  CHECK(place.host.size() < 600);
  CHECK(place.group != PlaceOf(first + "b", -1).group);
}

TEST_CASE("A request for a folder waits for the folder's mount",
          "[session][awaited_place]") {
  const base::Fd proc = Open("/proc");
  const base::Fd tmp = Open("/tmp");
  const base::Fd below = Open("/proc/self");
  const AwaitedPlace place = PlaceOf("file:///data/train", proc.get());
  CHECK(place.uri == "/data/train");
  CHECK_THAT(place.host, Catch::Equals(""));
  CHECK(place.group == PlaceOf("/other", below.get()).group);
  CHECK(place.group != PlaceOf("/data/train", tmp.get()).group);
  CHECK(PlaceOf("/data/train", -1).group == "/data/train");
}

// A folder may have any name, even one like a URI.
TEST_CASE(
    "A descriptor makes an awaited place a folder even with the URI of a host",
    "[session][awaited_place]") {
  const base::Fd tmp = Open("/tmp");
  CHECK_THAT(PlaceOf("http://x/y", tmp.get()).host, Catch::Equals(""));
}

TEST_CASE("A dataset of parts waits for the first part that has a place",
          "[session][awaited_place]") {
  proto::DatasetSpec spec;
  proto::Concatenation& parts = *spec.mutable_concatenation();
  proto::DatasetSpec& arrays = *parts.add_parts();
  arrays.mutable_arrays();
  arrays.set_descriptors(1);
  proto::DatasetSpec& subset = *parts.add_parts();
  subset.set_descriptors(2);
  proto::DatasetSpec& folder = *subset.mutable_subset()->mutable_part();
  folder.mutable_image_folder();
  folder.set_uri("/data");
  folder.set_descriptors(1);
  std::vector<base::Fd> fds;
  fds.push_back(Open("/dev/null"));
  fds.push_back(Open("/proc"));
  fds.push_back(Open("/dev/null"));
  const auto place = PlaceOf(spec, fds);
  REQUIRE(place.has_value());
  CHECK(place->uri == "/data");
  CHECK(place->group == PlaceOf("/data", fds[1].get()).group);
  // Fewer descriptors may arrive than the spec says.
  fds.clear();
  CHECK(PlaceOf(spec, fds)->group == "/data");
}

TEST_CASE("A manifest in memory is not taken for a folder",
          "[session][awaited_place]") {
  proto::DatasetSpec spec;
  spec.mutable_manifest();
  spec.set_uri("http://images/train");
  std::vector<base::Fd> fds;
  fds.push_back(Open("/dev/null"));
  CHECK(PlaceOf(spec, fds)->host == "http://images");
  spec.set_uri("/data");
  fds.insert(fds.begin(), Open("/proc"));
  CHECK(PlaceOf(spec, fds)->group == PlaceOf("/data", fds[0].get()).group);
}

TEST_CASE("A dataset that lies in memory waits for nothing",
          "[session][awaited_place]") {
  proto::DatasetSpec spec;
  spec.mutable_arrays();
  CHECK_FALSE(PlaceOf(spec, {}).has_value());
  spec.mutable_produced();
  CHECK_FALSE(PlaceOf(spec, {}).has_value());
}

}  // namespace
}  // namespace forebay::session
