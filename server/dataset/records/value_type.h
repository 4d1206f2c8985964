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

// The type of a field, as users write it:
//
//   "jpg", "png", "image"   an image of any format; "jpeg", "webp", "avif",
//                           "gif", "bmp", "tif" and "tiff" mean the same
//   "int64", "cls", "label" an integer
//   "txt", "text"           UTF-8
//   "json"                  UTF-8
//   "npy", "array"          a .npy file, or a TIFF image as an array
//   "audio"                 an audio file of any format; "wav", "flac", "ogg",
//                           "opus" and "mp3" mean the same
//   "bytes"                 bytes
//   "float32[3,4]"          an array of that type and shape
//   "float32[n]"            an array of any length
//   "float32[n,4]"          any number of rows, each of shape [4]
//   "float32"               a number
struct ValueType {
  proto::FieldKind kind = proto::FieldKind::kBytes;
  // The type of arrays that are not .npy files, and whether they have rows.
  // Both are as in Field.
  std::optional<ArrayType> array = std::nullopt;
  bool has_rows = false;

  bool operator==(const ValueType&) const = default;
};

// Parses the text of a type. INVALID_ARGUMENT: the text is not a type; the
// error says what types there are. Thread-safe; never blocks.
absl::StatusOr<ValueType> ParseValueType(std::string_view text);

// Returns the text from which ParseValueType makes `type`. Thread-safe; never
// blocks.
std::string TextOf(const ValueType& type);

}  // namespace forebay::dataset::records

#endif  // FOREBAY_SERVER_DATASET_RECORDS_VALUE_TYPE_H_
