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

// The end of an error message about a link in the place of a sample's member.
inline constexpr char kIsLink[] =
    " is a link, which is not read: pack the file itself (tar --dereference "
    "--hard-dereference)";

// The member of a shard (a file in the tar archive) that holds a field of a
// sample.
struct ChosenMember {
  std::uint64_t offset = 0;  // bytes into the shard; 0 if the sample lacks the
                             // member
  std::uint64_t length = 0;  // bytes
  // Index of the member's extension in the field's alternatives.
  std::size_t alternative = 0;
  std::uint32_t decompressed = 0;  // bytes; see TarMember
  // Whether the sample has a link in place of the member.
  bool is_link = false;

  // Whether the sample has the member.
  bool is_there() const { return offset > 0; }
};

// Chooses the member of a sample for each field, as webdataset's to_tuple does.
//
// Immutable and thread-safe. Owns the fields' names. Never blocks. Only Create
// has errors.
class FieldChoice {
 public:
  // Parses the fields that a user asked for. A field is an extension ("cls",
  // "left.png"), or several extensions with semicolons between
  // ("jpg;jpeg;png"). If a sample has members with several of these extensions,
  // the first of these extensions counts. The suffix "=array" says that TIFF
  // images are decoded as arrays. INVALID_ARGUMENT: there are no fields, or too
  // many; a field is malformed; its alternatives are of different kinds; or
  // there are several images and one of them may be gzip-compressed.
  static absl::StatusOr<FieldChoice> Create(
      const std::vector<std::string>& fields);

  // Returns the number of fields.
  std::size_t size() const { return alternatives_.size(); }
  // Returns the fields as they were given to Create.
  const std::vector<std::string>& fields() const { return fields_; }
  // Returns the extensions of a field, the preferred one first.
  const std::vector<std::string>& alternatives(std::size_t field) const {
    return alternatives_[field];
  }

  // Returns how a field's values are decoded. All alternatives of a field are
  // decoded in the same way.
  proto::FieldKind kind(std::size_t field) const;
  // Whether members with that alternative's extension are gzip-compressed.
  bool IsGzipped(std::size_t field, std::size_t alternative) const;
  // Whether members of any of the field's alternatives are gzip-compressed.
  bool MayBeGzipped(std::size_t field) const;
  // Whether members of any field may be gzip-compressed.
  bool any_gzipped() const;

  // Appends size() members to `chosen`, one for each field.
  void Choose(const GroupedSample& sample,
              std::vector<ChosenMember>* chosen) const;

  // Returns an INVALID_ARGUMENT error which says that `sample` lacks `field`.
  // The error names `shard`, the sample's key, the field, and the extensions
  // that the sample has, or the link in place of the field.
  absl::Status Lacks(std::string_view shard, const GroupedSample& sample,
                     std::size_t field) const;

 private:
  FieldChoice() = default;

  // Checks that images can be decoded together. INVALID_ARGUMENT: they cannot.
  absl::Status CheckImages() const;

  std::vector<std::string> fields_;
  std::vector<std::vector<std::string>> alternatives_;
  // For each field, whether the user asked for "=array".
  std::vector<bool> are_arrays_;
};

}  // namespace forebay::dataset::shards

#endif  // FOREBAY_SERVER_DATASET_SHARDS_FIELD_CHOICE_H_
