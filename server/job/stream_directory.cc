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
  // A list of samples, or a member of a coordinated order, is one loader's.
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
  // These belong to one loader alone, or say less of the place than the root's
  // identity does.
  proto::LoaderSpec shaping = spec;
  shaping.clear_name();
  shaping.mutable_batch()->clear_depth();
  // One decode serves all GPUs.
  if (shaping.has_placement()) shaping.mutable_placement()->clear_gpu_uuid();
  shaping.mutable_dataset()->clear_uri();
  if (dataset.is_live()) {
    // The first one's memory serves all, however large the samples are.
    shaping.mutable_dataset()->clear_arrays();
    shaping.mutable_dataset()->clear_samples();
    shaping.clear_sharing();
  }
  // The key is kept, and this may be long: its digest is enough, beside the
  // version.
  const std::string of_dataset = shaping.dataset().SerializeAsString();
  const XXH128_hash_t digest =
      XXH3_128bits(of_dataset.data(), of_dataset.size());
  shaping.clear_dataset();
  const dataset::Version& version = dataset.version();
  // Each part has a known length, so different parts never make equal keys.
  return absl::StrCat(
      uid, ":", roots.size(), ":", roots,
      absl::string_view(reinterpret_cast<const char*>(version.data()),
                        version.size()),
      absl::Hex(digest.high64, absl::kZeroPad16),
      absl::Hex(digest.low64, absl::kZeroPad16), shaping.SerializeAsString());
}

absl::StatusOr<std::shared_ptr<stream::Stream>> StreamDirectory::Find(
    const std::string& key, const Make& make) {
  // Perhaps the last owner by now: its end must not hold up other loaders.
  std::shared_ptr<stream::Stream> stream;
  base::MutexLock lock(&mutex_);
  std::erase_if(streams_,
                [](const auto& entry) { return entry.second.expired(); });
  if (const auto found = streams_.find(key); found != streams_.end()) {
    stream = found->second.lock();
    if (stream != nullptr && !stream->HasEnded()) return stream;
  }
  auto made = make();
  if (made.ok()) streams_[key] = *made;
  return made;
}

}  // namespace forebay::job
