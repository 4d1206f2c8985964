#ifndef FOREBAY_SERVER_DATASET_SHARDS_FIELD_KIND_H_
#define FOREBAY_SERVER_DATASET_SHARDS_FIELD_KIND_H_

#include <string_view>

#include "proto/shm_layout.h"

namespace forebay::dataset::shards {

// Returns what a member is, by the part of its name after the last dot, as
// webdataset decodes it: jpg, jpeg, png, ppm, pgm, pbm and pnm are images; cls,
// cls2, class, count, index, inx and id integers; txt, text and transcript
// texts; json and jsn JSON; npy arrays. So are webp, avif, gif, bmp, tif and
// tiff images, and wav, flac, ogg, opus and mp3 audio, which webdataset leaves
// to its users or to torchaudio. All others are bytes. A ".gz" behind that does
// not count. Thread-safe; never blocks.
proto::FieldKind KindOf(std::string_view extension);

}  // namespace forebay::dataset::shards

#endif  // FOREBAY_SERVER_DATASET_SHARDS_FIELD_KIND_H_
