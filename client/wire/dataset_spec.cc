#include "client/wire/dataset_spec.h"

#include <cstdint>
#include <string>
#include <utility>

#include "proto/dataset_texts.h"

namespace forebay::client::wire {
namespace {

using message::ArrayField;
using message::DatasetSpec;
using proto::FolderLayout;
using proto::Texts;

std::int32_t KindOf(const forebay_array& array) {
  return array.kind == FOREBAY_IMAGE   ? ArrayField::kImage
         : array.kind == FOREBAY_LABEL ? ArrayField::kLabel
                                       : ArrayField::kArray;
}

// Makes the spec's `kind` for one dataset. Each method sets the kind and
// returns an empty text, or returns a sentence that refuses the options.
class KindMaker {
 public:
  KindMaker(const forebay_loader_options& options,
            const DatasetLocation& location, DatasetSpec* spec)
      : options_(options),
        location_(location),
        fields_(options.fields, options.fields + options.field_count),
        spec_(spec) {}

  std::string Make() {
    switch (static_cast<int>(options_.format)) {
      case FOREBAY_IMAGE_FOLDER:
        return Folder();
      case FOREBAY_WEBDATASET:
        return Set(message::WebDataset{location_.files, fields_});
      case FOREBAY_MANIFEST:
        return Manifest();
      case FOREBAY_NPY:
        return Npy();
      case FOREBAY_TFRECORD:
        return Set(message::TfRecord{location_.files, TypedFields()});
      case FOREBAY_ZIP:
        return Zip();
      case FOREBAY_LMDB:
        return Set(message::Lmdb{
            location_.files, TypedFields(),
            options_.database == nullptr ? "" : options_.database});
      case FOREBAY_MDS:
        return Set(message::Mds{location_.files, TypedFields()});
      case FOREBAY_HDF5:
        return Set(message::Hdf5{location_.files, TypedFields()});
      case FOREBAY_NPZ:
        return Npz();
      case FOREBAY_TOKENS:
        return Tokens();
      case FOREBAY_ARRAY_RECORD:
        return Set(message::ArrayRecord{location_.files, TypedFields()});
      default:
        return "dataset format " +
               std::to_string(static_cast<int>(options_.format)) +
               " is not known";
    }
  }

 private:
  template <typename Kind>
  std::string Set(Kind kind) {
    spec_->kind = std::move(kind);
    return "";
  }

  Texts Columns() const {
    return {options_.columns, options_.columns + options_.field_count};
  }

  std::vector<message::TypedField> TypedFields() const {
    std::vector<message::TypedField> typed;
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      const char* const type =
          options_.columns == nullptr ? "" : options_.columns[i];
      typed.push_back({fields_[i], type});
    }
    return typed;
  }

  std::string Folder() {
    const auto layout = proto::LayoutOf(fields_, "audio");
    if (!layout.has_value()) return proto::kNotAudioFields;
    if (layout == FolderLayout::kAny) return Set(message::ImageFolder());
    return Set(message::AudioFolder{layout == FolderLayout::kFlat});
  }

  std::string Npy() {
    if (!location_.files.empty())
      return Set(message::NpyFiles{location_.files});
    const auto layout = proto::LayoutOf(fields_, "array");
    if (!layout.has_value()) return proto::kNotNpyFields;
    return Set(message::NpyFolder{static_cast<std::int32_t>(*layout)});
  }

  std::string Manifest() {
    message::Manifest manifest;
    manifest.path = location_.manifest;
    for (std::size_t i = 0; i < fields_.size(); ++i)
      manifest.columns.push_back({fields_[i], options_.columns[i]});
    return Set(std::move(manifest));
  }

  std::string Zip() {
    const auto layout = proto::LayoutOf(fields_, "audio");
    if (!layout.has_value() || layout == FolderLayout::kFlat)
      return proto::kNotZipFields;
    return Set(message::Zip{.files = location_.files,
                            .folder = location_.inner_folder,
                            .content = layout == FolderLayout::kAny
                                           ? message::Zip::kImages
                                           : message::Zip::kAudio});
  }

  std::string Npz() {
    const auto samples = proto::NpzSamplesOf(fields_, Columns());
    if (!samples.has_value()) return proto::kNotNpzColumns;
    const bool takes_all = fields_ == Texts{""};
    return Set(message::Npz{.files = location_.files,
                            .arrays = takes_all ? Texts() : fields_,
                            .samples = *samples});
  }

  std::string Tokens() {
    proto::TokenTexts settings;
    std::string refusal = proto::ReadTokenTexts(fields_, Columns(), &settings);
    if (!refusal.empty()) return refusal;
    return Set(
        message::Tokens{.files = location_.files,
                        .length = settings.length,
                        .stride = settings.stride,
                        .dtype = static_cast<std::int32_t>(settings.dtype),
                        .each_document = settings.each_document,
                        .keeps_tail = settings.keeps_tail,
                        .has_targets = settings.has_targets});
  }

  const forebay_loader_options& options_;
  const DatasetLocation& location_;
  const Texts fields_;
  DatasetSpec* const spec_;
};

}  // namespace

Status SpecOfLocation(const forebay_loader_options& options,
                      const DatasetLocation& location, DatasetSpec* spec) {
  *spec = DatasetSpec();
  spec->uri = location.uri;
  spec->extra_roots = static_cast<std::uint32_t>(options.extra_root_count);
  spec->extra_root_paths.assign(options.extra_roots,
                                options.extra_roots + options.extra_root_count);
  const std::string refusal = KindMaker(options, location, spec).Make();
  if (refusal.empty()) return Status();
  return Status(FOREBAY_INVALID_ARGUMENT, location.uri + ": " + refusal);
}

std::vector<ArrayField> FieldsOf(const Records& records) {
  std::vector<ArrayField> fields;
  for (const RecordField& field : records.fields) {
    ArrayField& array = fields.emplace_back();
    array.name = field.array->name;
    array.kind = KindOf(*field.array);
    array.dtype = field.array->dtype;
    array.shape = field.shape;
  }
  return fields;
}

}  // namespace forebay::client::wire
