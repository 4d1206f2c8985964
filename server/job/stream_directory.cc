#include "server/job/stream_directory.h"

#include <algorithm>
#include <iterator>
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
  // A list of samples, or a member of a coordinated order, belongs to one
  // loader.
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
  // The cleared fields either do not shape a batch, or identify the place less
  // exactly than the root's identity does.
  proto::LoaderSpec shaping = spec;
  shaping.clear_name();
  shaping.mutable_batch()->clear_depth();
  // A batch is decoded once for all GPUs, so the GPU does not matter.
  if (shaping.has_placement()) shaping.mutable_placement()->clear_gpu_uuid();
  shaping.mutable_dataset()->clear_uri();
  if (dataset.is_live()) {
    // The first loader's dataset serves all loaders from its memory, so their
    // descriptions of it need not be equal.
    shaping.mutable_dataset()->mutable_produced()->clear_fields();
    shaping.mutable_dataset()->mutable_produced()->clear_samples();
    shaping.clear_sharing();
  }
  // The dataset's spec may be long, and the key lives as long as the stream.
  // Together with the dataset's version, a digest of 128 bits is enough.
  const std::string of_dataset = shaping.dataset().SerializeAsString();
  const XXH128_hash_t digest =
      XXH3_128bits(of_dataset.data(), of_dataset.size());
  shaping.clear_dataset();
  const dataset::Version& version = dataset.version();
  // The key shows where each part ends, so two keys are equal only if all their
  // parts are equal.
  return absl::StrCat(
      uid, ":", roots.size(), ":", roots,
      absl::string_view(reinterpret_cast<const char*>(version.data()),
                        version.size()),
      absl::Hex(digest.high64, absl::kZeroPad16),
      absl::Hex(digest.low64, absl::kZeroPad16), shaping.SerializeAsString());
}

StreamDirectory::Streams StreamDirectory::Lookup(const std::string& key) {
  Streams found;
  base::MutexLock lock(&mutex_);
  for (auto entry = streams_.begin(); entry != streams_.end();) {
    std::erase_if(entry->second,
                  [](const auto& stream) { return stream.expired(); });
    entry = entry->second.empty() ? streams_.erase(entry) : std::next(entry);
  }
  const auto entry = streams_.find(key);
  if (entry == streams_.end()) return found;
  for (const auto& weak : entry->second) {
    if (auto stream = weak.lock()) found.push_back(std::move(stream));
  }
  return found;
}

bool StreamDirectory::Add(const std::string& key,
                          const std::shared_ptr<stream::Stream>& stream,
                          const Streams& earlier) {
  base::MutexLock lock(&mutex_);
  auto& entry = streams_[key];
  // A stream that has expired has no members, so it need not be followed.
  for (const auto& weak : entry) {
    const auto is_it = [&](const auto& other) {
      return !weak.owner_before(other) && !other.owner_before(weak);
    };
    if (!weak.expired() && std::none_of(earlier.begin(), earlier.end(), is_it))
      return false;
  }
  entry.push_back(stream);
  return true;
}

// A stream is made without the mutex, and added only if the key still has the
// streams that it follows. If another loader has added a stream meanwhile, and
// that stream suits, that stream is used and the new one is dropped. If it does
// not suit, the new stream follows it too, and Find tries again to add the new
// stream. In each round, another loader was served, so the loop ends.
absl::StatusOr<std::shared_ptr<stream::Stream>> StreamDirectory::Find(
    const std::string& key, const Suits& suits, const Make& make) {
  const auto last = [&](const Streams& streams) {
    const bool serves = !streams.empty() && !streams.back()->HasEnded() &&
                        suits(*streams.back());
    return serves ? streams.back() : nullptr;
  };
  // This list may become the last owner of a stream. Streams are made and
  // destroyed without the mutex, because both may take long.
  Streams streams = Lookup(key);
  if (auto found = last(streams)) return found;
  auto stream = make();
  for (;;) {
    // Another loader may have added a stream of the key meanwhile.
    streams = Lookup(key);
    if (auto found = last(streams)) return found;
    if (!stream.ok()) return stream;
    for (const auto& earlier : streams) (*stream)->Follow(*earlier);
    if (Add(key, *stream, streams)) return stream;
  }
}

}  // namespace forebay::job
