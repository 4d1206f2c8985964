#ifndef FOREBAY_PROTO_SHM_FETCH_H_
#define FOREBAY_PROTO_SHM_FETCH_H_

// The layout of a reader's window after a Fetch: a header, then a FetchedField
// for each field of each sample that was asked for, in order, then the data of
// the fields. Only the daemon writes it. Offsets count from the window's first
// byte.

#include <cstdint>
#include <type_traits>

#include "proto/shm_layout.h"

namespace forebay::proto {

inline constexpr std::uint32_t kFetchMagic = 0x46594246;  // "FBYF"
// The most samples of one Fetch.
inline constexpr std::uint64_t kMaxFetch = 1024;
// The data of each field starts at a multiple of this many bytes.
inline constexpr std::uint64_t kFetchAlignment = 64;

struct FetchHeader {
  std::uint32_t magic;    // kFetchMagic
  std::uint32_t version;  // kLayoutVersion
  std::uint32_t sample_count;
  std::uint32_t field_count;  // fields of each sample; at most kMaxFields - 1
};

// A field of a sample. An image that is not decoded is its file's bytes. Images
// that are not decoded, texts, JSON and bytes have rank 1. All members are 0 if
// the sample cannot be used.
struct FetchedField {
  FieldKind kind;
  DType dtype;
  std::uint32_t rank;
  std::uint32_t reserved;
  std::uint64_t shape[kMaxRank];
  std::uint64_t offset;  // bytes, from the window's first byte
  std::uint64_t bytes;   // bytes of data
};

static_assert(std::is_trivially_copyable_v<FetchedField> &&
              std::is_standard_layout_v<FetchedField>);
static_assert(sizeof(FetchHeader) == 16);
static_assert(sizeof(FetchedField) == 80);

// Returns the offset of the FetchedField of a field. `sample` is the sample's
// number in the Fetch, and `field` the field's number in the sample.
constexpr std::uint64_t FetchedFieldOffset(std::uint64_t sample,
                                           std::uint64_t field,
                                           std::uint64_t field_count) {
  return sizeof(FetchHeader) +
         (sample * field_count + field) * sizeof(FetchedField);
}

}  // namespace forebay::proto

#endif  // FOREBAY_PROTO_SHM_FETCH_H_
