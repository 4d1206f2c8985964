#include "server/dataset/shards/shard_parser.h"

#include <algorithm>

#include "server/base/check.h"
#include "server/base/status.h"

namespace forebay::dataset::shards {

absl::StatusOr<ShardParser> ShardParser::Create(const Shard& shard,
                                                const FieldChoice* fields,
                                                const ReadSizes& read_sizes,
                                                base::WorkingMemory* memory) {
  FOREBAY_ASSIGN_OR_RETURN(TarWalk walk,
                           TarWalk::Create(shard.path, shard.version.size));
  return ShardParser(shard, fields, read_sizes, memory, std::move(walk));
}

std::optional<TarWalk::Range> ShardParser::next_read() const {
  std::optional<TarWalk::Range> read = walk_.wanted();
  if (read.has_value()) {
    read->length = std::min(std::max(read->length, read_length_),
                            shard_.version.size - read->offset);
  }
  return read;
}

absl::Status ShardParser::Take(absl::Span<const std::uint8_t> bytes) {
  const auto read = next_read();
  FOREBAY_CHECK(read.has_value() && bytes.size() == read->length);
  std::vector<TarMember> members;
  const absl::Status walked = walk_.See(read->offset, bytes, &members);
  // Reports the first of several faults, however much is read at a time.
  std::vector<GroupedSample> found;
  for (const TarMember& member : members) {
    FOREBAY_RETURN_IF_ERROR(grouping_.Add(member, &found));
    FOREBAY_RETURN_IF_ERROR(Keep(found));
    found.clear();
  }
  FOREBAY_RETURN_IF_ERROR(walked);
  if (!walk_.wanted().has_value()) grouping_.Finish(&found);
  Adapt(*read);
  return Keep(found);
}

absl::Status ShardParser::Keep(absl::Span<const GroupedSample> found) {
  std::vector<ChosenMember> chosen;
  for (const GroupedSample& sample : found) {
    chosen.clear();
    FOREBAY_RETURN_IF_ERROR(fields_->Choose(shard_.path, sample, &chosen));
    FOREBAY_RETURN_IF_ERROR(samples_.CountOneMore(*fields_, *memory_));
    FOREBAY_RETURN_IF_ERROR(
        Pack(shard_, *fields_, sample.key, chosen, &samples_));
  }
  return absl::OkStatus();
}

void ShardParser::Adapt(const TarWalk::Range& last) {
  const auto next = walk_.wanted();
  if (!next.has_value()) return;
  const bool near = next->offset <= last.offset + 2 * last.length;
  read_length_ = near ? std::min(2 * read_length_, read_sizes_.max)
                      : std::max(read_length_ / 2, read_sizes_.min);
}

}  // namespace forebay::dataset::shards
