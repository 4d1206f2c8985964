#include "server/dataset/composed/concatenation.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/dataset/version_digest.h"

// A sample's part is found by binary search over the parts' ends, and calls are
// forwarded to the part. Sources are numbered across all parts, in order:
// first_sources_ has the number of each part's first source. So caches see the
// same source samples as when the part is opened by itself.

namespace forebay::dataset::composed {
namespace {

// uri() names at most this number of parts.
constexpr std::size_t kNamedParts = 3;

// Whether two fields have the same name and type. Their lengths may differ.
bool IsSame(const Field& a, const Field& b) {
  return a.name == b.name && a.kind == b.kind && a.array == b.array &&
         a.has_rows == b.has_rows;
}

std::string NamesOf(const std::vector<Field>& fields) {
  return absl::StrJoin(fields, ", ", [](std::string* out, const Field& field) {
    absl::StrAppend(out, field.name);
  });
}

// Checks that part `number`, `other`, has the fields of the first part.
absl::Status CheckFields(const Dataset& first, const Dataset& other,
                         std::size_t number) {
  const std::vector<Field>& expected = first.fields();
  const std::vector<Field>& fields = other.fields();
  if (std::equal(fields.begin(), fields.end(), expected.begin(), expected.end(),
                 IsSame)) {
    return absl::OkStatus();
  }
  if (NamesOf(fields) != NamesOf(expected)) {
    return absl::InvalidArgumentError(
        absl::StrCat("part ", number, " (", other.uri(), ") has the fields ",
                     NamesOf(fields), ", but part 0 (", first.uri(), ") ",
                     NamesOf(expected)));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "the fields of part ", number, " (", other.uri(),
      ") are of other types than those of part 0 (", first.uri(), ")"));
}

// Returns an empty list, for parts whose classes differ. The list is never
// destroyed, since datasets may outlive static objects.
const std::vector<std::string>& NoClasses() {
  static const auto* const none = new std::vector<std::string>();
  return *none;
}

}  // namespace

// The number of samples must fit into 64 bits, because ends_ has running sums
// of the parts' sizes.
absl::StatusOr<std::shared_ptr<const Dataset>> Concatenation::Create(
    std::vector<std::shared_ptr<const Dataset>> parts) {
  if (parts.empty()) {
    return absl::InvalidArgumentError("a concatenation has no parts");
  }
  std::uint64_t samples = parts[0]->size();
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const absl::Status status = CheckFields(*parts[0], *parts[i], i);
    if (!status.ok()) return status;
    if (__builtin_add_overflow(samples, parts[i]->size(), &samples)) {
      return absl::InvalidArgumentError(
          absl::StrCat("with part ", i, " (", parts[i]->uri(),
                       ") there are more samples than can be counted"));
    }
  }
  return std::shared_ptr<const Dataset>(new Concatenation(std::move(parts)));
}

Concatenation::Concatenation(std::vector<std::shared_ptr<const Dataset>> parts)
    : parts_(std::move(parts)),
      fields_(parts_.front()->fields()),
      classes_(&parts_.front()->classes()) {
  std::uint64_t end = 0;
  std::size_t sources = 0;
  VersionDigest digest("concatenation");
  for (const std::shared_ptr<const Dataset>& part : parts_) {
    ends_.push_back(end += part->size());
    first_sources_.push_back(sources);
    sources += part->sources().size();
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      Field& field = fields_[i];
      const Field& other = part->fields()[i];
      field.longest = std::max(field.longest, other.longest);
      field.shortest = std::min(field.shortest, other.shortest);
    }
    largest_sample_ = std::max(largest_sample_, part->largest_sample());
    if (part->classes() != *classes_) classes_ = &NoClasses();
    digest.Add(part->version());
  }
  version_ = digest.Get();
}

Concatenation::SampleInPart Concatenation::Locate(std::uint64_t id) const {
  const auto part = static_cast<std::size_t>(
      std::upper_bound(ends_.begin(), ends_.end(), id) - ends_.begin());
  return {part, id - BeginOf(part)};
}

Sample Concatenation::At(std::uint64_t id) const {
  const SampleInPart sample = Locate(id);
  return parts_[sample.part]->At(sample.id);
}

void Concatenation::ValuesOf(std::uint64_t id,
                             absl::Span<FieldValue> values) const {
  const SampleInPart sample = Locate(id);
  parts_[sample.part]->ValuesOf(sample.id, values);
}

bool Concatenation::is_self_describing() const {
  return std::any_of(parts_.begin(), parts_.end(), [](const auto& part) {
    return part->is_self_describing();
  });
}

absl::Status Concatenation::ReadValues(std::uint64_t id,
                                       absl::Span<const std::uint8_t> read,
                                       absl::Span<FieldValue> values,
                                       ValueBuffers* buffers) const {
  const SampleInPart sample = Locate(id);
  return parts_[sample.part]->ReadValues(sample.id, read, values, buffers);
}

void Concatenation::MostBytesOf(std::uint64_t id,
                                absl::Span<std::uint64_t> bytes) const {
  const SampleInPart sample = Locate(id);
  parts_[sample.part]->MostBytesOf(sample.id, bytes);
}

bool Concatenation::shares_extents() const {
  return std::any_of(parts_.begin(), parts_.end(),
                     [](const auto& part) { return part->shares_extents(); });
}

std::uint64_t Concatenation::SizeOf(std::uint64_t id) const {
  const SampleInPart sample = Locate(id);
  return parts_[sample.part]->SizeOf(sample.id);
}

absl::StatusOr<absl::Span<const std::uint8_t>> Concatenation::Decompress(
    std::uint64_t id, absl::Span<const std::uint8_t> compressed,
    DecompressionRoom room) const {
  const SampleInPart sample = Locate(id);
  return parts_[sample.part]->Decompress(sample.id, compressed, room);
}

std::string Concatenation::NameOf(std::uint64_t id) const {
  const SampleInPart sample = Locate(id);
  return parts_[sample.part]->NameOf(sample.id);
}

std::string Concatenation::uri() const {
  std::vector<std::string> uris;
  for (const std::shared_ptr<const Dataset>& part : parts_) {
    if (uris.size() == kNamedParts) break;
    uris.push_back(part->uri());
  }
  std::string all = absl::StrJoin(uris, " + ");
  if (parts_.size() == uris.size()) return all;
  return absl::StrCat(all, " + ", parts_.size() - uris.size(), " more");
}

std::vector<const Dataset*> Concatenation::sources() const {
  std::vector<const Dataset*> all;
  for (const std::shared_ptr<const Dataset>& part : parts_) {
    const std::vector<const Dataset*> own = part->sources();
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

SourceSample Concatenation::SourceSampleOf(std::uint64_t id) const {
  const auto [part, id_in_part] = Locate(id);
  SourceSample sample = parts_[part]->SourceSampleOf(id_in_part);
  sample.source += first_sources_[part];
  return sample;
}

void Concatenation::FindSamples(const SourceSample& sample,
                                std::vector<std::uint64_t>* ids) const {
  const auto part = static_cast<std::size_t>(
      std::upper_bound(first_sources_.begin(), first_sources_.end(),
                       sample.source) -
      first_sources_.begin() - 1);
  // The part appends its own numbers, which are then shifted to this dataset's.
  const std::size_t before = ids->size();
  parts_[part]->FindSamples({sample.source - first_sources_[part], sample.id},
                            ids);
  for (std::size_t i = before; i < ids->size(); ++i) {
    (*ids)[i] += BeginOf(part);
  }
}

}  // namespace forebay::dataset::composed
