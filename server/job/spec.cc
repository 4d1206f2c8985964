#include "server/job/spec.h"

#include <cmath>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/dataset/spec_contents.h"

namespace forebay::job {
namespace {

// The limits that proto/job.proto and control.h document.
constexpr std::size_t kMaxName = 256;
constexpr std::size_t kLongestUri = 4096;
constexpr std::uint32_t kMaxBatchSize = 65536;
constexpr std::uint32_t kMaxDepth = 16;
constexpr double kMaxSeconds = 65536;  // of a batch
constexpr double kMinRead = 1000;      // bytes a second
constexpr double kMinCpus = 0.01;
constexpr double kMaxCpus = 1024;

// Returns whether `value` is from `least` to `most`; false for NaN.
bool IsWithin(double value, double least, double most) {
  return value >= least && value <= most;
}

}  // namespace

absl::Status CheckIdentity(const proto::JobIdentity& identity) {
  if (identity.key().empty() || identity.key().size() > kMaxName) {
    return absl::InvalidArgumentError(absl::StrCat("a job's key has 1 to ",
                                                   kMaxName, " bytes, not ",
                                                   identity.key().size()));
  }
  if (identity.name().size() > kMaxName) {
    return absl::InvalidArgumentError(
        absl::StrCat("a job's name has at most ", kMaxName, " bytes"));
  }
  return identity.weight() == 0 ? absl::OkStatus()
                                : CheckWeight(identity.weight());
}

absl::Status CheckWeight(double weight) {
  if (std::isnan(weight) || weight < 0.001 || weight > 1000) {
    return absl::InvalidArgumentError(
        absl::StrCat("a job's weight is 0.001 to 1000, not ", weight));
  }
  return absl::OkStatus();
}

absl::Status CheckChange(const JobChange& change) {
  if (change.weight.has_value()) {
    FOREBAY_RETURN_IF_ERROR(CheckWeight(*change.weight));
  }
  constexpr double kNoCap = std::numeric_limits<double>::infinity();
  if (change.max_read.has_value() &&
      !IsWithin(*change.max_read, kMinRead, kNoCap)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a job may be kept to ", kMinRead,
                     " bytes a second and more, not to ", *change.max_read));
  }
  if (change.max_cpus.has_value() && *change.max_cpus != kNoCap &&
      !IsWithin(*change.max_cpus, kMinCpus, kMaxCpus)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a job may be kept to ", kMinCpus, " to ", kMaxCpus,
                     " CPUs, not to ", *change.max_cpus));
  }
  return absl::OkStatus();
}

absl::Status CheckLoader(const proto::LoaderSpec& spec) {
  if (spec.name().size() > kMaxName) {
    return absl::InvalidArgumentError(
        absl::StrCat("a loader's name has at most ", kMaxName, " bytes"));
  }
  const proto::BatchSpec& batch = spec.batch();
  if (batch.batch_size() < 1 || batch.batch_size() > kMaxBatchSize) {
    return absl::InvalidArgumentError(absl::StrCat(
        "batch_size is 1 to ", kMaxBatchSize, ", not ", batch.batch_size()));
  }
  if (!IsWithin(batch.max_seconds(), 0, kMaxSeconds)) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_seconds is more than 0 and at most ", kMaxSeconds,
                     ", not ", batch.max_seconds()));
  }
  if (batch.depth() > kMaxDepth) {
    return absl::InvalidArgumentError(
        absl::StrCat("depth is at most ", kMaxDepth, ", not ", batch.depth()));
  }
  if (!proto::BatchSpec::OnError_IsValid(batch.on_error())) {
    return absl::InvalidArgumentError(
        "on_error is neither raise nor substitute");
  }
  if (!proto::LoaderSpec::Sharing_IsValid(spec.sharing())) {
    return absl::InvalidArgumentError(
        "sharing is neither elastic nor lockstep nor off");
  }
  if (spec.sampler().order() == proto::SamplerSpec::COORDINATED &&
      batch.on_error() == proto::BatchSpec::SUBSTITUTE) {
    return absl::InvalidArgumentError(
        "a coordinated order shows each sample exactly once, and so can not "
        "substitute one for another: use on_error=\"raise\"");
  }
  return absl::OkStatus();
}

std::string NameOf(const proto::DatasetSpec& spec) {
  std::string name = spec.uri();
  const std::string& manifest = spec.manifest().path();
  const auto& files = dataset::FilesOf(spec);
  if (!manifest.empty()) absl::StrAppend(&name, "/", manifest);
  if (!files.empty()) absl::StrAppend(&name, "/", files[0]);
  if (files.size() > 1) absl::StrAppend(&name, ", ...");
  if (name.size() > kLongestUri) name.resize(kLongestUri);
  return name;
}

}  // namespace forebay::job
