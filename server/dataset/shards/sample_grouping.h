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

struct SamplePart {
  std::string extension;
  std::uint64_t offset = 0;    // in the shard; bytes
  std::uint64_t length = 0;    // bytes
  std::uint32_t inflated = 0;  // as TarMember's
};

struct GroupedSample {
  std::string key;
  std::vector<SamplePart> parts;
  // The extensions of links that have the sample's key, and are no parts of it.
  std::vector<std::string> links = {};
};

// Groups the members of one shard into samples as webdataset does. Consecutive
// members with one key are a sample; members of no sample in between do not end
// it. A sample whose "__bad__" is not empty is left out. Links are members of
// no sample; the first ones are noted, to say why a sample lacks a member.
//
// Not thread-safe. Owns the incomplete sample, and counts it in `memory`, which
// outlives it. Never blocks. RESOURCE_EXHAUSTED: that of `memory`.
// INVALID_ARGUMENT, naming shard and key: a sample has two members of one
// extension, or an extension that webdataset reserves.
class SampleGrouping {
 public:
  SampleGrouping(std::string shard, base::WorkingMemory* memory)
      : shard_(std::move(shard)), memory_(memory) {}

  // Takes the shard's next member. If that ends a sample, appends the sample to
  // `samples`.
  absl::Status Add(const TarMember& member,
                   std::vector<GroupedSample>* samples);

  // To be called after the last member: appends the last sample.
  void Finish(std::vector<GroupedSample>* samples);

 private:
  struct Link {
    std::string key;
    std::string extension;
  };

  void NoteLink(SampleName name);
  void Begin(std::string_view key);

  // Whether the incomplete sample has a part with that extension. Else one is
  // to be added.
  bool HasExtension(const std::string& extension);

  std::string shard_;
  base::WorkingMemory* memory_;
  std::uint64_t counted_ = 0;  // bytes, of the parts
  std::optional<GroupedSample> current_;
  // Of its parts, once they are many.
  std::unordered_set<std::string> extensions_;
  bool current_is_bad_ = false;
  // Links of other keys that came since the incomplete sample began.
  std::vector<Link> links_;
};

}  // namespace forebay::dataset::shards

#endif  // FOREBAY_SERVER_DATASET_SHARDS_SAMPLE_GROUPING_H_
