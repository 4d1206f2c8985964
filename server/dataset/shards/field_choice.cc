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

// Bounds what an index stores of the fields.
constexpr std::size_t kMaxAlternatives = 64;
constexpr std::size_t kLongestField = 1024;  // bytes
// Behind a field's extensions.
constexpr std::string_view kArray = "=array";

// Of an extension, without a ".gz" behind it.
bool MayBeArray(std::string_view extension) {
  if (IsGzipped(extension))
    extension.remove_suffix(std::min<std::size_t>(extension.size(), 3));
  const std::string_view last = extension.substr(extension.rfind('.') + 1);
  return last == "tif" || last == "tiff" || last == "npy";
}

absl::Status CheckField(const std::string& field,
                        const std::vector<std::string>& alternatives) {
  const bool malformed = std::any_of(
      alternatives.begin(), alternatives.end(), [](const std::string& name) {
        return name.empty() || name.starts_with("__") ||
               name.find_first_of(std::string("/\0", 2)) != name.npos;
      });
  if (malformed || field.size() > kLongestField ||
      alternatives.size() > kMaxAlternatives) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", field,
                     "\" is no field: an extension such as \"jpg\", or several "
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
          absl::StrCat("\"", field, "\" is no field: ", alternatives.front(),
                       " and ", alternative, " are not decoded alike"));
    }
  }
  return absl::OkStatus();
}

std::string Extensions(const GroupedSample& sample) {
  return absl::StrJoin(
      sample.parts, ", ", [](std::string* out, const SamplePart& part) {
        out->append(part.extension.empty() ? "an empty one" : part.extension);
      });
}

// The extension of a link that would be the field if it were a file, or null.
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
          "\"", names, "\" is no array: TIFF images and .npy files are such"));
    }
    choice.alternatives_.push_back(std::move(alternatives));
    choice.are_arrays_.push_back(is_array);
  }
  FOREBAY_RETURN_IF_ERROR(choice.CheckImages());
  return choice;
}

// Decoding one takes the memory in which another was inflated.
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
    // The index in `wanted` of the best alternative so far.
    std::size_t best = wanted.size();
    ChosenMember& member = chosen->emplace_back();
    for (const SamplePart& candidate : sample.parts) {
      const std::size_t rank = std::find(wanted.begin(), wanted.begin() + best,
                                         candidate.extension) -
                               wanted.begin();
      if (rank == best) continue;
      best = rank;
      member = {candidate.offset, candidate.length, best, candidate.inflated};
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
