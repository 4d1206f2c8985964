#include "server/dataset/shards/field_choice.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "server/base/status.h"
#include "server/dataset/dataset.h"
#include "server/dataset/shards/field_kind.h"
#include "server/dataset/shards/gzip_member.h"

namespace forebay::dataset::shards {
namespace {

// These limits bound the memory that an index takes for the fields. An index
// stores an alternative's number in a byte.
constexpr std::size_t kMaxAlternatives = 64;
constexpr std::size_t kLongestField = 1024;  // bytes
// The suffix that follows a field's extensions if the user wants an array.
constexpr std::string_view kArray = "=array";

// Whether members with the extension `extension` can be decoded as arrays. A
// final ".gz" is ignored.
bool MayBeArray(std::string_view extension) {
  if (IsGzipped(extension))
    extension.remove_suffix(std::min<std::size_t>(extension.size(), 3));
  const std::string_view last = extension.substr(extension.rfind('.') + 1);
  return last == "tif" || last == "tiff" || last == "npy";
}

// Checks the alternatives of one field, and that all are decoded in the same
// way. Refuses extensions that begin with "__", which webdataset reserves.
absl::Status CheckField(const std::string& field,
                        const std::vector<std::string>& alternatives) {
  const bool malformed = std::any_of(
      alternatives.begin(), alternatives.end(), [](const std::string& name) {
        return name.empty() || name.starts_with("__") ||
               name.find_first_of(std::string("/\0", 2)) != name.npos;
      });
  if (malformed || field.size() > kLongestField ||
      alternatives.size() > kMaxAlternatives) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", field,
        "\" is not a field: an extension such as \"jpg\", or several "
        "such as \"jpg;png\", is wanted"));
  }
  if (alternatives.front().size() >= proto::kMaxFieldName) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", alternatives.front(), "\" has more than ",
                     proto::kMaxFieldName - 1,
                     " bytes, which is too long for the name of a field"));
  }
  for (const std::string& alternative : alternatives) {
    if (KindOf(alternative) != KindOf(alternatives.front())) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", field, "\" is not a field: ", alternatives.front(),
                       " and ", alternative, " are not decoded alike"));
    }
  }
  return absl::OkStatus();
}

// Returns the extensions of the sample's parts, for a message.
std::string Extensions(const GroupedSample& sample) {
  return absl::StrJoin(
      sample.parts, ", ", [](std::string* out, const SamplePart& part) {
        out->append(part.extension.empty() ? "an empty one" : part.extension);
      });
}

// Returns the first of `links` that is one of the extensions `wanted`. Returns
// null if there is no such link.
const std::string* LinkOf(const std::vector<std::string>& wanted,
                          const std::vector<std::string>& links) {
  const auto link = std::find_first_of(links.begin(), links.end(),
                                       wanted.begin(), wanted.end());
  return link == links.end() ? nullptr : &*link;
}

}  // namespace

absl::StatusOr<FieldChoice> FieldChoice::Create(
    const std::vector<std::string>& fields) {
  if (fields.empty() || fields.size() > kMaxDatasetFields) {
    return absl::InvalidArgumentError(
        absl::StrCat("1 to ", kMaxDatasetFields, " fields must be chosen, not ",
                     fields.size()));
  }
  FieldChoice choice;
  choice.fields_ = fields;
  for (const std::string& field : fields) {
    const bool is_array = field.ends_with(kArray);
    const std::string names =
        field.substr(0, field.size() - (is_array ? kArray.size() : 0));
    std::vector<std::string> alternatives = absl::StrSplit(names, ';');
    FOREBAY_RETURN_IF_ERROR(CheckField(names, alternatives));
    if (is_array &&
        !std::all_of(alternatives.begin(), alternatives.end(), MayBeArray)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "\"", names,
          "\" is not an array: TIFF images and .npy files are such"));
    }
    choice.alternatives_.push_back(std::move(alternatives));
    choice.are_arrays_.push_back(is_array);
  }
  FOREBAY_RETURN_IF_ERROR(choice.CheckImages());
  return choice;
}

// Refuses several images if one of them may be compressed: decoding an image
// reuses the memory into which another image would be decompressed.
absl::Status FieldChoice::CheckImages() const {
  std::size_t images = 0;
  const std::string* gzipped = nullptr;
  for (std::size_t field = 0; field < size(); ++field) {
    if (kind(field) != proto::FieldKind::kImage) continue;
    ++images;
    if (MayBeGzipped(field)) gzipped = &fields_[field];
  }
  if (images < 2 || gzipped == nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("\"", *gzipped,
                   "\": an image that is compressed by gzip cannot be read "
                   "together with another image"));
}

proto::FieldKind FieldChoice::kind(std::size_t field) const {
  return are_arrays_[field] ? proto::FieldKind::kArray
                            : KindOf(alternatives_[field].front());
}

bool FieldChoice::IsGzipped(std::size_t field, std::size_t alternative) const {
  return shards::IsGzipped(alternatives_[field][alternative]);
}

bool FieldChoice::MayBeGzipped(std::size_t field) const {
  return std::any_of(alternatives_[field].begin(), alternatives_[field].end(),
                     shards::IsGzipped);
}

bool FieldChoice::any_gzipped() const {
  for (std::size_t field = 0; field < size(); ++field) {
    if (MayBeGzipped(field)) return true;
  }
  return false;
}

void FieldChoice::Choose(const GroupedSample& sample,
                         std::vector<ChosenMember>* chosen) const {
  for (std::size_t field = 0; field < size(); ++field) {
    const auto& wanted = alternatives_[field];
    // The index in `wanted` of the best alternative found so far.
    std::size_t best = wanted.size();
    ChosenMember& member = chosen->emplace_back();
    // A part is better if its extension comes earlier in `wanted`. So the
    // extensions of later parts are only searched for before `best`.
    for (const SamplePart& candidate : sample.parts) {
      const std::size_t rank = std::find(wanted.begin(), wanted.begin() + best,
                                         candidate.extension) -
                               wanted.begin();
      if (rank == best) continue;
      best = rank;
      member = {candidate.offset, candidate.length, best,
                candidate.decompressed};
    }
    member.is_link =
        !member.is_there() && LinkOf(wanted, sample.links) != nullptr;
  }
}

absl::Status FieldChoice::Lacks(std::string_view shard,
                                const GroupedSample& sample,
                                std::size_t field) const {
  const std::string* const link = LinkOf(alternatives_[field], sample.links);
  const std::string why =
      link == nullptr ? absl::StrCat("; it has ", Extensions(sample))
                      : absl::StrCat(": ", sample.key, ".", *link, kIsLink);
  return absl::InvalidArgumentError(
      absl::StrCat(std::string(shard), ": sample ", sample.key,
                   " has no field ", fields_[field], why));
}

}  // namespace forebay::dataset::shards
