#include "server/job/stream_directory.h"

#include <utility>

#include "absl/strings/str_cat.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace forebay::job {

std::optional<std::string> StreamKey(std::uint32_t uid,
                                     const proto::LoaderSpec& spec,
                                     const dataset::Dataset& dataset) {
  if (spec.sharing() != proto::LoaderSpec::ELASTIC &&
      spec.sharing() != proto::LoaderSpec::LOCKSTEP)
    return std::nullopt;
  // A list of samples, and a place in a coordinated order, is one loader's.
  if (spec.sampler().order() == proto::SamplerSpec::LISTED ||
      spec.sampler().order() == proto::SamplerSpec::COORDINATED)
    return std::nullopt;
  std::string roots;
  for (const dataset::Dataset* const source : dataset.sources()) {
    const auto root = source->root()->identity();
    if (root == nullptr) return std::nullopt;
    absl::StrAppend(&roots, root->size(), ":", *root,
                    reinterpret_cast<std::uintptr_t>(source->index()), ":");
  }
  // What is of one loader alone, or says of the place what the root's identity
  // says better.
  proto::LoaderSpec shaping = spec;
  shaping.clear_name();
  shaping.mutable_batch()->clear_depth();
  shaping.mutable_dataset()->clear_uri();
  // It may be long, and is kept: a digest of it, beside the version, does.
  const std::string of_dataset = shaping.dataset().SerializeAsString();
  const XXH128_hash_t digest =
      XXH3_128bits(of_dataset.data(), of_dataset.size());
  shaping.clear_dataset();
  const dataset::Version& version = dataset.version();
  // Of parts that each tell their length, no two different ones read alike.
  return absl::StrCat(
      uid, ":", roots.size(), ":", roots,
      absl::string_view(reinterpret_cast<const char*>(version.data()),
                        version.size()),
      absl::Hex(digest.high64, absl::kZeroPad16),
      absl::Hex(digest.low64, absl::kZeroPad16), shaping.SerializeAsString());
}

absl::StatusOr<std::shared_ptr<stream::Stream>> StreamDirectory::Find(
    const std::string& key, const Make& make) {
  base::MutexLock lock(&mutex_);
  std::erase_if(streams_,
                [](const auto& entry) { return entry.second.expired(); });
  if (const auto found = streams_.find(key); found != streams_.end()) {
    if (auto stream = found->second.lock()) return stream;
  }
  auto made = make();
  if (made.ok()) streams_[key] = *made;
  return made;
}

}  // namespace forebay::job
