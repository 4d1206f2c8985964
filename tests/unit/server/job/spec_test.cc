#include "server/job/spec.h"

#include <cmath>
#include <limits>
#include <string>

#include "proto/job.pb.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::job {
namespace {

using tests::IsOk;
using tests::StartsWith;

proto::JobIdentity Identity(const std::string& key, double weight = 0) {
  proto::JobIdentity identity;
  identity.set_key(key);
  identity.set_weight(weight);
  return identity;
}

TEST_CASE("A job's identity has a key and a positive weight", "[job][spec]") {
  CHECK_THAT(CheckIdentity(Identity("k")), IsOk());
  CHECK_THAT(CheckIdentity(Identity("k", 0.001)), IsOk());
  CHECK_THAT(CheckIdentity(Identity("k", 1000)), IsOk());
  CHECK_FALSE(CheckIdentity(Identity("")).ok());
  CHECK_FALSE(CheckIdentity(Identity(std::string(257, 'k'))).ok());
  for (const double weight :
       {-1.0, 0.0005, 1000.5, std::numeric_limits<double>::infinity(),
        std::numeric_limits<double>::quiet_NaN()}) {
    CAPTURE(weight);
    CHECK_FALSE(CheckIdentity(Identity("k", weight)).ok());
  }
  proto::JobIdentity long_name = Identity("k");
  long_name.set_name(std::string(257, 'n'));
  CHECK_FALSE(CheckIdentity(long_name).ok());
}

TEST_CASE("What changes in a job must be within its range", "[job][spec]") {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  CHECK_THAT(CheckChange({}), IsOk());
  for (const double rate : {1000.0, 1e15, kNone}) {
    CAPTURE(rate);
    CHECK_THAT(CheckChange({.max_read = rate}), IsOk());
  }
  for (const double rate : {0.0, 999.0, -kNone, kNan}) {
    CAPTURE(rate);
    CHECK_FALSE(CheckChange({.max_read = rate}).ok());
  }
  for (const double cpus : {0.01, 1024.0, kNone}) {
    CAPTURE(cpus);
    CHECK_THAT(CheckChange({.max_cpus = cpus}), IsOk());
  }
  for (const double cpus : {0.0, 0.009, 1025.0, -kNone, kNan}) {
    CAPTURE(cpus);
    CHECK_FALSE(CheckChange({.max_cpus = cpus}).ok());
  }
  CHECK_FALSE(CheckChange({.weight = 0, .max_cpus = 1}).ok());
  CHECK(CheckChange({.max_cpus = 0.001}).message() ==
        "a job may be kept to 0.01 to 1024 CPUs, not to 0.001");
}

TEST_CASE("A loader has a batch size within its range", "[job][spec]") {
  proto::LoaderSpec spec;
  CHECK_FALSE(CheckLoader(spec).ok());
  spec.mutable_batch()->set_batch_size(1);
  CHECK_THAT(CheckLoader(spec), IsOk());
  spec.mutable_batch()->set_batch_size(65536);
  CHECK_THAT(CheckLoader(spec), IsOk());
  spec.mutable_batch()->set_batch_size(65537);
  CHECK_FALSE(CheckLoader(spec).ok());
}

TEST_CASE("The check of a loader's spec names what is out of range",
          "[job][spec]") {
  proto::LoaderSpec spec;
  spec.mutable_batch()->set_batch_size(8);
  spec.mutable_batch()->set_depth(17);
  CHECK(CheckLoader(spec).message() == "depth is at most 16, not 17");
  spec.mutable_batch()->set_depth(16);
  CHECK_THAT(CheckLoader(spec), IsOk());
  for (const double seconds : {-1.0, 65537.0, std::nan("")}) {
    spec.mutable_batch()->set_max_seconds(seconds);
    CHECK_THAT(CheckLoader(spec).message(),
               StartsWith("max_seconds is more than 0 and at most"));
  }
  spec.mutable_batch()->set_max_seconds(0.5);
  CHECK_THAT(CheckLoader(spec), IsOk());
  spec.mutable_batch()->set_on_error(
      static_cast<proto::BatchSpec::OnError>(99));
  CHECK_FALSE(CheckLoader(spec).ok());
  spec.mutable_batch()->set_on_error(proto::BatchSpec::RAISE);
  spec.set_name(std::string(257, 'n'));
  CHECK_FALSE(CheckLoader(spec).ok());
}

TEST_CASE("A dataset is named by what is read from it", "[job][spec]") {
  proto::DatasetSpec spec;
  spec.set_uri("/data");
  CHECK(NameOf(spec) == "/data");
  spec.mutable_webdataset()->add_files("{0..9}.tar");
  CHECK(NameOf(spec) == "/data/{0..9}.tar");
  spec.mutable_webdataset()->add_files("b.tar");
  CHECK(NameOf(spec) == "/data/{0..9}.tar, ...");
  spec.mutable_manifest()->set_path("train.csv");
  CHECK(NameOf(spec) == "/data/train.csv");
}

}  // namespace
}  // namespace forebay::job
