#include "server/dataset/canonical_spec.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/dataset_texts.h"
#include "server/base/status.h"
#include "server/dataset/dataset.h"

namespace forebay::dataset {
namespace {

using proto::DatasetSpec;

proto::Texts FieldsOf(const DatasetSpec& old) {
  return {old.v3_fields().begin(), old.v3_fields().end()};
}

proto::Texts ColumnsOf(const DatasetSpec& old) {
  return {old.v3_columns().begin(), old.v3_columns().end()};
}

// Each function below moves the settings of one format from `old` to the
// message of that kind in `spec`.

absl::Status SetImageFolder(const DatasetSpec& old, DatasetSpec* spec) {
  const auto layout = proto::LayoutOf(FieldsOf(old), "audio");
  if (!layout.has_value())
    return absl::InvalidArgumentError(proto::kNotAudioFields);
  if (layout == proto::FolderLayout::kAny) {
    spec->mutable_image_folder();
  } else {
    spec->mutable_audio_folder()->set_flat(layout ==
                                           proto::FolderLayout::kFlat);
  }
  return absl::OkStatus();
}

absl::Status SetNpy(DatasetSpec& old, DatasetSpec* spec) {
  if (!old.v3_shards().empty()) {
    spec->mutable_npy_files()->mutable_files()->Swap(old.mutable_v3_shards());
    return absl::OkStatus();
  }
  const auto layout = proto::LayoutOf(FieldsOf(old), "array");
  if (!layout.has_value())
    return absl::InvalidArgumentError(proto::kNotNpyFields);
  spec->mutable_npy_folder()->set_layout(
      static_cast<proto::NpyFolder::Layout>(*layout));
  return absl::OkStatus();
}

absl::Status SetWebDataset(DatasetSpec& old, proto::WebDataset* shards) {
  shards->mutable_files()->Swap(old.mutable_v3_shards());
  shards->mutable_fields()->Swap(old.mutable_v3_fields());
  return absl::OkStatus();
}

absl::Status SetManifest(DatasetSpec& old, proto::Manifest* manifest) {
  if (old.v3_fields_size() != old.v3_columns_size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a manifest has 1 to ", kMaxDatasetFields,
                     " fields, each with its column"));
  }
  manifest->set_path(std::move(*old.mutable_v3_manifest()));
  for (int i = 0; i < old.v3_fields_size(); ++i) {
    proto::FieldColumn* const column = manifest->add_columns();
    column->set_field(std::move(*old.mutable_v3_fields(i)));
    column->set_column(std::move(*old.mutable_v3_columns(i)));
  }
  return absl::OkStatus();
}

absl::Status SetNpz(DatasetSpec& old, proto::Npz* npz) {
  const auto samples = proto::NpzSamplesOf(FieldsOf(old), ColumnsOf(old));
  if (!samples.has_value())
    return absl::InvalidArgumentError(proto::kNotNpzColumns);
  npz->set_samples(static_cast<proto::Npz::Samples>(*samples));
  npz->mutable_files()->Swap(old.mutable_v3_shards());
  if (old.v3_fields_size() > 1 || !old.v3_fields(0).empty())
    npz->mutable_arrays()->Swap(old.mutable_v3_fields());
  return absl::OkStatus();
}

// Sets the kind of a format whose files consist of records.
template <typename Records>
absl::Status SetRecords(DatasetSpec& old, Records* records) {
  const int types = old.v3_columns_size();
  if (types != 0 && types != old.v3_fields_size())
    return absl::InvalidArgumentError("each column has one type, or none");
  records->mutable_files()->Swap(old.mutable_v3_shards());
  for (int i = 0; i < old.v3_fields_size(); ++i) {
    proto::TypedField* const field = records->add_fields();
    field->set_name(std::move(*old.mutable_v3_fields(i)));
    if (types > 0) field->set_type(std::move(*old.mutable_v3_columns(i)));
  }
  return absl::OkStatus();
}

absl::Status SetLmdb(DatasetSpec& old, proto::Lmdb* lmdb) {
  lmdb->set_database(std::move(*old.mutable_v3_database()));
  return SetRecords(old, lmdb);
}

absl::Status SetZip(DatasetSpec& old, proto::Zip* zip) {
  const auto layout = proto::LayoutOf(FieldsOf(old), "audio");
  if (!layout.has_value() || layout == proto::FolderLayout::kFlat)
    return absl::InvalidArgumentError(proto::kNotZipFields);
  if (layout == proto::FolderLayout::kClasses)
    zip->set_content(proto::Zip::AUDIO);
  zip->mutable_files()->Swap(old.mutable_v3_shards());
  zip->set_folder(std::move(*old.mutable_v3_folder()));
  return absl::OkStatus();
}

absl::Status SetTokens(DatasetSpec& old, proto::Tokens* tokens) {
  proto::TokenTexts settings;
  const std::string refusal =
      proto::ReadTokenTexts(FieldsOf(old), ColumnsOf(old), &settings);
  if (!refusal.empty()) return absl::InvalidArgumentError(refusal);
  tokens->mutable_files()->Swap(old.mutable_v3_shards());
  tokens->set_length(settings.length);
  tokens->set_stride(settings.stride);
  tokens->set_dtype(static_cast<proto::DataType>(settings.dtype));
  tokens->set_each_document(settings.each_document);
  tokens->set_keeps_tail(settings.keeps_tail);
  tokens->set_has_targets(settings.has_targets);
  return absl::OkStatus();
}

template <typename Message>
Message* SetFields(DatasetSpec& old, Message* message) {
  message->mutable_fields()->Swap(old.mutable_v3_arrays());
  message->set_samples(old.v3_samples());
  return message;
}

absl::Status SetProduced(DatasetSpec& old, DatasetSpec* spec) {
  proto::Produced* const produced = SetFields(old, spec->mutable_produced());
  produced->set_identity(std::move(*old.mutable_v3_identity()));
  produced->set_affinity_workers(old.v3_lanes());
  produced->set_live(old.v3_live());
  produced->set_host_fields(old.v3_host_fields());
  return absl::OkStatus();
}

absl::Status SetSubset(DatasetSpec& old, proto::Subset* subset) {
  if (old.v3_parts_size() != 1)
    return absl::InvalidArgumentError("a subset is of one dataset");
  subset->mutable_part()->Swap(old.mutable_v3_parts(0));
  subset->set_keys(old.v3_samples());
  return absl::OkStatus();
}

// Sets the kind that `old` describes.
absl::Status SetKind(DatasetSpec& old, DatasetSpec* spec) {
  switch (old.v3_format()) {
    case DatasetSpec::IMAGE_FOLDER:
      return SetImageFolder(old, spec);
    case DatasetSpec::WEBDATASET:
      return SetWebDataset(old, spec->mutable_webdataset());
    case DatasetSpec::MANIFEST:
      return SetManifest(old, spec->mutable_manifest());
    case DatasetSpec::SUBSET:
      return SetSubset(old, spec->mutable_subset());
    case DatasetSpec::CONCATENATION:
      spec->mutable_concatenation()->mutable_parts()->Swap(
          old.mutable_v3_parts());
      return absl::OkStatus();
    case DatasetSpec::ARRAYS:
      if (old.v3_host_fields() != 0) {
        return absl::InvalidArgumentError(
            "only datasets that workers make have fields that stay on the "
            "host");
      }
      SetFields(old, spec->mutable_arrays());
      return absl::OkStatus();
    case DatasetSpec::PRODUCED:
      return SetProduced(old, spec);
    case DatasetSpec::NPY:
      return SetNpy(old, spec);
    case DatasetSpec::TFRECORD:
      return SetRecords(old, spec->mutable_tfrecord());
    case DatasetSpec::ZIP:
      return SetZip(old, spec->mutable_zip());
    case DatasetSpec::LMDB:
      return SetLmdb(old, spec->mutable_lmdb());
    case DatasetSpec::MDS:
      return SetRecords(old, spec->mutable_mds());
    case DatasetSpec::HDF5:
      return SetRecords(old, spec->mutable_hdf5());
    case DatasetSpec::NPZ:
      return SetNpz(old, spec->mutable_npz());
    case DatasetSpec::TOKENS:
      return SetTokens(old, spec->mutable_tokens());
    case DatasetSpec::ARRAY_RECORD:
      return SetRecords(old, spec->mutable_array_record());
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("dataset format ", static_cast<int>(old.v3_format()),
                       " is not known"));
  }
}

// Whether any setting of protocol 3 is set.
bool HasOldSettings(const DatasetSpec& spec) {
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  spec.GetReflection()->ListFields(spec, &fields);
  return std::any_of(fields.begin(), fields.end(), [](const auto* field) {
    return field->name().starts_with("v3_");
  });
}

// Returns the spec with a kind in place of the settings of protocol 3.
absl::StatusOr<DatasetSpec> WithKind(DatasetSpec old) {
  DatasetSpec spec;
  spec.set_uri(std::move(*old.mutable_uri()));
  const absl::Status set = SetKind(old, &spec);
  if (!set.ok()) return base::Annotate(set, spec.uri());
  spec.set_extra_roots(old.extra_roots());
  spec.mutable_extra_root_paths()->Swap(old.mutable_extra_root_paths());
  spec.set_descriptors(old.descriptors());
  return spec;
}

// Makes the spec of a part canonical.
absl::Status Replace(DatasetSpec* part) {
  FOREBAY_ASSIGN_OR_RETURN(*part, CanonicalSpec(std::move(*part)));
  return absl::OkStatus();
}

}  // namespace

// The depth of recursion is bounded: protobuf's parser limits how deeply specs
// are nested.
absl::StatusOr<DatasetSpec> CanonicalSpec(DatasetSpec spec) {
  if (spec.kind_case() == DatasetSpec::KIND_NOT_SET) {
    FOREBAY_ASSIGN_OR_RETURN(spec, WithKind(std::move(spec)));
  } else if (HasOldSettings(spec)) {
    return absl::InvalidArgumentError(
        absl::StrCat(spec.uri(),
                     ": is described both as in protocol 3 and as in later "
                     "ones: send one of the two"));
  }
  if (spec.has_subset() && spec.subset().has_part())
    FOREBAY_RETURN_IF_ERROR(Replace(spec.mutable_subset()->mutable_part()));
  if (spec.has_concatenation()) {
    for (DatasetSpec& part : *spec.mutable_concatenation()->mutable_parts())
      FOREBAY_RETURN_IF_ERROR(Replace(&part));
  }
  return spec;
}

}  // namespace forebay::dataset
