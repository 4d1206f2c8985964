#include "server/job/spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "proto/job.pb.h"

namespace forebay::job {
namespace {

proto::JobIdentity Identity(const std::string& key, double weight = 0) {
  proto::JobIdentity identity;
  identity.set_key(key);
  identity.set_weight(weight);
  return identity;
}

TEST(SpecTest, AnIdentityHasAKeyAndAPositiveWeight) {
  EXPECT_TRUE(CheckIdentity(Identity("k")).ok());
  EXPECT_TRUE(CheckIdentity(Identity("k", 0.001)).ok());
  EXPECT_TRUE(CheckIdentity(Identity("k", 1000)).ok());
  EXPECT_FALSE(CheckIdentity(Identity("")).ok());
  EXPECT_FALSE(CheckIdentity(Identity(std::string(257, 'k'))).ok());
  for (const double weight :
       {-1.0, 0.0005, 1000.5, std::numeric_limits<double>::infinity(),
        std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_FALSE(CheckIdentity(Identity("k", weight)).ok()) << weight;
  }
  proto::JobIdentity long_name = Identity("k");
  long_name.set_name(std::string(257, 'n'));
  EXPECT_FALSE(CheckIdentity(long_name).ok());
}

TEST(SpecTest, WhatChangesIsWithinItsRange) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(CheckChange({}).ok());
  for (const double rate : {1000.0, 1e15, kNone})
    EXPECT_TRUE(CheckChange({.max_read = rate}).ok()) << rate;
  for (const double rate : {0.0, 999.0, -kNone, kNan})
    EXPECT_FALSE(CheckChange({.max_read = rate}).ok()) << rate;
  for (const double cpus : {0.01, 1024.0, kNone})
    EXPECT_TRUE(CheckChange({.max_cpus = cpus}).ok()) << cpus;
  for (const double cpus : {0.0, 0.009, 1025.0, -kNone, kNan})
    EXPECT_FALSE(CheckChange({.max_cpus = cpus}).ok()) << cpus;
  EXPECT_FALSE(CheckChange({.weight = 0, .max_cpus = 1}).ok());
  EXPECT_EQ(CheckChange({.max_cpus = 0.001}).message(),
            "a job may be kept to 0.01 to 1024 CPUs, not to 0.001");
}

TEST(SpecTest, ALoaderHasABatchSizeWithinItsRange) {
  proto::LoaderSpec spec;
  EXPECT_FALSE(CheckLoader(spec).ok());
  spec.mutable_batch()->set_batch_size(1);
  EXPECT_TRUE(CheckLoader(spec).ok());
  spec.mutable_batch()->set_batch_size(65536);
  EXPECT_TRUE(CheckLoader(spec).ok());
  spec.mutable_batch()->set_batch_size(65537);
  EXPECT_FALSE(CheckLoader(spec).ok());
}

TEST(SpecTest, NamesWhatIsOutOfRange) {
  proto::LoaderSpec spec;
  spec.mutable_batch()->set_batch_size(8);
  spec.mutable_batch()->set_depth(17);
  EXPECT_EQ(CheckLoader(spec).message(), "depth is at most 16, not 17");
  spec.mutable_batch()->set_depth(16);
  EXPECT_TRUE(CheckLoader(spec).ok());
  for (const double seconds : {-1.0, 65537.0, std::nan("")}) {
    spec.mutable_batch()->set_max_seconds(seconds);
    EXPECT_THAT(std::string(CheckLoader(spec).message()),
                testing::StartsWith("max_seconds is more than 0 and at most"));
  }
  spec.mutable_batch()->set_max_seconds(0.5);
  EXPECT_TRUE(CheckLoader(spec).ok());
  spec.mutable_batch()->set_on_error(
      static_cast<proto::BatchSpec::OnError>(99));
  EXPECT_FALSE(CheckLoader(spec).ok());
  spec.mutable_batch()->set_on_error(proto::BatchSpec::RAISE);
  spec.set_name(std::string(257, 'n'));
  EXPECT_FALSE(CheckLoader(spec).ok());
}

TEST(SpecTest, NamesDatasetsByWhatIsRead) {
  proto::DatasetSpec spec;
  spec.set_uri("/data");
  EXPECT_EQ(NameOf(spec), "/data");
  spec.add_shards("{0..9}.tar");
  EXPECT_EQ(NameOf(spec), "/data/{0..9}.tar");
  spec.add_shards("b.tar");
  EXPECT_EQ(NameOf(spec), "/data/{0..9}.tar, ...");
  spec.clear_shards();
  spec.set_manifest("train.csv");
  EXPECT_EQ(NameOf(spec), "/data/train.csv");
}

}  // namespace
}  // namespace forebay::job
