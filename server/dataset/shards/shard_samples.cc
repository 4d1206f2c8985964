#include "server/dataset/shards/shard_samples.h"

#include "absl/strings/str_cat.h"
#include "server/base/check.h"
#include "server/base/status.h"

namespace forebay::dataset::shards {

absl::Status ShardSamples::CountOneMore(const FieldChoice& fields,
                                        base::WorkingMemory& memory) {
  FOREBAY_RETURN_IF_ERROR(memory.MakeRoom(members, fields.size()));
  FOREBAY_RETURN_IF_ERROR(memory.MakeRoom(alternatives, fields.size()));
  if (fields.any_gzipped())
    FOREBAY_RETURN_IF_ERROR(memory.MakeRoom(decompressed, fields.size()));
  return keys.CountOneMore(memory);
}

absl::Status Pack(const Shard& shard, const FieldChoice& fields,
                  std::string_view key, absl::Span<const ChosenMember> chosen,
                  ShardSamples* samples) {
  FOREBAY_CHECK(chosen.size() == fields.size());
  for (std::size_t field = 0; field < chosen.size(); ++field) {
    const ChosenMember& member = chosen[field];
    if (member.offset > MemberRecord::kLargestOffset ||
        member.length > MemberRecord::kLargestLength) {
      return absl::ResourceExhaustedError(absl::StrCat(
          shard.name, ": at byte ", member.offset, ": a field of ",
          member.length, " bytes is too large, or too far behind; at most ",
          MemberRecord::kLargestLength, " bytes below byte ",
          MemberRecord::kLargestOffset, " are possible"));
    }
    // Data begins at the start of a block, so the offset is stored in blocks.
    FOREBAY_CHECK(member.offset % kTarBlock == 0);
    const std::uint64_t length = member.is_link ? 1 : member.length;
    samples->members.push_back(
        {static_cast<std::uint32_t>(member.offset / kTarBlock),
         static_cast<std::uint32_t>(length)});
    if (fields.alternatives(field).size() > 1) {
      samples->alternatives.push_back(
          static_cast<std::uint8_t>(member.alternative));
    }
    if (fields.MayBeGzipped(field)) {
      samples->decompressed.push_back(
          fields.IsGzipped(field, member.alternative)
              ? member.decompressed
              : static_cast<std::uint32_t>(member.length));
    }
  }
  samples->keys.Add(key);
  return absl::OkStatus();
}

}  // namespace forebay::dataset::shards
