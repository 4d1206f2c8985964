#ifndef FOREBAY_SERVER_DATASET_SHARDS_SAMPLE_GROUPING_H_
#define FOREBAY_SERVER_DATASET_SHARDS_SAMPLE_GROUPING_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "server/base/working_memory.h"
#include "server/dataset/shards/sample_name.h"
#include "server/dataset/shards/tar_walk.h"

namespace forebay::dataset::shards {

// A member of a shard that is part of a sample.
struct SamplePart {
  std::string extension;
  std::uint64_t offset = 0;        // bytes into the shard
  std::uint64_t length = 0;        // bytes
  std::uint32_t decompressed = 0;  // bytes; see TarMember
};

// A sample: consecutive members of a shard with the same key.
struct GroupedSample {
  std::string key;
  std::vector<SamplePart> parts;
  // The extensions of links with the sample's key. Links are not parts of
  // samples.
  std::vector<std::string> links = {};
};

// Groups the members of one shard into samples as webdataset does. Consecutive
// members with the same key form a sample. A member without a key does not end
// the sample before it. A sample with a non-empty member "__bad__" is left out.
// Links are not parts of samples, but the first links of each sample are
// recorded, so that an error can say why the sample lacks a member.
//
// Not thread-safe. Owns the incomplete sample, and counts it in `memory`, which
// outlives this object. Never blocks. RESOURCE_EXHAUSTED: `memory` cannot grow.
// INVALID_ARGUMENT, naming shard and key: a sample has two members with one
// extension, or an extension that webdataset reserves.
class SampleGrouping {
 public:
  SampleGrouping(std::string shard, base::WorkingMemory* memory)
      : shard_(std::move(shard)), memory_(memory) {}

  // Adds the shard's next member. If `member` begins another sample, appends
  // the sample before it, now complete, to `samples`.
  absl::Status Add(const TarMember& member,
                   std::vector<GroupedSample>* samples);

  // Appends the last sample to `samples`. Called after the last member.
  void Finish(std::vector<GroupedSample>* samples);

 private:
  // A link that does not have the incomplete sample's key.
  struct Link {
    std::string key;
    std::string extension;
  };

  // Records a link, for the incomplete sample or for the next sample.
  void NoteLink(SampleName name);
  // Begins a sample. Moves the links in links_ that have its key to the sample.
  void Begin(std::string_view key);

  // Whether the incomplete sample has a part with the extension `extension`. If
  // not, the caller must add such a part next.
  bool HasExtension(const std::string& extension);

  std::string shard_;
  base::WorkingMemory* memory_;
  std::uint64_t counted_ = 0;  // bytes of the parts, as counted in memory_
  std::optional<GroupedSample> current_;
  // The extensions of the incomplete sample's parts. Empty while the parts are
  // few.
  std::unordered_set<std::string> extensions_;
  bool current_is_bad_ = false;
  // Links with other keys, found since the incomplete sample began.
  std::vector<Link> links_;
};

}  // namespace forebay::dataset::shards

#endif  // FOREBAY_SERVER_DATASET_SHARDS_SAMPLE_GROUPING_H_
