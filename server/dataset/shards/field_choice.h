#ifndef FOREBAY_SERVER_DATASET_SHARDS_FIELD_CHOICE_H_
#define FOREBAY_SERVER_DATASET_SHARDS_FIELD_CHOICE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/shm_layout.h"
#include "server/dataset/shards/sample_grouping.h"

namespace forebay::dataset::shards {

// The end of a message that says why a link is not a sample's member.
inline constexpr char kIsLink[] =
    " is a link, which is not read: pack the file itself (tar --dereference "
    "--hard-dereference)";

// The member that holds a field of a sample.
struct ChosenMember {
  std::uint64_t offset = 0;  // in the shard; bytes; 0: the sample lacks it
  std::uint64_t length = 0;  // bytes
  // Index into the field's alternatives.
  std::size_t alternative = 0;
  std::uint32_t inflated = 0;  // as TarMember's
  // Whether the sample lacks the member, and has a link in its place.
  bool is_link = false;

  bool is_there() const { return offset > 0; }
};

// Chooses the members of a sample that are its fields, in the fields' order, as
// webdataset's to_tuple does. Immutable and thread-safe; never blocks.
class FieldChoice {
 public:
  // Each field is an extension ("cls", "left.png"), or several with semicolons
  // between ("jpg;jpeg;png"): the first that a sample has is taken. "=array"
  // behind that says that TIFF images are arrays.
  // INVALID_ARGUMENT: there are no fields or too many; or a field is malformed,
  // or its alternatives are of different kinds; or one of several images may be
  // compressed.
  static absl::StatusOr<FieldChoice> Create(
      const std::vector<std::string>& fields);

  std::size_t size() const { return alternatives_.size(); }
  // As given to Create.
  const std::vector<std::string>& fields() const { return fields_; }
  const std::vector<std::string>& alternatives(std::size_t field) const {
    return alternatives_[field];
  }

  proto::FieldKind kind(std::size_t field) const;
  // Whether members of that alternative are compressed, and whether those of
  // any alternative are, and of any field.
  bool IsGzipped(std::size_t field, std::size_t alternative) const;
  bool MayBeGzipped(std::size_t field) const;
  bool any_gzipped() const;

  // Appends size() members to `chosen`.
  void Choose(const GroupedSample& sample,
              std::vector<ChosenMember>* chosen) const;

  // INVALID_ARGUMENT: `sample` lacks `field`. Names `shard`, the sample's key,
  // the field, and the extensions that the sample has or a link in its place.
  absl::Status Lacks(std::string_view shard, const GroupedSample& sample,
                     std::size_t field) const;

 private:
  FieldChoice() = default;

  absl::Status CheckImages() const;

  std::vector<std::string> fields_;
  std::vector<std::vector<std::string>> alternatives_;
  std::vector<bool> are_arrays_;  // of each field
};

}  // namespace forebay::dataset::shards

#endif  // FOREBAY_SERVER_DATASET_SHARDS_FIELD_CHOICE_H_
