#include "server/dataset/shards/shard_index.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/base/check.h"
#include "server/base/status.h"
#include "server/dataset/index_file.h"
#include "server/dataset/version_digest.h"

// Samples are rows of flat arrays. If there are n fields, sample s has n items
// of `members`, from number s * n on. In `alternatives` and `decompressed`,
// rows have other lengths. A sample's shard is found by binary search, its key
// by a walk from a restart point, and its extent from its members.
//
// Create checks every offset and count once, in time linear in the samples.
// Later calls rely on these checks. So a damaged index file cannot make them
// read out of bounds.

namespace forebay::dataset::shards {
ShardIndex::ShardIndex(ShardIndexParts parts, FieldChoice fields)
    : parts_(std::move(parts)),
      fields_(std::move(fields)),
      ctimes_(parts_.shards.size()) {
  for (std::size_t shard = 0; shard < ctimes_.size(); ++shard)
    // Revalidation changes only ctimes_; the parts stay as they are in the
    // file.
    ctimes_[shard] = parts_.shards[shard].ctime_nanos;
  for (std::size_t field = 0; field < fields_.size(); ++field) {
    const bool several = fields_.alternatives(field).size() > 1;
    alternative_places_.push_back(several ? alternatives_each_++ : kNowhere);
    decompressed_places_.push_back(
        fields_.MayBeGzipped(field) ? decompressed_each_++ : kNowhere);
  }
}

absl::StatusOr<std::shared_ptr<const ShardIndex>> ShardIndex::Create(
    ShardIndexParts parts) {
  auto fields = FieldChoice::Create(parts.fields);
  if (!fields.ok()) {
    return absl::DataLossError(
        absl::StrCat("index: ", fields.status().message()));
  }
  std::shared_ptr<ShardIndex> index(
      new ShardIndex(std::move(parts), *std::move(fields)));
  FOREBAY_RETURN_IF_ERROR(index->CheckCounts());
  FOREBAY_RETURN_IF_ERROR(index->CheckShards());
  FOREBAY_RETURN_IF_ERROR(index->CheckSamples());
  index->Summarize();
  index->by_path_ = PathLookup(index->shard_count(), index->paths());
  base::MemoryReservation& held = index->parts_.reservation;
  // The reservation was an upper bound. It shrinks to the memory that the index
  // takes.
  held.ShrinkTo(std::min(held.bytes(), index->memory()));
  return index;
}

absl::Status ShardIndex::CheckCounts() {
  const std::uint64_t members = parts_.members.size();
  size_ = members / fields_.size();
  if (members % fields_.size() != 0)
    return DamagedIndex("number of members", members);
  if (parts_.alternatives.size() != size_ * alternatives_each_) {
    return DamagedIndex("number of alternatives", parts_.alternatives.size());
  }
  if (parts_.decompressed.size() != size_ * decompressed_each_)
    return DamagedIndex("number of decompressed bytes",
                        parts_.decompressed.size());
  return absl::OkStatus();
}

absl::Status ShardIndex::CheckShards() {
  const auto& shards = parts_.shards;
  restarts_.reserve(shards.size());
  const std::uint64_t names = parts_.names.size();
  if (shards.empty() ? size_ > 0 : shards.front().first_sample != 0) {
    return DamagedIndex("first sample of shard", 0);
  }
  if (shards.empty() ? !parts_.keys.empty() : shards.front().keys_offset != 0) {
    return DamagedIndex("keys of shard", 0);
  }
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const ShardRecord& shard = shards[i];
    if (shard.path_offset > names ||
        shard.path_length > names - shard.path_offset ||
        shard.path_length == 0 ||
        PathOf(shard).find('\0') != std::string::npos) {
      return DamagedIndex("path of shard", i);
    }
    if (shard.first_sample > EndOf(i) || EndOf(i) > size_) {
      return DamagedIndex("first sample of shard", i);
    }
    const std::uint64_t keys_end =
        i + 1 < shards.size() ? shards[i + 1].keys_offset : parts_.keys.size();
    if (shard.keys_offset > keys_end || keys_end > parts_.keys.size())
      return DamagedIndex("keys of shard", i);
    auto points = KeyRestarts::Create(KeysOf(i), EndOf(i) - shard.first_sample);
    if (!points.has_value()) return DamagedIndex("keys of shard", i);
    restarts_.push_back(*std::move(points));
  }
  return absl::OkStatus();
}

// If the sample lacks a member, its offset and length are 0, which fit any
// shard.
absl::Status ShardIndex::CheckSamples() const {
  for (std::size_t i = 0; i < parts_.shards.size(); ++i) {
    const ShardRecord& shard = parts_.shards[i];
    for (std::uint64_t sample = shard.first_sample; sample < EndOf(i);
         ++sample) {
      for (std::size_t field = 0; field < fields_.size(); ++field) {
        const ChosenMember member = MemberOf(sample, field);
        if (member.offset > shard.size ||
            member.length > shard.size - member.offset ||
            member.alternative >= fields_.alternatives(field).size()) {
          return DamagedIndex("field of sample", sample);
        }
      }
    }
  }
  return absl::OkStatus();
}

void ShardIndex::Summarize() {
  VersionDigest digest;
  for (const std::string& field : fields_.fields()) digest.Add(field);
  for (std::size_t i = 0; i < parts_.shards.size(); ++i) {
    const ShardRecord& shard = parts_.shards[i];
    digest.Add(PathOf(shard));
    digest.Add(EndOf(i) - shard.first_sample);
    digest.Add(shard.size);
    digest.Add(shard.stamp);
    if (const auto* const compressed = CompressedOf(shard);
        compressed != nullptr)
      digest.Add(compressed->compressed_size);
  }
  digest.AddItems(parts_.members.data(), parts_.members.size());
  digest.AddItems(parts_.alternatives.data(), parts_.alternatives.size());
  digest.AddItems(parts_.decompressed.data(), parts_.decompressed.size());
  version_ = digest.Get();
  longest_.resize(fields_.size());
  shortest_.resize(fields_.size(), UINT64_MAX);
  for (std::uint64_t sample = 0; sample < size_; ++sample) {
    largest_extent_ = std::max(largest_extent_, ExtentOf(sample).length);
    bool lacks = false;
    for (std::size_t field = 0; field < fields_.size(); ++field) {
      if (!MemberOf(sample, field).is_there()) {
        lacks = true;
        continue;
      }
      const std::uint64_t length = BytesOf(sample, field);
      longest_[field] = std::max(longest_[field], length);
      shortest_[field] = std::min(shortest_[field], length);
    }
    if (lacks && lacking_samples_++ == 0) first_lacking_ = sample;
  }
}

std::uint64_t ShardIndex::EndOf(std::size_t shard) const {
  return shard + 1 < parts_.shards.size()
             ? parts_.shards[shard + 1].first_sample
             : size_;
}

std::string_view ShardIndex::PathOf(const ShardRecord& shard) const {
  return std::string_view(parts_.names)
      .substr(shard.path_offset, shard.path_length);
}

std::string_view ShardIndex::KeysOf(std::size_t shard) const {
  const std::uint64_t begin = parts_.shards[shard].keys_offset;
  const std::uint64_t end = shard + 1 < parts_.shards.size()
                                ? parts_.shards[shard + 1].keys_offset
                                : parts_.keys.size();
  return std::string_view(parts_.keys).substr(begin, end - begin);
}

Shard ShardIndex::ShardAt(std::size_t shard) const {
  FOREBAY_CHECK(shard < shard_count());
  const ShardRecord& record = parts_.shards[shard];
  return {std::string(PathOf(record)),
          {record.size, record.stamp, {record.inode, ctimes_[shard]}}};
}

std::size_t ShardIndex::ShardOf(std::uint64_t sample) const {
  FOREBAY_CHECK(sample < size_);
  const auto after =
      std::upper_bound(parts_.shards.begin(), parts_.shards.end(), sample,
                       [](std::uint64_t wanted, const ShardRecord& shard) {
                         return wanted < shard.first_sample;
                       });
  return after - parts_.shards.begin() - 1;
}

ChosenMember ShardIndex::MemberOf(std::uint64_t sample,
                                  std::size_t field) const {
  FOREBAY_CHECK(sample < size_ && field < fields_.size());
  const MemberRecord& record = parts_.members[sample * fields_.size() + field];
  ChosenMember member;
  if (record.block == 0) {
    member.is_link = record.length > 0;
    return member;
  }
  member.offset = record.block * kTarBlock;
  member.length = record.length;
  const std::size_t place = alternative_places_[field];
  if (place != kNowhere) {
    member.alternative =
        parts_.alternatives[sample * alternatives_each_ + place];
  }
  return member;
}

std::uint64_t ShardIndex::BytesOf(std::uint64_t sample,
                                  std::size_t field) const {
  const std::size_t place = decompressed_places_[field];
  return place == kNowhere
             ? MemberOf(sample, field).length
             : parts_.decompressed[sample * decompressed_each_ + place];
}

// A sample is read as one extent, with the headers between its members.
ShardIndex::Extent ShardIndex::ExtentOf(std::uint64_t sample) const {
  std::uint64_t begin = UINT64_MAX;
  std::uint64_t end = 0;
  for (std::size_t field = 0; field < fields_.size(); ++field) {
    const ChosenMember member = MemberOf(sample, field);
    if (!member.is_there()) continue;
    begin = std::min(begin, member.offset);
    end = std::max(end, member.offset + member.length);
  }
  return end == 0 ? Extent() : Extent{begin, end - begin};
}

std::string ShardIndex::KeyOf(std::uint64_t sample) const {
  const std::size_t shard = ShardOf(sample);
  auto key = restarts_[shard].KeyAt(KeysOf(shard),
                                    sample - parts_.shards[shard].first_sample);
  FOREBAY_CHECK(key.has_value());
  return *std::move(key);
}

bool ShardIndex::IsOf(const FieldChoice& fields,
                      absl::Span<const Shard> shards) const {
  if (fields.fields() != fields_.fields() || shards.size() != shard_count())
    return false;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    Shard known = ShardAt(i);
    const auto* const compressed = CompressedOf(parts_.shards[i]);
    if (compressed != nullptr) known.version.size = compressed->compressed_size;
    if (known.version != shards[i].version || known.name != shards[i].name)
      return false;
  }
  return true;
}

storage::Revision ShardIndex::RevisionOf(std::string_view path) const {
  for (const std::size_t i : by_path_.Find(path, paths()))
    return {parts_.shards[i].inode, ctimes_[i]};
  return {};
}

bool ShardIndex::Accept(std::string_view path,
                        const storage::Revision& revision,
                        const ShardSamples& samples) const {
  const std::vector<std::size_t> shards = by_path_.Find(path, paths());
  for (const std::size_t i : shards) {
    if (revision.inode != parts_.shards[i].inode || !HasSamples(i, samples))
      return false;
  }
  for (const std::size_t i : shards) ctimes_[i] = revision.ctime_nanos;
  return true;
}

bool ShardIndex::AcceptCompressed(std::string_view path,
                                  const storage::Revision& revision,
                                  std::uint32_t pieces_crc32c) const {
  const std::vector<std::size_t> shards = by_path_.Find(path, paths());
  for (const std::size_t i : shards) {
    const auto* const compressed = CompressedOf(parts_.shards[i]);
    if (compressed == nullptr || compressed->pieces_crc32c != pieces_crc32c ||
        revision.inode != parts_.shards[i].inode)
      return false;
  }
  for (const std::size_t i : shards) ctimes_[i] = revision.ctime_nanos;
  return true;
}

const storage::compressed::CompressedFile* ShardIndex::CompressedOf(
    const ShardRecord& shard) const {
  return parts_.points == nullptr ? nullptr
                                  : parts_.points->Find(PathOf(shard));
}

bool ShardIndex::HasSamples(std::size_t shard,
                            const ShardSamples& samples) const {
  const std::uint64_t begin = parts_.shards[shard].first_sample;
  const std::uint64_t count = EndOf(shard) - begin;
  return samples.members.size() == count * fields_.size() &&
         samples.alternatives.size() == count * alternatives_each_ &&
         std::equal(samples.members.begin(), samples.members.end(),
                    parts_.members.begin() + begin * fields_.size()) &&
         std::equal(samples.alternatives.begin(), samples.alternatives.end(),
                    parts_.alternatives.begin() + begin * alternatives_each_) &&
         samples.decompressed.size() == count * decompressed_each_ &&
         std::equal(samples.decompressed.begin(), samples.decompressed.end(),
                    parts_.decompressed.begin() + begin * decompressed_each_) &&
         samples.keys.compressed() == KeysOf(shard);
}

std::uint64_t ShardIndex::memory() const {
  std::uint64_t points = 0;
  for (const KeyRestarts& some : restarts_) points += some.memory();
  return sizeof(ShardIndex) + points + parts_.names.capacity() +
         parts_.keys.capacity() +
         parts_.shards.capacity() *
             (sizeof(ShardRecord) + sizeof(ctimes_.front()) +
              PathLookup::Bytes(1)) +
         parts_.members.capacity() * sizeof(MemberRecord) +
         parts_.alternatives.capacity() +
         parts_.decompressed.capacity() * sizeof(parts_.decompressed[0]);
}

// The bytes of all keys bound the restart points of all shards together.
std::uint64_t ShardIndex::Bytes(std::uint64_t shards, std::uint64_t members,
                                std::uint64_t alternatives,
                                std::uint64_t decompressed,
                                std::uint64_t text) {
  return sizeof(ShardIndex) +
         shards * (sizeof(ShardRecord) + sizeof(std::atomic<std::int64_t>) +
                   PathLookup::Bytes(1) + KeyRestarts::Bytes(0)) +
         KeyRestarts::Bytes(text) + members * sizeof(MemberRecord) +
         alternatives + decompressed * sizeof(std::uint32_t) + text;
}

absl::StatusOr<std::shared_ptr<const ShardIndex>> BuildShardIndex(
    const FieldChoice& fields, absl::Span<const Shard> shards,
    std::vector<ShardSamples> samples, base::WorkingMemory& memory,
    std::shared_ptr<const storage::compressed::FilePoints> points) {
  FOREBAY_CHECK(samples.size() == shards.size());
  ShardIndexParts parts;
  parts.fields = fields.fields();
  std::size_t members = 0;
  std::size_t alternatives = 0;
  std::size_t decompressed = 0;
  std::size_t keys = 0;
  std::size_t names = 0;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    members += samples[i].members.size();
    alternatives += samples[i].alternatives.size();
    decompressed += samples[i].decompressed.size();
    keys += samples[i].keys.compressed().size();
    names += shards[i].name.size();
  }
  FOREBAY_ASSIGN_OR_RETURN(
      parts.reservation,
      memory.Keep(ShardIndex::Bytes(shards.size(), members, alternatives,
                                    decompressed, keys + names)));
  parts.shards.reserve(shards.size());
  parts.members.reserve(members);
  parts.alternatives.reserve(alternatives);
  parts.decompressed.reserve(decompressed);
  parts.keys.reserve(keys);
  parts.names.reserve(names);
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const auto* const compressed =
        points == nullptr ? nullptr : points->Find(shards[i].name);
    parts.shards.push_back(
        {.path_offset = parts.names.size(),
         .path_length = shards[i].name.size(),
         .first_sample = parts.members.size() / fields.size(),
         .keys_offset = parts.keys.size(),
         .size =
             compressed != nullptr ? compressed->size : shards[i].version.size,
         .stamp = shards[i].version.stamp,
         .inode = shards[i].version.revision.inode,
         .ctime_nanos = shards[i].version.revision.ctime_nanos});
    parts.names += shards[i].name;
    ShardSamples& some = samples[i];
    parts.members.insert(parts.members.end(), some.members.begin(),
                         some.members.end());
    parts.alternatives.insert(parts.alternatives.end(),
                              some.alternatives.begin(),
                              some.alternatives.end());
    parts.decompressed.insert(parts.decompressed.end(),
                              some.decompressed.begin(),
                              some.decompressed.end());
    parts.keys += some.keys.compressed();
    some = {};
  }
  parts.points = std::move(points);
  return ShardIndex::Create(std::move(parts));
}

}  // namespace forebay::dataset::shards
