#ifndef FOREBAY_SERVER_DATASET_RECORDS_VALUE_TYPE_H_
#define FOREBAY_SERVER_DATASET_RECORDS_VALUE_TYPE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "proto/shm_layout.h"
#include "server/dataset/dataset.h"

namespace forebay::dataset::records {

// The type of a field, as users say it:
//
//   "jpg", "png", "image"   an image; so "jpeg", "webp", "avif", "gif", "bmp",
//                           "tif", "tiff", whichever of these it is
//   "int64", "cls", "label" an integer
//   "txt", "text"           UTF-8
//   "json"                  UTF-8
//   "npy", "array"          a .npy file, or a TIFF image as an array
//   "audio"                 an audio file; so "wav", "flac", "ogg", "opus",
//                           "mp3", whichever of these it is
//   "bytes"                 bytes
//   "float32[3,4]"          an array of that type and shape
//   "float32[n]"            an array of any length; "float32[n,4]": of rows
//   "float32"               a number
struct ValueType {
  proto::FieldKind kind = proto::FieldKind::kBytes;
  // Of arrays but .npy files; see Field.
  std::optional<ArrayType> array = std::nullopt;
  bool has_rows = false;

  bool operator==(const ValueType&) const = default;
};

// INVALID_ARGUMENT, saying what is wanted: the text is no such type. Functions
// are thread-safe and never block.
absl::StatusOr<ValueType> ParseValueType(std::string_view text);

// Returns a text that ParseValueType makes the type of.
std::string TextOf(const ValueType& type);

}  // namespace forebay::dataset::records

#endif  // FOREBAY_SERVER_DATASET_RECORDS_VALUE_TYPE_H_
