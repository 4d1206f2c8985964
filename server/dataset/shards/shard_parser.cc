#include "server/dataset/shards/shard_parser.h"

#include "server/base/check.h"
#include "server/base/status.h"

// Bytes pass three stages: TarWalk finds members, SampleGrouping groups them
// into samples, and Keep packs the chosen fields of complete samples.

namespace forebay::dataset::shards {

absl::StatusOr<ShardParser> ShardParser::Create(const Shard& shard,
                                                const FieldChoice* fields,
                                                const ReadSizes& read_sizes,
                                                base::WorkingMemory* memory) {
  FOREBAY_ASSIGN_OR_RETURN(
      TarWalk walk,
      TarWalk::Create(shard.name, shard.version.size, fields->any_gzipped()));
  return ShardParser(shard, fields, read_sizes, memory, std::move(walk));
}

std::optional<ByteRange> ShardParser::next_read() const {
  const std::optional<ByteRange> wanted = walk_.wanted();
  if (!wanted.has_value()) return std::nullopt;
  return read_length_.For(*wanted, shard_.version.size);
}

absl::Status ShardParser::Take(absl::Span<const std::uint8_t> bytes) {
  const auto read = next_read();
  FOREBAY_CHECK(read.has_value() && bytes.size() == read->length);
  std::vector<TarMember> members;
  const absl::Status walked = walk_.Parse(read->offset, bytes, &members);
  // Members before an error are added first. So the first of several errors is
  // reported, however many bytes each read has.
  std::vector<GroupedSample> samples;
  for (const TarMember& member : members) {
    FOREBAY_RETURN_IF_ERROR(grouping_.Add(member, &samples));
    FOREBAY_RETURN_IF_ERROR(Keep(samples));
    samples.clear();
  }
  FOREBAY_RETURN_IF_ERROR(walked);
  if (const auto next = walk_.wanted(); next.has_value()) {
    read_length_.Adapt(*read, *next);
    return absl::OkStatus();
  }
  grouping_.Finish(&samples);
  return Keep(samples);
}

absl::Status ShardParser::EndAt(std::uint64_t size) {
  // If the walk was over, Take has ended the last sample. If the walk still
  // wants bytes, Take will end it.
  const bool was_over = !walk_.wanted().has_value();
  FOREBAY_RETURN_IF_ERROR(walk_.EndAt(size));
  shard_.version.size = size;
  if (was_over || walk_.wanted().has_value()) return absl::OkStatus();
  std::vector<GroupedSample> samples;
  grouping_.Finish(&samples);
  return Keep(samples);
}

absl::Status ShardParser::CheckFields() const {
  for (std::size_t field = 0; field < has_.size(); ++field) {
    if (!has_[field] && !lacks_[field].ok()) return lacks_[field];
  }
  return absl::OkStatus();
}

absl::Status ShardParser::Keep(absl::Span<const GroupedSample> samples) {
  std::vector<ChosenMember> chosen;
  for (const GroupedSample& sample : samples) {
    chosen.clear();
    fields_->Choose(sample, &chosen);
    NoteLacks(sample, chosen);
    // Memory is counted before Pack allocates it.
    FOREBAY_RETURN_IF_ERROR(samples_.CountOneMore(*fields_, *memory_));
    FOREBAY_RETURN_IF_ERROR(
        Pack(shard_, *fields_, sample.key, chosen, &samples_));
  }
  return absl::OkStatus();
}

void ShardParser::NoteLacks(const GroupedSample& sample,
                            absl::Span<const ChosenMember> chosen) {
  for (std::size_t field = 0; field < chosen.size(); ++field) {
    if (chosen[field].is_there()) {
      has_[field] = true;
    } else if (!has_[field] && lacks_[field].ok()) {
      lacks_[field] = fields_->Lacks(shard_.name, sample, field);
    }
  }
}

}  // namespace forebay::dataset::shards
