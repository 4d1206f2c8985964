// The catalog takes the sizes that another loader holds or, if none does, loads
// them from the disk. If the disk has none, a scan measures them. The name on
// disk is a digest of the dataset and the field. The stored file has a digest
// of the files' versions and revisions. If that digest differs, the samples are
// measured again, and the sizes are saved under the same name.
//
// If sizes cannot be loaded, they are measured; if they cannot be saved, they
// are kept in memory. Both failures therefore give only a warning.
#include "server/length_scan/length_scan_catalog.h"

#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/dataset/version_digest.h"
#include "server/length_scan/value_sizes_file.h"

namespace forebay::length_scan {
namespace {

// Number of samples between two checks of `stop`.
constexpr std::uint64_t kLooks = 4096;

// Returns the name of a subject's sizes. Subjects whose sizes may differ have
// different names. The name is a digest of the roots, the dataset's version and
// the field's type.
std::string NameOf(const Subject& subject) {
  const dataset::Dataset& dataset = *subject.dataset;
  const dataset::Field& field = dataset.fields()[subject.field];
  dataset::VersionDigest digest("sizes of values");
  for (const dataset::Dataset* const source : dataset.sources()) {
    const auto identity = source->root()->identity();
    digest.Add(std::string_view(identity == nullptr ? source->root()->uri()
                                                    : *identity));
  }
  digest.Add(dataset.version())
      .Add(std::string_view(field.name))
      .Add(std::string_view(field.alternatives))
      .Add(static_cast<std::uint32_t>(field.kind))
      .Add(std::uint8_t{field.array.has_value()})
      .Add(std::uint8_t{field.has_rows});
  if (field.array.has_value()) {
    digest.Add(static_cast<std::uint32_t>(field.array->dtype))
        .AddItems(field.array->shape.data(), field.array->shape.size());
  }
  const dataset::Version name = digest.Get();
  return {reinterpret_cast<const char*>(name.data()), name.size()};
}

// Returns a digest of the versions and revisions of all files. The digest shows
// if a file was replaced by one with the same size and time; the dataset's
// version does not show this. Blocks for about 0.1 µs a sample.
absl::StatusOr<dataset::Version> DigestOfFiles(const dataset::Dataset& dataset,
                                               const std::stop_token& stop) {
  dataset::VersionDigest digest("files of values");
  storage::ObjectVersion last;
  for (std::uint64_t id = 0; id < dataset.size(); ++id) {
    if (id % kLooks == 0 && stop.stop_requested())
      return absl::CancelledError("its samples were not all looked at");
    const storage::ObjectVersion version = dataset.At(id).version;
    // Successive samples often lie in one file. A version is therefore hashed
    // only where it differs from that of the sample before.
    if (version == last) continue;
    last = version;
    digest.Add(id)
        .Add(version.size)
        .Add(version.stamp)
        .Add(version.revision.inode)
        .Add(version.revision.ctime_nanos)
        .Add(version.revision.transaction_id);
  }
  return digest.Get();
}

}  // namespace

LengthScanCatalog::LengthScanCatalog(const std::string& index_directory,
                                     LengthScanDeps deps)
    : deps_(std::move(deps)),
      store_(index_directory.empty()
                 ? std::nullopt
                 : std::make_optional<dataset::IndexStore>(
                       index_directory, ".sizes", deps_.budget)) {}

absl::StatusOr<std::shared_ptr<const ValueSizes>> LengthScanCatalog::Find(
    const Subject& subject, std::vector<std::string>* warnings,
    const std::stop_token& stop) {
  const std::string name = NameOf(subject);
  return search_.Find(
      {name, subject.dataset->index()}, subject.dataset->uri(),
      {stop, subject.reads},
      [&](const auto& start,
          const std::stop_token& search) -> absl::StatusOr<SizesPtr> {
        if (start.item != nullptr) return start.item;
        return Search(subject, name, warnings, search);
      });
}

absl::StatusOr<LengthScanCatalog::SizesPtr> LengthScanCatalog::Search(
    const Subject& subject, const std::string& name,
    std::vector<std::string>* warnings, const std::stop_token& stop) const {
  const dataset::Dataset& dataset = *subject.dataset;
  dataset::Version files = {};
  if (store_.has_value()) {
    FOREBAY_ASSIGN_OR_RETURN(files, DigestOfFiles(dataset, stop));
    auto kept = store_->Load(
        name, [&](dataset::IndexFileReader& file, base::WorkingMemory& memory) {
          return DecodeValueSizes(file, files, dataset.size(), memory);
        });
    if (kept.ok()) return kept;
    if (!absl::IsNotFound(kept.status())) {
      warnings->push_back(absl::StrCat(dataset.uri(),
                                       ": the lengths of its samples are found "
                                       "anew: ",
                                       kept.status().message()));
    }
  }
  FOREBAY_ASSIGN_OR_RETURN(ValueSizesParts parts,
                           ScanLengths(subject, deps_, stop));
  FOREBAY_ASSIGN_OR_RETURN(SizesPtr sizes,
                           ValueSizes::Create(std::move(parts)));
  if (!store_.has_value()) return sizes;
  const absl::Status saved =
      store_->Save(name, sizes->size() * sizeof(std::uint64_t),
                   [&] { return EncodeValueSizes(*sizes, files); });
  if (!saved.ok()) {
    warnings->push_back(absl::StrCat(
        dataset.uri(), ": the lengths of its samples are kept in memory only: ",
        saved.message()));
  }
  return sizes;
}

}  // namespace forebay::length_scan
