#ifndef FOREBAY_SERVER_DATASET_SHARDS_FIELD_KIND_H_
#define FOREBAY_SERVER_DATASET_SHARDS_FIELD_KIND_H_

#include <string_view>

#include "proto/shm_layout.h"

namespace forebay::dataset::shards {

// Returns how a member is decoded, by the part of its name after the last dot:
//
//   image      jpg, jpeg, png, ppm, pgm, pbm, pnm; webp, avif, gif,
//              bmp, tif, tiff
//   integer    cls, cls2, class, count, index, inx, id
//   text       txt, text, transcript
//   JSON       json, jsn
//   array      npy
//   audio      wav, flac, ogg, opus, mp3
//   bytes      any other
//
// webdataset decodes these members in the same way, with two exceptions: it
// leaves the image formats after the semicolon to its users, and audio to
// torchaudio. A final ".gz" is ignored. Thread-safe; never blocks.
proto::FieldKind KindOf(std::string_view extension);

}  // namespace forebay::dataset::shards

#endif  // FOREBAY_SERVER_DATASET_SHARDS_FIELD_KIND_H_
