#include "server/session/awaited_place.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/base/fd.h"

namespace forebay::session {
namespace {

base::Fd Open(const char* path) {
  return base::Fd(open(path, O_RDONLY | O_CLOEXEC));
}

TEST(AwaitedPlaceTest, AUrlWaitsForItsHost) {
  EXPECT_EQ(HostOf("http://10.0.0.7:8080/a/b"), "http://10.0.0.7:8080");
  EXPECT_EQ(HostOf("HTTPS://Example.ORG?x=/"), "https://example.org");
  EXPECT_EQ(HostOf("https://me:p@ss@example.org/x"), "https://example.org");
  EXPECT_EQ(HostOf("s3://bucket/a"), "s3://bucket");
  EXPECT_EQ(HostOf("hdfs:///a"), "hdfs://");
  EXPECT_EQ(HostOf("http://"), "http://");
  EXPECT_EQ(HostOf("nonsense"), "nonsense");
  EXPECT_EQ(HostOf(""), "");
}

TEST(AwaitedPlaceTest, TextsAreBounded) {
  const std::string first = "http://" + std::string(60'000, 'a');
  const AwaitedPlace place = PlaceOf(first, -1);
  EXPECT_LT(place.uri.size(), 600);
  EXPECT_LT(place.host.size(), 600);
  EXPECT_NE(place.group, PlaceOf(first + "b", -1).group);
}

TEST(AwaitedPlaceTest, AFolderWaitsForItsMount) {
  const base::Fd proc = Open("/proc");
  const base::Fd tmp = Open("/tmp");
  const base::Fd below = Open("/proc/self");
  const AwaitedPlace place = PlaceOf("file:///data/train", proc.get());
  EXPECT_EQ(place.uri, "/data/train");
  EXPECT_EQ(place.host, "");
  EXPECT_EQ(place.group, PlaceOf("/other", below.get()).group);
  EXPECT_NE(place.group, PlaceOf("/data/train", tmp.get()).group);
  EXPECT_EQ(PlaceOf("/data/train", -1).group, "/data/train");
}

// A folder may have any name.
TEST(AwaitedPlaceTest, ADescriptorMakesItAFolder) {
  const base::Fd tmp = Open("/tmp");
  EXPECT_EQ(PlaceOf("http://x/y", tmp.get()).host, "");
}

TEST(AwaitedPlaceTest, ADatasetOfPartsWaitsForTheFirst) {
  proto::DatasetSpec spec;
  spec.set_format(proto::DatasetSpec::CONCATENATION);
  proto::DatasetSpec& arrays = *spec.add_parts();
  arrays.set_format(proto::DatasetSpec::ARRAYS);
  arrays.set_descriptors(1);
  proto::DatasetSpec& subset = *spec.add_parts();
  subset.set_format(proto::DatasetSpec::SUBSET);
  subset.set_descriptors(2);
  proto::DatasetSpec& folder = *subset.add_parts();
  folder.set_format(proto::DatasetSpec::IMAGE_FOLDER);
  folder.set_uri("/data");
  folder.set_descriptors(1);
  std::vector<base::Fd> fds;
  fds.push_back(Open("/dev/null"));
  fds.push_back(Open("/proc"));
  fds.push_back(Open("/dev/null"));
  const auto place = PlaceOf(spec, fds);
  ASSERT_TRUE(place.has_value());
  EXPECT_EQ(place->uri, "/data");
  EXPECT_EQ(place->group, PlaceOf("/data", fds[1].get()).group);
  // As many as it says, or fewer, may have come.
  fds.clear();
  EXPECT_EQ(PlaceOf(spec, fds)->group, "/data");
}

TEST(AwaitedPlaceTest, AManifestInMemoryIsNoFolder) {
  proto::DatasetSpec spec;
  spec.set_format(proto::DatasetSpec::MANIFEST);
  spec.set_uri("http://images/train");
  std::vector<base::Fd> fds;
  fds.push_back(Open("/dev/null"));
  EXPECT_EQ(PlaceOf(spec, fds)->host, "http://images");
  spec.set_uri("/data");
  fds.insert(fds.begin(), Open("/proc"));
  EXPECT_EQ(PlaceOf(spec, fds)->group, PlaceOf("/data", fds[0].get()).group);
}

TEST(AwaitedPlaceTest, WhatLiesInMemoryWaitsForNothing) {
  proto::DatasetSpec spec;
  spec.set_format(proto::DatasetSpec::ARRAYS);
  EXPECT_FALSE(PlaceOf(spec, {}).has_value());
  spec.set_format(proto::DatasetSpec::PRODUCED);
  EXPECT_FALSE(PlaceOf(spec, {}).has_value());
}

}  // namespace
}  // namespace forebay::session
