#include "server/dataset/shards/shard_dataset.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "proto/shm_layout.h"
#include "server/base/check.h"
#include "server/base/status.h"
#include "server/dataset/shards/gzip_member.h"
#include "server/storage/compressed/decompressed_root.h"

namespace forebay::dataset::shards {

ShardDataset::ShardDataset(std::shared_ptr<const ShardIndex> index,
                           std::shared_ptr<const storage::Root> root,
                           base::MemoryBudget* budget)
    : index_(std::move(index)),
      layout_(std::make_shared<const ShardLayout>(index_, budget)),
      root_(
          storage::compressed::WithPoints(std::move(root), index_->points())) {
  const FieldChoice& chosen = index_->fields();
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const std::vector<std::string>& names = chosen.alternatives(i);
    Field& field = fields_.emplace_back();
    field.name = names.front();
    field.kind = chosen.kind(i);
    field.longest = index_->LongestOf(i);
    field.shortest = index_->ShortestOf(i);
    // `name` is only the first alternative. Samples may have another one.
    if (names.size() > 1) field.alternatives = absl::StrJoin(names, ";");
  }
}

Sample ShardDataset::At(std::uint64_t id) const {
  Shard shard = index_->ShardAt(index_->ShardOf(id));
  const ShardIndex::Extent extent = index_->ExtentOf(id);
  return {.object = std::move(shard.name),
          .version = shard.version,
          .layout = layout_,
          .offset = extent.offset,
          .length = extent.length};
}

FieldRange ShardDataset::RangeOf(std::uint64_t id, std::size_t field) const {
  const ChosenMember member = index_->MemberOf(id, field);
  const ShardIndex::Extent extent = index_->ExtentOf(id);
  // If the sample lacks the field, returns a range behind the extent: no read
  // of the sample covers it.
  if (!member.is_there()) return {extent.length, 1};
  return {member.offset - extent.offset, member.length};
}

bool ShardDataset::IsGzipped(std::uint64_t id, std::size_t field) const {
  return index_->fields().IsGzipped(field,
                                    index_->MemberOf(id, field).alternative);
}

void ShardDataset::ValuesOf(std::uint64_t id,
                            absl::Span<FieldValue> values) const {
  FOREBAY_CHECK(values.size() == fields_.size() && !is_self_describing());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = RangeOf(id, i);
}

absl::Status ShardDataset::CheckFields(std::uint64_t id) const {
  if (index_->lacking_samples() == 0) return absl::OkStatus();
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    const ChosenMember member = index_->MemberOf(id, i);
    if (member.is_there()) continue;
    const std::string why = member.is_link
                                ? absl::StrCat(": what has that name", kIsLink)
                                : ", which other samples have";
    return absl::DataLossError(
        absl::StrCat("has no field ", index_->fields().fields()[i], why));
  }
  return absl::OkStatus();
}

absl::Status ShardDataset::ReadValues(std::uint64_t id,
                                      absl::Span<const std::uint8_t> read,
                                      absl::Span<FieldValue> values,
                                      ValueBuffers* buffers) const {
  FOREBAY_CHECK(values.size() == fields_.size());
  FOREBAY_RETURN_IF_ERROR(CheckFields(id));
  // The size of `read` is not compared with the extent's length here: if the
  // sample is one image, `read` may be a cached variant.
  if (!is_self_describing()) {
    ValuesOf(id, values);
    return absl::OkStatus();
  }
  const std::uint64_t length = index_->ExtentOf(id).length;
  if (read.size() < length) {
    return absl::DataLossError(
        absl::StrCat("has only ", read.size(), " of ", length, " bytes"));
  }
  // All compressed members share one buffer, since AddDecompressed may be
  // called only once.
  std::uint64_t decompressed = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = RangeOf(id, i);
    if (IsGzipped(id, i)) decompressed += index_->BytesOf(id, i);
  }
  absl::Span<std::uint8_t> room;
  if (decompressed > 0) {
    FOREBAY_ASSIGN_OR_RETURN(room, buffers->AddDecompressed(decompressed));
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!IsGzipped(id, i)) continue;
    const FieldRange range = RangeOf(id, i);
    const auto value = room.first(index_->BytesOf(id, i));
    room.remove_prefix(value.size());
    const absl::Status status =
        Gunzip(read.subspan(range.offset, range.length), value);
    if (!status.ok()) return base::Annotate(status, fields_[i].name);
    values[i] = ComputedBytes{value};
  }
  return absl::OkStatus();
}

void ShardDataset::MostBytesOf(std::uint64_t id,
                               absl::Span<std::uint64_t> bytes) const {
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    // Images and integers need no memory in proportion to their encoded bytes.
    const bool is_bounded = fields_[i].kind == proto::FieldKind::kImage ||
                            fields_[i].kind == proto::FieldKind::kLabel;
    bytes[i] = is_bounded ? 0 : index_->BytesOf(id, i);
  }
}

}  // namespace forebay::dataset::shards
