#include "server/job/spec.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

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
