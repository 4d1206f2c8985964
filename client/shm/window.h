#ifndef FOREBAY_CLIENT_SHM_WINDOW_H_
#define FOREBAY_CLIENT_SHM_WINDOW_H_

#include <cstddef>
#include <cstdint>

#include "client/base/status.h"
#include "proto/fd.h"
#include "proto/shm_fetch.h"

namespace forebay::client::shm {

// A reader's window (proto/shm_fetch.h): memory, mapped for reading, in which
// the daemon shows fetched samples or a range of an object. Not thread-safe.
// Owns the mapping. Never blocks. Errors: INTERNAL if the content is malformed.
class FetchWindow {
 public:
  FetchWindow() = default;
  ~FetchWindow() { Unmap(); }
  FetchWindow(const FetchWindow&) = delete;
  FetchWindow& operator=(const FetchWindow&) = delete;

  // Maps `bytes` bytes of `fd` as a new window, which replaces the present
  // window. RESOURCE_EXHAUSTED if there is no memory to map it.
  Status Map(const proto::Fd& fd, std::uint64_t bytes);
  // Checks that the window shows `samples` samples with `fields` fields each.
  Status Check(std::uint64_t samples, std::uint32_t fields) const;
  // Describes field number `field` of sample number `sample`. The field's bytes
  // lie within the window. If the sample is absent, all of *out is 0. Check
  // must have accepted `fields`, and more than `sample` samples.
  Status Find(std::uint64_t sample, std::uint32_t field, std::uint32_t fields,
              proto::FetchedField* out) const;
  std::uint8_t* data() const { return data_; }
  std::uint64_t bytes() const { return bytes_; }
  void Unmap();

 private:
  std::uint8_t* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace forebay::client::shm

#endif  // FOREBAY_CLIENT_SHM_WINDOW_H_
